/* analysis/profile_format.h - the bytes of a profile's file, as docs/format/profile.md defines them. Private to analysis/.
 *
 * Numbers are little-endian and structs have no holes, so that they go to disk as they lie in memory.
 */
#ifndef PCERE_ANALYSIS_PROFILE_FORMAT_H
#define PCERE_ANALYSIS_PROFILE_FORMAT_H

#include <stdint.h>

struct profile_header {                 /* 64 bytes; then the description, the labels, the columns, and xxh64 of all before */
    char magic[8];
    uint32_t version;
    uint32_t flags;
    uint64_t file_bytes;
    uint64_t description_bytes;         /* JSON */
    uint64_t xus;
    uint64_t labels_bytes;
    uint64_t segments;
    uint64_t reserved;
};
#define PROFILE_MAGIC "PCEREXU1"
#define PROFILE_VERSION 1u
#define PROFILE_HAS_TEXTS 1u
#define PROFILE_HAS_SOURCES 2u
#define PROFILE_IN_LABEL_ORDER 4u
#define PROFILE_FLAGS 7u
#define PROFILE_FILE_BYTES_MOST ((uint64_t)1 << 36)
#define PROFILE_TEXTS_BYTES_MOST ((uint64_t)1 << 33)        /* of all labels, written out */

struct profile_column {                 /* 16 bytes, then `width` bytes a row: the value less `least`, little-endian */
    uint64_t least;
    uint8_t width;                      /* 1 to 8 */
    uint8_t reserved[7];
};

_Static_assert(sizeof(struct profile_header) == 64, "profile header");
_Static_assert(sizeof(struct profile_column) == 16, "profile column");

#endif
