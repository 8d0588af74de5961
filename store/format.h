/* store/format.h - the bytes of a store's files, as docs/format/store.md defines them. Private to store/.
 *
 * Numbers are little-endian and structs have no holes, so that they go to disk as they lie in memory.
 */
#ifndef PCERE_STORE_FORMAT_H
#define PCERE_STORE_FORMAT_H

#include "store/store.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define STORE_SCHEMA "pcere.store/"
#define STORE_HINT_DAMAGED "capture the program again, or copy the store again from where it came"

#define STORE_PAGE_BYTES_LEAST 512u
#define STORE_PAGE_BYTES_MOST 65536u
#define STORE_BLOCK_PAGES 64u                      /* most pages of a block */
#define STORE_MANIFEST_BYTES_MOST ((size_t)1 << 28)
#define STORE_CODELET_BYTES_MOST ((size_t)1 << 31)
#define STORE_SAMPLES_BYTES_MOST ((size_t)1 << 30)
#define STORE_INVOCATIONS_BYTES_MOST ((size_t)1 << 28)
#define STORE_LIBRARIES_MOST 4096u

struct pages_header {                              /* 64 bytes, at the start of `pages` */
    char magic[8];
    uint32_t version;
    uint32_t page_bytes;
    uint64_t store_id;
    uint8_t reserved[32];
    uint64_t check;                                /* xxh64 of the 56 bytes before */
};
#define PAGES_MAGIC "PCEREPG1"

struct block_header {                              /* 48 bytes, then 16 bytes of hash a page, then the payload */
    char magic[8];
    uint32_t coding;                               /* enum block_coding */
    uint32_t pages;
    uint64_t first_page;
    uint32_t raw_bytes;
    uint32_t stored_bytes;                         /* of the payload */
    uint64_t body_check;                           /* xxh64 of hashes and payload */
    uint64_t check;                                /* xxh64 of the 40 bytes before */
};
#define BLOCK_MAGIC "PCEREBK1"
enum block_coding { BLOCK_RAW = 0, BLOCK_LZ4 = 1 };

struct page_hash { uint64_t low, high; };          /* XXH3_128bits of a page */

struct codelet_header {                            /* 448 bytes, then twenty arrays, then xxh64 of all before */
    char magic[8];
    uint32_t version;
    uint32_t path;
    uint64_t file_bytes;
    uint64_t store_id;
    uint64_t page_bytes;
    uint64_t invocation;
    uint64_t members;
    int32_t num_threads;
    int32_t proc_bind;
    uint32_t capture_threads;
    uint32_t flags;
    uint64_t stack_pointer;
    uint64_t in_vivo_ns;
    uint64_t unit_id;
    struct store_setting setting;
    uint64_t ended_ns;
    uint64_t counts[20];                           /* enum codelet_part */
};
#define CODELET_MAGIC "PCERECL1"
#define CODELET_VERSION 12u
#define CODELET_HAS_AFTER 1u
#define CODELET_DOES_IO 2u
#define CODELET_READS_OPENED 4u
enum codelet_part { PART_NAME, PART_REGION, PART_WORDS, PART_MAPPINGS, PART_BEFORE, PART_AFTER, PART_THREADS, PART_LOCKS,
                    PART_FRAMES, PART_IGNORED, PART_SIGNALS, PART_DESCRIPTORS, PART_STREAMS, PART_CONTENTS, PART_RANDOMS, PART_EXTERNALS, PART_LOCALE,
                    PART_ALIASES, PART_KEYS, PART_MADE, PART_COUNT };

_Static_assert(sizeof(struct pages_header) == 64, "pages header");
_Static_assert(sizeof(struct block_header) == 48, "block header");
_Static_assert(sizeof(struct codelet_header) == 456, "codelet header");
_Static_assert(sizeof(struct store_mapping) == 88, "mapping");
_Static_assert(sizeof(struct store_run) == 24, "run");
_Static_assert(sizeof(struct store_alias) == 24, "alias");
_Static_assert(sizeof(struct store_thread) == 24, "thread");
_Static_assert(sizeof(struct store_lock) == 32, "lock");
_Static_assert(sizeof(struct store_random) == 536, "random numbers");
_Static_assert(sizeof(struct store_frame) == 128, "frame");
_Static_assert(sizeof(struct store_range) == 16, "range");
_Static_assert(sizeof(struct store_signal) == 24, "signal");
_Static_assert(sizeof(struct store_key) == 16, "key");
_Static_assert(sizeof(struct store_descriptor) == 512, "descriptor");
_Static_assert(sizeof(struct store_stream) == 240, "stream");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "files are little-endian");

/* What the manifest knows beside struct store_manifest. */
struct manifest_files {
    uint64_t store_id;
    bool has_program;
    uint64_t program_bytes, program_hash;          /* of the copy */
    uint64_t page_count, pages_bytes;              /* whole blocks of `pages`; if the manifest is not complete there may be more */
    char **codelets;                               /* names of all that were finished */
    size_t codelet_count;
    struct manifest_library { struct store_library about; uint64_t bytes, hash; } *libraries;
    size_t library_count;
};
void manifest_files_done(struct manifest_files *files);

/* JSON of the manifest, whole; *ret_text is malloc'ed. PCERE_USAGE: `host` is not JSON, a number is too large. */
enum pcere_status manifest_encode(const struct store_manifest *manifest, const struct manifest_files *files, char **ret_text,
                                  size_t *ret_bytes, struct pcere_error *error);
enum pcere_status manifest_decode(const char *text, size_t bytes, struct store_manifest *ret_manifest,
                                  struct manifest_files *ret_files, struct pcere_error *error);

/* Bytes of the file; *ret_data is malloc'ed. PCERE_USAGE: the codelet breaks its own rules, see codelet_validate. */
enum pcere_status codelet_encode(const struct store_codelet *codelet, const char *name, uint64_t store_id, uint64_t page_bytes,
                                 uint64_t page_count, void **ret_data, size_t *ret_bytes, struct pcere_error *error);
enum pcere_status codelet_decode(const void *data, size_t bytes, const char *name, uint64_t store_id, uint64_t page_bytes,
                                 uint64_t page_count, struct store_codelet *ret_codelet, struct pcere_error *error);

/* May `name` stand as a file name inside codelets/ or libraries/? Hostile names could lead out of the store. */
bool codelet_name_valid(const char *name);

#endif
