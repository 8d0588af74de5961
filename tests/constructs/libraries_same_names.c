/* libraries_same_names.c - two libraries (in_library_left.c, in_library_right.c) whose own functions and variables have the same names. */
#include "check.h"

double left_sum(int count);
double right_sum(int count);
static double table[8] = {100};

int main(void)
{
    double sum = 0;
    CHECK(left_sum(10) == 45 + 10 * 3.5);
    CHECK(right_sum(10) == 3 * 45 + 10 * 2.5);
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 8; i++)
        sum += table[i];
    CHECK(sum == 100);
    CHECK(left_sum(20) == 190 + 20 * 3.5 && right_sum(20) == 3 * 190 + 20 * 2.5);
    return 0;
}
