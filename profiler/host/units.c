/* profiler/host/units.c - the walk over all threads' records, in an order that respects what causes what.
 *
 * Streams are merged by time; one that continues a task whose creation was not met yet waits for it, so that clocks that differ
 * do no harm.
 */
#include "profiler/host/units_walk.h"

#include <stdlib.h>

/* Has everything been met that this record builds on? */
static bool item_ready(const struct walk *walk, const struct stream *stream)
{
    const struct trace_item *item = &stream->item;
    if (item->type == TRACE_TASK_SWITCH && item->value) {
        const struct context *next = walk_context_find(walk, item->value);
        return next && (!next->running || next == stream->now || next->kind != CONTEXT_TASK);
    }
    if (item->type == TRACE_IMPLICIT_BEGIN && stream->team_id)
        return walk_team_find(walk, stream->team_id) != NULL;
    return true;
}

static void stream_next(struct stream *stream)
{
    stream->has = trace_cursor_next(&stream->cursor, &stream->item);
}

/* The earliest stream that is ready, and when the next earliest is due. With `force` one that is not ready, since nothing else is left. */
static struct stream *stream_pick(struct walk *walk, uint64_t *ret_until, bool force)
{
    struct stream *first = NULL;
    uint64_t until = UINT64_MAX;
    for (size_t i = 0; i < walk->file->thread_count; i++) {
        struct stream *stream = &walk->streams[i];
        if (!stream->has || (!force && !item_ready(walk, stream)))
            continue;
        if (!first || stream->item.ticks < first->item.ticks) {
            until = first && first->item.ticks < until ? first->item.ticks : until;
            first = stream;
        } else if (stream->item.ticks < until) {
            until = stream->item.ticks;
        }
    }
    *ret_until = until;
    return first;
}

static void walk_run(struct walk *walk)
{
    for (;;) {
        uint64_t until;
        struct stream *stream = stream_pick(walk, &until, false);
        if (!stream) {
            stream = stream_pick(walk, &until, true);
            if (!stream)
                return;
            walk->units->mismatches++;
            walk_apply(walk, stream, &stream->item);
            stream_next(stream);
            continue;
        }
        do {
            /* Others may wait for what this one makes: look at them again after it. */
            bool makes = stream->item.type == TRACE_TASK_CREATE || stream->item.type == TRACE_PARALLEL_BEGIN || stream->item.type == TRACE_TASK_SWITCH;
            walk_apply(walk, stream, &stream->item);
            stream_next(stream);
            if (walk->status != PCERE_OK)
                return;
            if (makes && walk->file->thread_count > 1)
                break;
        } while (stream->has && stream->item.ticks <= until && item_ready(walk, stream));
    }
}

static enum pcere_status units_prepare(struct walk *walk)
{
    const struct trace_file *file = walk->file;
    struct units *units = walk->units;
    units->labels.file = file;
    units->labels.given = walk->options.marked;
    walk->on = !walk->options.marked;
    units->event_count = file->header->event_count;
    units->thread_count = file->thread_count;
    units->outside = calloc(file->thread_count + 1, sizeof *units->outside);
    walk->streams = calloc(file->thread_count + 1, sizeof *walk->streams);
    if (!units->outside || !walk->streams)
        return pcere_fail_memory(walk->error, "the profile");
    for (size_t i = 0; i < file->thread_count; i++) {
        units->outside[i].counts = calloc(2 * units->event_count + 1, sizeof(uint64_t));
        if (!units->outside[i].counts)
            return pcere_fail_memory(walk->error, "the profile");
        units->outside[i].total_counts = units->outside[i].counts + units->event_count;
        walk->streams[i].unit = LABEL_NONE;
        walk->streams[i].cpu = UINT32_MAX;
        trace_cursor_start(&walk->streams[i].cursor, file, i);
        stream_next(&walk->streams[i]);
    }
    return PCERE_OK;
}

static void streams_done(struct walk *walk)
{
    for (size_t i = 0; walk->streams && i < walk->file->thread_count; i++) {
        struct stream *stream = &walk->streams[i];
        walk->units->torn += stream->cursor.torn;
        for (size_t j = 0; j < stream->context_count; j++) {
            const struct context *context = stream->contexts[j];
            for (size_t k = 0; context && k < context->frame_count; k++)
                walk->units->unfinished += context->frames[k].unit != LABEL_NONE;
            walk_context_free(stream->contexts[j]);
        }
        free(stream->contexts);
        free(stream->teams);
    }
    free(walk->streams);
}

/* Leave out what turned out to be no XU, and count labels that are there twice. */
static enum pcere_status units_finish(struct units *units, struct pcere_error *error)
{
    uint8_t *labelled = calloc(units->labels.count + 1, 1);
    if (!labelled)
        return pcere_fail_memory(error, "the profile");
    size_t kept = 0;
    for (size_t i = 0; i < units->count; i++) {
        uint32_t node = units->list[i].node;
        if (node == LABEL_NONE)
            continue;
        units->duplicates += labelled[node];
        labelled[node] = 1;
        if (kept != i) {
            units->list[kept] = units->list[i];
            for (size_t event = 0; event < units->event_count; event++)
                units->counts[kept * units->event_count + event] = units->counts[i * units->event_count + event];
        }
        kept++;
    }
    units->count = kept;
    free(labelled);
    return PCERE_OK;
}

enum pcere_status units_collect(const struct trace_file *file, const struct units_options *options, struct units *ret_units, struct pcere_error *error)
{
    struct units units = {0};
    struct walk walk = {.file = file, .options = *options, .units = &units, .error = error, .status = PCERE_OK};
    walk.status = units_prepare(&walk);
    if (walk.status == PCERE_OK)
        walk_run(&walk);
    streams_done(&walk);
    if (walk.status == PCERE_OK)
        walk.status = units_finish(&units, error);
    if (walk.status != PCERE_OK) {
        units_done(&units);
        return walk.status;
    }
    *ret_units = units;
    return PCERE_OK;
}

void units_done(struct units *units)
{
    for (size_t i = 0; units->outside && i < units->thread_count; i++)
        free(units->outside[i].counts);
    free(units->outside);
    free(units->list);
    free(units->counts);
    label_table_done(&units->labels);
    *units = (struct units){0};
}
