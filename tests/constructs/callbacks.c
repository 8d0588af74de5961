/* callbacks.c - libc calls back into the program inside a region: qsort, bsearch; callbacks with a context in captured data. */
#include "check.h"
#include <stdint.h>

struct order { int (*compare)(const void *, const void *); int calls; };
static int ascending(const void *a, const void *b) { return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b); }
static int descending(const void *a, const void *b) { return ascending(b, a); }
static struct order orders[2] = {{ascending, 0}, {descending, 0}};

enum { ROWS = 30, COLUMNS = 200 };
static int rows[ROWS][COLUMNS], hits;

int main(void)
{
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            rows[i][j] = (int)((uint32_t)(i * COLUMNS + j) * 2654435761u >> 8);
#pragma omp parallel for reduction(+ : hits)
    for (int i = 0; i < ROWS; i++) {
        int key = rows[i][5];
        struct order *order = &orders[i % 2];
        qsort(rows[i], COLUMNS, sizeof(int), order->compare);
        hits += bsearch(&key, rows[i], COLUMNS, sizeof(int), order->compare) != NULL;
#pragma omp atomic
        order->calls++;
    }
    CHECK(hits == ROWS && orders[0].calls == 15 && orders[1].calls == 15);
    for (int i = 0; i < ROWS; i++)
        for (int j = 1; j < COLUMNS; j++)
            CHECK(i % 2 ? rows[i][j - 1] >= rows[i][j] : rows[i][j - 1] <= rows[i][j]);
    return 0;
}
