/* replay-rt/target/threads.c - what belongs to threads and to the OpenMP runtime, made anew before each run.
 *
 * A thread-local variable lives in this process's own TLS block, at another address than in the captured process; its captured
 * value lies in the captured block of the thread with the same number.
 */
#include "replay-rt/target/codelet.h"

#include <stdlib.h>
#include <string.h>

extern const struct codelet_tls __start_pcere_tls[] __attribute__((weak, visibility("hidden")));
extern const struct codelet_tls __stop_pcere_tls[] __attribute__((weak, visibility("hidden")));

void omp_init_lock_with_hint(void *lock, uint64_t hint);
void omp_init_nest_lock_with_hint(void *lock, uint64_t hint);

struct thread_state {
    struct memory *memory;
    uint32_t threads, turn;
    unsigned char **initial;          /* by thread number: all variables, one after the other */
};

static size_t variables_bytes(void)
{
    size_t bytes = 0;
    for (const struct codelet_tls *v = __start_pcere_tls; v < __stop_pcere_tls; v++)
        bytes += v->bytes;
    return bytes;
}

static void initial_save(void *context, uint32_t thread, uint32_t threads)
{
    (void)threads;
    struct thread_state *state = context;
    if (thread >= state->threads || !state->initial[thread])
        return;
    unsigned char *to = state->initial[thread];
    for (const struct codelet_tls *v = __start_pcere_tls; v < __stop_pcere_tls; v++) {
        memcpy(to, v->address(), v->bytes);
        to += v->bytes;
    }
}

struct thread_state *pcere_threads_new(struct memory *memory, uint32_t threads)
{
    struct thread_state *state = calloc(1, sizeof *state);
    size_t bytes = variables_bytes();
    bool complete = state && (state->initial = calloc(threads, sizeof *state->initial));
    for (uint32_t i = 0; complete && bytes && i < threads; i++)
        complete = (state->initial[i] = malloc(bytes));
    if (!complete)
        pcere_plan_end(memory->codelet, PLAN_FAILED, "no memory for thread-local variables");
    state->memory = memory;
    state->threads = threads;
    if (bytes)
        pcere_team_run(initial_save, state);
    return state;
}

static const struct plan_thread *captured_thread(const struct thread_state *state, uint32_t number)
{
    const struct codelet *codelet = state->memory->codelet;
    const struct plan_thread *threads = PLAN_TABLE(codelet, threads, struct plan_thread);
    for (uint64_t i = 0; i < codelet->plan->threads.count; i++)
        if (threads[i].number == number && threads[i].tls_bytes)
            return &threads[i];
    return NULL;
}

/* Where the captured instance of a variable lies, or 0. */
static uint64_t captured_variable(const struct plan_thread *thread, const struct codelet_tls *variable)
{
    uint64_t offset = (uint64_t)variable->captured - 1;
    if (!thread || !variable->captured || offset > thread->tls_bytes || variable->bytes > thread->tls_bytes - offset)
        return 0;
    return thread->tls_address + offset;
}

static void variables_restore(void *context, uint32_t number, uint32_t threads)
{
    (void)threads;
    struct thread_state *state = context;
    if (number >= state->threads)
        return;
    const struct plan_thread *thread = captured_thread(state, number);
    const unsigned char *initial = state->initial[number];
    for (const struct codelet_tls *v = __start_pcere_tls; v < __stop_pcere_tls; v++) {
        uint64_t captured = captured_variable(thread, v);
        memcpy(v->address(), captured ? (const void *)captured : initial, v->bytes);
        initial += v->bytes;
    }
}

static void locks_restore(const struct codelet *codelet)
{
    const struct plan_lock *locks = PLAN_TABLE(codelet, locks, struct plan_lock);
    for (uint64_t i = 0; i < codelet->plan->locks.count; i++)
        if (locks[i].kind)
            omp_init_nest_lock_with_hint((void *)locks[i].address, locks[i].hint);
        else
            omp_init_lock_with_hint((void *)locks[i].address, locks[i].hint);
}

void pcere_threads_restore(struct thread_state *state)
{
    if (__stop_pcere_tls - __start_pcere_tls)
        pcere_team_run(variables_restore, state);
    locks_restore(state->memory->codelet);
}

/* One thread after the other: they write to one result. */
static void variables_compare(void *context, uint32_t number, uint32_t threads)
{
    (void)threads;
    struct thread_state *state = context;
    const struct plan_thread *thread = number == state->turn ? captured_thread(state, number) : NULL;
    if (!thread)
        return;
    for (const struct codelet_tls *v = __start_pcere_tls; v < __stop_pcere_tls; v++) {
        uint64_t captured = captured_variable(thread, v);
        if (captured)
            pcere_bytes_compare(state->memory, captured, v->address(), v->bytes, number);
    }
}

void pcere_threads_compare(struct thread_state *state)
{
    if (!(__stop_pcere_tls - __start_pcere_tls))
        return;
    for (state->turn = 0; state->turn < state->threads; state->turn++)
        pcere_team_run(variables_compare, state);
}
