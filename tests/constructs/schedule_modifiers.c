/* schedule_modifiers.c - schedules with modifiers: monotonic, nonmonotonic, simd; one with an ordered construct inside. No static chunk with simd, which clang
 * makes wrong bounds of. */
#include "check.h"

enum { COUNT = 800 };
static int a[COUNT], b[COUNT], c[COUNT], d[COUNT], sequence[COUNT], filled;

int main(void)
{
    for (int step = 1; step <= 2; step++) {
        filled = 0;
#pragma omp parallel
        {
            int last = -1;
#pragma omp for schedule(monotonic : dynamic, 8)
            for (int i = 0; i < COUNT; i++) {
                CHECK(i > last);
                last = i;
                a[i] += i * step;
            }
#pragma omp for schedule(nonmonotonic : dynamic, 16)
            for (int i = 0; i < COUNT; i++)
                b[i] += a[i];
#pragma omp for simd schedule(monotonic, simd : guided, 5)
            for (int i = 0; i < COUNT; i++)
                c[i] += b[i];
#pragma omp for schedule(monotonic : guided) ordered
            for (int i = 0; i < COUNT; i++) {
#pragma omp ordered
                sequence[filled++] = i;
            }
        }
#pragma omp parallel for simd schedule(nonmonotonic, simd : static)
        for (int i = 0; i < COUNT; i++)
            d[i] += c[i];
    }
    for (int i = 0; i < COUNT; i++)
        CHECK(a[i] == 3 * i && b[i] == 4 * i && c[i] == 5 * i && d[i] == 6 * i && sequence[i] == i);
    return 0;
}
