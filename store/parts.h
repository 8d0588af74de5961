/* store/parts.h - what belongs to a store, and what somebody else put into its directory. Private to store/. */
#ifndef PCERE_STORE_PARTS_H
#define PCERE_STORE_PARTS_H

#include "core/error.h"

#include <stdbool.h>
#include <stdint.h>

/* PCERE_USAGE, naming it, where the store's directory, or only its build/ (`cache_only`), holds what no store has. `path` is for the message. Else how many bytes its
 * files occupy. */
enum pcere_status store_parts_check(int directory, const char *path, bool cache_only, uint64_t *ret_bytes, struct pcere_error *error);

#endif
