/* tests/unit/test_launcher_externals.c - the table of libraries' functions: what is found in it, and that damage is refused. */
#include "replay-rt/launcher/external_table.h"

#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

static const struct store_external items[] = {{0x1000, 0, 0}, {0x2000, 0, 4}, {0x2000, 0, 9}, {0x3000, 64, 4}};
static const char names[] = "sin\0free\0cfree";
enum { ITEMS = sizeof items / sizeof *items, HEADER = sizeof(struct store_externals_header), BYTES = HEADER + sizeof items + sizeof names };

static unsigned char *table_bytes(void)
{
    const struct store_externals_header header = {STORE_EXTERNALS_MAGIC, BYTES, ITEMS, HEADER + sizeof items};
    unsigned char *data = malloc(BYTES);
    memcpy(data, &header, sizeof header);
    memcpy(data + sizeof header, items, sizeof items);
    memcpy(data + sizeof header + sizeof items, names, sizeof names);
    return data;
}

static void pointed_at_are_found(void)
{
    struct external_table table = {0};
    CU_ASSERT_EQUAL_FATAL(external_table_take(table_bytes(), BYTES, &table, NULL), PCERE_OK);
    const uint64_t words[] = {0, 0xfff, 0x1001, 0x3040, UINT64_MAX}, more[] = {0x2000, 0x303f};
    external_table_search(&table, words, 5);
    for (size_t i = 0; i < ITEMS; i++)
        CU_ASSERT_EQUAL(table.found[i], 0);
    external_table_search(&table, more, 2);
    CU_ASSERT_EQUAL(table.found[0], 0);
    CU_ASSERT_EQUAL(table.found[1], 1);
    CU_ASSERT_EQUAL(table.found[2], 1);
    CU_ASSERT_EQUAL(table.found[3], 1);
    CU_ASSERT_STRING_EQUAL(external_table_name(&table, 2), "cfree");
    external_table_done(&table);
}

/*   0x1000 libc.so .. 0x1400 | 0x2000, in no library */
static void a_library_is_known_by_any_of_its_addresses(void)
{
    static const char own_names[] = "\0/lib/libc.so 0123";
    static const struct store_external own_items[] = {{0x1000, 0x400, 1}, {0x1010, 0, 0}, {0x2000, 0, 0}};
    enum { OWN_BYTES = HEADER + sizeof own_items + sizeof own_names };
    const struct store_externals_header header = {STORE_EXTERNALS_MAGIC, OWN_BYTES, 3, HEADER + sizeof own_items};
    const uint64_t words[] = {0x1000, 0x1200};
    struct external_table table = {0};
    unsigned char *data = malloc(OWN_BYTES);
    CU_ASSERT_PTR_NOT_NULL_FATAL(data);
    memcpy(data, &header, sizeof header);
    memcpy(data + HEADER, own_items, sizeof own_items);
    memcpy(data + HEADER + sizeof own_items, own_names, sizeof own_names);
    CU_ASSERT_EQUAL_FATAL(external_table_take(data, OWN_BYTES, &table, NULL), PCERE_OK);
    CU_ASSERT_PTR_EQUAL(external_table_library(&table, 0x1000), &table.items[0]);
    CU_ASSERT_PTR_EQUAL(external_table_library(&table, 0x13ff), &table.items[0]);
    CU_ASSERT_PTR_NULL(external_table_library(&table, 0xfff));
    CU_ASSERT_PTR_NULL(external_table_library(&table, 0x1400));
    CU_ASSERT_PTR_NULL(external_table_library(&table, 0x2001));
    external_table_search(&table, words, 2);
    CU_ASSERT_EQUAL(table.found[0], 0);       /* a library is nothing that one points to */
    external_table_done(&table);
}

static void an_empty_table_finds_nothing(void)
{
    struct external_table table = {0};
    const uint64_t words[] = {0, 1, UINT64_MAX};
    CU_ASSERT_TRUE(external_table_is(&table, NULL, 0));
    external_table_search(&table, words, 3);
    CU_ASSERT_EQUAL(table.count, 0);
}

static void refuse(size_t offset, uint64_t value, size_t bytes, uint64_t length)
{
    struct external_table table = {0};
    struct pcere_error error = {0};
    unsigned char *data = table_bytes();
    if (bytes)
        memcpy(data + offset, &value, bytes);
    CU_ASSERT_EQUAL(external_table_take(data, length, &table, &error), PCERE_DATA);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "damaged"));
    external_table_search(&table, &items[0].address, 1);
    external_table_done(&table);
}

static void damage_is_refused(void)
{
    refuse(0, 0, 8, BYTES);                         /* magic */
    refuse(8, BYTES + 1, 8, BYTES);                 /* longer than its pages */
    refuse(8, HEADER, 8, BYTES);
    refuse(16, ITEMS + 1, 8, BYTES);                /* more entries than there is room for */
    refuse(16, UINT64_MAX / 8, 8, BYTES);
    refuse(24, HEADER + 1, 8, BYTES);
    refuse(24, 0, 8, BYTES);
    refuse(HEADER, 0x2001, 8, BYTES);               /* not ascending */
    refuse(HEADER + 12, sizeof names, 4, BYTES);    /* a name outside */
    refuse(HEADER + 3 * 16, UINT64_MAX, 8, BYTES);  /* no address */
    refuse(BYTES - 1, 'x', 1, BYTES);               /* a name without end */
    refuse(0, 0, 0, HEADER - 1);
    refuse(0, 0, 0, BYTES - 1);
}

static const struct unit_test tests[] = {
    {"a library is known by any of its addresses", a_library_is_known_by_any_of_its_addresses},
    {"functions are found by their address, constants anywhere inside", pointed_at_are_found},
    {"an empty table finds nothing", an_empty_table_finds_nothing},
    {"a damaged table is refused", damage_is_refused},
};

UNIT_MAIN("launcher: externals", tests)
