/* steal_race.c - does LLVM's runtime survive a thread that comes to a loop with schedule(dynamic, N) just as another one has nothing left to do?
 *
 *   clang-19 -O2 -fopenmp scripts/evaluation/steal_race.c -o steal_race && OMP_WAIT_POLICY=active timeout 15 ./steal_race
 *
 * Two free processors. Nothing of PCERE is in it. Both threads are interrupted every 20 us, as they are, more rarely, on a loaded machine. Ends after 15 s if the runtime does; Debian's libomp 19
 * ends it by "Assertion failure at kmp_dispatch.cpp(1618)" (docs/METHOD.md), unless KMP_FORCE_MONOTONIC_DYNAMIC_SCHEDULE=true.
 */
#define _GNU_SOURCE
#include <omp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

static void wait_cycles(uint64_t cycles)
{
    uint64_t end = __rdtsc() + cycles;
    while (__rdtsc() < end)
        continue;
}

static void interrupt(int number)
{
    (void)number;
    wait_cycles(6000);
}

static void interrupts_begin(int thread)
{
    cpu_set_t own;
    CPU_ZERO(&own);
    CPU_SET(thread, &own);
    sched_setaffinity(0, sizeof own, &own);
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN};
    event._sigev_un._tid = (int)syscall(SYS_gettid);
    timer_t timer;
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    timer_settime(timer, 0, &(struct itimerspec){{0, 20000}, {0, 20000 + thread * 1700}}, NULL);
}

int main(void)
{
    long sum = 0;
    signal(SIGRTMIN, interrupt);
#pragma omp parallel num_threads(2)
    {
        uint32_t seed = (uint32_t)getpid();
        interrupts_begin(omp_get_thread_num());
        for (;;) {
            seed = seed * 1103515245u + 12345u;
#pragma omp barrier
            if (omp_get_thread_num() == 1)
                wait_cycles((seed >> 16) * 1600u / 65536);
#pragma omp for schedule(dynamic, 50) reduction(+ : sum)
            for (int i = 0; i < 200; i++)
                sum++;
        }
    }
}
