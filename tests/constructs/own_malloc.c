/* own_malloc.c - the program has an allocator in its executable: blocks of it, and of C library functions that allocate, are made, grown and freed inside. */
#include "check.h"
#include <string.h>

enum { COUNT = 24 };
static double *rows[COUNT];
static char *names[COUNT];

static void row_grow(int row, int from, int to)
{
    rows[row] = realloc(rows[row], (size_t)to * sizeof(double));
    CHECK(rows[row]);
    for (int i = from; i < to; i++)
        rows[row][i] = row + i;
}

int main(void)
{
    for (int row = 0; row < COUNT; row++) {
        row_grow(row, 0, 40);
        names[row] = strdup("row");
    }
    for (int step = 1; step <= 3; step++) {
#pragma omp parallel for schedule(dynamic)
        for (int row = 0; row < COUNT; row++) {
            row_grow(row, 40 * step, 40 * step + 40);
            char *name = malloc(strlen(names[row]) + 16);
            sprintf(name, "%s.%d", names[row], step);
            free(names[row]);
            names[row] = strdup(name);
            free(name);
            double *zeros = calloc(64, sizeof *zeros);
            void *aligned = NULL;
            CHECK(!posix_memalign(&aligned, 256, 500) && (size_t)aligned % 256 == 0);
            for (int i = 0; i < 64; i++)
                CHECK(zeros[i] == 0);
            memset(aligned, row, 500);
            zeros[row] = 1;
            free(aligned);
            free(zeros);
        }
    }
    for (int row = 0; row < COUNT; row++) {
        CHECK(!strcmp(names[row], "row.1.2.3"));
        for (int i = 0; i < 160; i++)
            CHECK(rows[row][i] == row + i);
        free(rows[row]);
        free(names[row]);
    }
    return 0;
}
