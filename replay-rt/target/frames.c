/* replay-rt/target/frames.c - page frames: the kernel gives out first what it got back last, which is still in the caches.
 *
 * A region that touches fresh memory got frames in its program that nobody had used for long. Here its own, dropped a moment ago, would come back
 * to it; so somebody else takes them first, and keeps them.
 */
#include "replay-rt/target/codelet.h"

#include <sys/mman.h>

#define KEPT_BYTES_MOST (512ull << 20)
#define SPARE_BYTES (4ull << 20)          /* each processor has a list of its own */

enum { KEPT_MOST = 64 };

static struct { void *start; uint64_t bytes; } kept[KEPT_MOST];
static uint64_t kept_bytes;
static size_t oldest, count;

static void oldest_release(void)
{
    munmap(kept[oldest].start, kept[oldest].bytes);
    kept_bytes -= kept[oldest].bytes;
    oldest = (oldest + 1) % KEPT_MOST;
    count--;
}

struct piece { volatile unsigned char *start; uint64_t bytes; };

static void piece_touch(void *context, uint32_t thread, uint32_t threads)
{
    const struct piece *piece = context;
    uint64_t pages = piece->bytes / 4096;
    for (uint64_t page = pages * thread / threads; page < pages * (thread + 1) / threads; page++)
        piece->start[page * 4096] = 1;
}

void pcere_frames_use_up(uint64_t bytes)
{
    bytes = (bytes + SPARE_BYTES + 4095) / 4096 * 4096;
    while (count && (count == KEPT_MOST || kept_bytes + bytes > KEPT_BYTES_MOST))
        oldest_release();
    void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED)
        return;
    madvise(start, bytes, MADV_NOHUGEPAGE);
    struct piece piece = {start, bytes};
    pcere_team_run(piece_touch, &piece);
    kept[(oldest + count++) % KEPT_MOST].start = start;
    kept[(oldest + count - 1) % KEPT_MOST].bytes = bytes;
    kept_bytes += bytes;
}
