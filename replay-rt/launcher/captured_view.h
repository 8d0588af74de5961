/* replay-rt/launcher/captured_view.h - reads captured memory by the addresses that it had. */
#ifndef PCERE_REPLAY_LAUNCHER_CAPTURED_VIEW_H
#define PCERE_REPLAY_LAUNCHER_CAPTURED_VIEW_H

#include "core/error.h"
#include "replay-rt/launcher/codelet_memory.h"

#include <stdbool.h>

struct captured_view {
    const unsigned char *pages;       /* the page pool, mapped */
    uint64_t pages_bytes, page_bytes;
    const struct plan_copy *copies;   /* borrowed, as the next */
    const struct plan_alias *aliases;
    size_t alias_count;
    size_t copy_count, last;
};

/* As memory was after the region, where `memory` was made with that, else as it was before. Both must outlive the view. */
enum pcere_status captured_view_open(const struct page_pool *pool, const struct codelet_memory *memory, struct captured_view *ret_view,
                                     struct pcere_error *error);
void captured_view_close(struct captured_view *view);         /* accepts zeroed */

/* Does an aligned word lead into [start, end), that lies neither there nor in [dead, dead_end)? Looks through all memory. */
bool captured_view_points(const struct captured_view *view, uint64_t start, uint64_t end, uint64_t dead, uint64_t dead_end);
/* False: not all of it was there. */
bool captured_view_read(struct captured_view *view, uint64_t address, void *out, uint64_t bytes);

#endif
