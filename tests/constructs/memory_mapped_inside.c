/* memory_mapped_inside.c - a region that maps memory and gives it back, grows a mapping of before, protects pages, some for good, and drops their contents. */
#define _GNU_SOURCE
#include "check.h"
#include <string.h>
#include <sys/mman.h>

enum { BYTES = 1 << 16 };
static unsigned char *grown, *dropped, *guarded, *hidden, *moved, *unmapped;
static long sum;

static unsigned char *pages(size_t bytes)
{
    void *area = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(area != MAP_FAILED);
    return area;
}

int main(void)
{
    grown = pages(BYTES);
    dropped = pages(BYTES);
    guarded = pages(BYTES);
    hidden = pages(BYTES);
    memset(hidden, 6, BYTES);
    memset(grown, 1, BYTES);
    for (int step = 1; step <= 2; step++) {
        memset(dropped, 9, BYTES);
        moved = pages(BYTES);
        unmapped = pages(3 * BYTES);
        memset(moved, 5, BYTES);
#pragma omp parallel
#pragma omp single
        {
            unsigned char *own = pages(BYTES);
            memset(own, step, BYTES);
            sum += own[BYTES - 1];
            CHECK(munmap(own, BYTES) == 0);
            CHECK(madvise(dropped, BYTES / 2, MADV_DONTNEED) == 0);
            sum += dropped[0] + dropped[BYTES - 1];
            CHECK(mprotect(guarded, BYTES, PROT_READ) == 0 && mprotect(guarded, BYTES, PROT_READ | PROT_WRITE) == 0);
            guarded[100] = (unsigned char)step;
            CHECK(mprotect(hidden, BYTES, PROT_READ | PROT_WRITE) == 0);
            hidden[step]++;
            CHECK(mprotect(hidden, BYTES / 2, PROT_NONE) == 0 && mprotect(hidden + BYTES / 2, BYTES / 2, PROT_READ) == 0);
            unsigned char *larger = mremap(moved, BYTES, 8 * BYTES, MREMAP_MAYMOVE);
            CHECK(larger != MAP_FAILED && larger[BYTES - 1] == 5 && larger[BYTES] == 0);
            larger[8 * BYTES - 1] = 1;
            CHECK(munmap(larger, 8 * BYTES) == 0 && munmap(unmapped + BYTES, BYTES) == 0);
            unmapped[2 * BYTES] = 4;
        }
        CHECK(munmap(unmapped, 3 * BYTES) == 0);
        grown = mremap(grown, (size_t)step * BYTES, (size_t)(step + 1) * BYTES, MREMAP_MAYMOVE);
        CHECK(grown != MAP_FAILED);
#pragma omp parallel for
        for (int i = 0; i < (step + 1) * BYTES; i += 4096)
            grown[i]++;
    }
    CHECK(mprotect(hidden, BYTES, PROT_READ) == 0 && hidden[1] == 7 && hidden[2] == 7);
    CHECK(sum == 1 + 2 + 2 * 9 && guarded[100] == 2 && grown[0] == 3 && grown[2 * BYTES] == 1);
    return 0;
}
