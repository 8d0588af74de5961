/* mapped_file.c - files in memory: one mapped privately, one shared and writable, one read-only. The files are gone when the region is replayed. */
#include "check.h"
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BYTES = 20000 };

static unsigned char *map(int protection, int flags)
{
    char path[] = "/tmp/pcere-mapped-XXXXXX", block[BYTES];
    int file = mkstemp(path);
    memset(block, 3, BYTES);
    CHECK(file >= 0 && write(file, block, BYTES) == BYTES);
    unsigned char *area = mmap(NULL, BYTES, protection, flags, file, 0);
    CHECK(area != MAP_FAILED);
    close(file);
    unlink(path);
    return area;
}

int main(void)
{
    unsigned char *own = map(PROT_READ | PROT_WRITE, MAP_PRIVATE), *shared = map(PROT_READ | PROT_WRITE, MAP_SHARED);
    unsigned char *fixed = map(PROT_READ, MAP_PRIVATE);
    long sum = 0;
    for (int step = 0; step < 2; step++) {
#pragma omp parallel for reduction(+ : sum)
        for (int i = 0; i < BYTES; i++) {
            own[i]++;
            shared[i] = (unsigned char)(shared[i] + 2);
            sum += fixed[i];
        }
    }
    CHECK(sum == 6 * BYTES && own[BYTES - 1] == 5 && shared[0] == 7);
    return 0;
}
