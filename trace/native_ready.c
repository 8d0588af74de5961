/* trace/native_ready.c - see native_ready.h. */
#include "trace/native_ready.h"
#include "core/text.h"
#include "profiler/protocol.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Of links + 1; 0: no memory. */
static uint32_t link_take(struct ready *ready, struct ready_link one)
{
    uint32_t link = ready->free_link;
    if (link) {
        ready->free_link = ready->links[link - 1].next;
    } else {
        if (ready->link_count >= TIMELINE_NONE / 2 || !array_reserve(&ready->links, &ready->link_capacity, ready->link_count + 1, sizeof *ready->links))
            return 0;
        link = (uint32_t)++ready->link_count;
    }
    ready->links[link - 1] = one;
    return link;
}

static bool edge_take(void *state, uint32_t from, uint32_t to)
{
    struct ready *ready = state;
    struct ready_task *task = &ready->tasks[from];
    if (task->state & READY_ENDED)
        return true;
    uint32_t others = 0;
    if (task->followers && !(others = task->followers & 1 ? task->followers >> 1 : link_take(ready, (struct ready_link){task->followers >> 1, 0})))
        return false;
    uint32_t followers = others ? link_take(ready, (struct ready_link){to, others}) << 1 | 1 : to << 1;
    if (followers == 1 || (ready->tasks[to].state & READY_UNMET) == READY_UNMET)
        return false;
    task->followers = followers;
    ready->tasks[to].state++;
    return true;
}

bool ready_init(struct ready *ready, const struct trace_file *file)
{
    *ready = (struct ready){.first = calloc(file->thread_count + 1, sizeof *ready->first), .thread_count = file->thread_count, .cells = {.edge = edge_take}};
    ready->cells.state = ready;
    if (!ready->first)
        return false;
    for (size_t i = 0; i < file->thread_count; i++) {
        ready->first[i + 1] = ready->first[i];
        for (size_t k = 0; k < file->threads[i].block_count; k++)
            ready->first[i + 1] += file->threads[i].blocks[k]->used;
    }
    ready->tasks_bytes = (file->slots + 1) * sizeof *ready->tasks;
    void *tasks = mmap(NULL, ready->tasks_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (tasks == MAP_FAILED)
        return false;
    madvise(tasks, ready->tasks_bytes, MADV_HUGEPAGE);
    ready->tasks = tasks;
    return true;
}

void ready_done(struct ready *ready)
{
    if (ready->tasks)
        munmap(ready->tasks, ready->tasks_bytes);
    cells_done(&ready->cells);
    free(ready->first);
    free(ready->links);
}

uint32_t ready_release_links(struct ready *ready, uint32_t first)
{
    uint32_t released = 0;
    for (uint32_t link = first, next; link; link = next) {
        struct ready_link *one = &ready->links[link - 1];
        next = one->next;
        released += ready_release(&ready->tasks[one->task]);
        one->next = ready->free_link;
        ready->free_link = link;
    }
    return released;
}
