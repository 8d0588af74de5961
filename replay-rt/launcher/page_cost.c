#include "replay-rt/launcher/page_cost.h"

#include "replay-rt/launcher/replay_session.h"

#include <sys/mman.h>
#include <unistd.h>

#define PAGES 64u
#define ROUNDS 3u
#define DEAR_TIMES 3u
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* Of all pages of a file that are there already; UINT64_MAX: they cannot be mapped. */
static uint64_t round_ns(int file, uint64_t page_bytes)
{
    size_t bytes = PAGES * page_bytes;
    unsigned char *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    if (data == MAP_FAILED)
        return UINT64_MAX;
    uint64_t begin_ns = replay_session_clock_ns();
    (void)!madvise(data, bytes, MADV_POPULATE_WRITE);       /* kernels before 5.14: the first writes do it */
    for (uint64_t i = 0; i < PAGES; i++)
        *(volatile unsigned char *)(data + i * page_bytes) = 1;
    uint64_t ns = replay_session_clock_ns() - begin_ns;
    munmap(data, bytes);
    return ns;
}

uint64_t page_cost_ns(uint64_t page_bytes)
{
    uint64_t least_ns = UINT64_MAX;
    int file = memfd_create("pcere-page-cost", MFD_CLOEXEC);
    if (file < 0)
        return PAGE_COST_USUAL_NS;
    for (uint64_t i = 0; i < PAGES; i++)
        (void)!pwrite(file, &(char){1}, 1, (off_t)(i * page_bytes + page_bytes - 1));
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t ns = round_ns(file, page_bytes);
        least_ns = ns < least_ns ? ns : least_ns;
    }
    close(file);
    uint64_t each_ns = least_ns / PAGES;
    return least_ns == UINT64_MAX || each_ns < DEAR_TIMES * PAGE_COST_USUAL_NS ? PAGE_COST_USUAL_NS : each_ns;
}
