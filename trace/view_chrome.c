/* trace/view_chrome.c - a view as Chrome's JSON. */
#include "trace/view.h"

#include <stdlib.h>
#include <string.h>

struct chrome_state { const struct view *view; struct view_output *output; bool any; };

/* Colours that Chrome's viewer knows by name: a source location always has the same. */
static const char *const colours[] = {"thread_state_running", "thread_state_iowait", "rail_response", "rail_animation", "rail_idle", "rail_load", "cq_build_running", "cq_build_passed",
                                      "cq_build_failed", "startup", "good", "bad", "terrible", "yellow", "olive", "vsync_highlight_color"};

static char *text_put(char *at, const char *text)
{
    size_t length = strlen(text);
    memcpy(at, text, length);
    return at + length;
}

static char *number_put(char *at, uint64_t number)
{
    char digits[20];
    int count = 0;
    do
        digits[count++] = (char)('0' + number % 10);
    while (number /= 10);
    while (count)
        *at++ = digits[--count];
    return at;
}

/* ns as µs with three places. */
static char *time_put(char *at, int64_t ns)
{
    if (ns < 0)
        *at++ = '-';
    uint64_t size = ns < 0 ? (uint64_t)-ns : (uint64_t)ns;
    at = number_put(at, size / 1000);
    *at++ = '.';
    *at++ = (char)('0' + size / 100 % 10);
    *at++ = (char)('0' + size / 10 % 10);
    *at++ = (char)('0' + size % 10);
    return at;
}

/* Strings of the model that came from JSON have its escapes already; others may hold what ends a string. */
static char *quoted_put(char *at, const char *text)
{
    *at++ = '"';
    for (size_t left = 4000; *text && left; text++, left--) {
        unsigned char byte = (unsigned char)*text;
        if (byte == '\\' && text[1] && strchr("\"\\/bfnrtu", text[1]) && left > 1) {
            *at++ = *text++;
            *at++ = *text;
        } else if (byte == '"' || byte == '\\') {
            *at++ = '\\';
            *at++ = (char)byte;
        } else if (byte < 0x20) {
            *at++ = ' ';
        } else {
            *at++ = (char)byte;
        }
    }
    *at++ = '"';
    return at;
}

static char *begin_put(struct chrome_state *state, const char *phase, uint32_t thread)
{
    const struct timeline *timeline = view_timeline(state->view);
    char *at = view_room(state->output);
    at = text_put(at, state->any ? ",\n{\"ph\":\"" : "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n{\"ph\":\"");
    state->any = true;
    at = text_put(at, phase);
    at = text_put(at, "\",\"pid\":");
    at = number_put(at, timeline->threads[thread].process);
    at = text_put(at, ",\"tid\":");
    return number_put(at, thread);
}

static void piece_end(struct chrome_state *state, const char *at)
{
    state->output->used = (size_t)(at - state->output->buffer);
}

static void metadata_put(struct chrome_state *state, uint32_t thread, const char *what, const char *name)
{
    char *at = begin_put(state, "M", thread);
    at = text_put(at, ",\"name\":\"");
    at = text_put(at, what);
    at = text_put(at, "\",\"args\":{\"name\":");
    at = quoted_put(at, name);
    piece_end(state, text_put(at, "}}"));
}

static void chrome_thread(void *raw, uint32_t thread)
{
    struct chrome_state *state = raw;
    const struct timeline *timeline = view_timeline(state->view);
    const struct timeline_process *process = &timeline->processes[timeline->threads[thread].process];
    if (process->name)
        metadata_put(state, thread, "process_name", timeline->strings[process->name]);
    if (timeline->threads[thread].name)
        metadata_put(state, thread, "thread_name", timeline->strings[timeline->threads[thread].name]);
}

static char *argument_put(char *at, bool *any, const char *key, uint64_t value)
{
    at = text_put(at, *any ? ",\"" : ",\"args\":{\"");
    *any = true;
    at = text_put(at, key);
    at = text_put(at, "\":");
    return number_put(at, value);
}

static char *arguments_put(struct chrome_state *state, char *at, const struct view_slice *slice)
{
    const struct timeline *timeline = view_timeline(state->view);
    const struct span *span = slice->span;
    bool any = false;
    if (!span)
        return at;
    if (span->task != TIMELINE_NONE)
        at = argument_put(at, &any, "task_id", span->task);
    if (span->kind == SPAN_TASK && span->part == SPAN_WHOLE && span->continued)
        at = argument_put(at, &any, "continued", 1);
    if (span->tag != TIMELINE_NONE && span_is_data((enum span_kind)span->kind))
        at = argument_put(at, &any, "mpi_tag", span->tag);
    if (span->origin != UINT16_MAX)
        at = argument_put(at, &any, "origin", span->origin);
    if (span->destination != UINT16_MAX) {
        at = argument_put(at, &any, "destination", span->destination);
        at = argument_put(at, &any, "location", timeline->processes[timeline->threads[span->thread].process].role);
    }
    if (span->place) {
        at = text_put(at, any ? ",\"source_location\":" : ",\"args\":{\"source_location\":");
        at = quoted_put(at, timeline->strings[span->place]);
        any = true;
    }
    return any ? text_put(at, "}") : at;
}

static void arrow_put(struct chrome_state *state, const struct view_slice *slice, uint64_t number, bool leaves)
{
    const struct view_arrow *arrow = view_arrow(state->view, number);
    char worker[32];
    snprintf(worker, sizeof worker, "Worker Process %u", arrow->worker);
    const char *name = arrow->kind == ARROW_COMMUNICATION ? "Communication" : arrow->kind == ARROW_TASKS ? "Tasks" : arrow->kind == ARROW_MESSAGE ? "Messages" : worker;
    char *at = begin_put(state, leaves ? "s" : "f", slice->thread);
    at = text_put(at, ",\"ts\":");
    /* An arrow belongs to the slice that lies around its point: a moment before a slice's end is in it. */
    at = time_put(at, leaves && slice->end_ns > slice->begin_ns ? slice->end_ns - 1 : slice->begin_ns);
    at = text_put(at, ",\"id\":");
    at = number_put(at, number);
    at = text_put(at, leaves ? ",\"cat\":\"" : ",\"bp\":\"e\",\"cat\":\"");
    at = text_put(at, name);
    at = text_put(at, "\",\"name\":\"");
    at = text_put(at, name);
    piece_end(state, text_put(at, "\"}"));
}

static void slice_put(struct chrome_state *state, const struct view_slice *slice, const char *name, bool arguments)
{
    char *at = begin_put(state, "X", slice->thread);
    at = text_put(at, ",\"ts\":");
    at = time_put(at, slice->begin_ns);
    at = text_put(at, ",\"dur\":");
    at = time_put(at, slice->end_ns - slice->begin_ns);
    at = text_put(at, ",\"name\":");
    at = quoted_put(at, name);
    if (view_is_user(state->view) && slice->span && slice->span->kind == SPAN_TASK && slice->span->place) {
        at = text_put(at, ",\"cname\":\"");
        at = text_put(at, colours[slice->span->place % (sizeof colours / sizeof *colours)]);
        *at++ = '"';
    }
    if (arguments)
        at = arguments_put(state, at, slice);
    *at++ = '}';
    piece_end(state, at);
}

static void chrome_slice(void *raw, const struct view_slice *slice)
{
    struct chrome_state *state = raw;
    const struct timeline *timeline = view_timeline(state->view);
    if (view_is_user(state->view) && slice->span && slice->span->variable)
        slice_put(state, slice, timeline->strings[slice->span->variable], true);
    slice_put(state, slice, slice->name, true);
    for (size_t i = 0; i < slice->leaves_count; i++)
        arrow_put(state, slice, slice->leaves[i], true);
    for (size_t i = 0; i < slice->reaches_count; i++)
        arrow_put(state, slice, slice->reaches[i], false);
}

static void chrome_end(void *raw)
{
    struct chrome_state *state = raw;
    char *at = view_room(state->output);
    piece_end(state, text_put(at, state->any ? "\n]}\n" : "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n]}\n"));
    free(state);
}

struct view_sink view_chrome_sink(const struct view *view, struct view_output *output)
{
    struct chrome_state *state = malloc(sizeof *state);
    if (state)
        *state = (struct chrome_state){.view = view, .output = output};
    return (struct view_sink){state, chrome_thread, chrome_slice, chrome_end};
}
