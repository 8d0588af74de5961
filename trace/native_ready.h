/* trace/native_ready.h - while records are read: which tasks wait for others, by the dependences that they declared.
 *
 * A task's number is its place among all that could be in the file, by its id, so that nothing is looked up: most of that memory is never touched. Nothing is kept of what has ended but that it has.
 */
#ifndef PCERE_TRACE_NATIVE_READY_H
#define PCERE_TRACE_NATIVE_READY_H

#include "profiler/host/trace_file.h"
#include "trace/dependence_cells.h"

/* A task runs long after it was made, on whichever thread: each step is a wait for memory, so tasks are small, on large pages, and asked for in time. */
struct ready_task { uint32_t state, followers; };        /* how many others it waits for, and bits; followers: 0 none; the task that waits for it × 2; of the first link × 2 + 1 */
enum { READY_DECLARED = 1 << 29, READY_BEGUN = 1 << 30, READY_UNMET = READY_DECLARED - 1 };
#define READY_ENDED (1u << 31)

struct ready_link { uint32_t task, next; };      /* next: + 1; 0: none */

struct ready {
    struct cells cells;
    struct ready_task *tasks;    /* [number] */
    size_t tasks_bytes;
    uint64_t *first;             /* [thread + 1]: number of what is before the first task that it made */
    size_t thread_count;
    struct ready_link *links;
    size_t link_count, link_capacity;
    uint32_t free_link;          /* + 1; 0: none */
};

#define READY_SLOTS_MOST ((uint64_t)1 << 31)     /* a file has fewer records: each may be a task's, which has a number of 31 bits */

/* False: no memory. */
bool ready_init(struct ready *ready, const struct trace_file *file);
void ready_done(struct ready *ready);    /* accepts zeroed */
/* 0: an id that cannot be: each thread counts the tasks that it makes, and has a record of each. */
static inline uint32_t ready_number(const struct ready *ready, uint64_t id)
{
    uint64_t thread = id >> TRACE_ID_THREAD_SHIFT, count = id & (((uint64_t)1 << TRACE_ID_THREAD_SHIFT) - 1);
    return thread < ready->thread_count && count && count <= ready->first[thread + 1] - ready->first[thread] ? (uint32_t)(ready->first[thread] + count) : 0;
}

/* Any number of bits; that of 0 is nobody's. */
static inline struct ready_task *ready_task(const struct ready *ready, uint64_t id) { return &ready->tasks[ready_number(ready, id)]; }

/* The task, made last by its maker, declared a dependence. *ret_blocked: it was ready until now, and waits for others. False: no memory. Its id can be. */
static inline bool ready_declare(struct ready *ready, uint64_t id, const struct dependence *dependence, uint32_t scope, bool *ret_blocked)
{
    uint32_t number = ready_number(ready, id);
    struct ready_task *task = &ready->tasks[number];
    bool was_ready = (task->state & READY_UNMET) == 0;
    task->state |= READY_DECLARED;
    if (!cells_take(&ready->cells, dependence, scope, number))
        return false;
    *ret_blocked = was_ready && task->state & READY_UNMET;
    return true;
}

/* It begins; true if it still waits for others as its records have it. */
static inline bool ready_begin(struct ready *ready, uint64_t id)
{
    struct ready_task *task = ready_task(ready, id);
    if (!task->state)
        return false;
    task->state |= READY_BEGUN;
    if (task->followers & 1)
        __builtin_prefetch(&ready->links[(task->followers >> 1) - 1]);
    else
        __builtin_prefetch(&ready->tasks[task->followers >> 1], 1);
    return task->state & READY_UNMET;
}

static inline uint32_t ready_release(struct ready_task *task)
{
    task->state--;
    return !(task->state & (READY_UNMET | READY_BEGUN));
}

uint32_t ready_release_links(struct ready *ready, uint32_t first);

/* It ended: how many tasks that did not begin wait for nothing any more. */
static inline uint32_t ready_end(struct ready *ready, uint64_t id)
{
    struct ready_task *task = ready_task(ready, id);
    uint32_t followers = task->followers;
    if (!task->state)
        return 0;
    task->state |= READY_ENDED;
    task->followers = 0;
    if (followers & 1)
        return ready_release_links(ready, followers >> 1);
    return followers ? ready_release(&ready->tasks[followers >> 1]) : 0;
}

#endif
