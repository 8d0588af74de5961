/* capture-rt/target/nesting.c - which threads are in which regions, and which region's team a thread works in.
 *
 * A thread's state outlives it: the next thread with the same thread pointer takes it over. The team of a worker is told by the numbers of
 * its ancestors, since the OpenMP runtime tells nothing else: who began the region around it had the same ones, without the last.
 */
#include "capture-rt/target/target.h"

static __thread struct target_thread *own;

static struct target_thread *thread_claim(struct target_state *state, uintptr_t thread_pointer)
{
    struct target_thread *found = NULL;
    pthread_mutex_lock(&state->claiming);
    for (uint32_t i = 0; !found && i < state->thread_count; i++)
        if (state->threads[i].thread_pointer == thread_pointer)
            found = &state->threads[i];
    if (!found && state->thread_count < CAPTURE_THREADS_MAX) {
        found = &state->threads[state->thread_count];
        found->thread_pointer = thread_pointer;
        __atomic_store_n(&state->thread_count, state->thread_count + 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&state->claiming);
    if (!found)
        __atomic_fetch_add(&state->log->threads_dropped, 1, __ATOMIC_RELAXED);
    return found;
}

struct target_thread *target_thread_own(struct target_state *state)
{
    if (__builtin_expect(!own, 0))
        own = thread_claim(state, target_thread_pointer());
    return own;
}

static uint64_t place_step(uint64_t place, uint64_t number)
{
    place = (place ^ (number + 1)) * 0x9e3779b97f4a7c15u;
    return place ^ place >> 29;
}

uint64_t target_nesting_place(uint32_t *ret_levels, uint64_t *ret_team)
{
    int levels = target_runtime_level();
    uint64_t place = 1, team = 0;
    for (int level = 1; level <= levels; level++) {
        team = place;
        place = place_step(place, (uint64_t)target_runtime_number(level));
    }
    *ret_levels = levels > 0 ? (uint32_t)levels : 0;
    if (ret_team)
        *ret_team = team;
    return place;
}

/* The innermost region that this thread began in that place: the one whose team is meant, if it is this thread's. */
static const struct target_open *open_in(const struct target_thread *thread, uint64_t place)
{
    uint32_t depth = __atomic_load_n(&thread->depth, __ATOMIC_ACQUIRE);
    for (; depth > 0 && depth <= TARGET_DEPTH_MAX; depth--)
        if (thread->open[depth - 1].place == place)
            return &thread->open[depth - 1];
    return NULL;
}

uint32_t target_nesting_parent(const struct target_state *state, const struct target_thread *thread, uint32_t levels, uint64_t team)
{
    if (thread->depth > 0)
        return thread->open[thread->depth - 1].record.region + 1;
    if (levels == 0)
        return 0;
    uint32_t parent = 0, count = __atomic_load_n(&state->thread_count, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < count; i++) {
        const struct target_open *open = open_in(&state->threads[i], team);
        if (open && parent && parent != open->record.region + 1)
            return CAPTURE_PARENT_UNKNOWN;      /* several initial threads, each with such a team */
        if (open)
            parent = open->record.region + 1;
    }
    return parent ? parent : CAPTURE_PARENT_UNKNOWN;
}
