/* library_pointers.c - pointers to functions of the C libraries: of several forms (sin, memcpy), plain, passed by value, of the allocator. */
#include "check.h"
#include <ctype.h>
#include <math.h>
#include <string.h>

struct tools {
    double (*wave)(double);
    double (*root)(double, double);
    void *(*copy)(void *, const void *, size_t);
    void *(*get)(size_t);
    void (*release)(void *);
    int (*upper)(int);
};
static int ascending(const void *left, const void *right) { return *(const int *)left - *(const int *)right; }

int main(void)
{
    struct tools *tools = malloc(sizeof *tools);
    double waves[200] = {0}, roots[200] = {0};
    int sorted[200][3];
    CHECK(tools);
    *tools = (struct tools){sin, pow, memcpy, malloc, free, toupper};
    void (*sort)(void *, size_t, size_t, int (*)(const void *, const void *)) = qsort;
    double (*by_value)(double) = cos;
    for (int step = 0; step < 2; step++) {
#pragma omp parallel for firstprivate(by_value, sort)
        for (int i = 0; i < 200; i++) {
            int numbers[3] = {i % 7, 3, i % 2}, *block = tools->get(sizeof numbers);
            sort(numbers, 3, sizeof *numbers, ascending);
            tools->copy(block, numbers, sizeof numbers);
            tools->copy(sorted[i], block, sizeof numbers);
            tools->release(block);
            waves[i] = tools->wave(i) * tools->wave(i) + by_value(i) * by_value(i);
            roots[i] = tools->root(i, 0.5) + tools->upper('a' + i % 26);
        }
    }
    for (int i = 0; i < 200; i++) {
        CHECK(fabs(waves[i] - 1) < 1e-12 && fabs(roots[i] - sqrt(i) - 'A' - i % 26) < 1e-12);
        CHECK(sorted[i][0] <= sorted[i][1] && sorted[i][1] <= sorted[i][2]);
    }
    free(tools);
    return 0;
}
