/* trace/view.c - see view.h: what is shown, and its arrows. */
#include "trace/view.h"
#include "core/text.h"
#include "include/pcere/bisect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct arrow_end { uint32_t span; bool leaves; uint64_t number; };

enum { NAME_BYTES = 64, PARTS = 3, NAMES_FIXED = SPAN_KINDS * 2 * PARTS };

struct view {
    const struct run *run;
    const struct view_options *options;
    struct view_arrow *arrows;
    size_t arrow_count, arrow_capacity;
    struct arrow_end *ends;
    char names[NAMES_FIXED][NAME_BYTES];        /* of kinds, nowait and parts: name_fixed */
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

uint32_t view_name_most(const struct view *view)
{
    return NAMES_FIXED + (uint32_t)view->run->timeline.string_count;
}

/* ---- what is shown ------------------------------------------------------------------------------------------------------------ */

enum { KINDS_HIDDEN = 1u << SPAN_OTHER | 1u << SPAN_IMPLICIT | 1u << SPAN_SERIAL };     /* in the user's view: what is the runtime's own */

uint32_t view_kinds(enum view_kind kind)
{
    return kind == VIEW_DEVELOPER ? 0 : ((1u << SPAN_KINDS) - 1) & ~(uint32_t)KINDS_HIDDEN;
}

static bool is_shown(const struct view *view, const struct span *span)
{
    int64_t begin_ns = view->run->timeline.begin_ns;
    if (span->end_ns - begin_ns < view->options->from_ns || span->begin_ns - begin_ns > view->options->to_ns)
        return false;
    return view->options->kind == VIEW_DEVELOPER || !(KINDS_HIDDEN >> span->kind & 1);
}

static uint32_t name_fixed(const struct span *span)
{
    return ((uint32_t)span->kind * 2 + span->nowait) * PARTS + span->part;
}

static void names_make(struct view *view)
{
    static const char *const parts[PARTS] = {[SPAN_WHOLE] = "", [SPAN_BEGIN] = " / Begin", [SPAN_END] = " / End"};
    for (uint32_t kind = 0; kind < SPAN_KINDS; kind++)
        for (uint32_t nowait = 0; nowait < 2; nowait++)
            for (uint32_t part = 0; part < PARTS; part++)
                snprintf(view->names[(kind * 2 + nowait) * PARTS + part], NAME_BYTES, "%s%s%s", span_kind_name((enum span_kind)kind) ? span_kind_name((enum span_kind)kind) : "Other",
                         nowait ? " (Nowait)" : "", parts[part]);
}

/* *ret_number as in struct view_slice. */
static const char *name_make(const struct view *view, const struct span *span, char text[static NAME_BYTES], uint32_t *ret_number)
{
    const struct timeline *timeline = &view->run->timeline;
    if (span->kind == SPAN_TASK && span->task != TIMELINE_NONE) {
        char *at = text + NAME_BYTES - 1;
        uint32_t number = span->task;
        *at = '\0';
        do
            *--at = (char)('0' + number % 10);
        while (number /= 10);
        *ret_number = 0;
        return memcpy(at - 5, "Task ", 5);
    }
    if (span->name && span->name < timeline->string_count && (view->options->kind == VIEW_DEVELOPER || span->kind == SPAN_OTHER || span->kind == SPAN_MESSAGE) && span->kind != SPAN_BARRIER) {
        *ret_number = NAMES_FIXED + span->name;
        return timeline->strings[span->name];
    }
    *ret_number = name_fixed(span) + 1;
    return view->names[name_fixed(span)];
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
        while (of_trace && task < view->run->timeline.task_count && !timeline_task_counts(&view->run->timeline.tasks[task]))
            task++;
        uint64_t number = of_trace ? (graph->nodes[node].id != UINT64_MAX ? view->run->timeline.tasks[task++].number : UINT64_MAX) : graph->nodes[node].id;
        if (number >= TIMELINE_NONE)
            continue;
        BISECT(low, 0, count, i, list[i].key >> 1 < number);
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

enum { ARROWS_MOST = 1024, SPANS_FEW = 100000 };     /* of one span; that one writer is enough for */

struct showing {                 /* some of the timeline's spans, by one thread */
    struct view *view;
    uint64_t least_ns;
    size_t first, stop;          /* of the spans */
    struct view_output output;
    struct view_sink sink;
    struct view_counts counts;
    struct view_slice short_ones;
    size_t end;
    uint64_t numbers[2][ARROWS_MOST];
};

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
    bool joined = span->part == SPAN_JOINED;
    if (length_ns < showing->least_ns || joined) {
        if (short_ones->joined && (uint64_t)(span->end_ns - short_ones->begin_ns) > showing->least_ns * 2)
            short_ones_show(showing);
        if (!short_ones->joined)
            *short_ones = (struct view_slice){.thread = span->thread, .begin_ns = span->begin_ns, .end_ns = span->end_ns, .longest = span};
        if (span_longest_ns(span) > span_longest_ns(short_ones->longest))
            short_ones->longest = span;
        short_ones->joined += joined ? span->tag : 1;
        if (span->end_ns > short_ones->end_ns)
            short_ones->end_ns = span->end_ns;
        return;
    }
    short_ones_show(showing);
    char text[NAME_BYTES];
    struct view_slice slice = {.thread = span->thread, .begin_ns = span->begin_ns, .end_ns = span->end_ns, .span = span};
    slice.name = name_make(view, span, text, &slice.name_number);
    arrows_take(showing, number, &slice);
    showing->sink.slice(showing->sink.state, &slice);
    showing->counts.slices++;
}

static void spans_show(struct showing *showing)
{
    const struct timeline *timeline = &showing->view->run->timeline;
    uint32_t thread = TIMELINE_NONE;
    for (size_t i = showing->first; i < showing->stop; i++) {
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
    showing->sink.end(showing->sink.state);
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

/* ---- by several threads ------------------------------------------------------------------------------------------------------- */

/* Where a thread's spans begin, from `at` on. */
static size_t thread_begin(const struct timeline *timeline, size_t at)
{
    while (at > 0 && at < timeline->span_count && timeline->spans[at].thread == timeline->spans[at - 1].thread)
        at++;
    return at;
}

/* The spans in parts of whole threads; in Perfetto's format these know nothing of each other. */
static unsigned parts_make(const struct view *view, size_t first[static VIEW_WRITERS + 1])
{
    const struct timeline *timeline = &view->run->timeline;
    unsigned count = 0;
    first[0] = 0;
    for (unsigned i = 1; i < VIEW_WRITERS && view->options->format == VIEW_PERFETTO && timeline->span_count > SPANS_FEW; i++) {
        size_t begin = thread_begin(timeline, timeline->span_count * i / VIEW_WRITERS);
        if (begin > first[count] && begin < timeline->span_count)
            first[++count] = begin;
    }
    first[++count] = timeline->span_count;
    return count;
}

static bool showing_init(struct showing *showing, struct view *view, size_t first, size_t stop, FILE *file)
{
    *showing = (struct showing){.view = view, .least_ns = least_of(view), .first = first, .stop = stop, .output = {.file = file, .buffer = malloc(VIEW_BUFFER_BYTES)}};
    if (showing->output.buffer)
        showing->sink = sink_make(view, &showing->output);
    BISECT(low, 0, view->arrow_count * 2, i, view->ends[i].span < first);
    showing->end = low;
    return showing->output.buffer && showing->sink.state;
}

static void *showing_main(void *raw)
{
    struct showing *showing = raw;
    spans_show(showing);
    view_turns_leave(&showing->output);
    return NULL;
}

/* The first part is this thread's, as are, afterwards, those that no thread can be made for. */
static void parts_show(struct showing *parts, unsigned count, FILE *file)
{
    struct view_turns turns;
    pthread_t threads[VIEW_WRITERS];
    unsigned made = 1;
    fflush(file);
    view_turns_init(&turns, file, count);
    for (unsigned i = 0; i < count; i++) {
        parts[i].output.turns = &turns;
        parts[i].output.writer = i;
    }
    while (made < count && pthread_create(&threads[made], NULL, showing_main, &parts[made]) == 0)
        made++;
    turns.count = made;
    showing_main(&parts[0]);
    for (unsigned i = 1; i < made; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = made; i < count; i++) {
        turns.turn = i;
        showing_main(&parts[i]);
    }
    view_turns_done(&turns, file);
    errno = turns.failed_errno;
}

enum pcere_status view_write(const struct run *run, const struct view_options *options, FILE *file, const char *name, struct view_counts *ret_counts, struct pcere_error *error)
{
    struct view view = {.run = run, .options = options, .memory = true};
    size_t first[VIEW_WRITERS + 1];
    unsigned count = parts_make(&view, first);
    struct showing *parts = calloc(count, sizeof *parts);
    view.memory = parts != NULL;
    names_make(&view);
    if (view.memory)
        arrows_find(&view);
    for (unsigned i = 0; i < count && view.memory; i++)
        view.memory = showing_init(&parts[i], &view, first[i], first[i + 1], file);
    errno = 0;
    if (view.memory && count > 1) {
        parts_show(parts, count, file);
    } else if (view.memory) {
        spans_show(parts);
        view_flush(&parts->output);
    }
    int errnum = errno;
    struct view_counts counts = {.arrows = view.arrow_count};
    bool failed = false;
    for (unsigned i = 0; i < count && parts; i++) {
        counts.slices += parts[i].counts.slices;
        counts.joined += parts[i].counts.joined;
        failed |= parts[i].output.failed;
        if (!view.memory && parts[i].sink.state)
            parts[i].sink.end(parts[i].sink.state);
        free(parts[i].output.buffer);
    }
    enum pcere_status status = view.memory ? PCERE_OK : pcere_fail_memory(error, "the timeline");
    errno = errnum;
    if (status == PCERE_OK && (fflush(file) != 0 || failed))
        status = pcere_fail(error, PCERE_SYSTEM, errno, "free some space", "cannot write '%s'", name);
    if (status == PCERE_OK)
        *ret_counts = counts;
    free(view.arrows);
    free(view.ends);
    free(parts);
    return status;
}
