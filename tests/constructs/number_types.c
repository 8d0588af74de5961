/* number_types.c - wide and odd numbers in reductions, atomics and clauses: long double, complex, 128 bits, bit-fields, vectors of the compiler's. */
#include "check.h"
#include <complex.h>
#include <stdbool.h>
#include <stdint.h>

enum { COUNT = 400 };
typedef float four_floats __attribute__((vector_size(16)));
struct packed { unsigned low : 5, high : 11; bool even : 1; };
static struct packed packed[COUNT];
static four_floats lanes[COUNT];
static __int128 wide[COUNT];

int main(void)
{
    long double precise = 0;
    double complex turning = 0;
    int8_t least = 127;
    uint64_t bits = 0;
    four_floats factor = {1, 2, 3, 4};
    __int128 large = (__int128)1 << 100;
    for (int step = 0; step < 2; step++) {
#pragma omp parallel for reduction(+ : precise) reduction(+ : turning) reduction(min : least) reduction(| : bits) firstprivate(factor, large)
        for (int i = 0; i < COUNT; i++) {
            precise += 1.0L + (long double)i;
            turning += i % 2 ? I : 1;
            least = (int8_t)(i % 100 - 50) < least ? (int8_t)(i % 100 - 50) : least;
            bits |= (uint64_t)1 << (i % 64);
            packed[i].low = (unsigned)i % 32u;
            packed[i].high = (unsigned)i;
            packed[i].even = i % 2 == 0;
            lanes[i] += factor * (float)i;
            wide[i] += large + i;
        }
    }
    CHECK(precise == 2.0L * (COUNT + COUNT * (COUNT - 1) / 2) && turning == COUNT + COUNT * I && least == -50 && bits == UINT64_MAX);
    for (int i = 0; i < COUNT; i++)
        CHECK(packed[i].low == (unsigned)i % 32u && packed[i].high == (unsigned)i && packed[i].even == (i % 2 == 0) && lanes[i][3] == 8.0f * (float)i &&
              wide[i] == 2 * (((__int128)1 << 100) + i));
    return 0;
}
