/* replay-rt/launcher/replay.h - measure and verify captured regions: what `pcere replay` and `pcere verify` do.
 *
 * All regions of a store are rebuilt into one executable, from the bitcode that the stored program carries; it is kept in the
 * store's build/ folder. Each measurement is one or more processes of it, which map the captured memory from one memory
 * file. One region that fails does not stop the others: its result carries the error.
 */
#ifndef PCERE_REPLAY_LAUNCHER_REPLAY_H
#define PCERE_REPLAY_LAUNCHER_REPLAY_H

#include "core/error.h"
#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- which codelets ------------------------------------------------------------------------------------------------------- */

struct replay_target {                /* one captured class of one region; borrowed from the store's manifest */
    const struct store_region *region;
    const struct store_class *class;
};

/* Captured classes of the regions that the patterns name, in the manifest's order, each once. A pattern is a region's name, any
 * part of it that no other region has, or a shell pattern with * ? [] for the whole name. No pattern: all captured regions.
 * *ret_targets is malloc'ed. PCERE_USAGE: a pattern that names no region, or a part that several share (the message lists them).
 * PCERE_DATA: nothing that was asked for has been captured (the message says why). */
enum pcere_status replay_select(const struct store *store, const char *const *patterns, size_t pattern_count,
                                struct replay_target **ret_targets, size_t *ret_count, struct pcere_error *error);

/* Classes that a prediction does not need (measured_is_light) come to the end of the list; the number of the others, or all if there are none. */
size_t replay_split_light(const struct store *store, struct replay_target *targets, size_t count);

/* ---- how ------------------------------------------------------------------------------------------------------------------ */

struct replay_options {
    const uint32_t *threads;          /* thread counts, in order; verify: none means the capture's own */
    size_t thread_count;
    const char *warmup;               /* "auto" (or NULL), "plain", "displaced", "preceded", "faulting", "history", "none", or a number of untimed runs */
    uint32_t repeat;                  /* timed runs per codelet and thread count; 0: chosen by their time */
    double precision_ratio;           /* more processes until the 95 % interval is no wider than this to either side of the median; 0: not asked for */
    uint64_t budget_ns;               /* wall time for all measurements, building left out, shared by the classes' in-vivo time; 0: no limit but those of `repeat` */
    uint64_t patience_ns;             /* how long a region may run without an end; 0: by its time in the program */
    const char *sample;               /* sampling inside regions: "auto", "off" (or NULL), or the share of iterations to run, "0.05" */
    bool leave_known;                 /* what measured_is_known says is not replayed there, if it is the program's own code on its machine, and anything else is replayed */
    bool rates;                       /* measure how fast memory is restored, too; the costs have that as well */
    const char *flags;                /* compiler flags instead of the original's optimisation; NULL or "": the original's */
    const char *schedule;             /* KIND[,CHUNK] for loops with schedule(runtime), or NULL: the capture's */
    bool all_loops;                   /* and for all other loops: the region's code is built so that they ask the runtime. Without `schedule` it says nothing */
    bool unit_objects;                /* each unit is to be an object of its own, also where the linker optimised the program */
    double tolerance_ratio;           /* verify: how far floating-point values may differ; negative: chosen by the time that the region took */
    bool character;                   /* build code that counts what it does; for character_run */
    const char *places, *bind;        /* OMP_PLACES, OMP_PROC_BIND, or NULL: the capture's, or else one thread a core */
    const char *passes;               /* run after the compiler's own, in opt's syntax; NULL: none */
    const char *pass_plugin;          /* a shared object with passes of the user's own; NULL: none */
    const char *count;                /* the codelet counts what it executes: "ir" or "blocks" (include/pcere/counts.h); NULL: it does not */
    const char *target, *sysroot;     /* another processor to build for, "aarch64", and its system's headers and libraries; NULL: this machine's */
    const char *compiler;             /* NULL: for each unit the clang that wrote its bitcode, else a newer one */
    const char *search_path;          /* where compilers are looked for, as in PATH; NULL: the usual folders */
    const char *library_directory;    /* holds libpcere-replay.a and pcere/PCEREPass-MAJOR.so (or has them one or two levels up) */
    int diagnostics_fd;               /* codelets' standard error: backtraces of crashes; -1: dropped */
    bool keep_layout;                 /* for tests: codelets run without address randomisation */
    bool (*stop)(void);               /* asked several times a second; true: codelets that run are killed, and nothing more is measured or compared. NULL: never */
    void (*progress)(void *context, const char *region, uint64_t representative, uint32_t threads, size_t done, size_t total);
    void (*building)(void *context, size_t done, size_t total);  /* units of the program compiled, where codelets have to be built; from several threads, but never two at once */
    void *progress_context;           /* of both, which may be NULL; progress is called before each measurement */
};

/* One of those words or a number: PCERE_USAGE otherwise, naming those that exist. */
enum pcere_status replay_check_warmup(const char *warmup, struct pcere_error *error);
/* "auto", "off" or a number above 0 and at most 1: PCERE_USAGE otherwise. */
enum pcere_status replay_check_sample(const char *sample, struct pcere_error *error);

#define REPLAY_WATCHER_DESCRIPTOR 5
struct replay_watcher {               /* a library that is loaded into a codelet's process and records what it does */
    char *const *environment;         /* that brings it there, NULL-terminated; in place of the codelet's own variables of the same names */
    enum pcere_status (*open)(void *context, int *ret_file, struct pcere_error *error);    /* a new record for each start; it becomes
                                         descriptor REPLAY_WATCHER_DESCRIPTOR there, and is not closed here */
    void *context;
};

/* ---- replay --------------------------------------------------------------------------------------------------------------- */

/* "start" for 0; NULL from REPLAY_PHASES on. */
const char *replay_phase_name(unsigned phase);
#define REPLAY_PHASES 12u

struct replay_rates {                 /* all 0: not measured */
    uint64_t captured_pages, touched_pages;     /* of the memory at the region's start; of them, those that the process had mapped after it was timed */
    uint64_t restored_bytes, dropped_bytes, restore_ns;     /* between two repetitions: copied, made absent again; median time for both */
    uint64_t copied_bytes, copy_ns;   /* memcpy in the same process by as many threads */
};

#define REPLAY_FILE_BYTES 160u

struct replay_result {
    const struct replay_target *target;     /* borrowed */
    struct store_sample sample;       /* ready for store_sample_append; sample_count is 0 if it failed; sampled_ratio says whether it was sampled */
    uint32_t team;                    /* threads that the region really had */
    uint32_t asked_threads;           /* that the region asked for in the program, by a variable, and perhaps always does, while it was replayed with other ones; 0: none */
    bool locale_missing;              /* the program's is not installed here: the region ran in the C library's default */
    char file_missing[REPLAY_FILE_BYTES];   /* a file that it opens, which is not there and may have been in the program; or "" */
    uint32_t processes;               /* that the samples come from */
    uint64_t process_ns;              /* what the last of them took */
    double precision_ratio;           /* reached: half the 95 % interval over the median; INFINITY with one process */
    uint64_t in_vivo_ns;              /* of the representative, at the capture's thread count */
    struct store_sample *trials;      /* under other warm-ups that were tried and not taken, of kind "calibration"; their cost is in that of `sample` */
    size_t trial_count;
    uint64_t reference_ns;            /* time in vivo that the choice of a warm-up went by, or 0 */
    uint64_t laid_pages;              /* between the region before it and itself, for each repetition; 0 where none was run */
    struct replay_rates rates;
    uint64_t load_ns;                 /* of sample.cost_ns: filling the file of pages */
    uint64_t phases_ns[REPLAY_PHASES];      /* of sample.cost_ns: what the processes did, by replay_phase_name; all together */
    char *refusal;                    /* why it was replayed whole although sampling was asked for; NULL: it was sampled, or not asked for */
    uint64_t slow_dropped;            /* repetitions that do not count, since a processor was slow and others were made at full speed */
    uint64_t awaited_ns;              /* how long its processes waited for slow processors */
    uint64_t looks;                   /* at known work before and after timed runs */
    double slower_ratio;              /* by how much longer than at full speed it took then, all together */
    double last_slow_ratio;           /* sample.slow_ratio, of the last process alone */
    uint64_t written_pages, dropped_pages;  /* restored, or made absent, between repetitions (0 where nothing was repeated warm) */
    bool stopped, left;               /* before it was measured, since options->stop said so; it was not to be (leave_known): no report has such a one */
    struct pcere_error error;         /* status PCERE_OK: measured */
};

struct replay_compiler { uint32_t written_by, rebuilt_by; size_t units; };    /* versions of LLVM; rebuilt_by 0: no compiler here reads them */

struct replay_report {
    struct replay_compiler *compilers;      /* of the program's units */
    size_t compiler_count;
    struct replay_result *results;    /* by target, then by thread count; only what was measured before options->stop said so */
    size_t result_count;
    struct replay_left { const struct replay_target *target; uint32_t threads; } *left;     /* by options.leave_known */
    size_t left_count;
    uint64_t build_ns, link_ns;       /* compiling and linking, near 0 if it was there; of it, linking: one executable for all codelets */
    bool build_cached;
    bool build_apart;                 /* as in struct build */
    uint64_t room_lacking_bytes;      /* 0, or what the disk, or this machine's memory, had no room for, so that later replays will read the store again */
    uint64_t cost_ns;                 /* wall time from opening the store's codelets to the end of the last process, filling of memory files included, building not */
};

/* Build what is missing, then measure all targets at all thread counts. Fails as a whole only if nothing can run: options
 * (PCERE_USAGE), no compiler (PCERE_REFUSED), a unit that does not compile (PCERE_NO), damage (PCERE_DATA), no memory
 * (PCERE_SYSTEM). */
enum pcere_status replay_run(struct store *store, const struct replay_target *targets, size_t target_count,
                             const struct replay_options *options, struct replay_report *ret_report, struct pcere_error *error);
void replay_report_done(struct replay_report *report);

/* Run one captured invocation once in one process under the eyes of `watcher`, after the untimed runs that options->warmup says: it hears of the run that is
 * meant by PLAN_MARK_FUNCTION. *ret_time_ns is the run's. Errors as of replay_run, and as a result has them. */
enum pcere_status replay_watched(struct store *store, const struct replay_target *target, uint32_t threads, const struct replay_options *options,
                                 const struct replay_watcher *watcher, uint64_t *ret_time_ns, struct pcere_error *error);

/* "schedule=dynamic,4 loops=all bind=close": how samples name the settings of these options. malloc'ed; NULL: no memory. */
char *replay_settings_text(const struct replay_options *options);

/* ---- verify --------------------------------------------------------------------------------------------------------------- */

enum verify_verdict {                 /* ascending: of several, the highest counts */
    VERIFY_IDENTICAL,                 /* bit for bit */
    VERIFY_UNUSED,                    /* what differs is padding between members, and holds no value */
    VERIFY_ROUNDED,                   /* floating-point values differ, by no more than sums that are added in another order */
    VERIFY_DIFFERENT,
    VERIFY_UNSTEADY,                  /* it differs from one replay to the next, too: a race, or a result that depends on the schedule */
};

struct verify_cause {                 /* a variable, or where nothing is known of variables a kind of memory, in which something differs */
    char *name;                       /* "grid->cells[].rho", "conj_grad: sum", "counter of thread 2"; "heap" */
    char *first;                      /* the first value in it that differs: "grid->cells[12].rho" */
    char *expected, *found;           /* what that was, and is */
    const char *memory;               /* "heap", "stack", "program data", "thread-local", ..: static */
    const char *kind;                 /* "integer", "floating point", "pointer", "unknown type", ..: static */
    enum verify_verdict verdict;
    bool floating;                    /* the two largest differences hold */
    bool singles;                     /* values of single precision are among them */
    bool text;                        /* in memory of which nothing is known, and the original has text in all bytes that differ */
    double largest_absolute, largest_relative;
    uint64_t bytes, values, beyond;   /* that differ; `beyond`: values that differ by more than rounding */
};
void verify_cause_done(struct verify_cause *cause);

struct verify_result {
    const struct replay_target *target;     /* borrowed */
    uint32_t threads;
    uint32_t asked_threads;           /* as struct replay_result has it */
    uint32_t runs;                    /* how often it was replayed */
    bool identical;                   /* every compared byte is as in the original; false also where error.status is not PCERE_OK */
    enum verify_verdict verdict;      /* where error.status is PCERE_OK */
    double bound_ratio;               /* for doubles: how far they may differ, of the larger one, or of the largest in their array */
    double single_bound_ratio;        /* likewise for values of single precision */
    bool directed;                    /* beyond that, as far as runs that rounded down and up say that rounding can move them (rounded.h) */
    uint64_t compared_bytes, different_bytes;   /* of the run with most differences */
    uint64_t asked;                   /* functions that the region called and whose answer is another each time, a bit for each: replay_asked_name */
    bool streams;                     /* all that differs may be text in buffers of C++'s streams, which are the process's own behind sync_with_stdio(false) */
    uint64_t allocated_blocks;        /* of the region, that were compared */
    uint64_t renamed_pointers;        /* to blocks that the region allocated, into libraries, or to equal constants: not differences */
    bool locale_missing;              /* as struct replay_result has it */
    char file_missing[REPLAY_FILE_BYTES];   /* likewise */
    struct verify_cause *causes;      /* the highest verdict first, then most bytes first */
    size_t cause_count;
    struct pcere_error error;         /* PCERE_OK: compared. PCERE_NO: cannot be compared, or crashed; the message says why */
};

struct verify_report {
    struct replay_compiler *compilers;      /* of the program's units */
    size_t compiler_count;
    struct verify_result *results;    /* likewise */
    size_t result_count;
    uint64_t build_ns;
    bool build_cached;
};

/* Run each target from its captured memory and compare all memory with what the original had after the region: once, and once more where
 * there are several threads, or differences. Left out: what the capture says belongs to the OpenMP runtime, the stack below the region's
 * frame, OpenMP locks. Thread-local variables are compared where they live now. With the threads and flags of a one-thread capture nothing may
 * differ; otherwise floating-point values may, by a bound, and, where that is not enough, as far as results move that are rounded down and up instead. */
enum pcere_status verify_run(struct store *store, const struct replay_target *targets, size_t target_count,
                             const struct replay_options *options, struct verify_report *ret_report, struct pcere_error *error);
void verify_report_done(struct verify_report *report);
/* "omp_get_wtime" for a bit of verify_result.asked; NULL behind the last one. */
const char *replay_asked_name(unsigned bit);
/* What is another each time: the answer (time, getpid, ..); what the descriptors and directories asked about have (poll, readdir, ..); where a thread is, which it saves
 * (setjmp, swapcontext, ..). */
enum replay_asked { REPLAY_ASKED_CHANGING, REPLAY_ASKED_DESCRIPTORS, REPLAY_ASKED_PLACES };
enum replay_asked replay_asked_kind(unsigned bit);

#endif
