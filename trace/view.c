/* trace/view.c - see view.h: what is shown, and its arrows. */
#include "trace/view.h"
#include "core/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct arrow_end { uint32_t span; bool leaves; uint64_t number; };

struct view {
    const struct run *run;
    const struct view_options *options;
    struct view_arrow *arrows;
    size_t arrow_count, arrow_capacity;
    struct arrow_end *ends;
    bool memory;
};

const struct timeline *view_timeline(const struct view *view)
{
    return &view->run->timeline;
}

bool view_is_user(const struct view *view)
{
    return view->options->kind == VIEW_USER;
}

enum view_format view_format(const struct view *view)
{
    return view->options->format;
}

void view_range(const struct view *view, int64_t *ret_begin_ns, int64_t *ret_end_ns)
{
    const struct timeline *timeline = &view->run->timeline;
    int64_t length_ns = timeline->end_ns - timeline->begin_ns, from_ns = view->options->from_ns, to_ns = view->options->to_ns < length_ns ? view->options->to_ns : length_ns;
    *ret_begin_ns = timeline->begin_ns + (from_ns < to_ns ? from_ns : 0);
    *ret_end_ns = timeline->begin_ns + to_ns;
}

const struct view_arrow *view_arrow(const struct view *view, uint64_t number)
{
    return &view->arrows[number - 1];
}

uint64_t view_arrow_count(const struct view *view)
{
    return view->arrow_count;
}

void view_flush(struct view_output *output)
{
    if (output->used && fwrite(output->buffer, 1, output->used, output->file) != output->used)
        output->failed = true;
    output->used = 0;
}

/* ---- what is shown ------------------------------------------------------------------------------------------------------------ */

static bool is_shown(const struct view *view, const struct span *span)
{
    int64_t begin_ns = view->run->timeline.begin_ns;
    if (span->end_ns - begin_ns < view->options->from_ns || span->begin_ns - begin_ns > view->options->to_ns)
        return false;
    return view->options->kind == VIEW_DEVELOPER || (span->kind != SPAN_OTHER && span->kind != SPAN_IMPLICIT && span->kind != SPAN_SERIAL);
}

static const char *name_make(const struct view *view, const struct span *span, char text[static 64])
{
    const struct timeline *timeline = &view->run->timeline;
    static const char *const parts[] = {[SPAN_WHOLE] = "", [SPAN_BEGIN] = " / Begin", [SPAN_END] = " / End"};
    if (span->kind == SPAN_TASK && span->task != TIMELINE_NONE) {
        snprintf(text, 64, "Task %u", span->task);
        return text;
    }
    if (span->name && span->name < timeline->string_count && (view->options->kind == VIEW_DEVELOPER || span->kind == SPAN_OTHER || span->kind == SPAN_MESSAGE) && span->kind != SPAN_BARRIER)
        return timeline->strings[span->name];
    const char *kind = span_kind_name((enum span_kind)span->kind);
    if (!span->nowait && span->part == SPAN_WHOLE)
        return kind;
    snprintf(text, 64, "%s%s%s", kind, span->nowait ? " (Nowait)" : "", parts[span->part]);
    return text;
}

/* ---- arrows ------------------------------------------------------------------------------------------------------------------- */

static void arrow_add(struct view *view, uint32_t from, uint32_t to, enum arrow_kind kind, uint32_t worker)
{
    const struct span *spans = view->run->timeline.spans;
    if (!is_shown(view, &spans[from]) || !is_shown(view, &spans[to]))
        return;
    if (!array_reserve(&view->arrows, &view->arrow_capacity, view->arrow_count + 1, sizeof *view->arrows)) {
        view->memory = false;
        return;
    }
    view->arrows[view->arrow_count++] = (struct view_arrow){from, to, (uint8_t)kind, worker};
}

struct keyed { uint64_t key; uint32_t span; };

static int by_key(const void *a, const void *b)
{
    const struct keyed *left = a, *right = b;
    if (left->key != right->key)
        return left->key < right->key ? -1 : 1;
    return left->span < right->span ? -1 : left->span > right->span;
}

/* Spans that `key` gives a key, in its order; those without have UINT64_MAX. */
static struct keyed *keyed_make(struct view *view, uint64_t (*key)(const struct timeline *, const struct span *), size_t *ret_count)
{
    const struct timeline *timeline = &view->run->timeline;
    size_t count = 0, used = 0;
    for (size_t i = 0; i < timeline->span_count; i++)
        count += key(timeline, &timeline->spans[i]) != UINT64_MAX;
    struct keyed *list = malloc((count + 1) * sizeof *list);
    view->memory &= list != NULL;
    for (size_t i = 0; list && i < timeline->span_count; i++) {
        uint64_t value = key(timeline, &timeline->spans[i]);
        if (value != UINT64_MAX)
            list[used++] = (struct keyed){value, (uint32_t)i};
    }
    if (list)
        qsort(list, count, sizeof *list, by_key);
    *ret_count = list ? count : 0;
    return list;
}

static uint32_t role_of(const struct timeline *timeline, const struct span *span)
{
    return timeline->processes[timeline->threads[span->thread].process].role;
}

static uint64_t communication_key(const struct timeline *timeline, const struct span *span)
{
    if (span->part == SPAN_WHOLE || span->tag == TIMELINE_NONE)
        return UINT64_MAX;
    return (uint64_t)timeline->threads[span->thread].process << 40 | (uint64_t)span->kind << 33 | (uint64_t)span->tag << 1 | (span->part == SPAN_END);
}

static void communication_arrows(struct view *view)
{
    size_t count;
    struct keyed *list = keyed_make(view, communication_key, &count);
    for (size_t i = 1; i < count; i++)
        if (list[i].key == (list[i - 1].key | 1) && list[i].key != list[i - 1].key)
            arrow_add(view, list[i - 1].span, list[i].span, ARROW_COMMUNICATION, 0);
    free(list);
}

/* The head's Execute of a task comes before the worker's Task of it. */
static uint64_t task_key(const struct timeline *timeline, const struct span *span)
{
    bool head = role_of(timeline, span) == 0;
    if (span->task == TIMELINE_NONE || !((span->kind == SPAN_EXECUTE && head) || span->kind == SPAN_TASK))
        return UINT64_MAX;
    return (uint64_t)span->task << 1 | (span->kind == SPAN_TASK);
}

struct task_spans { uint32_t first, last; };         /* + 1; 0: none */

static void edges_arrows(struct view *view, const struct keyed *list, size_t count)
{
    const struct graph *graph = &view->run->graph;
    bool of_trace = view->run->timeline.task_count > 0;
    struct task_spans *spans = calloc(graph->count + 1, sizeof *spans);
    uint32_t task = 0;
    view->memory &= spans != NULL;
    for (size_t node = 0; spans && node < graph->count; node++) {
        uint64_t number = of_trace ? (graph->nodes[node].id != UINT64_MAX ? task++ : UINT64_MAX) : graph->nodes[node].id;
        if (number >= TIMELINE_NONE)
            continue;
        size_t low = 0, high = count;
        while (low < high) {
            size_t middle = (low + high) / 2;
            if (list[middle].key >> 1 < number)
                low = middle + 1;
            else
                high = middle;
        }
        if (low < count && list[low].key >> 1 == number) {
            uint64_t key = list[low].key;
            spans[node].first = list[low].span + 1;
            while (low < count && list[low].key == key)
                spans[node].last = list[low++].span + 1;
        }
    }
    for (size_t i = 0; spans && i < graph->edge_count; i++)
        if (spans[graph->from[i]].last && spans[graph->to[i]].first)
            arrow_add(view, spans[graph->from[i]].last - 1, spans[graph->to[i]].first - 1, ARROW_TASKS, 0);
    free(spans);
}

static int by_span(const void *a, const void *b)
{
    const struct arrow_end *left = a, *right = b;
    if (left->span != right->span)
        return left->span < right->span ? -1 : 1;
    if (left->leaves != right->leaves)
        return left->leaves ? -1 : 1;
    return left->number < right->number ? -1 : left->number > right->number;
}

static void arrows_find(struct view *view)
{
    const struct timeline *timeline = &view->run->timeline;
    size_t count;
    if (view->options->kind == VIEW_USER && !view->options->no_arrows) {
        communication_arrows(view);
        struct keyed *list = keyed_make(view, task_key, &count);
        for (size_t i = 1; i < count; i++)
            if (list[i].key == list[i - 1].key + 1 && list[i].key & 1 && role_of(timeline, &timeline->spans[list[i].span]) != 0)
                arrow_add(view, list[i - 1].span, list[i].span, ARROW_WORKER, role_of(timeline, &timeline->spans[list[i].span]) - 1);
        if (view->run->has_graph)
            edges_arrows(view, list, count);
        for (size_t i = 0; i < view->run->ranks.pair_count; i++)
            arrow_add(view, view->run->ranks.pairs[i].from, view->run->ranks.pairs[i].to, ARROW_MESSAGE, 0);
        free(list);
    }
    view->ends = malloc((view->arrow_count * 2 + 1) * sizeof *view->ends);
    view->memory &= view->ends != NULL;
    for (size_t i = 0; view->ends && i < view->arrow_count; i++) {
        view->ends[i * 2] = (struct arrow_end){view->arrows[i].from, true, i + 1};
        view->ends[i * 2 + 1] = (struct arrow_end){view->arrows[i].to, false, i + 1};
    }
    if (view->ends)
        qsort(view->ends, view->arrow_count * 2, sizeof *view->ends, by_span);
}

/* ---- all of it ---------------------------------------------------------------------------------------------------------------- */

enum { ARROWS_MOST = 1024 };     /* of one span */

struct showing { struct view *view; uint64_t least_ns; struct view_sink sink; struct view_counts counts; struct view_slice short_ones; size_t end; uint64_t numbers[2][ARROWS_MOST]; };

static void short_ones_show(struct showing *showing)
{
    struct view_slice *slice = &showing->short_ones;
    char name[64];
    if (!slice->joined)
        return;
    snprintf(name, sizeof name, "%llu short events", (unsigned long long)slice->joined);
    slice->name = name;
    showing->sink.slice(showing->sink.state, slice);
    showing->counts.slices++;
    showing->counts.joined += slice->joined;
    slice->joined = 0;
}

static void arrows_take(struct showing *showing, uint32_t span, struct view_slice *slice)
{
    const struct arrow_end *ends = showing->view->ends;
    size_t count = showing->view->arrow_count * 2, used[2] = {0};
    for (; showing->end < count && ends[showing->end].span <= span; showing->end++)
        if (ends[showing->end].span == span && used[ends[showing->end].leaves] < ARROWS_MOST)
            showing->numbers[ends[showing->end].leaves][used[ends[showing->end].leaves]++] = ends[showing->end].number;
    slice->leaves = showing->numbers[1];
    slice->leaves_count = used[1];
    slice->reaches = showing->numbers[0];
    slice->reaches_count = used[0];
}

static void span_show(struct showing *showing, uint32_t number)
{
    const struct view *view = showing->view;
    const struct span *span = &view->run->timeline.spans[number];
    struct view_slice *short_ones = &showing->short_ones;
    uint64_t length_ns = (uint64_t)(span->end_ns - span->begin_ns);
    if (length_ns < showing->least_ns) {
        if (short_ones->joined && (uint64_t)(span->end_ns - short_ones->begin_ns) > showing->least_ns * 2)
            short_ones_show(showing);
        if (!short_ones->joined)
            *short_ones = (struct view_slice){.thread = span->thread, .begin_ns = span->begin_ns, .end_ns = span->end_ns, .longest = span};
        if (span->end_ns - span->begin_ns > short_ones->longest->end_ns - short_ones->longest->begin_ns)
            short_ones->longest = span;
        short_ones->joined++;
        if (span->end_ns > short_ones->end_ns)
            short_ones->end_ns = span->end_ns;
        return;
    }
    short_ones_show(showing);
    char text[64];
    struct view_slice slice = {.thread = span->thread, .begin_ns = span->begin_ns, .end_ns = span->end_ns, .span = span, .name = name_make(view, span, text)};
    arrows_take(showing, number, &slice);
    showing->sink.slice(showing->sink.state, &slice);
    showing->counts.slices++;
}

static void spans_show(struct showing *showing)
{
    const struct timeline *timeline = &showing->view->run->timeline;
    uint32_t thread = TIMELINE_NONE;
    for (size_t i = 0; i < timeline->span_count; i++) {
        if (!is_shown(showing->view, &timeline->spans[i]))
            continue;
        if (timeline->spans[i].thread != thread) {
            short_ones_show(showing);
            thread = timeline->spans[i].thread;
            showing->sink.thread(showing->sink.state, thread);
        }
        span_show(showing, (uint32_t)i);
    }
    short_ones_show(showing);
}

static struct view_sink sink_make(const struct view *view, struct view_output *output)
{
    switch (view->options->format) {
    case VIEW_CHROME: return view_chrome_sink(view, output);
    case VIEW_PERFETTO: return view_perfetto_sink(view, output);
    case VIEW_SVG: case VIEW_HTML: break;
    }
    return view_svg_sink(view, output);
}

/* A picture has as many pixels as it has. */
static uint64_t least_of(const struct view *view)
{
    int64_t begin_ns, end_ns;
    view_range(view, &begin_ns, &end_ns);
    uint64_t pixel_ns = end_ns > begin_ns ? (uint64_t)(end_ns - begin_ns) / (2 * VIEW_SVG_WIDTH) : 0;
    bool picture = view->options->format == VIEW_SVG || view->options->format == VIEW_HTML;
    return picture && view->options->least_ns < pixel_ns ? pixel_ns : view->options->least_ns;
}

enum pcere_status view_write(const struct run *run, const struct view_options *options, FILE *file, const char *name, struct view_counts *ret_counts, struct pcere_error *error)
{
    struct view view = {.run = run, .options = options, .memory = true};
    struct view_output output = {.file = file, .buffer = malloc(VIEW_BUFFER_BYTES)};
    struct showing *showing = calloc(1, sizeof *showing);
    view.memory = output.buffer && showing;
    if (view.memory)
        arrows_find(&view);
    if (view.memory) {
        *showing = (struct showing){.view = &view, .least_ns = least_of(&view), .sink = sink_make(&view, &output)};
        view.memory = showing->sink.state != NULL;
    }
    errno = 0;
    if (view.memory) {
        spans_show(showing);
        showing->sink.end(showing->sink.state);
        view_flush(&output);
        showing->counts.arrows = view.arrow_count;
        *ret_counts = showing->counts;
    }
    enum pcere_status status = view.memory ? PCERE_OK : pcere_fail_memory(error, "the timeline");
    if (status == PCERE_OK && (output.failed || fflush(file) != 0))
        status = pcere_fail(error, PCERE_SYSTEM, errno, "free some space", "cannot write '%s'", name);
    free(view.arrows);
    free(view.ends);
    free(output.buffer);
    free(showing);
    return status;
}
