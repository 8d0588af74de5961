// cpp_thread_identity.cpp - who a thread is decides what it does: the program remembers its main thread, and a worker for each number, and asks in each region.
#include "check.h"
#include <csignal>
#include <cstring>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <thread>
#include <threads.h>

static const std::thread::id main_thread = std::this_thread::get_id();
static const pthread_t main_pthread = pthread_self();
static const thrd_t main_thrd = thrd_current();
static pthread_t workers[64], latest[64];
static long by_main, by_others;

int main()
{
    double values[300] = {};
    for (int step = 0; step < 3; step++) {
#pragma omp parallel
        {
            const int number = omp_get_thread_num();
            const bool is_main = std::this_thread::get_id() == main_thread;
            CHECK(is_main == (number == 0) && is_main == !!pthread_equal(pthread_self(), main_pthread) && is_main == !!thrd_equal(thrd_current(), main_thrd));
            if (number < 64) {
                CHECK(!workers[number] || pthread_equal(workers[number], pthread_self()));
                latest[number] = pthread_self();
            }
            cpu_set_t own;
            char name[16] = "";
            CHECK(pthread_getaffinity_np(pthread_self(), sizeof own, &own) == 0 && CPU_COUNT(&own) > 0);
            CHECK(pthread_getname_np(pthread_self(), name, sizeof name) == 0 && std::strlen(name) > 0);
            CHECK(pthread_kill(pthread_self(), 0) == 0);
#pragma omp for reduction(+ : by_main, by_others)
            for (int i = 0; i < 300; i++) {
                values[i] += i;
                (is_main ? by_main : by_others)++;
            }
        }
        std::memcpy(workers, latest, sizeof workers);
    }
    CHECK(by_main + by_others == 900 && values[299] == 897);
    return 0;
}
