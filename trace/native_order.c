/* trace/native_order.c - see native_order.h. */
#include "trace/native_order.h"

#include <stdlib.h>
#include <string.h>

void native_waits_cut(struct timeline *timeline, size_t first)
{
    size_t kept = first;
    for (size_t i = first; i < timeline->span_count; i++) {
        struct span span = timeline->spans[i];
        if (span.kind == SPAN_BARRIER && span.tag < timeline->team_count && timeline->teams[span.tag].ended && span.end_ns > timeline->teams[span.tag].end_ns)
            span.end_ns = timeline->teams[span.tag].end_ns;
        if (span.end_ns >= span.begin_ns)
            timeline->spans[kept++] = span;
    }
    timeline->span_count = kept;
}

struct made { int64_t created_ns; uint64_t id; uint32_t task; };

static int by_creation(const void *a, const void *b)
{
    const struct made *left = a, *right = b;
    if (left->created_ns != right->created_ns)
        return left->created_ns < right->created_ns ? -1 : 1;
    return left->id < right->id ? -1 : left->id > right->id;
}

bool native_tasks_order(struct timeline *timeline, size_t first, struct native_starts starts)
{
    size_t count = timeline->task_count - first;
    struct made *made = malloc((count + 1) * sizeof *made);
    struct timeline_task *tasks = malloc((count + 1) * sizeof *tasks);
    uint32_t *place = malloc((count + 1) * sizeof *place);
    bool memory = made && tasks && place;
    for (size_t i = 0; memory && i < count; i++) {
        made[i] = (struct made){timeline->tasks[first + i].created_ns, timeline->tasks[first + i].id, (uint32_t)i};
        timeline->unfinished += !(timeline->tasks[first + i].flags & (TASK_ENDED | TASK_WAITS));
    }
    if (memory)
        qsort(made, count, sizeof *made, by_creation);
    for (size_t i = 0; memory && i < count; i++) {
        tasks[i] = timeline->tasks[first + made[i].task];
        place[made[i].task] = (uint32_t)(first + i);
    }
    if (memory && count)
        memcpy(timeline->tasks + first, tasks, count * sizeof *tasks);
    for (size_t i = starts.step; memory && i < timeline->step_count; i++)
        if (timeline->steps[i].kind == STEP_CREATE)
            timeline->steps[i].number = place[timeline->steps[i].number - first];
    for (size_t i = starts.actor; memory && i < timeline->actor_count; i++)
        if (timeline->actors[i].task)
            timeline->actors[i].task = place[timeline->actors[i].task - 1 - first] + 1;
    for (size_t i = starts.span; memory && i < timeline->span_count; i++)
        if (timeline->spans[i].task != TIMELINE_NONE && timeline->spans[i].task >= first)
            timeline->spans[i].task = place[timeline->spans[i].task - first];
    free(made);
    free(tasks);
    free(place);
    return memory;
}
