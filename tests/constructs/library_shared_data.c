/* library_shared_data.c - variables of a shared library (in_library_data.c) that the program uses as well, and calls in both directions. */
#include "check.h"

extern long library_values[100], *library_cursor, (*library_step)(long);
long library_fill(int count);
long library_default(long x);

long program_calls;
long program_twice(long x);
long program_twice(long x)
{
#pragma omp atomic
    program_calls++;
    return 2 * x;
}

static long minus_one(long x) { return x - 1; }

int main(void)
{
    CHECK(library_cursor == library_values + 3);
    CHECK(library_fill(100) == 2 * 5050);
    library_step = minus_one;
    CHECK(library_fill(100) == 2 * 4850);
    long sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 100; i++) {
        library_values[i] += library_default(i) - (i - 1);
        sum += library_values[i] + (library_cursor == &library_values[50]);
    }
    CHECK(sum == 2 * 4850 + 100 && program_calls == 200);
    return 0;
}
