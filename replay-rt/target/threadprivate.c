/* replay-rt/target/threadprivate.c - threads' copies of threadprivate variables that are no thread-local ones (-fnoopenmp-use-tls, flang).
 *
 * The OpenMP runtime takes what stands in its list for a variable, by its own number of the thread. A thread of the captured team has its copy at the
 * captured address, where restored memory has what it held. A thread that the capture did not have, or that had no copy yet, gets one with the value
 * that the variable has when the program starts, or an object made anew: the runtime makes copies of what it held when it was first used.
 */
#include "replay-rt/target/codelet.h"

#include "include/pcere/threadprivate.h"

#include <stdlib.h>
#include <string.h>

#define RUNTIME_THREADS_MOST 32768        /* the OpenMP runtime's own numbers go beyond the team's */

/* The next entry of all images' tables; NULL: the first one, and none. */
static const struct codelet_cache *cache_next(const struct codelet_cache *cache)
{
    bool found = !cache;
    for (size_t k = 0; k < pcere_images_count(); k++) {
        const struct codelet_image *image = pcere_image(k);
        if (found && image->caches < image->caches_end)
            return image->caches;
        if (cache < image->caches || cache >= image->caches_end)
            continue;
        if (cache + 1 < image->caches_end)
            return cache + 1;
        found = true;
    }
    return NULL;
}

/* The unit's that defines the variable: it knows how a copy begins. */
static const struct codelet_cache *cache_defined(const struct codelet_cache *cache)
{
    for (const struct codelet_cache *c = cache_next(NULL); c && !cache->initial; c = cache_next(c))
        if (c->original == cache->original && c->initial && c->bytes == cache->bytes)
            return c;
    return cache;
}

struct copies {
    struct memory *memory;
    const struct threadprivate_copy *items;   /* in restored memory */
    uint64_t count;
    uint32_t turn;
};

/* The table lies in captured memory, which is as true as the store. */
static struct copies copies_find(struct memory *memory)
{
    struct copies copies = {.memory = memory};
    const struct codelet *codelet = memory->codelet;
    const struct plan_thread *threads = PLAN_TABLE(codelet, threads, struct plan_thread);
    for (uint64_t i = 0; i < codelet->plan->threads.count; i++) {
        const struct plan_thread *thread = &threads[i];
        if (thread->image != PLAN_THREAD_COPIES || thread->tls_bytes < sizeof(struct threadprivate_table) ||
            !pcere_memory_is_mapped(memory, thread->tls_address))
            continue;
        const struct threadprivate_table *table = (const struct threadprivate_table *)thread->tls_address;
        uint64_t count = table->magic == THREADPRIVATE_MAGIC && table->count <= THREADPRIVATE_COPIES_MAX ? table->count : 0;
        for (uint64_t j = 0; j < count; j++) {
            uint64_t offset = table->copies[j].copy - thread->tls_address;
            if (offset > thread->tls_bytes || table->copies[j].bytes > thread->tls_bytes - offset)
                pcere_plan_end(memory->codelet, PLAN_FAILED, "the captured table of threadprivate variables is damaged");
        }
        copies.items = table->copies;
        copies.count = count;
    }
    return copies;
}

/* The thread's captured copy, or NULL. */
static void *copy_of(const struct copies *copies, const struct codelet_cache *cache, uint32_t number)
{
    uint64_t variable = (uint64_t)cache->original;
    for (uint64_t i = 0; i < copies->count; i++)
        if (copies->items[i].variable == variable && copies->items[i].team == number + 1 && copies->items[i].bytes == cache->bytes)
            return (void *)copies->items[i].copy;
    return NULL;
}

static bool is_captured(const struct copies *copies, const struct codelet_cache *cache, const void *copy)
{
    bool captured = copy == cache->original;
    for (uint64_t i = 0; i < copies->count && !captured; i++)
        captured = copies->items[i].copy == (uint64_t)copy;
    return captured;
}

/* Entries of one variable in several units share a thread's copy, as in the program. */
static void *copy_new(const struct copies *copies, const struct codelet_cache *cache, uint32_t own)
{
    for (const struct codelet_cache *c = cache_next(NULL); c != cache; c = cache_next(c))
        if (c->original == cache->original)
            return (*c->cache)[own];
    void *copy = (*cache->cache)[own];
    if (!copy || is_captured(copies, cache, copy))
        copy = __libc_malloc(cache->bytes);
    if (!copy)
        pcere_plan_end(copies->memory->codelet, PLAN_FAILED, "no memory for threadprivate variables");
    const struct codelet_cache *defined = cache_defined(cache);
    if (defined->initial)
        memcpy(copy, defined->initial, cache->bytes);
    else
        memset(copy, 0, cache->bytes);
    if (defined->construct)
        defined->construct(copy);
    return copy;
}

static void copies_restore(void *context, uint32_t number, uint32_t threads)
{
    (void)threads;
    const struct copies *copies = context;
    uint32_t own = pcere_team_runtime_number();
    for (const struct codelet_cache *c = cache_next(NULL); own < RUNTIME_THREADS_MOST && c; c = cache_next(c)) {
        void **entry = &(*c->cache)[own], *copy = copy_of(copies, c, number);
        if (!copy && !number && !copies->memory->codelet->plan->global_thread)
            copy = c->original;
        if (copy) {
            *entry = copy;
            continue;
        }
        *entry = copy_new(copies, c, own);
    }
}

static bool any_caches(void)
{
    return cache_next(NULL) != NULL;
}

void pcere_threadprivate_make(struct codelet *codelet)
{
    for (const struct codelet_cache *c = cache_next(NULL); c; c = cache_next(c))
        if (!*c->cache && !(*c->cache = __libc_calloc(RUNTIME_THREADS_MOST, sizeof **c->cache)))
            pcere_plan_end(codelet, PLAN_FAILED, "no memory for threadprivate variables");
}

void pcere_threadprivate_restore(struct memory *memory)
{
    struct copies copies = any_caches() ? copies_find(memory) : (struct copies){0};
    if (any_caches())
        pcere_team_run(copies_restore, &copies);
}

/* One thread after the other: they write to one result. */
static void copies_compare(void *context, uint32_t number, uint32_t threads)
{
    (void)threads;
    const struct copies *copies = context;
    for (const struct codelet_cache *c = cache_next(NULL); number == copies->turn && c; c = cache_next(c)) {
        const void *copy = copy_of(copies, c, number);
        if (copy)
            pcere_bytes_compare(copies->memory, (uint64_t)copy, copy, c->bytes, number);
    }
}

void pcere_threadprivate_compare(struct memory *memory, uint32_t threads)
{
    if (!any_caches())
        return;
    struct copies copies = copies_find(memory);
    for (copies.turn = 0; copies.count && copies.turn < threads; copies.turn++)
        pcere_team_run(copies_compare, &copies);
}
