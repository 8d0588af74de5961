/* replay-rt/launcher/calibrate.c - see calibrate.h. */
#include "replay-rt/launcher/calibrate.h"

#include "predictor/amdahl.h"
#include "replay-rt/launcher/policy.h"

#include <math.h>
#include <string.h>

static const char *const names[] = {"plain", "displaced", "preceded", "faulting", "history", "none"};

const char *warmup_name(enum warmup_kind kind)
{
    return names[kind];
}

enum warmup_kind warmup_kind_of(const char *name)
{
    enum warmup_kind kind = WARMUP_PLAIN;
    while (kind < WARMUP_KINDS && strcmp(names[kind], name) != 0)
        kind++;
    return kind;
}

enum warmup_kind calibrate_expect(const struct calibrate_subject *subject, const char **ret_reason)
{
    if (subject->invocations <= POLICY_OFTEN || (subject->representative <= 1 && subject->members <= POLICY_OFTEN)) {
        *ret_reason = "it ran no more often than that";
        return WARMUP_HISTORY;
    }
    if ((double)subject->first_touches * CALIBRATE_FAULT_NS > CALIBRATE_FAULT_SHARE * (double)subject->in_vivo_ns) {
        *ret_reason = "it touches fresh memory";
        return WARMUP_FAULTING;
    }
    if (subject->predecessors && !subject->after_itself && subject->memory_bytes >= CALIBRATE_BIG_BYTES) {
        *ret_reason = "other regions ran before it, and caches do not hold the program's memory";
        return WARMUP_PRECEDED;
    }
    *ret_reason = subject->after_itself ? "it ran before itself" : "the program's memory is small";
    return WARMUP_PLAIN;
}

uint64_t calibrate_reference_ns(const struct store_class *class)
{
    double weight = amdahl_class_weight(class->members, class->time_ns, class->representative_ns);
    bool alike = fabs(weight - (double)class->members) < 0.5;
    return alike && class->members >= CALIBRATE_FEW && class->time_ns_median ? class->time_ns_median : class->representative_ns;
}

double calibrate_residual_ratio(const struct calibrate_trial *trial, uint64_t reference_ns)
{
    return reference_ns ? trial->time_ns / (double)reference_ns - 1 : 0;
}

double calibrate_noise_ratio(const struct calibrate_trial *trial, uint64_t members)
{
    return hypot(members < CALIBRATE_FEW ? CALIBRATE_FEW_RATIO : CALIBRATE_FLOOR_RATIO, trial->spread_ratio);
}

double calibrate_distance(const struct calibrate_trial *trial, uint64_t reference_ns)
{
    return trial->time_ns > 0 && reference_ns ? fabs(log(trial->time_ns / (double)reference_ns)) : INFINITY;
}

bool calibrate_is_near(const struct calibrate_trial *trial, uint64_t reference_ns, uint64_t members)
{
    return trial->done && calibrate_distance(trial, reference_ns) <= calibrate_noise_ratio(trial, members);
}

static bool is_tried(const struct calibrate_trial *trials, size_t count, enum warmup_kind kind)
{
    for (size_t i = 0; i < count; i++)
        if (trials[i].kind == kind)
            return true;
    return false;
}

/* What ran behind itself in the program does so in plain runs. */
static bool is_possible(const struct calibrate_subject *subject, enum warmup_kind kind)
{
    switch (kind) {
    case WARMUP_PRECEDED: return subject->predecessors > 0 && !subject->after_itself;
    case WARMUP_FAULTING: return subject->first_touches > 0;
    case WARMUP_DISPLACED: return subject->in_vivo_ns < CALIBRATE_REFILL_NS;
    default: return true;
    }
}

/* Repetitions on the same data train what predicts branches, which in the program meets others each time: no run before it in the same process is nearer then, if anything is. */
static bool all_are_far(const struct calibrate_trial *trials, size_t count, uint64_t reference_ns)
{
    for (size_t i = 0; i < count; i++)
        if (trials[i].done && calibrate_distance(&trials[i], reference_ns) < log(CALIBRATE_FAR_RATIO))
            return false;
    return true;
}

bool calibrate_next(const struct calibrate_subject *subject, const struct calibrate_trial *trials, size_t count, enum warmup_kind *ret_kind)
{
    static const enum warmup_kind colder[] = {WARMUP_PRECEDED, WARMUP_FAULTING, WARMUP_DISPLACED}, warmer[] = {WARMUP_PLAIN, WARMUP_PRECEDED, WARMUP_DISPLACED};
    if (!subject->in_vivo_ns)
        return false;
    for (size_t i = 0; i < count; i++)
        if (calibrate_is_near(&trials[i], subject->in_vivo_ns, subject->members))
            return false;
    bool slow = trials[0].time_ns > (double)subject->in_vivo_ns;
    const enum warmup_kind *list = slow ? warmer : colder;
    size_t list_count = slow ? sizeof warmer / sizeof *warmer : sizeof colder / sizeof *colder;
    for (size_t i = 0; i < list_count; i++)
        if (!is_tried(trials, count, list[i]) && is_possible(subject, list[i])) {
            *ret_kind = list[i];
            return true;
        }
    if (slow || is_tried(trials, count, WARMUP_NONE) || !all_are_far(trials, count, subject->in_vivo_ns))
        return false;
    *ret_kind = WARMUP_NONE;
    return true;
}

/* A few invocations, and a first one, say nothing of what ran before them: serial code or other regions may have used their data just then. */
static bool is_too_cold(const struct calibrate_subject *subject, const struct calibrate_trial *trial)
{
    return (subject->invocations <= POLICY_OFTEN || subject->representative <= 1) && trial->kind == WARMUP_HISTORY && trial->done &&
           trial->time_ns >= CALIBRATE_COLD_RATIO * (double)subject->in_vivo_ns;
}

bool calibrate_may_try(const struct calibrate_subject *subject, const struct calibrate_trial *trials, size_t count, uint64_t spent_ns, double most_ns)
{
    if ((double)spent_ns < most_ns && (double)trials[0].cost_ns < most_ns)
        return true;
    return count == 1 && trials[0].cost_ns <= CALIBRATE_COLD_NS && is_too_cold(subject, &trials[0]);
}

size_t calibrate_choose(const struct calibrate_subject *subject, const struct calibrate_trial *trials, size_t count)
{
    uint64_t reference_ns = subject->in_vivo_ns;
    if (!reference_ns || calibrate_is_near(&trials[0], reference_ns, subject->members))
        return 0;
    size_t best = 0;
    for (size_t i = 1; i < count; i++)
        if (trials[i].done && calibrate_distance(&trials[i], reference_ns) < calibrate_distance(&trials[best], reference_ns))
            best = i;
    double gain = best ? calibrate_distance(&trials[0], reference_ns) - calibrate_distance(&trials[best], reference_ns) : 0;
    return gain > calibrate_noise_ratio(&trials[best], subject->members) ? best : 0;
}
