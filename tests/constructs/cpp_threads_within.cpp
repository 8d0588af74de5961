// cpp_threads_within.cpp - a region whose iterations begin threads of their own and wait for them: the next invocation finds the stacks of those that have ended.
#include "check.h"
#include <future>
#include <pthread.h>

static long results[64];

static void *squared(void *value)
{
    long *number = static_cast<long *>(value);
    *number *= *number;
    return nullptr;
}

static void begin(long step)
{
#pragma omp parallel for
    for (long i = 0; i < 4; i++) {
        auto tripled = std::async(std::launch::async, [i, step] { return 3 * (i + step); });
        long number = i;
        pthread_t thread;
        if (!pthread_create(&thread, nullptr, squared, &number))
            pthread_join(thread, nullptr);
        results[i] += tripled.get() + number;
    }
}

int main()
{
    for (long step = 1; step <= 6; step++)
        begin(step);
    for (long i = 0; i < 4; i++)
        CHECK(results[i] == 6 * (3 * i + i * i) + 3 * 21);
    return 0;
}
