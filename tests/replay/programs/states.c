/* states.c - a region that does more when some time has gone by since the program started, as it has in any replay: what is seen of it? */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static double started;
static omp_lock_t kept;
static int marked;
static long drawn;

__attribute__((noinline)) static void early_or_late(void)
{
#pragma omp parallel
    if (omp_get_wtime() - started > 3 && omp_get_thread_num() == 0) {
        marked++;
        random();
        omp_set_lock(&kept);
    }
}

__attribute__((noinline)) static void always(void)
{
#pragma omp parallel
#pragma omp single
    drawn += random() % 10;
}

int main(void)
{
    omp_init_lock(&kept);
    always();
    started = omp_get_wtime();
    early_or_late();
    puts(marked ? "FAIL: this machine is too slow" : "PASS");
    return marked;
}
