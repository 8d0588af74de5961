/* trace/native_metrics.c - see native_metrics.h.
 *
 * Records of all threads are taken in the order of time. Each thread is in one state between two of its records; what changes at a record are counts of threads in a state and of tasks that are ready, and the time that passes
 * is added to what these counts say. Whatever is met that this does not know ends it: the model knows.
 */
#include "trace/native_metrics.h"
#include "core/text.h"
#include "profiler/host/trace_file.h"
#include "trace/native.h"
#include "trace/native_ready.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ompt_sync_region_t, ompt_task_status_t */
enum { WAIT_BARRIER = 1, WAIT_BARRIER_EXPLICIT = 3, WAIT_TASKWAIT = 5, WAIT_TASKGROUP = 6, WAIT_REDUCTION = 7 };
enum { TASK_COMPLETE = 1, TASK_CANCEL = 3, TASK_SWITCH_OTHER = 7 };

enum state { STATE_NONE, STATE_USEFUL, STATE_BODY, STATE_SERIAL, STATE_MUTEX, STATE_WAIT_TASKS, STATE_WAIT_EXPLICIT, STATE_WAIT_BARRIER, STATES };
static const enum pop_part state_parts[STATES] = {
    [STATE_USEFUL] = POP_USEFUL, [STATE_BODY] = POP_BODY, [STATE_SERIAL] = POP_SERIAL_USEFUL, [STATE_MUTEX] = POP_SYNCHRONISATION,
    [STATE_WAIT_TASKS] = POP_DEPENDENCES, [STATE_WAIT_EXPLICIT] = POP_SYNCHRONISATION, [STATE_WAIT_BARRIER] = POP_LOAD_BALANCE,
};

enum { DEPTH = 512, CONSTRUCTS = 64 };

struct actor { uint64_t id, team; uint32_t scope; /* + 1: of its children with dependences */ bool implicit, initial, chunk, mutex; uint8_t wait; };

struct thread {
    struct trace_cursor cursor;
    struct trace_item item;      /* its next one, if `more` */
    bool more, counts;           /* counts: it had a stretch of time in a state */
    enum state state;
    int64_t since_ns;
    struct actor stack[DEPTH];   /* what it executes is on top, below it what that interrupted */
    size_t depth;
    uint64_t pending_team, made; /* made: the task that it made last */
    uint8_t constructs[CONSTRUCTS];     /* open ones: the type that began each */
    size_t construct_depth;
    struct metrics_busy computing;
    uint8_t *ended;              /* [count]: of the teams that it made */
    size_t ended_count, ended_capacity;
};

struct sums {
    const struct trace_file *file;
    struct thread *threads;
    uint64_t now_ticks;          /* of now_ns, of the last record */
    int64_t now_ns, end_ns;      /* end: of the program; threads may tell something behind it */
    int64_t in_state[STATES], ready, blocked;           /* tasks that did not begin, and wait for none or for others */
    uint64_t state_ns[STATES], ready_ns[STATES], blocked_ns[STATES];    /* threads' time in a state, that of it in which a task was ready, and in which none but blocked ones were there */
    struct ready tasks;
    uint32_t scopes;
    struct metrics_busy computing;                      /* of any thread */
    uint64_t created, begun, completed;
    bool unknown, memory;
};

static void time_pass(struct sums *sums, int64_t now_ns)
{
    uint64_t passed = (uint64_t)(now_ns - sums->now_ns);
    uint64_t *of_state_ns = sums->ready > 0 ? sums->ready_ns : sums->blocked > 0 ? sums->blocked_ns : NULL;
    for (int state = STATE_WAIT_TASKS; of_state_ns && state < STATES; state++)
        of_state_ns[state] += passed * (uint64_t)sums->in_state[state];
    sums->now_ns = now_ns;
}

/* The thread was in its state until now. */
static void stretch_end(struct sums *sums, struct thread *thread, int64_t now_ns)
{
    uint64_t passed = (uint64_t)(now_ns - thread->since_ns);
    if (thread->state != STATE_NONE && passed) {
        sums->state_ns[thread->state] += passed;
        thread->counts = true;
        if (thread->state == STATE_USEFUL)
            metrics_busy_add(&thread->computing, thread->since_ns, now_ns);
    }
    thread->since_ns = now_ns;
}

static void state_set(struct sums *sums, struct thread *thread, enum state state, int64_t now_ns)
{
    if (thread->state == state)
        return;
    if (thread->state == STATE_USEFUL && sums->in_state[STATE_USEFUL] == 1)
        metrics_busy_add(&sums->computing, sums->computing.reach_ns, now_ns);
    if (state == STATE_USEFUL && sums->in_state[STATE_USEFUL] == 0)
        metrics_busy_add(&sums->computing, now_ns, now_ns), sums->computing.reach_ns = now_ns;
    sums->in_state[thread->state]--;
    sums->in_state[state]++;
    thread->state = state;
}

/* ---- teams -------------------------------------------------------------------------------------------------------------------- */

static uint8_t *team_ended(struct sums *sums, uint64_t team)
{
    static uint8_t nobody;
    uint64_t maker = team >> TRACE_ID_THREAD_SHIFT, count = team & (((uint64_t)1 << TRACE_ID_THREAD_SHIFT) - 1);
    if (!team || maker >= sums->file->thread_count || count > sums->file->slots) {
        sums->unknown |= team != 0;
        return nobody = 0, &nobody;
    }
    struct thread *thread = &sums->threads[maker];
    if (count >= thread->ended_count) {
        if (!array_reserve(&thread->ended, &thread->ended_capacity, count + 1, sizeof *thread->ended)) {
            sums->memory = false;
            return nobody = 0, &nobody;
        }
        memset(thread->ended + thread->ended_count, 0, thread->ended_capacity - thread->ended_count);
        thread->ended_count = thread->ended_capacity;
    }
    return &thread->ended[count];
}

static enum state state_of(struct sums *sums, const struct thread *thread)
{
    if (!thread->depth)
        return STATE_NONE;
    const struct actor *actor = &thread->stack[thread->depth - 1];
    if (actor->wait == WAIT_TASKWAIT || actor->wait == WAIT_TASKGROUP)
        return STATE_WAIT_TASKS;
    if (actor->wait && actor->team && *team_ended(sums, actor->team))
        return STATE_NONE;
    if (actor->wait)
        return actor->wait == WAIT_BARRIER || actor->wait == WAIT_BARRIER_EXPLICIT ? STATE_WAIT_EXPLICIT : STATE_WAIT_BARRIER;
    return actor->mutex ? STATE_MUTEX : !actor->implicit || actor->chunk ? STATE_USEFUL : actor->initial ? STATE_SERIAL : STATE_BODY;
}

/* What a worker waits for behind its region's end is no wait. */
static void team_end(struct sums *sums, uint64_t team, int64_t now_ns)
{
    *team_ended(sums, team) = 1;
    for (size_t i = 0; i < sums->file->thread_count; i++) {
        struct thread *thread = &sums->threads[i];
        if (thread->state < STATE_WAIT_EXPLICIT || !thread->depth || thread->stack[thread->depth - 1].team != team)
            continue;
        stretch_end(sums, thread, now_ns);
        thread->counts = true;
        state_set(sums, thread, STATE_NONE, now_ns);
    }
}

/* ---- records ------------------------------------------------------------------------------------------------------------------ */

static struct actor *actor_push(struct sums *sums, struct thread *thread)
{
    if (thread->depth == DEPTH) {
        sums->unknown = true;
        return &thread->stack[DEPTH - 1];
    }
    thread->stack[thread->depth] = (struct actor){0};
    return &thread->stack[thread->depth++];
}

static void task_switch(struct sums *sums, struct thread *thread, const struct trace_item *item)
{
    struct actor *top = thread->depth ? &thread->stack[thread->depth - 1] : NULL;
    bool ends = item->flags == TASK_COMPLETE || item->flags == TASK_CANCEL;
    if ((!ends && item->flags != TASK_SWITCH_OTHER) || !top || !item->value) {
        sums->unknown = true;
        return;
    }
    sums->completed += ends && !top->implicit;
    if (ends && !top->implicit) {
        uint32_t released = ready_end(&sums->tasks, top->id);
        sums->ready += released;
        sums->blocked -= released;
    }
    size_t depth = thread->depth;
    while (depth && thread->stack[depth - 1].id != item->value)
        depth--;
    if (depth) {
        thread->depth = depth;
        return;
    }
    if (ends)
        thread->depth--;
    uint64_t team = top->team;
    struct actor *task = actor_push(sums, thread);
    task->id = item->value;
    task->team = team;
    sums->begun++;
    if (ready_begin(&sums->tasks, item->value))
        sums->blocked--;
    else
        sums->ready--;
}

/* Of the task that this thread made last; none, of all memory, is left to the model. */
static void dependence_take(struct sums *sums, struct thread *thread, struct actor *actor, const struct trace_item *item)
{
    struct dependence dependence;
    bool blocked;
    if (!native_dependence(item, &dependence))
        return;
    actor->scope = actor->scope ? actor->scope : ++sums->scopes;
    sums->unknown |= dependence.all_memory || !thread->made || !thread->depth;
    if (sums->unknown)
        return;
    if (!ready_declare(&sums->tasks, thread->made, &dependence, actor->scope - 1, &blocked)) {
        sums->memory = false;
    } else if (blocked) {
        sums->ready--;
        sums->blocked++;
    }
}

static void construct_open(struct thread *thread, uint32_t type)
{
    if (thread->construct_depth < CONSTRUCTS)
        thread->constructs[thread->construct_depth] = (uint8_t)type;
    thread->construct_depth++;
}

/* One that was left open in it ends with it. */
static void construct_close(struct thread *thread, uint32_t type)
{
    while (thread->construct_depth)
        if (--thread->construct_depth < CONSTRUCTS && thread->constructs[thread->construct_depth] == type)
            return;
}

static void wait_begin(struct actor *actor, uint32_t kind)
{
    actor->wait = (uint8_t)kind;
    if (kind != WAIT_TASKWAIT && kind != WAIT_TASKGROUP && kind != WAIT_REDUCTION)
        actor->chunk = false;
}

static void item_take(struct sums *sums, struct thread *thread, int64_t now_ns)
{
    const struct trace_item *item = &thread->item;
    static struct actor nobody;
    struct actor *actor = thread->depth ? &thread->stack[thread->depth - 1] : &nobody;
    stretch_end(sums, thread, now_ns);
    switch ((enum trace_type)item->type) {
    case TRACE_PARALLEL_BEGIN:
        sums->unknown |= item->extra == 0 || item->extra >= sums->file->construct_count;    /* of the runtime's helpers */
        construct_open(thread, item->type);
        break;
    case TRACE_PARALLEL_END:
        team_end(sums, item->value, now_ns);
        construct_close(thread, TRACE_PARALLEL_BEGIN);
        break;
    case TRACE_TEAM: thread->pending_team = item->value; break;
    case TRACE_IMPLICIT_BEGIN:
        actor = actor_push(sums, thread);
        *actor = (struct actor){.id = item->value, .implicit = true, .initial = item->flags & 1, .team = item->flags & 1 ? 0 : thread->pending_team};
        break;
    case TRACE_IMPLICIT_END:
        sums->unknown |= !thread->depth || !actor->implicit;
        thread->depth -= thread->depth > 0;
        break;
    case TRACE_LOOP_BEGIN:
        actor->chunk = false;
        construct_open(thread, item->type);
        break;
    case TRACE_RANGE_BEGIN: actor->chunk = true; break;
    case TRACE_LOOP_END:
        actor->chunk = false;
        construct_close(thread, TRACE_LOOP_BEGIN);
        break;
    case TRACE_SINGLE_BEGIN:
        if (item->value)
            construct_open(thread, item->type);
        break;
    case TRACE_MASKED_BEGIN: construct_open(thread, item->type); break;
    case TRACE_SINGLE_END: construct_close(thread, TRACE_SINGLE_BEGIN); break;
    case TRACE_MASKED_END: construct_close(thread, TRACE_MASKED_BEGIN); break;
    case TRACE_TASK_CREATE:
        sums->unknown |= !ready_number(&sums->tasks, item->value) || item->flags & (TRACE_TASK_UNTIED | TRACE_TASK_WAITS | TRACE_TASK_TARGET);
        sums->created++;
        sums->ready++;
        thread->made = item->value;
        break;
    case TRACE_DEPENDENCE: dependence_take(sums, thread, actor, item); break;
    case TRACE_TASK_SWITCH: task_switch(sums, thread, item); break;
    case TRACE_WAIT_BEGIN: wait_begin(actor, item->flags); break;
    case TRACE_WAIT_END: actor->wait = 0; break;
    case TRACE_MUTEX_BEGIN: actor->mutex = true; break;
    case TRACE_MUTEX_END: actor->mutex = false; break;
    case TRACE_TIME: case TRACE_LENGTH: case TRACE_THREAD_END: case TRACE_TASKLOOP_BEGIN: case TRACE_TASKLOOP_END: case TRACE_TASKLOOP_RANGE: case TRACE_MARK: case TRACE_CPU: case TRACE_ITERATION: break;
    default: sums->unknown = true; break;
    }
    nobody = (struct actor){0};
}

/* What a record somewhat later asks for, which is far away in memory; else anything. */
static const void *soon_needed(const struct sums *sums, const struct thread *thread)
{
    enum { AHEAD = 12 };
    const struct trace_record *record = thread->cursor.at + AHEAD;
    if (!sums->scopes || (size_t)(thread->cursor.end - thread->cursor.at) <= AHEAD)
        return thread;
    uint32_t type = TRACE_TYPE(record->word);
    if (type == TRACE_TASK_SWITCH)
        return ready_task(&sums->tasks, record->value);
    if (type == TRACE_DEPENDENCE && thread->depth && thread->stack[thread->depth - 1].scope)
        return cells_first(&sums->tasks.cells, record->value, thread->stack[thread->depth - 1].scope - 1);
    return thread;
}

static void time_go(struct sums *sums, uint64_t ticks)
{
    int64_t now_ns = (int64_t)trace_ns(sums->file, ticks);
    now_ns = now_ns < sums->end_ns ? now_ns : sums->end_ns;
    sums->unknown |= now_ns < sums->now_ns;
    sums->now_ticks = ticks;
    if (!sums->unknown)
        time_pass(sums, now_ns);
}

/* A record, and the dependences of the task that it made: these change no thread's state. */
static void thread_step(struct sums *sums, struct thread *thread)
{
    if (thread->item.ticks != sums->now_ticks)
        time_go(sums, thread->item.ticks);
    if (sums->unknown)
        return;
    if (thread->item.type == TRACE_DEPENDENCE && thread->depth) {
        stretch_end(sums, thread, sums->now_ns);
        dependence_take(sums, thread, &thread->stack[thread->depth - 1], &thread->item);
        thread->more = trace_cursor_next(&thread->cursor, &thread->item);
        __builtin_prefetch(soon_needed(sums, thread), 1);
        return;
    }
    item_take(sums, thread, sums->now_ns);
    thread->more = trace_cursor_next(&thread->cursor, &thread->item);
    __builtin_prefetch(soon_needed(sums, thread), 1);
    enum state state = state_of(sums, thread);
    /* Nobody knows until when a thread waited that told nothing any more. */
    state_set(sums, thread, !thread->more && state >= STATE_WAIT_TASKS ? STATE_NONE : state, sums->now_ns);
}

/* As in native.c: a thread's own records as long as no other has an earlier one. */
static void threads_walk(struct sums *sums)
{
    size_t count = sums->file->thread_count;
    for (size_t i = 0; i < count; i++) {
        trace_cursor_start(&sums->threads[i].cursor, sums->file, i);
        sums->threads[i].more = trace_cursor_next(&sums->threads[i].cursor, &sums->threads[i].item);
        sums->in_state[STATE_NONE]++;
    }
    for (;;) {
        struct thread *first = NULL;
        uint64_t next_ticks = UINT64_MAX;
        for (size_t i = 0; i < count; i++) {
            struct thread *thread = &sums->threads[i];
            if (!thread->more)
                continue;
            if (!first || thread->item.ticks < first->item.ticks) {
                next_ticks = first ? first->item.ticks : next_ticks;
                first = thread;
            } else if (thread->item.ticks < next_ticks) {
                next_ticks = thread->item.ticks;
            }
        }
        if (!first || sums->unknown || !sums->memory)
            break;
        do
            thread_step(sums, first);
        while (first->more && first->item.ticks <= next_ticks && !sums->unknown);
    }
    if (!sums->unknown)
        time_pass(sums, sums->end_ns);
    for (size_t i = 0; i < count && !sums->unknown; i++) {
        struct thread *thread = &sums->threads[i];
        stretch_end(sums, thread, sums->end_ns);
        state_set(sums, thread, STATE_NONE, sums->end_ns);
        sums->unknown |= thread->construct_depth || thread->cursor.torn;
    }
    sums->unknown |= sums->created != sums->begun || sums->created != sums->completed;
}

/* ---- what comes of it --------------------------------------------------------------------------------------------------------- */

static enum pcere_status results_make(const struct sums *sums, struct run_metrics *ret_metrics, struct pop *ret_pop, struct pcere_error *error)
{
    size_t count = sums->file->thread_count;
    struct metrics_busy *lists = calloc(count + 1, 2 * sizeof *lists);
    if (!lists)
        return pcere_fail_memory(error, "the metrics");
    struct pop pop = {.wall_ns = (uint64_t)sums->end_ns};
    uint64_t covered_ns = 0;
    for (size_t i = 0; i < count; i++) {
        lists[i] = sums->threads[i].computing;
        pop.threads += sums->threads[i].counts;
    }
    for (int state = STATE_USEFUL; state < STATES; state++) {
        pop.parts_ns[POP_SCHEDULING] += sums->ready_ns[state];
        pop.parts_ns[POP_DEPENDENCES] += sums->blocked_ns[state];
        pop.parts_ns[state_parts[state]] += sums->state_ns[state] - sums->ready_ns[state] - sums->blocked_ns[state];
        covered_ns += sums->state_ns[state];
    }
    pop.parts_ns[POP_SERIALISATION] = pop.wall_ns * pop.threads - covered_ns;
    struct metrics_sums of = {.computing = lists, .communicating = lists + count, .thread_count = count, .processes = &sums->computing, .process_count = 1, .all = sums->computing,
                              .workers = 1, .tasks = sums->created, .total_ns = (int64_t)pop.wall_ns};
    metrics_make(&of, ret_metrics);
    *ret_pop = pop;
    free(lists);
    return PCERE_OK;
}

static bool is_native(const char *path)
{
    char magic[8];
    int file = open(path, O_RDONLY | O_CLOEXEC);
    bool native = file >= 0 && read(file, magic, sizeof magic) == (ssize_t)sizeof magic && memcmp(magic, TRACE_MAGIC, sizeof magic) == 0;
    if (file >= 0)
        close(file);
    return native;
}

enum pcere_status native_metrics(const char *path, struct run_metrics *ret_metrics, struct pop *ret_pop, bool *ret_done, struct pcere_error *error)
{
    struct trace_file *file;
    *ret_done = false;
    if (!is_native(path) || trace_file_open(path, &file, error) != PCERE_OK)
        return PCERE_OK;
    struct sums sums = {.file = file, .memory = true, .end_ns = (int64_t)trace_ns(file, file->header->end.ticks)};
    enum pcere_status status = PCERE_OK;
    if (file->header->tool_started && file->header->ended && file->thread_count && file->slots < READY_SLOTS_MOST && file->header->end.ticks > file->header->start.ticks) {
        sums.threads = calloc(file->thread_count, sizeof *sums.threads);
        sums.memory = sums.threads != NULL && ready_init(&sums.tasks, file);
        if (sums.memory)
            threads_walk(&sums);
        if (!sums.memory)
            status = pcere_fail_memory(error, "the metrics");
        else if (!sums.unknown && (sums.state_ns[STATE_SERIAL] || sums.state_ns[STATE_BODY])) {
            status = results_make(&sums, ret_metrics, ret_pop, error);
            *ret_done = status == PCERE_OK;
        }
        for (size_t i = 0; i < file->thread_count && sums.threads; i++)
            free(sums.threads[i].ended);
        free(sums.threads);
        ready_done(&sums.tasks);
    }
    trace_file_close(file);
    return status;
}
