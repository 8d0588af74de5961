/* trace/native.c - see native.h. */
#include "trace/native.h"
#include "trace/native_reading.h"
#include "core/text.h"
#include "profiler/host/trace_part.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static bool names_make(struct reading *reading)
{
    const struct trace_file *file = reading->file;
    for (size_t i = 1; i < file->construct_count; i++) {
        const struct trace_construct *construct = &file->constructs[i];
        char text[512];
        if (construct->file && construct->line && construct->function)
            snprintf(text, sizeof text, "%.200s@%.200s:%u:%u", construct->function, construct->file, construct->line, construct->column);
        else
            snprintf(text, sizeof text, "%.400s", construct->place ? construct->place : "");
        if (!timeline_string(reading->timeline, text, strlen(text), &reading->places[i]))
            return false;
    }
    return true;
}

static void walk_start(struct reading *reading, struct walk *walk, uint32_t thread)
{
    *walk = (struct walk){.thread = thread, .pending_team = reading->no_team, .outside.shared = &reading->outside};
    trace_cursor_start(&walk->cursor, reading->file, thread);
    walk->more = trace_cursor_next(&walk->cursor, &walk->item);
}

/* A task is made before it begins, on whatever thread: records are taken in the order of time, a thread's own as long as no other has an earlier one. */
static bool threads_walk(struct reading *reading, int64_t end_ns)
{
    size_t count = reading->file->thread_count;
    struct walk *walks = calloc(count + 1, sizeof *walks);
    if (!walks)
        return false;
    for (uint32_t i = 0; i < count; i++)
        walk_start(reading, &walks[i], i);
    for (;;) {
        struct walk *first = NULL;
        uint64_t next_ticks = UINT64_MAX;
        for (size_t i = 0; i < count; i++) {
            if (!walks[i].more)
                continue;
            if (!first || walks[i].item.ticks < first->item.ticks) {
                next_ticks = first ? first->item.ticks : next_ticks;
                first = &walks[i];
            } else if (walks[i].item.ticks < next_ticks) {
                next_ticks = walks[i].item.ticks;
            }
        }
        if (!first || !reading->memory)
            break;
        reading->walk = first;
        do {
            reading_item(reading, &first->item);
            reading->records++;
            first->more = trace_cursor_next(&first->cursor, &first->item);
        } while (reading->memory && first->more && first->item.ticks <= next_ticks);
    }
    for (size_t i = 0; i < count && reading->memory; i++) {
        reading->walk = &walks[i];
        reading_finish(reading, end_ns);
    }
    free(walks);
    reading->walk = NULL;
    return true;
}

/* Processes of several machines, or containers, may have one number: the later one gets another. */
static int64_t pid_free(const struct timeline *timeline, int64_t pid)
{
    for (size_t i = 0; i < timeline->process_count; i++)
        if (timeline->processes[i].pid == pid)
            return pid_free(timeline, pid + (1 << 24));
    return pid;
}

__attribute__((format(printf, 2, 0))) static bool name_number(struct timeline *timeline, const char *form, size_t number, uint32_t *ret_string)
{
    char text[48];
    snprintf(text, sizeof text, form, number);
    return timeline_string(timeline, text, strlen(text), ret_string);
}

/* A hash of the executable's build id; 0: it has none. */
static uint64_t build_of(const struct trace_file *file)
{
    for (size_t i = 1; i < file->module_count; i++)
        if (file->modules[i].path && !file->modules[i].path[0] && file->modules[i].build_id && file->modules[i].build_id[0])
            return XXH64(file->modules[i].build_id, strlen(file->modules[i].build_id), 0) | 1;
    return 0;
}

static bool everything_read(struct reading *reading, const char *path)
{
    struct timeline *timeline = reading->timeline;
    const struct trace_file *file = reading->file;
    uint32_t thread;
    const char *name = base_name(path);
    if (!timeline_string(timeline, "", 0, &thread) || !timeline_process(timeline, pid_free(timeline, file->header->pid), &reading->process) ||
        !timeline_string(timeline, name, strlen(name), &timeline->processes[reading->process].name) || !names_make(reading))
        return false;
    timeline->processes[reading->process].role = reading->process + 1;
    timeline->processes[reading->process].build = build_of(file);
    if (!timeline->realtime_ns)
        timeline->realtime_ns = file->header->start.realtime_ns;
    reading->shift_ns = (int64_t)(file->header->start.realtime_ns - timeline->realtime_ns);
    reading->first_thread = (uint32_t)timeline->thread_count;
    reading->outside.process = reading->process;
    for (size_t i = 0; i < file->thread_count; i++) {
        if (!timeline_thread(timeline, reading->process, (int64_t)i, &thread) || !name_number(timeline, "Thread %zu", i, &timeline->threads[thread].name))
            return false;
    }
    if (!array_reserve(&timeline->teams, &timeline->team_capacity, timeline->team_count + 1, sizeof *timeline->teams))
        return false;
    reading->no_team = (uint32_t)timeline->team_count;
    timeline->teams[timeline->team_count++] = (struct timeline_team){0};
    bool known = file->header->ended || file->until_ticks != UINT64_MAX, ended = file->header->ended && file->until_ticks == UINT64_MAX;
    int64_t end_ns = known ? (int64_t)trace_ns(file, ended ? file->header->end.ticks : file->until_ticks) + reading->shift_ns : INT64_MIN;
    reading->end_ns = known ? end_ns : INT64_MAX;
    if (!threads_walk(reading, end_ns))
        return false;
    for (size_t i = 0; i < file->thread_count; i++)
        if (reading->helps[i] == HELP_RUNTIME) {
            timeline->threads[reading->first_thread + i].device = true;
            if (!name_number(timeline, "Runtime's helper %zu", i, &timeline->threads[reading->first_thread + i].name))
                return false;
        }
    if (reading->outside.devices)
        timeline->processes[reading->process].role = 0;
    for (size_t i = reading->first_span; i < timeline->span_count; i++)
        end_ns = timeline->spans[i].end_ns > end_ns ? timeline->spans[i].end_ns : end_ns;
    if (ended && file->thread_count && end_ns > reading->shift_ns)
        reading_span(reading, reading->first_thread, SPAN_RUNTIME, reading->shift_ns, end_ns, 0);
    for (size_t i = reading->first_task; i < timeline->task_count && !file->part; i++)
        timeline->unfinished += !(timeline->tasks[i].flags & (TASK_ENDED | TASK_WAITS));
    if (reading->sparing)
        timeline->task_count = reading->first_task;
    return reading->memory && reading->ids.memory;
}

static void cut_tell(const struct reading *reading, const char *path)
{
    struct timeline *timeline = reading->timeline;
    const struct trace_file *file = reading->file;
    size_t unnamed = 0, silent = 0;
    for (size_t i = 1; i < file->construct_count; i++)
        unnamed += !file->constructs[i].kind;
    for (size_t i = 0; i < file->thread_count; i++)
        silent += !file->threads[i].block_count;
    timeline->cut = true;
    if (timeline->cut_text[0])
        return;
    snprintf(timeline->cut_text, sizeof timeline->cut_text,
             "'%.80s' %s; %llu records that are whole were used, %s; %llu blocks are missing or damaged, %zu of %zu threads have no records, %zu of %zu constructs no name", base_name(path),
             file->cut_why, (unsigned long long)reading->records, file->until_ticks == UINT64_MAX ? "to the end" : "up to the first gap", (unsigned long long)file->lost_blocks, silent,
             file->thread_count, unnamed, file->construct_count - 1);
}

enum pcere_status native_read(const char *path, struct timeline *timeline, struct pcere_error *error)
{
    struct reading reading = {.timeline = timeline, .memory = true, .first_task = (uint32_t)timeline->task_count, .first_span = timeline->span_count,
                              .sparing = timeline->least_ns && !timeline->want_steps};
    enum pcere_status status = timeline->has_window ? trace_part_open(path, (uint64_t)timeline->window_begin_ns, (uint64_t)timeline->window_end_ns, &reading.file, error)
                                                    : trace_file_salvage(path, &reading.file, error);
    if (status != PCERE_OK)
        return status;
    timeline->has_window = timeline->has_window && reading.file->part;      /* else times of the window are not known beforehand to be those of the run */
    for (size_t i = 0; i < timeline->task_count; i++)
        reading.scopes = timeline->tasks[i].scope >= reading.scopes ? timeline->tasks[i].scope + 1 : reading.scopes;
    if (!reading.file->header->tool_started)
        status = pcere_fail(error, PCERE_NO, 0, "an OpenMP program links with libomp (clang -fopenmp)", "'%.300s' has no OpenMP in it", path);
    reading.helps = calloc(reading.file->thread_count + 1, sizeof *reading.helps);
    bool ids = ids_init(&reading.ids, reading.file->thread_count, reading.file->slots, reading.sparing);
    reading.held = reading.sparing ? calloc(reading.file->thread_count + 1, sizeof *reading.held) : NULL;
    reading.places = calloc(reading.file->construct_count + 1, sizeof *reading.places);
    if (status == PCERE_OK && (!ids || (reading.sparing && !reading.held) || !reading.helps || !reading.places || !everything_read(&reading, path)))
        status = pcere_fail_memory(error, "the trace");
    if (status == PCERE_OK && reading.file->cut_why)
        cut_tell(&reading, path);
    ids_done(&reading.ids);
    free(reading.held);
    free(reading.helps);
    outside_done(&reading.outside);
    free(reading.places);
    trace_file_close(reading.file);
    return status;
}
