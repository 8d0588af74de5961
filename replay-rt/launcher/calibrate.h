/* replay-rt/launcher/calibrate.h - which warm-up a codelet gets: by what is known of it, and by how near it comes to the program.
 *
 *   expected    what usually holds for such a region (calibrate_expect)
 *   measured    if its time is as in vivo, but for noise, it stays; else others are tried, and one that is nearer by more than the noise is taken
 *
 * The time in vivo is the median of its class's members: steadier than that of one invocation. It is compared at the capture's number of threads
 * only, and used for nothing but this choice: no time in vitro is corrected by it.
 */
#ifndef PCERE_REPLAY_LAUNCHER_CALIBRATE_H
#define PCERE_REPLAY_LAUNCHER_CALIBRATE_H

#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum warmup_kind { WARMUP_PLAIN, WARMUP_DISPLACED, WARMUP_PRECEDED, WARMUP_FAULTING, WARMUP_HISTORY, WARMUP_NONE, WARMUP_KINDS };
/* "plain", "preceded", .. */
const char *warmup_name(enum warmup_kind kind);
/* WARMUP_KINDS: it is none of them. */
enum warmup_kind warmup_kind_of(const char *name);

#define CALIBRATE_FLOOR_RATIO 0.05        /* what two runs of one region differ by at the least: the time in vivo is that of one run of the program */
#define CALIBRATE_FEW_RATIO 0.08          /* the same where the class has fewer than CALIBRATE_FEW members */
#define CALIBRATE_FEW 5u
#define CALIBRATE_FAR_RATIO 1.5           /* of the time in vivo over that in vitro: from which a fresh process for each run is tried as well */
#define CALIBRATE_COLD_RATIO 1.4          /* of the time in vitro over that in vivo: from which a cold run of a region of few invocations found less in caches than the program did, */
#define CALIBRATE_COLD_NS 25000000u       /* ... and, where measuring that took no longer, one warmer replay is tried, whatever the class weighs: it takes a process, no more */
#define CALIBRATE_FAULT_NS 1500.0         /* of a first touch */
#define CALIBRATE_FAULT_SHARE 0.05        /* of the region's time, from which its first touches matter */
#define CALIBRATE_REFILL_NS 4000000u      /* what takes longer does not notice that a core's own caches, which are filled in 0.2 ms, were empty */
#define CALIBRATE_BIG_BYTES (16ull << 20)     /* memory beyond the caches of a core: what was used before is no longer in them */
#define CALIBRATE_WEIGHT_RATIO 0.005      /* of the program's time: a class that weighs less is not worth it */

struct calibrate_subject {
    uint64_t invocations, representative, members;    /* of the region; the captured one's number; of its class */
    uint64_t in_vivo_ns;              /* of one invocation: calibrate_reference_ns */
    uint64_t first_touches;           /* pages that the captured invocation touched first */
    uint64_t memory_bytes;            /* of its codelet */
    size_t predecessors;              /* that are known */
    bool after_itself;                /* the last of them is the region itself */
};

/* What is expected of it, and why in *ret_reason (static). */
enum warmup_kind calibrate_expect(const struct calibrate_subject *subject, const char **ret_reason);

/* The in-vivo time of one invocation that the codelet should take: the median of its members, or, where these count by their own times
 * (amdahl_class_weight), the representative's own. 0: unknown. */
uint64_t calibrate_reference_ns(const struct store_class *class);

struct calibrate_trial {
    enum warmup_kind kind;
    bool done;
    double time_ns;                   /* in vitro */
    double spread_ratio;              /* standard error of it */
    uint64_t cost_ns;                 /* wall time */
};

/* (in vitro - in vivo) / in vivo. */
double calibrate_residual_ratio(const struct calibrate_trial *trial, uint64_t reference_ns);
/* The logarithm of their ratio, without its sign: twice and half are equally far. INFINITY: the trial has no time, or there is no reference. */
double calibrate_distance(const struct calibrate_trial *trial, uint64_t reference_ns);
/* What a trial and the reference may differ by and mean the same. */
double calibrate_noise_ratio(const struct calibrate_trial *trial, uint64_t members);
bool calibrate_is_near(const struct calibrate_trial *trial, uint64_t reference_ns, uint64_t members);

/* What to try next: trials[0] is the expected one. Too fast: what leaves colder caches and pages; too slow: what leaves warmer ones. False: nothing is left that could
 * help, or one is near. */
bool calibrate_next(const struct calibrate_subject *subject, const struct calibrate_trial *trials, size_t count, enum warmup_kind *ret_kind);

/* May another one be tried, after `spent_ns` for those behind the first, of `most_ns`? */
bool calibrate_may_try(const struct calibrate_subject *subject, const struct calibrate_trial *trials, size_t count, uint64_t spent_ns, double most_ns);

/* Index of the trial to take: the expected one, trials[0], unless it is not near and another one is nearer by more than the noise. At least one is there. */
size_t calibrate_choose(const struct calibrate_subject *subject, const struct calibrate_trial *trials, size_t count);

#endif
