// cpp_iterators.cpp - loops over random-access iterators and ranges, with a user-defined reduction of a container.
#include "check.h"
#include <numeric>
#include <vector>

using vector = std::vector<int>;
#pragma omp declare reduction(append : vector : omp_out.insert(omp_out.end(), omp_in.begin(), omp_in.end()))

int main()
{
    vector values(400), even;
    std::iota(values.begin(), values.end(), 0);
#pragma omp parallel for
    for (auto it = values.begin(); it < values.end(); it += 2)
        *it *= 10;
#pragma omp parallel for reduction(append : even)
    for (int value : values)
        if (value % 20 == 0)
            even.push_back(value);
    CHECK(values[398] == 3980 && values[399] == 399 && even.size() == 200);
    CHECK(std::accumulate(even.begin(), even.end(), 0) == 20 * 19900);
    return 0;
}
