/* huge_pages_reserved.c - data on large pages that the system keeps for it (MAP_HUGETLB), private and shared; on usual ones where it keeps none. */
#include "check.h"
#include <sys/mman.h>

enum { COUNT = 1 << 19 };

static int *get(int kind)
{
    size_t bytes = COUNT * sizeof(int);
    void *area = mmap(NULL, bytes, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
    if (area == MAP_FAILED)
        area = mmap(NULL, bytes, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS, -1, 0);
    CHECK(area != MAP_FAILED);
    return area;
}

int main(void)
{
    int *own = get(MAP_PRIVATE), *shared = get(MAP_SHARED);
    for (int i = 0; i < COUNT; i += 3)
        own[i] = i;
    long sum = 0;
    for (int step = 0; step < 2; step++) {
#pragma omp parallel for reduction(+ : sum)
        for (int i = 0; i < COUNT; i += 16) {
            sum += own[i] > 0;
            own[i] += 1;
            shared[i] += own[i];
        }
    }
    CHECK(own[48] == 50 && shared[48] == 99 && shared[16] == 3 && sum == 10922 + COUNT / 16);
    munmap(own, COUNT * sizeof(int));
    munmap(shared, COUNT * sizeof(int));
    return 0;
}
