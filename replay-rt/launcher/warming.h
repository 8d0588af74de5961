/* replay-rt/launcher/warming.h - one codelet's warm-up from word to measurement: what was asked for, what earlier replays found, what calibrating finds.
 */
#ifndef PCERE_REPLAY_LAUNCHER_WARMING_H
#define PCERE_REPLAY_LAUNCHER_WARMING_H

#include "replay-rt/launcher/calibrate.h"
#include "replay-rt/launcher/predecessors.h"

/* ---- replay.c: one measurement ---------------------------------------------------------------------------------------------------- */

struct measurement {
    const char *warmup;               /* as policy_choose takes it */
    const struct plan_steps *steps;   /* regions before it, or NULL */
    uint64_t budget_ns;               /* 0: none */
    bool trial;                       /* of a warm-up: neither precision nor budget nor sampling counts */
    const char *whole_why;            /* NULL, or why it is not sampled, though it could be */
    bool opens;                       /* what it measures decides on a warm-up first: a part of the budget */
};

#define WARMING_TRIAL_PARTS 4u        /* of a budget: what may be spent before a warm-up is decided on, and on trying each other one */

/* Processes until there are samples enough, into result->sample; its cost grows by theirs. PCERE_NO: the codelet cannot run so. */
enum pcere_status replay_measure(struct replay_session *session, const struct store_codelet *codelet, const struct codelet_memory *memory,
                                 const struct measurement *measurement, struct replay_result *result, struct pcere_error *error);
/* An empty result with a sample that says what will be measured. */
enum pcere_status replay_result_begin(const struct replay_session *session, const struct replay_target *target, uint32_t threads, const char *kind,
                                      struct replay_result *ret_result, struct pcere_error *error);
void replay_result_done(struct replay_result *result);
/* What one process measured, into the result's sample. PCERE_SYSTEM: no memory. */
enum pcere_status replay_samples_take(struct replay_result *result, const struct plan_result *from, uint64_t full_ns, struct pcere_error *error);
/* What a class took in vivo, as if all of it were divided among the threads. */
uint64_t replay_class_ns_at(const struct store_class *class, const struct store_codelet *codelet, uint32_t threads);

/* ---- warming.c ------------------------------------------------------------------------------------------------------------------------ */

struct warming {
    struct replay_session *session;
    const struct replay_target *target;
    const struct store_codelet *codelet;
    const struct codelet_memory *memory;
    struct predecessor predecessors[PREDECESSORS_MOST];
    size_t predecessor_count;
    struct plan_steps steps;          /* made when they are needed */
    bool steps_made;
    size_t touched;                   /* of them */
    struct calibrate_subject subject;
    const char *asked;                /* "auto", .. */
    enum warmup_kind kind;            /* of auto; else WARMUP_KINDS */
    const char *why;                  /* it is that; static */
    bool too_long;                    /* it is not preceded only because that would take long */
    const char *toured_after;         /* NULL, or the region before it in a tour that measured it; borrowed */
    bool tour_left;                   /* another warm-up is nearer than that, also with other numbers of threads */
    const char *whole_why;            /* NULL, or why shots do not stand for it, as was found here or earlier; static */
    bool shots_stand;                 /* a whole replay took what they take, here or earlier, whatever the time in vivo is */
    bool calibrates;                  /* nothing has compared it with the time in vivo yet, and that can be done */
    bool opens;                       /* of a precision or a budget, only what decides on a warm-up is measured now */
    bool has_residual;
    double residual_ratio;
};

/* Decide as far as that goes without running anything. Everything but the result is borrowed until warming_done. */
enum pcere_status warming_begin(struct replay_session *session, const struct replay_target *target, const struct store_codelet *codelet,
                                const struct codelet_memory *memory, struct warming *ret_warming, struct pcere_error *error);
void warming_done(struct warming *warming);
/* What its predecessors take, once. */
uint64_t warming_before_ns(const struct warming *warming);

/* Measure under that warm-up, and at the capture's number of threads calibrate first, if that is open still: then `result` is what was taken, and has the
 * others as trials. */
enum pcere_status warming_measure(struct warming *warming, uint64_t budget_ns, struct replay_result *result, struct pcere_error *error);

/* The same for a result that a tour (tour.h) measured, in which region `after` came before it: it is preceded by what precedes it in the program, and others are tried only where the
 * program's prediction would be off by it (invocations of it that have data of their own are one in a tour). PCERE_SYSTEM: no memory; as warming_measure. */
enum pcere_status warming_settle(struct warming *warming, const char *after, struct replay_result *result, struct pcere_error *error);

/* What a sample of whole runs says of its class, for the others of its region. PCERE_SYSTEM: no memory. */
enum pcere_status replay_whole_note(struct replay_session *session, const struct replay_target *target, const struct store_sample *sample, struct pcere_error *error);

/* session->series, loaded if it is not yet. */
enum pcere_status replay_series_need(struct replay_session *session, struct pcere_error *error);

/* Where the capture's number of threads is not asked for: calibrate at it, with all that was measured as trials of `result`, which pays; where that would take
 * long beside what the class took, its warm-up stays the expected one. */
enum pcere_status warming_calibrate_beside(struct warming *warming, struct replay_result *result, struct pcere_error *error);

#endif
