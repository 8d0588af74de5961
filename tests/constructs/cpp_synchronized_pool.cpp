// cpp_synchronized_pool.cpp - a pool that the C++ library makes for the program, with memory of its own for each thread, by a thread-specific key that the pool holds.
#include "check.h"
#include <memory_resource>
#include <vector>

enum { PARTS = 16, ROUNDS = 6, COUNT = 3000 };

static long fill(std::vector<std::pmr::vector<int>> &parts, std::pmr::memory_resource *pool, int round)
{
    long sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int p = 0; p < PARTS; p++) {
        parts[p] = std::pmr::vector<int>(pool);
        for (int i = 0; i < COUNT; i++)
            parts[p].push_back(i + p + round);
        for (int x : parts[p])
            sum += x;
    }
    return sum;
}

int main()
{
    std::pmr::synchronized_pool_resource pool;
    std::vector<std::pmr::vector<int>> parts;
    for (int p = 0; p < PARTS; p++)
        parts.emplace_back(&pool);
    for (int round = 0; round < ROUNDS; round++)
        CHECK(fill(parts, &pool, round) == (long)PARTS * COUNT * (COUNT - 1) / 2 + (long)COUNT * PARTS * (PARTS - 1) / 2 + (long)COUNT * PARTS * round);
    return 0;
}
