/* replay-rt/launcher/image.h - how the original executable was loaded: segments, words that point into libraries, run path.
 *
 * The file is hostile: damage gives PCERE_DATA.
 */
#ifndef PCERE_REPLAY_LAUNCHER_IMAGE_H
#define PCERE_REPLAY_LAUNCHER_IMAGE_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image_segment {                /* a PT_LOAD; addresses are link-time */
    uint64_t address, memory_bytes, file_offset, file_bytes;
    uint32_t protection;              /* PROT_* */
};

enum image_relocation_kind { IMAGE_RELOCATION_ADDRESS, IMAGE_RELOCATION_DATA, IMAGE_RELOCATION_COPY };

struct image_relocation {             /* against a symbol that a library defines */
    uint64_t address;                 /* link-time */
    int64_t addend;                   /* IMAGE_RELOCATION_COPY: bytes */
    enum image_relocation_kind kind;
    const char *name;                 /* of the image */
};

struct image {
    struct image_segment *segments;
    size_t segment_count;
    struct image_relocation *relocations;
    size_t relocation_count;
    char **run_paths;                 /* folders of DT_RUNPATH and DT_RPATH, $ORIGIN not replaced; NULL-terminated, or NULL */
    void *file;                       /* the whole file, read-only mapping */
    uint64_t file_bytes;
};

enum pcere_status image_open(const char *path, struct image *ret_image, struct pcere_error *error);
void image_close(struct image *image);    /* accepts half-built */

#endif
