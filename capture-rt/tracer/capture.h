/* capture-rt/tracer/capture.h - running an instrumented program under observation: for times, and for memory.
 *
 * Usually one run gives both. The program itself finds which invocations are worth a stop, before they begin; while it is stopped there its
 * memory is read from outside. When it has ended, the caller's `choose` makes classes of all invocations' times, represented by captured ones.
 * A second run follows only where a class that weighs has no captured member (it is stopped at chosen invocations), or where stops may have changed
 * times by more than a percent of the run. Nothing of the program is traced outside stops, and whatever goes wrong here, the program runs to its end.
 *
 * While a program runs, SIGINT and SIGQUIT are ignored by the calling process as system(3) does it: Ctrl-C ends the program, and what was
 * captured until then stays valid. Not thread-safe: one run at a time in a process.
 */
#ifndef PCERE_CAPTURE_TRACER_CAPTURE_H
#define PCERE_CAPTURE_TRACER_CAPTURE_H

#include "core/error.h"
#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- what was measured ----------------------------------------------------------------------------------------------------- */

struct capture_invocation {      /* one of a region, on whatever thread */
    uint64_t begin_ns, end_ns;   /* CLOCK_MONOTONIC; end_ns is 0 if it was left by exit, longjmp or a crash */
    uint64_t time_ns;            /* what it takes when nobody stops the program or looks on: see tracer/undisturbed.h */
    uint64_t uncertain_ns;       /* how far off time_ns may be, for a stop nearby; 0 where others tell */
    uint64_t vague_ns;           /* of one that was stopped at, and counts as one of several kinds that explain what it took: how far these are from time_ns, in the mean; 0: one kind does */
    uint64_t number;             /* from 1 in its region */
    uint64_t words_hash;         /* of the fork's argument words, and of which of the region's copies was entered */
    uint64_t cpu_ns;             /* CPU time of the process meanwhile; 0: unknown, or the thread that enters it was never interrupted, or waited for something by itself (slept, read) */
    uint32_t faults;             /* minor page faults of that thread; valid if measured_cpu */
    uint32_t switches;           /* involuntary context switches of it; also where not measured_cpu, if it had no processor for most of its time; 0 where what they cost has been taken off time_ns */
    uint32_t team;               /* threads that it asks for, by a clause or the runtime's setting; 0: unknown. Those that ask for others are not like it */
    uint16_t caller;             /* in a choosing run: which call path it came by; else 0 */
    uint32_t path;               /* enum pcere_path */
    size_t region;               /* in the run's regions */
    size_t parent;               /* that one, in the run's regions; SIZE_MAX: none, or unknown */
    uint64_t waited_ns;          /* of one that was stopped at: how long a thread of the program waited for a processor meanwhile, at most; 0: unknown, or it did not */
    uint64_t held_ns;            /* the same: how long it waited for threads that were held for it, working: it polled */
    uint64_t large_pages;        /* of one that was stopped at: of large blocks that it freed and allocated again, which the program's malloc may map anew each time, and the capture did not */
    bool gathered;               /* the same: several threads were stopped, which come together anew behind the stop */
    bool nested;                 /* inside another parallel region */
    bool captured;               /* there is a codelet of it */
    bool stopped;                /* the program was stopped at its beginning */
    bool near;                   /* the first of its region, or with its words, after a stop, or one came while it ran */
    bool fresh;                  /* most of its faults were of pages that had not been there, */
    bool all_fresh;              /* or all but a sixteenth */
    uint16_t expected;           /* capture_magnitude of how long it was expected to take; 0: who knows */
    bool measured_cpu;           /* regions whose invocations take under 100 us go without, but for the first and those behind stops */
};

struct capture_region {
    char *name, *function, *file;
    char *thread_sized;          /* what holds only for the thread count that the program started with, or NULL */
    uint32_t line;
    bool shares;                 /* what a thread is kept from doing others do: loops without a static schedule, tasks */
    uint64_t invocations;        /* all */
    uint64_t time_ns;            /* wall time of those that ended and were in no other region, together: the program spent it here alone */
    uint64_t overlap_ns;         /* of the same, left out of time_ns: another thread was in a region already */
    uint64_t nested_ns;          /* of those inside other regions: part of the times of these */
    uint64_t unfinished;         /* how many did not end */
    uint64_t nested;             /* how many were inside another parallel region */
    uint64_t probed_ns;          /* by how much probes of regions inside it stretched its times, together: at least */
    char *object;                /* path of the shared library that holds its code; NULL: the executable */
    bool plain;                  /* of a unit that the plugin did not compile: it is timed alone, and `file` is that unit, or "" */
    uint32_t plugin_version;     /* plain: of the plugin that did compile its unit, another than this one; 0: none did */
    bool unprobed;               /* plain: the plugin did compile its unit, but the linker left none of the object's probes */
    uint64_t code;               /* plain: link-time address of its outlined function, in `object` or the executable */
    uint64_t foreign;            /* how many were in no other region, and entered by a thread that is not the initial one */
    struct capture_invocation *list;  /* as they are numbered; borrowed from the run */
    size_t list_count;           /* less than `invocations` if the log overflowed */
};

/* Are its invocations numbered as the program's own course has them, in each run? The initial thread alone enters it, and in no other region. */
static inline bool capture_region_is_ordered(const struct capture_region *region)
{
    return region->foreign == 0 && region->nested == 0;
}

struct capture_run {
    uint64_t wall_ns;            /* from just before the program's process was made until its end was seen by its parent, less stops, what they
                                    slowed down, and probing_ns */
    uint64_t serial_ns;          /* wall_ns minus time_ns of all regions */
    uint64_t probing_ns;         /* already taken off wall_ns and serial_ns: what probes of long regions took outside these, but for stops */
    uint64_t probe_ns;           /* already taken off every invocation's time: what reading the clock adds to it */
    uint64_t fault_ns;           /* what the first write to a page costs that tracking has protected, on this machine; 0: unknown */
    uint64_t uncertain_ns;       /* of invocations in no other region, together: what stops may have added, or what was taken off too much */
    uint64_t peak_bytes;         /* largest resident memory */
    uint64_t as_run_ns;          /* wall_ns with what stops slowed down, and what other processes took of invocations; where times are of two runs, of the one that waited more for processors */
    uint64_t waited_ns;          /* of as_run_ns, how long the initial thread waited for a processor; 0: unknown */
    int32_t program_status;      /* as waitpid gave it */
    uint32_t threads;            /* OMP_NUM_THREADS */
    uint64_t dropped;            /* invocations without a record of their own (they are in time_ns) */
    uint64_t image_bias;
    bool stopped;                /* it was captured while it was measured: some invocations are `captured`, and only these cost nothing more */
    bool randomized;             /* the kernel refused to turn address-space randomisation off */
    bool forked, forked_regions; /* the program forked off processes; one of these entered a region before the program ended */
    bool runtime_separate;       /* the OpenMP runtime's allocations were kept out of the program's heap */
    bool blocks_moved;           /* captured regions allocated or freed blocks: later ones lie where they do in no other run */
    char **environment;          /* NULL-terminated: OMP_*, KMP_*, GOMP_* and LD_LIBRARY_PATH that the program saw */
    struct capture_region *regions;
    size_t region_count;
    struct capture_invocation *invocations;
    size_t invocation_count;
};

/* Of the words of a program that starts others (env, taskset, mpirun), borrowed: the first that is a file with the plugin's bitcode; NULL if none is. */
const char *capture_started_program(char *const *arguments);

void capture_run_done(struct capture_run *run);     /* accepts half-built */

/* ---- how to run ------------------------------------------------------------------------------------------------------------ */

enum capture_phase { CAPTURE_PHASE_TIMING, CAPTURE_PHASE_CHOOSING, CAPTURE_PHASE_CAPTURING, CAPTURE_PHASE_WRITING };

/* Called a few times a second while the program runs, never during a stop. `stops` of `planned` lie behind. */
typedef void capture_progress_fn(void *context, enum capture_phase phase, uint64_t elapsed_ns, size_t stops, size_t planned);

/* Called before capture_choose_fn is asked for a run's regions: what can be done for all of them side by side. */
typedef enum pcere_status capture_choose_begin_fn(void *context, const struct capture_run *run, struct pcere_error *error);

/* Make classes of a region's invocations (run->regions[region].list). Classes with `captured` set are wanted; a class that is not names its
 * `reason` (malloc) or weighs too little. *ret_classes is malloc'ed. Any failure ends the capture with it. A wanted class whose representative is
 * none of the captured invocations costs a second run, after which it is asked again. */
typedef enum pcere_status capture_choose_fn(void *context, const struct capture_run *run, size_t region,
                                            struct store_class **ret_classes, size_t *ret_count, struct pcere_error *error);

enum capture_fault {             /* for tests: what the machine is to refuse */
    CAPTURE_FAULT_PTRACE = 1,
    CAPTURE_FAULT_TRACKING = 2,      /* userfaultfd */
    CAPTURE_FAULT_PAGEMAP_SCAN = 4,  /* and with it tracking */
    CAPTURE_FAULT_PERSONALITY = 8,
    CAPTURE_FAULT_CALM = 16,         /* threads that could be told from working ones */
    CAPTURE_FAULT_FIRST_CALM = 32,   /* the same, before a region's first stop */
    CAPTURE_FAULT_COPYING = 64,      /* the program copying its own memory: it is all read from outside */
};

struct capture_places {          /* where the program's file and this process were before it ran: both may be gone when it has ended */
    char *program_file, *working_directory;
};

struct capture_options {         /* zero is a default wherever it makes sense; all pointers borrowed */
    const char *program;         /* a path; never searched in PATH */
    char *const *arguments;      /* NULL-terminated, without the program itself; NULL: none */
    char *const *environment;    /* NULL-terminated; the program sees it with OMP_NUM_THREADS and, unless any is set, an affinity */
    const char *library;         /* absolute path of libpcere-capture.so */
    uint32_t threads;            /* OMP_NUM_THREADS; 0: 1 */
    bool keep_affinity;          /* false: OMP_PROC_BIND=true and OMP_PLACES=cores, unless environment says something about places */
    size_t records_most;         /* invocations recorded one by one; 0: 4 Mi (64 bytes each, only as many as happen) */
    capture_progress_fn *progress;  /* may be NULL */
    void *progress_context;
    bool (*stop)(void);          /* asked several times a second; true: the program gets SIGTERM, once. NULL: never */
    unsigned faults;             /* enum capture_fault */
    uint64_t fault_ns;           /* for tests: what tracking costs, as in struct capture_run; 0: found out */

    /* capture_measure: where the program's output goes; -1: /dev/null (0 is no default). Standard input is the caller's. */
    int stdout_descriptor, stderr_descriptor;

    /* capture_program */
    bool two_runs;               /* measure in a run of its own, before the one that is stopped */
    bool silent;                 /* with two_runs: the one that is stopped is without output, too; else it has the caller's */
    bool among_ranks;            /* why not, if one_run: mpirun started it beside others, which do not begin anew with it */
    bool one_run;                /* never run it a second time, whatever is missing */
    bool every_class;            /* stops may cost what they like: choose() will want every class */
    double light_ratio;          /* of the run's wall time: classes that weigh less are not worth a second run, however many they are */
    unsigned more_runs;          /* so many runs at plain speed after the capture, without output */
    const char *store;           /* path of the store to make */
    bool force;                  /* replace an existing store */
    const char *pattern;         /* only regions whose name contains it, or matches it by fnmatch(3), are dumped; NULL: all */
    double share_least_ratio;    /* classes that weigh less of the run's wall time are not dumped; negative: 0 */
    const char *libraries;       /* of the system that are captured like the user's: what their files' names begin with, by commas; NULL: those that need it */
    bool no_after;               /* do not record memory at the end of captured regions: they cannot be verified */
    unsigned workers;            /* threads that compress; 0: one per core, at most 8 */
    capture_choose_begin_fn *choose_begin;   /* may be NULL */
    capture_choose_fn *choose;
    void *choose_context;
};

/* One run of the program at plain speed.
 * PCERE_USAGE: the program does not exist, or is no file that can be executed. PCERE_DATA: it is no ELF executable, or was built without the
 * plugin. PCERE_REFUSED: it is statically linked, or runs privileged, so that no library can be brought in. PCERE_SYSTEM: it cannot be started.
 * A program that fails is no failure of this: see program_status. */
enum pcere_status capture_measure(const struct capture_options *options, struct capture_run *ret_run, struct pcere_error *error);

/* From now on each run of this process has the same standard input: a file from where it stands, what flows read to its end first (if anything comes at all: a pipe that is only open
 * stays as it is). Again it does nothing. PCERE_SYSTEM: it cannot be kept. */
enum pcere_status capture_input_keep(struct pcere_error *error);

/* ---- capture --------------------------------------------------------------------------------------------------------------- */

struct capture_stop_cost {       /* one stop of the program */
    size_t region;               /* in timing.regions, or SIZE_MAX for one that the timing run did not see */
    uint64_t invocation;
    bool at_end;                 /* after the region */
    uint64_t stall_ns;           /* as the program saw it */
    uint64_t present_bytes;      /* memory that was there */
    uint64_t read_bytes;         /* what had to be read, */
    uint64_t copied_bytes;       /* and of it what the program copied for us */
};

struct capture_result {
    struct capture_run timing;
    unsigned runs;               /* of the program: 1, 2, or more where much is missing and it is short, or ended differently */
    char *second_reason;         /* why there was more than one, where one was to do, or NULL */
    uint64_t capture_wall_ns;    /* the run that was stopped, as it was: stops included; of two the last */
    uint64_t runs_wall_ns;       /* all runs of the program together, as they were */
    uint64_t writing_ns;         /* from its end until the store was complete */
    uint64_t stall_ns;           /* all stops together */
    int32_t program_status;      /* of the run whose output was the program's own, as waitpid gave it */
    bool tracking;               /* the kernel told which pages were written, so that later stops read only these */
    uint64_t fault_ns;           /* what that costs, as in struct capture_run */
    struct capture_run *more;    /* those that were asked for besides, without their invocations; one that failed ends them and is not among them */
    size_t more_count;
    int32_t more_status;         /* of the last of them, as waitpid gave it */
    size_t captured, wanted;     /* codelets */
    struct capture_stop_cost *stops;
    size_t stop_count;
    char **notes;                /* NULL-terminated sentences for people: what was refused or left out, and why */
};

void capture_result_done(struct capture_result *result);

/* One run (or two), classes, store. *ret_result is set as far as the capture came, whatever is returned, since the program's
 * status counts once it has run: capture_result_done it in any case. As capture_measure, and
 * PCERE_USAGE: what options->libraries names cannot be captured. PCERE_NO: ended from outside (SIGINT, SIGQUIT, SIGTERM) in a timing run; program_status tells. PCERE_USAGE: the store exists. PCERE_REFUSED: ptrace is forbidden (the program ran to its end all the same). PCERE_SYSTEM: the
 * store could not be written (likewise). */
enum pcere_status capture_program(const struct capture_options *options, struct capture_result *ret_result, struct pcere_error *error);

#endif
