/* tests/unit/test_core_elf_code.c - this very program's functions, by their addresses. */
#include "core/elf_code.h"
#include "tests/unit/unit.h"

#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int note_base(struct dl_phdr_info *info, size_t bytes, void *base)
{
    (void)bytes;
    *(uint64_t *)base = info->dlpi_addr;
    return 1;                           /* the first is the program itself */
}

static uint64_t link_address(int (*function)(void))
{
    uint64_t base = 0, address;
    memcpy(&address, &function, sizeof address);
    dl_iterate_phdr(note_base, &base);
    return address - base;
}

__attribute__((noinline)) static int elf_code_local(void) { return (int)strlen("local"); }
int elf_code_global(void);
__attribute__((noinline)) int elf_code_global(void) { return elf_code_local() + 1; }

static void is_named(uint64_t address, const char *function, const char *unit)
{
    char *got_function, *got_unit;
    elf_code_name("/proc/self/exe", address, &got_function, &got_unit);
    CU_ASSERT_PTR_NOT_NULL_FATAL(got_function);
    CU_ASSERT_STRING_EQUAL(got_function, function);
    CU_ASSERT_EQUAL(!got_unit, !unit);
    if (got_unit && unit)
        CU_ASSERT_STRING_EQUAL(got_unit, unit);
    free(got_function);
    free(got_unit);
}

static void functions_are_named(void)
{
    is_named(link_address(elf_code_local), "elf_code_local", "test_core_elf_code.c");
    is_named(link_address(elf_code_local) + 1, "elf_code_local", "test_core_elf_code.c");
    is_named(link_address(elf_code_global), "elf_code_global", NULL);
}

static void is_unnamed(const char *path, uint64_t address)
{
    char *function = (char *)1, *unit = (char *)1;
    elf_code_name(path, address, &function, &unit);
    CU_ASSERT_PTR_NULL(function);
    CU_ASSERT_PTR_NULL(unit);
}

static void nothing_is_made_up(void)
{
    is_unnamed("/proc/self/exe", 0);
    is_unnamed("/proc/self/exe", UINT64_MAX);
    is_unnamed("/proc/self/exe", link_address(elf_code_local) + 100000000);
    is_unnamed("/etc/passwd", 0x1000);
    is_unnamed("/nonexistent", 0x1000);
    is_unnamed("/tmp", 0x1000);
}

static void many_are_named(void)
{
    uint64_t start = 0;
    struct elf_code *code = elf_code_open("/proc/self/exe");
    CU_ASSERT_PTR_NOT_NULL_FATAL(code);
    const char *local = elf_code_function(code, link_address(elf_code_local) + 1, &start);
    CU_ASSERT_TRUE(local && strcmp(local, "elf_code_local") == 0);
    CU_ASSERT_EQUAL(start, link_address(elf_code_local));
    const char *global = elf_code_function(code, link_address(elf_code_global), &start);
    CU_ASSERT_TRUE(global && strcmp(global, "elf_code_global") == 0);
    CU_ASSERT_EQUAL(start, link_address(elf_code_global));
    CU_ASSERT_PTR_NULL(elf_code_function(code, 0, &start));
    CU_ASSERT_PTR_NOT_NULL(elf_code_function(code, UINT64_MAX, &start));        /* the last one */
    struct elf_code_place place;
    uint64_t last = 0;
    size_t count = 0, found = 0;
    for (; elf_code_at(code, count, &place); count++) {
        CU_ASSERT_TRUE(place.start >= last);
        last = place.start;
        found += strcmp(place.name, "elf_code_local") == 0 && place.start == link_address(elf_code_local) && place.unit && strcmp(place.unit, "test_core_elf_code.c") == 0;
        found += strcmp(place.name, "elf_code_global") == 0 && place.start == link_address(elf_code_global) && !place.unit;
    }
    CU_ASSERT_EQUAL(found, 2);
    CU_ASSERT_FALSE(elf_code_at(code, count, &place));
    elf_code_close(code);
    elf_code_close(NULL);
    CU_ASSERT_PTR_NULL(elf_code_open("/etc/passwd"));
    CU_ASSERT_PTR_NULL(elf_code_open("/nonexistent"));
    CU_ASSERT_PTR_NULL(elf_code_open("/tmp"));
}

static const struct unit_test tests[] = {
    {"functions are named by their addresses, local ones with their unit", functions_are_named},
    {"other addresses, and files that tell nothing, have no names", nothing_is_made_up},
    {"many addresses are named by the functions that begin last below them", many_are_named},
};

UNIT_MAIN("core: elf code", tests)
