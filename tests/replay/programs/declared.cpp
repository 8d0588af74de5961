/* Handles: this file has the names of classes alone, which declared_made.cpp and declared_too.cpp define. */
#include <cstdio>
#include <omp.h>

namespace field {
struct Grid;
Grid *grid_new();
void grid_set(Grid *grid, int cell, int owner);
}
struct Other;
Other *other_new();
void other_set(Other *other, int place, int number);
double too();

static field::Grid *grid = field::grid_new();
static Other *other = other_new();

static void owners()
{
#pragma omp parallel for
    for (int i = 0; i < 40; i++) {
        field::grid_set(grid, i, 100 + omp_get_num_threads());
        if (i < 4)
            other_set(other, i, 100 + omp_get_num_threads());
    }
}

int main()
{
    owners();
    std::printf("PASS %g\n", too());
}
