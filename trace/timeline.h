/* trace/timeline.h - what a run did over time, in memory: processes, threads, spans, tasks with their dependences.
 *
 * One model for traces of our own format, for Chrome's JSON and for what OMPC writes. Names of spans are those of V. Pinho, "Parallel Code Profiling for the
 * OpenMP Cluster Distributed Task-based Runtime" (UNICAMP 2023), section 4.3. Times are ns of one clock; of a merged trace they may be negative.
 *
 *   process 0 (head) ─┬─ thread 0 ─ span, span, ...       task ─ dependences (address, type)
 *   process 1 (worker) └─ thread 1 ─ span, ...            task ─ ...
 */
#ifndef PCERE_TRACE_TIMELINE_H
#define PCERE_TRACE_TIMELINE_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum span_kind {
    SPAN_OTHER, SPAN_RUNTIME, SPAN_TARGET, SPAN_TARGET_ENTER, SPAN_TARGET_EXIT, SPAN_TASK, SPAN_EXECUTE, SPAN_ALLOC, SPAN_SUBMIT, SPAN_RETRIEVE,
    SPAN_FORWARD, SPAN_DELETE, SPAN_PARALLEL, SPAN_IMPLICIT, SPAN_LOOP, SPAN_CHUNK, SPAN_SINGLE, SPAN_MASKED, SPAN_BARRIER, SPAN_TASKWAIT,
    SPAN_TASKGROUP, SPAN_MUTEX, SPAN_SERIAL, SPAN_TARGET_UPDATE, SPAN_MESSAGE, SPAN_KINDS,
};
enum span_part {
    SPAN_WHOLE, SPAN_BEGIN, SPAN_END,    /* OMPC's workers tell of an operation by two spans, its begin and its end */
    SPAN_JOINED,                 /* short neighbours of one thread: `tag` of them; kind, name and place are those of the longest, which took `task` ns */
};

enum span_message { MESSAGE_SEND = 1, MESSAGE_RECEIVE, MESSAGE_ALL, MESSAGE_FROM_ROOT, MESSAGE_TO_ROOT, MESSAGE_POST, MESSAGE_OTHER, MESSAGE_COME };    /* as in profiler/protocol.h */

#define TIMELINE_NONE UINT32_MAX

struct span {
    int64_t begin_ns, end_ns;
    uint32_t thread;
    uint32_t name;               /* of `strings`; of SPAN_TASK that of the task's construct, or 0 */
    uint32_t place;              /* of `strings`: "file:line:column"; 0: unknown */
    uint32_t task;               /* number of the task as its program has it; TIMELINE_NONE */
    uint32_t tag;                /* what both sides of an operation call it; TIMELINE_NONE */
    uint16_t origin, destination;       /* 0: head, k + 1: worker k; UINT16_MAX: unknown */
    uint8_t kind, part;          /* enum span_kind, enum span_part */
    bool nowait;
    union {
        uint8_t message;         /* SPAN_MESSAGE: enum span_message; origin and destination are ranks then, tag is MPI's */
        bool continued;          /* SPAN_TASK: a later piece of a task that was suspended, as its program knows tasks by number */
    };
    uint32_t variable;           /* of `strings`: whose data it moves; 0: unknown */
};

struct timeline_process {
    int64_t pid;
    uint32_t name;               /* of `strings` */
    uint32_t role;               /* 0: head, k + 1: worker k; TIMELINE_NONE: unknown */
    uint32_t rank, ranks;        /* of MPI_COMM_WORLD; ranks 0: no MPI */
    uint64_t build;              /* a hash of the program's build id; 0: unknown */
    uint32_t home;               /* whose clock it has: of a device the process that uses it, else itself */
};

struct timeline_thread { uint32_t process; int64_t tid; uint32_t name; bool device; /* no thread of the program: what a device does, as its process saw it, or a helper of the runtime's */ };

enum dependence_type { DEPENDENCE_IN = 1, DEPENDENCE_OUT, DEPENDENCE_INOUT, DEPENDENCE_MUTEXINOUTSET, DEPENDENCE_INOUTSET, DEPENDENCE_TYPES };
struct dependence { uint64_t address; uint32_t type; bool all_memory; };

enum task_flag { TASK_UNDEFERRED = 1, TASK_WAITS = 2 /* a taskwait with dependences */, TASK_TARGET = 4, TASK_BEGUN = 8, TASK_ENDED = 16,
                 TASK_OF_TASKLOOP = 32 /* and no range of it is known */, TASK_DIVIDES = 64 /* the runtime's own: it makes a taskloop's tasks */ };

struct timeline_task {           /* an explicit task; in the order of their creation */
    uint64_t id;
    int64_t created_ns, begin_ns, end_ns;
    uint64_t run_ns;             /* executing, without what it was suspended for */
    uint32_t number;             /* in the run, from 0: its place in this list, but where the list has not all tasks, as of a cut */
    uint32_t scope;              /* tasks of one scope have one generating task: their dependences are held against each other */
    uint32_t epoch;              /* of the scope: taskwaits before it */
    uint32_t team, phase;        /* whose barriers wait for it; barriers before it */
    uint32_t place, thread;      /* thread: where it began; TIMELINE_NONE */
    uint32_t first_dependence, dependence_count;
    uint32_t flags;              /* enum task_flag */
};

/* One of the program's. Graphs (dependences.h) have these alone, in this order. */
static inline bool timeline_task_counts(const struct timeline_task *task) { return !(task->flags & TASK_DIVIDES); }

/* What a task did, in its order: of traces of ours, for programs run again in thought (trace/program.h). */
enum step_kind { STEP_RUN, STEP_CREATE, STEP_FORK, STEP_TASKWAIT, STEP_BARRIER, STEP_DATA /* moved to or from a device */, STEP_TARGET /* executed there */ };

struct timeline_step {
    int64_t begin_ns;
    uint64_t run_ns;             /* STEP_RUN: executing, without what it waited */
    uint64_t first;              /* of a range of iterations; STEP_DATA: bytes */
    uint64_t iterations, chunk;  /* chunk: iterations that are given out at a time; 0: unknown */
    uint32_t actor;
    uint32_t place;              /* of the loop; 0: the task's or the region's */
    uint32_t number;             /* STEP_CREATE: the task; STEP_FORK: the team; STEP_BARRIER: the phase that ends; of a range: which loop of its task, from 1 */
    uint8_t kind;                /* enum step_kind */
    bool fixed;                  /* a range that the schedule gave to its thread beforehand */
    bool alone;                  /* in a single or masked construct: not what every thread does */
};

struct timeline_actor {          /* an implicit or explicit task */
    uint32_t task;               /* of `tasks` + 1; 0: implicit */
    uint32_t team, member;
    bool initial;
};

struct timeline_team { uint64_t id; int64_t begin_ns, end_ns; uint32_t place, size, members; /* implicit tasks that have not ended */ bool begun, ended; };
/* Threads that the runtime keeps for target tasks: a region that no construct began. */
static inline bool timeline_team_helps(const struct timeline_team *team) { return team->begun && !team->place; }

enum timeline_apart { TIMELINE_PAIRED, TIMELINE_WORKERS_APART, TIMELINE_ALL_APART };   /* whose begins and ends stay two spans */

struct timeline {
    char **strings;              /* [0] is "" */
    size_t string_count, string_capacity;
    uint64_t *string_slots;      /* hash << 32 | string + 1 */
    size_t string_slot_count;
    struct timeline_process *processes;
    size_t process_count, process_capacity;
    struct timeline_thread *threads;
    size_t thread_count, thread_capacity;
    struct span *spans;
    size_t span_count, span_capacity;
    struct timeline_task *tasks;
    size_t task_count, task_capacity;
    uint32_t tasks_made;         /* by traces of ours, kept or not */
    struct dependence *dependences;
    size_t dependence_count, dependence_capacity;
    struct timeline_step *steps; /* only if want_steps was set before reading; each task's own are in their order, tasks are not */
    size_t step_count, step_capacity;
    struct timeline_actor *actors;
    size_t actor_count, actor_capacity;
    struct timeline_team *teams; /* [0] of each process: outside of regions */
    size_t team_count, team_capacity;
    bool want_steps;
    int64_t begin_ns, end_ns;    /* of the run */
    bool has_bounds;
    uint64_t realtime_ns;        /* of time 0, where traces of ours say it; 0: they do not */
    uint64_t least_ns;           /* set before reading: shorter neighbours are joined as soon as there are many of them, but halves of a pair and messages; 0: never. Arrows need them all */
    size_t coarse_at;            /* spans at which that is tried again */
    bool has_window;             /* set before reading: spans that do not touch window_begin_ns to window_end_ns are not kept, but halves of a pair and messages */
    int64_t window_begin_ns, window_end_ns;
    uint32_t wanted;             /* set before reading: a bit for each kind of span to keep; 0: all */
    enum timeline_apart apart;   /* set before pairing */
    uint64_t unwanted;           /* spans that were not kept */
    uint64_t ignored;            /* events that this model has no place for */
    uint64_t broken;             /* events that make no sense: without a time, an end without a begin */
    uint64_t unfinished;         /* spans and tasks that the trace has no end of: they end where their process does */
    bool cut;                    /* the file ended amid its events: what was whole is here */
    char cut_text[400];          /* what was wrong and how much is used, of a trace of ours; "": of none */
};

/* Zeroed before; freed by timeline_done, which accepts that. */
void timeline_done(struct timeline *timeline);

/* These return false where memory runs out. */
bool timeline_string(struct timeline *timeline, const char *text, size_t length, uint32_t *ret_string);
bool timeline_process(struct timeline *timeline, int64_t pid, uint32_t *ret_process);            /* new or known */
bool timeline_thread(struct timeline *timeline, uint32_t process, int64_t tid, uint32_t *ret_thread);
bool timeline_span(struct timeline *timeline, const struct span *span);

/* Spans in the order of thread and begin, halves of pairs paired as far as both are there, and neighbours of a thread that are shorter than least_ns joined while they lie within twice of it. timeline_span calls it. */
bool timeline_coarsen(struct timeline *timeline);
uint64_t span_longest_ns(const struct span *span);       /* of what is joined in it; its own length if nothing is */
bool timeline_is_short(const struct timeline *timeline, const struct span *span);        /* shorter than least_ns, or joined of such, and nothing is to be found by it */
bool timeline_is_outside(const struct timeline *timeline, const struct span *span);      /* of the window: timeline_span does not keep it */
/* Two short neighbours as one, if they are of one thread and lie within twice least_ns. */
bool span_join(struct span *joined, const struct span *span, uint64_t least_ns);

/* "Submit", "Task", ...; NULL for SPAN_OTHER. */
const char *span_kind_name(enum span_kind kind);
static inline bool span_is_data(enum span_kind kind) { return kind >= SPAN_ALLOC && kind <= SPAN_DELETE; }
/* What an event of this name is, among OMPC's names. "Task 12" has its number in *ret_task. */
struct span_name { enum span_kind kind; enum span_part part; bool nowait; uint32_t task; };
struct span_name span_name_read(const char *text, size_t length);

/* Roles of processes by what they are called ("Head Process", "worker_process_3"), or, where nothing tells, head first, in the order of pids. */
void timeline_roles_find(struct timeline *timeline);
void timeline_roles_name(struct timeline *timeline);     /* what names tell alone; the others stay unknown */

/* Pairs of a begin and an end (one process, kind and tag) become one whole span at the begin's place; those without a partner stay, and are counted
 * in `unfinished`. Spans are in the order of thread and begin afterwards. PCERE_SYSTEM: no memory. */
enum pcere_status timeline_pair(struct timeline *timeline, struct pcere_error *error);

#endif
