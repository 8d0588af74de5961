/* replay-rt/launcher/layout.h - where a rebuilt executable lies, so that it meets none of the captured ranges.
 *
 *   base - LAYOUT_MISSING_BYTES     base                                   base + LAYOUT_IMAGE_BYTES
 *   |  addresses of variables that  |  code, constants, room for the heap  |
 *   |  the original did not keep    |                                      |
 *
 * and close enough to the original image for 32-bit distances, below 2 GiB where the original used absolute 32-bit addresses.
 */
#ifndef PCERE_REPLAY_LAUNCHER_LAYOUT_H
#define PCERE_REPLAY_LAUNCHER_LAYOUT_H

#include "core/error.h"
#include "store/store.h"

#include <stdbool.h>
#include <stdint.h>

#define LAYOUT_MISSING_BYTES (16ull << 20)
#define LAYOUT_MISSING_SLOT (64ull << 10)       /* bytes of addresses for each missing variable; fewer where there are many, */
#define LAYOUT_MISSING_LEAST (4ull << 10)       /* ... but so many at least */
#define LAYOUT_IMAGE_BYTES (128ull << 20)

/* `taken`: captured ranges of all codelets, in any order. `image_low`, `image_high`: the original's image as captured.
 * `absolute32`: the original was not position-independent. PCERE_REFUSED: no room. */
enum pcere_status layout_choose(const struct store_range *taken, size_t taken_count, uint64_t image_low, uint64_t image_high,
                                bool absolute32, uint64_t *ret_base, struct pcere_error *error);

#define LAYOUT_LIBRARY_BYTES (48ull << 20)

/* The same for what is rebuilt of a shared library that lay at `image_low` to `image_high`: LAYOUT_LIBRARY_BYTES from *ret_base on, below the library
 * if there is room, else above. */
enum pcere_status layout_choose_library(const struct store_range *taken, size_t taken_count, uint64_t image_low, uint64_t image_high,
                                        uint64_t *ret_base, struct pcere_error *error);

#endif
