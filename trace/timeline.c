/* trace/timeline.c - see timeline.h: the arrays of the model, names, roles, pairs. */
#include "trace/timeline.h"
#include "core/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

void timeline_done(struct timeline *timeline)
{
    if (!timeline)
        return;
    for (size_t i = 0; i < timeline->string_count; i++)
        free(timeline->strings[i]);
    free(timeline->strings);
    free(timeline->string_slots);
    free(timeline->processes);
    free(timeline->threads);
    free(timeline->spans);
    free(timeline->tasks);
    free(timeline->dependences);
    free(timeline->steps);
    free(timeline->actors);
    free(timeline->teams);
    *timeline = (struct timeline){0};
}

/* ---- strings ----------------------------------------------------------------------------------------------------------------- */

static bool slots_grow(struct timeline *timeline)
{
    size_t count = timeline->string_slot_count ? timeline->string_slot_count * 2 : 256;
    uint64_t *slots = calloc(count, sizeof *slots);
    if (!slots)
        return false;
    for (size_t i = 0; i < timeline->string_slot_count; i++) {
        uint64_t slot = timeline->string_slots[i];
        size_t place = (size_t)(slot >> 32) & (count - 1);
        while (slot && slots[place])
            place = (place + 1) & (count - 1);
        if (slot)
            slots[place] = slot;
    }
    free(timeline->string_slots);
    timeline->string_slots = slots;
    timeline->string_slot_count = count;
    return true;
}

static bool string_append(struct timeline *timeline, const char *text, size_t length)
{
    if (timeline->string_count >= UINT32_MAX / 2 ||
        !array_reserve(&timeline->strings, &timeline->string_capacity, timeline->string_count + 1, sizeof *timeline->strings))
        return false;
    char *copy = malloc(length + 1);
    if (!copy)
        return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    timeline->strings[timeline->string_count++] = copy;
    return true;
}

bool timeline_string(struct timeline *timeline, const char *text, size_t length, uint32_t *ret_string)
{
    if (!timeline->string_count && !string_append(timeline, "", 0))
        return false;
    length = length ? strnlen(text, length) : 0;         /* in a damaged file there may be anything in it */
    if (!length) {
        *ret_string = 0;
        return true;
    }
    if (timeline->string_count * 2 >= timeline->string_slot_count && !slots_grow(timeline))
        return false;
    uint64_t hash = XXH3_64bits(text, length) >> 32, mask = timeline->string_slot_count - 1;
    size_t place = (size_t)(hash & mask);
    for (uint64_t slot; (slot = timeline->string_slots[place]) != 0; place = (place + 1) & mask) {
        uint32_t string = (uint32_t)slot - 1;
        const char *known = timeline->strings[string];
        if (slot >> 32 == hash && strncmp(known, text, length) == 0 && known[length] == '\0') {
            *ret_string = string;
            return true;
        }
    }
    if (!string_append(timeline, text, length))
        return false;
    timeline->string_slots[place] = hash << 32 | timeline->string_count;
    *ret_string = (uint32_t)timeline->string_count - 1;
    return true;
}

/* ---- processes, threads, spans ----------------------------------------------------------------------------------------------- */

bool timeline_process(struct timeline *timeline, int64_t pid, uint32_t *ret_process)
{
    for (size_t i = 0; i < timeline->process_count; i++)
        if (timeline->processes[i].pid == pid) {
            *ret_process = (uint32_t)i;
            return true;
        }
    if (!array_reserve(&timeline->processes, &timeline->process_capacity, timeline->process_count + 1, sizeof *timeline->processes))
        return false;
    timeline->processes[timeline->process_count] = (struct timeline_process){.pid = pid, .role = TIMELINE_NONE, .home = (uint32_t)timeline->process_count};
    *ret_process = (uint32_t)timeline->process_count++;
    return true;
}

bool timeline_thread(struct timeline *timeline, uint32_t process, int64_t tid, uint32_t *ret_thread)
{
    for (size_t i = timeline->thread_count; i-- > 0;)
        if (timeline->threads[i].tid == tid && timeline->threads[i].process == process) {
            *ret_thread = (uint32_t)i;
            return true;
        }
    if (!array_reserve(&timeline->threads, &timeline->thread_capacity, timeline->thread_count + 1, sizeof *timeline->threads))
        return false;
    timeline->threads[timeline->thread_count] = (struct timeline_thread){.process = process, .tid = tid};
    *ret_thread = (uint32_t)timeline->thread_count++;
    return true;
}

/* It is known that its process is no head, so that begins and ends stay what they are. */
static bool stays_apart(const struct timeline *timeline, const struct span *span)
{
    uint32_t role = timeline->processes[timeline->threads[span->thread].process].role;
    return timeline->apart == TIMELINE_ALL_APART || (timeline->apart == TIMELINE_WORKERS_APART && role != TIMELINE_NONE && role != 0);
}

bool timeline_is_outside(const struct timeline *timeline, const struct span *span)
{
    return timeline->has_window && (span->part == SPAN_WHOLE || span->part == SPAN_JOINED || stays_apart(timeline, span)) && span->kind != SPAN_MESSAGE &&
           (span->end_ns < timeline->window_begin_ns || span->begin_ns > timeline->window_end_ns);
}

bool timeline_span(struct timeline *timeline, const struct span *span)
{
    if (timeline->wanted && !(timeline->wanted >> span->kind & 1)) {
        timeline->unwanted++;
        goto bounds;
    }
    if (timeline_is_outside(timeline, span)) {
        timeline->unwanted++;
        goto bounds;
    }
    if (timeline->least_ns && timeline->span_count >= timeline->coarse_at && !timeline_coarsen(timeline))
        return false;
    if (!array_reserve(&timeline->spans, &timeline->span_capacity, timeline->span_count + 1, sizeof *timeline->spans))
        return false;
    timeline->spans[timeline->span_count++] = *span;
bounds:
    if (!timeline->has_bounds || span->begin_ns < timeline->begin_ns)
        timeline->begin_ns = span->begin_ns;
    if (!timeline->has_bounds || span->end_ns > timeline->end_ns)
        timeline->end_ns = span->end_ns;
    timeline->has_bounds = true;
    return true;
}

/* ---- names ------------------------------------------------------------------------------------------------------------------- */

static const char *const kind_names[SPAN_KINDS] = {
    [SPAN_RUNTIME] = "Runtime Execution", [SPAN_TARGET] = "Target", [SPAN_TARGET_ENTER] = "Target Enter", [SPAN_TARGET_EXIT] = "Target Exit",
    [SPAN_TASK] = "Task", [SPAN_EXECUTE] = "Execute", [SPAN_ALLOC] = "Alloc", [SPAN_SUBMIT] = "Submit", [SPAN_RETRIEVE] = "Retrieve",
    [SPAN_FORWARD] = "Forward", [SPAN_DELETE] = "Delete", [SPAN_PARALLEL] = "Parallel", [SPAN_IMPLICIT] = "Implicit Task", [SPAN_LOOP] = "Loop",
    [SPAN_CHUNK] = "Chunk", [SPAN_SINGLE] = "Single", [SPAN_MASKED] = "Masked", [SPAN_BARRIER] = "Barrier", [SPAN_TASKWAIT] = "Taskwait",
    [SPAN_TASKGROUP] = "Taskgroup", [SPAN_MUTEX] = "Mutex", [SPAN_SERIAL] = "Serial", [SPAN_TARGET_UPDATE] = "Target Update", [SPAN_MESSAGE] = "Message",
};

const char *span_kind_name(enum span_kind kind)
{
    return kind > SPAN_OTHER && kind < SPAN_KINDS ? kind_names[kind] : NULL;
}

static bool ends_with(const char *text, size_t length, const char *end, size_t *ret_left)
{
    size_t bytes = strlen(end);
    if (length < bytes || strncasecmp(text + length - bytes, end, bytes) != 0)
        return false;
    *ret_left = length - bytes;
    return true;
}

static size_t trimmed(const char *text, size_t length)
{
    while (length && strchr(" /()_", text[length - 1]))
        length--;
    return length;
}

static bool task_read(const char *text, size_t length, uint32_t *ret_task)
{
    uint64_t number = 0;
    if (length < 6 || strncmp(text, "Task ", 5) != 0)
        return false;
    for (size_t i = 5; i < length; i++) {
        if (text[i] < '0' || text[i] > '9' || (number = number * 10 + (uint64_t)(text[i] - '0')) >= TIMELINE_NONE)
            return false;
    }
    *ret_task = (uint32_t)number;
    return true;
}

struct span_name span_name_read(const char *text, size_t length)
{
    struct span_name name = {SPAN_OTHER, SPAN_WHOLE, false, TIMELINE_NONE};
    if (task_read(text, length, &name.task)) {
        name.kind = SPAN_TASK;
        return name;
    }
    length = trimmed(text, length);
    if (ends_with(text, length, "/ Begin", &length))
        name.part = SPAN_BEGIN;
    else if (ends_with(text, length, "/ End", &length))
        name.part = SPAN_END;
    length = trimmed(text, length);
    if (ends_with(text, length, "Nowait", &length))
        name.nowait = true;
    length = trimmed(text, length);
    if (length > 5 && strncmp(text, "OMPC ", 5) == 0) {
        text += 5;
        length -= 5;
    }
    if (length > 4 && strncmp(text, "MPI ", 4) == 0)         /* as traces of ours name them when they are exported */
        name.kind = SPAN_MESSAGE;
    for (unsigned kind = SPAN_RUNTIME; kind < SPAN_KINDS; kind++)
        if (strlen(kind_names[kind]) == length && strncasecmp(text, kind_names[kind], length) == 0)
            name.kind = (enum span_kind)kind;
    return name;
}

/* ---- roles ------------------------------------------------------------------------------------------------------------------- */

static uint32_t role_of_name(const char *name)
{
    if (strcasestr(name, "head"))
        return 0;
    const char *worker = strncmp(name, "Rank ", 5) == 0 ? name : strcasestr(name, "worker");
    if (!worker)
        return TIMELINE_NONE;
    while (*worker && !isdigit((unsigned char)*worker))
        worker++;
    unsigned long number = *worker ? strtoul(worker, NULL, 10) : 0;
    return number < UINT16_MAX - 1 ? (uint32_t)number + 1 : TIMELINE_NONE;
}

void timeline_roles_name(struct timeline *timeline)
{
    for (size_t i = 0; i < timeline->process_count; i++)
        if (timeline->processes[i].role == TIMELINE_NONE && timeline->processes[i].name)
            timeline->processes[i].role = role_of_name(timeline->strings[timeline->processes[i].name]);
}

void timeline_roles_find(struct timeline *timeline)
{
    bool told = true;
    for (size_t i = 0; i < timeline->process_count; i++) {
        struct timeline_process *process = &timeline->processes[i];
        if (process->role == TIMELINE_NONE && process->name)
            process->role = role_of_name(timeline->strings[process->name]);
        told &= process->role != TIMELINE_NONE;
    }
    for (size_t i = 0; i < timeline->process_count && !told; i++) {
        timeline->processes[i].role = 0;
        for (size_t j = 0; j < timeline->process_count; j++)
            timeline->processes[i].role += timeline->processes[j].pid < timeline->processes[i].pid;
    }
}

/* ---- pairs ------------------------------------------------------------------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
    const struct span *left = a, *right = b;
    if (left->thread != right->thread)
        return left->thread < right->thread ? -1 : 1;
    if (left->begin_ns != right->begin_ns)
        return left->begin_ns < right->begin_ns ? -1 : 1;
    return left->end_ns > right->end_ns ? -1 : left->end_ns < right->end_ns;
}

struct open_pair { uint64_t key; size_t span; };   /* span + 1; SIZE_MAX: was closed */

static uint64_t pair_key(const struct timeline *timeline, const struct span *span)
{
    return ((uint64_t)timeline->threads[span->thread].process << 40 ^ (uint64_t)span->kind << 32 ^ span->tag) * 0x9e3779b97f4a7c15u | 1;
}

static struct open_pair *pair_find(struct open_pair *pairs, size_t mask, uint64_t key)
{
    size_t place = (size_t)(key >> 20) & mask;
    while (pairs[place].key && pairs[place].key != key)
        place = (place + 1) & mask;
    return &pairs[place];
}

/* One that a partner is looked for. */
static bool is_half(const struct timeline *timeline, const struct span *span)
{
    if ((span->part != SPAN_BEGIN && span->part != SPAN_END) || timeline->apart == TIMELINE_ALL_APART)
        return false;
    return timeline->apart == TIMELINE_PAIRED || timeline->processes[timeline->threads[span->thread].process].role == 0;
}

/* By thread first, by counting; a thread's spans mostly have their order already. */
static bool spans_sort(struct timeline *timeline)
{
    size_t *places = calloc(timeline->thread_count + 2, sizeof *places);
    struct span *sorted = malloc((timeline->span_count + 1) * sizeof *sorted);
    if (!places || !sorted) {
        free(places);
        free(sorted);
        return false;
    }
    for (size_t i = 0; i < timeline->span_count; i++)
        places[timeline->spans[i].thread + 2]++;
    for (size_t i = 2; i < timeline->thread_count + 2; i++)
        places[i] += places[i - 1];
    for (size_t i = 0; i < timeline->span_count; i++)
        sorted[places[timeline->spans[i].thread + 1]++] = timeline->spans[i];
    for (size_t thread = 0; thread < timeline->thread_count; thread++) {
        size_t first = places[thread], count = places[thread + 1] - first, i = 1;
        while (i < count && by_place(&sorted[first + i - 1], &sorted[first + i]) <= 0)
            i++;
        if (i < count)
            qsort(sorted + first, count, sizeof *sorted, by_place);
    }
    free(places);
    free(timeline->spans);
    timeline->spans = sorted;
    timeline->span_capacity = timeline->span_count + 1;
    return true;
}

/* `last`: what has no partner now has none. False: no memory. */
static bool halves_pair(struct timeline *timeline, bool last)
{
    uint64_t unfinished = timeline->unfinished;
    bool sorted = true;
    size_t parts = 0;
    for (size_t i = 0; i < timeline->span_count; i++) {
        parts += is_half(timeline, &timeline->spans[i]);
        sorted = sorted && (!i || by_place(&timeline->spans[i - 1], &timeline->spans[i]) <= 0);
    }
    if (!sorted && !spans_sort(timeline))
        return false;
    if (!parts)
        return true;
    size_t mask = 64;
    while (mask < parts * 2)
        mask *= 2;
    struct open_pair *pairs = calloc(mask--, sizeof *pairs);
    if (!pairs)
        return false;
    for (size_t i = 0; i < timeline->span_count; i++)
        if (timeline->spans[i].part == SPAN_BEGIN && is_half(timeline, &timeline->spans[i])) {
            struct open_pair *pair = pair_find(pairs, mask, pair_key(timeline, &timeline->spans[i]));
            timeline->unfinished += pair->key != 0;
            *pair = (struct open_pair){pair_key(timeline, &timeline->spans[i]), i};
        }
    size_t kept = 0;
    for (size_t i = 0; i < timeline->span_count; i++) {
        struct span *span = &timeline->spans[i];
        if (span->part != SPAN_END || !is_half(timeline, span))
            continue;
        struct open_pair *pair = pair_find(pairs, mask, pair_key(timeline, span));
        struct span *begin = pair->key && pair->span != SIZE_MAX ? &timeline->spans[pair->span] : NULL;
        if (!begin || begin->begin_ns > span->end_ns) {
            timeline->unfinished++;
            continue;
        }
        begin->end_ns = span->end_ns;
        begin->part = SPAN_WHOLE;
        if (!begin->place)
            begin->place = span->place;
        pair->span = SIZE_MAX;
        span->kind = SPAN_KINDS;                    /* taken */
    }
    for (size_t i = 0; i < timeline->span_count; i++) {
        timeline->unfinished += timeline->spans[i].kind != SPAN_KINDS && timeline->spans[i].part == SPAN_BEGIN && is_half(timeline, &timeline->spans[i]);
        if (timeline->spans[i].kind != SPAN_KINDS)
            timeline->spans[kept++] = timeline->spans[i];
    }
    timeline->span_count = kept;
    timeline->unfinished = last ? timeline->unfinished : unfinished;
    free(pairs);
    return true;
}

enum pcere_status timeline_pair(struct timeline *timeline, struct pcere_error *error)
{
    return halves_pair(timeline, true) ? PCERE_OK : pcere_fail_memory(error, "the spans in order, and pairs of begin and end");
}

/* ---- coarser ------------------------------------------------------------------------------------------------------------------ */

enum { COARSE_SPANS = 1 << 18 };

uint64_t span_longest_ns(const struct span *span)
{
    return span->part == SPAN_JOINED ? span->task : (uint64_t)(span->end_ns - span->begin_ns);
}

bool timeline_is_short(const struct timeline *timeline, const struct span *span)
{
    if (span->part == SPAN_JOINED)
        return true;
    return span_longest_ns(span) < timeline->least_ns && span->kind != SPAN_MESSAGE && (span->part == SPAN_WHOLE || stays_apart(timeline, span));
}

bool span_join(struct span *joined, const struct span *span, uint64_t least_ns)
{
    int64_t end_ns = span->end_ns > joined->end_ns ? span->end_ns : joined->end_ns;
    uint64_t count = (uint64_t)(joined->part == SPAN_JOINED ? joined->tag : 1) + (span->part == SPAN_JOINED ? span->tag : 1), longest_ns = span_longest_ns(joined);
    if (joined->thread != span->thread || (uint64_t)(end_ns - joined->begin_ns) > 2 * least_ns || count > UINT32_MAX)
        return false;
    if (span_longest_ns(span) > longest_ns) {
        int64_t begin_ns = joined->begin_ns;
        longest_ns = span_longest_ns(span);
        *joined = *span;
        joined->begin_ns = begin_ns;
    }
    joined->end_ns = end_ns;
    joined->part = SPAN_JOINED;
    joined->tag = (uint32_t)count;
    joined->task = longest_ns < TIMELINE_NONE ? (uint32_t)longest_ns : TIMELINE_NONE;
    return true;
}

bool timeline_coarsen(struct timeline *timeline)
{
    size_t kept = 0, open = SIZE_MAX;            /* open: the last one of this thread, if it is short */
    timeline_roles_name(timeline);
    if (timeline->span_count && !halves_pair(timeline, false))
        return false;
    for (size_t i = 0; i < timeline->span_count; i++) {
        const struct span span = timeline->spans[i];
        bool brief = timeline_is_short(timeline, &span);
        if (brief && open != SIZE_MAX && span_join(&timeline->spans[open], &span, timeline->least_ns))
            continue;
        open = brief ? kept : SIZE_MAX;
        timeline->spans[kept++] = span;
    }
    timeline->span_count = kept;
    timeline->coarse_at = kept * 2 > COARSE_SPANS ? kept * 2 : COARSE_SPANS;
    return true;
}
