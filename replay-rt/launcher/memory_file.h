/* replay-rt/launcher/memory_file.h - a captured codelet as the two files that its process reads: plan and pages.
 *
 * Both are memory files. The pages are decompressed once per codelet and shared by all its processes; a plan is made for each
 * process.
 */
#ifndef PCERE_REPLAY_LAUNCHER_MEMORY_FILE_H
#define PCERE_REPLAY_LAUNCHER_MEMORY_FILE_H

#include "core/elf_file.h"
#include "core/error.h"
#include "replay-rt/launcher/image.h"
#include "replay-rt/protocol.h"
#include "store/store.h"

struct memory_file {                  /* the pages of one codelet */
    int pages_fd;
    uint64_t pages_bytes;
    struct plan_mapping *mappings;    size_t mapping_count;
    struct plan_copy *before;         size_t before_count;
    struct plan_copy *expected;       size_t expected_count;    /* 0 unless asked for */
};

/* Decompress what the codelet had at its start, and with `expected` what it had after the region. Parts of the program's image that were not captured
 * come from its file. PCERE_DATA: damage. PCERE_SYSTEM: no memory. */
enum pcere_status memory_file_new(struct store *store, const struct store_codelet *codelet, const struct image *image,
                                  bool expected, struct memory_file *ret_file, struct pcere_error *error);
void memory_file_done(struct memory_file *file);    /* accepts half-built */

struct plan_file {                    /* one process's plan */
    int fd;
    struct replay_plan *plan;         /* mapped shared; `result` is what the process wrote: hostile */
    uint64_t bytes;
};

enum pcere_status plan_file_new(const struct store_codelet *codelet, const struct store_manifest *manifest,
                                const struct memory_file *memory, const struct image *image, const struct elf_file *program,
                                const struct plan_policy *policy, struct plan_file *ret_file, struct pcere_error *error);
/* Make a used plan ready for another process. */
void plan_file_reset(struct plan_file *file);
void plan_file_done(struct plan_file *file);

#endif
