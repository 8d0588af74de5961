/* trace/ranks.c - see ranks.h. */
#include "trace/ranks.h"
#include "core/text.h"

#include <stdlib.h>
#include <string.h>

/* One end of a message. Its key is the same on both sides; numbers count those of one key in a process. */
struct end { uint64_t key; uint32_t number, process, span; bool out; };

struct meeting { uint32_t from, to, from_span, to_span; bool message; };     /* clocks; what leaves `from` at its begin has come to `to` at its end */

struct matching { struct meeting *list; size_t count, capacity; };

void ranks_done(struct ranks *ranks)
{
    free(ranks->clocks);
    free(ranks->pairs);
    *ranks = (struct ranks){0};
}

static bool is_collective(const struct span *span)
{
    return span->message == MESSAGE_ALL || span->message == MESSAGE_FROM_ROOT || span->message == MESSAGE_TO_ROOT;
}

static uint32_t clock_of(const struct timeline *timeline, const struct ranks *ranks, const struct span *span)
{
    uint32_t process = timeline->threads[span->thread].process;
    for (uint32_t i = 0; i < ranks->clock_count; i++)
        if (ranks->clocks[i].process == process)
            return i;
    return TIMELINE_NONE;
}

static int by_process(const void *a, const void *b)
{
    const struct end *left = a, *right = b;
    if (left->process != right->process)
        return left->process < right->process ? -1 : 1;
    if (left->out != right->out)
        return left->out ? -1 : 1;
    if (left->key != right->key)
        return left->key < right->key ? -1 : 1;
    return left->number < right->number ? -1 : left->number > right->number;
}

static int by_key(const void *a, const void *b)
{
    const struct end *left = a, *right = b;
    if (left->key != right->key)
        return left->key < right->key ? -1 : 1;
    if (left->number != right->number)
        return left->number < right->number ? -1 : 1;
    if (left->out != right->out)
        return left->out ? -1 : 1;
    return left->process < right->process ? -1 : left->process > right->process;
}

static bool meeting_add(struct matching *matching, const struct end *from, const struct end *to, bool message)
{
    if (!array_reserve(&matching->list, &matching->capacity, matching->count + 1, sizeof *matching->list))
        return false;
    matching->list[matching->count++] = (struct meeting){from->process, to->process, from->span, to->span, message};
    return true;
}

struct begun { int64_t at_ns; uint32_t span; };      /* when it was sent, or had come */

static int by_time(const void *a, const void *b)
{
    const struct begun *left = a, *right = b;
    if (left->at_ns != right->at_ns)
        return left->at_ns < right->at_ns ? -1 : 1;
    return left->span < right->span ? -1 : left->span > right->span;
}

static bool has_come(const struct span *span)
{
    return span->message == MESSAGE_RECEIVE || span->message == MESSAGE_COME;
}

/* All messages' ends, in the order of time; of collective operations one of all of a key. */
static struct end *ends_make(const struct timeline *timeline, const struct ranks *ranks, size_t *ret_count, bool *ret_memory)
{
    size_t count = 0, used = 0;
    for (size_t i = 0; i < timeline->span_count; i++)
        count += timeline->spans[i].kind == SPAN_MESSAGE;
    struct begun *begun = malloc((count + 1) * sizeof *begun);
    struct end *ends = malloc((count + 1) * sizeof *ends);
    *ret_memory = begun && ends;
    count = 0;
    for (uint32_t i = 0; *ret_memory && i < timeline->span_count; i++)
        if (timeline->spans[i].kind == SPAN_MESSAGE)
            begun[count++] = (struct begun){has_come(&timeline->spans[i]) ? timeline->spans[i].end_ns : timeline->spans[i].begin_ns, i};
    if (*ret_memory)
        qsort(begun, count, sizeof *begun, by_time);
    for (size_t i = 0; *ret_memory && i < count; i++) {
        const struct span *span = &timeline->spans[begun[i].span];
        uint32_t clock = clock_of(timeline, ranks, span);
        bool all = is_collective(span), one = (span->message == MESSAGE_SEND || has_come(span)) && span->origin != UINT16_MAX && span->destination != UINT16_MAX;
        if (clock == TIMELINE_NONE || (!all && !one))
            continue;
        uint64_t key = all ? UINT64_MAX : (uint64_t)span->origin << 48 | (uint64_t)span->destination << 32 | span->tag;
        ends[used] = (struct end){key, (uint32_t)used, clock, begun[i].span, span->message == MESSAGE_SEND};
        used++;
    }
    free(begun);
    *ret_count = used;
    return ends;
}

static bool collective_meet(struct matching *matching, const struct timeline *timeline, const struct ranks *ranks, const struct end *ends, size_t count)
{
    const struct span *first = &timeline->spans[ends[0].span];
    uint32_t root = first->message == MESSAGE_FROM_ROOT ? first->origin : first->message == MESSAGE_TO_ROOT ? first->destination : UINT16_MAX;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < count; k++) {
            bool leaves = first->message != MESSAGE_FROM_ROOT || ranks->clocks[ends[i].process].rank == root;
            bool comes = first->message != MESSAGE_TO_ROOT || ranks->clocks[ends[k].process].rank == root;
            bool compared = first->message != MESSAGE_ALL || ends[i].process == 0 || ends[k].process == 0;       /* with the reference is enough */
            if (i != k && leaves && comes && compared && timeline->spans[ends[i].span].message == timeline->spans[ends[k].span].message && !meeting_add(matching, &ends[i], &ends[k], false))
                return false;
        }
    return true;
}

static bool rank_known(const struct ranks *ranks, uint32_t rank)
{
    for (size_t i = 0; i < ranks->clock_count; i++)
        if (ranks->clocks[i].rank == rank)
            return true;
    return false;
}

/* When k messages of one key have come, the k-th that was sent had been sent: true in whatever order they come, and if some were not seen. */
static bool meetings_find(const struct timeline *timeline, struct ranks *ranks, struct matching *matching)
{
    size_t count;
    bool memory;
    struct end *ends = ends_make(timeline, ranks, &count, &memory);
    if (memory)
        qsort(ends, count, sizeof *ends, by_process);
    for (size_t i = 0, number = 0; memory && i < count; i++) {
        bool same = i && ends[i].process == ends[i - 1].process && ends[i].out == ends[i - 1].out && ends[i].key == ends[i - 1].key;
        number = same ? number + 1 : 0;
        ends[i].number = (uint32_t)number;
    }
    if (memory)
        qsort(ends, count, sizeof *ends, by_key);
    for (size_t i = 0, next; memory && i < count; i = next) {
        for (next = i + 1; next < count && ends[next].key == ends[i].key && ends[next].number == ends[i].number; next++)
            ;
        if (ends[i].key == UINT64_MAX)
            memory = collective_meet(matching, timeline, ranks, &ends[i], next - i);
        else if (next - i == 2 && ends[i].out && !ends[i + 1].out)
            memory = meeting_add(matching, &ends[i], &ends[i + 1], true);
        else
            ranks->lonely += rank_known(ranks, (uint32_t)(ends[i].key >> 48)) && rank_known(ranks, ends[i].key >> 32 & UINT16_MAX);
    }
    free(ends);
    return memory;
}

/* ---- clocks ------------------------------------------------------------------------------------------------------------------- */

/* Bounds of one rank's clock by those that are known. */
static void bounds_find(const struct timeline *timeline, const struct ranks *ranks, const struct matching *matching, uint32_t clock, struct clock_bounds *bounds, uint64_t *ret_error_ns)
{
    *bounds = (struct clock_bounds){.first_ns = timeline->begin_ns, .last_ns = timeline->end_ns};
    *ret_error_ns = 0;
    for (size_t i = 0; i < matching->count; i++) {
        const struct meeting *meeting = &matching->list[i];
        bool comes = meeting->to == clock;
        const struct rank_clock *other = &ranks->clocks[comes ? meeting->from : meeting->to];
        if ((!comes && meeting->from != clock) || !other->known || meeting->from == meeting->to)
            continue;
        int64_t sent_ns = timeline->spans[meeting->from_span].begin_ns, come_ns = timeline->spans[meeting->to_span].end_ns;
        *ret_error_ns = other->error_ns > *ret_error_ns ? other->error_ns : *ret_error_ns;
        if (comes)
            clock_at_least(bounds, come_ns, clock_apply(&other->line, sent_ns) - come_ns);
        else
            clock_at_most(bounds, sent_ns, clock_apply(&other->line, come_ns) - sent_ns);
    }
}

static int64_t first_event(const struct timeline *timeline, uint32_t process)
{
    int64_t first_ns = INT64_MAX;
    for (size_t i = 0; i < timeline->span_count; i++)
        if (timeline->threads[timeline->spans[i].thread].process == process && timeline->spans[i].begin_ns < first_ns)
            first_ns = timeline->spans[i].begin_ns;
    return first_ns == INT64_MAX ? 0 : first_ns;
}

/* The one with the most messages to those that are known comes next. */
static void clocks_find(const struct timeline *timeline, struct ranks *ranks, const struct matching *matching, bool minima, struct clock_bounds *bounds)
{
    int64_t first_ns = first_event(timeline, ranks->clocks[0].process);
    ranks->clocks[0].reference = ranks->clocks[0].known = true;
    for (size_t round = 1; round < ranks->clock_count; round++) {
        uint32_t best = TIMELINE_NONE;
        uint64_t most = 0, error_ns;
        for (uint32_t i = 0; i < ranks->clock_count; i++) {
            if (ranks->clocks[i].known)
                continue;
            bounds_find(timeline, ranks, matching, i, bounds, &error_ns);
            if (best == TIMELINE_NONE || bounds->messages > most) {
                best = i;
                most = bounds->messages;
            }
        }
        struct rank_clock *clock = &ranks->clocks[best];
        bounds_find(timeline, ranks, matching, best, bounds, &error_ns);
        clock->known = true;
        clock->messages = bounds->messages;
        clock->line = (struct clock_line){.basis = CLOCK_DAY};
        if (minima)
            clock->line = (struct clock_line){.basis = CLOCK_MINIMA, .offset_ns = first_ns - first_event(timeline, clock->process)};
        else if (bounds->messages && clock_fit(bounds, &clock->line, NULL) == PCERE_OK)
            clock->error_ns = clock->line.error_ns + error_ns;
    }
}

static void moved(int64_t *at_ns, const struct clock_line *line) { *at_ns = clock_apply(line, *at_ns); }

static void everything_move(struct timeline *timeline, const struct ranks *ranks)
{
    const struct clock_line **lines = calloc(timeline->process_count + 1, sizeof *lines);
    if (!lines)
        return;
    for (size_t i = 0; i < ranks->clock_count; i++)
        for (size_t k = 0; k < timeline->process_count; k++)
            if (timeline->processes[k].home == ranks->clocks[i].process && !ranks->clocks[i].reference)
                lines[k] = &ranks->clocks[i].line;
    for (size_t i = 0; i < timeline->span_count; i++) {
        const struct clock_line *line = lines[timeline->threads[timeline->spans[i].thread].process];
        if (!line)
            continue;
        moved(&timeline->spans[i].begin_ns, line);
        moved(&timeline->spans[i].end_ns, line);
    }
    for (size_t i = 0; i < timeline->task_count; i++) {
        struct timeline_task *task = &timeline->tasks[i];
        const struct clock_line *line = task->thread != TIMELINE_NONE ? lines[timeline->threads[task->thread].process] : NULL;
        if (!line)
            continue;
        moved(&task->created_ns, line);
        moved(&task->begin_ns, line);
        moved(&task->end_ns, line);
    }
    for (size_t i = 0; i < timeline->span_count; i++) {
        timeline->begin_ns = i && timeline->begin_ns < timeline->spans[i].begin_ns ? timeline->begin_ns : timeline->spans[i].begin_ns;
        timeline->end_ns = i && timeline->end_ns > timeline->spans[i].end_ns ? timeline->end_ns : timeline->spans[i].end_ns;
    }
    free(lines);
}

static int by_rank(const void *a, const void *b)
{
    const struct rank_clock *left = a, *right = b;
    return left->rank < right->rank ? -1 : left->rank > right->rank;
}

static enum pcere_status ranks_check(const struct timeline *timeline, const struct ranks *ranks, struct pcere_error *error)
{
    uint32_t size = timeline->processes[ranks->clocks[0].process].ranks;
    for (size_t i = 1; i < ranks->clock_count; i++) {
        const struct rank_clock *clock = &ranks->clocks[i];
        if (timeline->processes[clock->process].ranks != size)
            return pcere_fail(error, PCERE_DATA, 0, "name traces of one run", "rank %u is of a program of %u ranks, rank %u of one of %u", ranks->clocks[0].rank, size, clock->rank,
                              timeline->processes[clock->process].ranks);
        if (clock->rank == clock[-1].rank)
            return pcere_fail(error, PCERE_DATA, 0, "name one trace of each rank, all of one run", "two traces are of rank %u", clock->rank);
    }
    return PCERE_OK;
}

enum pcere_status ranks_synchronise(struct timeline *timeline, bool minima, struct ranks *ret_ranks, struct pcere_error *error)
{
    struct ranks ranks = {.clocks = calloc(timeline->process_count + 1, sizeof *ranks.clocks)};
    struct matching matching = {0};
    struct clock_bounds *bounds = calloc(1, sizeof *bounds);
    bool memory = ranks.clocks && bounds;
    enum pcere_status status = PCERE_OK;
    for (uint32_t i = 0; memory && i < timeline->process_count; i++)
        if (timeline->processes[i].ranks && timeline->processes[i].home == i)
            ranks.clocks[ranks.clock_count++] = (struct rank_clock){.process = i, .rank = timeline->processes[i].rank};
    if (memory && ranks.clock_count < 2)
        ranks.clock_count = 0;
    if (memory && ranks.clock_count) {
        qsort(ranks.clocks, ranks.clock_count, sizeof *ranks.clocks, by_rank);
        status = ranks_check(timeline, &ranks, error);
        memory = status != PCERE_OK || meetings_find(timeline, &ranks, &matching);
    }
    if (memory && ranks.clock_count && status == PCERE_OK) {
        clocks_find(timeline, &ranks, &matching, minima, bounds);
        everything_move(timeline, &ranks);
        memory = (ranks.pairs = malloc((matching.count + 1) * sizeof *ranks.pairs)) != NULL;
    }
    for (size_t i = 0; memory && status == PCERE_OK && i < matching.count; i++)
        if (matching.list[i].message)
            ranks.pairs[ranks.pair_count++] = (struct rank_pair){matching.list[i].from_span, matching.list[i].to_span};
    free(matching.list);
    free(bounds);
    if (!memory)
        status = pcere_fail_memory(error, "the ranks' clocks");
    if (status == PCERE_OK)
        *ret_ranks = ranks;
    else
        ranks_done(&ranks);
    return status;
}
