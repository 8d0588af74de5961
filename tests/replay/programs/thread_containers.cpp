// thread_containers.cpp - containers in an array of a fixed length, of which as many as there are threads are made larger.
#include <array>
#include <cstdio>
#include <memory>
#include <omp.h>
#include <vector>

enum { N = 40000, MOST = 64 };
static std::array<std::vector<double>, MOST> in_array;
static std::vector<double> in_c_array[MOST], all[MOST];
static std::unique_ptr<double[]> owned[MOST];
static std::vector<std::vector<int>> rows;

static void vectors_of_an_array()
{
    int threads = omp_get_max_threads();
    for (int t = 0; t < threads; t++)
        in_array[t].resize(100);
#pragma omp parallel for
    for (int i = 0; i < N; i++)
        in_array[omp_get_thread_num()][i % 100] += i;
}

static void vectors_of_a_c_array()
{
    int threads = omp_get_max_threads();
    for (int t = 0; t < threads; t++)
        in_c_array[t].assign(100, 0.0);
#pragma omp parallel
    {
        auto &mine = in_c_array[omp_get_thread_num()];
#pragma omp for
        for (int i = 0; i < N; i++)
            mine[i % 100] += i;
    }
}

static void what_is_owned()
{
    int threads = omp_get_max_threads();
    for (int t = 0; t < threads; t++)
        owned[t] = std::make_unique<double[]>(100);
#pragma omp parallel for
    for (int i = 0; i < N; i++)
        owned[omp_get_thread_num()][i % 100] += i;
}

// A list of work for each, which a loop over all lists goes through.
struct List { std::vector<int> items; double sum = 0; };
struct Point { double x, y, z, w; };

__attribute__((noinline)) static void along_the_lists(std::vector<List> &lists)
{
#pragma omp parallel for schedule(static)
    for (size_t l = 0; l < lists.size(); l++)
        for (int item : lists[l].items)
            lists[l].sum += item;
}

static double lists_made(int count)
{
    std::vector<List> lists;
    lists.resize(static_cast<size_t>(count));
    for (int i = 0; i < N; i++)
        lists[static_cast<size_t>(i % count)].items.push_back(i);
    along_the_lists(lists);
    return lists[0].sum;
}

// For any number of threads.
__attribute__((noinline)) static void along_points(std::vector<Point> &points)
{
#pragma omp parallel for
    for (size_t p = 0; p < points.size(); p++)
        for (int k = 0; k < 10; k++)
            points[p].x += points[p].y * k;
}

__attribute__((noinline)) static void along_numbers(std::vector<double> &numbers)
{
#pragma omp parallel for
    for (size_t n = 0; n < numbers.size(); n++)
        for (int k = 0; k < 10; k++)
            numbers[n] += k;
}

static void for_all_there_may_be()
{
    for (int t = 0; t < MOST; t++)
        all[t].resize(100);
#pragma omp parallel for
    for (int i = 0; i < N; i++)
        all[omp_get_thread_num()][i % 100] += i;
}

static void made_by_each()
{
#pragma omp parallel
    {
        auto &mine = all[omp_get_thread_num()];
        mine.assign(200, 0.0);
#pragma omp for
        for (int i = 0; i < N; i++)
            mine[i % 200] += i;
    }
}

static long rows_of_a_graph()
{
    long sum = 0;
    rows.resize(1000);
    for (int r = 0; r < 1000; r++)
        rows[r].resize(r % 7);
#pragma omp parallel for reduction(+ : sum)
    for (int r = 0; r < 1000; r++)
        for (int of : rows[r])
            sum += of + r;
    return sum;
}

int main()
{
    for (int step = 0; step < 2; step++) {
        vectors_of_an_array();
        vectors_of_a_c_array();
        what_is_owned();
        for_all_there_may_be();
        made_by_each();
    }
    std::vector<Point> points(N);
    std::vector<double> numbers(static_cast<size_t>(1000 * omp_get_max_threads()));
    along_points(points);
    along_numbers(numbers);
    if (lists_made(omp_get_max_threads()) <= 0)
        return 1;
    return std::puts(rows_of_a_graph() > 0 ? "PASS" : "FAIL") < 0;
}
