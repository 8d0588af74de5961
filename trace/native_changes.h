/* trace/native_changes.h - the records of one thread as what they change for the metrics: its state, and which tasks are made, begin, wait for others and end.
 *
 * That asks for nothing of other threads, so that several can be followed at once, ahead of who merges their changes by time; most records change nothing. Changes are told in pieces of a ring: who has the lock
 * fills one, and one who merges takes it. What this does not know (devices, messages, untied tasks, taskwaits with dependences, omp_all_memory) ends it.
 */
#ifndef PCERE_TRACE_NATIVE_CHANGES_H
#define PCERE_TRACE_NATIVE_CHANGES_H

#include "profiler/host/trace_file.h"
#include "trace/dependence_cells.h"
#include "trace/metrics.h"

#include <pthread.h>
#include <stdatomic.h>

enum state { STATE_NONE, STATE_USEFUL, STATE_BODY, STATE_SERIAL, STATE_MUTEX, STATE_WAIT_TASKS, STATE_WAIT_EXPLICIT, STATE_WAIT_BARRIER, STATES };

enum change_kind {
    CHANGE_STATE,                /* nothing but the state */
    CHANGE_MADE,                 /* the task `number` was made */
    CHANGE_MADE_DECLARED,        /* the same, and it has dependences */
    CHANGE_MADE_AFTER,           /* the same, but its number is by `maker` above that of the task made before; it waits for the task `number` */
    CHANGE_DECLARED,             /* the task made last has dependences */
    CHANGE_AFTER,                /* it waits for the task `number` */
    CHANGE_BEGIN, CHANGE_END,    /* of the task `number` */
    CHANGE_TEAM,                 /* before the first wait in the team `maker`, `number` */
    CHANGE_TEAM_END,             /* its region is over: waits in it are none */
};

struct change { int64_t ns; uint32_t number, maker : 16, kind : 8, state : 8; };         /* maker: or the step to a number; state: from now on */

/* Tasks by numbers: ids count from 1 for each thread, and each thread begins at a multiple of NUMBERS_PAGE. */
enum { NUMBERS_PAGE = 1024 };
struct numbers { uint32_t *first, *most; size_t thread_count; uint32_t end; };   /* [thread]: number of what is before its first task, and of the last that can be */
#define NUMBERS_MOST ((uint64_t)1 << 31)         /* a number has 31 bits */

/* False: no memory, or *ret_many: more tasks than there are numbers could be in the file. */
bool numbers_init(struct numbers *numbers, const struct trace_file *file, bool *ret_many);
void numbers_done(struct numbers *numbers);      /* accepts zeroed */

struct actor { uint64_t id, team; uint32_t scope; /* + 1: of its children with dependences */ uint32_t number; bool implicit, initial, chunk, mutex, taskloop, divides /* a taskloop, for the runtime */; uint8_t wait, state; };

enum { CHANGES_ACTORS = 512, CHANGES_CONSTRUCTS = 64, CHANGES_PIECES = 4, CHANGES_LEAST = 32 };
enum { CHANGES_UNKNOWN = 1, CHANGES_NO_MEMORY = 2 };

struct changes {                 /* made by changes_init */
    pthread_mutex_t lock;        /* of who fills, and of what follows */
    _Alignas(64) struct trace_cursor cursor;     /* others look at the lock meanwhile */
    uint64_t ticks, ns_ticks;    /* of the last record; those that `ns` is of */
    int64_t ns, since_ns, end_ns;        /* since: it is in its state; end: of the program, times behind it are this */
    struct change *piece, *out, *out_end;        /* that is filled */
    size_t depth;
    uint64_t pending_team, told_team;
    uint32_t thread, made, made_before;  /* numbers of the last tasks that it made; 0: none */
    uint32_t scopes, state, declared;    /* declared: that the last task has dependences is told */
    uint32_t broken_off;         /* CHANGES_UNKNOWN, CHANGES_NO_MEMORY: it ends there */
    const struct numbers *numbers;
    struct actor stack[CHANGES_ACTORS + 1];      /* [depth]: what it executes, below it what that interrupted; [0]: nothing */
    uint8_t constructs[CHANGES_CONSTRUCTS];      /* open ones: the type that began each */
    size_t construct_depth;
    struct cells cells;
    uint32_t *edges;             /* tasks that the last one waits for, and that had no room */
    size_t edge_count, edge_capacity, edges_told;
    uint64_t state_ns[STATES];   /* but of waits that the end of a region may cut */
    bool all_seen;               /* each call of the program's has its record */
    bool counts;                 /* it had a stretch of time in one of those */
    struct metrics_busy computing;
    uint64_t tasks_made, tasks_begun, tasks_ended, tasks_dividing;
    struct change *ring;         /* [CHANGES_PIECES * length] */
    size_t length;
    uint32_t counts_of[CHANGES_PIECES];
    _Alignas(64) _Atomic uint64_t filled;        /* pieces, from the first on */
    atomic_bool ended;           /* no more will be */
    _Alignas(64) _Atomic uint64_t taken;         /* pieces that may be filled again */
};

/* Of a thread of the file; `length` of a piece: at least CHANGES_LEAST. False: no memory. Freed by changes_done in any case. */
bool changes_init(struct changes *changes, const struct trace_file *file, size_t thread, const struct numbers *numbers, int64_t end_ns, size_t length);
void changes_done(struct changes *changes);      /* accepts zeroed */
/* Is there a piece to be filled? */
static inline bool changes_wanted(struct changes *changes)
{
    return !atomic_load_explicit(&changes->ended, memory_order_relaxed) && atomic_load_explicit(&changes->filled, memory_order_relaxed) - atomic_load(&changes->taken) < CHANGES_PIECES;
}
/* Fill a piece, if one is free. The caller has the lock. */
void changes_follow(struct changes *changes);
/* All records are followed: it is in its state until the program ends. */
void changes_end(struct changes *changes);

#endif
