/* trace/native_ready.h - while records are read: which tasks wait for others, by the dependences that they declared.
 *
 * Tasks are known by their ids; those without dependences are not kept. Nothing is kept of what has ended but its number.
 */
#ifndef PCERE_TRACE_NATIVE_READY_H
#define PCERE_TRACE_NATIVE_READY_H

#include "trace/dependence_cells.h"

struct ready_task { uint32_t unmet, follower, first; bool begun, ended; };       /* follower: a task that waits for it, + 1; first: of links + 1, more of them */
struct ready_link { uint32_t task, next; };
struct ready_numbers { uint32_t *list; size_t count, capacity; };        /* [count in the id]: of tasks + 1; 0: none */

struct ready {
    struct cells cells;
    struct ready_task *tasks;
    size_t task_count, task_capacity;
    struct ready_link *links;
    size_t link_count, link_capacity;
    uint32_t free_link;          /* + 1; 0: none */
    struct ready_numbers *numbers;       /* [thread in the id] */
    size_t thread_count;
    uint64_t ids_most;           /* counts of ids are not above this */
};

bool ready_init(struct ready *ready, size_t thread_count, uint64_t ids_most);    /* false: no memory */
void ready_done(struct ready *ready);    /* accepts zeroed */
/* The task, made last by its maker, declared a dependence. *ret_blocked: it was ready until now, and waits for others. False: no memory, or an id that cannot be. */
bool ready_declare(struct ready *ready, uint64_t id, const struct dependence *dependence, uint32_t scope, bool *ret_blocked);
/* It begins; true if it still waits for others as its records have it. */
bool ready_begin(struct ready *ready, uint64_t id);
/* It ended: how many tasks that did not begin wait for nothing any more. */
uint32_t ready_end(struct ready *ready, uint64_t id);

#endif
