/* capture-rt/target/openmp_memory.c - what the program allocates through the OpenMP runtime: omp_alloc and its like, allocate clauses.
 *
 * The runtime cuts such blocks from pools of each thread that hold its own tasks as well, and writes between them. So that the program's are
 * with the program's memory, and only they, they come from the allocator that serves the program's malloc, aligned as the OpenMP allocator's
 * traits ask, and charged to its pool if that is limited. What is left to the runtime: what does not fit a pool any more, which it answers as the traits say,
 * and unknown allocators. An allocator itself is the program's memory: a replay's runtime finds its traits and the pool's count there.
 */
#include "capture-rt/target/target.h"
#include "include/pcere/openmp_block.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

extern __typeof__(malloc) target_own_malloc;
extern __typeof__(aligned_alloc) target_own_aligned_alloc;
extern __typeof__(free) target_own_free;

enum { TRAIT_ALIGNMENT = 2, TRAIT_POOL = 4, PREDEFINED_LAST = 8, ALLOCATORS_MOST = 256, ALLOCATOR_WORDS_FIXED = 3, ALLOCATOR_WORDS = 8 };

struct trait { int key; uintptr_t value; };          /* omp_alloctrait_t */

static struct allocator {
    uintptr_t handle;
    size_t alignment;
    bool unknown;                /* what it allows */
    uint64_t limit, *account;    /* of its pool: bytes, and how many are used; NULL: there is no limit */
} allocators[ALLOCATORS_MOST];
static size_t allocator_count;
static pthread_rwlock_t allocators_lock = PTHREAD_RWLOCK_INITIALIZER;
static uintptr_t (*next_default)(void);
static int (*next_number)(const void *place);

/* The runtime's allocator has the pool's size as one of its first words, behind memory space, kind and alignment, and then what is used. */
static uint64_t *account_find(uintptr_t handle, uint64_t limit)
{
    uint64_t *words = (uint64_t *)handle;
    for (size_t i = ALLOCATOR_WORDS_FIXED; limit && i + 1 < ALLOCATOR_WORDS; i++)
        if (words[i] == limit && words[i + 1] == 0)
            return &words[i + 1];
    return NULL;
}

static void trait_note(struct allocator *allocator, const struct trait *trait)
{
    if (trait->key == TRAIT_ALIGNMENT)
        allocator->alignment = trait->value;
    if (trait->key == TRAIT_POOL) {
        allocator->limit = trait->value;
        allocator->account = account_find(allocator->handle, trait->value);
        allocator->unknown = !allocator->account;
    }
}

static void allocator_note(uintptr_t handle, int count, const struct trait *traits)
{
    size_t at = 0;
    if (!handle)
        return;
    pthread_rwlock_wrlock(&allocators_lock);
    while (at < allocator_count && allocators[at].handle != handle)
        at++;
    if (at < ALLOCATORS_MOST) {
        allocator_count += at == allocator_count;
        allocators[at] = (struct allocator){.handle = handle};
        for (int i = 0; i < count; i++)
            trait_note(&allocators[at], &traits[i]);
    }
    pthread_rwlock_unlock(&allocators_lock);
}

/* Whether its blocks may come from elsewhere. */
static bool allocator_known(uintptr_t handle, struct allocator *ret_allocator)
{
    bool known = false;
    *ret_allocator = (struct allocator){0};
    handle = !handle && next_default ? next_default() : handle;
    if (handle <= PREDEFINED_LAST)
        return handle != 0;
    pthread_rwlock_rdlock(&allocators_lock);
    for (size_t i = 0; i < allocator_count && !known; i++) {
        known = allocators[i].handle == handle && !allocators[i].unknown;
        if (known)
            *ret_allocator = allocators[i];
    }
    pthread_rwlock_unlock(&allocators_lock);
    return known;
}

/* As the runtime does it, alignment included. False: the pool has not so much left. */
static bool pool_charge(const struct allocator *allocator, size_t bytes, size_t alignment, uint64_t *ret_charge)
{
    size_t least = sizeof(void *), charge;
    *ret_charge = 0;
    if (!allocator->account)
        return true;
    if (__builtin_add_overflow(bytes, (alignment > least ? alignment : least) + OPENMP_BLOCK_OVERHEAD, &charge))
        return false;
    *ret_charge = charge;
    if (__atomic_fetch_add(allocator->account, charge, __ATOMIC_RELAXED) + charge <= allocator->limit)
        return true;
    __atomic_fetch_sub(allocator->account, charge, __ATOMIC_RELAXED);
    return false;
}

/* NULL: let the runtime do it, and fail as it does. */
static void *block_make(size_t count, size_t each, size_t alignment, uintptr_t allocator, bool clear)
{
    struct allocator of;
    struct openmp_block header = {.magic = OPENMP_BLOCK_MAGIC};
    size_t bytes, whole;
    if (!allocator_known(allocator, &of))
        return NULL;
    alignment = alignment < of.alignment ? of.alignment : alignment;
    size_t room = alignment > 16 ? (sizeof header + alignment - 1) / alignment * alignment : sizeof header;
    if ((alignment & (alignment - 1)) || __builtin_mul_overflow(count, each, &bytes) || !bytes || __builtin_add_overflow(bytes, room, &whole)
        || !pool_charge(&of, bytes, alignment, &header.charge))
        return NULL;
    header.account = of.account;
    header.limited = of.account != NULL;
    header.bytes = bytes;
    char *start = alignment > 16 ? target_own_aligned_alloc(alignment, whole) : target_own_malloc(whole);
    if (!start) {
        openmp_block_discharge(&header);
        return NULL;
    }
    header.start = start;
    *((struct openmp_block *)(start + room) - 1) = header;
    return clear ? memset(start + room, 0, bytes) : start + room;
}

/* Its header stays: what is freed in a captured region stays as it is. */
static bool block_free(void *block)
{
    struct openmp_block *header = openmp_block_of(block);
    openmp_block_discharge(header);
    if (header)
        target_own_free(header->start);
    return header != NULL;
}

TARGET_EXPORT void *omp_alloc(size_t bytes, uintptr_t allocator);

static void *block_move(void *block, size_t bytes, uintptr_t allocator)
{
    const struct openmp_block *header = openmp_block_of(block);
    void *moved = bytes ? omp_alloc(bytes, allocator) : NULL;
    if (moved && header)
        memcpy(moved, block, header->bytes < bytes ? header->bytes : bytes);
    if (moved || !bytes)
        block_free(block);
    return moved;
}

/* The runtime begins, and learns of this thread, with memory of its own. */
static void runtime_enter(void)
{
    if (next_number)
        next_number(NULL);
    target_allocator_for_program(1);
}

static void runtime_leave(void)
{
    target_allocator_for_program(-1);
}

/* ---- the runtime's functions --------------------------------------------------------------------------------------------------- */

#define DEFAULT_ALLOCATOR ((uintptr_t)1)

/* X(name, parameters, arguments, what serves instead) */
#define ALLOCATING(X)                                                                                                      \
    X(omp_alloc, (size_t bytes, uintptr_t allocator), (bytes, allocator), block_make(1, bytes, 0, allocator, false))       \
    X(omp_calloc, (size_t count, size_t bytes, uintptr_t allocator), (count, bytes, allocator),                            \
      block_make(count, bytes, 0, allocator, true))                                                                        \
    X(omp_aligned_alloc, (size_t alignment, size_t bytes, uintptr_t allocator), (alignment, bytes, allocator),             \
      block_make(1, bytes, alignment, allocator, false))                                                                   \
    X(omp_aligned_calloc, (size_t alignment, size_t count, size_t bytes, uintptr_t allocator),                             \
      (alignment, count, bytes, allocator), block_make(count, bytes, alignment, allocator, true))                          \
    X(kmp_malloc, (size_t bytes), (bytes), block_make(1, bytes, 0, DEFAULT_ALLOCATOR, false))                              \
    X(kmp_calloc, (size_t count, size_t bytes), (count, bytes), block_make(count, bytes, 0, DEFAULT_ALLOCATOR, true))      \
    X(kmp_aligned_malloc, (size_t bytes, size_t alignment), (bytes, alignment),                                            \
      block_make(1, bytes, alignment, DEFAULT_ALLOCATOR, false))                                                           \
    X(__kmpc_alloc, (int thread, size_t bytes, uintptr_t allocator), (thread, bytes, allocator),                           \
      block_make(1, bytes, 0, allocator, false))                                                                           \
    X(__kmpc_aligned_alloc, (int thread, size_t alignment, size_t bytes, uintptr_t allocator),                             \
      (thread, alignment, bytes, allocator), block_make(1, bytes, alignment, allocator, false))

#define MOVING(X)                                                                                                          \
    X(omp_realloc, (void *block, size_t bytes, uintptr_t allocator, uintptr_t free_allocator),                             \
      (block, bytes, allocator, free_allocator), allocator)                                                                \
    X(kmp_realloc, (void *block, size_t bytes), (block, bytes), DEFAULT_ALLOCATOR)

#define FREEING(X)                                                                                                         \
    X(omp_free, (void *block, uintptr_t allocator), (block, allocator))                                                    \
    X(kmp_free, (void *block), (block))                                                                                    \
    X(__kmpc_free, (int thread, void *block, uintptr_t allocator), (thread, block, allocator))

#define MAKING(X)                                                                                                          \
    X(omp_init_allocator, (uintptr_t space, int count, const struct trait traits[]), (space, count, traits))               \
    X(__kmpc_init_allocator, (int thread, uintptr_t space, int count, const struct trait traits[]), (thread, space, count, traits))

#define NEXT(type, name, parameters)            \
    static type (*next_##name) parameters;      \
    TARGET_EXPORT type name parameters;         \
    TARGET_EXPORT type name parameters

#define ALLOCATE(name, parameters, arguments, served)           \
    NEXT(void *, name, parameters)                              \
    {                                                           \
        target_runtime_attach(__builtin_return_address(0));     \
        void *block = served;                                   \
        if (block || !next_##name)                              \
            return block;                                       \
        runtime_enter();                                        \
        block = next_##name arguments;                          \
        runtime_leave();                                        \
        return block;                                           \
    }
#define MOVE(name, parameters, arguments, allocator)            \
    NEXT(void *, name, parameters)                              \
    {                                                           \
        target_runtime_attach(__builtin_return_address(0));     \
        if (!block || openmp_block_of(block))                   \
            return block_move(block, bytes, allocator);         \
        if (!next_##name)                                       \
            return NULL;                                        \
        runtime_enter();                                        \
        void *moved = next_##name arguments;                    \
        runtime_leave();                                        \
        return moved;                                           \
    }
#define RELEASE(name, parameters, arguments)                    \
    NEXT(void, name, parameters)                                \
    {                                                           \
        target_runtime_attach(__builtin_return_address(0));     \
        if (!block_free(block) && next_##name)                  \
            next_##name arguments;                              \
    }
#define MAKE(name, parameters, arguments)                       \
    NEXT(uintptr_t, name, parameters)                           \
    {                                                           \
        target_runtime_attach(__builtin_return_address(0));     \
        if (!next_##name)                                       \
            return 0;                                           \
        runtime_enter();                                        \
        uintptr_t handle = next_##name arguments;               \
        runtime_leave();                                        \
        allocator_note(handle, count, traits);                  \
        return handle;                                          \
    }
ALLOCATING(ALLOCATE)
MOVING(MOVE)
FREEING(RELEASE)
MAKING(MAKE)

void target_openmp_memory_resolve(void)
{
    void *symbol;
#define RESOLVE(name, ...)                                                  \
    symbol = target_runtime_symbol(#name, TARGET_ADDRESS(name));            \
    memcpy(&next_##name, &symbol, sizeof symbol);
    ALLOCATING(RESOLVE)
    MOVING(RESOLVE)
    FREEING(RESOLVE)
    MAKING(RESOLVE)
    symbol = target_runtime_symbol("omp_get_default_allocator", NULL);
    memcpy(&next_default, &symbol, sizeof symbol);
    symbol = target_runtime_symbol("__kmpc_global_thread_num", NULL);
    memcpy(&next_number, &symbol, sizeof symbol);
}
