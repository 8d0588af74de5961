/* dlopened_library.c - a region inside a library (in_library.c) that is loaded while the program runs; its path is PLUGIN_1. */
#include "check.h"
#include <dlfcn.h>

typedef double (*scale_function)(double *, int, double);
typedef long (*calls_function)(void);

int main(void)
{
    static double values[300];
    void *library = dlopen(PLUGIN_1, RTLD_NOW);
    if (!library)
        fprintf(stderr, "%s\n", dlerror());
    CHECK(library);
    scale_function scale = (scale_function)dlsym(library, "library_scale");
    calls_function calls = (calls_function)dlsym(library, "library_calls");
    long total = 0;
    CHECK(scale(values, 300, 2) == 300 + 600);
    CHECK(scale(values, 300, 0) == 300 + 600);
#pragma omp parallel for reduction(+ : total)
    for (int i = 0; i < 300; i++)
        total += calls();
    CHECK(total == 600);
    dlclose(library);
    return 0;
}
