#include "capture-rt/tracer/tracking_cost.h"

#include "capture-rt/tracer/child.h"
#include "capture-rt/tracer/pagemap.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGES 32u
#define ROUNDS 5u                        /* the first one also finds the way */
#define MOST_NS 1000000u                 /* longer is no page fault, but a machine that stood still */

/* Of all pages, once; 0: they are not tracked. */
static uint64_t round_ns(struct pagemap *pagemap, unsigned char *data)
{
    uint64_t start = (uintptr_t)data, end = start + PAGES * pagemap->page_bytes;
    pagemap->count = 0;
    if (pagemap_look(pagemap, start, end, PAGEMAP_RENEW, NULL) != PCERE_OK)
        return 0;
    uint64_t begin_ns = clock_ns();
    for (uint64_t i = 0; i < PAGES; i++)
        *(volatile unsigned char *)(data + i * pagemap->page_bytes) = 1;
    return clock_ns() - begin_ns;
}

static uint64_t pages_fault_ns(struct pagemap *pagemap)
{
    uint64_t least_ns = 0;
    size_t bytes = PAGES * pagemap->page_bytes;
    unsigned char *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED)
        return 0;
    madvise(data, bytes, MADV_NOHUGEPAGE);
    pagemap->anonymous = true;
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t ns = round_ns(pagemap, data) / PAGES;
        if (i && ns && (!least_ns || ns < least_ns))
            least_ns = ns;
    }
    munmap(data, bytes);
    return least_ns < MOST_NS ? least_ns : 0;
}

#define DEAR_READS 4u

bool tracking_is_dear(uint64_t fault_ns)
{
    return fault_ns >= DEAR_READS * TRACKING_READ_NS;
}

uint64_t tracking_fault_ns(uint64_t page_bytes)
{
    struct pagemap pagemap;
    int tracking = (int)syscall(SYS_userfaultfd, O_CLOEXEC | 1 /* user mode only */);
    if (tracking < 0 || pagemap_open(getpid(), tracking, true, page_bytes, &pagemap, NULL) != PCERE_OK)
        return 0;
    uint64_t fault_ns = pagemap.tracking >= 0 ? pages_fault_ns(&pagemap) : 0;
    pagemap_close(&pagemap);
    return fault_ns;
}
