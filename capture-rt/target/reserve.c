/* capture-rt/target/reserve.c - addresses that the library takes in the user's process, far more than it will use, and makes memory of as it needs them.
 *
 * Until then they may not be touched, so that neither a limit of data (ulimit -d) nor a system that does not overcommit counts them. A limit of addresses (ulimit -v) does: there the
 * library takes a 32nd of what is left, or the least that does.
 */
#include "capture-rt/target/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

size_t target_reserved_bytes, target_usable_bytes;

#define STEP_BYTES ((size_t)1 << 20)
#define LIMITED_SHARE 32u

/* What a limit of addresses leaves; SIZE_MAX: there is none. */
static size_t addresses_left(void)
{
    struct rlimit limit;
    char pages[32] = "";        /* in all, before other numbers */
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return SIZE_MAX;
    int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (file >= 0 && read(file, pages, sizeof pages - 1) < 0)
        pages[0] = '\0';
    if (file >= 0)
        close(file);
    size_t taken = strtoul(pages, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE);
    return taken < limit.rlim_cur ? limit.rlim_cur - taken : 0;
}

bool target_room_take(struct target_room *room, size_t bytes, size_t bytes_least)
{
    int error = errno;
    size_t left = addresses_left();
    if (left != SIZE_MAX)
        while (bytes / 4 >= bytes_least && bytes > left / LIMITED_SHARE)
            bytes /= 4;
    void *start = MAP_FAILED;
    for (; start == MAP_FAILED && bytes >= bytes_least; bytes = start == MAP_FAILED ? bytes / 4 : bytes)
        start = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    errno = error;
    if (start == MAP_FAILED)
        return false;
    __atomic_fetch_add(&target_reserved_bytes, bytes, __ATOMIC_RELAXED);
    *room = (struct target_room){.start = start, .usable = start, .end = (char *)start + bytes};
    return true;
}

bool target_room_use(struct target_room *room, const char *end)
{
    if (end <= room->usable)
        return true;
    if (end > room->end)
        return false;
    int error = errno;
    size_t bytes = ((size_t)(end - room->usable) + STEP_BYTES - 1) & ~(STEP_BYTES - 1);
    bytes = bytes < (size_t)(room->end - room->usable) ? bytes : (size_t)(room->end - room->usable);
    bool usable = mprotect(room->usable, bytes, PROT_READ | PROT_WRITE) == 0;
    errno = error;
    if (!usable)
        return false;
    __atomic_fetch_add(&target_usable_bytes, bytes, __ATOMIC_RELAXED);
    room->usable += bytes;
    return true;
}
