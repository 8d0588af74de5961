/* predictor/line.c - see line.h. */
#include "predictor/line.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define NONE SIZE_MAX                    /* no medoid to the left; to the right: `count` */

bool line_init(struct line *line, size_t count, size_t most)
{
    *line = (struct line){
        .count = count,
        .at = malloc(count * sizeof *line->at),
        .sums = malloc((count + 1) * sizeof *line->sums),
        .rows = malloc((most + 2) * count * sizeof *line->rows),
        .row_of = malloc((most + 2) * sizeof *line->row_of),
        .gains = malloc(3 * count * sizeof *line->gains),
        .losses = malloc((most + 1) * sizeof *line->losses),
        .costs = malloc((most + 1) * sizeof *line->costs),
        .most = malloc((most + 1) * sizeof *line->most),
    };
    return line->at && line->sums && line->rows && line->row_of && line->gains && line->losses && line->costs && line->most;
}

void line_done(struct line *line)
{
    free(line->at);
    free(line->sums);
    free(line->rows);
    free(line->row_of);
    free(line->gains);
    free(line->losses);
    free(line->costs);
    free(line->most);
    *line = (struct line){0};
}

void line_sum(struct line *line)
{
    line->sums[0] = 0;
    for (size_t i = 0; i < line->count; i++)
        line->sums[i + 1] = line->sums[i] + (line->at[i] - line->at[0]);
}

/* No point is farther away than that from anything. */
static double beyond(const struct line *line)
{
    return (line->at[line->count - 1] - line->at[0]) * 1.1 + 1;
}

/* Two sums that differ by more differ in the same direction, however they are rounded. */
static double doubt(const struct line *line)
{
    return 64 * (double)line->count * (double)line->count * DBL_EPSILON * beyond(line);
}

/* ---- the points between two medoids ---------------------------------------------------------------------------------------- */

static bool is_left(const double *at, size_t left, size_t right, size_t i)
{
    return at[i] - at[left] <= at[right] - at[i];
}

/* The first point that is not the left one's, from `from` on and up to `end`. */
static size_t middle_find(const double *at, size_t left, size_t right, size_t from, size_t end)
{
    while (from < end) {
        size_t half = from + (end - from) / 2;
        if (is_left(at, left, right, half))
            from = half + 1;
        else
            end = half;
    }
    return from;
}

/* Signed, which the processor converts at once. */
static double number(size_t value)
{
    return (double)(int64_t)value;
}

/* What they cost, if those before `middle` are the left one's. */
static double cost_between(const struct line *line, size_t left, size_t right, size_t middle)
{
    const double *sums = line->sums, *at = line->at;
    double cost = 0;
    if (left != NONE)
        cost += sums[middle] - sums[left] - number(middle - left) * (at[left] - at[0]);
    if (right != line->count)
        cost += number(right - middle) * (at[right] - at[0]) - (sums[right] - sums[middle]);
    return cost;
}

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

static double cost_of(const struct line *line, size_t left, size_t right)
{
    size_t middle = left == NONE ? 0 : right == line->count ? right : middle_find(line->at, left, right, left, right);
    return cost_between(line, left, right, middle);
}

/* One pass to either side: the middle goes with the point. */
static void row_fill(const struct line *line, size_t medoid, double *row)
{
    const double *at = line->at;
    for (size_t i = medoid + 1, middle = medoid; i < line->count; i++) {
        while (middle < i && is_left(at, medoid, i, middle))
            middle++;
        row[i] = cost_between(line, medoid, i, middle);
    }
    for (size_t i = medoid, middle = medoid; i-- > 0;) {
        while (middle > i && !is_left(at, i, medoid, middle - 1))
            middle--;
        row[i] = cost_between(line, i, medoid, middle);
    }
    row[medoid] = 0;
}

static size_t medoid_left(const size_t *medoids, size_t interval)
{
    return interval ? medoids[interval - 1] : NONE;
}

static size_t medoid_right(const struct line *line, size_t k, const size_t *medoids, size_t interval)
{
    return interval < k ? medoids[interval] : line->count;
}

/* ---- BUILD ---------------------------------------------------------------------------------------------------------------- */

/* Of candidates in interval t. */
static void build_gains(struct line *line, size_t k, const size_t *medoids, size_t t)
{
    size_t left = medoid_left(medoids, t), right = medoid_right(line, k, medoids, t);
    const double *to_left = line->row_of[t], *to_right = line->row_of[t + 1];
    double now = k == 0 ? 0 : cost_of(line, left, right);
    for (size_t i = left + 1; i < right; i++)            /* NONE + 1 is 0 */
        line->gains[i] = now - to_left[i] - to_right[i];
}

static double nearest_distance(const struct line *line, size_t left, size_t right, size_t i)
{
    if (left == NONE && right == line->count)
        return beyond(line);
    return smaller(left == NONE ? INFINITY : line->at[i] - line->at[left], right == line->count ? INFINITY : line->at[right] - line->at[i]);
}

static double build_gain(const struct line *line, size_t left, size_t right, size_t candidate)
{
    double gain = 0;
    for (size_t i = left + 1; i < right; i++) {
        double nearest = nearest_distance(line, left, right, i), distance = fabs(line->at[i] - line->at[candidate]);
        if (distance < nearest)
            gain += nearest - distance;
    }
    return gain;
}

/* The candidate that gains most, the last of equals. */
static size_t build_best(const struct line *line, size_t k, const size_t *medoids)
{
    double most = -INFINITY, best_gain = -1, least, gain = 0;
    size_t best = 0, near = 0, checked = NONE;
    for (size_t i = 0; i < line->count; i++)
        most = line->gains[i] > most ? line->gains[i] : most;
    least = most - doubt(line);
    for (size_t i = 0; i < line->count; i++)
        if (line->gains[i] >= least) {
            best = i;
            near++;
        }
    for (size_t i = 0, t = 0; i < line->count && near > 1; i++) {
        while (t < k && medoids[t] < i)
            t++;
        if (!(line->gains[i] >= least))
            continue;
        if (checked == NONE || line->at[i] != line->at[checked])
            gain = build_gain(line, medoid_left(medoids, t), medoid_right(line, k, medoids, t), i);
        checked = i;
        if (gain >= best_gain) {
            best_gain = gain;
            best = i;
        }
    }
    return best;
}

static void build(struct line *line, size_t k, size_t *medoids)
{
    double *left = line->rows + k * line->count, *right = left + line->count;
    for (size_t i = 0; i < line->count; i++) {
        left[i] = cost_between(line, NONE, i, 0);
        right[i] = cost_between(line, i, line->count, line->count);
    }
    line->row_of[0] = left;
    line->row_of[1] = right;
    build_gains(line, 0, medoids, 0);
    for (size_t c = 0; c < k; c++) {
        size_t best = build_best(line, c, medoids), place = c;
        double *row = line->rows + c * line->count;
        line->row_of[c + 2] = line->row_of[c + 1];
        for (; place > 0 && medoids[place - 1] > best; place--) {
            medoids[place] = medoids[place - 1];
            line->row_of[place + 1] = line->row_of[place];
        }
        medoids[place] = best;
        line->row_of[place + 1] = row;
        row_fill(line, best, row);
        line->gains[best] = -INFINITY;
        build_gains(line, c + 1, medoids, place);
        build_gains(line, c + 1, medoids, place + 1);
    }
}

/* ---- SWAP ----------------------------------------------------------------------------------------------------------------- */

/* In the place of which medoid: the one left of the candidate, right of it, or that which is missed least of the others. */
enum { LEFT, RIGHT, OTHER };

/* Returns the most that any of them gains. */
static double exchange_gains(struct line *line, size_t k, const size_t *medoids, size_t t)
{
    size_t left = medoid_left(medoids, t), right = medoid_right(line, k, medoids, t);
    double least_loss = INFINITY, *const *rows = line->row_of + t;
    for (size_t m = 0; m < k; m++)
        if (m != t && m + 1 != t && line->losses[m] < least_loss)
            least_loss = line->losses[m];
    double for_left = t > 0 ? line->costs[t - 1] + line->costs[t] : -INFINITY, for_right = t < k ? line->costs[t] + line->costs[t + 1] : -INFINITY;
    const double *to_left = rows[0], *to_right = rows[1], *far_left = t > 0 ? rows[-1] : to_left, *far_right = t < k ? rows[2] : to_right;
    double most = -INFINITY;
    for (size_t i = left + 1; i < right; i++) {
        double *gains = line->gains + 3 * i;
        gains[LEFT] = for_left - far_left[i] - to_right[i];
        gains[RIGHT] = for_right - to_left[i] - far_right[i];
        gains[OTHER] = line->costs[t] - to_left[i] - to_right[i] - least_loss;
        double beside = gains[LEFT] > gains[RIGHT] ? gains[LEFT] : gains[RIGHT], any = beside > gains[OTHER] ? beside : gains[OTHER];
        most = any > most ? any : most;
    }
    return most;
}

/* What an exchange changes, and what all points cost now, by their distances. */
static double exchange_cost(const struct line *line, size_t k, const size_t *medoids, size_t medoid, size_t candidate, double *ret_total)
{
    const double *at = line->at;
    double cost = 0, total = 0;
    for (size_t i = 0, t = 0; i < line->count; i++) {
        while (t < k && medoids[t] < i)
            t++;
        double left = t > 0 ? at[i] - at[medoids[t - 1]] : INFINITY, right = t < k ? at[medoids[t]] - at[i] : INFINITY;
        double distance = fabs(at[i] - at[candidate]), nearest = smaller(left, right);
        size_t owner = left <= right ? t - 1 : t;
        total += nearest;
        if (distance < nearest)
            cost += distance - nearest;
        else if (owner == medoid) {
            double before = owner > 0 ? at[i] - at[medoids[owner - 1]] : INFINITY;
            double behind = owner + 1 < k ? at[medoids[owner + 1]] - at[i] : INFINITY;
            cost += smaller(distance, smaller(fabs(before), fabs(behind))) - nearest;
        }
    }
    *ret_total = total;
    return cost;
}

struct exchange { size_t medoid, candidate; };

/* The exchanges that gain at least `least`, in the order of candidates, then of medoids. */
struct walk { size_t candidate, medoid, interval; };

static bool walk_next(const struct line *line, size_t k, const size_t *medoids, double least, struct walk *walk)
{
    for (; walk->candidate < line->count; walk->candidate++, walk->medoid = 0) {
        while (walk->interval < k && medoids[walk->interval] < walk->candidate)
            walk->interval++;
        size_t t = walk->interval;
        if (line->most[t] < least)
            walk->candidate = medoid_right(line, k, medoids, t);
        const double *gains = line->gains + 3 * walk->candidate;
        if (walk->candidate == line->count)
            break;
        if ((t < k && medoids[t] == walk->candidate) || !(gains[LEFT] >= least || gains[RIGHT] >= least || gains[OTHER] >= least))
            continue;
        while (walk->medoid < k) {
            size_t m = walk->medoid++;
            if (gains[m == t ? RIGHT : m + 1 == t ? LEFT : OTHER] >= least)
                return true;
        }
    }
    return false;
}

/* Which of these changes most, the first of equals; false: none gains. */
static bool exchange_decide(const struct line *line, size_t k, const size_t *medoids, double least, bool gains, struct exchange *ret_best)
{
    double best = 0, total = 0;
    size_t near = 0;
    for (struct walk walk = {0}; near < 2 && walk_next(line, k, medoids, least, &walk); near++)
        *ret_best = (struct exchange){walk.medoid - 1, walk.candidate};
    if (near == 1 && gains)
        return true;
    for (struct walk walk = {0}; walk_next(line, k, medoids, least, &walk);) {
        double cost = exchange_cost(line, k, medoids, walk.medoid - 1, walk.candidate, &total);
        if (cost < best) {
            best = cost;
            *ret_best = (struct exchange){walk.medoid - 1, walk.candidate};
        }
    }
    return best < -16 * DBL_EPSILON * fabs(total);
}

static bool exchange_find(struct line *line, size_t k, const size_t *medoids, struct exchange *ret_best)
{
    double most = -INFINITY, margin = doubt(line);
    for (size_t t = 0; t <= k; t++)
        line->costs[t] = cost_of(line, medoid_left(medoids, t), medoid_right(line, k, medoids, t));
    for (size_t m = 0; m < k && k > 1; m++)
        line->losses[m] = cost_of(line, medoid_left(medoids, m), medoid_right(line, k, medoids, m + 1)) - line->costs[m] - line->costs[m + 1];
    for (size_t t = 0; t <= k; t++) {
        line->most[t] = exchange_gains(line, k, medoids, t);
        most = line->most[t] > most ? line->most[t] : most;
    }
    if (most < -margin)
        return false;
    return exchange_decide(line, k, medoids, most - margin, most > margin, ret_best);
}

static void medoid_move(struct line *line, size_t k, size_t *medoids, struct exchange exchange)
{
    size_t m = exchange.medoid, to = exchange.candidate;
    double **rows = line->row_of + 1, *row = rows[m];
    for (; m > 0 && medoids[m - 1] > to; m--) {
        medoids[m] = medoids[m - 1];
        rows[m] = rows[m - 1];
    }
    for (; m + 1 < k && medoids[m + 1] < to; m++) {
        medoids[m] = medoids[m + 1];
        rows[m] = rows[m + 1];
    }
    medoids[m] = to;
    rows[m] = row;
    row_fill(line, to, row);
}

void line_medoids(struct line *line, size_t k, size_t *ret_medoids)
{
    struct exchange exchange = {0};
    build(line, k, ret_medoids);
    while (k < line->count && exchange_find(line, k, ret_medoids, &exchange))
        medoid_move(line, k, ret_medoids, exchange);
}

/* ---- clusters ------------------------------------------------------------------------------------------------------------- */

void line_divide(const double *at, size_t count, size_t k, const size_t *medoids, size_t *ret_ends)
{
    for (size_t c = 0; c + 1 < k; c++) {
        size_t left = medoids[c], right = medoids[c + 1];
        ret_ends[c] = middle_find(at, left, right, left, at[left] < at[right] ? right : count);
    }
    ret_ends[k - 1] = count;
}

double line_silhouette(const struct line *line, size_t k, const size_t *ends)
{
    double total = 0, last_mean = -INFINITY;
    for (size_t c = 0, first = 0; c < k; first = ends[c++]) {
        size_t end = ends[c], next = c + 1;
        if (end == first)
            continue;
        while (next < k && ends[next] == end)
            next++;
        double next_mean = next < k ? (line->sums[ends[next]] - line->sums[end]) / (double)(ends[next] - end) : INFINITY;
        for (size_t i = first; i < end && end - first > 1; i++) {
            double at = line->at[i] - line->at[0];
            double below = (double)(i - first) * at - (line->sums[i] - line->sums[first]);
            double above = line->sums[end] - line->sums[i] - (double)(end - i) * at;
            double within = (below + above) / (double)(end - first - 1), between = smaller(at - last_mean, next_mean - at);
            if (isfinite(between) && fmax(within, between) > 0)
                total += (between - within) / fmax(within, between);
        }
        last_mean = (line->sums[end] - line->sums[first]) / (double)(end - first);
    }
    return total / (double)line->count;
}
