// scratch_by_processors.cpp - one entry for each thread in arrays sized by the number of processors, as the program asks the system for it: eight each.
#include "check.h"
#include <omp.h>
#include <thread>
#include <unistd.h>
#include <vector>

enum { COUNT = 2000 };

static long by_sysconf()
{
    long *parts = static_cast<long *>(calloc(8 * static_cast<std::size_t>(sysconf(_SC_NPROCESSORS_ONLN)), sizeof(long))), sum = 0;
    CHECK(parts);
#pragma omp parallel for
    for (int i = 0; i < COUNT; i++)
        parts[omp_get_thread_num()] += i;
    for (int i = 0; i < omp_get_max_threads(); i++)
        sum += parts[i];
    free(parts);
    return sum;
}

static long by_hardware()
{
    std::vector<long> parts(8 * std::thread::hardware_concurrency());
    long sum = 0;
#pragma omp parallel for
    for (int i = 0; i < COUNT; i++)
        parts[static_cast<std::size_t>(omp_get_thread_num())] += i;
    for (long part : parts)
        sum += part;
    return sum;
}

int main()
{
    std::vector<long> parts(8 * static_cast<std::size_t>(omp_get_num_procs()));
#pragma omp parallel for
    for (int i = 0; i < COUNT; i++)
        parts[static_cast<std::size_t>(omp_get_thread_num())] += i;
    long sum = 0;
    for (long part : parts)
        sum += part;
    CHECK(sum == COUNT * (COUNT - 1) / 2 && by_sysconf() == sum && by_hardware() == sum);
    return 0;
}
