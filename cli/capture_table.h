/* cli/capture_table.h - the regions of a manifest, for people and as JSON: what `capture` ends with and `regions` repeats.
 */
#ifndef PCERE_CLI_CAPTURE_TABLE_H
#define PCERE_CLI_CAPTURE_TABLE_H

#include "core/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include <stdint.h>

struct store_manifest;

#define CAPTURE_STRETCHED_BYTES 80

/* "17 % longer for probes of regions inside it", or NULL if that is no more than STORE_STRETCHED_RATIO of `time_ns`: all that its invocations took. */
char *capture_stretched_text(char text[static CAPTURE_STRETCHED_BYTES], uint64_t probed_ns, uint64_t time_ns);

/* One line a region, by falling share; then the serial part and the whole. */
void capture_table_print(const struct store_manifest *manifest, FILE *out);

/* Regions that the capture did not enter, since the program does so with more threads only: [{region, from_threads, reason}]. */
json_t *capture_not_entered_value(const struct store_manifest *manifest, bool *failed);

/* Add the keys of schema pcere.regions/1. PCERE_SYSTEM: no memory. */
enum pcere_status capture_document_add(json_t *document, const struct store_manifest *manifest, struct pcere_error *error);

#endif
