/* trace/native_metrics.c - see native_metrics.h.
 *
 * What the records of each thread change (native_changes.h) is taken in the order of time. Each thread is in one state between two changes; what changes are counts of threads in a state and of tasks that are ready, and the
 * time that passes is added to what these counts say. Whatever is met that this does not know ends it: the model knows. One thread merges; the others follow records for it.
 */
#include "trace/native_metrics.h"
#include "core/text.h"
#include "core/workers.h"
#include "profiler/host/trace_file.h"
#include "trace/native_ready.h"

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const enum pop_part state_parts[STATES] = {
    [STATE_USEFUL] = POP_USEFUL, [STATE_BODY] = POP_BODY, [STATE_SERIAL] = POP_SERIAL_USEFUL, [STATE_MUTEX] = POP_SYNCHRONISATION,
    [STATE_WAIT_TASKS] = POP_DEPENDENCES, [STATE_WAIT_EXPLICIT] = POP_SYNCHRONISATION, [STATE_WAIT_BARRIER] = POP_LOAD_BALANCE,
};

enum { TURNS = 50 };            /* so often is looked again before a thread sleeps */
#define NEVER INT64_MAX          /* behind all times */

struct thread {
    struct changes *changes;
    const struct change *at, *end;       /* the next one, and of the piece that it is in */
    uint64_t piece;              /* its number, from 1; 0: none yet */
    enum state state;
    bool counts, over;           /* counts: it had a stretch of time in a wait that may be cut; over: the region of its team has ended */
    int64_t since_ns;            /* it is in its state */
    uint16_t maker;              /* of its team: by whom, and which */
    uint32_t team;
    uint32_t made, page;         /* the task that it made last, and as ready_declare has it */
    uint8_t *ended;              /* [count]: of the teams that it made */
    size_t ended_count, ended_capacity;
};

struct sums {
    const struct trace_file *file;
    struct thread *threads;      /* [file->thread_count] */
    int64_t *next_ns;            /* [thread]: of its next change; NEVER: there is none */
    int64_t passed_ns, end_ns;   /* passed: until then time was added; end: of the program, threads may tell something behind it */
    int64_t in_state[STATES], ready, blocked;            /* tasks that did not begin, and wait for none or for others */
    uint64_t *tasks_ns;          /* to which of the next two the time goes that passes; NULL: to none */
    uint64_t state_ns[STATES], ready_ns[STATES], blocked_ns[STATES];     /* threads' time in a state, that of it in which a task was ready, and in which none but blocked ones were there */
    struct ready tasks;
    uint64_t tasks_made;         /* by the program */
    struct metrics_busy computing;                       /* of any thread */
    bool any_declared, unknown, memory;
    pthread_mutex_t idle;        /* of helpers that found nothing to follow */
    pthread_cond_t work;
    atomic_bool merging, over;   /* a thread merges; nothing more is asked for */
    atomic_size_t idle_count;
};

/* ---- time --------------------------------------------------------------------------------------------------------------------- */

static void time_pass(struct sums *sums, int64_t now_ns)
{
    uint64_t passed = (uint64_t)(now_ns - sums->passed_ns);
    sums->unknown |= now_ns < sums->passed_ns;
    for (int state = STATE_WAIT_TASKS; sums->tasks_ns && state < STATES; state++)
        sums->tasks_ns[state] += passed * (uint64_t)sums->in_state[state];
    sums->passed_ns = now_ns;
}

static void state_set(struct sums *sums, struct thread *thread, enum state state, int64_t now_ns)
{
    uint64_t passed = (uint64_t)(now_ns - thread->since_ns);
    if (thread->state >= STATE_WAIT_TASKS || state >= STATE_WAIT_TASKS)
        time_pass(sums, now_ns);
    if (thread->state >= STATE_WAIT_EXPLICIT && passed) {
        sums->state_ns[thread->state] += passed;
        thread->counts = true;
    }
    if (thread->state == STATE_USEFUL && sums->in_state[STATE_USEFUL] == 1)
        metrics_busy_add(&sums->computing, sums->computing.reach_ns, now_ns);
    if (state == STATE_USEFUL && sums->in_state[STATE_USEFUL] == 0)
        metrics_busy_add(&sums->computing, now_ns, now_ns), sums->computing.reach_ns = now_ns;
    sums->in_state[thread->state]--;
    sums->in_state[state]++;
    thread->state = state;
    thread->since_ns = now_ns;
}

/* ---- teams -------------------------------------------------------------------------------------------------------------------- */

/* NULL: there is no such team, or no memory. */
static uint8_t *team_ended(struct sums *sums, uint16_t maker, uint32_t count)
{
    if (maker >= sums->file->thread_count || count > sums->file->slots) {
        sums->unknown = true;
        return NULL;
    }
    struct thread *thread = &sums->threads[maker];
    if (count >= thread->ended_count) {
        if (!array_reserve(&thread->ended, &thread->ended_capacity, (size_t)count + 1, sizeof *thread->ended)) {
            sums->memory = false;
            return NULL;
        }
        memset(thread->ended + thread->ended_count, 0, thread->ended_capacity - thread->ended_count);
        thread->ended_count = thread->ended_capacity;
    }
    return &thread->ended[count];
}

static void team_enter(struct sums *sums, struct thread *thread, const struct change *change)
{
    bool none = !change->maker && !change->number;
    const uint8_t *ended = none ? NULL : team_ended(sums, change->maker, change->number);
    thread->maker = change->maker;
    thread->team = change->number;
    thread->over = ended && *ended;
}

/* What a worker waits for behind its region's end is no wait. */
static void team_end(struct sums *sums, const struct change *change, int64_t now_ns)
{
    uint8_t *ended = team_ended(sums, change->maker, change->number);
    sums->unknown |= !change->maker && !change->number;
    if (!ended || sums->unknown)
        return;
    *ended = 1;
    for (size_t i = 0; i < sums->file->thread_count; i++) {
        struct thread *thread = &sums->threads[i];
        if (thread->maker != change->maker || thread->team != change->number)
            continue;
        thread->over = true;
        if (thread->state < STATE_WAIT_EXPLICIT)
            continue;
        thread->counts = true;
        state_set(sums, thread, STATE_NONE, now_ns);
    }
}

/* ---- changes ------------------------------------------------------------------------------------------------------------------ */

static void task_made(struct sums *sums, struct thread *thread, uint32_t number, bool declared)
{
    thread->made = number;
    sums->ready++;
    if (!declared)
        return;
    sums->any_declared = true;
    sums->memory &= ready_declare(&sums->tasks, number, &thread->page);
}

static void task_waits(struct sums *sums, struct thread *thread, const struct change *change)
{
    bool blocked = false;
    sums->memory &= ready_after(&sums->tasks, thread->made, change->number, &blocked);
    sums->ready -= blocked;
    sums->blocked += blocked;
}

static void task_begin(struct sums *sums, const struct change *change)
{
    bool blocked = ready_begin(&sums->tasks, change->number);
    sums->blocked -= blocked;
    sums->ready -= !blocked;
}

static void task_end(struct sums *sums, const struct change *change)
{
    uint32_t released = ready_end(&sums->tasks, change->number);
    sums->ready += released;
    sums->blocked -= released;
}

static void change_take(struct sums *sums, struct thread *thread, const struct change *change)
{
    int64_t now_ns = change->ns < sums->end_ns ? change->ns : sums->end_ns;
    switch ((enum change_kind)change->kind) {
    case CHANGE_STATE: break;
    case CHANGE_MADE: task_made(sums, thread, change->number, false); break;
    case CHANGE_MADE_DECLARED: task_made(sums, thread, change->number, true); break;
    case CHANGE_MADE_AFTER:
        task_made(sums, thread, thread->made + change->maker, true);
        task_waits(sums, thread, change);
        break;
    case CHANGE_DECLARED: sums->memory &= ready_declare(&sums->tasks, thread->made, &thread->page); break;
    case CHANGE_AFTER: task_waits(sums, thread, change); break;
    case CHANGE_BEGIN: task_begin(sums, change); break;
    case CHANGE_END: task_end(sums, change); break;
    case CHANGE_TEAM: team_enter(sums, thread, change); break;
    case CHANGE_TEAM_END: team_end(sums, change, now_ns); break;
    }
    uint64_t *tasks_ns = sums->ready > 0 ? sums->ready_ns : sums->blocked > 0 ? sums->blocked_ns : NULL;
    if (tasks_ns != sums->tasks_ns) {
        time_pass(sums, now_ns);
        sums->tasks_ns = tasks_ns;
    }
    enum state state = change->state >= STATE_WAIT_EXPLICIT && thread->over ? STATE_NONE : (enum state)change->state;
    if (state != thread->state)
        state_set(sums, thread, state, now_ns);
}

/* ---- threads of ours ---------------------------------------------------------------------------------------------------------- */

/* Follow some thread whose ring has room enough, and that nobody else follows now; from `first` on. False: there is none. */
static bool any_follow(struct sums *sums, size_t first)
{
    size_t count = sums->file->thread_count;
    for (size_t i = 0; i < count; i++) {
        struct changes *changes = sums->threads[(first + i) % count].changes;
        if (!changes_wanted(changes) || pthread_mutex_trylock(&changes->lock) != 0)
            continue;
        changes_follow(changes);
        pthread_mutex_unlock(&changes->lock);
        return true;
    }
    return false;
}

static bool any_wanted(const struct sums *sums)
{
    bool wanted = atomic_load(&sums->over);
    for (size_t i = 0; i < sums->file->thread_count && !wanted; i++)
        wanted = changes_wanted(sums->threads[i].changes);
    return wanted;
}

/* Until some ring has room, or nothing more is asked for; whoever makes some from now on sees it wait. It is seldom long. */
static void idle(struct sums *sums)
{
    for (int i = 0; i < TURNS; i++) {
        sched_yield();
        if (any_wanted(sums))
            return;
    }
    pthread_mutex_lock(&sums->idle);
    atomic_fetch_add(&sums->idle_count, 1);
    if (!any_wanted(sums))
        pthread_cond_wait(&sums->work, &sums->idle);
    atomic_fetch_sub(&sums->idle_count, 1);
    pthread_mutex_unlock(&sums->idle);
}

static void help(struct sums *sums)
{
    for (size_t turn = 0; !atomic_load(&sums->over); turn++)
        if (!any_follow(sums, turn))
            idle(sums);
}

static void helpers_wake(struct sums *sums)
{
    if (!atomic_load(&sums->idle_count))
        return;
    pthread_mutex_lock(&sums->idle);
    pthread_cond_broadcast(&sums->work);
    pthread_mutex_unlock(&sums->idle);
}

/* Give back what was taken, and have more. False: there is none. */
static bool piece_next(struct sums *sums, struct thread *thread)
{
    struct changes *changes = thread->changes;
    atomic_store(&changes->taken, thread->piece);
    helpers_wake(sums);
    if (sums->unknown || !sums->memory)
        return false;
    for (int turn = 0;; turn++) {
        bool ended = atomic_load_explicit(&changes->ended, memory_order_acquire);
        if (atomic_load_explicit(&changes->filled, memory_order_acquire) > thread->piece) {
            size_t piece = thread->piece++ % CHANGES_PIECES;
            thread->at = changes->ring + piece * changes->length;
            thread->end = thread->at + changes->counts_of[piece];
            return true;
        }
        if (ended) {
            sums->unknown |= changes->broken_off & CHANGES_UNKNOWN;
            sums->memory &= !(changes->broken_off & CHANGES_NO_MEMORY);
            return false;
        }
        if (pthread_mutex_trylock(&changes->lock) != 0) {
            if (any_follow(sums, 0) || (turn < TURNS && sched_yield() == 0))
                continue;
            pthread_mutex_lock(&changes->lock);
        }
        if (atomic_load_explicit(&changes->filled, memory_order_relaxed) == thread->piece)
            changes_follow(changes);
        pthread_mutex_unlock(&changes->lock);
    }
}

/* A thread's own changes as long as no other has an earlier one. */
static void thread_take(struct sums *sums, struct thread *thread, int64_t until_ns)
{
    enum { FAR = 32, NEAR = 16 };
    int64_t next_ns;
    do {
        if (sums->any_declared && thread->end - thread->at > FAR) {
            if (thread->at[FAR].kind == CHANGE_BEGIN)
                __builtin_prefetch(ready_soon(&sums->tasks, thread->at[FAR].number), 1);
            if (thread->at[NEAR].kind == CHANGE_BEGIN)
                __builtin_prefetch(ready_later(&sums->tasks, thread->at[NEAR].number), 1);
        }
        change_take(sums, thread, thread->at++);
        next_ns = thread->at < thread->end || piece_next(sums, thread) ? thread->at->ns : NEVER;
    } while (next_ns <= until_ns);
    sums->next_ns[thread - sums->threads] = next_ns;
}

/* It is in its state until the program ends. */
static void thread_end(struct sums *sums, struct thread *thread)
{
    struct changes *changes = thread->changes;
    if (thread->state != STATE_NONE)
        state_set(sums, thread, STATE_NONE, sums->end_ns);
    changes_end(changes);
    thread->counts |= changes->counts;
    for (int state = 0; state < STATE_WAIT_EXPLICIT; state++)
        sums->state_ns[state] += changes->state_ns[state];
}

static void threads_end(struct sums *sums)
{
    uint64_t made = 0, begun = 0, ended = 0, dividing = 0;
    if (!sums->unknown)
        time_pass(sums, sums->end_ns);
    for (size_t i = 0; i < sums->file->thread_count; i++) {
        struct thread *thread = &sums->threads[i];
        if (!sums->unknown)
            thread_end(sums, thread);
        made += thread->changes->tasks_made;
        begun += thread->changes->tasks_begun;
        ended += thread->changes->tasks_ended;
        dividing += thread->changes->tasks_dividing;
    }
    sums->unknown |= made != begun || made != ended;
    sums->tasks_made = made - dividing;
}

static void merge(struct sums *sums)
{
    size_t count = sums->file->thread_count;
    sums->in_state[STATE_NONE] = (int64_t)count;
    for (size_t i = 0; i < count; i++)
        sums->next_ns[i] = piece_next(sums, &sums->threads[i]) ? sums->threads[i].at->ns : NEVER;
    while (!sums->unknown && sums->memory) {
        size_t first = 0;
        int64_t first_ns = NEVER, next_ns = NEVER;
        for (size_t i = 0; i < count; i++) {
            int64_t ns = sums->next_ns[i];
            if (ns < first_ns) {
                next_ns = first_ns;
                first_ns = ns;
                first = i;
            } else if (ns < next_ns) {
                next_ns = ns;
            }
        }
        if (first_ns == NEVER)
            break;
        thread_take(sums, &sums->threads[first], next_ns < NEVER ? next_ns : NEVER - 1);
    }
    atomic_store(&sums->over, true);
    helpers_wake(sums);
}

/* Whoever comes first merges. */
static void *work_main(void *context)
{
    struct sums *sums = context;
    if (!atomic_exchange(&sums->merging, true))
        merge(sums);
    else
        help(sums);
    return NULL;
}

/* A ring of a thread is 64 KiB where there are few, and all together 16 MiB at most where there are hundreds. */
static bool threads_start(struct sums *sums, const struct numbers *numbers)
{
    enum { LONGEST = 1024, ALL = 1 << 18 };
    size_t count = sums->file->thread_count, length = LONGEST;
    while (length > CHANGES_LEAST && length * count > ALL)
        length /= 2;
    sums->threads = calloc(count, sizeof *sums->threads);
    sums->next_ns = malloc(count * sizeof *sums->next_ns);
    if (!sums->threads || !sums->next_ns)
        return false;
    for (size_t i = 0; i < count; i++) {
        struct changes *changes = aligned_alloc(_Alignof(struct changes), sizeof *changes);
        if (!changes)
            return false;
        sums->threads[i].changes = changes;
        if (!changes_init(changes, sums->file, i, numbers, sums->end_ns, length))
            return false;
    }
    return true;
}

static void threads_stop(struct sums *sums)
{
    for (size_t i = 0; sums->threads && i < sums->file->thread_count; i++) {
        if (sums->threads[i].changes)
            changes_done(sums->threads[i].changes);
        free(sums->threads[i].changes);
        free(sums->threads[i].ended);
    }
    free(sums->threads);
    free(sums->next_ns);
    ready_done(&sums->tasks);
}

/* False: no memory. `workers` as native_metrics has it. */
static bool records_take(struct sums *sums, size_t workers)
{
    struct numbers numbers = {0};
    bool many = false, memory = numbers_init(&numbers, sums->file, &many) && ready_init(&sums->tasks, &numbers) && threads_start(sums, &numbers);
    sums->unknown = many;
    if (memory) {
        pthread_mutex_init(&sums->idle, NULL);
        pthread_cond_init(&sums->work, NULL);
        if (workers)
            workers_wait(work_main, sums, sums->file->thread_count + 1, workers);
        else
            workers_run(work_main, sums, sums->file->thread_count + 1);
        pthread_cond_destroy(&sums->work);
        pthread_mutex_destroy(&sums->idle);
        threads_end(sums);
    }
    numbers_done(&numbers);
    return many || (memory && sums->memory);
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
        lists[i] = sums->threads[i].changes->computing;
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
                              .workers = 1, .tasks = sums->tasks_made, .total_ns = (int64_t)pop.wall_ns};
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

enum pcere_status native_metrics(const char *path, size_t workers, struct run_metrics *ret_metrics, struct pop *ret_pop, bool *ret_done, struct pcere_error *error)
{
    struct trace_file *file;
    *ret_done = false;
    if (!is_native(path) || trace_file_open(path, &file, error) != PCERE_OK)
        return PCERE_OK;
    struct sums sums = {.file = file, .memory = true, .end_ns = (int64_t)trace_ns(file, file->header->end.ticks)};
    enum pcere_status status = PCERE_OK;
    if (file->header->tool_started && file->header->ended && file->thread_count && file->header->end.ticks > file->header->start.ticks) {
        if (!records_take(&sums, workers))
            status = pcere_fail_memory(error, "the metrics");
        else if (!sums.unknown && (sums.state_ns[STATE_SERIAL] || sums.state_ns[STATE_BODY])) {
            status = results_make(&sums, ret_metrics, ret_pop, error);
            *ret_done = status == PCERE_OK;
        }
        threads_stop(&sums);
    }
    trace_file_close(file);
    return status;
}
