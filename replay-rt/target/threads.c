/* replay-rt/target/threads.c - what belongs to threads and to the OpenMP runtime, made anew before each run.
 *
 * A thread-local variable lives in this process's own TLS block, at another address than in the captured process; its captured
 * value lies in the captured block of the thread with the same number.
 */
#include "replay-rt/target/codelet.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void omp_init_lock_with_hint(void *lock, uint64_t hint);
void omp_init_nest_lock_with_hint(void *lock, uint64_t hint);
void omp_set_lock(void *lock);
void omp_set_nest_lock(void *lock);
int omp_test_lock(void *lock);
int omp_test_nest_lock(void *lock);
void omp_unset_lock(void *lock);
void omp_unset_nest_lock(void *lock);

struct thread_state {
    struct memory *memory;
    uint32_t threads, known, turn;    /* known: whose variables were remembered before */
    unsigned char **initial;          /* by thread number: all variables, one after the other */
};

static size_t variables_bytes(void)
{
    size_t bytes = 0;
    for (size_t k = 0; k < pcere_images_count(); k++)
        for (const struct codelet_tls *v = pcere_image(k)->tls; v < pcere_image(k)->tls_end; v++)
            bytes += v->bytes;
    return bytes;
}

static void initial_save(void *context, uint32_t thread, uint32_t threads)
{
    (void)threads;
    struct thread_state *state = context;
    if (thread < state->known || thread >= state->threads || !state->initial[thread])
        return;
    unsigned char *to = state->initial[thread];
    for (size_t k = 0; k < pcere_images_count(); k++)
        for (const struct codelet_tls *v = pcere_image(k)->tls; v < pcere_image(k)->tls_end; v++) {
            memcpy(to, v->address(), v->bytes);
            to += v->bytes;
        }
}

void pcere_threads_grow(struct thread_state *state, uint32_t threads)
{
    size_t bytes = variables_bytes();
    unsigned char **initial = threads > state->threads ? realloc(state->initial, threads * sizeof *initial) : state->initial;
    bool complete = initial;
    for (uint32_t i = state->threads; complete && i < threads; i++)
        complete = !bytes ? !(initial[i] = NULL) : (initial[i] = malloc(bytes)) != NULL;
    if (!complete)
        pcere_plan_end(state->memory->codelet, PLAN_FAILED, "no memory for thread-local variables");
    state->initial = initial;
    state->known = state->threads;
    state->threads = threads > state->threads ? threads : state->threads;
    if (bytes && state->known < state->threads)
        pcere_team_run(initial_save, state);
}

struct thread_state *pcere_threads_new(struct memory *memory, uint32_t threads)
{
    struct thread_state *state = calloc(1, sizeof *state);
    if (!state)
        pcere_plan_end(memory->codelet, PLAN_FAILED, "no memory for thread-local variables");
    state->memory = memory;
    pcere_threads_grow(state, threads);
    pcere_threadprivate_make(memory->codelet);
    return state;
}

static const struct plan_thread *captured_thread(const struct thread_state *state, uint32_t number, size_t image)
{
    const struct codelet *codelet = state->memory->codelet;
    const struct plan_thread *threads = PLAN_TABLE(codelet, threads, struct plan_thread);
    for (uint64_t i = 0; i < codelet->plan->threads.count; i++)
        if (threads[i].number == number && threads[i].image == image && threads[i].tls_bytes)
            return &threads[i];
    return NULL;
}

static bool captured_thread_is_known(const struct thread_state *state, uint32_t number)
{
    for (size_t k = 0; k < pcere_images_count(); k++)
        if (captured_thread(state, number, k))
            return true;
    return false;
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
    const unsigned char *initial = state->initial[number];
    for (size_t k = 0; initial && k < pcere_images_count(); k++) {
        const struct plan_thread *thread = captured_thread(state, number, k);
        for (const struct codelet_tls *v = pcere_image(k)->tls; v < pcere_image(k)->tls_end; v++) {
            uint64_t captured = captured_variable(thread, v);
            memcpy(v->address(), captured ? (const void *)captured : initial, v->bytes);
            initial += v->bytes;
        }
    }
}

/* Where the variable that was captured at that address lies now; the address itself if it is no thread-local variable's. */
static uint64_t own_address(const struct thread_state *state, uint64_t address)
{
    for (size_t k = 0; k < pcere_images_count(); k++) {
        const struct plan_thread *thread = captured_thread(state, 0, k);
        for (const struct codelet_tls *v = pcere_image(k)->tls; thread && v < pcere_image(k)->tls_end; v++) {
            uint64_t captured = captured_variable(thread, v);
            if (captured && address - captured < v->bytes)
                return (uint64_t)v->address() + (address - captured);
        }
    }
    return address;
}

const uint64_t *pcere_threads_words(const struct thread_state *state, const uint64_t *words, uint64_t count)
{
    uint64_t *own = NULL;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t address = own_address(state, words[i]);
        if (address == words[i])
            continue;
        if (!own && (own = malloc(count * sizeof *own)))
            memcpy(own, words, count * sizeof *own);
        if (!own)
            pcere_plan_end(state->memory->codelet, PLAN_FAILED, "no memory for arguments");
        own[i] = address;
    }
    return own ? own : words;
}

/* The calling thread's variable that the captured thread of its number had at that address, or 0. */
static uint64_t variable_here(const struct thread_state *state, uint32_t number, uint64_t address)
{
    for (size_t k = 0; k < pcere_images_count(); k++) {
        const struct plan_thread *thread = captured_thread(state, number, k);
        for (const struct codelet_tls *v = pcere_image(k)->tls; thread && v < pcere_image(k)->tls_end; v++) {
            uint64_t captured = captured_variable(thread, v);
            if (captured && address - captured < v->bytes)
                return (uint64_t)v->address() + (address - captured);
        }
    }
    return 0;
}

static void word_point(const struct thread_state *state, uint32_t number, void *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    word = variable_here(state, number, word);
    if (word)
        memcpy(at, &word, sizeof word);
}

/* One thread after the other. What cannot be written holds no such words. */
static void pointers_set(void *context, uint32_t number, uint32_t threads)
{
    (void)threads;
    struct thread_state *state = context;
    const struct memory *memory = state->memory;
    const struct plan_pointer *pointers = PLAN_TABLE(memory->codelet, pointers, struct plan_pointer);
    for (uint64_t i = 0; number == state->turn && i < memory->codelet->plan->pointers.count; i++) {
        if (pointers[i].address && !(pcere_memory_protection(memory, pointers[i].address) & PROT_WRITE))
            continue;
        word_point(state, number, memory->codelet->pages + pointers[i].source);
        if (pointers[i].address)
            word_point(state, number, (void *)pointers[i].address);
    }
}

void pcere_threads_point(struct thread_state *state)
{
    bool any = state->memory->codelet->plan->pointers.count > 0 && variables_bytes() > 0;
    for (state->turn = 0; any && state->turn < state->threads; state->turn++)
        if (captured_thread_is_known(state, state->turn))
            pcere_team_run(pointers_set, state);
}

/* ---- locks ------------------------------------------------------------------------------------------------------------------- */

static void lock_set(const struct plan_lock *lock)
{
    for (uint32_t i = 0; i < lock->held; i++)
        if (lock->kind)
            omp_set_nest_lock((void *)lock->address);
        else if (!i)
            omp_set_lock((void *)lock->address);
}

static void locks_set(void *context, uint32_t number, uint32_t threads)
{
    struct thread_state *state = context;
    struct codelet *codelet = state->memory->codelet;
    const struct plan_lock *locks = PLAN_TABLE(codelet, locks, struct plan_lock);
    for (uint64_t i = 0; i < codelet->plan->locks.count; i++)
        if (locks[i].held && locks[i].owner == number)
            lock_set(&locks[i]);
        else if (locks[i].held && locks[i].owner >= threads && !number)
            pcere_plan_end(codelet, PLAN_FAILED, "thread %u holds a lock, which this team does not have", locks[i].owner);
}

static void locks_restore(struct thread_state *state)
{
    const struct codelet *codelet = state->memory->codelet;
    const struct plan_lock *locks = PLAN_TABLE(codelet, locks, struct plan_lock);
    bool held = false, by_others = false;
    for (uint64_t i = 0; i < codelet->plan->locks.count; i++) {
        if (locks[i].kind)
            omp_init_nest_lock_with_hint((void *)locks[i].address, locks[i].hint);
        else
            omp_init_lock_with_hint((void *)locks[i].address, locks[i].hint);
        held |= locks[i].held;
        by_others |= locks[i].held && locks[i].owner;
    }
    if (by_others)
        pcere_team_run(locks_set, state);
    else if (held)
        locks_set(state, 0, state->threads);
}

/* A lock that lets itself be taken is free, or this thread's own nested one. */
static bool lock_is_own(const struct plan_lock *lock, uint32_t *ret_held)
{
    int count = lock->kind ? omp_test_nest_lock((void *)lock->address) : omp_test_lock((void *)lock->address);
    if (count <= 0)
        return false;
    if (lock->kind)
        omp_unset_nest_lock((void *)lock->address);
    else
        omp_unset_lock((void *)lock->address);
    *ret_held = (uint32_t)count - 1;
    return true;
}

/* One thread after the other, as its turn comes. */
static void locks_compare(void *context, uint32_t number, uint32_t threads)
{
    (void)threads;
    struct thread_state *state = context;
    struct codelet *codelet = state->memory->codelet;
    const struct plan_lock *locks = PLAN_TABLE(codelet, locks, struct plan_lock);
    for (uint64_t i = 0; number == state->turn && i < codelet->plan->locks.count; i++) {
        const struct plan_lock *lock = &locks[i];
        if (lock->held_after == PLAN_LOCK_GONE || lock->owner_after != number)
            continue;
        uint32_t held = lock->kind ? UINT32_MAX : 1;
        lock_is_own(lock, &held);
        pcere_state_compare(state->memory, PLAN_STATE_LOCK, lock->address, lock->held_after, held, sizeof held);
    }
}

void pcere_threads_restore(struct thread_state *state)
{
    if (variables_bytes())
        pcere_team_run(variables_restore, state);
    pcere_keys_restore(state->memory->codelet);
    pcere_threadprivate_restore(state->memory);
    locks_restore(state);
}

/* ---- comparing --------------------------------------------------------------------------------------------------------------- */

/* One thread after the other: they write to one result. */
static void variables_compare(void *context, uint32_t number, uint32_t threads)
{
    (void)threads;
    struct thread_state *state = context;
    for (size_t k = 0; number == state->turn && k < pcere_images_count(); k++) {
        const struct plan_thread *thread = captured_thread(state, number, k);
        for (const struct codelet_tls *v = pcere_image(k)->tls; v < pcere_image(k)->tls_end; v++) {
            uint64_t captured = captured_variable(thread, v);
            if (captured)
                pcere_bytes_compare(state->memory, captured, v->address(), v->bytes, number + 1);
        }
    }
}

void pcere_threads_compare(struct thread_state *state)
{
    bool variables = variables_bytes() > 0, locks = state->memory->codelet->plan->locks.count;
    for (state->turn = 0; state->turn < state->threads; state->turn++) {
        if (variables)
            pcere_team_run(variables_compare, state);
        if (locks)
            pcere_team_run(locks_compare, state);
    }
    pcere_threadprivate_compare(state->memory, state->threads);
}
