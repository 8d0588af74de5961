/* trace/run.c - see run.h. */
#include "trace/run.h"
#include "core/text.h"
#include "profiler/protocol.h"
#include "trace/chrome.h"
#include "trace/dependences.h"
#include "trace/dot.h"
#include "trace/native.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void run_done(struct run *run)
{
    timeline_done(&run->timeline);
    graph_done(&run->graph);
    ranks_done(&run->ranks);
}

enum { LARGE_BYTES = 1 << 28 };                  /* smaller files are read once */
#define WANTED_NONE (1u << 29)                   /* no kind of span */
static_assert(SPAN_KINDS <= 29, "a bit for each kind of span");

enum file_kind { FILE_CHROME, FILE_DOT, FILE_NATIVE };

static enum pcere_status kind_find(const char *path, enum file_kind *ret_kind, struct pcere_error *error)
{
    char head[256] = {0};
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return pcere_fail(error, errno == ENOENT ? PCERE_USAGE : PCERE_SYSTEM, errno, NULL, "cannot read '%.300s'", path);
    ssize_t count = read(file, head, sizeof head - 1);
    close(file);
    if (count < 0)
        return pcere_fail(error, PCERE_USAGE, errno, NULL, "cannot read '%.300s'", path);
    if (count == 0)
        return pcere_fail(error, PCERE_DATA, 0, NULL, "'%.300s' is empty", path);
    const char *at = head + strspn(head, "\xef\xbb\xbf \t\r\n");
    if (count >= 8 && memcmp(head, TRACE_MAGIC, 8) == 0)
        *ret_kind = FILE_NATIVE;
    else if (*at == '{' || *at == '[')
        *ret_kind = FILE_CHROME;
    else if (strncasecmp(at, "digraph", 7) == 0 || strncasecmp(at, "strict", 6) == 0 || *at == '#' || *at == '/')
        *ret_kind = FILE_DOT;
    else
        return pcere_fail(error, PCERE_DATA, 0, "known are Chrome's trace format, Graphviz's graphs, and traces of 'pcere trace'", "'%.300s' is no trace", path);
    return PCERE_OK;
}

enum pcere_status run_is_native(const char *path, bool *ret_native, struct pcere_error *error)
{
    enum file_kind kind = FILE_CHROME;
    enum pcere_status status = kind_find(path, &kind, error);
    *ret_native = kind == FILE_NATIVE;
    return status;
}

static enum pcere_status file_load(const char *path, struct run *run, struct pcere_error *error)
{
    enum file_kind kind;
    enum pcere_status status = kind_find(path, &kind, error);
    if (status != PCERE_OK)
        return status;
    switch (kind) {
    case FILE_CHROME:
        run->has_trace = true;
        return chrome_read(path, 0, &run->timeline, error);
    case FILE_NATIVE:
        run->has_trace = true;
        return native_read(path, &run->timeline, error);
    case FILE_DOT: break;
    }
    if (run->has_graph)
        return pcere_fail(error, PCERE_DATA, 0, "name the files of one run, joined by commas", "'%.300s' is the second graph of one run", path);
    run->has_graph = true;
    return dot_read(path, &run->graph, error);
}

/* ---- which files -------------------------------------------------------------------------------------------------------------- */

static int is_ours(const struct dirent *entry)
{
    const char *end = strrchr(entry->d_name, '.');
    return end && (strcmp(end, ".json") == 0 || strcmp(end, ".dot") == 0 || strcmp(end, ".pct") == 0);
}

static enum pcere_status directory_load(const char *path, struct run *run, struct pcere_error *error)
{
    struct dirent **entries;
    int count = scandir(path, &entries, is_ours, alphasort);
    if (count < 0)
        return pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot read the directory '%.300s'", path);
    enum pcere_status status = count ? PCERE_OK : pcere_fail(error, PCERE_DATA, 0, NULL, "no *.json, *.dot or *.pct file is in '%.300s'", path);
    int graphs = 0;
    for (int i = 0; i < count; i++) {
        char *name = NULL;
        /* OMPC writes the graph in both styles: the one with more in it comes first by its name. */
        bool second_graph = strcmp(strrchr(entries[i]->d_name, '.'), ".dot") == 0 && graphs++;
        if (status == PCERE_OK && !second_graph) {
            status = asprintf(&name, "%s/%s", path, entries[i]->d_name) < 0 ? pcere_fail_memory(error, "a path") : file_load(name, run, error);
            free(name);
        }
        free(entries[i]);
    }
    free(entries);
    return status;
}

static enum pcere_status list_load(const char *files, struct run *run, struct pcere_error *error)
{
    struct stat facts;
    if (stat(files, &facts) == 0)
        return S_ISDIR(facts.st_mode) ? directory_load(files, run, error) : file_load(files, run, error);
    char *copy = strdup(files), *rest = copy;
    enum pcere_status status = copy ? PCERE_OK : pcere_fail_memory(error, "a path");
    for (char *word; status == PCERE_OK && (word = strsep(&rest, ","));)
        status = file_load(word, run, error);
    free(copy);
    return status;
}

/* ---- times of a graph's tasks ------------------------------------------------------------------------------------------------- */

struct task_time { uint64_t id, time_ns; };

static int by_id(const void *a, const void *b)
{
    const struct task_time *left = a, *right = b;
    return left->id < right->id ? -1 : left->id > right->id;
}

static bool work_from_trace(struct run *run)
{
    const struct timeline *timeline = &run->timeline;
    struct task_time *times = malloc((timeline->span_count + 1) * sizeof *times);
    size_t count = 0;
    if (!times)
        return false;
    for (size_t i = 0; i < timeline->span_count; i++)
        if (timeline->spans[i].kind == SPAN_TASK && timeline->spans[i].part == SPAN_WHOLE)
            times[count++] = (struct task_time){timeline->spans[i].task, (uint64_t)(timeline->spans[i].end_ns - timeline->spans[i].begin_ns)};
    qsort(times, count, sizeof *times, by_id);
    size_t known = 0, tasks = 0;
    for (size_t i = 0; i < run->graph.count; i++) {
        struct task_time key = {run->graph.nodes[i].id, 0}, *found = bsearch(&key, times, count, sizeof *times, by_id);
        tasks += run->graph.nodes[i].kind == GRAPH_TASK;
        if (!found || run->graph.nodes[i].kind != GRAPH_TASK)
            continue;
        known++;
        while (found > times && found[-1].id == key.id)
            found--;
        for (; found < times + count && found->id == key.id; found++)
            run->graph.work_ns[i] += found->time_ns;
    }
    free(times);
    run->graph.has_work = known > 0;
    if (known < tasks)
        snprintf(run->remark, sizeof run->remark, "%zu of %zu tasks of the graph are not in the trace: they count as taking no time", tasks - known, tasks);
    return true;
}

__attribute__((format(printf, 2, 3))) static void remark_add(struct run *run, const char *form, ...)
{
    size_t used = strlen(run->remark);
    va_list arguments;
    va_start(arguments, form);
    used += (size_t)snprintf(run->remark + used, sizeof run->remark - used, "%s", used ? "; " : "");
    if (used < sizeof run->remark)
        vsnprintf(run->remark + used, sizeof run->remark - used, form, arguments);
    va_end(arguments);
}

/* A run may have several programs, so traces of different ones are not refused. */
static void programs_compare(struct run *run)
{
    const struct timeline *timeline = &run->timeline;
    const struct timeline_process *first = NULL;
    for (size_t i = 0; i < timeline->process_count; i++) {
        const struct timeline_process *one = &timeline->processes[i];
        if (!one->build)
            continue;
        if (first && one->build != first->build) {
            remark_add(run, "'%.80s' and '%.80s' are traces of different programs, or builds of one: what is said of both together holds only if they ran together", timeline->strings[first->name],
                       timeline->strings[one->name]);
            return;
        }
        if (!first)
            first = one;
    }
}

static void remark_make(struct run *run)
{
    const struct timeline *timeline = &run->timeline;
    if (timeline->cut && timeline->cut_text[0])
        snprintf(run->remark, sizeof run->remark, "%s", timeline->cut_text);
    else if (timeline->cut)
        snprintf(run->remark, sizeof run->remark, "the trace is cut or damaged: what is whole was used, %zu spans", timeline->span_count);
    else if (timeline->broken || timeline->unfinished)
        snprintf(run->remark, sizeof run->remark, "%llu events make no sense, %llu spans or tasks were never finished", (unsigned long long)timeline->broken,
                 (unsigned long long)timeline->unfinished);
    if (run->ranks.lonely)
        remark_add(run, "%llu MPI messages have no partner in the other ranks' traces", (unsigned long long)run->ranks.lonely);
    programs_compare(run);
}

/* The window in the times of a large file's events. */
static enum pcere_status window_find(const char *path, const struct run_sparing *sparing, struct timeline *timeline, struct pcere_error *error)
{
    struct stat facts;
    enum file_kind kind;
    struct timeline bounds = {.wanted = WANTED_NONE};
    if ((sparing->from_ns == 0 && sparing->to_ns == INT64_MAX) || stat(path, &facts) != 0 || !S_ISREG(facts.st_mode) || (uint64_t)facts.st_size < (sparing->large_bytes ? sparing->large_bytes : LARGE_BYTES))
        return PCERE_OK;
    enum pcere_status status = kind_find(path, &kind, error);
    if (status == PCERE_OK && kind == FILE_CHROME)
        status = chrome_read(path, 0, &bounds, error);
    if (status == PCERE_OK && kind == FILE_NATIVE) {             /* times since the run's start are those of its records */
        timeline->has_window = true;
        timeline->window_begin_ns = sparing->from_ns;
        timeline->window_end_ns = sparing->to_ns;
    }
    if (status == PCERE_OK && bounds.has_bounds) {
        int64_t length_ns = bounds.end_ns - bounds.begin_ns;
        timeline->has_window = true;
        timeline->window_begin_ns = bounds.begin_ns + (sparing->from_ns < length_ns ? sparing->from_ns : length_ns);
        timeline->window_end_ns = bounds.begin_ns + (sparing->to_ns < length_ns ? sparing->to_ns : length_ns);
    }
    timeline_done(&bounds);
    return status;
}

enum pcere_status run_load(const char *files, uint32_t wanted, enum timeline_apart apart, struct run *ret_run, struct pcere_error *error)
{
    return run_load_sparing(files, wanted, apart, &(struct run_sparing){.to_ns = INT64_MAX}, ret_run, error);
}

enum pcere_status run_load_sparing(const char *files, uint32_t wanted, enum timeline_apart apart, const struct run_sparing *sparing, struct run *ret_run, struct pcere_error *error)
{
    struct run run = {.timeline.wanted = wanted & ~(RUN_STEPS | RUN_MINIMA) ? (wanted & ~(RUN_STEPS | RUN_MINIMA)) | 1u << SPAN_MESSAGE : 0, .timeline.want_steps = wanted & RUN_STEPS, .timeline.apart = apart};
    run.timeline.least_ns = sparing->least_ns;
    enum pcere_status status = window_find(files, sparing, &run.timeline, error);
    if (status == PCERE_OK)
        status = list_load(files, &run, error);
    if (status == PCERE_OK && run.has_trace) {
        timeline_roles_find(&run.timeline);
        status = timeline_pair(&run.timeline, error);
        if (status == PCERE_OK)
            status = ranks_synchronise(&run.timeline, wanted & RUN_MINIMA, &run.ranks, error);
    }
    remark_make(&run);
    if (status == PCERE_OK && run.has_graph && run.has_trace && !run.graph.has_work && !work_from_trace(&run))
        status = pcere_fail_memory(error, "the graph's times");
    if (status == PCERE_OK && !run.has_graph && run.timeline.task_count) {
        status = dependences_graph(&run.timeline, &run.graph, error);
        run.has_graph = status == PCERE_OK;
    }
    if (status == PCERE_OK)
        *ret_run = run;
    else
        run_done(&run);
    return status;
}
