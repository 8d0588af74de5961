/* A region that ends its process where memory is not as it found it in the program: written, first touched, threadprivate. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#define ITEMS (1l << 18)
#define TIMES 3

static double values[ITEMS];
static int own = 7;
#pragma omp threadprivate(own)

static void step(int time, char *fresh)
{
#pragma omp parallel
    {
        if (own != (omp_get_thread_num() ? 7 : 7 + time))
            __builtin_trap();
        own += omp_get_thread_num() ? 0 : 1;
#pragma omp for
        for (long i = 0; i < ITEMS; i++) {
            if (values[i] != (double)time || fresh[i])
                __builtin_trap();
            values[i] += 1;
            fresh[i] = 1;
        }
    }
}

int main(void)
{
    for (int time = 0; time < TIMES; time++) {
        char *fresh = calloc(ITEMS, 1);
        if (!fresh)
            return EXIT_FAILURE;
        step(time, fresh);
        free(fresh);
    }
    printf("PASS\n");
    return EXIT_SUCCESS;
}
