/* memory_twice.c - memory at two addresses: a ring buffer whose end is followed by its beginning once more, and a view that may only be read. */
#define _GNU_SOURCE
#include "check.h"
#include <sys/mman.h>
#include <unistd.h>

enum { BYTES = 1 << 16, ITEMS = BYTES / (int)sizeof(int), STEPS = 4, LENGTH = ITEMS * 3 / 4 };

static int *ring;                       /* 2 * ITEMS: ring[i + ITEMS] is ring[i] */
static int *written;                    /* the same object of another memfd: */
static const int *seen;

static void *map(void *at, int file, int rights)
{
    return mmap(at, BYTES, rights, MAP_SHARED | (at ? MAP_FIXED : 0), file, 0);
}

static void memory_make(void)
{
    int first = memfd_create("ring", 0), second = memfd_create("view", 0);
    CHECK(first >= 0 && second >= 0 && ftruncate(first, BYTES) == 0 && ftruncate(second, BYTES) == 0);
    char *space = mmap(NULL, 2 * BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(map(space, first, PROT_READ | PROT_WRITE) == space && map(space + BYTES, first, PROT_READ | PROT_WRITE) == space + BYTES);
    ring = (int *)(void *)space;
    seen = map(NULL, second, PROT_READ);
    written = map(NULL, second, PROT_READ | PROT_WRITE);
    CHECK(seen != MAP_FAILED && written != MAP_FAILED);
    close(first);
    close(second);
}

int main(void)
{
    long total = 0;
    memory_make();
    for (int step = 0; step < STEPS; step++) {
        int head = step * LENGTH % ITEMS;
        long sum = 0;
#pragma omp parallel
        {
#pragma omp for
            for (int i = 0; i < LENGTH; i++)
                ring[head + i] = step * ITEMS + i;
#pragma omp for
            for (int i = 0; i < ITEMS; i++)
                written[i] = 2 * ring[i] + seen[i];
#pragma omp for reduction(+ : sum)
            for (int i = 0; i < ITEMS; i++)
                sum += seen[i] - ring[ITEMS + i];
        }
        total += sum;
    }
    int plain[ITEMS] = {0}, doubled[ITEMS] = {0};
    long expected = 0;
    for (int step = 0; step < STEPS; step++) {
        for (int i = 0; i < LENGTH; i++)
            plain[(step * LENGTH + i) % ITEMS] = step * ITEMS + i;
        for (int i = 0; i < ITEMS; i++)
            expected += (doubled[i] += 2 * plain[i]) - plain[i];
    }
    CHECK(total == expected);
    for (int i = 0; i < ITEMS; i++)
        CHECK(ring[i] == plain[i] && ring[i + ITEMS] == plain[i] && written[i] == doubled[i] && seen[i] == doubled[i]);
    return 0;
}
