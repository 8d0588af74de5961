// cpp_library_threadprivate.cpp - threadprivate objects with constructors in a shared library, used by its regions and by the program's.
#include "check.h"
#include "shapes_threadprivate.h"

static long total;

int main()
{
    for (int round = 0; round < 3; round++)
        library_fill(300);
    long teams = 0;
#pragma omp parallel reduction(+ : teams, total)
    {
        total += library_sum();
        teams++;
    }
    CHECK(total == 3 * 300 + 11 * teams);
    library_start(21);
    long copied = 0;
#pragma omp parallel reduction(+ : copied)
    copied += library_sum() > 0;
    CHECK(copied == teams);
    return 0;
}
