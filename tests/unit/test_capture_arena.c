/* tests/unit/test_capture_arena.c - the OpenMP runtime's memory under a capture: who takes the lock of all is counted, nothing is timed. */
#include <pthread.h>
#include <stdint.h>

static uint64_t locks_taken;

static int lock_counting(pthread_mutex_t *mutex)
{
    __atomic_fetch_add(&locks_taken, 1, __ATOMIC_RELAXED);
    return pthread_mutex_lock(mutex);
}

#define pthread_mutex_lock lock_counting
#include "capture-rt/target/arena.c"
#include "capture-rt/target/reserve.c"
#undef pthread_mutex_lock

#include "unit.h"

#include <stdlib.h>
#include <string.h>

static size_t next_asked[8], next_freed;
static unsigned next_count;

static void *next_malloc(size_t bytes)
{
    next_asked[next_count++ % 8] = bytes;
    return malloc(bytes);
}

static void next_free(void *block)
{
    next_freed++;
    free(block);
}

struct target_allocator target_next = {.malloc = next_malloc, .free = next_free};

enum { PAIRS = 100000, TEXT_BYTES = 180, LINE_BYTES = 64, HELD = 64 };

static void on_threads(unsigned count, void *(*work)(void *), void *const arguments[])
{
    pthread_t threads[8];
    CU_ASSERT_FATAL(count <= sizeof threads / sizeof *threads);
    for (unsigned i = 0; i < count; i++)
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, work, arguments[i]), 0);
    for (unsigned i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

static size_t cut_bytes(void)
{
    return (size_t)(arena.next - arena.room.start);
}

static void *make_and_free(void *ret_sum)
{
    uintptr_t sum = 0;
    for (int i = 0; i < PAIRS; i++) {
        void *text = target_arena_allocate(TEXT_BYTES, 16);
        sum += text != NULL;
        target_arena_free(text);
    }
    *(uintptr_t *)ret_sum = sum;
    return NULL;
}

static void a_text_for_each_chunk_takes_no_lock(void)
{
    uintptr_t made[2] = {0};
    CU_ASSERT_FATAL(target_arena_open());
    locks_taken = 0;
    on_threads(2, make_and_free, (void *[]){&made[0], &made[1]});
    CU_ASSERT_EQUAL(made[0] + made[1], 2 * PAIRS);
    CU_ASSERT(locks_taken <= 2);            /* each filled its shelf once */
}

struct side { char *blocks[HELD]; pthread_barrier_t *meet; };

static void *take_in_turns(void *context)
{
    struct side *side = context;
    for (int i = 0; i < HELD; i++) {
        pthread_barrier_wait(side->meet);
        side->blocks[i] = target_arena_allocate(16, 16);
    }
    return NULL;
}

static void threads_share_no_line(void)
{
    pthread_barrier_t meet;
    struct side sides[2] = {{.meet = &meet}, {.meet = &meet}};
    pthread_barrier_init(&meet, NULL, 2);
    on_threads(2, take_in_turns, (void *[]){&sides[0], &sides[1]});
    for (int i = 0; i < HELD; i++)
        for (int j = 0; j < HELD; j++)
            CU_ASSERT_NOT_EQUAL((uintptr_t)sides[0].blocks[i] / LINE_BYTES, (uintptr_t)sides[1].blocks[j] / LINE_BYTES);
    for (int i = 0; i < HELD; i++) {
        target_arena_free(sides[0].blocks[i]);
        target_arena_free(sides[1].blocks[i]);
    }
    pthread_barrier_destroy(&meet);
}

enum { BELT = 256, BELTS = 400 };

struct belt { void *blocks[BELT]; pthread_barrier_t meet; int number; };

/* The first to come makes blocks, the other frees them: 102,400 of 256 bytes, 26 MB. */
static void *belt_run(void *context)
{
    struct belt *belt = context;
    bool makes = __atomic_fetch_add(&belt->number, 1, __ATOMIC_RELAXED) == 0;
    for (int round = 0; round < BELTS; round++) {
        for (int i = 0; makes && i < BELT; i++)
            belt->blocks[i] = target_arena_allocate(TEXT_BYTES, 16);
        pthread_barrier_wait(&belt->meet);
        for (int i = 0; !makes && i < BELT; i++)
            target_arena_free(belt->blocks[i]);
        pthread_barrier_wait(&belt->meet);
    }
    return NULL;
}

static void what_others_free_comes_back(void)
{
    struct belt belt = {.number = 0};
    pthread_barrier_init(&belt.meet, NULL, 2);
    size_t before = cut_bytes();
    locks_taken = 0;
    on_threads(2, belt_run, (void *[]){&belt, &belt});
    CU_ASSERT(cut_bytes() - before <= 2 * (BELT * 256 + SHELF_MOST_BYTES + SHELF_SPAN_BYTES));
    CU_ASSERT(locks_taken <= 2 * BELT * BELTS * 256 / SHELF_SPAN_BYTES + BELTS);       /* by spans, not by blocks */
    pthread_barrier_destroy(&belt.meet);
}

static void *take_one(void *context)
{
    (void)context;
    target_arena_free(target_arena_allocate(TEXT_BYTES, 16));
    return NULL;
}

static void threads_that_end_leave_their_shelves(void)
{
    size_t before = cut_bytes();
    for (int i = 0; i < 4 * (int)SHELVES; i++)
        on_threads(1, take_one, (void *[]){NULL});
    CU_ASSERT(cut_bytes() - before <= SHELVES * SHELF_SPAN_BYTES);
}

static void *mix(void *seed)
{
    struct { unsigned char *block; size_t bytes; unsigned char value; } held[HELD] = {0};
    uint64_t x = *(uint64_t *)seed;
    uintptr_t wrong = 0;
    shelf_number = SHELVES;         /* all on one */
    for (int i = 0; i < PAIRS; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        size_t at = x % HELD;
        for (size_t k = 0; held[at].block && k < held[at].bytes; k++)
            wrong += held[at].block[k] != held[at].value;
        if (held[at].block)
            target_arena_free(held[at].block);
        held[at].bytes = 1 + (x >> 8) % (x >> 40 & 7 ? 300 : 6000);
        held[at].value = (unsigned char)(x >> 16);
        size_t alignment = (size_t)16 << (x >> 48) % 4;
        held[at].block = target_arena_allocate(held[at].bytes, alignment);
        wrong += !held[at].block || (uintptr_t)held[at].block % alignment || target_arena_bytes(held[at].block) < held[at].bytes;
        if (held[at].block)
            memset(held[at].block, held[at].value, held[at].bytes);
    }
    for (size_t at = 0; at < HELD; at++)
        if (held[at].block)
            target_arena_free(held[at].block);
    *(uint64_t *)seed = wrong;
    return NULL;
}

static void threads_on_one_shelf_get_blocks_of_their_own(void)
{
    uint64_t seeds[4] = {11, 222, 3333, 44444};
    on_threads(4, mix, (void *[]){&seeds[0], &seeds[1], &seeds[2], &seeds[3]});
    for (int i = 0; i < 4; i++)
        CU_ASSERT_EQUAL(seeds[i], 0);
}

static void a_shelf_in_use_is_gone_by(void)
{
    void *first = target_arena_allocate(TEXT_BYTES, 16);
    struct shelf *shelf = shelf_open();
    CU_ASSERT_PTR_NOT_NULL_FATAL(shelf);
    uint32_t had = shelf->counts[3];
    locks_taken = 0;
    target_arena_free(first);
    CU_ASSERT_EQUAL(locks_taken, 1);
    CU_ASSERT_EQUAL(shelf->counts[3], had);
    void *second = target_arena_allocate(TEXT_BYTES, 16);
    CU_ASSERT_PTR_EQUAL(second, first);     /* of the lists of all, where it lay last */
    shelf_close(shelf);
    target_arena_free(second);
    CU_ASSERT_EQUAL(shelf->counts[3], had + 1);
}

static void the_first_threads_have_shelves_of_their_own(void)
{
    for (uint32_t before = 0; before < SHELVES_OWN; before++)
        CU_ASSERT_EQUAL(shelf_choose(before), before + 1);
    CU_ASSERT_EQUAL(shelf_choose(SHELVES_OWN), SHELVES_OWN + 1);
    CU_ASSERT_EQUAL(shelf_choose(2 * SHELVES_OWN), SHELVES_OWN + 1);
    CU_ASSERT_EQUAL(shelf_choose(UINT32_MAX), SHELVES);
}

static void addresses_become_memory_as_they_are_needed(void)
{
    struct target_room room = {0};
    size_t usable = target_usable_bytes, reserved = target_reserved_bytes;
    CU_ASSERT_FATAL(target_room_take(&room, (size_t)1 << 30, (size_t)1 << 20));
    CU_ASSERT_EQUAL(room.end - room.start, 1 << 30);
    CU_ASSERT_EQUAL(target_reserved_bytes - reserved, (size_t)1 << 30);
    CU_ASSERT_EQUAL(target_usable_bytes, usable);
    CU_ASSERT_PTR_EQUAL(room.usable, room.start);
    CU_ASSERT(target_room_use(&room, room.start + 1));
    room.usable[-1] = 1;
    CU_ASSERT_EQUAL(target_usable_bytes - usable, (size_t)(room.usable - room.start));
    CU_ASSERT(target_room_use(&room, room.end - 1));
    CU_ASSERT_PTR_EQUAL(room.usable, room.end);
    CU_ASSERT_FALSE(target_room_use(&room, room.end + 1));
    munmap(room.start, (size_t)(room.end - room.start));
}

static void a_limit_of_addresses_leaves_them_to_the_program(void)
{
    struct rlimit before, limit;
    struct target_room room = {0};
    CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_AS, &before), 0);
    limit = before;
    limit.rlim_cur = (rlim_t)4 << 30;
    if (setrlimit(RLIMIT_AS, &limit) != 0)
        return;                         /* this process may have less than that */
    if (addresses_left() < (size_t)3 << 30) {
        setrlimit(RLIMIT_AS, &before);
        return;                         /* or takes more than that, as with a sanitizer */
    }
    bool taken = target_room_take(&room, (size_t)16 << 30, (size_t)16 << 20);
    setrlimit(RLIMIT_AS, &before);
    CU_ASSERT_FATAL(taken);
    CU_ASSERT_EQUAL(room.end - room.start, 64 << 20);       /* of 4 GiB, in steps of 4 */
    munmap(room.start, (size_t)(room.end - room.start));
}

static void the_next_allocator_learns_from_large_blocks(void)
{
    CU_ASSERT_FATAL(target_arena_open());
    target_arena_free(target_arena_allocate(TEACHING_BYTES - 1, 16));
    CU_ASSERT_EQUAL(next_count, 0);
    for (int i = 0; i < 3; i++)
        target_arena_free(target_arena_allocate((size_t)1 << 20, 16));
    target_arena_free(target_arena_allocate((size_t)200 << 10, 16));
    CU_ASSERT_EQUAL(next_count, 1);         /* of what is as large or smaller it learns nothing */
    CU_ASSERT_EQUAL(next_asked[0], (size_t)1 << 20);
    target_arena_free(target_arena_allocate((size_t)3 << 20, 64));
    CU_ASSERT_EQUAL(next_count, 2);
    CU_ASSERT_EQUAL(next_asked[1], (size_t)3 << 20);
    CU_ASSERT_EQUAL(next_freed, 2);
}

static const struct unit_test tests[] = {
    {"a text that is made and freed for each chunk, on two threads at once, takes no lock", a_text_for_each_chunk_takes_no_lock},
    {"blocks of two threads share no line of memory", threads_share_no_line},
    {"what one thread makes and another frees comes back to the first", what_others_free_comes_back},
    {"threads that end leave their blocks to those that come", threads_that_end_leave_their_shelves},
    {"the first threads have shelves of their own, others share", the_first_threads_have_shelves_of_their_own},
    {"threads that share a shelf never have the same block", threads_on_one_shelf_get_blocks_of_their_own},
    {"a shelf that another is at is gone by", a_shelf_in_use_is_gone_by},
    {"the next allocator learns from large blocks that are freed, once from each size", the_next_allocator_learns_from_large_blocks},
    {"addresses become memory as they are needed", addresses_become_memory_as_they_are_needed},
    {"a limit of addresses leaves them to the program", a_limit_of_addresses_leaves_them_to_the_program},
};

UNIT_MAIN("the OpenMP runtime's memory under a capture", tests)
