#include "capture-rt/tracer/maps.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const struct map_facts facts = {
    .image_low = 0x555555554000, .image_high = 0x555555560000, .heap_low = 0x555555561000, .heap_high = 0x5555555a0000,
    .stack_start = 0x7fffffffe000, .page_bytes = 4096};

static struct map_entry parsed(const char *line)
{
    struct map_entry entry = {0};
    CU_ASSERT_TRUE(maps_parse(line, &facts, &entry));
    return entry;
}

static void roles(void)
{
    CU_ASSERT_EQUAL(parsed("555555554000-555555556000 r-xp 00000000 fe:00 123   /usr/bin/[heap] of mine").mapping.role, STORE_ROLE_IMAGE);
    CU_ASSERT_EQUAL(parsed("55555555e000-555555560000 rw-p 00000000 00:00 0").mapping.role, STORE_ROLE_IMAGE);
    CU_ASSERT_EQUAL(parsed("555555561000-5555555a0000 rw-p 00000000 00:00 0    [heap]").mapping.role, STORE_ROLE_HEAP);
    CU_ASSERT_EQUAL(parsed("7ffffffde000-7ffffffff000 rw-p 00000000 00:00 0    [stack]").mapping.role, STORE_ROLE_STACK);
    CU_ASSERT_EQUAL(parsed("7ffff0000000-7ffff0001000 rw-p 00000000 00:00 0").mapping.role, STORE_ROLE_ANONYMOUS);
    CU_ASSERT_EQUAL(parsed("7ffff0000000-7ffff0001000 rw-p 00000000 00:00 0  [anon:arena]").mapping.role, STORE_ROLE_ANONYMOUS);
    /* a file that calls itself the stack is still a file */
    struct map_entry entry = parsed("7ffff0000000-7ffff0001000 rw-s 00000000 fe:00 9  /tmp/[stack]");
    CU_ASSERT_EQUAL(entry.mapping.role, STORE_ROLE_ANONYMOUS);
    CU_ASSERT_TRUE(entry.shared && entry.file);
}

static void protections(void)
{
    CU_ASSERT_EQUAL(parsed("7ffff0000000-7ffff0001000 ---p 00000000 00:00 0").mapping.protection, 0);
    CU_ASSERT_EQUAL(parsed("7ffff0000000-7ffff0001000 rwxp 00000000 00:00 0").mapping.protection, PROT_READ | PROT_WRITE | PROT_EXEC);
}

static void kernel_ones(void)
{
    struct map_entry entry;
    CU_ASSERT_FALSE(maps_parse("7ffff7fc9000-7ffff7fcd000 r--p 00000000 00:00 0    [vvar]", &facts, &entry));
    CU_ASSERT_FALSE(maps_parse("7ffff7fc9000-7ffff7fcd000 r--p 00000000 00:00 0    [vvar_vclock]", &facts, &entry));
    CU_ASSERT_FALSE(maps_parse("7ffff7fcd000-7ffff7fcf000 r-xp 00000000 00:00 0    [vdso]", &facts, &entry));
    CU_ASSERT_FALSE(maps_parse("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]", &facts, &entry));
}

static void nonsense(void)
{
    static const char *const lines[] = {
        "", "x", "7ffff0000000", "7ffff0000000-7ffff0001000", "7ffff0001000-7ffff0000000 rw-p 00000000 00:00 0",
        "7ffff0000001-7ffff0001000 rw-p 00000000 00:00 0", "7ffff0000000-7ffff0001000 rw 00000000 00:00 0",
        "7ffff0000000-7ffff0001000 rw-p 00000000 00:00", "7ffff0000000-7ffff0000000 rw-p 00000000 00:00 0"};
    struct map_entry entry;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        CU_ASSERT_FALSE(maps_parse(lines[i], &facts, &entry));
}

static void aliases_expect(const char *lines, const struct store_alias *expected, size_t expected_count)
{
    struct map_list list = {0};
    struct store_alias *aliases = NULL;
    size_t count = 0;
    char *text = strdup(lines);
    CU_ASSERT_EQUAL(maps_read(text, &facts, &list, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(maps_aliases(&list, &aliases, &count, NULL), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(count, expected_count);
    for (size_t i = 0; i < count; i++) {
        CU_ASSERT_EQUAL(aliases[i].address, expected[i].address);
        CU_ASSERT_EQUAL(aliases[i].original, expected[i].original);
        CU_ASSERT_EQUAL(aliases[i].bytes, expected[i].bytes);
    }
    free(aliases);
    free(text);
    maps_done(&list);
}

#define RING "00:01 77  /memfd:ring (deleted)\n"

static void seen_twice(void)
{
    aliases_expect("7ffff0000000-7ffff0004000 rw-s 00000000 " RING
                   "7ffff0010000-7ffff0014000 rw-p 00000000 " RING      /* private */
                   "7ffff0020000-7ffff0024000 r--s 00004000 " RING      /* its other half */
                   "7ffff0030000-7ffff0034000 rw-s 00000000 fe:01 77  /tmp/of-another-device\n", NULL, 0);
    aliases_expect("7ffff0000000-7ffff0004000 r--s 00000000 " RING
                   "7ffff0010000-7ffff0014000 r--s 00000000 " RING, NULL, 0);     /* nobody writes it */
    aliases_expect("7ffff0000000-7ffff0004000 rw-s 00000000 " RING
                   "7ffff0004000-7ffff0008000 rw-s 00000000 " RING,
                   (const struct store_alias[]){{0x7ffff0004000, 0x7ffff0000000, 0x4000}}, 1);
    /* What can be written is the original; a mapping of more than that is cut, and what is new in it is an original itself. */
    aliases_expect("7ffff0000000-7ffff0006000 r--s 00000000 " RING
                   "7ffff0010000-7ffff0012000 rw-s 00002000 " RING
                   "7ffff0020000-7ffff0023000 r--s 00003000 " RING,
                   (const struct store_alias[]){{0x7ffff0002000, 0x7ffff0010000, 0x2000}, {0x7ffff0020000, 0x7ffff0011000, 0x1000},
                                                {0x7ffff0021000, 0x7ffff0004000, 0x2000}}, 3);
}

static void names(void)
{
    char line[1024] = "7ffff0000000-7ffff0001000 rw-p 00000000 fe:00 9  /";
    size_t length = strlen(line);
    memset(line + length, 'x', sizeof line - length - 1);
    CU_ASSERT_EQUAL(strlen(parsed(line).mapping.name), sizeof parsed(line).mapping.name - 1);
    CU_ASSERT_STRING_EQUAL(parsed("7ffff0000000-7ffff0001000 rw-p 00000000 fe:00 9  /a/b\033c").mapping.name, "b?c");
}

static void cutting(void)
{
    const struct store_range excluded[] = {{0x12100, 0x100}, {0x14000, 0x2000}, {0x15000, 0x800}, {0x1f000, 0x5000}};
    struct map_facts with = facts;
    with.excluded = excluded;
    with.excluded_count = 4;
    struct map_list list = {0};
    struct map_entry entry = {.mapping = {.start = 0x10000, .end = 0x20000, .protection = PROT_READ, .role = STORE_ROLE_ANONYMOUS}};
    CU_ASSERT_EQUAL(maps_add(&list, entry, &with, NULL), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(list.count, 3);
    const uint64_t wanted[][2] = {{0x10000, 0x12000}, {0x13000, 0x14000}, {0x16000, 0x1f000}};
    for (size_t i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL(list.entries[i].mapping.start, wanted[i][0]);
        CU_ASSERT_EQUAL(list.entries[i].mapping.end, wanted[i][1]);
    }
    entry.mapping.start = 0x14000;
    entry.mapping.end = 0x15000;
    CU_ASSERT_EQUAL(maps_add(&list, entry, &with, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(list.count, 3);
    maps_done(&list);
}

static const struct unit_test tests[] = {
    {"roles come from where a mapping lies, never from a path", roles},
    {"protections are read", protections},
    {"the kernel's own mappings are not the program's", kernel_ones},
    {"lines that make no sense are refused", nonsense},
    {"names are cut and made printable", names},
    {"excluded ranges are cut out, rounded outwards to pages", cutting},
    {"memory that can be written at one address and seen at another has one original", seen_twice},
};

UNIT_MAIN("tracer: maps", tests)
