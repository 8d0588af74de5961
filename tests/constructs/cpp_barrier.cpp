// cpp_barrier.cpp - std::barrier made inside the region, and an atomic that threads wait for: where the C++ library notes that is told by addresses of the process.
#include "check.h"
#include <atomic>
#include <barrier>
#include <memory>
#include <omp.h>

int main()
{
    enum { STEPS = 5, MOST = 64 };
    int values[STEPS + 1][MOST] = {};
    for (int round = 0; round < 2; round++) {
        std::unique_ptr<std::barrier<>> step;
        std::unique_ptr<std::atomic<int>> ready;
#pragma omp parallel
        {
            int me = omp_get_thread_num() % MOST, team = omp_get_num_threads();
#pragma omp single
            {
                step = std::make_unique<std::barrier<>>(team);
                ready = std::make_unique<std::atomic<int>>(0);
            }
            for (int k = 0; k < STEPS; k++) {
                values[k + 1][me] = values[k][(me + 1) % (team < MOST ? team : MOST)] + 1;
                step->arrive_and_wait();
            }
#pragma omp master
            {
                ready->store(1);
                ready->notify_all();
            }
            ready->wait(0);
#pragma omp barrier
#pragma omp single
            {
                step.reset();
                ready.reset();
            }
        }
        CHECK(values[STEPS][0] == STEPS);
    }
    return 0;
}
