/* predictor/classes.c - see classes.h: rounds of division and of marking what is special, then classes and their representatives. */
#include "predictor/classes.h"

#include "predictor/alike.h"
#include "predictor/amdahl.h"
#include "predictor/division.h"
#include "predictor/random.h"
#include "predictor/representatives.h"
#include "predictor/specials.h"
#include "predictor/stand_ins.h"
#include "predictor/statistics.h"
#include "predictor/unlike.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SMALL_COUNT 10               /* up to here each invocation can be its own class */
#define MERGE_RATIO 1.01
#define ROUNDS 4
#define GROUPS_PER_CLASS 3           /* division may find more groups than classes are allowed: the least joins then lose least */
#define POOL_HALF ((size_t)4096)     /* invocations that division sees: half chosen by number, half by time */

struct finder {
    const struct classes_input *input;
    struct classes_options options;
    uint64_t region_ns;
    uint32_t *group_of;              /* [count] */
    struct group *groups;            /* [GROUPS_PER_CLASS * max_classes] */
    size_t group_count;
    uint32_t *firsts;                /* first-touch invocations, ascending by time once they are grouped */
    size_t first_count;
    uint32_t *first_group;           /* [first_count] group of each, numbered from 0 */
    size_t first_groups;
    bool has_noise;
    uint64_t *scratch;               /* [count] */
    bool *unlike;                    /* [count] those that are in their class by chance (rule 10) */
    enum classes_kind *kinds;        /* [max_classes] of the final classes */
    uint64_t *targets;               /* [max_classes] the time that a final class's representative should have; 0: the class's median */
    uint64_t *between_members, *between_ns;     /* [max_classes] of what joined it from between it and another one */
    size_t class_count;
};

const char *classes_kind_name(enum classes_kind kind)
{
    static const char *const names[] = {"alike", "scaled", "first", "noise"};
    return names[kind];
}

static bool weighs_little(const struct finder *finder, uint64_t time_ns)
{
    return (double)time_ns < finder->options.min_share_ratio * (double)finder->options.wall_ns;
}

/* ---- groups --------------------------------------------------------------------------------------------------------------- */

static uint64_t median_of(uint64_t *values, size_t count)
{
    uint64_t upper = statistics_select_u64(values, count, count / 2), lower = 0;
    if (count % 2)
        return upper;
    for (size_t i = 0; i < count / 2; i++)
        if (values[i] > lower)
            lower = values[i];
    return lower + (upper - lower) / 2;
}

/* Medians of times (or of faults) per group: `owner` says each invocation's group, values from `limit` on are none. */
static void medians_find(const struct finder *finder, bool faults, const size_t *offsets, size_t limit, uint64_t *ret_medians,
                         size_t *cursors)
{
    const struct classes_input *input = finder->input;
    memcpy(cursors, offsets, limit * sizeof *cursors);
    for (size_t i = 0; i < input->count; i++)
        if (finder->group_of[i] < limit)
            finder->scratch[cursors[finder->group_of[i]]++] = faults ? input->minor_faults[i] : input->time_ns[i];
    for (size_t g = 0; g < limit; g++)
        ret_medians[g] = offsets[g + 1] > offsets[g] ? median_of(finder->scratch + offsets[g], offsets[g + 1] - offsets[g]) : 0;
}

/* Measure the groups that group_of names; smear and spread_ratio stay as division left them. */
static enum pcere_status groups_measure(struct finder *finder, struct pcere_error *error)
{
    const struct classes_input *input = finder->input;
    size_t count = finder->group_count;
    size_t *offsets = malloc((2 * count + 1) * sizeof *offsets);
    uint64_t *medians = malloc(count * sizeof *medians);
    if (!offsets || !medians) {
        free(offsets);
        free(medians);
        return pcere_fail_memory(error, "measuring a region's classes");
    }
    for (size_t g = 0; g < count; g++)
        finder->groups[g] = (struct group){
            .low_ns = UINT64_MAX, .smear = finder->groups[g].smear, .spread_ratio = finder->groups[g].spread_ratio};
    for (size_t i = 0; i < input->count; i++) {
        if (finder->group_of[i] >= count)
            continue;
        struct group *group = &finder->groups[finder->group_of[i]];
        uint64_t time_ns = input->time_ns[i];
        group->members++;
        group->time_ns += time_ns;
        group->low_ns = time_ns < group->low_ns ? time_ns : group->low_ns;
        group->high_ns = time_ns > group->high_ns ? time_ns : group->high_ns;
        if (group->early_count < GROUP_EARLY)
            group->early[group->early_count++] = (uint32_t)i;
    }
    offsets[0] = 0;
    for (size_t g = 0; g < count; g++)
        offsets[g + 1] = offsets[g] + finder->groups[g].members;
    medians_find(finder, false, offsets, count, medians, offsets + count + 1);
    for (size_t g = 0; g < count; g++)
        finder->groups[g].median_ns = medians[g] ? medians[g] : 1;
    if (input->minor_faults) {
        medians_find(finder, true, offsets, count, medians, offsets + count + 1);
        for (size_t g = 0; g < count; g++)
            finder->groups[g].faults_median = medians[g];
    }
    free(offsets);
    free(medians);
    return PCERE_OK;
}

/* ---- many: division of a pool, then everyone joins --------------------------------------------------------------------------- */

/* Strata of a running quantity: one random target in each, in ascending order. */
struct strata { uint64_t width, number, target; };

static void strata_next(struct strata *strata, uint64_t *state)
{
    strata->target = strata->number * strata->width + random_below(state, strata->width);
    strata->number++;
}

/* Logarithms of the times of the regular invocations, or of a choice of them: half by number, half by time so that few heavy ones are
 * seen. Ascending. */
static size_t pool_fill(const struct finder *finder, uint64_t *state, double *pool)
{
    const struct classes_input *input = finder->input;
    uint64_t regular = 0, regular_ns = 0;
    for (size_t i = 0; i < input->count; i++)
        if (finder->group_of[i] < GROUP_FIRST) {
            regular++;
            regular_ns += input->time_ns[i];
        }
    bool all = regular <= 2 * POOL_HALF;
    struct strata by_number = {.width = regular / POOL_HALF + 1}, by_time = {.width = regular_ns / POOL_HALF + 1};
    strata_next(&by_number, state);
    strata_next(&by_time, state);
    uint64_t seen = 0, seen_ns = 0;
    size_t filled = 0;
    for (size_t i = 0; i < input->count; i++) {
        if (finder->group_of[i] >= GROUP_FIRST)
            continue;
        bool take = all;
        seen++;
        seen_ns += input->time_ns[i];
        for (; by_number.target < seen; take = true)
            strata_next(&by_number, state);
        if (by_time.target < seen_ns) {
            take = true;
            by_time.number = seen_ns / by_time.width + 1;
            strata_next(&by_time, state);
        }
        if (take)
            pool[filled++] = log(fmax((double)input->time_ns[i], 1));
    }
    statistics_sort(pool, filled);
    return filled;
}

/* Divide the regular invocations into at most `room` groups, ascending by time. */
static enum pcere_status groups_divide(struct finder *finder, size_t room, uint64_t *state, struct pcere_error *error)
{
    const struct classes_input *input = finder->input;
    double *pool = malloc((2 * POOL_HALF + 2) * sizeof *pool);
    struct division_part *parts = malloc(room * sizeof *parts);
    uint64_t *limits = malloc(room * sizeof *limits);
    enum pcere_status status = PCERE_OK;
    size_t part_count = 0;
    if (!pool || !parts || !limits)
        status = pcere_fail_memory(error, "dividing a region's invocations into classes");
    if (status == PCERE_OK) {
        size_t pool_count = pool_fill(finder, state, pool);
        status = division_find(pool, pool_count, room, random_next(state), parts, &part_count, error);
    }
    if (status == PCERE_OK) {
        finder->group_count = part_count;
        for (size_t g = 0; g < part_count; g++) {
            const double *part = pool + parts[g].first;
            finder->groups[g].smear = parts[g].smear;
            finder->groups[g].spread_ratio = STATISTICS_MAD_TO_SIGMA * statistics_mad(part, parts[g].end - parts[g].first);
            limits[g] = g ? (uint64_t)ceil(exp((part[-1] + part[0]) / 2)) : 0;
        }
        for (size_t i = 0; i < input->count; i++) {
            if (finder->group_of[i] >= GROUP_FIRST)
                continue;
            uint32_t group = 0;
            for (size_t g = 1; g < part_count; g++)
                group += input->time_ns[i] >= limits[g];
            finder->group_of[i] = group;
        }
        status = groups_measure(finder, error);
    }
    free(pool);
    free(parts);
    free(limits);
    return status;
}

/* Group the first-touch invocations; the light ones together. */
static enum pcere_status firsts_group(struct finder *finder, struct pcere_error *error)
{
    size_t limit = finder->options.max_classes - 1 - finder->has_noise;
    finder->first_groups = 0;
    if (finder->first_count == 0)
        return PCERE_OK;
    enum pcere_status status = alike_group(finder->input, finder->firsts, finder->first_count, limit, finder->first_group,
                                           &finder->first_groups, error);
    if (status != PCERE_OK)
        return status;
    uint32_t light = UINT32_MAX, next = 0;
    for (size_t i = 0, end; i < finder->first_count; i = end) {
        uint64_t time_ns = 0;
        for (end = i; end < finder->first_count && finder->first_group[end] == finder->first_group[i]; end++)
            time_ns += finder->input->time_ns[finder->firsts[end]];
        uint32_t number;
        if (!weighs_little(finder, time_ns))
            number = next++;
        else if (light != UINT32_MAX)
            number = light;
        else
            number = light = next++;
        for (size_t j = i; j < end; j++)
            finder->first_group[j] = number;
    }
    finder->first_groups = next;
    return PCERE_OK;
}

/* What it costs to let the lighter of two neighbours be represented by the heavier: its time times how far off it is. */
static double join_damage(const struct group *a, const struct group *b)
{
    double light_ns = (double)(a->time_ns < b->time_ns ? a->time_ns : b->time_ns);
    return light_ns * log((double)b->median_ns / (double)a->median_ns);
}

static bool groups_belong(const struct finder *finder, const struct group *a, const struct group *b)
{
    bool near = (double)b->median_ns <= MERGE_RATIO * (double)a->median_ns;
    bool light = a->smear && a->smear == b->smear && (weighs_little(finder, a->time_ns) || weighs_little(finder, b->time_ns));
    return near || light || a->members == 0 || b->members == 0;
}

/* Join neighbours until none belong together and at most `room` are left. Renumbers group_of. */
static enum pcere_status groups_join(struct finder *finder, size_t room, struct pcere_error *error)
{
    size_t count = finder->group_count;
    uint32_t *number = malloc(count * sizeof *number);
    if (!number)
        return pcere_fail_memory(error, "joining a region's classes");
    for (size_t g = 0; g < count; g++)
        number[g] = (uint32_t)g;
    for (size_t left = count; left > 1; left--) {
        struct group *groups = finder->groups;
        size_t cheapest = 0;
        double least = INFINITY;
        for (size_t g = 0; g + 1 < left; g++) {
            double damage = groups_belong(finder, &groups[g], &groups[g + 1]) ? -1 : join_damage(&groups[g], &groups[g + 1]);
            if (damage < least) {
                least = damage;
                cheapest = g;
            }
        }
        if (least >= 0 && left <= room)
            break;
        struct group *low = &groups[cheapest], *high = low + 1;
        uint64_t median_ns = high->time_ns > low->time_ns ? high->median_ns : low->median_ns;
        low->members += high->members;
        low->time_ns += high->time_ns;
        low->median_ns = median_ns;
        low->smear = low->smear == high->smear ? low->smear : 0;
        memmove(high, high + 1, (left - cheapest - 2) * sizeof *high);
        finder->group_count = left - 1;
        for (size_t g = 0; g < count; g++)
            number[g] -= number[g] > cheapest;
    }
    for (size_t i = 0; i < finder->input->count; i++)
        if (finder->group_of[i] < GROUP_FIRST)
            finder->group_of[i] = number[finder->group_of[i]];
    free(number);
    return PCERE_OK;
}

/* Where there is room for one class, it is all of them: nothing has to be divided. */
static void one_find(struct finder *finder)
{
    memset(finder->group_of, 0, finder->input->count * sizeof *finder->group_of);
    finder->group_count = finder->class_count = 1;
    finder->kinds[0] = CLASSES_ALIKE;
    finder->targets[0] = statistics_middle_u64(finder->input->time_ns, finder->input->count, finder->scratch);
}

static enum pcere_status many_find(struct finder *finder, struct pcere_error *error)
{
    uint64_t state = finder->options.seed, noise_ns = 0;
    size_t max_classes = finder->options.max_classes;
    for (unsigned round = 1;; round++) {
        enum pcere_status status = groups_divide(finder, GROUPS_PER_CLASS * max_classes, &state, error);
        if (status != PCERE_OK)
            return status;
        if (round == ROUNDS)
            break;
        size_t found = 0, noise = 0;
        if (max_classes >= 2)
            found = specials_mark_first(finder->input, finder->groups, finder->group_count, finder->group_of,
                                        finder->firsts + finder->first_count);
        finder->first_count += found;
        if (max_classes >= 3)
            noise = specials_mark_noise(finder->input, finder->groups, finder->group_count, finder->region_ns, &noise_ns,
                                        finder->group_of);
        finder->has_noise |= noise > 0;
        if (found + noise == 0)
            break;
        if ((status = firsts_group(finder, error)) != PCERE_OK)
            return status;
    }
    enum pcere_status status = groups_join(finder, max_classes - finder->first_groups - finder->has_noise, error);
    if (status != PCERE_OK)
        return status;
    size_t regular = finder->group_count;
    for (size_t g = 0; g < regular; g++) {
        finder->kinds[g] = CLASSES_ALIKE;
        finder->targets[g] = finder->groups[g].median_ns;
    }
    for (size_t i = 0; i < finder->first_count; i++) {
        size_t class = regular + finder->first_group[i];
        finder->group_of[finder->firsts[i]] = (uint32_t)class;
        finder->kinds[class] = CLASSES_FIRST;
    }
    finder->class_count = regular + finder->first_groups;
    if (finder->has_noise) {
        for (size_t i = 0; i < finder->input->count; i++)
            if (finder->group_of[i] == GROUP_NOISE)
                finder->group_of[i] = (uint32_t)finder->class_count;
        finder->kinds[finder->class_count++] = CLASSES_NOISE;
    }
    return PCERE_OK;
}

static enum pcere_status few_find(struct finder *finder, struct pcere_error *error)
{
    uint32_t invocations[SMALL_COUNT], groups[SMALL_COUNT];
    size_t count = finder->input->count;
    for (size_t i = 0; i < count; i++)
        invocations[i] = (uint32_t)i;
    enum pcere_status status =
        alike_group(finder->input, invocations, count, finder->options.max_classes, groups, &finder->group_count, error);
    if (status != PCERE_OK)
        return status;
    for (size_t i = 0; i < count; i++)
        finder->group_of[invocations[i]] = groups[i];
    status = groups_measure(finder, error);
    for (size_t g = 0; status == PCERE_OK && g < finder->group_count; g++)
        finder->kinds[g] = specials_group_is_first(finder->input, finder->groups, g) ? CLASSES_FIRST : CLASSES_ALIKE;
    finder->class_count = finder->group_count;
    return status;
}

/* ---- what is at hand ------------------------------------------------------------------------------------------------------- */

#define RARE_ONE_IN 50

/* Rule 9: classes of which nothing is at hand join. Renumbers group_of, kinds and targets. */
static enum pcere_status absent_join(struct finder *finder, struct pcere_error *error)
{
    const struct classes_input *input = finder->input;
    size_t count = finder->class_count, kept = 0;
    uint32_t *number = calloc(count, sizeof *number);
    struct stand_in *joins = calloc(count, sizeof *joins);
    enum pcere_status status = number && joins ? PCERE_OK : pcere_fail_memory(error, "a region's classes");
    if (status == PCERE_OK)
        status = stand_ins_find(input, finder->group_of, finder->groups, finder->unlike, finder->kinds, count, joins, error);
    if (status == PCERE_OK) {
        for (size_t c = 0; c < count; c++)
            if (joins[c].class == count) {
                finder->kinds[kept] = finder->kinds[c];
                finder->targets[kept] = finder->targets[c];
                number[c] = (uint32_t)kept++;
            }
        for (size_t c = 0; c < count; c++)
            if (joins[c].class != count) {
                number[c] = number[joins[c].class];
                finder->between_members[number[c]] += joins[c].between ? finder->groups[c].members : 0;
                finder->between_ns[number[c]] += joins[c].between ? finder->groups[c].time_ns : 0;
            }
        for (size_t i = 0; i < input->count; i++)
            finder->group_of[i] = number[finder->group_of[i]];
        finder->class_count = kept;
    }
    free(number);
    free(joins);
    return status;
}

/* Rules 10 and 9, of the classes as they are. */
static enum pcere_status beside_captured(struct finder *finder, struct pcere_error *error)
{
    const struct classes_input *input = finder->input;
    if (!input->calls_hash && !input->at_hand)
        return PCERE_OK;
    finder->group_count = finder->class_count;
    enum pcere_status status = groups_measure(finder, error);
    if (status == PCERE_OK && input->calls_hash)
        status = unlike_find(input, finder->group_of, finder->groups, finder->class_count, finder->unlike, error);
    return status == PCERE_OK && input->at_hand ? absent_join(finder, error) : status;
}

/* ---- classes from groups -------------------------------------------------------------------------------------------------- */

static void class_judge(const struct finder *finder, struct classes_class *class)
{
    if (class->kind == CLASSES_ALIKE &&
        amdahl_class_weight(class->members, class->time_ns, class->representative_ns) != (double)class->members)
        class->kind = CLASSES_SCALED;
    const struct classes_input *input = finder->input;
    bool absent = input->at_hand && !input->at_hand[class->representative - 1];
    bool again = class->kind == CLASSES_FIRST || class->representative == 1;      /* another run comes about it in the same place */
    bool rare = absent && !again && input->count > SMALL_COUNT && class->members <= (input->count / RARE_ONE_IN > 1 ? input->count / RARE_ONE_IN : 1);
    class->wanted = class->kind != CLASSES_NOISE && !rare && !weighs_little(finder, class->time_ns);
    if (class->kind == CLASSES_NOISE)
        snprintf(class->reason, sizeof class->reason, "rare interruptions: in-vivo time is kept");
    else if (rare)
        snprintf(class->reason, sizeof class->reason, "rare, and none was captured: in-vivo time is kept");
    else if (!class->wanted)
        snprintf(class->reason, sizeof class->reason, "%.2g %% of the run: in-vivo time is kept",
                 100 * (double)class->time_ns / (double)finder->options.wall_ns);
}

struct ranked { uint64_t representative; uint32_t class; };

static int compare_ranked(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    return (a->representative > b->representative) - (a->representative < b->representative);
}

/* Where the median takes a fraction of the mean, the representative is near to those in which the middle of the time is spent. */
static void middle_take(struct finder *finder, size_t c)
{
    const struct group *group = &finder->groups[c];
    size_t count = 0;
    if (finder->kinds[c] == CLASSES_NOISE || representatives_fit(group, finder->targets[c] ? finder->targets[c] : group->median_ns))
        return;
    uint64_t *times = malloc(2 * (size_t)group->members * sizeof *times);
    for (size_t i = 0; times && i < finder->input->count; i++)
        if (finder->group_of[i] == c)
            times[count++] = finder->input->time_ns[i];
    if (count)
        finder->targets[c] = statistics_middle_u64(times, count, times + count);
    free(times);
}

/* Classes out of group_of, ascending by representative; group_of becomes class_of. */
static enum pcere_status result_make(struct finder *finder, struct classes_result *ret_result, struct pcere_error *error)
{
    size_t count = finder->class_count;
    struct classes_class *classes = calloc(count, sizeof *classes), *sorted = calloc(count, sizeof *sorted);
    struct ranked *ranks = calloc(count, sizeof *ranks);
    uint32_t *position = calloc(count, sizeof *position);
    finder->group_count = count;
    enum pcere_status status = classes && sorted && ranks && position ? groups_measure(finder, error)
                                                                      : pcere_fail_memory(error, "a region's classes");
    for (size_t c = 0; status == PCERE_OK && c < count; c++)
        classes[c] = (struct classes_class){.members = finder->groups[c].members,
                                            .time_ns = finder->groups[c].time_ns,
                                            .time_ns_median = finder->groups[c].median_ns,
                                            .between_members = finder->between_members[c],
                                            .between_ns = finder->between_ns[c],
                                            .kind = finder->kinds[c]};
    for (size_t c = 0; status == PCERE_OK && c < count; c++)
        middle_take(finder, c);
    if (status == PCERE_OK)
        status = representatives_choose(finder->input, finder->group_of, finder->targets, finder->groups, finder->unlike, classes, count, error);
    if (status == PCERE_OK) {
        for (size_t c = 0; c < count; c++) {
            class_judge(finder, &classes[c]);
            ranks[c] = (struct ranked){.representative = classes[c].representative, .class = (uint32_t)c};
        }
        qsort(ranks, count, sizeof *ranks, compare_ranked);
        for (size_t c = 0; c < count; c++) {
            sorted[c] = classes[ranks[c].class];
            position[ranks[c].class] = (uint32_t)c;
        }
        for (size_t i = 0; i < finder->input->count; i++)
            finder->group_of[i] = position[finder->group_of[i]];
        *ret_result = (struct classes_result){.classes = sorted, .class_count = count, .class_of = finder->group_of};
        sorted = NULL;
        finder->group_of = NULL;
    }
    free(classes);
    free(sorted);
    free(ranks);
    free(position);
    return status;
}

static void finder_done(struct finder *finder)
{
    free(finder->group_of);
    free(finder->groups);
    free(finder->firsts);
    free(finder->first_group);
    free(finder->scratch);
    free(finder->unlike);
    free(finder->kinds);
    free(finder->targets);
    free(finder->between_members);
    free(finder->between_ns);
}

static enum pcere_status finder_init(struct finder *finder, const struct classes_input *input, const struct classes_options *options,
                                     struct pcere_error *error)
{
    *finder = (struct finder){.input = input, .options = *options};
    if (finder->options.max_classes == 0)
        finder->options.max_classes = CLASSES_MAX_DEFAULT;
    if (finder->options.max_classes > CLASSES_LIMIT)
        return pcere_fail(error, PCERE_USAGE, 0, "ask for 1 to 1000 classes", "a region cannot have %u classes",
                          finder->options.max_classes);
    if (!(options->min_share_ratio >= 0 && options->min_share_ratio <= 1))
        return pcere_fail(error, PCERE_USAGE, 0, "a share is a number from 0 to 1", "%g is no share of the program's time",
                          options->min_share_ratio);
    if (input->count == 0)
        return pcere_fail(error, PCERE_DATA, 0, NULL, "a region without invocations has no classes");
    if (input->count >= GROUP_FIRST)
        return pcere_fail(error, PCERE_DATA, 0, NULL, "a region has %zu invocations, more than can be numbered", input->count);
    for (size_t i = 0; i < input->count; i++)
        if (__builtin_add_overflow(finder->region_ns, input->time_ns[i], &finder->region_ns) || finder->region_ns > INT64_MAX)
            return pcere_fail(error, PCERE_DATA, 0, NULL, "invocation %zu makes the region last longer than can be counted", i + 1);
    size_t max_classes = finder->options.max_classes, groups = GROUPS_PER_CLASS * max_classes;
    size_t firsts = ROUNDS * SPECIALS_PER_GROUP * groups;
    finder->group_of = calloc(input->count, sizeof *finder->group_of);
    finder->groups = calloc(groups < SMALL_COUNT ? SMALL_COUNT : groups, sizeof *finder->groups);
    finder->firsts = calloc(firsts, sizeof *finder->firsts);
    finder->first_group = calloc(firsts, sizeof *finder->first_group);
    finder->scratch = malloc(input->count * sizeof *finder->scratch);
    finder->unlike = calloc(input->count, sizeof *finder->unlike);
    finder->kinds = calloc(max_classes, sizeof *finder->kinds);
    finder->targets = calloc(max_classes, sizeof *finder->targets);
    finder->between_members = calloc(max_classes, sizeof *finder->between_members);
    finder->between_ns = calloc(max_classes, sizeof *finder->between_ns);
    if (!finder->group_of || !finder->groups || !finder->firsts || !finder->first_group || !finder->scratch || !finder->unlike ||
        !finder->kinds || !finder->targets || !finder->between_members || !finder->between_ns)
        return pcere_fail_memory(error, "a region's invocations");
    return PCERE_OK;
}

static enum pcere_status alike_find(const struct classes_input *input, const struct classes_options *options,
                                    struct classes_result *ret_result, struct pcere_error *error)
{
    struct finder finder;
    enum pcere_status status = finder_init(&finder, input, options, error);
    if (status == PCERE_OK && input->count > SMALL_COUNT && finder.options.max_classes == 1)
        one_find(&finder);
    else if (status == PCERE_OK)
        status = input->count <= SMALL_COUNT ? few_find(&finder, error) : many_find(&finder, error);
    if (status == PCERE_OK)
        status = beside_captured(&finder, error);
    if (status == PCERE_OK)
        status = result_make(&finder, ret_result, error);
    finder_done(&finder);
    return status;
}

/* ---- kinds that never share a class ---------------------------------------------------------------------------------------- */

struct kind { struct classes_input input; uint32_t *positions; };     /* invocations of one kind, and where they stand among all */

static void kind_done(struct kind *kind)
{
    free((void *)kind->input.time_ns);
    free((void *)kind->input.arguments_hash);
    free((void *)kind->input.minor_faults);
    free((void *)kind->input.preemptions);
    free((void *)kind->input.begin_ns);
    free((void *)kind->input.at_hand);
    free((void *)kind->input.calls_hash);
    free(kind->positions);
}

/* A part of an array of all invocations; an array that is not there has none. False: no memory. */
static bool part_take(const void *all, size_t bytes, const struct kind *kind, const void **ret_part)
{
    unsigned char *part = all ? malloc(kind->input.count * bytes) : NULL;
    for (size_t i = 0; part && i < kind->input.count; i++)
        memcpy(part + i * bytes, (const unsigned char *)all + kind->positions[i] * bytes, bytes);
    *ret_part = part;
    return part || !all;
}

static bool kind_take(const struct classes_input *input, uint32_t which, struct kind *ret_kind)
{
    struct kind kind = {.input = {.near_ns = input->near_ns}, .positions = malloc(input->count * sizeof *kind.positions)};
    const void *parts[7] = {NULL};
    bool taken = kind.positions != NULL;
    for (size_t i = 0; taken && i < input->count; i++)
        if (input->kinds[i] == which)
            kind.positions[kind.input.count++] = (uint32_t)i;
    const void *const all[7] = {input->time_ns, input->arguments_hash, input->minor_faults, input->preemptions, input->begin_ns, input->at_hand, input->calls_hash};
    const size_t bytes[7] = {sizeof *input->time_ns, sizeof *input->arguments_hash, sizeof *input->minor_faults, sizeof *input->preemptions, sizeof *input->begin_ns, sizeof *input->at_hand,
                             sizeof *input->calls_hash};
    for (size_t i = 0; i < 7; i++)
        taken = taken && part_take(all[i], bytes[i], &kind, &parts[i]);
    kind.input.time_ns = parts[0], kind.input.arguments_hash = parts[1], kind.input.minor_faults = parts[2];
    kind.input.preemptions = parts[3], kind.input.begin_ns = parts[4], kind.input.at_hand = parts[5], kind.input.calls_hash = parts[6];
    *ret_kind = kind;
    return taken;
}

static enum pcere_status kind_find(const struct classes_input *input, uint32_t which, const struct classes_options *options, struct classes_result *result,
                                   struct pcere_error *error)
{
    struct kind kind;
    struct classes_result found = {0};
    enum pcere_status status = kind_take(input, which, &kind) ? alike_find(&kind.input, options, &found, error) : pcere_fail_memory(error, "the classes");
    struct classes_class *classes = status ? NULL : realloc(result->classes, (result->class_count + found.class_count) * sizeof *classes);
    if (!status && !classes)
        status = pcere_fail_memory(error, "the classes");
    if (classes)
        result->classes = classes;
    for (size_t i = 0; !status && i < found.class_count; i++) {
        classes[result->class_count + i] = found.classes[i];
        classes[result->class_count + i].representative = kind.positions[found.classes[i].representative - 1] + (uint64_t)1;
    }
    for (size_t i = 0; !status && i < kind.input.count; i++)
        result->class_of[kind.positions[i]] = (uint32_t)(result->class_count + found.class_of[i]);
    result->class_count += status ? 0 : found.class_count;
    classes_result_done(&found);
    kind_done(&kind);
    return status;
}

static int representative_order(const void *left, const void *right)
{
    const struct classes_class *a = left, *b = right;
    return (a->representative > b->representative) - (a->representative < b->representative);
}

/* Ascending by representative, as without kinds: a representative tells its class's old position by class_of. */
static enum pcere_status result_order(struct classes_result *result, size_t count, struct pcere_error *error)
{
    uint32_t *places = malloc(result->class_count * sizeof *places);
    if (!places)
        return pcere_fail_memory(error, "the classes");
    qsort(result->classes, result->class_count, sizeof *result->classes, representative_order);
    for (size_t i = 0; i < result->class_count; i++)
        places[result->class_of[result->classes[i].representative - 1]] = (uint32_t)i;
    for (size_t i = 0; i < count; i++)
        result->class_of[i] = places[result->class_of[i]];
    free(places);
    return PCERE_OK;
}

/* Which there are, `most` at most; how many there are, `most` + 1 where there are more. */
static uint32_t kinds_list(const struct classes_input *input, uint32_t most, uint32_t *list)
{
    uint32_t count = 0;
    for (size_t i = 0; i < input->count && count <= most; i++) {
        uint32_t at = 0;
        while (at < count && list[at] != input->kinds[i])
            at++;
        if (at == count && count++ < most)
            list[at] = input->kinds[i];
    }
    return count;
}

enum pcere_status classes_find(const struct classes_input *input, const struct classes_options *options,
                               struct classes_result *ret_result, struct pcere_error *error)
{
    uint32_t list[CLASSES_LIMIT], most = options->max_classes ? options->max_classes : CLASSES_MAX_DEFAULT;
    uint32_t count = input->kinds && most <= CLASSES_LIMIT ? kinds_list(input, most, list) : 0;
    if (count < 2 || count > most)
        return alike_find(input, options, ret_result, error);
    struct classes_result result = {.class_of = malloc(input->count * sizeof *result.class_of)};
    struct classes_options each = *options;
    each.max_classes = most / count;
    enum pcere_status status = result.class_of ? PCERE_OK : pcere_fail_memory(error, "the classes");
    for (uint32_t i = 0; !status && i < count; i++)
        status = kind_find(input, list[i], &each, &result, error);
    if (!status)
        status = result_order(&result, input->count, error);
    if (status)
        classes_result_done(&result);
    else
        *ret_result = result;
    return status;
}

void classes_result_done(struct classes_result *result)
{
    free(result->classes);
    free(result->class_of);
    *result = (struct classes_result){0};
}
