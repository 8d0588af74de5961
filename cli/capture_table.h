/* cli/capture_table.h - the regions of a manifest, for people and as JSON: what `capture` ends with and `regions` repeats.
 */
#ifndef PCERE_CLI_CAPTURE_TABLE_H
#define PCERE_CLI_CAPTURE_TABLE_H

#include "core/error.h"

#include <jansson.h>
#include <stdio.h>

struct store_manifest;

/* One line a region, by falling share; then the serial part and the whole. */
void capture_table_print(const struct store_manifest *manifest, FILE *out);

/* Add the keys of schema pcere.regions/1. PCERE_SYSTEM: no memory. */
enum pcere_status capture_document_add(json_t *document, const struct store_manifest *manifest, struct pcere_error *error);

#endif
