/* tests/programs/slow.c - many captured invocations over some megabytes, and output that shows whether any was lost: to kill tracers
 * by. STEPS; behind step HOLD, if given, it waits to be killed where its output is a file: in the run that is captured.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define VALUES (1 << 20)

int main(int argc, char **argv)
{
    double *values = malloc(VALUES * sizeof *values);
    int steps = argc > 1 ? atoi(argv[1]) : 40, hold = argc > 2 ? atoi(argv[2]) : 0;
    struct stat output;
    if (!values)
        return 3;
    for (int i = 0; i < VALUES; i++)
        values[i] = i;
    for (int step = 1; step <= steps; step++) {
        double sum = 0;
#pragma omp parallel for reduction(+ : sum)
        for (int i = 0; i < VALUES; i++) {
            values[i] = values[i] * 0.75 + step;
            sum += values[i];
        }
        printf("step %d %.6e\n", step, sum);
        fflush(stdout);
        if (step == hold && fstat(1, &output) == 0 && S_ISREG(output.st_mode))
            sleep(600);
    }
    puts("PASS");
    free(values);
    return 0;
}
