/* library_unloaded.c - a library with a region is loaded, used and unloaded; then another one lies where it was. */
#include "check.h"
#include <dlfcn.h>

typedef double (*scale_function)(double *, int, double);

int main(void)
{
    static double values[300], sum;
    void *first = dlopen(PLUGIN_1, RTLD_NOW);
    CHECK(first);
    CHECK(((scale_function)dlsym(first, "library_scale"))(values, 300, 1) == 300 + 4500);
    dlclose(first);
    for (int i = 0; i < 300; i++)
        values[i] = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 300; i++)
        sum += values[i] + 1;
    CHECK(sum == 300);
    void *second = dlopen(PLUGIN_2, RTLD_NOW);
    CHECK(second);
    CHECK(((scale_function)dlsym(second, "library_scale"))(values, 300, 2) == 300 + 600);
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 300; i++)
        sum += values[i];
    CHECK(sum == 300 + 900);
    return 0;
}
