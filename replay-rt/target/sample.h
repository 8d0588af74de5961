/* replay-rt/target/sample.h - sampling inside a region: each thread runs a few blocks of its iterations, and what they took is scaled.
 *
 *   a thread's time    other | loop: blocks of its iterations | other | wait |  other | loop ... | wait | other
 *                                                                       barrier                    barrier
 *   extrapolated       kept    x iterations / iterations run    kept                                        per thread and phase
 *
 * The region's time is the sum over phases (what lies between two barriers) of the slowest thread's extrapolated time, plus what each barrier
 * costs the thread that comes last. A run of the region with such blocks is a shot; the blocks of one loop are disjoint over the shots, and
 * nothing is restored between them: several shots are one partial execution.
 *
 * Where a region repeats its loops in time steps, whole steps are sampled instead of iterations, in all threads: the data that one step leaves in the
 * caches are what the next finds there. A step that is timed follows one that is not.
 *
 * The code of the region is the same as in a whole replay. The OpenMP runtime's calls for loops, barriers and reductions are interposed:
 * a thread gets the bounds of its first block, and where it says that the loop is done it goes back to where the loop began, with the registers and
 * the stack frame that it had there, and the next bounds. Outside a shot the interposed calls are one comparison and a jump.
 */
#ifndef PCERE_REPLAY_TARGET_SAMPLE_H
#define PCERE_REPLAY_TARGET_SAMPLE_H

#include "replay-rt/target/codelet.h"

/* ---- sample_place.c: which iterations -------------------------------------------------------------------------------------- */

enum { SAMPLE_BLOCKS_MOST = 16, SAMPLE_PARTS_MOST = 4, SAMPLE_SHOTS_MOST = 16 };

struct sample_block { uint64_t first, count; };     /* iterations, from 0 */

struct sample_shape {
    uint32_t shots;                   /* over which blocks are disjoint: 1 to SAMPLE_SHOTS_MOST */
    uint32_t blocks;                  /* in one loop and shot, at most: 1 to SAMPLE_BLOCKS_MOST */
    double fraction;                  /* of the iterations, in one shot: above 0, at most 1 */
};

/* Blocks of shot `shot` in a loop of `iterations`, ascending, inside it, not overlapping, none empty; `key` tells loops (and instances of one
 * loop) apart, so that their blocks lie at different places. Blocks of two shots with one key overlap only where there are fewer iterations than
 * blocks in all shots. Their number; 0: too few iterations, run it whole. */
uint32_t pcere_sample_place(const struct sample_shape *shape, uint32_t shot, uint64_t key, uint64_t iterations,
                            struct sample_block ret_blocks[SAMPLE_BLOCKS_MOST]);
struct sample_share {                 /* of a loop's iterations, that one thread has */
    uint64_t total;                   /* of the loop */
    uint64_t before, iterations;      /* of the thread: numbers of those in front of it, and how many it has */
    uint32_t parts;                   /* into which the largest team that will be measured divides such a loop: at most SAMPLE_PARTS_MOST; 0 or 1: it is this one */
};

/* The same for a thread's share, in each part that a larger team's threads will have, if the share consists of whole ones: so teams of several sizes run the same iterations of
 * a loop, and find the pages that they need. Blocks lie in the share, from 0; shape->blocks at most SAMPLE_BLOCKS_MOST / SAMPLE_PARTS_MOST. */
uint32_t pcere_sample_place_parts(const struct sample_shape *shape, uint32_t shot, uint64_t key, const struct sample_share *share,
                                  struct sample_block ret_blocks[SAMPLE_BLOCKS_MOST]);
/* Of `chunks` chunks, the first of block `number` of the `count` blocks of `length` (at most `chunks` together) that a shot runs: a random one of its stratum, so
 * that no stride meets a pattern of the data. Ascending with `number`, not overlapping; other ones in each of `shots` shots (at most SAMPLE_SHOTS_MOST), if the stratum has as many. */
uint64_t pcere_sample_stratum(uint32_t shots, uint32_t shot, uint64_t key, uint64_t number, uint64_t count, uint64_t chunks, uint64_t length);
uint64_t pcere_sample_mix(uint64_t value);

/* ---- sample_agree.c: do shots agree? ------------------------------------------------------------------------------------------ */

/* Relative half width of the 95 % interval of a mean (Student; 0.95 two-sided, by degrees of freedom). */
double pcere_sample_half_width(const uint64_t *samples_ns, uint64_t count);
/* Later shots are faster than earlier ones: Mann and Kendall's test, one-sided, at about 5 %, where the difference matters, and where the processor's own
 * speed, as told by the known work beside each, does not explain it. */
bool pcere_sample_trend_found(const struct plan_result *result);
/* There are just two, which lie too far apart to be all. */
bool pcere_sample_pair_differs(const struct plan_result *result);
/* The first ones go. */
void pcere_sample_drop(struct plan_result *result, uint64_t count);
/* One shot far above others that agree, of more than `least`, was disturbed by something that no clock of ours sees: it goes. */
void pcere_sample_outlier_drop(struct plan_result *result, uint32_t least);

/* ---- sample_clock.c: time without what other processes took ------------------------------------------------------------------ */

struct sample_clock { uint64_t anchor_ns, anchor_cpu_ns, stolen_ns; volatile uint64_t *watch; };

/* From now on in this thread: preemptions are noticed at no cost, since the kernel then clears a pointer of the thread's rseq area. Without such an
 * area time is not corrected. */
void pcere_sample_clock_begin(struct sample_clock *clock);
void pcere_sample_clock_end(struct sample_clock *clock);
/* The monotonic clock less what the thread did not run. */
uint64_t pcere_sample_clock_ns(struct sample_clock *clock);

/* ---- sample_hooks.c: the interposed calls ------------------------------------------------------------------------------------ */

/* From the next entry of a region by the calling thread on, the calls are watched; `serial`: the region's function is called directly. */
void pcere_sample_hooks_arm(bool serial);
void pcere_sample_hooks_disarm(void);
/* False: the OpenMP runtime lacks what is interposed. */
bool pcere_sample_hooks_ready(void);

/* sample_x86_64.c, sample_aarch64.c: can loops be gone back to on this processor? */
bool pcere_sample_entries_ready(void);

/* ---- sample.c: threads, phases, extrapolation --------------------------------------------------------------------------------- */

/* sample_tasks.c: what a task is to a shot. */
enum sample_task_class {
    SAMPLE_TASK_UPPER,                /* it is run in all shots, and so are all like it */
    SAMPLE_TASK_UNIT,                 /* of a subtree that is chosen */
    SAMPLE_TASK_WARM,                 /* of one that runs before such a one: its time does not count */
};

enum { SAMPLE_DEPTH_MOST = 12 };          /* levels of tasks */
enum { SAMPLE_PHASES_MOST = 1 << 14, SAMPLE_DISPATCHES_MOST = 1 << 12, SAMPLE_LEFT_MOST = 1 << 14, SAMPLE_SITES_MOST = 256, SAMPLE_FRAME_MOST = 1 << 14 };

struct sample_phase { double work_ns; uint64_t wait_ns; double unit_ns; };    /* unit: of subtrees of tasks that were chosen, not scaled */

struct sample_shared {                /* one dynamically scheduled loop, as one thread saw it */
    uint32_t phase;
    uint32_t site;
    uint64_t loop_ns;                 /* all of it */
    uint64_t timed_ns, run;           /* iterations that count, and what they took */
    uint64_t iterations;              /* of the loop */
};

struct sample_jump {                  /* as the assembly has it: where a loop began */
    uint64_t rbx, rbp, r12, r13, r14, r15, rsp, rip;
    unsigned char *frame;             /* a copy of the frame, from rsp up */
    uint64_t frame_bytes;
};

struct sample_step { struct sample_block block; bool timed; };

enum sample_instance {                /* of a loop that the region runs again and again, step by step */
    SAMPLE_INSTANCE_ITERATIONS,       /* it is none: some of its iterations */
    SAMPLE_INSTANCE_SKIPPED,
    SAMPLE_INSTANCE_WARM,             /* whole, the time does not count */
    SAMPLE_INSTANCE_TIMED,            /* whole */
};

struct sample_left { uint32_t phase, site; };         /* an instance that was not timed */

struct sample_loop {                  /* the statically scheduled loop that a thread is in */
    struct sample_jump jump;
    void *lower, *upper;              /* where the compiled code has its bounds */
    void *stride;                     /* likewise from chunk to chunk; NULL: the thread has one chunk */
    uint64_t first, increment;        /* bounds of iteration i of the first chunk: first + i x increment */
    uint64_t chunk, chunk_distance;   /* iterations of one chunk, and from its first to that of the thread's next one */
    uint64_t behind;                  /* a bound behind the loop's last iteration */
    uint64_t iterations;              /* of this thread; 0: in no such loop */
    uint32_t kind;                    /* enum sample_kind */
    enum sample_instance instance;
    uint32_t site, step, step_count;
    uint64_t done;                    /* iterations of the current step */
    uint64_t pieces;                  /* parts of chunks that timed steps consisted of, beyond one each */
    uint32_t probes;                  /* times that control has yet to go back for nothing, to learn what that takes */
    double probe_ns;                  /* what it takes once */
    struct sample_step steps[2 * SAMPLE_BLOCKS_MOST];
    uint64_t run, elapsed_ns;         /* timed iterations and their time */
};

struct sample_bundle {                /* chunks of a dynamically scheduled loop that a thread runs one after the other, so that they find its caches as chunks do */
    uint32_t untimed, timed;          /* the first ones of a block, and those behind it; 0 and 0: chunks are so long that each stands alone */
};

struct sample_dispatch {              /* the dynamically scheduled loop that a thread is in */
    bool active;
    uint64_t first, increment, iterations, chunk;
    uint64_t chunks, count;           /* real ones, and those that are run */
    uint64_t blocks, block_chunks;    /* in so many blocks of so many */
    uint64_t untimed;                 /* chunks of a thread in a block that come before those that count */
    uint64_t next, end;               /* numbers that this thread has yet to hand out */
    uint64_t block_begin, block_first;        /* of the block that the thread is in: its first number, and what chunk that is */
    uint64_t left;                    /* chunks of this thread in this block that do not count */
    uint64_t key, start_ns;
    bool timing;                      /* what runs counts, since timing_ns */
    uint64_t timing_ns, timed_ns, run;        /* run: iterations that count */
    bool fixed;                       /* each thread has chunks of its own, whoever is done first: */
    uint64_t own, own_first, own_distance, own_iterations;    /* chunks of this thread: their number, the first, from one to the next; all their iterations */
    uint32_t site;
    enum sample_instance instance;
};

struct sample_thread {
    struct sample_clock clock;
    uint64_t mark_ns;                 /* up to here time is accounted for */
    uint64_t leave_ns;                /* raw time of the region's end in this thread; 0: not yet */
    void *return_address;
    uint32_t nested;                  /* loops inside loops: run as they are */
    uint32_t phase, shared_count, left_count;
    struct sample_phase *phases;
    struct sample_shared *shared;
    struct sample_left *left;
    struct sample_loop loop;
    struct sample_dispatch dispatch;
    uint32_t site_instances[SAMPLE_SITES_MOST];
    double site_ns[SAMPLE_SITES_MOST];        /* extrapolated; of stepped sites: of the instances that were timed */
    uint32_t site_timed[SAMPLE_SITES_MOST];   /* these instances */
    double site_chunks[SAMPLE_SITES_MOST];    /* of dynamically scheduled loops, that count, */
    uint64_t site_chunks_ns[SAMPLE_SITES_MOST];       /* and what they took */
    uint64_t iterations, run;         /* of loops: all, and those that were run and count; */
    uint64_t untimed;                 /* run for those behind them alone */
    struct header *task;              /* that it executes; NULL: none */
    uint64_t tasks;                   /* begun */
    double push_ns, unit_most_ns;     /* for making units; the longest one */
    unsigned char frame[SAMPLE_FRAME_MOST];
} __attribute__((aligned(128)));

enum sample_kind { SAMPLE_INT32, SAMPLE_UINT32, SAMPLE_INT64, SAMPLE_UINT64 };

struct sample_shot {                  /* what the hooks read while a shot runs */
    struct sample_shape shape;
    uint32_t number;
    uint32_t parts;                   /* as struct sample_share has it */
    uint64_t origin;                  /* an address in the code of the region's unit */
    bool tasks;                       /* subtrees of tasks are sampled, and loops are run whole */
    bool once;                        /* no iteration may run twice without memory being put back */
    bool one_block;                   /* the region allocates inside loops: its frame must not go back in time */
    uint64_t start_ns;                /* raw */
    uint32_t team;
    struct sample_thread *threads;
    uint64_t sites[SAMPLE_SITES_MOST];        /* return addresses: where loops begin */
    bool tiny[SAMPLE_SITES_MOST];     /* their instances are too short to be sampled */
    struct sample_bundle bundles[SAMPLE_SITES_MOST];
    uint32_t steps;                   /* the region repeats loops in so many steps: whole steps are sampled; 0: it does not */
    uint32_t stepped[SAMPLE_SITES_MOST];      /* instances of loops that take part in steps; 0: it does not */
    uint32_t step_count;
    struct sample_block step_blocks[SAMPLE_BLOCKS_MOST];     /* steps that are timed in this shot, each block behind a warm one */
    _Atomic bool nested_region, overflow, slivers;     /* slivers: chunks that are shorter than the way from one to the next */
    _Atomic bool twice;               /* `once` could not be kept */
};

extern struct sample_shot pcere_sample_shot;
extern __thread struct sample_thread *pcere_sample_own;    /* NULL: this thread is not being sampled */

/* Number of a site in the tables, the same in all threads. */
uint32_t pcere_sample_site(uint64_t address);
/* What becomes of the next instance of a site in this thread; the same in all threads. */
enum sample_instance pcere_sample_instance(const struct sample_thread *thread, uint32_t site);
/* An instance is over that was whole, or skipped. */
void pcere_sample_instance_end(struct sample_thread *thread, uint32_t site, enum sample_instance instance, uint64_t elapsed_ns);
/* Time since the thread's mark is kept as it is; the mark moves. */
void pcere_sample_other(struct sample_thread *thread);
/* Around a barrier. */
void pcere_sample_wait_begin(struct sample_thread *thread);
void pcere_sample_wait_end(struct sample_thread *thread);

/* ---- sample_tasks.c: subtrees of tasks ------------------------------------------------------------------------------------------ */

/* Count the tasks of the region by runs without those of a level, and take the first level that has enough, or, of those that were counted until runs
 * took `most_ns` (0: all), the one with most: `run` adds to *spent_ns what it takes. Not NULL: why its tasks are not sampled. */
const char *pcere_sample_tasks_begin(void (*run)(void *), void *context, const uint64_t *spent_ns, uint64_t most_ns);
void pcere_sample_tasks_shot(const struct sample_shape *shape, uint32_t shot);     /* before a shot: which units it runs */
/* After a shot: the region's time with all units, their number, and how many were run. Not NULL: why it cannot be told. */
const char *pcere_sample_tasks_take(const struct sample_shot *shot, double *ret_time_ns, uint64_t *ret_units, uint64_t *ret_run);
void pcere_sample_tasks_finish(void);     /* in each thread at the region's end: all tasks are executed before it goes on */
void pcere_sample_tasks_end(void);

/* What run.c needs: run one shot of the region. */
typedef void sample_run_fn(void *context);
/* False: it must be replayed whole, which needs no run to be known; result.refusal says why. Once the team is there. */
bool pcere_sample_may(struct codelet *codelet, const struct codelet_region *region);
/* Sample a region that may be: plan->result gets a time for each shot, and what share of the iterations was run. `run` runs it once and calls
 * pcere_sample_arm just before it enters the region. `rehearsed`, unless it is NULL: all shots are run twice, first for the pages that they need, and it is
 * called in between: it puts memory back. Where a shot misses next to no page, it and those after it count, and it is not called. `put_back` puts memory back behind each shot of regions that need it. False: it must be replayed whole, result.refusal says why; its memory has been changed. */
bool pcere_sample_region(struct codelet *codelet, const struct codelet_region *region, sample_run_fn *run, sample_run_fn *rehearsed,
                         sample_run_fn *put_back, void *context);
void pcere_sample_arm(void);

/* ---- sample_phases.c: time by phases ---------------------------------------------------------------------------------------- */

/* All threads must have met the same barriers, or phases mean nothing. */
bool pcere_sample_phases_agree(const struct sample_shot *shot);
/* A dynamic schedule gives each thread about the same share of the iterations that are left out: those that count tell what all take together. False: none counts. */
bool pcere_sample_shared_spread(struct sample_shot *shot);
/* Instances that were not timed take what those did that were, thread by thread. False: a thread has timed none. */
bool pcere_sample_steps_spread(struct sample_shot *shot);
/* Each phase takes as long as its slowest thread, and what its barrier costs the thread that comes last. */
double pcere_sample_phases_sum(const struct sample_shot *shot);

#endif
