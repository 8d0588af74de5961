#include "store/page_table.h"

#include "core/faults.h"

#include <sys/mman.h>

struct page_table_entry {
    struct page_hash hash;
    uint64_t number_plus_one;    /* 0: free */
};

#define TABLE_ENTRIES_LEAST ((size_t)1 << 12)

static struct page_table_entry *entries_map(size_t count)
{
    if (fault_point("table.map"))
        return NULL;
    size_t bytes = count * sizeof(struct page_table_entry);
    void *entries = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (entries == MAP_FAILED)
        return NULL;
    madvise(entries, bytes, MADV_HUGEPAGE);
    return entries;
}

static void entries_unmap(struct page_table_entry *entries, size_t count)
{
    if (entries)
        munmap(entries, count * sizeof *entries);
}

bool page_table_reserve(struct page_table *table, size_t pages)
{
    size_t count = table->entries ? table->mask + 1 : 0, wanted = TABLE_ENTRIES_LEAST;
    if (pages > SIZE_MAX / 8 / sizeof(struct page_table_entry))
        return false;
    while (wanted < pages + pages / 2)
        wanted *= 2;
    if (wanted <= count)
        return true;
    struct page_table grown = {.entries = entries_map(wanted), .mask = wanted - 1};
    if (!grown.entries)
        return false;
    for (size_t i = 0; i < count; i++)
        if (table->entries[i].number_plus_one)
            page_table_add(&grown, table->entries[i].hash, table->entries[i].number_plus_one - 1);
    page_table_done(table);
    *table = grown;
    return true;
}

void page_table_touch(struct page_table *table)
{
    volatile uint64_t *words = (volatile uint64_t *)(void *)table->entries;
    size_t count = table->entries ? (table->mask + 1) * sizeof *table->entries / sizeof *words : 0;
    for (size_t i = 0; i < count; i += 512)
        words[i] = words[i];
}

void page_table_done(struct page_table *table)
{
    entries_unmap(table->entries, table->mask + 1);
    *table = (struct page_table){0};
}

void page_table_prefetch(const struct page_table *table, struct page_hash hash)
{
    __builtin_prefetch(&table->entries[hash.low & table->mask]);
}

uint64_t page_table_find(const struct page_table *table, struct page_hash hash)
{
    for (size_t i = hash.low & table->mask; table->entries[i].number_plus_one; i = (i + 1) & table->mask)
        if (table->entries[i].hash.low == hash.low && table->entries[i].hash.high == hash.high)
            return table->entries[i].number_plus_one - 1;
    return STORE_PAGE_ZERO;
}

void page_table_add(struct page_table *table, struct page_hash hash, uint64_t number)
{
    size_t i = hash.low & table->mask;
    while (table->entries[i].number_plus_one)
        i = (i + 1) & table->mask;
    table->entries[i] = (struct page_table_entry){hash, number + 1};
    table->used++;
}
