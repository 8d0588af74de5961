/* plain_dlopened_library.c - the same library without bitcode (in_library_plain.c), loaded by the program and reached through pointers. */
#include "check.h"
#include <dlfcn.h>

typedef double (*value_function)(int, double);
typedef long (*calls_function)(void);

int main(void)
{
    void *library = dlopen(PLUGIN_1, RTLD_LAZY);
    CHECK(library);
    value_function value = (value_function)dlsym(library, "plain_value");
    calls_function calls = (calls_function)dlsym(library, "plain_calls");
    for (int round = 1; round <= 2; round++) {
        double sum = 0;
#pragma omp parallel for reduction(+ : sum)
        for (int i = 0; i < 200; i++)
            sum += value(i, i);
        CHECK(sum == 2 * 9900 + 10000 + 290 && calls() == 200 * round);
    }
    return 0;
}
