/* stdio_inside.c - a region prints: to stdout, to stderr, into strings. */
#include "check.h"
#include <string.h>

static char lines[20][40];
static int printed;

int main(void)
{
    printf("before\n");
#pragma omp parallel for reduction(+ : printed)
    for (int i = 0; i < 20; i++) {
        snprintf(lines[i], sizeof lines[i], "line %d of %.2f", i, i / 2.0);
        printed += printf("inside %d\n", i) > 0;
        if (i == 7)
            fprintf(stderr, "a message\n");
        double value = 0;
        CHECK(sscanf(lines[i], "line %*d of %lf", &value) == 1 && value == i / 2.0);
    }
    puts("after");
    CHECK(printed == 20 && strcmp(lines[19], "line 19 of 9.50") == 0);
    return 0;
}
