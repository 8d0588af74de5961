// split_heap.cpp - a heap that the kernel keeps as several mappings, since one page of it is left out of core dumps: blocks reach over their borders, and the last
// pointer of a container lies in another mapping than the first. What follows there, of no type that anybody tells, is not the container's.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <omp.h>
#include <sys/mman.h>
#include <vector>

struct model {
    std::vector<int> rows = std::vector<int>(16384, 3);
    void *sums = std::calloc(1000, sizeof(double));
};

__attribute__((noinline)) static void add_up(const std::vector<int> &rows, const model &all)
{
#pragma omp parallel for
    for (int i = 0; i < 1000; i++)
        static_cast<double *>(all.sums)[i] = omp_get_thread_num() + rows[i];
}

int main()
{
    model all;
    uintptr_t middle = ((uintptr_t)&all.rows[8192] + 4095) & ~(uintptr_t)4095;
    if (madvise((void *)middle, 4096, MADV_DONTDUMP))
        return 1;
    add_up(all.rows, all);
    std::puts(static_cast<double *>(all.sums)[999] >= 3 ? "PASS" : "FAIL");
}
