// std_thread_region.cpp - regions inside std::thread and std::async, with data that these own.
#include "check.h"
#include <future>
#include <numeric>
#include <thread>
#include <vector>

static long summed(const std::vector<long> &values)
{
    long sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (size_t i = 0; i < values.size(); i++)
        sum += values[i];
    return sum;
}

static void filled(std::vector<long> &values, long step)
{
#pragma omp parallel for
    for (size_t i = 0; i < values.size(); i++)
        values[i] = step * static_cast<long>(i);
}

int main()
{
    for (long step = 1; step <= 3; step++) {
        std::vector<long> values(1000);
        std::thread first([&] { filled(values, step); });
        first.join();
        auto sum = std::async(std::launch::async, [&values] { return summed(values); });
        CHECK(sum.get() == step * 999 * 1000 / 2);
    }
    return 0;
}
