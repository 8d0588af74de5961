/* error_nothing.c - directives that do nothing, and one that warns where it is met: nothing, error at(execution), a metadirective that chooses between them. */
#include "check.h"

enum { COUNT = 400 };
static int values[COUNT], met;

int main(void)
{
    for (int step = 0; step < 2; step++) {
#pragma omp parallel for
        for (int i = 0; i < COUNT; i++) {
#pragma omp nothing
            values[i] += i;
            if (i == COUNT - 1 && step == 1) {
#pragma omp error at(execution) severity(warning) message("met once, as it should be")
#pragma omp atomic
                met++;
            }
#pragma omp metadirective when(user = {condition(0)} : error at(execution)) default(nothing)
            values[i]++;
        }
    }
    for (int i = 0; i < COUNT; i++)
        CHECK(values[i] == 2 * (i + 1));
    CHECK(met == 1);
    return 0;
}
