// cpp_inline_variable.cpp - inline variables with constructors, which two units define (cpp_inline_variable_other.cpp).
#include "check.h"
#include "shapes_inline.h"

int main()
{
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 100; i++) {
        heights[i] += i;
        sum += heights[i] * Defaults<double>::values.find("two")->second;
    }
    long raised = heights_raise(5);
    CHECK(sum == 2 * 5250. && raised == 5750 + 100);
    return 0;
}
