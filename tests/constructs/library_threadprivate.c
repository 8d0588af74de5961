/* library_threadprivate.c - a shared library's threadprivate variables, its own and one that it offers, in its regions and in the program's. */
#include "check.h"

extern long library_step;
#pragma omp threadprivate(library_step)
void library_run(long count, long *values);
long library_calls(void);

static long values[400];

int main(void)
{
    long teams = 0, steps = 0, calls = 0;
    for (int round = 0; round < 3; round++)
        library_run(400, values);
#pragma omp parallel reduction(+ : teams, steps, calls)
    {
        library_step += 10;
        teams++;
        steps += library_step - 5 - 10;
        calls += library_calls();
    }
    CHECK(steps == 1200 && calls == 1200);
    library_step = 90;
#pragma omp parallel copyin(library_step)
    CHECK(library_step == 90);
    for (long i = 0; i < 400; i++)
        CHECK(values[i] == 3 * i);
    return 0;
}
