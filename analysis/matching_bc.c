/* analysis/matching_bc.c - see matching.h: behaviour clustering, profile by profile. Knows grids; the pairs of least distance are in matching_assign.c. */
#include "analysis/matching.h"
#include "predictor/random.h"

#include <stdlib.h>
#include <string.h>

/* ---- a grid -------------------------------------------------------------------------------------------------------------------- */

struct placed { uint64_t cell; uint32_t index; };       /* index into a side */

struct grid {
    struct placed *a, *b, *scratch;
    size_t a_count, b_count;
    size_t dimensions;
    bool labeled;
    uint64_t random;
};

/* The number of an XU's cell. Where there are more cells than numbers, a mixed one: two cells of a million share one with a probability of 1e-7. */
static uint64_t cell_of(const struct matching_side *side, size_t index, size_t dimensions, uint32_t d, bool exact)
{
    uint64_t cell = 0;
    for (size_t k = 0; k < dimensions; k++) {
        uint64_t part = (uint64_t)(side->values[k][index] * d);
        part = part < d ? part : d - 1;
        cell = cell * d + part;
        if (!exact) {
            uint64_t state = cell;
            cell = random_next(&state);
        }
    }
    return cell;
}

static unsigned cells_bits(uint32_t d, size_t dimensions, bool *ret_exact)
{
    double cells = 1;
    for (size_t k = 0; k < dimensions && cells < 1e18; k++)
        cells *= d;
    *ret_exact = cells < 1e18;
    unsigned bits = 0;
    while (bits < 63 && (double)((uint64_t)1 << bits) < cells)
        bits++;
    return *ret_exact ? bits : 64;
}

/* By cell; within a cell the order stays. */
static void cells_sort(struct placed *list, struct placed *scratch, size_t count, unsigned bits)
{
    enum { DIGIT = 8, BUCKETS = 1 << DIGIT };
    for (unsigned shift = 0; shift < bits; shift += DIGIT) {
        size_t starts[BUCKETS + 1] = {0};
        for (size_t i = 0; i < count; i++)
            starts[((list[i].cell >> shift) & (BUCKETS - 1)) + 1]++;
        for (size_t i = 0; i < BUCKETS; i++)
            starts[i + 1] += starts[i];
        for (size_t i = 0; i < count; i++)
            scratch[starts[(list[i].cell >> shift) & (BUCKETS - 1)]++] = list[i];
        memcpy(list, scratch, count * sizeof *list);
    }
}

static void cell_shuffle(struct placed *cell, size_t count, uint64_t *state)
{
    for (size_t i = count; i > 1; i--) {
        size_t other = random_below(state, i);
        struct placed swap = cell[i - 1];
        cell[i - 1] = cell[other];
        cell[other] = swap;
    }
}

static size_t cell_end(const struct placed *list, size_t at, size_t count)
{
    size_t end = at;
    while (end < count && list[end].cell == list[at].cell)
        end++;
    return end;
}

static int placed_compare(const void *a, const void *b)
{
    uint32_t x = ((const struct placed *)a)->index, y = ((const struct placed *)b)->index;
    return x < y ? -1 : x > y;
}

/* Pairs of each cell; who is left stays in the lists, in the order of labels. */
static void cells_pair(struct grid *grid, uint32_t *partner_of_a)
{
    size_t a_left = 0, b_left = 0, x = 0, y = 0;
    while (x < grid->a_count || y < grid->b_count) {
        bool only_a = y == grid->b_count || (x < grid->a_count && grid->a[x].cell < grid->b[y].cell);
        bool only_b = !only_a && (x == grid->a_count || grid->b[y].cell < grid->a[x].cell);
        size_t x_end = only_b ? x : cell_end(grid->a, x, grid->a_count), y_end = only_a ? y : cell_end(grid->b, y, grid->b_count);
        if (!grid->labeled) {
            cell_shuffle(grid->a + x, x_end - x, &grid->random);
            cell_shuffle(grid->b + y, y_end - y, &grid->random);
        }
        for (; x < x_end && y < y_end; x++, y++)
            partner_of_a[grid->a[x].index] = grid->b[y].index;
        while (x < x_end)
            grid->a[a_left++] = grid->a[x++];
        while (y < y_end)
            grid->b[b_left++] = grid->b[y++];
    }
    grid->a_count = a_left;
    grid->b_count = b_left;
    qsort(grid->a, a_left, sizeof *grid->a, placed_compare);
    qsort(grid->b, b_left, sizeof *grid->b, placed_compare);
}

static void grid_match(struct grid *grid, const struct matching_side *a, const struct matching_side *b, uint32_t divisions, uint32_t *partner_of_a)
{
    grid->a_count = a->count;
    grid->b_count = b->count;
    for (size_t i = 0; i < a->count; i++) {
        grid->a[i].index = (uint32_t)i;
        partner_of_a[i] = UINT32_MAX;
    }
    for (size_t i = 0; i < b->count; i++)
        grid->b[i].index = (uint32_t)i;
    for (uint32_t d = divisions; d >= 1 && grid->a_count && grid->b_count; d--) {
        bool exact;
        unsigned bits = cells_bits(d, grid->dimensions, &exact);
        for (size_t i = 0; i < grid->a_count; i++)
            grid->a[i].cell = cell_of(a, grid->a[i].index, grid->dimensions, d, exact);
        for (size_t i = 0; i < grid->b_count; i++)
            grid->b[i].cell = cell_of(b, grid->b[i].index, grid->dimensions, d, exact);
        cells_sort(grid->a, grid->scratch, grid->a_count, bits);
        cells_sort(grid->b, grid->scratch, grid->b_count, bits);
        cells_pair(grid, partner_of_a);
    }
}

/* ---- one profile after the other ------------------------------------------------------------------------------------------------ */

struct overlap {                        /* an event of the next profile that was counted before */
    const uint64_t *before, *next;      /* columns */
    const uint32_t *rows;               /* of `before`, by derived XU */
};

struct step {
    const struct matching_input *input;
    struct matching *matching;
    size_t profile;
    struct overlap *overlaps;
    size_t dimensions;
    struct matching_side a, b;
    uint32_t *a_by_type, *b_by_type;    /* positions in the order of types, then of labels */
    size_t *a_starts, *b_starts;        /* [type], and one more */
    double *scratch;                    /* values of both sides */
    uint32_t *partner;                  /* of one type's a */
    uint32_t *joined;                   /* of all: by derived XU */
    struct grid grid;
};

static void step_done(struct step *step)
{
    void *const parts[] = {
        step->overlaps, step->a_by_type, step->b_by_type, step->a_starts, step->b_starts, step->scratch, step->partner, step->joined,
        step->a.values, step->b.values, step->grid.a, step->grid.b, step->grid.scratch,
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        free(parts[i]);
}

static enum pcere_status overlaps_find(struct step *step, struct pcere_error *error)
{
    const struct matching_input *input = step->input;
    const struct profile *next = input->profiles[step->profile];
    step->overlaps = calloc(next->event_count + 1, sizeof *step->overlaps);
    if (!step->overlaps)
        return pcere_fail_memory(error, "the events of profiles");
    for (size_t i = 0; i < next->event_count; i++) {
        size_t first = input->first_with[step->profile * input->event_stride + i];
        if (first >= step->profile)
            continue;
        const struct profile *before = input->profiles[first];
        step->overlaps[step->dimensions++] = (struct overlap){
            .before = before->counts[profile_event_find(before, next->events[i].name)], .next = next->counts[i], .rows = step->matching->rows[first],
        };
    }
    if (!step->dimensions)
        return pcere_fail(error, PCERE_DATA, 0, "measure one event in both, or change the order; 'pcere profile --combine bc' plans such runs",
                          "%.100s shares no event with the profiles before it, by which XUs could be recognised", input->names[step->profile]);
    return PCERE_OK;
}

static void by_type(const uint32_t *types, const uint32_t *rows, size_t count, size_t type_count, uint32_t *list, size_t *starts)
{
    memset(starts, 0, (type_count + 2) * sizeof *starts);
    for (size_t i = 0; i < count; i++)
        starts[types[rows ? rows[i] : i] + 2]++;
    for (size_t type = 0; type < type_count; type++)
        starts[type + 2] += starts[type + 1];
    for (size_t i = 0; i < count; i++)
        list[starts[types[rows ? rows[i] : i] + 1]++] = (uint32_t)i;
}

static enum pcere_status step_init(struct step *step, struct pcere_error *error)
{
    const struct matching_input *input = step->input;
    size_t a = step->matching->count, b = input->profiles[step->profile]->count, most = a > b ? a : b;
    enum pcere_status status = overlaps_find(step, error);
    if (status != PCERE_OK)
        return status;
    step->a_by_type = malloc(a * sizeof(uint32_t) + 1);
    step->b_by_type = malloc(b * sizeof(uint32_t) + 1);
    step->a_starts = malloc((input->type_count + 2) * sizeof(size_t));
    step->b_starts = malloc((input->type_count + 2) * sizeof(size_t));
    step->scratch = malloc((a + b) * step->dimensions * sizeof(double) + 1);
    step->partner = malloc(a * sizeof(uint32_t) + 1);
    step->joined = malloc(a * sizeof(uint32_t) + 1);
    step->a.values = malloc(step->dimensions * sizeof(double *));
    step->b.values = malloc(step->dimensions * sizeof(double *));
    step->grid.a = malloc(a * sizeof(struct placed) + 1);
    step->grid.b = malloc(b * sizeof(struct placed) + 1);
    step->grid.scratch = malloc(most * sizeof(struct placed) + 1);
    if (!step->a_by_type || !step->b_by_type || !step->a_starts || !step->b_starts || !step->scratch || !step->partner || !step->joined ||
        !step->a.values || !step->b.values || !step->grid.a || !step->grid.b || !step->grid.scratch)
        return pcere_fail_memory(error, "a matching");
    by_type(input->types[0], step->matching->rows[0], a, input->type_count, step->a_by_type, step->a_starts);
    by_type(input->types[step->profile], NULL, b, input->type_count, step->b_by_type, step->b_starts);
    memset(step->joined, 0xff, a * sizeof(uint32_t));
    return PCERE_OK;
}

/* A dimension's values of one type from 0 to 1, over both sides. */
static void values_fill(struct step *step, size_t k, double *a_values, double *b_values)
{
    const struct overlap *overlap = &step->overlaps[k];
    uint64_t least = UINT64_MAX, most = 0;
    for (size_t i = 0; i < step->a.count; i++) {
        uint64_t value = overlap->before[overlap->rows[step->a.at[i]]];
        least = value < least ? value : least;
        most = value > most ? value : most;
    }
    for (size_t i = 0; i < step->b.count; i++) {
        uint64_t value = overlap->next[step->b.at[i]];
        least = value < least ? value : least;
        most = value > most ? value : most;
    }
    double scale = most > least ? 1.0 / (double)(most - least) : 0;
    for (size_t i = 0; i < step->a.count; i++)
        a_values[i] = (double)(overlap->before[overlap->rows[step->a.at[i]]] - least) * scale;
    for (size_t i = 0; i < step->b.count; i++)
        b_values[i] = (double)(overlap->next[step->b.at[i]] - least) * scale;
    step->a.values[k] = a_values;
    step->b.values[k] = b_values;
}

static enum pcere_status type_match(struct step *step, size_t type, struct pcere_error *error)
{
    const struct combine_options *options = &step->input->options;
    step->a.count = step->a_starts[type + 1] - step->a_starts[type];
    step->b.count = step->b_starts[type + 1] - step->b_starts[type];
    if (!step->a.count || !step->b.count)
        return PCERE_OK;
    step->a.at = step->a_by_type + step->a_starts[type];
    step->b.at = step->b_by_type + step->b_starts[type];
    double *scratch = step->scratch;
    for (size_t k = 0; k < step->dimensions; k++) {
        values_fill(step, k, scratch, scratch + step->a.count);
        scratch += step->a.count + step->b.count;
    }
    enum pcere_status status = PCERE_OK;
    if (options->strategy == COMBINE_ASSIGNMENT)
        status = matching_assign(&step->a, &step->b, step->dimensions, step->partner, error);
    else
        grid_match(&step->grid, &step->a, &step->b, options->divisions, step->partner);
    for (size_t i = 0; i < step->a.count && status == PCERE_OK; i++)
        if (step->partner[i] != UINT32_MAX)
            step->joined[step->a.at[i]] = step->b.at[step->partner[i]];
    return status;
}

static void joined_keep(struct step *step)
{
    struct matching *matching = step->matching;
    size_t kept = 0;
    for (size_t i = 0; i < matching->count; i++) {
        if (step->joined[i] == UINT32_MAX)
            continue;
        for (size_t p = 0; p < step->profile; p++)
            matching->rows[p][kept] = matching->rows[p][i];
        matching->rows[step->profile][kept++] = step->joined[i];
    }
    matching->count = kept;
}

enum pcere_status matching_bc(const struct matching_input *input, struct matching *matching, struct pcere_error *error)
{
    enum pcere_status status = PCERE_OK;
    uint64_t random = input->options.seed;
    matching->count = input->profiles[0]->count;
    for (size_t i = 0; i < matching->count; i++)
        matching->rows[0][i] = (uint32_t)i;
    for (size_t p = 1; p < input->profile_count && status == PCERE_OK; p++) {
        struct step step = {.input = input, .matching = matching, .profile = p};
        status = step_init(&step, error);
        step.grid.dimensions = step.dimensions;
        step.grid.labeled = input->options.strategy != COMBINE_BC_UNLABELED;
        step.grid.random = random;
        for (size_t type = 0; type < input->type_count && status == PCERE_OK; type++)
            status = type_match(&step, type, error);
        random = step.grid.random;
        if (status == PCERE_OK)
            joined_keep(&step);
        step_done(&step);
    }
    return status;
}
