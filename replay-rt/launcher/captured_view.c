/* replay-rt/launcher/captured_view.c - which copy holds an address. */
#include "replay-rt/launcher/captured_view.h"
#include "include/pcere/bisect.h"

#include "replay-rt/ranges.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

enum pcere_status captured_view_open(const struct page_pool *pool, const struct codelet_memory *memory, struct captured_view *ret_view,
                                     struct pcere_error *error)
{
    struct captured_view view = {.pages_bytes = pool->file_bytes, .page_bytes = pool->page_bytes, .copies = memory->before,
                                 .copy_count = memory->before_count, .aliases = memory->aliases,
                                 .alias_count = memory->alias_count};
    if (memory->expected_count) {
        view.copies = memory->expected;
        view.copy_count = memory->expected_count;
    }
    void *pages = mmap(NULL, view.pages_bytes ? view.pages_bytes : 1, PROT_READ, MAP_SHARED, pool->fd, 0);
    if (pages == MAP_FAILED)
        return pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot map %llu bytes of pages", (unsigned long long)view.pages_bytes);
    view.pages = pages;
    *ret_view = view;
    return PCERE_OK;
}

void captured_view_close(struct captured_view *view)
{
    if (view->pages)
        munmap((void *)view->pages, view->pages_bytes ? view->pages_bytes : 1);
    *view = (struct captured_view){0};
}

static bool copy_holds(const struct captured_view *view, size_t index, uint64_t address)
{
    const struct plan_copy *copy = &view->copies[index];
    return copy->address <= address && address - copy->address < copy->pages * view->page_bytes;
}

static const struct plan_copy *copy_find(struct captured_view *view, uint64_t address)
{
    if (view->last < view->copy_count && copy_holds(view, view->last, address))
        return &view->copies[view->last];
    BISECT(low, 0, view->copy_count, i, view->copies[i].address + view->copies[i].pages * view->page_bytes <= address);
    if (low == view->copy_count || !copy_holds(view, low, address))
        return NULL;
    view->last = low;
    return &view->copies[low];
}

/* The address at which the capture has what is there, and how much of it follows. */
static uint64_t original_of(const struct captured_view *view, uint64_t address, uint64_t *bytes)
{
    const struct plan_alias *alias = plan_alias_at(view->aliases, view->alias_count, address);
    if (!alias)
        return address;
    uint64_t offset = address - alias->address, left = alias->bytes - offset;
    *bytes = *bytes < left ? *bytes : left;
    return alias->original + offset;
}

#define ADDRESS_BITS ((UINT64_C(1) << 48) - 1)     /* programs keep tags in the others */

bool captured_view_points(const struct captured_view *view, uint64_t start, uint64_t end, uint64_t dead, uint64_t dead_end)
{
    for (size_t i = 0; i < view->copy_count; i++) {
        const struct plan_copy *copy = &view->copies[i];
        uint64_t bytes = copy->pages * view->page_bytes, word;
        if (copy->zero || (copy->address >= start && copy->address < end) || copy->source > view->pages_bytes || bytes > view->pages_bytes - copy->source)
            continue;
        for (uint64_t at = 0; at < bytes; at += sizeof word) {
            memcpy(&word, view->pages + copy->source + at, sizeof word);
            if ((word & ADDRESS_BITS) - start < end - start && copy->address + at - dead >= dead_end - dead)
                return true;
        }
    }
    return false;
}

bool captured_view_read(struct captured_view *view, uint64_t address, void *out, uint64_t bytes)
{
    unsigned char *to = out;
    while (bytes) {
        uint64_t most = bytes, original = original_of(view, address, &most);
        const struct plan_copy *copy = copy_find(view, original);
        if (!copy)
            return false;
        uint64_t offset = original - copy->address, piece = copy->pages * view->page_bytes - offset;
        piece = piece < most ? piece : most;
        if (copy->zero)
            memset(to, 0, piece);
        else if (copy->source <= view->pages_bytes && offset + piece <= view->pages_bytes - copy->source)
            memcpy(to, view->pages + copy->source + offset, piece);
        else
            return false;
        to += piece;
        address += piece;
        bytes -= piece;
    }
    return true;
}
