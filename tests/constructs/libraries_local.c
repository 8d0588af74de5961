/* libraries_local.c - two libraries that offer the same names (in_library.c, in_library_other.c), each loaded for itself (RTLD_LOCAL). */
#include "check.h"
#include <dlfcn.h>

typedef double (*scale_function)(double *, int, double);
typedef long (*calls_function)(void);

int main(void)
{
    static double values[300], others[300];
    void *library = dlopen(PLUGIN_1, RTLD_NOW | RTLD_LOCAL), *other = dlopen(PLUGIN_2, RTLD_LAZY | RTLD_LOCAL);
    CHECK(library && other);
    scale_function scale = (scale_function)dlsym(library, "library_scale"), other_scale = (scale_function)dlsym(other, "library_scale");
    calls_function calls[2] = {(calls_function)dlsym(library, "library_calls"), (calls_function)dlsym(other, "library_calls")};
    CHECK(scale != other_scale);
    CHECK(scale(values, 300, 2) == 300 + 600);
    CHECK(other_scale(others, 300, 1) == 300 + 4500);
    CHECK(scale(values, 300, 0) == 300 + 600);
    long total = 0;
#pragma omp parallel for reduction(+ : total)
    for (int i = 0; i < 300; i++)
        total += calls[i % 2]();
    CHECK(total == 150 * 2 + 150 * 10);
    return 0;
}
