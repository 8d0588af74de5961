/* trace/chrome_model.c - events in Chrome's format become spans of the model. */
#include "core/text.h"
#include "trace/chrome.h"

#include <stdlib.h>
#include <string.h>

struct known_thread { int64_t pid, tid; uint32_t process, thread; };
struct known_name { const char *text; struct span_name name; };

struct reading {
    struct timeline *timeline;
    struct known_thread thread;  /* of the event before */
    struct known_name *names;    /* [string]: what it stands for; text is the string */
    size_t name_capacity, name_count;
    struct span *open;           /* B without its E, a stack of all threads */
    size_t open_count, open_capacity;
    uint32_t place_string;       /* of the event before */
    char place_text[128];
    uint32_t place_length;
    struct chrome_reader reader;
};

static bool thread_of(struct reading *reading, const struct chrome_event *event, uint32_t *ret_thread)
{
    int64_t pid = event->pid_number == CHROME_NONE ? 0 : event->pid_number, tid = event->tid_number == CHROME_NONE ? 0 : event->tid_number;
    struct known_thread *known = &reading->thread;
    if (known->pid != pid || known->tid != tid || known->thread == TIMELINE_NONE) {
        if (!timeline_process(reading->timeline, pid, &known->process) || !timeline_thread(reading->timeline, known->process, tid, &known->thread))
            return false;
        known->pid = pid;
        known->tid = tid;
    }
    *ret_thread = known->thread;
    return true;
}

/* What a name stands for is found out once. */
static bool name_of(struct reading *reading, struct chrome_text text, uint32_t *ret_string, struct span_name *ret_name)
{
    if (text.length > 5 && memcmp(text.data, "Task ", 5) == 0) {
        *ret_name = span_name_read(text.data, text.length);
        *ret_string = 0;
        if (ret_name->kind == SPAN_TASK)
            return true;
    }
    uint32_t string;
    if (!timeline_string(reading->timeline, text.data, text.length, &string))
        return false;
    if (string >= reading->name_count) {
        if (!array_reserve(&reading->names, &reading->name_capacity, string + 1u, sizeof *reading->names))
            return false;
        memset(reading->names + reading->name_count, 0, (string + 1 - reading->name_count) * sizeof *reading->names);
        reading->name_count = string + 1u;
    }
    struct known_name *known = &reading->names[string];
    if (!known->text) {
        known->text = reading->timeline->strings[string];
        known->name = span_name_read(text.data, text.length);
    }
    *ret_name = known->name;
    *ret_string = string;
    return true;
}

static bool place_of(struct reading *reading, struct chrome_text text, uint32_t *ret_place)
{
    if (!text.length) {
        *ret_place = 0;
        return true;
    }
    if (text.length == reading->place_length && memcmp(text.data, reading->place_text, text.length) == 0) {
        *ret_place = reading->place_string;
        return true;
    }
    if (!timeline_string(reading->timeline, text.data, text.length, ret_place))
        return false;
    if (text.length <= sizeof reading->place_text) {
        memcpy(reading->place_text, text.data, text.length);
        reading->place_length = text.length;
        reading->place_string = *ret_place;
    }
    return true;
}

static bool metadata_take(struct reading *reading, const struct chrome_event *event)
{
    struct timeline *timeline = reading->timeline;
    uint32_t thread, string;
    if (!thread_of(reading, event, &thread) || !timeline_string(timeline, event->thread_name.data, event->thread_name.length, &string))
        return false;
    if (event->name.length == 12 && memcmp(event->name.data, "process_name", 12) == 0)
        timeline->processes[reading->thread.process].name = string;
    else if (event->name.length == 11 && memcmp(event->name.data, "thread_name", 11) == 0)
        timeline->threads[thread].name = string;
    return true;
}

static uint32_t small(int64_t number)
{
    return number >= 0 && number < TIMELINE_NONE ? (uint32_t)number : TIMELINE_NONE;
}

static uint16_t rank(int64_t number)
{
    return number >= 0 && number < UINT16_MAX ? (uint16_t)number : UINT16_MAX;
}

static bool span_end(struct reading *reading, const struct chrome_event *event, uint32_t thread)
{
    for (size_t i = reading->open_count; i-- > 0;) {
        if (reading->open[i].thread != thread)
            continue;
        struct span span = reading->open[i];
        memmove(&reading->open[i], &reading->open[i + 1], (--reading->open_count - i) * sizeof span);
        if (event->ts_ns < span.begin_ns) {
            reading->timeline->broken++;
            return true;
        }
        span.end_ns = event->ts_ns;
        return timeline_span(reading->timeline, &span);
    }
    reading->timeline->broken++;
    return true;
}

static bool event_take(struct reading *reading, const struct chrome_event *event)
{
    struct timeline *timeline = reading->timeline;
    struct span_name name;
    struct span span = {0};
    if (event->phase == 'M')
        return metadata_take(reading, event);
    if (event->phase != 'X' && event->phase != 'B' && event->phase != 'E') {
        timeline->ignored++;
        return true;
    }
    if (event->ts_ns == CHROME_NONE || (event->phase == 'X' && event->dur_ns == CHROME_NONE)) {
        timeline->broken++;
        return true;
    }
    if (!thread_of(reading, event, &span.thread))
        return false;
    if (event->phase == 'E')
        return span_end(reading, event, span.thread);
    if (!name_of(reading, event->name, &span.name, &name) || !place_of(reading, event->place, &span.place))
        return false;
    if (event->variable.length && !timeline_string(timeline, event->variable.data, event->variable.length, &span.variable))
        return false;
    span.begin_ns = event->ts_ns;
    span.end_ns = event->ts_ns + (event->phase == 'X' ? event->dur_ns : 0);
    span.kind = (uint8_t)name.kind;
    span.part = (uint8_t)name.part;
    span.nowait = name.nowait;
    span.task = name.task != TIMELINE_NONE ? name.task : small(event->task);
    span.tag = small(event->tag);
    span.origin = rank(event->origin);
    span.destination = rank(event->destination);
    if (event->phase == 'X')
        return timeline_span(timeline, &span);
    if (!array_reserve(&reading->open, &reading->open_capacity, reading->open_count + 1, sizeof span))
        return false;
    reading->open[reading->open_count++] = span;
    return true;
}

/* Processes that a file gives no name are called after it. */
static bool processes_name(struct timeline *timeline, size_t first, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    for (size_t i = first; i < timeline->process_count; i++)
        if (!timeline->processes[i].name && timeline->process_count == first + 1 &&
            !timeline_string(timeline, name, strlen(name), &timeline->processes[i].name))
            return false;
    return true;
}

enum pcere_status chrome_read(const char *path, struct timeline *timeline, struct pcere_error *error)
{
    struct reading reading = {.timeline = timeline, .thread.thread = TIMELINE_NONE};
    uint32_t nothing;
    size_t processes = timeline->process_count;
    if (!timeline_string(timeline, "", 0, &nothing))
        return pcere_fail_memory(error, "the trace");
    enum pcere_status status = chrome_open(path, &reading.reader, error);
    if (status != PCERE_OK)
        return status;
    bool more = true, memory = true;
    struct chrome_event event;
    while (memory && (status = chrome_next(&reading.reader, &event, &more, error)) == PCERE_OK && more)
        memory = event_take(&reading, &event);
    for (size_t i = 0; i < reading.open_count && memory; i++) {
        timeline->unfinished++;
        reading.open[i].end_ns = timeline->end_ns > reading.open[i].begin_ns ? timeline->end_ns : reading.open[i].begin_ns;
        memory = timeline_span(timeline, &reading.open[i]);
    }
    if (!memory || !processes_name(timeline, processes, path))
        status = pcere_fail_memory(error, "the trace");
    if (status == PCERE_DATA && reading.reader.events) {
        timeline->cut = true;
        status = PCERE_OK;
    }
    timeline->cut |= reading.reader.cut;
    if (status == PCERE_OK && !reading.reader.events)
        status = pcere_fail(error, PCERE_DATA, 0, NULL, "'%.300s' has no event", path);
    chrome_close(&reading.reader);
    free(reading.names);
    free(reading.open);
    return status;
}
