// cpp_lambda.cpp - lambdas called inside regions, regions inside lambdas, captures by value and by reference.
#include "check.h"
#include <vector>

template <class function> static void for_each(int count, function f)
{
#pragma omp parallel for
    for (int i = 0; i < count; i++)
        f(i);
}

int main()
{
    std::vector<long> values(600);
    long offset = 7, total = 0;
    for_each(600, [&values, offset](int i) { values[static_cast<std::size_t>(i)] = i + offset; });
    auto sum = [&](long start) {
#pragma omp parallel for reduction(+ : total)
        for (std::size_t i = 0; i < values.size(); i++)
            total += values[i] + start;
        return total;
    };
    CHECK(sum(0) == 179700 + 4200);
    CHECK(sum(1) == 2 * (179700 + 4200) + 600);
    auto counter = [n = 0]() mutable { return ++n; };
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 5; i++)
        total = counter();
    CHECK(total == 5);
    return 0;
}
