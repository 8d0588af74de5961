/* predictor/stand_ins.c - see stand_ins.h. */
#include "predictor/stand_ins.h"

#include "predictor/representatives.h"
#include "predictor/specials.h"

#include <math.h>
#include <stdlib.h>

#define LIKE_RATIO 1.25                 /* of medians: one is as good as the other */
#define BETWEEN_RATIO 2.0               /* to the nearer one, as in a region that changes steadily: classes of about a factor two; */
#define FARTHER_RATIO 4.0               /* to the other one, on the other side */
#define STEPS_PER_OCTAVE 3.0            /* no gap: one of LIKE_RATIO or so would leave a step empty */
#define STEPS_MOST 10u                  /* of three octaves, and their end */
#define FIRST_TRIES 64u                 /* members whose arguments are looked for */

struct finding {
    const struct classes_input *input;
    const uint32_t *class_of;
    const struct group *groups;
    const enum classes_kind *kinds;
    size_t count;
    bool *at_hand;
};

static double log_median(const struct finding *finding, size_t class)
{
    return log(fmax((double)finding->groups[class].median_ns, 1));
}

static bool can_stand_in(const struct finding *finding, size_t class)
{
    return finding->at_hand[class] && (finding->kinds[class] == CLASSES_ALIKE || finding->kinds[class] == CLASSES_SCALED);
}

/* The nearest that can stand in, shorter (side < 0), longer (> 0) or either (0), at most `ratio` away; or the number of classes. */
static size_t nearest_find(const struct finding *finding, size_t class, int side, double ratio)
{
    size_t nearest = finding->count;
    double least = log(ratio);
    for (size_t other = 0; other < finding->count; other++) {
        double away = log_median(finding, other) - log_median(finding, class);
        if (!can_stand_in(finding, other) || away * side < 0 || (side && away == 0) || fabs(away) > least)
            continue;
        least = fabs(away);
        nearest = other;
    }
    return nearest;
}

/* Do members have arguments that members of `other` have as well? Asked of the first ones. */
static bool same_arguments(const struct finding *finding, size_t class, size_t other)
{
    const struct classes_input *input = finding->input;
    uint64_t known[FIRST_TRIES];
    size_t known_count = 0, asked = 0;
    if (!input->arguments_hash)
        return false;
    for (size_t i = 0; i < input->count && known_count < FIRST_TRIES; i++)
        if (finding->class_of[i] == other)
            known[known_count++] = input->arguments_hash[i];
    for (size_t i = 0; i < input->count && asked < FIRST_TRIES; i++) {
        bool found = finding->class_of[i] != class;
        asked += finding->class_of[i] == class;
        for (size_t k = 0; k < known_count && !found; k++)
            found = known[k] == input->arguments_hash[i];
        if (!found)
            return false;
    }
    return asked > 0;
}

/* Are there invocations of all lengths between the two classes' medians? */
static bool changes_steadily(const struct finding *finding, size_t low, size_t high)
{
    const struct classes_input *input = finding->input;
    bool seen[STEPS_MOST] = {false};
    double from = log_median(finding, low), step = log(2) / STEPS_PER_OCTAVE;
    size_t steps = (size_t)((log_median(finding, high) - from) / step);
    for (size_t i = 0; i < input->count; i++) {
        double at = (log(fmax((double)input->time_ns[i], 1)) - from) / step;
        if (at >= 0 && at < STEPS_MOST)
            seen[(size_t)at] = true;
    }
    for (size_t s = 0; s < steps && s < STEPS_MOST; s++)
        if (!seen[s])
            return false;
    return true;
}

/* First touch takes longer for another reason than more work. */
static bool faults_alike(const struct finding *finding, size_t class, size_t low, size_t high)
{
    const struct group *groups = finding->groups;
    double most = 2.0 * fmax((double)groups[low].faults_median, (double)groups[high].faults_median) * SPECIALS_FAULT_NS + 0.1 * (double)groups[class].median_ns;
    return (double)groups[class].faults_median * SPECIALS_FAULT_NS <= most;
}

static struct stand_in find_one(const struct finding *finding, size_t class)
{
    struct stand_in none = {.class = finding->count};
    if (finding->at_hand[class] || finding->kinds[class] == CLASSES_NOISE)
        return none;
    size_t like = nearest_find(finding, class, 0, LIKE_RATIO);
    if (like < finding->count || finding->kinds[class] == CLASSES_FIRST)
        return (struct stand_in){.class = like};
    size_t low = nearest_find(finding, class, -1, FARTHER_RATIO), high = nearest_find(finding, class, 1, FARTHER_RATIO);
    if (low == finding->count || high == finding->count || !faults_alike(finding, class, low, high))
        return none;
    double below = log_median(finding, class) - log_median(finding, low), above = log_median(finding, high) - log_median(finding, class);
    size_t nearest = below <= above ? low : high;
    bool work = fmin(below, above) <= log(BETWEEN_RATIO) && (same_arguments(finding, class, nearest) || changes_steadily(finding, low, high));
    return work ? (struct stand_in){.class = nearest, .between = true} : none;
}

enum pcere_status stand_ins_find(const struct classes_input *input, const uint32_t *class_of, const struct group *groups, const bool *unlike, const enum classes_kind *kinds,
                                 size_t class_count, struct stand_in *ret_stand_ins, struct pcere_error *error)
{
    struct finding finding = {.input = input, .class_of = class_of, .groups = groups, .kinds = kinds, .count = class_count,
                              .at_hand = calloc(class_count + 1, sizeof *finding.at_hand)};
    if (!finding.at_hand)
        return pcere_fail_memory(error, "a region's classes");
    for (size_t i = 0; i < input->count; i++)
        finding.at_hand[class_of[i]] |= input->at_hand[i] && !unlike[i] && representatives_fit(&groups[class_of[i]], input->time_ns[i]);
    for (size_t c = 0; c < class_count; c++)
        ret_stand_ins[c] = find_one(&finding, c);
    free(finding.at_hand);
    return PCERE_OK;
}
