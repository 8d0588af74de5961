/* predictor/predict.h - the whole program's time at other thread counts, out of a store's manifest and samples.
 *
 * PCERE (Popov et al. 2015), section V-A:
 *
 *   T_predicted(m) = T_seq + sum over regions and their classes of  T_vitro(representative, m) x weight
 *
 * (and the start of the team, once) over what runs inside no other region, with the weight of amdahl_class_weight. What was not captured keeps its in-vivo time at the capture's thread count; at others it scales as the replayed classes of its region do,
 * or else those of the program, and is forked and joined as often as it ran (amdahl_kept_time); where nothing was replayed it keeps its time. Its basis says so.
 * Pure computation: it reads no file.
 *
 * Which samples count: kind "replay", of the host asked for, the region, the representative, the thread count, the flags and the settings
 * asked for; of those, the ones for which the newest's warm-up was asked, and the policy is that of the newest of these. All of them count, but for repetitions that the kernel interrupted
 * (measured.h), however old: a sample is one process's
 * repetitions, processes differ by 1 to 5 %, and more processes are what narrows the interval. T_vitro is the median of all their
 * repetitions. Samples of a part of a region's iterations and of all of them are not mixed: where there are any of all of them, these count, however old, since
 * the others are extrapolated; T_vitro of shots is their mean, since each shot has seen other iterations, and so it is with more threads than processors (measured_is_crowded).
 *
 * A class whose codelet, at the capture's thread count, took PREDICT_ALIEN_FACTOR times what its members took in vivo, or that part of it, is not represented
 * by it: the class counts as one that was not captured. But where the class is that one invocation, and it did no I/O, the codelet that is faster counts:
 * nothing makes a region faster than it is, and what a stop did to the invocation is in its time in vivo.
 *
 * Intervals (95 %): of the time that one real run takes; quantiles of PREDICT_DRAWS draws of the sum, in which vary
 *   - what was measured in vitro: each class's median, or mean, drawn anew over processes and over the repetitions in them (statistics_bootstrap), and of a single
 *     one by STATISTICS_SINGLE_RATIO; for
 *     shots, normal with the half width of statistics_shots_half. Fewer than five processes cannot show how much processes
 *     differ: then each draw is also scaled by a normal factor of standard deviation STATISTICS_PROCESS_RATIO / sqrt(processes);
 *   - samples that were all made on slow processors: from what they say to that divided by 1 + slow_ratio (store_sample), evenly by the logarithm;
 *   - slow processors that the program will meet as the replays did, whether these count or not: from nothing to the mean loud_ratio of all samples at these threads, evenly;
 *   - what the warm-up left: each class by (1 + residual)^(u + v), 1 + residual from a quarter to four, u and v standard normal, u the same for all classes of a draw, since what makes one
 *     region too fast makes others too fast; what made another too slow makes up for it. Unknown: PREDICT_UNKNOWN_RATIO (of shots that were compared nowhere, PREDICT_UNSEEN_RATIO), which at
 *     other thread counts than the capture's it is at least. The prediction itself is not corrected by it;
 *   - runs: all of a draw by exp(sqrt(2) s w), w standard normal (a time never falls to nothing, however much runs differ), for the real run and for the session that measured; s is the standard deviation of runs of the program on that
 *     host, pooled over thread counts with an assumed PREDICT_RUN_RATIO that counts as PREDICT_RUN_ASSUMED degrees of freedom;
 *   - the serial part, at other thread counts than the capture's, by PREDICT_SERIAL_RATIO, unless real runs told it; where real runs there spent more or less than
 *     those with the capture's threads by more than that, and do not count, anything from the capture's to as much more or less;
 *   - a clock that falls under lasting load (clock_falls): between what regions take at the clock of short replays and at the other, evenly; the prediction lies in the middle, since
 *     what waits for memory does not wait for the clock, and which part that is is not known;
 *   - classes that real runs at these threads tell apart (replays_members), or, where none does, the region's other classes (siblings_check): anything from what the representative says to what
 *     all members took, or would take if they scaled as the classes between which they lie;
 *   - how late a new team's threads begin, as codelets measured it;
 *   - at other thread counts, what was not replayed: anything from that estimate to its in-vivo time, and to that of perfect scaling.
 * predict_one_region compares settings of one region with each other: its interval has the first of these alone, and every captured class of the region
 * must have been replayed, however little of the program it is.
 */
#ifndef PCERE_PREDICTOR_PREDICT_H
#define PCERE_PREDICTOR_PREDICT_H

#include "core/error.h"
#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PREDICT_DRAWS 1000
#define PREDICT_UNKNOWN_RATIO 0.03
#define PREDICT_UNSEEN_RATIO 0.15       /* the same of shots: those that are compared may be that far off, else the region is replayed whole */
#define PREDICT_RESIDUAL_MOST 3.0       /* times the time in vivo, less one: a replay that is farther off says no more than that */
#define PREDICT_RUN_RATIO 0.02
#define PREDICT_RUN_ASSUMED 3
#define PREDICT_SERIAL_RATIO 0.05
#define PREDICT_STRANGE_RATIO 0.01
#define PREDICT_BUSY_RATIO 0.1            /* of its time: a run that waited so long for processors, or a replay that lacked them, was made beside other work */
#define PREDICT_CLOCK_LEAST_NS 200000000u /* no shorter program feels a clock that falls under lasting load */
#define PREDICT_ALIEN_FACTOR 3.0          /* a codelet that takes so many times as long, or as little, as its class did in vivo does not represent it */

enum predict_basis {
    PREDICT_IN_VIVO,                 /* as measured in the original run, at the capture's thread count */
    PREDICT_REPLAY,                  /* replayed at these threads; a region: at least one of its classes */
    PREDICT_SAMPLE,                  /* the same, but of a sample of its iterations; a region: at least one of its classes */
    PREDICT_NESTED,                  /* runs inside other regions, in whose times it is */
    PREDICT_MODEL,                   /* computed, not measured; a region: at least one of its classes */
    PREDICT_RUN,                     /* from real runs on that host: only the serial part of a store captured elsewhere */
    PREDICT_SCALED,                  /* not replayed: its work scales as that of what was */
    PREDICT_BASES,                   /* how many there are */
};

/* What is computed for one run of a class's representative, 95 %. False: nothing can be said of it. */
struct predict_estimate { double time_ns, low_ns, high_ns; };
typedef bool predict_model_fn(void *context, const char *region, uint64_t representative, uint32_t threads, struct predict_estimate *ret_estimate);

struct predict_request {
    const struct store_manifest *manifest;
    const struct store_sample *samples;
    size_t sample_count;
    const char *arch;                /* host name that the samples must have */
    const uint32_t *threads;         /* thread counts, each at least 1 */
    size_t thread_count;             /* at least 1 */
    const char *flags;               /* compiler flags of the replays; NULL or "": the original's */
    const char *settings;            /* OpenMP settings of the replays; NULL or "": the original's */
    const char *store_name;          /* for hints: what the user would type; NULL: nothing (the only store there is) */
    uint64_t seed;                   /* of the bootstrap */
    bool partial;                    /* a captured class that was not replayed at a thread count, where others were, is kept as one that was not captured */
    bool measured_serial;            /* T_seq as the host's real runs at these threads have it, between two such counts in proportion; where there are none, the capture's */
    predict_model_fn *model;         /* takes the replays' place; NULL: replays count. Its errors are of one kind: the draws of all classes go up and down together */
    void *model_context;
    const double *clock_falls;       /* [thread_count], or NULL: by how much longer what waits for the processor alone takes once so many threads have worked for long than in a
                                        replay, at least 1 */
    const struct store_series *series;        /* times of invocations, for siblings_check; may be NULL */
    size_t series_count;
    double kept_ratio;               /* with a model: what keeps the capture's time takes so many times as long there */
};

/* What was asked whether a class holds at these threads. */
enum predict_check { PREDICT_UNCHECKED, PREDICT_CHECKED_BY_CLASSES, PREDICT_CHECKED_BY_RUNS };

struct predict_class {
    uint64_t representative;         /* invocation number */
    enum predict_basis basis;
    double weight;                   /* how many times the representative counts; 1 where it was not replayed, and time_ns is all of it; 0 nested */
    uint64_t vitro_ns;               /* median time of one replay; 0 in vivo and nested */
    uint64_t time_ns;                /* what the class adds to the prediction */
    size_t process_count, repetition_count;   /* behind vitro_ns */
    bool missing;                    /* it was captured, and should have been replayed; with `partial` alone */
    bool unseen;                     /* by shots, none of which was compared with the class's time in vivo, on any machine */
    double alien_ratio;              /* it was replayed, but is not what the class was (PREDICT_ALIEN_FACTOR): by how much it took longer than that; else 0 */
    enum predict_check check;        /* real runs at these threads; or, where there are none, how the region's other classes scale */
    double members_ratio;            /* by these: how many times as much all members take as the representative says; 1: it holds, or unchecked; 0: not replayed */
};

struct predict_region {
    const char *name;                /* borrowed from the manifest */
    enum predict_basis basis;
    uint64_t time_ns, low_ns, high_ns;        /* all invocations together */
    uint64_t in_vivo_ns;             /* the part of time_ns that was not replayed: kept from the original run, or scaled */
    size_t scaling_classes;          /* of its classes, how many were replayed at the capture's threads and at these, if these are others */
    double scaling_low_ratio, scaling_high_ratio;      /* time in vitro over that at the capture's threads: least and most of them */
    struct predict_class *classes;   /* as in the manifest; none where the region was not captured at all */
    size_t class_count;
};

struct predict_point {
    uint32_t threads;
    uint64_t time_ns, low_ns, high_ns;        /* whole program */
    uint64_t serial_ns;              /* of that, outside regions */
    enum predict_basis serial_basis; /* PREDICT_IN_VIVO, or PREDICT_RUN: with measured_serial, by real runs */
    uint64_t real_serial_ns;         /* median of what real runs at these threads spent there; 0: there are none */
    double serial_change_ratio;      /* that over what real runs with the capture's threads spent there (the captured run, where there are none), less 1; 0: unknown, or
                                        within PREDICT_SERIAL_RATIO, or real runs count */
    uint64_t strange_ns;             /* what a real run at these threads spends in regions that the capture did not enter; 0: less than PREDICT_STRANGE_RATIO of it. In serial_ns, where real runs count */
    size_t strange_count;            /* regions */
    const char *strange_most;        /* the one that takes most of it, borrowed from the samples; NULL: none */
    uint64_t parts_ns[PREDICT_BASES];         /* of time_ns, what regions add on each basis */
    uint64_t missing_ns;             /* of these, what should have been replayed */
    size_t missing_count;            /* classes of which that is */
    double preempted_ratio;          /* replays_preempted_ratio: a prediction is of a machine that does nothing else */
    double clock_falls;              /* request->clock_falls; 1: none, or the program is too short for it (PREDICT_CLOCK_LEAST_NS) */
    uint64_t clock_ns;               /* of time_ns, what half of that adds to regions that were replayed or sampled */
    uint64_t start_ns;               /* of time_ns, how late the threads of the team begin when it is made, which happens once */
    uint64_t cost_ns;                /* wall time of all replays that count: restoring and warm-up included, building not */
    bool has_real;                   /* real runs of that host at these threads are among the samples */
    uint64_t real_ns;                /* their median wall time */
    size_t real_count;
    double real_spread_ratio;        /* longest less shortest of them, over the median */
    double real_pair_ratio;          /* median difference of two of them that followed each other, over their mean: what no prediction of one run can be surer than */
    size_t real_pairs;
    double real_waited_ratio;        /* runs_waited_ratio */
    size_t fixed_count;              /* runs_fixed: regions whose real runs at these threads tell nothing of them */
    const char *fixed_most;          /* the one that takes most, borrowed from the manifest; NULL: none */
    double error_ratio;              /* |time - real| / real; 0 without real */
    bool has_acceleration;           /* cost_ns is not 0 */
    double acceleration;             /* real time (predicted, where there is no real one) over cost_ns */
    struct predict_region *regions;  /* as in the manifest */
    size_t region_count;
};

/* A thread count that nothing is predicted for. */
struct predict_absent { uint32_t threads; struct pcere_error why; };

struct predict_result {
    uint64_t serial_ns;              /* T_seq of the capture: same at all thread counts, but with measured_serial */
    enum predict_basis serial_basis; /* PREDICT_IN_VIVO, or PREDICT_RUN: median over that host's runs with the fewest threads */
    bool foreign;                    /* the store was captured on another host: in-vivo times are that host's */
    double run_ratio;                /* standard deviation of runs of the program that intervals go by, over their mean */
    size_t run_count;                /* real runs behind it; 0: assumed */
    uint64_t drift_ns;               /* median of this host's real runs at the capture's thread count, where it was captured here; 0: there are none */
    double drift_ratio;              /* that over the captured run's time, less 1: how far the machine is from where it was, or runs from each other */
    struct predict_point *points;    /* as request.threads, but for those that are absent */
    size_t point_count;
    struct predict_absent *absent;   /* with `partial`: thread counts at which nothing was replayed, where points has others */
    size_t absent_count;
};

/* Predict. Names in the result are borrowed from the manifest, which must outlive it; predict_result_done frees the rest.
 * PCERE_USAGE: a thread count of 0, or a host that neither the samples nor the manifest know (the hint lists those that they do).
 * PCERE_DATA: a captured class was not replayed on that host at one of the thread counts, or, with `partial`, none was at any of them (the message names
 * the first, the hint is the command that measures all that is missing); a sample without repetitions. PCERE_SYSTEM: no memory. */
enum pcere_status predict_run(const struct predict_request *request, struct predict_result *ret_result, struct pcere_error *error);
void predict_result_done(struct predict_result *result);

/* One region of the manifest alone, at request->threads[0]: the others need not have been replayed. *ret_region as in a result; free its `classes`.
 * *ret_cost_ns: of the replays that count. Errors as predict_run's. */
enum pcere_status predict_one_region(const struct predict_request *request, size_t region, struct predict_region *ret_region, uint64_t *ret_cost_ns,
                                     struct pcere_error *error);

/* "in_vivo", "replay", "sample", "nested", "model", "run", "scaled". */
const char *predict_basis_name(enum predict_basis basis);

#endif
