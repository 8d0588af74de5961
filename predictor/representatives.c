/* predictor/representatives.c - see representatives.h. */
#include "predictor/representatives.h"

#include <math.h>
#include <stdlib.h>

#define EQUALLY_GOOD 0.05               /* from the target, relative */

#define UNLIKE_AWAY 1000.0              /* from the target, relative: farther than others are */

#define FIT_PARTS 3                     /* of the mean: less tells nothing of a class */

bool representatives_fit(const struct group *group, uint64_t time_ns)
{
    return time_ns >= group->time_ns / (group->members ? group->members : 1) / FIT_PARTS;
}

struct candidate { double distance; bool repeats; uint64_t away_ns, invocation; };       /* repeats: one of its class came just before it in the region */

static void candidate_offer(struct candidate *best, struct candidate offered)
{
    bool as_near = offered.distance <= best->distance, better = offered.repeats != best->repeats ? best->repeats : offered.away_ns < best->away_ns;
    if (best->invocation == 0 || offered.distance < best->distance || (as_near && better))
        *best = offered;
}

/* How far from `near_ns` an invocation begins: any after it is nearer than any before it; all are equally near where that is not known. */
static uint64_t away_from(const struct classes_input *input, size_t i)
{
    uint64_t begin_ns = input->begin_ns ? input->begin_ns[i] : 0, near_ns = input->begin_ns ? input->near_ns : 0;
    return begin_ns >= near_ns ? begin_ns - near_ns : UINT64_MAX / 2 + (near_ns - begin_ns) / 2;
}

enum pcere_status representatives_choose(const struct classes_input *input, const uint32_t *class_of, const uint64_t *targets, const struct group *groups, const bool *unlike,
                                        struct classes_class *classes, size_t class_count, struct pcere_error *error)
{
    struct { struct candidate any, later, at_hand, later_at_hand; uint64_t seen; } *choices = calloc(class_count, sizeof *choices);
    if (!choices)
        return pcere_fail_memory(error, "choosing representatives");
    for (size_t i = 0; i < input->count; i++) {
        uint32_t c = class_of[i];
        double target = fmax((double)(targets[c] ? targets[c] : classes[c].time_ns_median), 1);
        double distance = fabs((double)input->time_ns[i] / target - 1);
        if (input->minor_faults)
            distance += fabs((double)input->minor_faults[i] - (double)groups[c].faults_median) * SPECIALS_FAULT_NS / target;
        if (input->begin_ns && distance < EQUALLY_GOOD)
            distance = 0;
        distance += unlike[i] ? UNLIKE_AWAY : 0;
        const struct candidate offered = {.distance = distance, .repeats = i == 0 || class_of[i - 1] == c, .away_ns = away_from(input, i), .invocation = i + 1};
        bool at_hand = input->at_hand && input->at_hand[i] && !unlike[i] && representatives_fit(&groups[c], input->time_ns[i]), later = ++choices[c].seen > 3;
        candidate_offer(&choices[c].any, offered);
        if (later)
            candidate_offer(&choices[c].later, offered);
        if (at_hand)
            candidate_offer(&choices[c].at_hand, offered);
        if (at_hand && later)
            candidate_offer(&choices[c].later_at_hand, offered);
    }
    for (size_t c = 0; c < class_count; c++) {
        bool at_hand = choices[c].at_hand.invocation > 0;
        struct candidate any = at_hand ? choices[c].at_hand : choices[c].any;
        struct candidate later = at_hand ? choices[c].later_at_hand : choices[c].later;
        bool use_later = classes[c].members > 6 && later.invocation && later.distance <= fmax(any.distance + 0.02, 0.05);
        classes[c].representative = use_later ? later.invocation : any.invocation;
        classes[c].representative_ns = input->time_ns[classes[c].representative - 1];
    }
    free(choices);
    return PCERE_OK;
}
