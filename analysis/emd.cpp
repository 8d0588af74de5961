/* analysis/emd.cpp - see emd.h. Costs become integers, since the network simplex need not end with rounded ones; weights are integers already. What is
 * returned is the sum over the optimal flow in the true distances. No exception leaves this file. */
extern "C" {
#include "core/error.h"
}
#include "analysis/emd.h"

#include <cmath>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

#include <lemon/network_simplex.h>
#include <lemon/static_graph.h>

namespace {

using Graph = lemon::StaticDigraph;
using Simplex = lemon::NetworkSimplex<Graph, int64_t, int64_t>;

uint64_t weight_sum(const emd_point *points, size_t count, bool &finite)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        finite = finite && std::isfinite(points[i].x) && std::isfinite(points[i].y) && points[i].weight >= 1 && points[i].weight <= EMD_WEIGHT_MOST;
        if (sum <= EMD_WEIGHT_MOST)
            sum += points[i].weight;
    }
    return sum;
}

double distance(const emd_point &p, const emd_point &q)
{
    return std::hypot(p.x - q.x, p.y - q.y);
}

struct Problem {
    const emd_point *a, *b;
    size_t a_count, b_count;
    uint64_t a_sum, b_sum;
};

/* Potentials are sums of costs along a path of the tree: at most as many as there are points. */
double cost_scale(const Problem &problem)
{
    double largest = 0;
    for (size_t i = 0; i < problem.a_count; i++)
        for (size_t j = 0; j < problem.b_count; j++)
            largest = std::fmax(largest, distance(problem.a[i], problem.b[j]));
    double nodes = static_cast<double>(problem.a_count + problem.b_count);
    return largest > 0 ? std::fmin(0x1p61 / (4 * nodes), 0x1p45) / largest : 0;
}

bool solve(const Problem &problem, double *ret_distance)
{
    const int rows = static_cast<int>(problem.a_count), columns = static_cast<int>(problem.b_count);
    const double scale = cost_scale(problem);
    if (!(scale > 0) || !std::isfinite(scale)) {
        *ret_distance = 0;
        return scale == 0;
    }
    std::vector<std::pair<int, int>> arcs;
    arcs.reserve(problem.a_count * problem.b_count);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            arcs.emplace_back(i, rows + j);
    Graph graph;
    graph.build(rows + columns, arcs.begin(), arcs.end());
    Graph::ArcMap<int64_t> costs(graph);
    Graph::NodeMap<int64_t> supplies(graph);
    for (int arc = 0; arc < graph.arcNum(); arc++)
        costs[Graph::arc(arc)] = std::llround(scale * distance(problem.a[arc / columns], problem.b[arc % columns]));
    for (int i = 0; i < rows; i++)
        supplies[Graph::node(i)] = static_cast<int64_t>(problem.a[i].weight * problem.b_sum);
    for (int j = 0; j < columns; j++)
        supplies[Graph::node(rows + j)] = -static_cast<int64_t>(problem.b[j].weight * problem.a_sum);
    Simplex simplex(graph);
    if (simplex.costMap(costs).supplyMap(supplies).run() != Simplex::OPTIMAL)
        return false;
    double work = 0;
    for (int arc = 0; arc < graph.arcNum(); arc++) {
        int64_t flow = simplex.flow(Graph::arc(arc));
        if (flow > 0)
            work += static_cast<double>(flow) * distance(problem.a[arc / columns], problem.b[arc % columns]);
    }
    *ret_distance = work / (static_cast<double>(problem.a_sum) * static_cast<double>(problem.b_sum));
    return true;
}

}

enum pcere_status emd_distance(const struct emd_point *a, size_t a_count, const struct emd_point *b, size_t b_count, double *ret_distance,
                               struct pcere_error *error)
{
    bool finite = true;
    Problem problem = {a, b, a_count, b_count, weight_sum(a, a_count, finite), weight_sum(b, b_count, finite)};
    if (!a_count || !b_count || a_count > EMD_POINTS_MOST || b_count > EMD_POINTS_MOST || problem.a_sum > EMD_WEIGHT_MOST ||
        problem.b_sum > EMD_WEIGHT_MOST || !finite)
        return pcere_fail(error, PCERE_USAGE, 0, nullptr, "no distance of %zu and %zu points: there must be 1 to %u, finite and not too heavy", a_count,
                          b_count, EMD_POINTS_MOST);
    try {
        double found;
        if (!solve(problem, &found))
            return pcere_fail(error, PCERE_SYSTEM, 0, nullptr, "the transport problem of %zu and %zu points was not solved", a_count, b_count);
        *ret_distance = found;
        return PCERE_OK;
    } catch (const std::bad_alloc &) {
        return pcere_fail_memory(error, "a transport problem");
    } catch (...) {
        return pcere_fail(error, PCERE_SYSTEM, 0, nullptr, "the transport problem of %zu and %zu points was not solved", a_count, b_count);
    }
}
