/* tests/unit/test_fresh_blocks.c - blocks of regions: as the C library's to those who ask for their size, zero, and found again by their size words. */
#include "include/pcere/fresh_blocks.h"
#include "tests/unit/unit.h"

#include <stdlib.h>

#define ROOM_BYTES ((size_t)64 << 20)

static char *room;
static struct fresh_blocks blocks;

static void begin(void)
{
    free(room);
    room = aligned_alloc(4096, ROOM_BYTES);
    CU_ASSERT_PTR_NOT_NULL_FATAL(room);
    memset(room, 0, ROOM_BYTES);
    blocks = (struct fresh_blocks){.next = room, .end = room + ROOM_BYTES};
}

static char *cut(size_t bytes, size_t alignment)
{
    char *block = fresh_place(&blocks, fresh_chunk_bytes(bytes), alignment);
    if (block)
        fresh_take(&blocks, block, fresh_chunk_bytes(bytes));
    return block;
}

static void test_sizes(void)
{
    CU_ASSERT_EQUAL(fresh_chunk_bytes(0), 32);
    CU_ASSERT_EQUAL(fresh_chunk_bytes(24), 32);
    CU_ASSERT_EQUAL(fresh_chunk_bytes(25), 48);
    CU_ASSERT_EQUAL(fresh_chunk_bytes(4088), 4096);
    CU_ASSERT_EQUAL(fresh_chunk_bytes(4089), 8192);
    CU_ASSERT_EQUAL(fresh_chunk_bytes(8184), 8192);
    CU_ASSERT_EQUAL(fresh_chunk_bytes(8185), 16384);
    CU_ASSERT_EQUAL(fresh_chunk_of(48 | FRESH_IN_USE), 48);
    CU_ASSERT_EQUAL(fresh_chunk_of(8192 | FRESH_IN_USE | FRESH_FREED), 8192);
    CU_ASSERT_EQUAL(fresh_chunk_of(FRESH_IN_USE), 0);
    CU_ASSERT_EQUAL(fresh_chunk_of(8192 + 16), 0);
}

/* From one size word to the next, over the gaps that alignment leaves. */
static void test_found_again(void)
{
    static const struct { size_t bytes, alignment; } wanted[] = {{1, 16}, {100, 16}, {100, 4096}, {5000, 64}, {24, 16}, {1 << 20, 1 << 16}, {40, 16}};
    enum { COUNT = sizeof wanted / sizeof *wanted };
    char *made[COUNT];
    size_t found = 0;
    begin();
    for (size_t i = 0; i < COUNT; i++) {
        made[i] = cut(wanted[i].bytes, wanted[i].alignment);
        CU_ASSERT_PTR_NOT_NULL_FATAL(made[i]);
        CU_ASSERT_EQUAL((uintptr_t)made[i] % wanted[i].alignment, 0);
        memset(made[i], 0xff, fresh_usable(fresh_chunk_bytes(wanted[i].bytes)));
    }
    for (char *block = room + FRESH_HEADER_BYTES; block < blocks.next;) {
        size_t chunk = fresh_chunk_of(*fresh_size(block));
        if (chunk) {
            CU_ASSERT_FATAL(found < COUNT);
            CU_ASSERT_PTR_EQUAL(block, made[found]);
            CU_ASSERT_EQUAL(chunk, fresh_chunk_bytes(wanted[found].bytes));
            found++;
        }
        block += chunk ? fresh_step(chunk) : 16;
    }
    CU_ASSERT_EQUAL(found, COUNT);
}

static void test_full(void)
{
    begin();
    CU_ASSERT_PTR_NULL(cut(ROOM_BYTES, 16));
    CU_ASSERT_PTR_NULL(cut(100, (size_t)1 << 46));
    CU_ASSERT_PTR_NOT_NULL(cut(ROOM_BYTES / 4, 16));
    CU_ASSERT_PTR_NULL(cut(ROOM_BYTES - 64, 16));
    CU_ASSERT_PTR_NOT_NULL(cut(100, 16));
}

/* Freed ones say so, and are used again, zero, when there are many. */
static void test_freed(void)
{
    const size_t chunk = fresh_chunk_bytes(60000);
    begin();
    char *first = cut(60000, 16);
    memset(first, 7, 60000);
    fresh_free(&blocks, first, chunk);
    CU_ASSERT_TRUE(*fresh_size(first) & FRESH_FREED);
    CU_ASSERT_EQUAL(fresh_chunk_of(*fresh_size(first)), chunk);
    CU_ASSERT_PTR_NULL(fresh_again(&blocks, chunk));
    char *last = first;
    for (size_t freed = chunk; freed <= FRESH_KEPT_BYTES; freed += chunk) {
        last = cut(60000, 16);
        memset(last, 7, 60000);
        fresh_free(&blocks, last, chunk);
    }
    CU_ASSERT_PTR_NULL(fresh_again(&blocks, 32));
    char *again = fresh_again(&blocks, chunk);
    CU_ASSERT_PTR_EQUAL_FATAL(again, last);
    CU_ASSERT_PTR_EQUAL(fresh_clear(again, chunk), again);
    CU_ASSERT_EQUAL(*fresh_size(again), chunk | FRESH_IN_USE);
    size_t set = 0;
    for (size_t i = 0; i < fresh_usable(chunk); i++)
        set += again[i] != 0;
    CU_ASSERT_EQUAL(set, 0);
    CU_ASSERT_PTR_NULL(fresh_again(&blocks, chunk));
}

int main(void)
{
    static const struct unit_test tests[] = {
        {"sizes are rounded up: small ones by 16, others to powers of two", test_sizes},
        {"every block is found by its size word, over gaps", test_found_again},
        {"a room that is full gives nothing, and keeps its rest", test_full},
        {"freed blocks say so, and come back as zeros once there are many", test_freed},
    };
    int status = unit_main("fresh blocks", tests, sizeof tests / sizeof *tests);
    free(room);
    return status;
}
