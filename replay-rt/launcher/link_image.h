/* replay-rt/launcher/link_image.h - what a rebuilt shared library takes from the captured one: addresses, TLS block, tables.
 *
 * It becomes a shared object that is linked for one address, so that code reaches captured variables by 32-bit distances:
 *
 *   assembly   names that others use (absolute, of functions weak: rebuilt ones come first) | TLS block with the original's layout | tables
 *   script     names that only its own units use (absolute and hidden: no assembler makes those for a shared object)
 */
#ifndef PCERE_REPLAY_LAUNCHER_LINK_IMAGE_H
#define PCERE_REPLAY_LAUNCHER_LINK_IMAGE_H

#include "core/text.h"
#include "replay-rt/launcher/images.h"

/* PCERE_DATA: a name that no compiler writes. */
enum pcere_status link_image_write(const struct images *images, size_t index, struct text *assembly, struct text *script,
                                   struct pcere_error *error);

/* Directives for the image's initial thread-local variables: tls_bytes, without a label. */
void link_image_block_write(const struct image *file, struct text *out);

/* malloc, operator new and the like: a codelet allocates before captured memory is there, and has an allocator of its own for all. */
bool link_image_allocates(const char *name);

#endif
