/* replay-rt/launcher/image.h - how an original executable or shared library was loaded: segments, words that the dynamic linker filled, the names
 * that it offers, run path.
 *
 * The file is hostile: damage gives PCERE_DATA.
 */
#ifndef PCERE_REPLAY_LAUNCHER_IMAGE_H
#define PCERE_REPLAY_LAUNCHER_IMAGE_H

#include "core/error.h"
#include "include/pcere/rt_abi.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image_segment {                /* a PT_LOAD; addresses are link-time */
    uint64_t address, memory_bytes, file_offset, file_bytes;
    uint32_t protection;              /* PROT_* */
};

enum image_relocation_kind {
    IMAGE_RELOCATION_ADDRESS,         /* global offset table */
    IMAGE_RELOCATION_SLOT,            /* the same, of a function, and maybe filled at the first call only */
    IMAGE_RELOCATION_DATA,
    IMAGE_RELOCATION_COPY,
    IMAGE_RELOCATION_MODULE,          /* number of the module whose thread-local variables are meant */
    IMAGE_RELOCATION_THREAD,          /* distance from the thread pointer to a thread-local variable */
};

struct image_relocation {             /* against a symbol of another image; SLOT, MODULE, THREAD: or of its own */
    uint64_t address;                 /* link-time */
    int64_t addend;                   /* COPY: bytes; THREAD: offset in the TLS block, if `own` */
    enum image_relocation_kind kind;
    const char *name;                 /* "": none, its own module */
    bool own;                         /* the image defines the symbol itself */
};

struct image_export {                 /* a name that others can use; addresses are link-time */
    const char *name;
    uint64_t address, bytes;          /* thread-local: offset in the block */
    uint16_t kind;                    /* enum pcere_symbol_kind */
    bool copy;                        /* of a library's variable */
};

struct image {
    struct image_segment *segments;
    size_t segment_count;
    struct image_relocation *relocations;
    size_t relocation_count;
    struct image_export *exports;     /* by name, each once */
    size_t export_count;
    struct image_export *entries;     /* functions of libraries for which an executable at fixed addresses has entries of its own, their addresses for all */
    size_t entry_count;
    uint64_t tls_address, tls_file_bytes, tls_bytes, tls_align;   /* initial thread-local variables: link-time address; bytes 0: none */
    const void *tls_initial;          /* tls_file_bytes, of `file` */
    bool stack_executes;              /* its threads' stacks hold code: trampolines of nested functions */
    uint64_t frames_address;          /* of .eh_frame, link-time; 0: none */
    uint64_t unwinder_address;        /* of _Unwind_Find_FDE, where the image has an unwinder in itself (-static-libgcc); link-time; 0: none */
    char **run_paths;                 /* folders of DT_RUNPATH and DT_RPATH, $ORIGIN not replaced; NULL-terminated, or NULL */
    void *file;                       /* the whole file, read-only mapping */
    uint64_t file_bytes;
};

enum pcere_status image_open(const char *path, struct image *ret_image, struct pcere_error *error);
const struct image_export *image_export_find(const struct image *image, const char *name);    /* NULL: none */
void image_close(struct image *image);    /* accepts half-built */

#endif
