// scratch_in_vector.cpp - one std::vector for each thread in a vector that was made outside: P17 in C++.
#include "check.h"
#include <omp.h>
#include <vector>

int main()
{
    std::vector<std::vector<int>> found(static_cast<std::size_t>(omp_get_max_threads()));
#pragma omp parallel for
    for (int i = 0; i < 1000; i++)
        if (i % 7 == 0)
            found[static_cast<std::size_t>(omp_get_thread_num())].push_back(i);
    std::size_t count = 0;
    for (const auto &part : found)
        count += part.size();
    CHECK(count == 143);
    return 0;
}
