/* tests/programs/freed.c - each step maps memory of its own, fills it twice in one region, and gives it back: the process is never larger than in the first step. */
#include <stdio.h>
#include <sys/mman.h>

#define VALUES (2 << 20)

static void fill(double *values, int step)
{
#pragma omp parallel for
    for (int i = 0; i < VALUES; i++)
        values[i] = i + step;
}

int main(void)
{
    double sum = 0;
    for (int step = 0; step < 5; step++) {
        double *values = mmap(NULL, VALUES * sizeof *values, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (values == MAP_FAILED || madvise(values, VALUES * sizeof *values, MADV_NOHUGEPAGE) != 0)
            return 3;
        fill(values, step);
        fill(values, -step);
        sum += values[VALUES / 2];
        munmap(values, VALUES * sizeof *values);
    }
    puts(sum == 5.0 * (VALUES / 2) - 10 ? "PASS" : "FAIL");
    return 0;
}
