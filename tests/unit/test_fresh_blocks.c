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

static char *cut_own(struct fresh_blocks *own, size_t bytes)
{
    char *block = fresh_own(own, fresh_chunk_bytes(bytes), 16);
    if (!block && fresh_slab(&blocks, own))
        block = fresh_own(own, fresh_chunk_bytes(bytes), 16);
    return block;
}

/* Two threads in turn: each stays in its slabs, all blocks are found, and one thread alone gets the same addresses whatever it frees. */
static void test_own(void)
{
    enum { BLOCKS = 4000 };
    static char *made[2][BLOCKS];
    struct fresh_blocks owners[2] = {{0}, {0}}, alone = {0};
    size_t found = 0, shared = 0, elsewhere = 0;
    begin();
    for (size_t i = 0; i < BLOCKS; i++)
        for (size_t k = 0; k < 2; k++) {
            made[k][i] = cut_own(&owners[k], i % 500 + 1);
            CU_ASSERT_PTR_NOT_NULL_FATAL(made[k][i]);
            elsewhere += made[k][i] < owners[k].end - FRESH_SLAB_BYTES || made[k][i] >= owners[k].end;
            shared += owners[0].end == owners[1].end;
            if (i % 3 == 0)
                fresh_free(&owners[k], made[k][i], fresh_chunk_bytes(i % 500 + 1));
        }
    CU_ASSERT_EQUAL(elsewhere, 0);
    CU_ASSERT_EQUAL(shared, 0);
    for (char *block = room + FRESH_HEADER_BYTES; block < blocks.next;) {
        size_t chunk = fresh_chunk_of(*fresh_size(block));
        found += chunk != 0;
        block += chunk ? fresh_step(chunk) : 16;
    }
    CU_ASSERT_EQUAL(found, 2 * BLOCKS);
    char *first = room;
    ptrdiff_t offsets[BLOCKS];
    for (int run = 0; run < 2; run++) {
        size_t moved = 0;
        begin();
        alone = (struct fresh_blocks){0};
        first = room;
        for (size_t i = 0; i < BLOCKS; i++) {
            char *block = cut_own(&alone, i % 700 + 1);
            CU_ASSERT_PTR_NOT_NULL_FATAL(block);
            moved += run && offsets[i] != block - first;
            offsets[i] = block - first;
            if (run && i % 2)
                fresh_free(&alone, block, fresh_chunk_bytes(i % 700 + 1));
        }
        CU_ASSERT_EQUAL(moved, 0);
    }
    CU_ASSERT_TRUE(fresh_is_own(FRESH_OWN_CHUNK_MOST, 4096) && !fresh_is_own(2 * FRESH_OWN_CHUNK_MOST, 16) && !fresh_is_own(64, 8192));
}

int main(void)
{
    static const struct unit_test tests[] = {
        {"sizes are rounded up: small ones by 16, others to powers of two", test_sizes},
        {"every block is found by its size word, over gaps", test_found_again},
        {"a room that is full gives nothing, and keeps its rest", test_full},
        {"each thread has slabs of its own, in which all blocks are found", test_own},
        {"freed blocks say so, and come back as zeros once there are many", test_freed},
    };
    int status = unit_main("fresh blocks", tests, sizeof tests / sizeof *tests);
    free(room);
    return status;
}
