/* replay-rt/launcher/link_image.h - what a rebuilt shared library takes from the captured one: addresses, TLS block, tables.
 *
 * It becomes a shared object that is linked for one address, so that code reaches captured variables by 32-bit distances:
 *
 *   assembly   names that others use (absolute, of functions weak: rebuilt ones come first; if nothing is rebuilt, those that rebuilt code uses, apart) | TLS block with the original's layout | tables
 *   script     names that only its own units use (absolute and hidden: no assembler makes those for a shared object)
 */
#ifndef PCERE_REPLAY_LAUNCHER_LINK_IMAGE_H
#define PCERE_REPLAY_LAUNCHER_LINK_IMAGE_H

#include "core/text.h"
#include "replay-rt/launcher/images.h"

/* PCERE_DATA: a name that no compiler writes. */
enum pcere_status link_image_write(const struct images *images, size_t index, struct text *assembly, struct text *script,
                                   struct pcere_error *error);

/* The name by which rebuilt code of image `from` uses a captured library of which nothing is rebuilt, and that library; NULL: it does not mean one. Such a name gets
 * LINK_IMAGE_WRAPPER in front, there and where it is used (the linker's --wrap). Borrowed. */
#define LINK_IMAGE_WRAPPER "__wrap_"
const char *link_image_wrapped(const struct images *images, size_t from, const struct image_relocation *relocation, size_t *ret_index);

/* Directives for the image's initial thread-local variables: tls_bytes, without a label. Those that begin with an address of the image have the captured one. */
void link_image_block_write(const struct loaded_image *image, struct text *out);

/* malloc, operator new and the like: a codelet allocates before captured memory is there, and has an allocator of its own for all. */
bool link_image_allocates(const char *name);

#endif
