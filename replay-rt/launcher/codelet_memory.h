/* replay-rt/launcher/codelet_memory.h - a captured codelet as its process reads it: what lies where, and the plan. */
#ifndef PCERE_REPLAY_LAUNCHER_CODELET_MEMORY_H
#define PCERE_REPLAY_LAUNCHER_CODELET_MEMORY_H

#include "core/elf_file.h"
#include "core/error.h"
#include "replay-rt/launcher/images.h"
#include "replay-rt/launcher/page_pool.h"
#include "replay-rt/protocol.h"
#include "store/store.h"

struct codelet_memory {
    struct plan_mapping *mappings;    size_t mapping_count;
    struct plan_alias *aliases;       size_t alias_count;
    struct plan_copy *before;         size_t before_count;
    struct plan_copy *expected;       size_t expected_count;    /* 0 unless asked for */
    struct plan_range *changed;       size_t changed_count;     /* of `before`: pages that the region left with other content */
    struct plan_copy *contents;       size_t content_count;     /* of files: one for each run of codelet->contents */
};

/* What the codelet had at its start, and with `expected` what it had after the region, as pieces of the pool, whose pages this
 * loads. Parts of images that were not captured come from their files. PCERE_DATA: damage. PCERE_SYSTEM: no memory. */
enum pcere_status codelet_memory_new(struct store *store, struct page_pool *pool, const struct store_codelet *codelet,
                                     const struct images *images, bool expected, struct codelet_memory *ret_memory,
                                     struct pcere_error *error);
void codelet_memory_done(struct codelet_memory *memory);    /* accepts half-built */
/* Pages that were there before the region, and those of them that the capture saw change. */
uint64_t codelet_memory_pages(const struct codelet_memory *memory);
uint64_t codelet_memory_changed_pages(const struct codelet_memory *memory, uint64_t page_bytes);
/* Those that were not there before, and are behind it; UINT64_MAX: its end was not seen. */
uint64_t codelet_memory_made_pages(const struct codelet_memory *memory, const struct store_codelet *codelet, uint64_t page_bytes);
/* `changed` becomes what of these ranges, ascending and whole pages, is in `before`. False: no memory. */
bool codelet_memory_change(struct codelet_memory *memory, const struct plan_range *ranges, size_t count, uint64_t page_bytes);

struct plan_steps {                   /* regions that are run before the codelet's; their memory is given where it differs from the codelet's */
    struct plan_step items[PLAN_STEPS_MAX];   /* without their names' offsets */
    const char *names[PLAN_STEPS_MAX];        /* borrowed */
    size_t count;
    uint64_t *words;                  size_t word_count, word_capacity;
    struct plan_copy *copies;         size_t copy_count, copy_capacity;
    struct plan_copy *moves;          size_t move_count, move_capacity;     /* of all steps and the region: filled in by tour_moves_find */
    struct plan_moves region_moves[2];
    bool moves_known;
    struct page_pool *pool;           /* that the copies refer to; borrowed */
};

void plan_steps_done(struct plan_steps *steps);

struct plan_file {                    /* one process's plan */
    int fd;
    struct replay_plan *plan;         /* mapped shared; `result` is what the process wrote: hostile */
    uint64_t bytes;
};

/* `steps`: NULL for none. */
enum pcere_status plan_file_new(const struct store_codelet *codelet, const struct store_manifest *manifest,
                                const struct page_pool *pool, const struct codelet_memory *memory, const struct images *images,
                                const struct plan_policy *policy, const struct plan_steps *steps, struct plan_file *ret_file,
                                struct pcere_error *error);
/* Make a used plan ready for another process. */
void plan_file_reset(struct plan_file *file);
void plan_file_done(struct plan_file *file);

/* The captured mapping that holds the address, or the next one above it; NULL: there is none. */
const struct store_mapping *codelet_mapping_above(const struct store_codelet *codelet, uint64_t address);
/* The one that holds it, or NULL. */
const struct store_mapping *codelet_mapping_at(const struct store_codelet *codelet, uint64_t address);

#endif
