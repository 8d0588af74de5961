/* trace/view_perfetto.c - a view as Perfetto's binary trace: protobuf messages, written by hand.
 *
 * Numbers of fields are those of Perfetto's published schema (tests/cli/perfetto.proto has what is used). A process and a thread are tracks; slices that do not nest in what is open on their thread go to a
 * further track of it. Names and argument names are sent once, and referred to by number.
 */
#include "trace/view.h"
#include "core/text.h"

#include <stdlib.h>
#include <string.h>

enum { LANES = 16, DEPTH = 256, SEQUENCE = 1 };
enum annotation { ANNOTATION_TASK = 1, ANNOTATION_TAG, ANNOTATION_ORIGIN, ANNOTATION_DESTINATION, ANNOTATION_LOCATION, ANNOTATION_PLACE, ANNOTATIONS };
static const char *const annotation_names[ANNOTATIONS] = {
    [ANNOTATION_TASK] = "task_id", [ANNOTATION_TAG] = "mpi_tag", [ANNOTATION_ORIGIN] = "origin", [ANNOTATION_DESTINATION] = "destination",
    [ANNOTATION_LOCATION] = "location", [ANNOTATION_PLACE] = "source_location",
};

struct lane { int64_t ends_ns[DEPTH]; size_t depth; bool told; };

struct perfetto_state {
    const struct view *view;
    struct view_output *output;
    uint32_t thread;             /* whose slices come */
    bool began, *processes_told;
    struct lane lanes[LANES];
    uint8_t *places_told;        /* [string] */
};

/* ---- wire format -------------------------------------------------------------------------------------------------------------- */

static char *varint(char *at, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *at++ = (char)(value | 0x80);
    *at++ = (char)value;
    return at;
}

static char *field_number(char *at, unsigned field, uint64_t value)
{
    return varint(varint(at, field << 3), value);
}

static char *field_fixed64(char *at, unsigned field, uint64_t value)
{
    at = varint(at, field << 3 | 1);
    memcpy(at, &value, sizeof value);
    return at + sizeof value;
}

static char *field_bytes(char *at, unsigned field, const void *data, size_t bytes)
{
    at = varint(varint(at, field << 3 | 2), bytes);
    memcpy(at, data, bytes);
    return at + bytes;
}

static char *field_text(char *at, unsigned field, const char *text)
{
    size_t length = strlen(text);
    return field_bytes(at, field, text, length < 4000 ? length : 4000);
}

/* A message of at most VIEW_PIECE_MOST bytes is made in place, three bytes behind its begin, where its length goes. */
static char *message_begin(char *at, unsigned field, char **ret_length)
{
    at = varint(at, field << 3 | 2);
    *ret_length = at;
    return at + 3;
}

static char *message_end(char *at, char *length)
{
    size_t bytes = (size_t)(at - length - 3);
    length[0] = (char)(bytes | 0x80);
    length[1] = (char)(bytes >> 7 | 0x80);
    length[2] = (char)(bytes >> 14);
    return at;
}

static void packet_end(struct perfetto_state *state, char *at, char *length)
{
    state->output->used = (size_t)(message_end(at, length) - state->output->buffer);
}

/* ---- tracks ------------------------------------------------------------------------------------------------------------------- */

static uint64_t process_track(uint32_t process)
{
    return 1 + process;
}

static uint64_t lane_track(uint32_t thread, size_t lane)
{
    return (uint64_t)1 << 32 | (uint64_t)thread << 8 | lane;
}

static void names_send(struct perfetto_state *state)
{
    char *packet, *interned, *name, *at = message_begin(view_room(state->output), 1, &packet);
    at = field_number(at, 10, SEQUENCE);
    at = field_number(at, 13, 1);                               /* what was referred to before is forgotten */
    at = message_begin(at, 12, &interned);
    for (unsigned i = 1; i < ANNOTATIONS; i++) {
        at = message_begin(at, 3, &name);
        at = field_text(field_number(at, 1, i), 2, annotation_names[i]);
        at = message_end(at, name);
    }
    for (unsigned kind = SPAN_OTHER + 1; kind < SPAN_KINDS; kind++) {
        at = message_begin(at, 2, &name);
        at = field_text(field_number(at, 1, kind), 2, span_kind_name((enum span_kind)kind));
        at = message_end(at, name);
    }
    packet_end(state, message_end(at, interned), packet);
}

static void place_send(struct perfetto_state *state, uint32_t place)
{
    char *packet, *interned, *name, *at;
    if (state->places_told[place])
        return;
    state->places_told[place] = 1;
    at = message_begin(view_room(state->output), 1, &packet);
    at = field_number(field_number(at, 10, SEQUENCE), 13, 2);
    at = message_begin(at, 12, &interned);
    at = message_begin(at, 29, &name);
    at = field_text(field_number(at, 1, place), 2, view_timeline(state->view)->strings[place]);
    at = message_end(at, name);
    packet_end(state, message_end(at, interned), packet);
}

static void process_send(struct perfetto_state *state, uint32_t process)
{
    const struct timeline *timeline = view_timeline(state->view);
    char *packet, *track, *inner, *at = message_begin(view_room(state->output), 1, &packet);
    at = message_begin(field_number(at, 10, SEQUENCE), 60, &track);
    at = field_number(at, 1, process_track(process));
    at = message_begin(at, 3, &inner);
    at = field_number(at, 1, process + 1);
    at = field_text(at, 6, timeline->strings[timeline->processes[process].name]);
    packet_end(state, message_end(message_end(at, inner), track), packet);
    state->processes_told[process] = true;
}

static void lane_send(struct perfetto_state *state, size_t lane)
{
    const struct timeline *timeline = view_timeline(state->view);
    const struct timeline_thread *thread = &timeline->threads[state->thread];
    char *packet, *track, *inner, *at = message_begin(view_room(state->output), 1, &packet);
    at = message_begin(field_number(at, 10, SEQUENCE), 60, &track);
    at = field_number(at, 1, lane_track(state->thread, lane));
    if (lane) {
        at = field_number(field_text(at, 2, "at the same time"), 5, lane_track(state->thread, 0));
    } else {
        at = field_number(at, 5, process_track(thread->process));
        at = message_begin(at, 4, &inner);
        at = field_number(field_number(at, 1, thread->process + 1), 2, state->thread + 1);
        at = message_end(field_text(at, 5, timeline->strings[thread->name]), inner);
    }
    packet_end(state, message_end(at, track), packet);
    state->lanes[lane].told = true;
}

/* ---- slices ------------------------------------------------------------------------------------------------------------------- */

static uint64_t time_of(const struct perfetto_state *state, int64_t ns)
{
    return (uint64_t)(ns - view_timeline(state->view)->begin_ns);
}

static void end_send(struct perfetto_state *state, size_t lane, int64_t end_ns)
{
    char *packet, *event, *at = message_begin(view_room(state->output), 1, &packet);
    at = field_number(field_number(at, 8, time_of(state, end_ns)), 10, SEQUENCE);
    at = message_begin(at, 11, &event);
    at = field_number(field_number(at, 9, 2), 11, lane_track(state->thread, lane));
    packet_end(state, message_end(at, event), packet);
}

static void lane_close(struct perfetto_state *state, size_t lane, int64_t until_ns)
{
    struct lane *open = &state->lanes[lane];
    while (open->depth && open->ends_ns[open->depth - 1] <= until_ns)
        end_send(state, lane, open->ends_ns[--open->depth]);
}

static size_t lane_choose(struct perfetto_state *state, const struct view_slice *slice)
{
    size_t lane = 0;
    for (; lane < LANES - 1; lane++) {
        const struct lane *open = &state->lanes[lane];
        size_t depth = open->depth;
        while (depth && open->ends_ns[depth - 1] <= slice->begin_ns)
            depth--;
        if (depth < DEPTH - 2 && (!depth || open->ends_ns[depth - 1] >= slice->end_ns))
            break;
    }
    return lane;
}

static char *annotation(char *at, enum annotation name, uint64_t value)
{
    char *length;
    at = message_begin(at, 4, &length);
    return message_end(field_number(field_number(at, 1, name), name == ANNOTATION_PLACE ? 17 : 3, value), length);
}

static char *annotations(const struct perfetto_state *state, char *at, const struct span *span)
{
    const struct timeline *timeline = view_timeline(state->view);
    if (span->task != TIMELINE_NONE)
        at = annotation(at, ANNOTATION_TASK, span->task);
    if (span->tag != TIMELINE_NONE && span_is_data((enum span_kind)span->kind))
        at = annotation(at, ANNOTATION_TAG, span->tag);
    if (span->origin != UINT16_MAX)
        at = annotation(at, ANNOTATION_ORIGIN, span->origin);
    if (span->destination != UINT16_MAX) {
        at = annotation(at, ANNOTATION_DESTINATION, span->destination);
        at = annotation(at, ANNOTATION_LOCATION, timeline->processes[timeline->threads[span->thread].process].role);
    }
    return span->place ? annotation(at, ANNOTATION_PLACE, span->place) : at;
}

static void slice_send(struct perfetto_state *state, size_t lane, const struct view_slice *slice, const char *name)
{
    char *packet, *event, *at = message_begin(view_room(state->output), 1, &packet);
    at = field_number(field_number(at, 8, time_of(state, slice->begin_ns)), 10, SEQUENCE);
    at = field_number(at, 13, 2);
    at = message_begin(at, 11, &event);
    at = field_number(field_number(at, 9, 1), 11, lane_track(state->thread, lane));
    if (slice->span && name == span_kind_name((enum span_kind)slice->span->kind))
        at = field_number(at, 10, slice->span->kind);
    else
        at = field_text(at, 23, name);
    if (slice->span)
        at = annotations(state, at, slice->span);
    for (size_t i = 0; i < slice->leaves_count; i++)
        at = field_fixed64(at, 47, slice->leaves[i]);
    for (size_t i = 0; i < slice->reaches_count; i++)
        at = field_fixed64(at, 48, slice->reaches[i]);
    packet_end(state, message_end(at, event), packet);
    state->lanes[lane].ends_ns[state->lanes[lane].depth++] = slice->end_ns;
}

static void perfetto_slice(void *raw, const struct view_slice *slice)
{
    struct perfetto_state *state = raw;
    size_t lane = lane_choose(state, slice);
    if (slice->span && slice->span->place)
        place_send(state, slice->span->place);
    if (!state->lanes[lane].told)
        lane_send(state, lane);
    lane_close(state, lane, slice->begin_ns);
    if (lane == LANES - 1)
        lane_close(state, lane, INT64_MAX);                     /* too many at once: cut */
    if (view_is_user(state->view) && slice->span && slice->span->variable) {
        struct view_slice variable = *slice;
        variable.leaves_count = variable.reaches_count = 0;
        slice_send(state, lane, &variable, view_timeline(state->view)->strings[slice->span->variable]);
    }
    slice_send(state, lane, slice, slice->name);
}

static void lanes_close(struct perfetto_state *state)
{
    for (size_t lane = 0; lane < LANES; lane++) {
        lane_close(state, lane, INT64_MAX);
        state->lanes[lane].told = false;
    }
}

static void perfetto_thread(void *raw, uint32_t thread)
{
    struct perfetto_state *state = raw;
    if (!state->began)
        names_send(state);
    state->began = true;
    lanes_close(state);
    state->thread = thread;
    uint32_t process = view_timeline(state->view)->threads[thread].process;
    if (!state->processes_told[process])
        process_send(state, process);
    lane_send(state, 0);
}

static void perfetto_end(void *raw)
{
    struct perfetto_state *state = raw;
    lanes_close(state);
    free(state->processes_told);
    free(state->places_told);
    free(state);
}

struct view_sink view_perfetto_sink(const struct view *view, struct view_output *output)
{
    const struct timeline *timeline = view_timeline(view);
    struct perfetto_state *state = calloc(1, sizeof *state);
    if (state) {
        *state = (struct perfetto_state){.view = view, .output = output, .processes_told = calloc(timeline->process_count + 1, sizeof *state->processes_told),
                                         .places_told = calloc(timeline->string_count + 1, 1)};
        if (!state->processes_told || !state->places_told) {
            free(state->processes_told);
            free(state->places_told);
            free(state);
            state = NULL;
        }
    }
    return (struct view_sink){state, perfetto_thread, perfetto_slice, perfetto_end};
}
