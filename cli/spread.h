/* cli/spread.h - how far runs of a store's program lie apart, at its capture's number of threads: what `capture --runs` measures and `regions` repeats.
 *
 * Knows what of a machine's noise is worth saying: the whole runs, two in a row, and the region that is least steady.
 */
#ifndef PCERE_CLI_SPREAD_H
#define PCERE_CLI_SPREAD_H

#include "capture-rt/tracer/capture.h"
#include "core/error.h"
#include "store/store.h"

#include <jansson.h>
#include <stdio.h>

struct spread {
    const struct store_manifest *manifest;       /* borrowed */
    struct store_sample *samples;                /* of the store */
    size_t sample_count;
    char *host_name;                             /* of the capture; NULL: unknown */
};

/* Append the capture's further runs to its store, as real runs of this machine. */
enum pcere_status spread_append(const struct store *store, const struct capture_result *result, struct pcere_error *error);

/* What the store holds of runs on the machine of its capture. spread_done it also after a failure. */
enum pcere_status spread_load(struct store *store, struct spread *spread, struct pcere_error *error);
void spread_done(struct spread *spread);

/* A sentence or two; nothing where there are no such runs. */
void spread_print(const struct spread *spread, FILE *out);

/* Add "spread": null without runs. PCERE_SYSTEM: no memory. */
enum pcere_status spread_document_add(json_t *document, const struct spread *spread, struct pcere_error *error);

#endif
