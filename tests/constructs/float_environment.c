/* float_environment.c - how threads round, and what they do with denormals, as the program has set it where the region starts. */
#include "check.h"

#include <fenv.h>
#include <xmmintrin.h>

#define FLUSHES 0x8040u                   /* results, and operands, that are denormal count as zero */

static double third[4], small[4];
static long double wide[4];               /* the x87's */

static void step(int number, double divisor, double tiny)
{
#pragma omp parallel
    {
#pragma omp sections
        {
#pragma omp section
            third[number] = 1 / divisor;
#pragma omp section
            small[number] = tiny / 4;
#pragma omp section
            wide[number] = 1 / (long double)divisor;
        }
    }
}

int main(void)
{
    volatile double divisor = 3, tiny = 0x1p-1022;
    const unsigned plain = _mm_getcsr();
    step(0, divisor, tiny);
    fesetround(FE_UPWARD);
    step(1, divisor, tiny);
    fesetround(FE_DOWNWARD);
    step(2, divisor, tiny);
    fesetround(FE_TONEAREST);
    _mm_setcsr(plain | FLUSHES);
    step(3, divisor, tiny);
    _mm_setcsr(plain);
    CHECK(third[1] > third[0] && third[2] == third[0] && third[3] == third[0]);     /* a third is rounded down */
    CHECK(wide[2] < wide[1] && wide[0] == wide[1]);                                 /* up, with a wider mantissa */
    CHECK(small[0] > 0 && small[1] > 0 && small[3] == 0);
    return 0;
}
