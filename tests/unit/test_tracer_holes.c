/* tests/unit/test_tracer_holes.c - pages of a shared mapping that its file does not have, on a file in memory and one on disk. */
#include "capture-rt/tracer/holes.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { PAGES = 8 };

static uint64_t page;

/* Of 8 pages and a half from the file's third on; pages 3 and 4 of the mapping have data. */
static struct map_entry file_make(int file)
{
    struct stat facts;
    page = (uint64_t)sysconf(_SC_PAGESIZE);
    CU_ASSERT_EQUAL_FATAL(ftruncate(file, (off_t)(page * (2 + PAGES) + page / 2)), 0);
    char *content = calloc(2, page);
    CU_ASSERT_EQUAL(pwrite(file, content, 2 * page, (off_t)(page * 5)), (ssize_t)(2 * page));
    free(content);
    CU_ASSERT_EQUAL_FATAL(fstat(file, &facts), 0);
    return (struct map_entry){.mapping = {.start = 0x700000000000, .end = 0x700000000000 + page * (PAGES + 2), .protection = PROT_READ | PROT_WRITE}, .shared = true, .file = true,
                              .device = (uint64_t)major(facts.st_dev) << 32 | minor(facts.st_dev), .inode = facts.st_ino, .offset = 2 * page};
}

static bool hole(int file, const struct map_entry *entry, uint64_t from, uint64_t to, uint64_t until)
{
    uint64_t end, start = entry->mapping.start;
    bool is = holes_at(file, entry, page, start + from * page, start + to * page, &end);
    CU_ASSERT_EQUAL(end, start + until * page);
    return is;
}

static void holes_lie_between_data(void)
{
    int file = memfd_create("holes", MFD_CLOEXEC);
    CU_ASSERT_FATAL(file >= 0);
    struct map_entry entry = file_make(file);
    CU_ASSERT_TRUE(hole(file, &entry, 0, 10, 3));
    CU_ASSERT_TRUE(hole(file, &entry, 1, 2, 2));
    CU_ASSERT_FALSE(hole(file, &entry, 3, 10, 5));
    CU_ASSERT_FALSE(hole(file, &entry, 3, 4, 4));
    CU_ASSERT_TRUE(hole(file, &entry, 5, 10, 9));            /* to the file's end, which lies in a page */
    CU_ASSERT_FALSE(hole(file, &entry, 9, 10, 10));          /* nothing may be touched there */
    CU_ASSERT_FALSE(hole(-1, &entry, 0, 10, 10));
    int opened = holes_open(getpid(), &entry);       /* by one of the descriptors, since it is mapped nowhere */
    CU_ASSERT_FATAL(opened >= 0 && opened != file);
    CU_ASSERT_TRUE(hole(opened, &entry, 0, 10, 3));
    close(opened);
    entry.inode++;
    CU_ASSERT_EQUAL(holes_open(getpid(), &entry), -1);
    close(file);
}

static void what_may_have_holes(void)
{
    struct map_entry entries[2] = {{.mapping = {.protection = PROT_READ | PROT_WRITE}, .shared = true, .file = true, .device = 1, .inode = 7}};
    struct map_list maps = {.entries = entries, .count = 2};
    CU_ASSERT_TRUE(holes_may_be(&maps, &entries[0]));
    entries[1] = entries[0];
    CU_ASSERT_FALSE(holes_may_be(&maps, &entries[0]));       /* at two addresses */
    entries[1].device = 2;
    CU_ASSERT_TRUE(holes_may_be(&maps, &entries[0]));
    entries[0].mapping.protection = PROT_READ;
    CU_ASSERT_FALSE(holes_may_be(&maps, &entries[0]));
    entries[0] = entries[1];
    entries[0].shared = false;
    CU_ASSERT_FALSE(holes_may_be(&maps, &entries[0]));
}

static const struct unit_test tests[] = {
    {"what a file does not have lies between what it has, and before its end", holes_lie_between_data},
    {"memory that is written and seen at one address may have holes", what_may_have_holes},
};

UNIT_MAIN("tracer: holes", tests)
