/* trace/metrics.c - see metrics.h. */
#include "trace/metrics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct metric_description metric_descriptions[METRICS] = {
    [METRIC_WORKER_PROCESSES] = {"Worker Process", "", ""},
    [METRIC_THREADS] = {"Threads", "", ""},
    [METRIC_TASKS] = {"Number of tasks", "", ""},
    [METRIC_TOTAL_TIME] = {"Total time", "ns", ""},
    [METRIC_PARALLEL_TIME] = {"Parallel Time", "ns", ""},
    [METRIC_COMPUTATION_TIME] = {"Computation Time", "%", ""},
    [METRIC_COMPUTATION_BALANCE] = {"Computation Load Balance Efficiency", "ratio", "4.1"},
    [METRIC_COMPUTATION_EFFICIENCY] = {"Computation Efficiency", "ratio", "4.2"},
    [METRIC_COMPUTATION_PARALLEL] = {"Computation Parallel Efficiency", "ratio", "4.1 x 4.2"},
    [METRIC_COMMUNICATION_BALANCE] = {"Communication Load Balance Efficiency", "ratio", "4.1"},
    [METRIC_COMMUNICATION_EFFICIENCY] = {"Communication Efficiency", "ratio", "4.2"},
    [METRIC_COMMUNICATION_PARALLEL] = {"Communication Parallel Efficiency", "ratio", "4.1 x 4.2"},
    [METRIC_PROCESS_BALANCE] = {"Process Load Balance Efficiency", "ratio", "4.1"},
    [METRIC_PROCESS_COMMUNICATION] = {"Process Communication Efficiency", "ratio", "4.2"},
    [METRIC_PROCESS_EFFICIENCY] = {"Process Efficiency", "ratio", "4.1 x 4.2"},
    [METRIC_SERIAL] = {"Serial Region Efficiency", "ratio", ""},
};

/* ---- time in which something goes on ------------------------------------------------------------------------------------------ */

static uint64_t busy_span(const struct metrics_busy *busy)
{
    return busy->any ? (uint64_t)(busy->last_ns - busy->first_ns) : 0;
}

static bool is_computing(const struct span *span)
{
    return span->part == SPAN_WHOLE && (span->kind == SPAN_TASK || span->kind == SPAN_CHUNK);
}

static bool is_communicating(const struct span *span)
{
    return span->part == SPAN_WHOLE && (span->kind == SPAN_SUBMIT || span->kind == SPAN_RETRIEVE || span->kind == SPAN_FORWARD);
}

struct stream { int64_t begin_ns; size_t at, end; };     /* what is left of a thread's spans; the one at `at` computes, from begin_ns on */

static bool stream_next(const struct timeline *timeline, struct stream *stream)
{
    while (stream->at < stream->end && !is_computing(&timeline->spans[stream->at]))
        stream->at++;
    if (stream->at >= stream->end)
        return false;
    stream->begin_ns = timeline->spans[stream->at].begin_ns;
    return true;
}

static size_t streams_begin(const struct timeline *timeline, const bool *counts, struct stream *ret_streams)
{
    size_t count = 0;
    for (size_t first = 0, next; first < timeline->span_count; first = next) {
        uint32_t thread = timeline->spans[first].thread;
        for (next = first + 1; next < timeline->span_count && timeline->spans[next].thread == thread;)
            next++;
        ret_streams[count] = (struct stream){.at = first, .end = next};
        count += counts[timeline->threads[thread].process] && stream_next(timeline, &ret_streams[count]);
    }
    return count;
}

/* A heap by begin, but for streams[place], which may be later than those below it. */
static void stream_sink(struct stream *streams, size_t count, size_t place)
{
    struct stream sinking = streams[place];
    for (size_t below; (below = 2 * place + 1) < count; place = below) {
        below += below + 1 < count && streams[below + 1].begin_ns < streams[below].begin_ns;
        if (streams[below].begin_ns >= sinking.begin_ns)
            break;
        streams[place] = streams[below];
    }
    streams[place] = sinking;
}

/* All computing of processes that count, in the order of time. */
static struct metrics_busy streams_merge(const struct timeline *timeline, const bool *counts, struct stream *streams, struct metrics_busy *processes)
{
    struct metrics_busy all = {0};
    size_t count = streams_begin(timeline, counts, streams);
    for (size_t i = count / 2; i-- > 0;)
        stream_sink(streams, count, i);
    while (count) {
        const struct span *span = &timeline->spans[streams->at++];
        metrics_busy_add(&processes[timeline->threads[span->thread].process], span->begin_ns, span->end_ns);
        metrics_busy_add(&all, span->begin_ns, span->end_ns);
        if (!stream_next(timeline, streams))
            *streams = streams[--count];
        stream_sink(streams, count, 0);
    }
    return all;
}

/* ---- tasks that were suspended ------------------------------------------------------------------------------------------------ */

static bool is_numbered(const struct span *span)
{
    return span->kind == SPAN_TASK && span->part == SPAN_WHOLE && span->task != TIMELINE_NONE;
}

/* By process, task and time. */
static int by_task(const void *a, const void *b, void *raw)
{
    const struct timeline *timeline = raw;
    const struct span *left = &timeline->spans[*(const uint32_t *)a], *right = &timeline->spans[*(const uint32_t *)b];
    uint32_t left_process = timeline->threads[left->thread].process, right_process = timeline->threads[right->thread].process;
    if (left_process != right_process)
        return left_process < right_process ? -1 : 1;
    if (left->task != right->task)
        return left->task < right->task ? -1 : 1;
    return left->begin_ns < right->begin_ns ? -1 : left->begin_ns > right->begin_ns;
}

enum { ABSORBED = -1 };

/* Of a trace that names tasks by numbers alone: [span] the time of all pieces at a task's first one, ABSORBED at the others. *ret_times NULL: no task was suspended. False: no memory. */
static bool pieces_join(const struct timeline *timeline, int64_t **ret_times)
{
    size_t count = 0, continued = 0;
    *ret_times = NULL;
    for (size_t i = 0; i < timeline->span_count; i++)
        if (is_numbered(&timeline->spans[i])) {
            count++;
            continued += timeline->spans[i].continued;
        }
    if (!continued || timeline->task_count)
        return true;
    uint32_t *order = malloc(count * sizeof *order), lead = 0;
    int64_t *times = calloc(timeline->span_count, sizeof *times);
    if (!order || !times) {
        free(order);
        free(times);
        return false;
    }
    count = 0;
    for (size_t i = 0; i < timeline->span_count; i++)
        if (is_numbered(&timeline->spans[i]))
            order[count++] = (uint32_t)i;
    qsort_r(order, count, sizeof *order, by_task, (void *)(uintptr_t)timeline);
    for (size_t i = 0; i < count; i++) {
        const struct span *span = &timeline->spans[order[i]], *first = &timeline->spans[lead];
        bool goes_on = i && span->continued && span->task == first->task && timeline->threads[span->thread].process == timeline->threads[first->thread].process;
        lead = goes_on ? lead : order[i];
        times[order[i]] = goes_on ? ABSORBED : 0;
        times[lead] += span->end_ns - span->begin_ns;
    }
    free(order);
    *ret_times = times;
    return true;
}

/* ---- equations ---------------------------------------------------------------------------------------------------------------- */

struct three { double balance, efficiency; };

/* 4.1: avg(t) / max(t); 4.2: max(t / t_parallel). Over those that did anything. */
static struct three equations(const struct metrics_busy *list, size_t count)
{
    double sum = 0, most = 0, efficiency = 0;
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        if (!list[i].any)
            continue;
        double time = (double)list[i].busy_ns, parallel = (double)busy_span(&list[i]);
        used++;
        sum += time;
        most = fmax(most, time);
        if (parallel > 0)
            efficiency = fmax(efficiency, time / parallel);
    }
    if (!used || !(most > 0))
        return (struct three){NAN, NAN};
    return (struct three){sum / (double)used / most, efficiency};
}

static void three_put(double *values, enum metric balance, struct three three)
{
    values[balance] = three.balance;
    values[balance + 1] = three.efficiency;
    values[balance + 2] = three.balance * three.efficiency;
}

/* Workers are what computes; a run of one process computes in it. */
static void workers_find(const struct timeline *timeline, bool *ret_workers)
{
    bool any = false;
    for (size_t i = 0; i < timeline->span_count; i++) {
        const struct span *span = &timeline->spans[i];
        uint32_t process = timeline->threads[span->thread].process;
        if ((is_computing(span) || is_communicating(span)) && timeline->processes[process].role != 0)
            any = true;
    }
    for (size_t i = 0; i < timeline->process_count; i++)
        ret_workers[i] = !any || timeline->processes[i].role != 0;
}

static int64_t total_time(const struct timeline *timeline)
{
    int64_t begin_ns = INT64_MAX, end_ns = INT64_MIN;
    for (size_t i = 0; i < timeline->span_count; i++)
        if (timeline->spans[i].kind == SPAN_RUNTIME) {
            begin_ns = timeline->spans[i].begin_ns < begin_ns ? timeline->spans[i].begin_ns : begin_ns;
            end_ns = timeline->spans[i].end_ns > end_ns ? timeline->spans[i].end_ns : end_ns;
        }
    return end_ns > begin_ns ? end_ns - begin_ns : timeline->end_ns - timeline->begin_ns;
}

void metrics_make(const struct metrics_sums *sums, struct run_metrics *ret_metrics)
{
    double *values = ret_metrics->values;
    uint64_t parallel_ns = 0, computing_ns = 0;
    for (size_t i = 0; i < sums->thread_count; i++) {
        parallel_ns += busy_span(&sums->computing[i]);
        computing_ns += sums->computing[i].busy_ns;
    }
    values[METRIC_WORKER_PROCESSES] = (double)sums->workers;
    values[METRIC_THREADS] = (double)sums->thread_count;
    values[METRIC_TASKS] = (double)sums->tasks;
    values[METRIC_TOTAL_TIME] = (double)sums->total_ns;
    values[METRIC_PARALLEL_TIME] = (double)parallel_ns;
    values[METRIC_COMPUTATION_TIME] = parallel_ns ? 100 * (double)computing_ns / (double)parallel_ns : NAN;
    three_put(values, METRIC_COMPUTATION_BALANCE, equations(sums->computing, sums->thread_count));
    three_put(values, METRIC_COMMUNICATION_BALANCE, equations(sums->communicating, sums->thread_count));
    three_put(values, METRIC_PROCESS_BALANCE, equations(sums->processes, sums->process_count));
    values[METRIC_SERIAL] = sums->total_ns > 0 && sums->all.any ? fmax(0, 1 - (double)sums->all.busy_ns / (double)sums->total_ns) : NAN;
}

static void sums_fill(const struct timeline *timeline, const bool *workers, const int64_t *times, struct metrics_busy *computing, struct metrics_busy *communicating, struct metrics_busy *processes,
                      struct stream *streams, struct run_metrics *ret_metrics)
{
    uint64_t tasks = 0, own = 0, workers_count = 0;
    for (size_t i = 0; i < timeline->span_count; i++) {
        const struct span *span = &timeline->spans[i];
        if (!workers[timeline->threads[span->thread].process])
            continue;
        tasks += span->kind == SPAN_TASK && span->part == SPAN_WHOLE && !(times && times[i] == ABSORBED);
        if (is_computing(span))
            metrics_busy_add(&computing[span->thread], span->begin_ns, span->end_ns);
        else if (is_communicating(span))
            metrics_busy_add(&communicating[span->thread], span->begin_ns, span->end_ns);
    }
    for (size_t i = 0; i < timeline->task_count; i++)
        own += timeline_task_counts(&timeline->tasks[i]);
    for (size_t i = 0; i < timeline->process_count; i++)
        workers_count += workers[i] && (timeline->process_count == 1 || timeline->processes[i].role != 0);
    struct metrics_busy all = streams_merge(timeline, workers, streams, processes);
    struct metrics_sums sums = {.computing = computing, .communicating = communicating, .thread_count = timeline->thread_count, .processes = processes,
                                .process_count = timeline->process_count, .all = all, .workers = workers_count, .tasks = timeline->task_count ? own : tasks,
                                .total_ns = total_time(timeline)};
    metrics_make(&sums, ret_metrics);
}

enum pcere_status metrics_run(const struct timeline *timeline, struct run_metrics *ret_metrics, struct pcere_error *error)
{
    bool *workers = calloc(timeline->process_count + 1, sizeof *workers);
    struct metrics_busy *computing = calloc(timeline->thread_count + 1, sizeof *computing), *communicating = calloc(timeline->thread_count + 1, sizeof *communicating);
    struct metrics_busy *processes = calloc(timeline->process_count + 1, sizeof *processes);
    struct stream *streams = calloc(timeline->thread_count + 1, sizeof *streams);
    int64_t *times = NULL;
    bool memory = workers && computing && communicating && processes && streams && pieces_join(timeline, &times);
    if (memory) {
        workers_find(timeline, workers);
        sums_fill(timeline, workers, times, computing, communicating, processes, streams, ret_metrics);
    }
    free(workers);
    free(computing);
    free(communicating);
    free(processes);
    free(streams);
    free(times);
    return memory ? PCERE_OK : pcere_fail_memory(error, "the metrics");
}

/* ---- tasks -------------------------------------------------------------------------------------------------------------------- */

/* Where a worker's span has no place, the head's Target or Execute of the same task has. NULL: no memory. */
static uint32_t *places_by_task(const struct timeline *timeline, size_t *ret_count)
{
    size_t count = 0;
    for (size_t i = 0; i < timeline->span_count; i++)
        if (timeline->spans[i].task != TIMELINE_NONE && timeline->spans[i].task >= count && timeline->spans[i].task / 64 <= timeline->span_count)
            count = timeline->spans[i].task + 1u;
    uint32_t *places = calloc(count + 1, sizeof *places);
    for (size_t i = 0; places && i < timeline->span_count; i++) {
        const struct span *span = &timeline->spans[i];
        if (span->task < count && span->place && (span->kind == SPAN_TARGET || span->kind == SPAN_EXECUTE || !places[span->task]))
            places[span->task] = span->place;
    }
    *ret_count = count;
    return places;
}

static int by_sum(const void *a, const void *b)
{
    const struct task_metrics *left = a, *right = b;
    if (left->sum_ns != right->sum_ns)
        return left->sum_ns < right->sum_ns ? 1 : -1;
    return left->kind != right->kind ? (left->kind < right->kind ? -1 : 1) : left->place < right->place ? -1 : left->place > right->place;
}

static struct task_metrics *row_of(struct task_metrics *rows, size_t *count, uint32_t *index, size_t strings, uint32_t place, enum span_kind kind)
{
    size_t slot = (kind == SPAN_TASK ? 0 : (size_t)(kind - SPAN_SUBMIT) + 1) * strings + place;
    if (!index[slot]) {
        rows[*count] = (struct task_metrics){.place = place, .kind = kind, .least_ns = UINT64_MAX};
        index[slot] = (uint32_t)++*count;
    }
    return &rows[index[slot] - 1];
}

static void row_add(struct task_metrics *row, uint64_t time_ns, uint64_t *all_ns)
{
    row->count++;
    row->sum_ns += time_ns;
    row->least_ns = time_ns < row->least_ns ? time_ns : row->least_ns;
    row->most_ns = time_ns > row->most_ns ? time_ns : row->most_ns;
    *all_ns += time_ns;
}

enum pcere_status metrics_tasks(const struct timeline *timeline, struct task_metrics **ret_rows, size_t *ret_count, uint64_t *ret_all_ns,
                                struct pcere_error *error)
{
    enum { TYPES = 4 };
    size_t task_places = 0, strings = timeline->string_count + 1, count = 0, tasks = timeline->task_count;
    uint64_t all_ns = 0;
    struct piece { uint64_t time_ns; uint32_t place; } *pieces = calloc(tasks + 1, sizeof *pieces);        /* of a trace of ours: a task that made others, or waited, has several spans */
    bool *workers = calloc(timeline->process_count + 1, sizeof *workers);
    uint32_t *places = places_by_task(timeline, &task_places), *index = calloc(strings * TYPES, sizeof *index);
    struct task_metrics *rows = calloc(strings * TYPES, sizeof *rows);
    int64_t *times = NULL;
    if (!workers || !places || !index || !rows || !pieces || !pieces_join(timeline, &times)) {
        free(pieces);
        free(workers);
        free(places);
        free(index);
        free(rows);
        return pcere_fail_memory(error, "the metrics");
    }
    workers_find(timeline, workers);
    for (size_t i = 0; i < timeline->span_count; i++) {
        const struct span *span = &timeline->spans[i];
        bool task = span->kind == SPAN_TASK && span->part == SPAN_WHOLE;         /* the head's own, too */
        if (task && times && times[i] == ABSORBED)
            continue;
        if (!task && !(is_communicating(span) && workers[timeline->threads[span->thread].process]))
            continue;
        uint32_t place = span->place ? span->place : span->task < task_places ? places[span->task] : 0;
        uint64_t time_ns = (uint64_t)(task && times && is_numbered(span) ? times[i] : span->end_ns - span->begin_ns);
        if (task && span->task < tasks)
            pieces[span->task] = (struct piece){pieces[span->task].time_ns + time_ns, place};
        else
            row_add(row_of(rows, &count, index, strings, place, (enum span_kind)span->kind), time_ns, &all_ns);
    }
    for (size_t i = 0; i < tasks; i++)
        if (timeline_task_counts(&timeline->tasks[i]) && (pieces[i].time_ns || (timeline->tasks[i].flags & (TASK_ENDED | TASK_TARGET)) == TASK_ENDED))     /* one that took no time is one, too */
            row_add(row_of(rows, &count, index, strings, pieces[i].time_ns ? pieces[i].place : timeline->tasks[i].place, SPAN_TASK), pieces[i].time_ns, &all_ns);
    qsort(rows, count, sizeof *rows, by_sum);
    free(workers);
    free(places);
    free(index);
    free(pieces);
    free(times);
    *ret_rows = rows;
    *ret_count = count;
    *ret_all_ns = all_ns;
    return PCERE_OK;
}

char *metrics_time_text(char text[METRICS_TIME_BYTES], uint64_t time_ns)
{
    bool brief = time_ns < 10000000000u;
    uint64_t us = brief ? (time_ns + 500) / 1000 : (time_ns + 500000) / 1000000 * 1000, ms = us / 1000;
    int used = snprintf(text, METRICS_TIME_BYTES, "%llu:%llu:%llu:%03llu", (unsigned long long)(ms / 3600000), (unsigned long long)(ms / 60000 % 60),
                        (unsigned long long)(ms / 1000 % 60), (unsigned long long)(ms % 1000));
    if (brief)
        snprintf(text + used, METRICS_TIME_BYTES - (size_t)used, ".%03llu", (unsigned long long)(us % 1000));
    return text;
}
