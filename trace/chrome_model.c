/* trace/chrome_model.c - events in Chrome's format become spans of the model.
 *
 * A large file is read in parts by several threads, each from what looks like the begin of an event to where the next part begins. A part counts if the one before it, read from the file's begin on, came to an end exactly
 * there; else what is left is read by one.
 */
#include "core/text.h"
#include "trace/chrome.h"

#include <pthread.h>
#include <sched.h>
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
    struct span *ends;           /* E without its B, in a part that is not the first: thread, and time as its end */
    size_t ends_count, ends_capacity;
    bool keep_ends;
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

static bool span_end(struct reading *reading, uint32_t thread, int64_t end_ns)
{
    for (size_t i = reading->open_count; i-- > 0;) {
        if (reading->open[i].thread != thread)
            continue;
        struct span span = reading->open[i];
        memmove(&reading->open[i], &reading->open[i + 1], (--reading->open_count - i) * sizeof span);
        if (end_ns < span.begin_ns) {
            reading->timeline->broken++;
            return true;
        }
        span.end_ns = end_ns;
        return timeline_span(reading->timeline, &span);
    }
    if (!reading->keep_ends) {
        reading->timeline->broken++;
        return true;
    }
    if (!array_reserve(&reading->ends, &reading->ends_capacity, reading->ends_count + 1, sizeof *reading->ends))
        return false;
    reading->ends[reading->ends_count++] = (struct span){.thread = thread, .end_ns = end_ns};
    return true;
}

static bool span_open(struct reading *reading, const struct span *span)
{
    if (!array_reserve(&reading->open, &reading->open_capacity, reading->open_count + 1, sizeof *span))
        return false;
    reading->open[reading->open_count++] = *span;
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
        return span_end(reading, span.thread, event->ts_ns);
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
    if (name.kind == SPAN_TASK)
        span.continued = event->continued && span.task != TIMELINE_NONE;
    span.tag = small(event->tag);
    span.origin = rank(event->origin);
    span.destination = rank(event->destination);
    return event->phase == 'X' ? timeline_span(timeline, &span) : span_open(reading, &span);
}

/* Processes that a file gives no name are called after it. */
static bool processes_name(struct timeline *timeline, size_t first, const char *path)
{
    const char *name = base_name(path);
    for (size_t i = first; i < timeline->process_count; i++)
        if (!timeline->processes[i].name && timeline->process_count == first + 1 &&
            !timeline_string(timeline, name, strlen(name), &timeline->processes[i].name))
            return false;
    return true;
}

/* ---- in parts ----------------------------------------------------------------------------------------------------------------- */

enum { PARTS_MOST = 8, PART_BYTES = 16 << 20 };

struct part {
    struct reading reading;
    struct timeline own;         /* of parts but the first */
    uint64_t first;              /* where it begins in the file */
    pthread_t thread;
    bool threaded, memory;
    enum pcere_status status;
    struct pcere_error error;
    uint32_t *strings, *threads; /* of its own timeline, in the whole */
    struct span *place;          /* of its spans in the whole */
};

/* Read what the part's reader has. */
static void *part_read(void *raw)
{
    struct part *part = raw;
    struct chrome_event event;
    bool more = true;
    part->memory = true;
    while (part->memory && (part->status = chrome_next(&part->reading.reader, &event, &more, &part->error)) == PCERE_OK && more)
        part->memory = event_take(&part->reading, &event);
    return NULL;
}

static void part_start(struct part *part)
{
    part->threaded = pthread_create(&part->thread, NULL, part_read, part) == 0;
    if (!part->threaded)
        part_read(part);
}

static void part_wait(struct part *part)
{
    if (part->threaded)
        pthread_join(part->thread, NULL);
    part->threaded = false;
}

static void part_done(struct part *part)
{
    chrome_close(&part->reading.reader);
    timeline_done(&part->own);
    free(part->reading.names);
    free(part->reading.open);
    free(part->reading.ends);
    free(part->strings);
    free(part->threads);
}

/* What the part's numbers are in the whole. */
static bool part_map(struct part *part, struct timeline *timeline)
{
    const struct timeline *own = &part->own;
    part->strings = calloc(own->string_count + 1, sizeof *part->strings);
    part->threads = calloc(own->thread_count + 1, sizeof *part->threads);
    if (!part->strings || !part->threads)
        return false;
    for (size_t i = 1; i < own->string_count; i++)
        if (!timeline_string(timeline, own->strings[i], strlen(own->strings[i]), &part->strings[i]))
            return false;
    for (size_t i = 0; i < own->process_count; i++) {
        uint32_t process;
        if (!timeline_process(timeline, own->processes[i].pid, &process))
            return false;
        if (own->processes[i].name)
            timeline->processes[process].name = part->strings[own->processes[i].name];
    }
    for (size_t i = 0; i < own->thread_count; i++) {
        uint32_t process;
        if (!timeline_process(timeline, own->processes[own->threads[i].process].pid, &process) || !timeline_thread(timeline, process, own->threads[i].tid, &part->threads[i]))
            return false;
        if (own->threads[i].name)
            timeline->threads[part->threads[i]].name = part->strings[own->threads[i].name];
    }
    return true;
}

static void span_map(const struct part *part, struct span *span)
{
    span->thread = part->threads[span->thread];
    span->name = part->strings[span->name];
    span->place = part->strings[span->place];
    span->variable = part->strings[span->variable];
}

static void *part_copy(void *raw)
{
    struct part *part = raw;
    for (size_t i = 0; i < part->own.span_count; i++) {
        part->place[i] = part->own.spans[i];
        span_map(part, &part->place[i]);
    }
    return NULL;
}

/* Spans that begin in one part and end in another, and what parts count. */
static bool part_join(struct part *part, struct reading *whole)
{
    struct timeline *timeline = whole->timeline;
    const struct timeline *own = &part->own;
    bool memory = true;
    for (size_t i = 0; i < part->reading.ends_count && memory; i++)
        memory = span_end(whole, part->threads[part->reading.ends[i].thread], part->reading.ends[i].end_ns);
    for (size_t i = 0; i < part->reading.open_count && memory; i++) {
        struct span span = part->reading.open[i];
        span_map(part, &span);
        memory = span_open(whole, &span);
    }
    timeline->ignored += own->ignored;
    timeline->broken += own->broken;
    timeline->unwanted += own->unwanted;
    if (own->has_bounds && (!timeline->has_bounds || own->begin_ns < timeline->begin_ns))
        timeline->begin_ns = own->begin_ns;
    if (own->has_bounds && (!timeline->has_bounds || own->end_ns > timeline->end_ns))
        timeline->end_ns = own->end_ns;
    timeline->has_bounds |= own->has_bounds;
    return memory;
}

static bool parts_join(struct part *parts, size_t count)
{
    struct timeline *timeline = parts->reading.timeline;
    size_t spans = timeline->span_count;
    bool memory = true;
    for (size_t i = 1; i < count && memory; i++) {
        memory = part_map(&parts[i], timeline);
        spans += parts[i].own.span_count;
    }
    if (!memory || !array_reserve(&timeline->spans, &timeline->span_capacity, spans + 1, sizeof *timeline->spans))
        return false;
    for (size_t i = 1; i < count; i++) {
        parts[i].place = timeline->spans + timeline->span_count;
        timeline->span_count += parts[i].own.span_count;
        parts[i].threaded = pthread_create(&parts[i].thread, NULL, part_copy, &parts[i]) == 0;
        if (!parts[i].threaded)
            part_copy(&parts[i]);
    }
    for (size_t i = 1; i < count; i++)
        part_wait(&parts[i]);
    for (size_t i = 1; i < count && memory; i++)
        memory = part_join(&parts[i], &parts->reading);
    return memory;
}

static size_t parts_wanted(const struct chrome_reader *whole, uint64_t part_bytes)
{
    cpu_set_t set;
    size_t most = part_bytes ? PARTS_MOST : sched_getaffinity(0, sizeof set, &set) == 0 ? (size_t)CPU_COUNT(&set) : 1;
    size_t count = (size_t)(whole->file_bytes / (part_bytes ? part_bytes : PART_BYTES));
    most = most < PARTS_MOST ? most : PARTS_MOST;
    return count < 1 ? 1 : count < most ? count : most;
}

/* Parts 1 to the last are opened, where they can be; the number of all. */
static size_t parts_open(struct part *parts, uint64_t part_bytes)
{
    struct chrome_reader *whole = &parts->reading.reader;
    size_t wanted = parts_wanted(whole, part_bytes), count = 1;
    for (size_t i = 1; i < wanted; i++) {
        struct part *part = &parts[count];
        uint64_t first = chrome_event_guess(whole, whole->file_bytes / wanted * i);
        if (first <= parts[count - 1].first || chrome_open_at(whole, first, &part->reading.reader, &part->error) != PCERE_OK)
            continue;
        part->first = first;
        const struct timeline *timeline = parts->reading.timeline;
        part->own = (struct timeline){.wanted = timeline->wanted, .apart = timeline->apart, .least_ns = timeline->least_ns, .has_window = timeline->has_window,
                                      .window_begin_ns = timeline->window_begin_ns, .window_end_ns = timeline->window_end_ns};
        part->reading.timeline = &part->own;
        part->reading.thread.thread = TIMELINE_NONE;
        part->reading.keep_ends = true;
        parts[count++ - 1].reading.reader.until = first;
    }
    return count;
}

/* What a file says first of its processes' names, each part that keeps not all spans must know while it reads. */
static bool names_spread(const char *path, struct part *parts, size_t count)
{
    enum { EVENTS_FIRST = 10000 };
    struct chrome_reader reader;
    struct chrome_event event;
    struct pcere_error error;
    bool more = true, memory = true;
    if ((!parts->reading.timeline->least_ns && !parts->reading.timeline->has_window) || chrome_open(path, &reader, &error) != PCERE_OK)
        return true;
    for (int i = 0; i < EVENTS_FIRST && memory && chrome_next(&reader, &event, &more, &error) == PCERE_OK && more; i++)
        for (size_t k = 0; k < count && memory && event.phase == 'M'; k++)
            memory = metadata_take(&parts[k].reading, &event);
    for (size_t k = 0; k < count; k++)
        timeline_roles_name(parts[k].reading.timeline);
    chrome_close(&reader);
    return memory;
}

/* How many parts are what one reader would have read. */
static size_t parts_check(struct part *parts, size_t count)
{
    size_t good = 1;
    while (good < count && parts[good - 1].status == PCERE_OK && parts[good - 1].reading.reader.next == parts[good].first)
        good++;
    return good;
}

enum pcere_status chrome_read(const char *path, uint64_t part_bytes, struct timeline *timeline, struct pcere_error *error)
{
    struct part *parts = calloc(PARTS_MOST, sizeof *parts);
    uint32_t nothing;
    size_t processes = timeline->process_count;
    if (!parts || !timeline_string(timeline, "", 0, &nothing)) {
        free(parts);
        return pcere_fail_memory(error, "the trace");
    }
    struct reading *reading = &parts->reading;
    reading->timeline = timeline;
    reading->thread.thread = TIMELINE_NONE;
    enum pcere_status status = chrome_open(path, &reading->reader, error);
    if (status != PCERE_OK) {
        free(parts);
        return status;
    }
    size_t count = parts_open(parts, part_bytes);
    bool memory = true;
    for (size_t i = 1; i < count; i++)
        memory &= timeline_string(&parts[i].own, "", 0, &nothing);
    memory = memory && names_spread(path, parts, count);
    for (size_t i = 1; i < count; i++)
        part_start(&parts[i]);
    part_read(parts);
    for (size_t i = 1; i < count; i++)
        part_wait(&parts[i]);
    size_t good = parts_check(parts, count);
    struct part *last = &parts[good - 1];
    uint64_t events = 0;
    for (size_t i = 0; i < good; i++) {
        memory &= parts[i].memory;
        events += parts[i].reading.reader.events;
    }
    memory = memory && (good == 1 || parts_join(parts, good));
    if (memory && good < count && last->status == PCERE_OK && last->reading.reader.next) {      /* what looked like an event was none */
        struct chrome_reader rest;
        status = chrome_open_at(&last->reading.reader, last->reading.reader.next, &rest, error);
        if (status == PCERE_OK) {
            chrome_close(&reading->reader);
            reading->reader = rest;
            part_read(parts);
            events += reading->reader.events;
            memory = parts->memory;
            last = parts;
        }
    }
    for (size_t i = 0; i < reading->open_count && memory; i++) {
        timeline->unfinished++;
        reading->open[i].end_ns = timeline->end_ns > reading->open[i].begin_ns ? timeline->end_ns : reading->open[i].begin_ns;
        memory = timeline_span(timeline, &reading->open[i]);
    }
    if (status == PCERE_OK && (!memory || !processes_name(timeline, processes, path)))
        status = pcere_fail_memory(error, "the trace");
    if (status == PCERE_OK && last->status != PCERE_OK) {
        status = events && last->status == PCERE_DATA ? PCERE_OK : last->status;
        timeline->cut |= last->status == PCERE_DATA;
        *error = last->error;
    }
    timeline->cut |= last->reading.reader.cut;
    if (status == PCERE_OK && !events)
        status = pcere_fail(error, PCERE_DATA, 0, NULL, "'%.300s' has no event", path);
    for (size_t i = 0; i < count; i++)
        part_done(&parts[i]);
    free(parts);
    return status;
}
