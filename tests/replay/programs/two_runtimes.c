/* Locks, and a region that holds them, in a process that has GCC's OpenMP runtime before LLVM's. */
#include <omp.h>
#include <stdio.h>

static double sum, count;

int main(void)
{
    omp_lock_t lock;
    omp_nest_lock_t nested;
    omp_init_lock(&lock);
    omp_init_nest_lock(&nested);
    for (int round = 0; round < 3; round++)
#pragma omp parallel for schedule(static)
        for (int i = 0; i < 400; i++) {
            double part = 0;
            for (int k = 0; k < 4000; k++)
                part += (i + k) % 7;
            omp_set_lock(&lock);
            sum += part;
            omp_unset_lock(&lock);
            omp_set_nest_lock(&nested);
            count += 1;
            omp_unset_nest_lock(&nested);
        }
    omp_destroy_lock(&lock);
    omp_destroy_nest_lock(&nested);
    puts(count == 1200 ? "PASS" : "FAIL");
    return count != 1200;
}
