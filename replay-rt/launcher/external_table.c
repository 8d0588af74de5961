#include "replay-rt/launcher/external_table.h"
#include "include/pcere/bisect.h"

#include <stdlib.h>
#include <string.h>

#define TABLE_BYTES_MOST (1u << 30)

static enum pcere_status damaged(struct pcere_error *error)
{
    return pcere_fail(error, PCERE_DATA, 0, "capture the program again", "the store's table of libraries' functions is damaged");
}

bool external_table_is(const struct external_table *table, const struct store_run *runs, size_t run_count)
{
    return table->run_count == run_count && (!run_count || !memcmp(table->runs, runs, run_count * sizeof *runs));
}

void external_table_done(struct external_table *table)
{
    free(table->found);
    free(table->data);
    free(table->runs);
    *table = (struct external_table){0};
}

static bool items_are_sound(const struct external_table *table, const struct store_externals_header *header)
{
    uint64_t floor = 0;
    for (size_t i = 0; i < table->count; i++) {
        const struct store_external *item = &table->items[i];
        if (item->address < floor || item->address >= UINT64_C(1) << 47 || item->name >= table->bytes - header->strings)
            return false;
        floor = item->address;
    }
    return true;
}

enum pcere_status external_table_take(unsigned char *data, uint64_t bytes, struct external_table *table, struct pcere_error *error)
{
    struct store_externals_header header;
    external_table_done(table);
    table->data = data;
    if (bytes < sizeof header)
        return damaged(error);
    memcpy(&header, data, sizeof header);
    if (memcmp(header.magic, STORE_EXTERNALS_MAGIC, sizeof header.magic) || header.bytes > bytes || header.strings > header.bytes
        || header.strings < sizeof header || header.count != (header.strings - sizeof header) / sizeof *table->items
        || (header.strings - sizeof header) % sizeof *table->items
        || (header.count && (header.strings == header.bytes || data[header.bytes - 1])))
        return damaged(error);
    table->bytes = header.bytes;
    table->items = (const struct store_external *)(const void *)(data + sizeof header);
    table->count = header.count;
    if (!items_are_sound(table, &header)) {
        table->count = 0;
        return damaged(error);
    }
    if (!(table->found = calloc(table->count ? table->count : 1, 1))) {
        table->count = 0;
        return pcere_fail_memory(error, "the table of libraries' functions");
    }
    table->low = table->count ? table->items[0].address : 0;
    table->high = table->low;
    for (size_t i = 0; i < table->count; i++) {
        uint64_t end = table->items[i].address + (table->items[i].bytes ? table->items[i].bytes : 1);
        table->high = end > table->high ? end : table->high;
    }
    return PCERE_OK;
}

enum pcere_status external_table_read(struct store *store, const struct store_run *runs, size_t run_count, uint64_t page_bytes,
                                      struct external_table *table, struct pcere_error *error)
{
    uint64_t bytes = run_count ? runs[run_count - 1].address + runs[run_count - 1].count * page_bytes : 0;
    external_table_done(table);
    if (!run_count)
        return PCERE_OK;
    if (bytes > TABLE_BYTES_MOST)
        return damaged(error);
    unsigned char *data = calloc(1, bytes);
    struct store_run *copy = malloc(run_count * sizeof *copy);
    enum pcere_status status = data && copy ? PCERE_OK : pcere_fail_memory(error, "the table of libraries' functions");
    for (size_t i = 0; !status && i < run_count; i++)
        if (runs[i].page != STORE_PAGE_ZERO)
            status = store_pages_read(store, runs[i].page, runs[i].count, data + runs[i].address, error);
    if (status)
        free(data);
    else
        status = external_table_take(data, bytes, table, error);
    if (status) {
        external_table_done(table);
        free(copy);
        return status;
    }
    table->runs = memcpy(copy, runs, run_count * sizeof *copy);
    table->run_count = run_count;
    return PCERE_OK;
}

/* Several names may stand at one address; a constant may be pointed into. */
static void word_mark(const struct external_table *table, uint64_t word)
{
    BISECT(low, 0, table->count, i, table->items[i].address <= word);
    uint64_t address = low ? table->items[low - 1].address : 0;
    for (; low && table->items[low - 1].address == address; low--)
        if (external_table_name(table, low - 1)[0] == '/')
            continue;
        else if (address == word || word - address < table->items[low - 1].bytes)
            __atomic_store_n(&table->found[low - 1], 1, __ATOMIC_RELAXED);
}

void external_table_search(const struct external_table *table, const uint64_t *words, size_t count)
{
    uint64_t low = table->low, span = table->high - table->low;
    for (size_t i = 0; span && i < count; i++)
        if (__builtin_expect(words[i] - low < span, 0))
            word_mark(table, words[i]);
}

const char *external_table_name(const struct external_table *table, size_t index)
{
    struct store_externals_header header;
    memcpy(&header, table->data, sizeof header);
    return (const char *)table->data + header.strings + table->items[index].name;
}

/* A path begins with a slash, and no symbol does. */
const struct store_external *external_table_library(const struct external_table *table, uint64_t address)
{
    for (size_t i = table->count; i > 0; i--) {
        const struct store_external *item = &table->items[i - 1];
        const char *name = item->address <= address ? external_table_name(table, i - 1) : "";
        if (*name == '/')
            return address - item->address < item->bytes ? item : NULL;
    }
    return NULL;
}
