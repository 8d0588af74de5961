/* mappings.c - a region may give back the contents of captured memory (madvise), unmap and move it (munmap, mremap), although its addresses must stay
 * mapped here, to be restored.
 *
 * Dropped and unmapped: reads as zeros until it is restored. Moved or grown: its content is copied to memory of this process. Protected (mprotect): until
 * the region is over; it begins again with what the program had.
 */
#define _GNU_SOURCE
#include "codelet.h"
#include "region.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static size_t whole_pages(size_t bytes)
{
    return (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

static bool has_captured(const char *start, size_t bytes)
{
    return (uint64_t)start % PAGE_BYTES == 0 && start + bytes > start && captured_between(start, start + whole_pages(bytes));
}

int madvise(void *start, size_t bytes, int advice)
{
    if ((advice != MADV_DONTNEED && advice != MADV_FREE) || !has_captured(start, bytes))
        return (int)syscall(SYS_madvise, start, bytes, advice);
    memory_drop(start, (char *)start + whole_pages(bytes), false);
    return 0;
}

int mprotect(void *start, size_t bytes, int protection)
{
    if (has_captured(start, bytes))
        memory_changes_rights();
    return (int)syscall(SYS_mprotect, start, bytes, protection);
}

int munmap(void *start, size_t bytes)
{
    if (!has_captured(start, bytes))
        return (int)syscall(SYS_munmap, start, bytes);
    memory_drop(start, (char *)start + whole_pages(bytes), true);
    return 0;
}

static void *captured_grow(char *start, size_t old_bytes, size_t new_bytes, int flags)
{
    void *grown = start;
    if (new_bytes > old_bytes) {
        if (!(flags & MREMAP_MAYMOVE))
            return errno = ENOMEM, MAP_FAILED;
        grown = mmap(NULL, new_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (grown == MAP_FAILED)
            return MAP_FAILED;
        memcpy(grown, start, old_bytes);
        new_bytes = 0;                              /* of the old place nothing stays */
    }
    memory_drop(start + new_bytes, start + old_bytes, true);
    return grown;
}

void *mremap(void *start, size_t old_bytes, size_t new_bytes, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    void *wanted = flags & MREMAP_FIXED ? va_arg(arguments, void *) : NULL;
    va_end(arguments);
    if (flags & ~MREMAP_MAYMOVE || !has_captured(start, old_bytes))
        return (void *)syscall(SYS_mremap, start, old_bytes, new_bytes, flags, wanted);
    return captured_grow(start, whole_pages(old_bytes), whole_pages(new_bytes), flags);
}
