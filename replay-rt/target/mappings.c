/* replay-rt/target/mappings.c - a region may give back the contents of captured memory (madvise), unmap and move it (munmap, mremap), although
 * it is mapped in another way here: as private pages of a file, which dropping would bring back, and at addresses that restoring needs.
 *
 * Dropped and unmapped: fresh zero pages take its place until it is restored. Moved or grown: its pages move to memory of this process, or their content is copied (grown.c).
 * Protected in another way (mprotect): so it stays until the region is over; then it can be compared and restored, and has the capture's protection when
 * the region begins again.
 */
#include "replay-rt/ranges.h"
#include "replay-rt/target/codelet.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct plan_mapping *captured;
static size_t captured_count;
static atomic_bool replaced;
static _Atomic uint64_t changed_start = UINT64_MAX, changed_end;      /* from the first to the last page whose protection a region changed */

bool pcere_mappings_replaced(void)
{
    return atomic_load_explicit(&replaced, memory_order_relaxed);
}

void pcere_mappings_protect(const struct plan_mapping *mappings, size_t count)
{
    captured = mappings;
    captured_count = count;
}

const struct plan_mapping *pcere_mapping_at(uint64_t address)
{
    return plan_mapping_at(captured, captured_count, address);
}

static bool is_captured(uint64_t start, uint64_t end)
{
    size_t at = pcere_heap_in_region() && start < end ? plan_mapping_from(captured, captured_count, start) : captured_count;
    return at < captured_count && captured[at].start < end;
}

/* `which`: flags that a mapping needs for it; others keep their content, as shared memory does. */
static bool zero(uint64_t start, uint64_t end, uint32_t which)
{
    atomic_store_explicit(&replaced, true, memory_order_relaxed);
    for (size_t i = plan_mapping_from(captured, captured_count, start); i < captured_count && captured[i].start < end; i++) {
        uint64_t from = captured[i].start > start ? captured[i].start : start, to = captured[i].end < end ? captured[i].end : end;
        if ((captured[i].flags & which) == which &&
            mmap((void *)from, to - from, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) == MAP_FAILED)
            return false;
    }
    return true;
}

__attribute__((visibility("default"))) int madvise(void *start, size_t bytes, int advice)
{
    uint64_t low = (uint64_t)start, page_bytes = (uint64_t)getpagesize(), end = (low + bytes + page_bytes - 1) & ~(page_bytes - 1);
    bool dropped = advice == MADV_DONTNEED || advice == MADV_FREE;
    if (!dropped || low % page_bytes || end < low || !is_captured(low, end))
        return (int)syscall(SYS_madvise, start, bytes, advice);
    return zero(low, end, PLAN_MAPPING_FRESH) ? 0 : -1;
}

static void protection_changes(uint64_t start, uint64_t end)
{
    for (uint64_t known = changed_start; start < known && !atomic_compare_exchange_weak(&changed_start, &known, start);)
        ;
    for (uint64_t known = changed_end; end > known && !atomic_compare_exchange_weak(&changed_end, &known, end);)
        ;
}

bool pcere_mapping_changes_protection(const struct plan_mapping *mapping)
{
    return mapping->start < atomic_load_explicit(&changed_end, memory_order_relaxed) && mapping->end > atomic_load_explicit(&changed_start, memory_order_relaxed);
}

bool pcere_mappings_open(void)
{
    uint64_t start = changed_start, end = changed_end;
    for (size_t i = plan_mapping_from(captured, captured_count, start); i < captured_count && captured[i].start < end; i++)
        syscall(SYS_mprotect, captured[i].start, captured[i].end - captured[i].start, PROT_READ | PROT_WRITE | (captured[i].protection & PROT_EXEC));
    return start < end;
}

__attribute__((visibility("default"))) int mprotect(void *start, size_t bytes, int protection)
{
    uint64_t low = (uint64_t)start, page_bytes = (uint64_t)getpagesize(), end = (low + bytes + page_bytes - 1) & ~(page_bytes - 1);
    if (low % page_bytes == 0 && end > low && is_captured(low, end))
        protection_changes(low, end);
    return (int)syscall(SYS_mprotect, start, bytes, protection);
}

__attribute__((visibility("default"))) int munmap(void *start, size_t bytes)
{
    uint64_t low = (uint64_t)start, page_bytes = (uint64_t)getpagesize(), end = (low + bytes + page_bytes - 1) & ~(page_bytes - 1);
    if (low % page_bytes || end < low || !is_captured(low, end))
        return (int)syscall(SYS_munmap, start, bytes);
    return zero(low, end, 0) ? 0 : -1;
}

static void *grow(uint64_t start, size_t old_bytes, size_t new_bytes, int flags)
{
    if (new_bytes <= old_bytes)
        return zero(start + new_bytes, start + old_bytes, 0) ? (void *)start : MAP_FAILED;
    if (!(flags & MREMAP_MAYMOVE)) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    void *grown = mmap(NULL, new_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (grown == MAP_FAILED)
        return MAP_FAILED;
    pcere_grown_move(start, start + old_bytes, (uint64_t)grown);
    return zero(start, start + old_bytes, 0) ? grown : MAP_FAILED;
}

__attribute__((visibility("default"))) void *mremap(void *start, size_t old_bytes, size_t new_bytes, int flags, ...)
{
    uint64_t low = (uint64_t)start, page_bytes = (uint64_t)getpagesize();
    void *wanted = NULL;
    if (flags & MREMAP_FIXED) {
        va_list arguments;
        va_start(arguments, flags);
        wanted = va_arg(arguments, void *);
        va_end(arguments);
    }
    bool ours = old_bytes && low % page_bytes == 0 && low + old_bytes > low && is_captured(low, low + old_bytes);
    if (!ours || flags & ~MREMAP_MAYMOVE)
        return (void *)syscall(SYS_mremap, start, old_bytes, new_bytes, flags, wanted);
    return grow(low, (old_bytes + page_bytes - 1) & ~(page_bytes - 1), (new_bytes + page_bytes - 1) & ~(page_bytes - 1), flags);
}
