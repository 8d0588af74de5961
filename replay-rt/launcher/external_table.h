/* replay-rt/launcher/external_table.h - what the shared libraries of the capture had where, and which of it captured memory points to.
 *
 * The table names thousands of functions; a codelet needs those that a captured word leads to. They are found while pages pass through
 * memory on their way from the store.
 */
#ifndef PCERE_REPLAY_LAUNCHER_EXTERNAL_TABLE_H
#define PCERE_REPLAY_LAUNCHER_EXTERNAL_TABLE_H

#include "core/error.h"
#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct external_table {
    const struct store_external *items;   /* ascending; borrowed from `data` */
    size_t count;
    unsigned char *found;                 /* a byte per item: something points to it */
    uint64_t low, high;                   /* of all items */
    unsigned char *data;
    uint64_t bytes;
    struct store_run *runs;               /* that it was read from */
    size_t run_count;
};

/* Is the table the one of these runs? */
bool external_table_is(const struct external_table *table, const struct store_run *runs, size_t run_count);
/* Replace *table by what these runs hold; no runs: an empty one. PCERE_DATA: it is damaged. */
enum pcere_status external_table_read(struct store *store, const struct store_run *runs, size_t run_count, uint64_t page_bytes,
                                      struct external_table *table, struct pcere_error *error);
/* As above, of `bytes` bytes at `data` (malloc'ed), which become the table's even on failure. */
enum pcere_status external_table_take(unsigned char *data, uint64_t bytes, struct external_table *table, struct pcere_error *error);
/* Mark what these words point to: a function by its address alone, a constant anywhere inside. Thread-safe. */
void external_table_search(const struct external_table *table, const uint64_t *words, size_t count);
/* The library of the capture that had something at that address, or NULL: its name is a path, a space and its build-id. */
const struct store_external *external_table_library(const struct external_table *table, uint64_t address);
const char *external_table_name(const struct external_table *table, size_t index);
void external_table_done(struct external_table *table);    /* accepts a zeroed one */

#endif
