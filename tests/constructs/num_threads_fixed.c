/* num_threads_fixed.c - regions whose source says how many threads they have, by a number or a variable that is given no other, and that hold for no more: whichever replays ask for, they get those. */
#include "check.h"
#include <omp.h>
#include <setjmp.h>
#include <signal.h>

enum { WORKERS = 2, FAR = 1 << 28 };
static sigjmp_buf *away;
static long of_workers[WORKERS], of_one[1], caught;
static int never_others = 1;

static void on_fault(int number)
{
    (void)number;
    siglongjmp(*away, 1);
}

int main(void)
{
    omp_set_dynamic(0);
    for (int step = 0; step < 2; step++) {
#pragma omp parallel num_threads(1)
        {
            sigjmp_buf here;
            struct sigaction fault = {.sa_handler = on_fault}, before;
            away = &here;
            sigaction(SIGFPE, &fault, &before);
            if (sigsetjmp(here, 1) == 0)
                raise(SIGFPE);
            else
                caught++;
            sigaction(SIGFPE, &before, NULL);
        }
#pragma omp parallel num_threads(WORKERS)
        of_workers[omp_get_thread_num()] += step + 1;
        int alone = 1, as_many = alone;
#pragma omp parallel num_threads(as_many)
        of_one[omp_get_thread_num() * FAR] += step + 1;
#pragma omp parallel num_threads(never_others)
        of_one[omp_get_thread_num() * FAR] += step + 1;
    }
    CHECK(caught == 2 && of_one[0] == 6 && of_workers[0] == 3 && of_workers[1] == 3);
    return 0;
}
