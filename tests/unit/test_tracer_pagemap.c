#include "capture-rt/tracer/pagemap.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGES 64u
static uint64_t page;
static bool anonymous;                  /* it is told that no file is behind what it looks at, */
static bool sparse;                     /* and that little is there */

static unsigned char *fresh(void)
{
    unsigned char *data = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CU_ASSERT_TRUE_FATAL(data != MAP_FAILED);
    madvise(data, PAGES * page, MADV_NOHUGEPAGE);
    return data;
}

static struct pagemap open_own(bool track, bool scan)
{
    struct pagemap pagemap;
    page = (uint64_t)sysconf(_SC_PAGESIZE);
    int tracking = track ? (int)syscall(SYS_userfaultfd, O_CLOEXEC | 1 /* user mode only */) : -1;
    CU_ASSERT_EQUAL_FATAL(pagemap_open(getpid(), tracking, scan, page, &pagemap, NULL), PCERE_OK);
    pagemap.anonymous = anonymous;
    pagemap.sparse = sparse;
    return pagemap;
}

/* Flags of page `number` of `data` in the last look, or -1: absent. */
static int flags_at(const struct pagemap *pagemap, const unsigned char *data, uint64_t number)
{
    uint64_t address = (uintptr_t)data + number * page;
    for (size_t i = 0; i < pagemap->count; i++)
        if (address >= pagemap->pieces[i].start && address < pagemap->pieces[i].end)
            return (int)pagemap->pieces[i].flags;
    return -1;
}

static void look(struct pagemap *pagemap, const unsigned char *data, enum pagemap_tracking how)
{
    pagemap->count = 0;
    CU_ASSERT_EQUAL(pagemap_look(pagemap, (uintptr_t)data, (uintptr_t)data + PAGES * page, how, NULL), PCERE_OK);
}

static void presence(bool scan)
{
    struct pagemap pagemap = open_own(false, scan);
    unsigned char *data = fresh();
    data[3 * page] = 1;
    data[4 * page] = 1;
    look(&pagemap, data, PAGEMAP_RENEW);
    CU_ASSERT_EQUAL(flags_at(&pagemap, data, 2), -1);
    CU_ASSERT_TRUE(flags_at(&pagemap, data, 3) > 0 && flags_at(&pagemap, data, 3) & PAGE_WRITTEN);
    CU_ASSERT_TRUE(flags_at(&pagemap, data, 4) & PAGE_WRITTEN);
    CU_ASSERT_EQUAL(flags_at(&pagemap, data, 5), -1);
    madvise(data + 3 * page, page, MADV_DONTNEED);
    look(&pagemap, data, PAGEMAP_RENEW);
    CU_ASSERT_EQUAL(flags_at(&pagemap, data, 3), -1);
    munmap(data, PAGES * page);
    pagemap_close(&pagemap);
}

static void presence_by_scan(void) { presence(true); }
static void presence_by_entries(void) { presence(false); }

/* KiB of the mapping that holds `data`, by its page tables: what the process is said to have in all is counted in batches, dozens of pages off. */
static long resident_kib(const unsigned char *data)
{
    char line[512];
    unsigned long start, end;
    long kib = -1;
    bool inside = false;
    FILE *file = fopen("/proc/self/smaps", "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
            inside = (uintptr_t)data >= start && (uintptr_t)data < end;
        else if (inside && sscanf(line, "Rss: %ld", &kib) == 1)
            break;
    }
    fclose(file);
    CU_ASSERT_TRUE_FATAL(kib >= 0);
    return kib;
}

/* A kernel may be told to do without the page that all share which were only read (under a hypervisor that keeps page tables of its own): each has its own then. */
static bool shares_zero_page(void)
{
    unsigned char *data = fresh();
    long before = resident_kib(data);       /* it may lie beside another */
    for (uint64_t i = 0; i < PAGES; i++)
        (void)*(volatile unsigned char *)(data + i * page);
    long more = resident_kib(data) - before;
    munmap(data, PAGES * page);
    return more < (long)(PAGES * page / 1024 / 2);
}

static void zero_pages(void)
{
    struct pagemap pagemap = open_own(false, true);
    if (!pagemap.scan) {
        puts("skipped: this kernel has no PAGEMAP_SCAN");
        pagemap_close(&pagemap);
        return;
    }
    unsigned char *data = fresh();
    volatile unsigned char read = data[7 * page];
    (void)read;
    look(&pagemap, data, PAGEMAP_UNTRACKED);
    CU_ASSERT_EQUAL((flags_at(&pagemap, data, 7) & PAGE_ZERO) != 0, shares_zero_page());
    munmap(data, PAGES * page);
    pagemap_close(&pagemap);
}

static void writes(void)
{
    struct pagemap pagemap = open_own(true, true);
    if (pagemap.tracking < 0) {
        puts("skipped: this kernel cannot tell which pages were written");
        pagemap_close(&pagemap);
        return;
    }
    unsigned char *data = fresh();
    memset(data, 1, PAGES * page);
    look(&pagemap, data, PAGEMAP_RENEW);
    CU_ASSERT_TRUE(flags_at(&pagemap, data, 0) & PAGE_WRITTEN);     /* unknown until now */
    look(&pagemap, data, PAGEMAP_RENEW);
    CU_ASSERT_EQUAL(flags_at(&pagemap, data, 0), 0);
    data[9 * page + 5] = 2;
    int null = open("/dev/zero", O_RDONLY);
    CU_ASSERT_EQUAL(read(null, data + 20 * page, 10), 10);          /* the kernel's writes count as well */
    close(null);
    look(&pagemap, data, PAGEMAP_ASK);
    CU_ASSERT_TRUE(flags_at(&pagemap, data, 9) & PAGE_WRITTEN);
    CU_ASSERT_TRUE(flags_at(&pagemap, data, 20) & PAGE_WRITTEN);
    CU_ASSERT_EQUAL(flags_at(&pagemap, data, 10), 0);
    look(&pagemap, data, PAGEMAP_RENEW);                            /* to ask has not renewed */
    CU_ASSERT_TRUE(flags_at(&pagemap, data, 9) & PAGE_WRITTEN);
    look(&pagemap, data, PAGEMAP_RENEW);
    CU_ASSERT_EQUAL(flags_at(&pagemap, data, 9), 0);
    /* absent, and there again */
    madvise(data + 30 * page, 2 * page, MADV_DONTNEED);
    data[30 * page] = 1;
    look(&pagemap, data, PAGEMAP_RENEW);
    CU_ASSERT_TRUE(flags_at(&pagemap, data, 30) & PAGE_WRITTEN);
    CU_ASSERT_EQUAL(flags_at(&pagemap, data, 31), -1);
    /* another mapping at the same place */
    CU_ASSERT_TRUE_FATAL(mmap(data, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == data);
    data[40 * page] = 1;
    look(&pagemap, data, PAGEMAP_RENEW);
    CU_ASSERT_TRUE(flags_at(&pagemap, data, 40) & PAGE_WRITTEN);
    CU_ASSERT_EQUAL(flags_at(&pagemap, data, 41), -1);
    munmap(data, PAGES * page);
    pagemap_close(&pagemap);
}

/* More pieces than the kernel hands over at once. */
static void many_pieces(void)
{
    enum { MANY = 6000 };
    struct pagemap pagemap = open_own(true, true);
    unsigned char *data = mmap(NULL, MANY * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CU_ASSERT_TRUE_FATAL(data != MAP_FAILED);
    memset(data, 1, MANY * page);
    for (int round = 0; round < 3; round++) {
        pagemap.count = 0;
        CU_ASSERT_EQUAL(pagemap_look(&pagemap, (uintptr_t)data, (uintptr_t)data + MANY * page, PAGEMAP_RENEW, NULL), PCERE_OK);
        uint64_t pages = 0, written = 0, overlaps = 0;
        for (size_t i = 0; i < pagemap.count; i++) {
            uint64_t count = (pagemap.pieces[i].end - pagemap.pieces[i].start) / page;
            pages += count;
            written += pagemap.pieces[i].flags & PAGE_WRITTEN ? count : 0;
            overlaps += i > 0 && pagemap.pieces[i].start < pagemap.pieces[i - 1].end;
        }
        CU_ASSERT_EQUAL(overlaps, 0);
        CU_ASSERT_EQUAL(pages, MANY);
        if (pagemap.tracking >= 0)
            CU_ASSERT_EQUAL(written, round == 0 ? MANY : MANY / 2);
        for (int i = 0; i < MANY; i += 2)
            data[(uint64_t)i * page] = 2;
    }
    munmap(data, MANY * page);
    pagemap_close(&pagemap);
}

/* Stretches far enough apart to be looked at one by one, more of them than the kernel hands over at once, with holes. */
static void far_stretches(void)
{
    enum { STRETCHES = 1100, APART = 36 };
    uint64_t pages = STRETCHES * APART;
    struct pagemap pagemap = open_own(true, true);
    unsigned char *data = mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CU_ASSERT_TRUE_FATAL(data != MAP_FAILED);
    madvise(data, pages * page, MADV_NOHUGEPAGE);
    memset(data, 1, pages * page);
    pagemap.count = 0;
    CU_ASSERT_EQUAL(pagemap_look(&pagemap, (uintptr_t)data, (uintptr_t)data + pages * page, PAGEMAP_RENEW, NULL), PCERE_OK);
    for (int round = 0; round < 2; round++) {
        for (uint64_t i = 0; i < STRETCHES; i++)
            data[(i * APART + 20) * page] = 3;
        madvise(data + 30 * page, page, MADV_DONTNEED);
        pagemap.count = 0;
        CU_ASSERT_EQUAL(pagemap_look(&pagemap, (uintptr_t)data, (uintptr_t)data + pages * page, PAGEMAP_RENEW, NULL), PCERE_OK);
        uint64_t there = 0, written = 0, overlaps = 0, wrong = 0;
        for (size_t i = 0; i < pagemap.count; i++) {
            uint64_t count = (pagemap.pieces[i].end - pagemap.pieces[i].start) / page;
            there += count;
            written += pagemap.pieces[i].flags & PAGE_WRITTEN ? count : 0;
            wrong += pagemap.pieces[i].flags & PAGE_WRITTEN && (pagemap.pieces[i].start - (uintptr_t)data) / page % APART != 20;
            overlaps += i > 0 && pagemap.pieces[i].start < pagemap.pieces[i - 1].end;
        }
        CU_ASSERT_EQUAL(overlaps, 0);
        CU_ASSERT_EQUAL(there, pages - 1);
        if (pagemap.tracking >= 0) {
            CU_ASSERT_EQUAL(written, STRETCHES);
            CU_ASSERT_EQUAL(wrong, 0);
        }
    }
    munmap(data, pages * page);
    pagemap_close(&pagemap);
}

static void writes_to_anonymous(void)
{
    anonymous = true;
    writes();
    anonymous = false;
}

static void many_pieces_of_anonymous(void)
{
    anonymous = true;
    many_pieces();
    far_stretches();
    anonymous = false;
}

static void the_same_of_sparse(void)
{
    sparse = true;
    writes_to_anonymous();
    many_pieces_of_anonymous();
    sparse = false;
}

static const struct unit_test tests[] = {
    {"present and absent pages are told apart by PAGEMAP_SCAN", presence_by_scan},
    {"present and absent pages are told apart by /proc/PID/pagemap", presence_by_entries},
    {"pages that were only read are known to be zero", zero_pages},
    {"thousands of pieces are told once each, in order", many_pieces},
    {"pages written since an earlier look are told, whoever wrote them", writes},
    {"far stretches are told as near ones are", far_stretches},
    {"writes are told where no file lies behind", writes_to_anonymous},
    {"many pieces are told where no file lies behind", many_pieces_of_anonymous},
    {"so are both where little is there", the_same_of_sparse},
};

UNIT_MAIN("tracer: pagemap", tests)
