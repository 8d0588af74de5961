// cpp_thread_local.cpp - thread_local and threadprivate objects with constructors.
#include "check.h"
#include <vector>

struct counter {
    int value;
    counter() : value(100) {}
    ~counter() { value = -1; }
};
static counter mine;
#pragma omp threadprivate(mine)
static thread_local std::vector<int> scratch(10, 1);
static long total;

int main()
{
    for (int step = 0; step < 2; step++) {
#pragma omp parallel
        {
            mine.value = 0;
            scratch.assign(10, 0);
#pragma omp for
            for (int i = 0; i < 500; i++) {
                mine.value++;
                scratch[static_cast<std::size_t>(i % 10)]++;
            }
            long own = mine.value;
            for (int n : scratch)
                own += n;
#pragma omp atomic
            total += own;
        }
    }
    CHECK(total == 2000);
    return 0;
}
