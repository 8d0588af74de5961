/* replay-rt/launcher/replay_session.h - what replaying and verifying share: the opened program, its build, the environment of
 * processes. */
#ifndef PCERE_REPLAY_LAUNCHER_REPLAY_SESSION_H
#define PCERE_REPLAY_LAUNCHER_REPLAY_SESSION_H

#include "core/elf_file.h"
#include "replay-rt/launcher/filler.h"
#include "replay-rt/launcher/build.h"
#include "replay-rt/launcher/images.h"
#include "replay-rt/launcher/codelet_memory.h"
#include "replay-rt/launcher/process.h"
#include "replay-rt/launcher/replay.h"
#include "replay-rt/launcher/speed.h"

#define REPLAY_STARTS 1u              /* of each number of threads: 0.3 to 5 ms, in replays as in the program; predictions take the median of all samples */
#define REPLAY_STARTS_KINDS 16u

struct replay_session {
    struct store *store;
    const struct replay_options *options;
    struct processor processor;       /* that codelets are built for */
    struct images images;
    const struct elf_file *program;   /* of images */
    bool helpers;                     /* it makes target tasks, so that the OpenMP runtime has a team of hidden helpers */
    struct build build;
    uint64_t build_ns;
    struct page_pool pool;
    struct filler filler;
    uint64_t page_ns;                 /* what a captured page costs here, as page_cost_ns tells it */
    char *host_name, *host;           /* this machine's name, and its description as JSON */
    bool elsewhere;                   /* the program was captured on another one */
    struct store_sample *samples;     /* of earlier replays; replay only */
    size_t sample_count;
    struct store_series *series;      /* invocations of the timing run: loaded when they are needed */
    size_t series_count;
    bool series_loaded;
    struct { uint32_t threads, count; } starts[REPLAY_STARTS_KINDS];    /* processes that measured how late their team began */
    struct speed_known speed;
    struct replay_whole *wholes;      /* of replay only */
    size_t whole_count, whole_capacity;
    uint64_t cores;                   /* of this machine; 0: not known */
    const struct replay_watcher *watcher;   /* of its processes, or NULL */
    struct process_ending ending;     /* one that measured, and gives its memory back while the next one starts */
    struct standby standby;           /* one for whatever is measured next */
    bool keys;                        /* some program's thread-specific data have keys */
    bool more;                        /* behind this target another one is measured, in processes of its own */
    struct process_staying staying;   /* one that measured, and may measure with another number of threads */
    struct {                          /* its plan, and what that was made of */
        struct plan_file plan;
        const struct codelet_memory *memory;
        const struct plan_steps *steps;
        uint32_t threads;
    } stayed;
    uint32_t next_threads;            /* with so many the same codelet is measured next; 0: with none */
};

/* Check the options, open the stored program, build what is missing. */
enum pcere_status replay_session_open(struct store *store, const struct replay_options *options, struct replay_session *ret_session,
                               struct pcere_error *error);
void replay_session_close(struct replay_session *session);    /* accepts half-built */

/* With which compilers its units were rebuilt; *ret_compilers is malloc'ed. */
enum pcere_status replay_session_compilers(const struct replay_session *session, struct replay_compiler **ret_compilers, size_t *ret_count,
                                           struct pcere_error *error);

/* How many threads the region gets where OMP_NUM_THREADS is `threads`: that many, or store_codelet_team. */
uint32_t replay_team(const struct store_codelet *codelet, const struct store_manifest *manifest, uint32_t threads);

/* How many threads the region asked for by a variable, where these are as many as the capture's: whether it would ask for as many whatever OMP_NUM_THREADS is cannot be told, and
 * replay_team says no. 0: it asked for none, or that is known. */
uint32_t replay_asked_threads(const struct replay_session *session, const struct store_codelet *codelet);

/* PCERE_NO: the region reaches into memory that was made for the capture's threads; a team of `threads` would run over its end. */
enum pcere_status replay_threads_check(const struct replay_target *target, const struct store_codelet *codelet, uint32_t threads,
                                       struct pcere_error *error);

/* Is the next process with so many threads to measure how late its team begins? It counts then. */
bool replay_starts_take(struct replay_session *session, uint32_t threads);

/* The first process begins now, as if it had so many threads: when something is to be measured, and there is other work first. */
void replay_session_stand_by(struct replay_session *session, uint32_t threads);

/* One process; its outcome is in plan->plan->result. One that measures may not have ended yet: process_ending_wait(&session->ending). */
enum pcere_status replay_session_process(struct replay_session *session, const struct store_codelet *codelet,
                                         struct plan_file *plan, uint32_t threads, uint64_t *ret_wall_ns, struct pcere_error *error);

/* The plan of the process that stays, with that policy, if it was made of the same, and for no more threads: those of a larger team would be there, and work
 * on something. False: there is none. */
bool replay_plan_take(struct replay_session *session, const struct codelet_memory *memory, const struct plan_steps *steps, uint32_t threads,
                      const struct plan_policy *policy, struct plan_file *ret_plan);
/* Behind the last process of a plan: it is kept as long as that one stays. */
void replay_plan_leave(struct replay_session *session, const struct codelet_memory *memory, const struct plan_steps *steps, uint32_t threads,
                       struct plan_file *plan);
/* No process stays any longer: to be called before `memory` or `steps` go. */
void replay_stay_end(struct replay_session *session);

uint64_t replay_session_clock_ns(void);

/* What a codelet says of itself, which is hostile: `bytes` of it at most, with an end, and printable. */
void replay_words_take(const char *from, size_t bytes, char *to);

/* Nothing more is to be measured: the options' `stop` says so. */
bool replay_session_stopped(const struct replay_session *session);

/* Environment of a codelet: the capture's OpenMP settings, the thread count, the folder where its libraries are looked for first (NULL:
 * none), then the options. NULL-terminated; one free() for the list, environment_free. */
enum pcere_status environment_make(const struct store_manifest *manifest, const struct replay_options *options, const char *libraries,
                                   uint32_t threads, char ***ret_environment, struct pcere_error *error);
/* Do clauses that bind threads count there, as they did in the program? Not where that had no places, nor where the options say how to bind. */
bool environment_binds(const struct store_manifest *manifest, const struct replay_options *options);
/* Did the program run without places of its user's? What a capture sets itself stands in the manifest, too, and counts as nobody's. */
bool environment_places_ours(const struct store_manifest *manifest, const struct replay_options *options);
/* And more variables, in place of those of the same names. PCERE_SYSTEM: no memory; it stays as it was, or has some of them. */
enum pcere_status environment_extend(char ***environment, char *const *more, struct pcere_error *error);
void environment_free(char **environment);

/* PCERE_USAGE: schedule, places or bind that OpenMP does not know. PCERE_REFUSED: places of processors that are not here. */
enum pcere_status environment_check(const struct replay_options *options, struct pcere_error *error);
/* One of them, for the option of that name. PCERE_USAGE, as above. */
enum pcere_status environment_schedule_check(const char *option, const char *schedule, struct pcere_error *error);
enum pcere_status environment_bind_check(const char *option, const char *bind, struct pcere_error *error);

#endif
