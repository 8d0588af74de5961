// cpp_inline_variable_other.cpp - another unit that defines the inline variables of cpp_inline_variable.cpp.
#include "shapes_inline.h"

long heights_raise(int by)
{
    long sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 100; i++) {
        heights[i] += by;
        sum += heights[i] + (long)Defaults<double>::values.find("one")->second;
    }
    return sum;
}
