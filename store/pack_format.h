/* store/pack_format.h - the bytes of a packed store, as docs/format/pack.md defines them. Private to store/. */
#ifndef PCERE_STORE_PACK_FORMAT_H
#define PCERE_STORE_PACK_FORMAT_H

#include "store/format.h"

#define PACK_VERSION 1u
#define PACK_SKIPPABLE 0x184d2a50u                 /* zstd: a frame that decoders pass over */
#define PACK_MAGIC "PCEREPK1"
#define PACK_FILES_MOST (1u << 20)
#define PACK_BYTES_MOST ((uint64_t)1 << 46)        /* of all files together */
#define PACK_CHUNK_BYTES ((size_t)1 << 18)
#define PACK_HINT_DAMAGED "copy the packed store again from where it came"

struct pack_trailer {                              /* the last 48 bytes of the file */
    uint32_t skippable;
    uint32_t frame_bytes;                          /* of what follows in this frame */
    char magic[8];
    uint32_t version;
    uint32_t files;
    uint64_t unpacked_bytes;                       /* of all files together */
    uint64_t archive_bytes;                        /* what lies before this structure */
    uint64_t check;                                /* xxh64 of every byte before it */
};
_Static_assert(sizeof(struct pack_trailer) == 48, "pack trailer");

#endif
