/* trace/native_ready.c - see native_ready.h. */
#include "trace/native_ready.h"
#include "core/text.h"
#include "profiler/protocol.h"

#include <stdlib.h>
#include <string.h>

static bool edge_take(void *state, uint32_t from, uint32_t to)
{
    struct ready *ready = state;
    if (ready->tasks[from].ended)
        return true;
    ready->tasks[to].unmet++;
    if (!ready->tasks[from].follower) {
        ready->tasks[from].follower = to + 1;
        return true;
    }
    uint32_t link = ready->free_link;
    if (link) {
        ready->free_link = ready->links[link - 1].next;
    } else {
        if (ready->link_count >= TIMELINE_NONE - 1 || !array_reserve(&ready->links, &ready->link_capacity, ready->link_count + 1, sizeof *ready->links))
            return false;
        link = (uint32_t)++ready->link_count;
    }
    ready->links[link - 1] = (struct ready_link){to, ready->tasks[from].first};
    ready->tasks[from].first = link;
    return true;
}

bool ready_init(struct ready *ready, size_t thread_count, uint64_t ids_most)
{
    *ready = (struct ready){.numbers = calloc(thread_count + 1, sizeof *ready->numbers), .thread_count = thread_count, .ids_most = ids_most, .cells = {.edge = edge_take}};
    ready->cells.state = ready;
    return ready->numbers != NULL;
}

void ready_done(struct ready *ready)
{
    for (size_t i = 0; ready->numbers && i < ready->thread_count; i++)
        free(ready->numbers[i].list);
    cells_done(&ready->cells);
    free(ready->numbers);
    free(ready->tasks);
    free(ready->links);
}

static struct ready_task *task_of(const struct ready *ready, uint64_t id)
{
    uint64_t thread = id >> TRACE_ID_THREAD_SHIFT, count = id & (((uint64_t)1 << TRACE_ID_THREAD_SHIFT) - 1);
    if (thread >= ready->thread_count || count >= ready->numbers[thread].count || !ready->numbers[thread].list[count])
        return NULL;
    return &ready->tasks[ready->numbers[thread].list[count] - 1];
}

/* New if it declared none before. */
static bool number_of(struct ready *ready, uint64_t id, uint32_t *ret_number)
{
    uint64_t thread = id >> TRACE_ID_THREAD_SHIFT, count = id & (((uint64_t)1 << TRACE_ID_THREAD_SHIFT) - 1);
    if (!id || thread >= ready->thread_count || count > ready->ids_most)
        return false;
    struct ready_numbers *numbers = &ready->numbers[thread];
    if (count >= numbers->count) {
        if (!array_reserve(&numbers->list, &numbers->capacity, count + 1, sizeof *numbers->list))
            return false;
        memset(numbers->list + numbers->count, 0, (numbers->capacity - numbers->count) * sizeof *numbers->list);
        numbers->count = numbers->capacity;
    }
    if (!numbers->list[count]) {
        if (ready->task_count >= TIMELINE_NONE - 1 || !array_reserve(&ready->tasks, &ready->task_capacity, ready->task_count + 1, sizeof *ready->tasks))
            return false;
        ready->tasks[ready->task_count] = (struct ready_task){0};
        numbers->list[count] = (uint32_t)++ready->task_count;
    }
    *ret_number = numbers->list[count] - 1;
    return true;
}

bool ready_declare(struct ready *ready, uint64_t id, const struct dependence *dependence, uint32_t scope, bool *ret_blocked)
{
    uint32_t number;
    if (!number_of(ready, id, &number))
        return false;
    bool was_ready = ready->tasks[number].unmet == 0;
    if (!cells_take(&ready->cells, dependence, scope, number))
        return false;
    *ret_blocked = was_ready && ready->tasks[number].unmet > 0;
    return true;
}

bool ready_begin(struct ready *ready, uint64_t id)
{
    struct ready_task *task = task_of(ready, id);
    if (!task)
        return false;
    task->begun = true;
    if (task->follower)
        __builtin_prefetch(&ready->tasks[task->follower - 1], 1);     /* the runtime follows chains: each step is a wait for memory else */
    return task->unmet > 0;
}

static uint32_t follower_release(struct ready_task *task)
{
    return --task->unmet == 0 && !task->begun;
}

uint32_t ready_end(struct ready *ready, uint64_t id)
{
    struct ready_task *task = task_of(ready, id);
    uint32_t released = 0;
    if (!task)
        return 0;
    task->ended = true;
    if (task->follower)
        released = follower_release(&ready->tasks[task->follower - 1]);
    for (uint32_t link = task->first, next; link; link = next) {
        struct ready_link *one = &ready->links[link - 1];
        next = one->next;
        released += follower_release(&ready->tasks[one->task]);
        one->next = ready->free_link;
        ready->free_link = link;
    }
    task->first = 0;
    return released;
}
