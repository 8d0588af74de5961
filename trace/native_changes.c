/* trace/native_changes.c - see native_changes.h. */
#include "trace/native_changes.h"
#include "core/text.h"
#include "trace/native.h"

#include <stdlib.h>
#include <string.h>

/* ompt_sync_region_t, ompt_task_status_t */
enum { WAIT_BARRIER = 1, WAIT_BARRIER_EXPLICIT = 3, WAIT_TASKWAIT = 5, WAIT_TASKGROUP = 6, WAIT_REDUCTION = 7 };
enum { TASK_COMPLETE = 1, TASK_CANCEL = 3, TASK_SWITCH_OTHER = 7 };
#define COUNT_MASK (((uint64_t)1 << TRACE_ID_THREAD_SHIFT) - 1)

/* It ends with what it has told. */
static void break_off(struct changes *changes, uint32_t why)
{
    changes->broken_off |= why;
    changes->out_end = changes->out;
}

static void unknown_if(struct changes *changes, bool unknown)
{
    if (__builtin_expect(unknown, false))
        break_off(changes, CHANGES_UNKNOWN);
}

/* ---- numbers ------------------------------------------------------------------------------------------------------------------ */

bool numbers_init(struct numbers *numbers, const struct trace_file *file, bool *ret_many)
{
    uint64_t next = 0;
    *numbers = (struct numbers){.first = calloc(file->thread_count + 1, sizeof *numbers->first), .most = calloc(file->thread_count + 1, sizeof *numbers->most),
                                .thread_count = file->thread_count};
    *ret_many = false;
    if (!numbers->first || !numbers->most)
        return false;
    for (size_t i = 0; i < file->thread_count && !*ret_many; i++) {
        uint64_t slots = 0;              /* a thread counts the tasks that it makes, and has a record of each */
        for (size_t k = 0; k < file->threads[i].block_count; k++)
            slots += file->threads[i].blocks[k]->used;
        numbers->first[i] = (uint32_t)next;
        numbers->most[i] = (uint32_t)(next + slots);
        next = (next + slots + NUMBERS_PAGE) / NUMBERS_PAGE * NUMBERS_PAGE;
        *ret_many = next >= NUMBERS_MOST;
    }
    numbers->end = (uint32_t)next;
    return !*ret_many;
}

void numbers_done(struct numbers *numbers)
{
    free(numbers->first);
    free(numbers->most);
}

/* 0: an id that cannot be. */
static uint32_t number_of(const struct numbers *numbers, uint64_t id)
{
    uint64_t thread = id >> TRACE_ID_THREAD_SHIFT, count = id & COUNT_MASK;
    return thread < numbers->thread_count && count && count <= numbers->most[thread] - numbers->first[thread] ? numbers->first[thread] + (uint32_t)count : 0;
}

/* ---- the ring ----------------------------------------------------------------------------------------------------------------- */

enum { ROOM_OF_RECORD = 8 };             /* what a record changes at most, but for edges */

static void put(struct changes *changes, enum change_kind kind, uint32_t number)
{
    if (changes->ticks != changes->ns_ticks) {
        changes->ns = (int64_t)trace_ns(changes->cursor.file, changes->ticks);
        changes->ns_ticks = changes->ticks;
    }
    struct change *change = changes->out++;
    change->ns = changes->ns;
    change->number = number;
    change->maker = 0;
    change->kind = kind & 0xff;
    change->state = changes->state & 0xff;
}

static void team_put(struct changes *changes, enum change_kind kind, uint64_t team)
{
    uint64_t maker = team >> TRACE_ID_THREAD_SHIFT, count = team & COUNT_MASK;
    unknown_if(changes, maker > UINT16_MAX || count > UINT32_MAX);
    put(changes, kind, (uint32_t)count);
    changes->out[-1].maker = maker & UINT16_MAX;
}

static bool edge_take(void *state, uint32_t from, uint32_t to)
{
    struct changes *changes = state;
    struct change *last = changes->out - 1;
    if (changes->ticks == changes->ns_ticks && changes->out > changes->piece && last->kind == CHANGE_MADE_DECLARED && to - changes->made_before <= UINT16_MAX) {
        last->kind = CHANGE_MADE_AFTER;
        last->number = from;
        last->maker = (to - changes->made_before) & UINT16_MAX;
        return true;
    }
    if (changes->out < changes->out_end) {
        put(changes, CHANGE_AFTER, from);
        return true;
    }
    if (!array_reserve(&changes->edges, &changes->edge_capacity, changes->edge_count + 1, sizeof *changes->edges))
        return false;
    changes->edges[changes->edge_count++] = from;
    return true;
}

static void edges_put(struct changes *changes)
{
    while (changes->edges_told < changes->edge_count && changes->out < changes->out_end)
        put(changes, CHANGE_AFTER, changes->edges[changes->edges_told++]);
    if (changes->edges_told == changes->edge_count)
        changes->edges_told = changes->edge_count = 0;
}

/* ---- records ------------------------------------------------------------------------------------------------------------------ */

static enum state state_of(const struct actor *actor)
{
    if (actor->wait == WAIT_TASKWAIT || actor->wait == WAIT_TASKGROUP)
        return STATE_WAIT_TASKS;
    if (actor->wait)
        return actor->wait == WAIT_BARRIER || actor->wait == WAIT_BARRIER_EXPLICIT ? STATE_WAIT_EXPLICIT : STATE_WAIT_BARRIER;
    return actor->mutex ? STATE_MUTEX : actor->divides ? STATE_BODY : !actor->implicit || actor->chunk ? STATE_USEFUL : actor->initial ? STATE_SERIAL : STATE_BODY;
}

static struct actor *actor_push(struct changes *changes)
{
    if (changes->depth == CHANGES_ACTORS)
        unknown_if(changes, true);
    else
        changes->depth++;
    return &changes->stack[changes->depth];
}

static bool of_taskloop(uint32_t flags, uint32_t construct)
{
    return !construct && !(flags & (TRACE_TASK_WAITS | TRACE_TASK_TARGET));
}

/* The task that begins makes a taskloop's tasks, and nothing before that. What makes some later is left to the model. */
static bool divider_begins(const struct changes *changes)
{
    const struct trace_cursor *cursor = &changes->cursor;
    uint32_t type = cursor->at < cursor->end ? TRACE_TYPE(cursor->at->word) : TRACE_TIME;
    if (!changes->all_seen || (type != TRACE_TASK_CREATE && type != TRACE_CPU && type != TRACE_TIME))
        return false;
    struct trace_cursor ahead = *cursor;
    const struct trace_record *record = trace_cursor_record(&ahead);
    while (record && TRACE_TYPE(record->word) == TRACE_CPU)
        record = trace_cursor_record(&ahead);
    return record && TRACE_TYPE(record->word) == TRACE_TASK_CREATE && of_taskloop(TRACE_FLAGS(record->word), TRACE_EXTRA(record->word));
}

static void task_switch(struct changes *changes, uint32_t flags, uint64_t id)
{
    struct actor *top = &changes->stack[changes->depth];
    bool ends = flags == TASK_COMPLETE || flags == TASK_CANCEL;
    unknown_if(changes, (!ends && flags != TASK_SWITCH_OTHER) || !changes->depth || !id);
    if (ends && !top->implicit) {
        changes->tasks_ended++;
        put(changes, CHANGE_END, top->number);
    }
    struct actor *below = top;
    while (below > changes->stack && below->id != id)
        below--;
    if (below > changes->stack) {
        changes->depth = (size_t)(below - changes->stack);
        return;
    }
    uint64_t team = top->team;
    changes->depth -= ends && changes->depth;
    struct actor *task = actor_push(changes);
    bool divides = divider_begins(changes);
    *task = (struct actor){.id = id, .team = team, .number = number_of(changes->numbers, id), .divides = divides, .state = divides ? STATE_BODY : STATE_USEFUL};
    changes->tasks_dividing += divides;
    changes->tasks_begun++;
    put(changes, CHANGE_BEGIN, task->number);
}

/* Numbers are of who makes the task, and rise: a page of them is one maker's, who never comes back to it. */
static void task_made(struct changes *changes, uint32_t flags, uint32_t construct, uint64_t id)
{
    uint32_t number = number_of(changes->numbers, id);
    const struct actor *maker = &changes->stack[changes->depth];
    bool own = id >> TRACE_ID_THREAD_SHIFT == changes->thread, divides = of_taskloop(flags, construct) && changes->depth && !maker->implicit && !maker->taskloop;
    unknown_if(changes, (divides && !maker->divides) || !number || !own || number <= changes->made || flags & (TRACE_TASK_UNTIED | TRACE_TASK_WAITS | TRACE_TASK_TARGET));
    changes->tasks_made++;
    changes->made_before = changes->made;
    changes->made = number;
    changes->declared = 0;
    put(changes, CHANGE_MADE, number);
}

/* Of the task that this thread made last; none, of all memory, is left to the model. */
static void dependence_take(struct changes *changes, uint32_t flags, uint64_t address)
{
    struct dependence dependence;
    if (!native_dependence(flags, address, &dependence))
        return;
    unknown_if(changes, dependence.all_memory || !changes->made || !changes->depth);
    struct actor *actor = &changes->stack[changes->depth];
    actor->scope = actor->scope ? actor->scope : ++changes->scopes;
    if (!changes->declared && changes->out > changes->piece && changes->out[-1].kind == CHANGE_MADE && changes->ticks == changes->ns_ticks)
        changes->out[-1].kind = CHANGE_MADE_DECLARED;
    else if (!changes->declared)
        put(changes, CHANGE_DECLARED, 0);
    changes->declared = 1;
    if (!changes->broken_off && !cells_take(&changes->cells, &dependence, actor->scope - 1, changes->made))
        break_off(changes, CHANGES_NO_MEMORY);
}

static void construct_open(struct changes *changes, uint32_t type)
{
    if (changes->construct_depth < CHANGES_CONSTRUCTS)
        changes->constructs[changes->construct_depth] = (uint8_t)type;
    changes->construct_depth++;
}

/* One that was left open in it ends with it. */
static void construct_close(struct changes *changes, uint32_t type)
{
    while (changes->construct_depth)
        if (--changes->construct_depth < CHANGES_CONSTRUCTS && changes->constructs[changes->construct_depth] == type)
            return;
}

static void wait_begin(struct actor *actor, uint32_t kind)
{
    actor->wait = (uint8_t)kind;
    if (kind != WAIT_TASKWAIT && kind != WAIT_TASKGROUP && kind != WAIT_REDUCTION)
        actor->chunk = false;
}

static void implicit_begin(struct changes *changes, uint32_t flags, uint64_t id)
{
    *actor_push(changes) = (struct actor){.id = id, .implicit = true, .initial = flags & 1, .team = flags & 1 ? 0 : changes->pending_team};
}

/* What is told not so often as tasks are, and the state of what the thread executes. */
static void record_take(struct changes *changes, const struct trace_record *record)
{
    uint32_t type = TRACE_TYPE(record->word), flags = TRACE_FLAGS(record->word), extra = TRACE_EXTRA(record->word);
    struct actor *actor = &changes->stack[changes->depth];
    switch ((enum trace_type)type) {
    case TRACE_PARALLEL_BEGIN:
        unknown_if(changes, extra == 0 || extra >= changes->cursor.file->construct_count);       /* of the runtime's helpers */
        construct_open(changes, type);
        break;
    case TRACE_PARALLEL_END:
        team_put(changes, CHANGE_TEAM_END, record->value);
        construct_close(changes, TRACE_PARALLEL_BEGIN);
        break;
    case TRACE_TEAM: changes->pending_team = record->value; break;
    case TRACE_IMPLICIT_BEGIN: implicit_begin(changes, flags, record->value); break;
    case TRACE_IMPLICIT_END:
        unknown_if(changes, !changes->depth || !actor->implicit);
        changes->depth -= changes->depth > 0;
        break;
    case TRACE_LOOP_BEGIN:
        actor->chunk = false;
        construct_open(changes, type);
        break;
    case TRACE_RANGE_BEGIN: actor->chunk = true; break;
    case TRACE_LOOP_END:
        actor->chunk = false;
        construct_close(changes, TRACE_LOOP_BEGIN);
        break;
    case TRACE_SINGLE_BEGIN:
        if (record->value)
            construct_open(changes, type);
        break;
    case TRACE_MASKED_BEGIN: construct_open(changes, type); break;
    case TRACE_SINGLE_END: construct_close(changes, TRACE_SINGLE_BEGIN); break;
    case TRACE_MASKED_END: construct_close(changes, TRACE_MASKED_BEGIN); break;
    case TRACE_WAIT_BEGIN: wait_begin(actor, flags); break;
    case TRACE_WAIT_END: actor->wait = 0; break;
    case TRACE_TASKLOOP_BEGIN: case TRACE_TASKLOOP_END: actor->taskloop = type == TRACE_TASKLOOP_BEGIN; break;
    case TRACE_MUTEX_BEGIN: actor->mutex = true; break;
    case TRACE_MUTEX_END: actor->mutex = false; break;
    case TRACE_TIME: case TRACE_LENGTH: case TRACE_THREAD_END: case TRACE_TASKLOOP_RANGE: case TRACE_MARK: case TRACE_CPU: case TRACE_ITERATION: break;
    default: unknown_if(changes, true); break;
    }
    changes->stack[0] = (struct actor){0};
    if (changes->depth)
        changes->stack[changes->depth].state = (uint8_t)state_of(&changes->stack[changes->depth]);
}

/* The thread was in its state until now. */
static void stretch_end(struct changes *changes, int64_t now_ns)
{
    uint64_t passed = (uint64_t)(now_ns - changes->since_ns);
    if (changes->state != STATE_NONE && changes->state < STATE_WAIT_EXPLICIT && passed) {
        changes->state_ns[changes->state] += passed;
        changes->counts = true;
        if (changes->state == STATE_USEFUL)
            metrics_busy_add(&changes->computing, changes->since_ns, now_ns);
    }
    changes->since_ns = now_ns;
}

/* With the last thing that the record changes, if there is one behind `first`. */
static void state_tell(struct changes *changes, uint32_t state, const struct change *first)
{
    uint64_t team = changes->stack[changes->depth].team;
    bool tell_team = state >= STATE_WAIT_EXPLICIT && team != changes->told_team;
    if (tell_team)
        team_put(changes, CHANGE_TEAM, team);
    else if (changes->out == first)
        put(changes, CHANGE_STATE, 0);
    if (tell_team)
        changes->told_team = team;
    changes->out[-1].state = state & 0xff;
    stretch_end(changes, changes->ns < changes->end_ns ? changes->ns : changes->end_ns);
    changes->state = state;
}

/* A thread's times never fall, to the nanosecond. */
static void time_falls(struct changes *changes, uint64_t ticks)
{
    int64_t before_ns = (int64_t)trace_ns(changes->cursor.file, changes->ticks), now_ns = (int64_t)trace_ns(changes->cursor.file, ticks);
    unknown_if(changes, now_ns < before_ns && now_ns < changes->end_ns);
}

/* What a dependence somewhat later asks for is far away in memory; else anything. */
static const void *soon_needed(const struct changes *changes)
{
    enum { AHEAD = 12 };
    const struct trace_record *record = changes->cursor.at + AHEAD;
    uint32_t scope = changes->stack[changes->depth].scope;
    bool dependence = scope && (size_t)(changes->cursor.end - changes->cursor.at) > AHEAD && TRACE_TYPE(record->word) == TRACE_DEPENDENCE;
    return dependence ? (const void *)cells_first(&changes->cells, record->value, scope - 1) : changes;
}

/* Nobody knows until when a thread waited that tells nothing any more. */
static void records_end(struct changes *changes)
{
    if (changes->state >= STATE_WAIT_TASKS)
        state_tell(changes, STATE_NONE, changes->out);
    unknown_if(changes, changes->construct_depth || changes->cursor.torn);
}

/* False: there are no more. */
static bool records_follow(struct changes *changes)
{
    const struct trace_record *record;
    while (changes->out_end - changes->out >= ROOM_OF_RECORD) {
        const struct change *first = changes->out;
        if (!(record = trace_cursor_record(&changes->cursor))) {
            records_end(changes);
            return false;
        }
        uint64_t ticks = changes->cursor.base_ticks + record->time;
        if (ticks < changes->ticks)
            time_falls(changes, ticks);
        changes->ticks = ticks;
        if (changes->scopes)
            __builtin_prefetch(soon_needed(changes), 1);
        uint32_t type = TRACE_TYPE(record->word);
        if (type == TRACE_TASK_CREATE) {                 /* these two change no state */
            task_made(changes, TRACE_FLAGS(record->word), TRACE_EXTRA(record->word), record->value);
            continue;
        }
        if (type == TRACE_DEPENDENCE) {
            dependence_take(changes, TRACE_FLAGS(record->word), record->value);
            continue;
        }
        if (type == TRACE_TASK_SWITCH)
            task_switch(changes, TRACE_FLAGS(record->word), record->value);
        else if (type != TRACE_RANGE_BEGIN || !changes->stack[changes->depth].chunk)
            record_take(changes, record);
        const struct actor *actor = &changes->stack[changes->depth];
        if (actor->state != changes->state || (actor->state >= STATE_WAIT_EXPLICIT && actor->team != changes->told_team))
            state_tell(changes, actor->state, first);
    }
    return !changes->broken_off;
}

void changes_follow(struct changes *changes)
{
    uint64_t filled = atomic_load_explicit(&changes->filled, memory_order_relaxed);
    if (!changes_wanted(changes))
        return;
    changes->out = changes->piece = changes->ring + filled % CHANGES_PIECES * changes->length;
    changes->out_end = changes->out + changes->length;
    edges_put(changes);
    bool more = records_follow(changes);
    changes->counts_of[filled % CHANGES_PIECES] = (uint32_t)(changes->out - changes->piece);
    atomic_store_explicit(&changes->filled, filled + (changes->out > changes->piece), memory_order_release);
    if (!more)
        atomic_store_explicit(&changes->ended, true, memory_order_release);
}

void changes_end(struct changes *changes)
{
    stretch_end(changes, changes->end_ns);
}

bool changes_init(struct changes *changes, const struct trace_file *file, size_t thread, const struct numbers *numbers, int64_t end_ns, size_t length)
{
    memset(changes, 0, sizeof *changes);
    pthread_mutex_init(&changes->lock, NULL);
    changes->numbers = numbers;
    changes->thread = (uint32_t)thread;
    changes->end_ns = end_ns;
    changes->all_seen = !file->header->unmatched && !file->header->unnamed;
    changes->length = length;
    changes->cells.edge = edge_take;
    changes->cells.state = changes;
    trace_cursor_start(&changes->cursor, file, thread);
    changes->ring = aligned_alloc(64, CHANGES_PIECES * length * sizeof *changes->ring);
    return changes->ring != NULL;
}

void changes_done(struct changes *changes)
{
    if (!changes->numbers)
        return;
    cells_done(&changes->cells);
    free(changes->edges);
    free(changes->ring);
    pthread_mutex_destroy(&changes->lock);
}
