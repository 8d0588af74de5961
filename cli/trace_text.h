/* cli/trace_text.h - what the verbs about traces and graphs share: CSV lines, files that may not exist yet. */
#ifndef PCERE_CLI_TRACE_TEXT_H
#define PCERE_CLI_TRACE_TEXT_H

#include "core/error.h"

#include <stdbool.h>
#include <stdio.h>

/* One line; cells are quoted where they must be. */
void csv_print(const char *const *cells, size_t count, FILE *out);

/* PATH for writing, or standard output if it is NULL or "-". PCERE_USAGE: it exists, and `force` is not given. PCERE_SYSTEM. */
enum pcere_status result_open(const char *path, bool force, FILE **ret_file, struct pcere_error *error);
/* Flushes, and closes what result_open opened. PCERE_SYSTEM: not all was taken; then a regular file is removed. */
enum pcere_status result_close(const char *path, FILE *file, enum pcere_status written, struct pcere_error *error);

#endif
