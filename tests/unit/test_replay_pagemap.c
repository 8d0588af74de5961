/* tests/unit/test_replay_pagemap.c - which of its own pages a process finds there, by PAGEMAP_SCAN and without it. */
#include "replay-rt/target/pagemap.c"
#include "unit.h"

#include <string.h>
#include <sys/mman.h>

enum { PAGES = 20000 };

int pcere_descriptor_raise(int is)
{
    return is;
}

uint64_t pcere_ahead_filled(void)
{
    return 0;
}

size_t pcere_plan_range_from(const struct plan_range *ranges, size_t range_count, uint64_t address)
{
    BISECT(at, 0, range_count, i, ranges[i].address + ranges[i].bytes <= address);
    return at;
}

static uint64_t page_bytes;
static unsigned char *memory;
static bool there[PAGES];

static void page_touch(size_t page)
{
    memory[page * page_bytes] = 1;
    there[page] = true;
}

/* Runs of several lengths, more of them than one scan tells; then 12,000 pages without any. */
static void setup(void)
{
    page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    memory = mmap(NULL, PAGES * page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CU_ASSERT_NOT_EQUAL_FATAL(memory, MAP_FAILED);
    madvise(memory, PAGES * page_bytes, MADV_NOHUGEPAGE);
    memset(there, 0, sizeof there);
    for (size_t page = 3; page < 6000; page += 1 + page % 7)
        page_touch(page);
    for (size_t page = 18000; page < PAGES; page++)
        page_touch(page);
    pcere_pagemap_refresh();
}

/* From and to every few pages: the runs are just those that were touched. */
static void runs_check(void)
{
    for (size_t from = 0; from < PAGES; from += 997)
        for (size_t end = from; end <= PAGES; end += 3989) {
            uint64_t at = (uint64_t)(uintptr_t)memory + from * page_bytes, stop = (uint64_t)(uintptr_t)memory + end * page_bytes;
            size_t page = from;
            struct plan_range run;
            while (pcere_pagemap_run(at, stop, page_bytes, &run)) {
                CU_ASSERT_FATAL(run.bytes && run.address >= at && run.address + run.bytes <= stop);
                for (size_t begin = (run.address - (uint64_t)(uintptr_t)memory) / page_bytes; page < begin; page++)
                    CU_ASSERT_FALSE(there[page]);
                at = run.address + run.bytes;
                for (; page < (at - (uint64_t)(uintptr_t)memory) / page_bytes; page++)
                    CU_ASSERT_TRUE(there[page]);
            }
            for (; page < end; page++)
                CU_ASSERT_FALSE(there[page]);
        }
}

static void test_scanned(void)
{
    setup();
    runs_check();
    page_touch(10000);
    pcere_pagemap_refresh();
    runs_check();
    munmap(memory, PAGES * page_bytes);
}

/* Where a stack lies without randomisation: what is looked at besides would lie behind the last address that a process may have. */
static void test_last_addresses(void)
{
    page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    const uint64_t at = (UINT64_C(1) << 47) - ((uint64_t)4 << 20);
    unsigned char *there_now = mmap((void *)(uintptr_t)at, 4 * page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    struct plan_range run = {0, 0};
    if ((uint64_t)(uintptr_t)there_now != at)
        return;                           /* taken, or no address of this machine's */
    there_now[page_bytes] = 1;
    bool scans = !scan_fails;
    pcere_pagemap_refresh();
    CU_ASSERT_TRUE(pcere_pagemap_run(at, at + 4 * page_bytes, page_bytes, &run));
    CU_ASSERT_EQUAL(run.address, at + page_bytes);
    CU_ASSERT_EQUAL(run.bytes, page_bytes);
    CU_ASSERT_FALSE(pcere_pagemap_run(run.address + run.bytes, at + 4 * page_bytes, page_bytes, &run));
    CU_ASSERT_EQUAL(scans, !scan_fails);
    munmap(there_now, 4 * page_bytes);
}

static void test_without_scan(void)
{
    setup();
    scan_fails = true;
    runs_check();
    munmap(memory, PAGES * page_bytes);
}

/* What may have been written at another address counts as there. */
static void test_shared(void)
{
    setup();
    scan_fails = false;
    const struct plan_range range = {(uint64_t)(uintptr_t)memory + 9000 * page_bytes, 2 * page_bytes};
    pcere_pagemap_share(&range, 1);
    there[9000] = there[9001] = true;
    runs_check();
    munmap(memory, PAGES * page_bytes);
}

static const struct unit_test tests[] = {
    {"runs of pages, scanned", test_scanned},
    {"at the end of all addresses, too", test_last_addresses},
    {"the same by the state of each page", test_without_scan},
    {"pages at several addresses", test_shared},
};

UNIT_MAIN("replay: pagemap", tests)
