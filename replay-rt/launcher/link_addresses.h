/* replay-rt/launcher/link_addresses.h - what the code of an image took for the address of a function: the captured one, so that rebuilt code finds it equal to
 * what captured data holds, and leaves there what the program would have. */
#ifndef PCERE_REPLAY_LAUNCHER_LINK_ADDRESSES_H
#define PCERE_REPLAY_LAUNCHER_LINK_ADDRESSES_H

#include "core/error.h"
#include "core/text.h"
#include "replay-rt/launcher/images.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Adds definitions of __pcere_at.UNIT.NAME for what units of image `index` define, and of __pcere_at.NAME for what they may refer to in other units and other images
 * that were built with the plugin: assembly for the executable (0), lines of a linker script for a library. Names that cannot be written are left out: weak
 * definitions of the units serve instead. PCERE_SYSTEM: no memory. */
enum pcere_status link_addresses_write(const struct images *images, size_t index, struct text *out, struct pcere_error *error);

/* What units of image `index` take for the address of a function that is not internal to one. False: the program has none that is of its own code. */
bool link_address_find(const struct images *images, size_t index, const char *name, uint64_t *ret_address);

#endif
