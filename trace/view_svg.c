/* trace/view_svg.c - a view as a picture: one lane a thread, nested events below each other, colours by source location, with a legend; alone or as an HTML page. */
#include "core/text.h"
#include "core/units.h"
#include "trace/view.h"

#include <stdlib.h>
#include <string.h>

enum { LEFT = 210, TOP = 46, ROW = 11, ROWS = 3, LANE_EDGE = 5, HEADING = 22, LEGEND_MOST = 24, LEGEND_ROW = 16, LEGEND_COLUMNS = 2, ARROWS_SHOWN = 3000 };

static const char *const palette[] = {"#4477aa", "#ee8866", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#44bb99", "#bbcc33", "#882255", "#99ddff", "#ddaa33", "#332288"};
enum { COLOURS = sizeof palette / sizeof *palette };

/* A page is as wide as its window. Where that would make the words too small to be read the picture scrolls, not the page. */
#define PAGE_HEAD "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"><title>timeline</title>\n" \
    "<style>:root{color-scheme:light dark}body{margin:0;background:#fff}.picture{overflow-x:auto}.picture svg{display:block;width:100%;min-width:900px;height:auto}</style></head>\n" \
    "<body><div class=\"picture\">\n"
/* What stands inside of events stays dark, as their colours stay. */
#define PAGE_DARK "\n@media screen and (prefers-color-scheme:dark){body{background:#16181c}.paper{fill:#16181c}text{fill:#e6e6e6}.in{fill:#222}.time{fill:#b5b5b5}.lane{fill:#1f2227;stroke:#2c3036}" \
    ".grid{stroke:#34383f}.tasks{stroke:#c8c8c8}.worker{stroke:#e08fc0}.message{stroke:#ff7aa8}}\n"

struct shown { uint32_t place; uint64_t time_ns; };

struct svg_state {
    const struct view *view;
    struct view_output *output;
    struct text body;
    struct text lane;            /* slices of the thread that is drawn: its lane goes behind them, and is as high as they need */
    int64_t begin_ns, end_ns;
    int y;                       /* where the next lane begins: the one that is drawn */
    int rows;                    /* of it, that have a slice */
    uint32_t thread;             /* TIMELINE_NONE: none yet */
    uint32_t process;
    int64_t nested[ROWS];        /* ends of the events around */
    int depth;
    uint8_t *colour_of;          /* [string] + 1 */
    uint64_t *time_of;           /* [string]: of a place, shown */
    int (*ends)[2];              /* [arrow]: y of the slices that it leaves and reaches; 0: of joined ones */
    int *lane_of;                /* [thread]: y of its lowest row, where joined ones are; 0: not shown */
    uint32_t colours;
    bool kinds[SPAN_KINDS];
};

/* ---- words -------------------------------------------------------------------------------------------------------------------- */

static void escaped(struct text *text, const char *words)
{
    for (; *words; words++) {
        if (*words == '<')
            text_add(text, "&lt;");
        else if (*words == '>')
            text_add(text, "&gt;");
        else if (*words == '&')
            text_add(text, "&amp;");
        else if (*words == '"')
            text_add(text, "&quot;");
        else if ((unsigned char)*words >= 0x20)
            text_add_bytes(text, words, 1);
    }
}

static double x_of(const struct svg_state *state, int64_t at_ns)
{
    double range = (double)(state->end_ns - state->begin_ns);
    double part = range > 0 ? (double)(at_ns - state->begin_ns) / range : 0;
    part = part < 0 ? 0 : part > 1 ? 1 : part;
    return (double)LEFT + part * (double)VIEW_SVG_WIDTH;
}

static const char *kind_colour(enum span_kind kind)
{
    switch (kind) {
    case SPAN_BARRIER: case SPAN_TASKWAIT: case SPAN_TASKGROUP: return "#dddddd";
    case SPAN_MUTEX: return "#cc3311";
    case SPAN_RUNTIME: case SPAN_PARALLEL: case SPAN_LOOP: case SPAN_SINGLE: case SPAN_MASKED: return "#f3f0e6";
    case SPAN_SUBMIT: case SPAN_FORWARD: return "#009988";
    case SPAN_RETRIEVE: return "#0077bb";
    case SPAN_ALLOC: case SPAN_DELETE: return "#bbbbbb";
    case SPAN_MESSAGE: return "#f4a6c0";
    case SPAN_TARGET: case SPAN_TARGET_ENTER: case SPAN_TARGET_EXIT: case SPAN_TARGET_UPDATE: return "#e8dcf0";
    default: return NULL;
    }
}

static const char *colour_of(struct svg_state *state, const struct span *span)
{
    const char *colour = kind_colour((enum span_kind)span->kind);
    if (colour)
        return colour;
    uint8_t *known = &state->colour_of[span->place];
    if (!*known)
        *known = (uint8_t)(state->colours++ % COLOURS + 1);
    return palette[*known - 1];
}

/* ---- lanes -------------------------------------------------------------------------------------------------------------------- */

static void lane_close(struct svg_state *state)
{
    const struct timeline *timeline = view_timeline(state->view);
    uint32_t thread = state->thread;
    if (thread == TIMELINE_NONE)
        return;
    int height = (state->rows ? state->rows : 1) * ROW + LANE_EDGE;
    text_addf(&state->body, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" class=\"lane\"/><text x=\"14\" y=\"%d\">", LEFT, state->y, VIEW_SVG_WIDTH, height - 2, state->y + height / 2 + 3);
    escaped(&state->body, timeline->threads[thread].name ? timeline->strings[timeline->threads[thread].name] : "thread");
    text_add(&state->body, "</text>\n");
    text_add_bytes(&state->body, state->lane.data, state->lane.length);
    state->lane.length = 0;
    state->lane_of[thread] = state->y + height - LANE_EDGE + 2 - ROW / 2;
    state->y += height;
}

static void svg_thread(void *raw, uint32_t thread)
{
    struct svg_state *state = raw;
    const struct timeline *timeline = view_timeline(state->view);
    uint32_t process = timeline->threads[thread].process;
    lane_close(state);
    if (process != state->process) {
        text_addf(&state->body, "<text x=\"8\" y=\"%d\" class=\"process\">", state->y + HEADING - 6);
        escaped(&state->body, timeline->processes[process].name ? timeline->strings[timeline->processes[process].name] : "process");
        text_add(&state->body, "</text>\n");
        state->y += HEADING;
        state->process = process;
    }
    state->thread = thread;
    state->depth = state->rows = 0;
}

/* White words on dark colours: by luminance (ITU-R BT.601). */
static bool is_dark(const char *colour)
{
    unsigned long rgb = strtoul(colour + 1, NULL, 16);
    return 299 * (rgb >> 16) + 587 * (rgb >> 8 & 255) + 114 * (rgb & 255) < 128000;
}

static void ends_note(struct svg_state *state, const uint64_t *numbers, size_t count, int end, int y)
{
    for (size_t i = 0; i < count; i++)
        if (numbers[i] <= ARROWS_SHOWN)
            state->ends[numbers[i]][end] = y;
}

static void svg_slice(void *raw, const struct view_slice *slice)
{
    struct svg_state *state = raw;
    const struct timeline *timeline = view_timeline(state->view);
    const struct span *span = slice->span ? slice->span : slice->longest;
    while (state->depth && state->nested[state->depth - 1] <= slice->begin_ns)
        state->depth--;
    int row = state->depth < ROWS ? state->depth : ROWS - 1, y = state->y + 2 + row * ROW;
    if (state->depth < ROWS)
        state->nested[state->depth++] = slice->end_ns;
    state->rows = row >= state->rows ? row + 1 : state->rows;
    double x = x_of(state, slice->begin_ns), width = x_of(state, slice->end_ns) - x;
    char time[UNITS_TEXT_BYTES];
    const char *colour = colour_of(state, span);
    state->kinds[span->kind] = true;
    if (!kind_colour((enum span_kind)span->kind))
        state->time_of[span->place] += (uint64_t)(slice->end_ns - slice->begin_ns);
    ends_note(state, slice->leaves, slice->leaves_count, 0, y + ROW / 2);
    ends_note(state, slice->reaches, slice->reaches_count, 1, y + ROW / 2);
    text_addf(&state->lane, "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" fill=\"%s\"%s><title>", x, y, width < 0.3 ? 0.3 : width, ROW - 1, colour,
              slice->span ? "" : " fill-opacity=\"0.6\"");
    escaped(&state->lane, slice->name);
    if (span->variable) {
        text_add(&state->lane, " of ");
        escaped(&state->lane, timeline->strings[span->variable]);
    }
    if (span->place) {
        text_add(&state->lane, ", ");
        escaped(&state->lane, timeline->strings[span->place]);
    }
    text_addf(&state->lane, ", %s</title></rect>\n", units_format_ns((uint64_t)(slice->end_ns - slice->begin_ns), time));
    if (width > 60 && slice->span) {
        size_t most = (size_t)(width / 5.5);
        text_addf(&state->lane, "<text x=\"%.1f\" y=\"%d\" class=\"in%s\">%.*s</text>\n", x + 2, y + 8, is_dark(colour) ? " on-dark" : "", (int)(most < 40 ? most : 40), slice->name);
    }
}

/* ---- around them -------------------------------------------------------------------------------------------------------------- */

static void arrows_draw(struct svg_state *state)
{
    static const char *const classes[] = {"tasks", "tasks", "worker", "message"};
    const struct timeline *timeline = view_timeline(state->view);
    for (uint64_t number = 1; number <= view_arrow_count(state->view) && number <= ARROWS_SHOWN; number++) {
        const struct view_arrow *arrow = view_arrow(state->view, number);
        const struct span *from = &timeline->spans[arrow->from], *to = &timeline->spans[arrow->to];
        const int *ends = state->ends[number], leaves_y = ends[0] ? ends[0] : state->lane_of[from->thread], reaches_y = ends[1] ? ends[1] : state->lane_of[to->thread];
        if (!leaves_y || !reaches_y || from->thread == to->thread)
            continue;
        int64_t leaves_ns = arrow->kind == ARROW_MESSAGE || arrow->kind == ARROW_WORKER ? from->begin_ns : from->end_ns;
        int64_t comes_ns = arrow->kind == ARROW_MESSAGE ? to->end_ns : to->begin_ns;
        text_addf(&state->body, "<line x1=\"%.2f\" y1=\"%d\" x2=\"%.2f\" y2=\"%d\" class=\"%s\"/>\n", x_of(state, leaves_ns), leaves_y, x_of(state, comes_ns), reaches_y,
                  classes[arrow->kind]);
    }
}

static void axis_draw(struct svg_state *state, struct text *head)
{
    int64_t start_ns = view_timeline(state->view)->begin_ns;
    double range = (double)(state->end_ns - state->begin_ns), step = 1;
    static const double factors[] = {2, 2.5, 2};
    for (int i = 0; range / step > 12 && i < 60; i++)
        step *= factors[i % 3];
    double unit = range >= 2e9 ? 1e9 : range >= 2e6 ? 1e6 : range >= 2e3 ? 1e3 : 1;
    const char *name = range >= 2e9 ? "s" : range >= 2e6 ? "ms" : range >= 2e3 ? "us" : "ns";
    int places = 0;
    for (double part = step / unit; part < 0.999 && places < 6; part *= 10)
        places++;
    for (double at = 0; at <= range; at += step) {
        double x = (double)LEFT + (range > 0 ? at / range : 0) * (double)VIEW_SVG_WIDTH;
        text_addf(head, "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" class=\"grid\"/><text x=\"%.1f\" y=\"%d\" class=\"time\">%.*f %s</text>\n", x, TOP - 6, x, state->y, x, TOP - 10,
                  places, ((double)(state->begin_ns - start_ns) + at) / unit, name);
    }
}

static int by_time(const void *a, const void *b)
{
    const struct shown *left = a, *right = b;
    if (left->time_ns != right->time_ns)
        return left->time_ns < right->time_ns ? 1 : -1;
    return left->place < right->place ? -1 : left->place > right->place;
}

static int legend_draw(struct svg_state *state)
{
    const struct timeline *timeline = view_timeline(state->view);
    struct shown *list = malloc((timeline->string_count + 1) * sizeof *list);
    size_t count = 0;
    int drawn = 0;
    for (uint32_t i = 0; list && i < timeline->string_count; i++)
        if (state->colour_of[i])
            list[count++] = (struct shown){i, state->time_of[i]};
    if (list && count)
        qsort(list, count, sizeof *list, by_time);
    for (size_t i = 0; i < count + SPAN_KINDS && drawn < LEGEND_MOST; i++) {
        bool place = i < count && list;
        const char *colour = place ? palette[state->colour_of[list[i].place] - 1] : kind_colour((enum span_kind)(i - count)), *words = place ? timeline->strings[list[i].place] : NULL;
        if (!place && (!colour || !state->kinds[i - count]))
            continue;
        if (!place)
            words = span_kind_name((enum span_kind)(i - count));
        int x = LEFT + drawn % LEGEND_COLUMNS * (VIEW_SVG_WIDTH / LEGEND_COLUMNS), y = state->y + 14 + drawn / LEGEND_COLUMNS * LEGEND_ROW;
        text_addf(&state->body, "<rect x=\"%d\" y=\"%d\" width=\"12\" height=\"10\" fill=\"%s\" stroke=\"#999\" stroke-width=\"0.5\"/><text x=\"%d\" y=\"%d\">", x, y, colour, x + 17, y + 9);
        escaped(&state->body, words && *words ? words : "no source location");
        text_add(&state->body, "</text>\n");
        drawn++;
    }
    free(list);
    return state->y + 20 + (drawn + LEGEND_COLUMNS - 1) / LEGEND_COLUMNS * LEGEND_ROW;
}

static void text_put(struct svg_state *state, const struct text *text)
{
    for (size_t at = 0; at < text->length;) {
        size_t piece = text->length - at < VIEW_PIECE_MOST ? text->length - at : VIEW_PIECE_MOST;
        memcpy(view_room(state->output), text->data + at, piece);
        state->output->used += piece;
        at += piece;
    }
    state->output->failed |= text->failed;
}

static void svg_end(void *raw)
{
    struct svg_state *state = raw;
    struct text head = {0}, tail = {0};
    bool page = view_format(state->view) == VIEW_HTML;
    lane_close(state);
    state->body.failed |= state->lane.failed;
    arrows_draw(state);
    int height = legend_draw(state), width = LEFT + VIEW_SVG_WIDTH + 20;
    if (page)
        text_add(&head, PAGE_HEAD);
    text_addf(&head, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\">\n", width, height, width, height);
    text_add(&head, "<style>text{font:11px sans-serif;fill:#222}.process{font-weight:bold}.time{text-anchor:middle;font-size:10px;fill:#555}.in{font-size:8px;pointer-events:none}.in.on-dark{fill:#fff}"
                    ".lane{fill:#fafafa;stroke:#eee}.grid{stroke:#e2e2e2}.tasks{stroke:#555;stroke-width:0.6;stroke-opacity:0.7}.worker{stroke:#aa3377;stroke-width:0.6;stroke-opacity:0.6}"
                    ".message{stroke:#ee3377;stroke-width:0.8}.paper{fill:#fff}");
    text_addf(&head, "%s</style>\n<rect width=\"100%%\" height=\"100%%\" class=\"paper\"/>\n", page ? PAGE_DARK : "");
    axis_draw(state, &head);
    text_add(&tail, page ? "</svg>\n</div></body></html>\n" : "</svg>\n");
    text_put(state, &head);
    text_put(state, &state->body);
    text_put(state, &tail);
    text_done(&head);
    text_done(&tail);
    text_done(&state->body);
    text_done(&state->lane);
    free(state->colour_of);
    free(state->time_of);
    free(state->ends);
    free(state->lane_of);
    free(state);
}

struct view_sink view_svg_sink(const struct view *view, struct view_output *output)
{
    const struct timeline *timeline = view_timeline(view);
    struct svg_state *state = calloc(1, sizeof *state);
    if (state) {
        *state = (struct svg_state){.view = view, .output = output, .y = TOP, .process = TIMELINE_NONE, .colour_of = calloc(timeline->string_count + 1, 1),
                                    .time_of = calloc(timeline->string_count + 1, sizeof *state->time_of), .ends = calloc(ARROWS_SHOWN + 1, sizeof *state->ends),
                                    .lane_of = calloc(timeline->thread_count + 1, sizeof *state->lane_of), .thread = TIMELINE_NONE};
        view_range(view, &state->begin_ns, &state->end_ns);
        if (!state->colour_of || !state->time_of || !state->ends || !state->lane_of) {
            free(state->colour_of);
            free(state->time_of);
            free(state->ends);
            free(state->lane_of);
            free(state);
            state = NULL;
        }
    }
    return (struct view_sink){state, svg_thread, svg_slice, svg_end};
}
