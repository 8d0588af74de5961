/* A region that looks at what the kernel laid on the first stack: environment, auxiliary vector, the program's name. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

static int right[4];
static double data[1000];

int main(void)
{
    for (int step = 0; step < 3; step++) {
#pragma omp parallel
        {
            const char *platform = (const char *)getauxval(AT_PLATFORM), *path = getenv("PATH");
#pragma omp single
            {
                right[0] = platform && !strcmp(platform, "x86_64");
                right[1] = getauxval(AT_PAGESZ) == 4096 && getauxval(AT_RANDOM) != 0;
                right[2] = path && *path;
                right[3] = strlen(program_invocation_name) > 0;
            }
#pragma omp for
            for (int i = 0; i < 1000; i++)
                data[i] += right[0] + 2 * right[1] + 4 * right[2] + 8 * right[3];
        }
    }
    puts(data[999] == 3 * 15 ? "PASS" : "FAIL");
    return data[999] != 3 * 15;
}
