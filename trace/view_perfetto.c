/* trace/view_perfetto.c - a view as Perfetto's binary trace: protobuf messages, written by hand.
 *
 * Numbers of fields are those of Perfetto's published schema (tests/cli/perfetto.proto has what is used). A process and a thread are tracks; slices that do not nest in what is open on their thread go to a
 * further track of it (a lane). Each lane is a sequence of packets of its own: what all its packets share is sent once at its begin, with a clock that counts from packet to packet, and names, argument names and places are sent
 * once and referred to by number. So a packet is small, and threads can be written at the same time.
 */
#include "trace/view.h"
#include "core/text.h"

#include <stdlib.h>
#include <string.h>

enum { LANES = 16, DEPTH = 256, CLOCK_BOOT = 6, CLOCK_STEPS = 64 /* of its sequence, counts from the packet before */, STATE_CLEARED = 1, STATE_NEEDED = 2 };
enum annotation { ANNOTATION_TASK = 1, ANNOTATION_TAG, ANNOTATION_ORIGIN, ANNOTATION_DESTINATION, ANNOTATION_LOCATION, ANNOTATION_PLACE, ANNOTATIONS };
static const char *const annotation_names[ANNOTATIONS] = {
    [ANNOTATION_TASK] = "task_id", [ANNOTATION_TAG] = "mpi_tag", [ANNOTATION_ORIGIN] = "origin", [ANNOTATION_DESTINATION] = "destination",
    [ANNOTATION_LOCATION] = "location", [ANNOTATION_PLACE] = "source_location",
};

struct lane { int64_t ends_ns[DEPTH]; size_t depth; int64_t last_ns; uint32_t sequence; /* 0: not begun */ };

struct perfetto_state {
    const struct view *view;
    struct view_output *output;
    uint32_t thread;             /* whose slices come */
    bool *processes_told;
    uint64_t *places_told, *names_told;         /* [string], [name's number]: the thread that was told last + 1, << LANES | a bit for each of its lanes that was */
    struct lane lanes[LANES];
};

/* ---- wire format -------------------------------------------------------------------------------------------------------------- */

static inline char *varint(char *at, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *at++ = (char)(value | 0x80);
    *at++ = (char)value;
    return at;
}

static inline char *field_number(char *at, unsigned field, uint64_t value)
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

/* A message is made in place, behind as many bytes as its length may need. Widths of one byte hold 127 bytes, of two 16383, of three VIEW_PIECE_MOST. */
static inline char *message_begin(char *at, unsigned field, unsigned width, char **ret_length)
{
    at = varint(at, field << 3 | 2);
    *ret_length = at;
    return at + width;
}

static inline char *message_end(char *at, char *length, unsigned width)
{
    size_t bytes = (size_t)(at - length - width);
    for (unsigned i = 0; i + 1 < width; i++, bytes >>= 7)
        length[i] = (char)(bytes | 0x80);
    length[width - 1] = (char)bytes;
    return at;
}

static char *packet_begin(struct perfetto_state *state, const struct lane *lane, unsigned flags, unsigned width, char **ret_packet)
{
    char *at = message_begin(view_room(state->output), 1, width, ret_packet);
    return field_number(field_number(at, 10, lane->sequence), 13, flags);
}

static void packet_end(struct perfetto_state *state, char *at, char *packet, unsigned width)
{
    state->output->used = (size_t)(message_end(at, packet, width) - state->output->buffer);
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

static uint32_t lane_sequence(const struct perfetto_state *state, size_t lane)
{
    size_t threads = view_timeline(state->view)->thread_count;
    return 1 + (uint32_t)(lane ? threads + state->thread * (LANES - 1) + lane - 1 : state->thread);
}

/* The lane's sequence: its track and clock for all its packets, and the names of arguments. */
static void sequence_begin(struct perfetto_state *state, size_t number)
{
    struct lane *lane = &state->lanes[number];
    char *packet, *outer, *inner, *at;
    *lane = (struct lane){.sequence = lane_sequence(state, number), .last_ns = view_timeline(state->view)->begin_ns};
    at = packet_begin(state, lane, STATE_CLEARED, 3, &packet);
    at = message_begin(at, 59, 2, &outer);
    at = field_number(at, 58, CLOCK_STEPS);
    at = message_begin(at, 11, 2, &inner);
    at = message_end(field_number(at, 11, lane_track(state->thread, number)), inner, 2);
    at = message_end(at, outer, 2);
    at = message_begin(at, 6, 2, &outer);
    at = message_begin(at, 1, 1, &inner);
    at = message_end(field_number(field_number(at, 1, CLOCK_BOOT), 2, 0), inner, 1);
    at = message_begin(at, 1, 1, &inner);
    at = message_end(field_number(field_number(field_number(at, 1, CLOCK_STEPS), 2, 0), 3, 1), inner, 1);
    at = message_end(at, outer, 2);
    at = message_begin(at, 12, 3, &outer);
    for (unsigned i = 1; i < ANNOTATIONS; i++) {
        at = message_begin(at, 3, 2, &inner);
        at = message_end(field_text(field_number(at, 1, i), 2, annotation_names[i]), inner, 2);
    }
    packet_end(state, message_end(at, outer, 3), packet, 3);
}

/* A text that slices of this lane refer to, if it was not sent yet. */
static void text_send(struct perfetto_state *state, size_t lane, uint64_t *told, unsigned field, uint32_t number, const char *text)
{
    uint64_t known = told[number] >> LANES == state->thread + UINT64_C(1) ? told[number] : (state->thread + UINT64_C(1)) << LANES;
    told[number] = known | UINT64_C(1) << lane;
    if (known == told[number])
        return;
    char *packet, *interned, *name, *at = packet_begin(state, &state->lanes[lane], STATE_NEEDED, 3, &packet);
    at = message_begin(at, 12, 3, &interned);
    at = message_begin(at, field, 3, &name);
    at = message_end(field_text(field_number(at, 1, number), 2, text), name, 3);
    packet_end(state, message_end(at, interned, 3), packet, 3);
}

static void process_send(struct perfetto_state *state, uint32_t process)
{
    const struct timeline *timeline = view_timeline(state->view);
    char *packet, *track, *inner, *at = packet_begin(state, &state->lanes[0], STATE_NEEDED, 3, &packet);
    at = message_begin(at, 60, 3, &track);
    at = field_number(at, 1, process_track(process));
    at = message_begin(at, 3, 3, &inner);
    at = field_number(at, 1, process + 1);
    at = field_text(at, 6, timeline->strings[timeline->processes[process].name]);
    packet_end(state, message_end(message_end(at, inner, 3), track, 3), packet, 3);
    state->processes_told[process] = true;
}

static void lane_send(struct perfetto_state *state, size_t lane)
{
    const struct timeline *timeline = view_timeline(state->view);
    const struct timeline_thread *thread = &timeline->threads[state->thread];
    char *packet, *track, *inner, *at;
    sequence_begin(state, lane);
    if (!state->processes_told[thread->process])
        process_send(state, thread->process);
    at = packet_begin(state, &state->lanes[lane], STATE_NEEDED, 3, &packet);
    at = message_begin(at, 60, 3, &track);
    at = field_number(at, 1, lane_track(state->thread, lane));
    if (lane) {
        at = field_number(field_text(at, 2, "at the same time"), 5, lane_track(state->thread, 0));
    } else {
        at = field_number(at, 5, process_track(thread->process));
        at = message_begin(at, 4, 3, &inner);
        at = field_number(field_number(at, 1, thread->process + 1), 2, state->thread + 1);
        at = message_end(field_text(at, 5, timeline->strings[thread->name]), inner, 3);
    }
    packet_end(state, message_end(at, track, 3), packet, 3);
}

/* ---- slices ------------------------------------------------------------------------------------------------------------------- */

/* Since the packet before: a lane's times never fall. */
static uint64_t time_step(struct lane *lane, int64_t ns)
{
    uint64_t step = ns > lane->last_ns ? (uint64_t)(ns - lane->last_ns) : 0;
    lane->last_ns += (int64_t)step;
    return step;
}

static void end_send(struct perfetto_state *state, struct lane *lane, int64_t end_ns)
{
    char *packet, *at = packet_begin(state, lane, STATE_NEEDED, 1, &packet), *event;
    at = field_number(at, 8, time_step(lane, end_ns));
    at = message_begin(at, 11, 1, &event);
    at = message_end(field_number(at, 9, 2), event, 1);
    packet_end(state, at, packet, 1);
}

static void lane_close(struct perfetto_state *state, struct lane *lane, int64_t until_ns)
{
    while (lane->depth && lane->ends_ns[lane->depth - 1] <= until_ns)
        end_send(state, lane, lane->ends_ns[--lane->depth]);
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

static inline char *annotation(char *at, enum annotation name, uint64_t value)
{
    char *length;
    at = message_begin(at, 4, 1, &length);
    return message_end(field_number(field_number(at, 1, name), name == ANNOTATION_PLACE ? 17 : 3, value), length, 1);
}

static inline char *annotations(const struct perfetto_state *state, char *at, const struct span *span)
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

/* `number` as in struct view_slice. */
static void slice_send(struct perfetto_state *state, size_t lane_number, const struct view_slice *slice, const char *name, uint32_t number)
{
    struct lane *lane = &state->lanes[lane_number];
    size_t name_length = number ? 0 : strlen(name), arrows = slice->leaves_count + slice->reaches_count;
    unsigned width = name_length + arrows < 1000 ? 2 : 3, event_width = name_length < 30 && !arrows ? 1 : width;
    if (number)
        text_send(state, lane_number, state->names_told, 2, number, name);
    char *packet, *event, *at = packet_begin(state, lane, STATE_NEEDED, width, &packet);
    at = field_number(at, 8, time_step(lane, slice->begin_ns));
    at = message_begin(at, 11, event_width, &event);
    at = field_number(at, 9, 1);
    at = number ? field_number(at, 10, number) : field_bytes(at, 23, name, name_length < 4000 ? name_length : 4000);
    if (slice->span)
        at = annotations(state, at, slice->span);
    for (size_t i = 0; i < slice->leaves_count; i++)
        at = field_fixed64(at, 47, slice->leaves[i]);
    for (size_t i = 0; i < slice->reaches_count; i++)
        at = field_fixed64(at, 48, slice->reaches[i]);
    packet_end(state, message_end(at, event, event_width), packet, width);
    lane->ends_ns[lane->depth++] = slice->end_ns;
}

static void perfetto_slice(void *raw, const struct view_slice *slice)
{
    struct perfetto_state *state = raw;
    size_t number = lane_choose(state, slice);
    struct lane *lane = &state->lanes[number];
    if (!lane->sequence)
        lane_send(state, number);
    if (slice->span && slice->span->place)
        text_send(state, number, state->places_told, 29, slice->span->place, view_timeline(state->view)->strings[slice->span->place]);
    lane_close(state, lane, slice->begin_ns);
    while (number == LANES - 1 && lane->depth)                  /* too many at once: cut */
        end_send(state, lane, slice->begin_ns), lane->depth--;
    if (view_is_user(state->view) && slice->span && slice->span->variable) {
        struct view_slice variable = *slice;
        variable.leaves_count = variable.reaches_count = 0;
        slice_send(state, number, &variable, view_timeline(state->view)->strings[slice->span->variable], 0);
    }
    slice_send(state, number, slice, slice->name, slice->name_number);
}

static void lanes_close(struct perfetto_state *state)
{
    for (size_t lane = 0; lane < LANES; lane++) {
        lane_close(state, &state->lanes[lane], INT64_MAX);
        state->lanes[lane].sequence = 0;
    }
}

static void perfetto_thread(void *raw, uint32_t thread)
{
    struct perfetto_state *state = raw;
    lanes_close(state);
    state->thread = thread;
    lane_send(state, 0);
}

static void state_free(struct perfetto_state *state)
{
    free(state->processes_told);
    free(state->places_told);
    free(state->names_told);
    free(state);
}

static void perfetto_end(void *raw)
{
    lanes_close(raw);
    state_free(raw);
}

struct view_sink view_perfetto_sink(const struct view *view, struct view_output *output)
{
    const struct timeline *timeline = view_timeline(view);
    struct perfetto_state *state = calloc(1, sizeof *state);
    if (state) {
        *state = (struct perfetto_state){.view = view, .output = output, .processes_told = calloc(timeline->process_count + 1, sizeof *state->processes_told),
                                         .places_told = calloc(timeline->string_count + 1, sizeof *state->places_told),
                                         .names_told = calloc(view_name_most(view) + 1u, sizeof *state->names_told)};
        if (!state->processes_told || !state->places_told || !state->names_told) {
            state_free(state);
            state = NULL;
        }
    }
    return (struct view_sink){state, perfetto_thread, perfetto_slice, perfetto_end};
}
