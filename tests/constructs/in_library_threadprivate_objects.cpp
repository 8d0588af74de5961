// in_library_threadprivate_objects.cpp - a library whose threads each have a list, made as they come, and copied in from the initial thread's.
#include "shapes_threadprivate.h"
#include <vector>

namespace {
struct counts {
    std::vector<long> list;
    explicit counts(long first) : list(4, 0) { list[0] = first; }
};
counts mine(11);
}
#pragma omp threadprivate(mine)

void library_fill(long count)
{
#pragma omp parallel for
    for (long i = 0; i < count; i++)
        mine.list[static_cast<std::size_t>(i & 3)]++;
}

void library_start(long first)
{
    mine = counts(first);
#pragma omp parallel copyin(mine)
    mine.list[1]++;
}

long library_sum()
{
    long sum = 0;
    for (long one : mine.list)
        sum += one;
    return sum;
}
