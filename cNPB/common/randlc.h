/*
 * The NPB's random numbers: x' = a x mod 2^46, delivered as x' 2^-46, in (0, 1).
 * (NPB report RNR-94-007, section 2.3.)  Unsigned 64-bit products wrap modulo 2^64, of which 2^46 is a
 * divisor, so the whole generator is one multiplication and one mask, and it is exact.
 */
#ifndef NPB_RANDLC_H
#define NPB_RANDLC_H

#include <stddef.h>
#include <stdint.h>

#define RANDLC_A    UINT64_C(1220703125) /* 5^13, the multiplier of every benchmark */
#define RANDLC_MASK ((UINT64_C(1) << 46) - 1)

/* The value in (0, 1) of a state, whose bits above 46 may be anything. */
static inline double randlc_value(uint64_t x)
{
    return 0x1p-46 * (double)(int64_t)(x & RANDLC_MASK);
}

/* Steps the state x once and returns its value. */
static inline double randlc(uint64_t *x, uint64_t a)
{
    *x = (*x * a) & RANDLC_MASK;
    return randlc_value(*x);
}

/* Steps the state x n times and stores the n values in y: what n calls of randlc would return. */
static inline void vranlc(size_t n, uint64_t *x, uint64_t a, double y[])
{
    /* Four steps at a time, since each multiplication would otherwise wait for the one before it. */
    const uint64_t a2 = a * a, a3 = a2 * a, a4 = a2 * a2;
    const size_t fours = n - n % 4;
    uint64_t state = *x;

    for (size_t i = 0; i < fours; i += 4) {
        y[i] = randlc_value(state * a);
        y[i + 1] = randlc_value(state * a2);
        y[i + 2] = randlc_value(state * a3);
        state *= a4;
        y[i + 3] = randlc_value(state);
    }
    for (size_t i = fours; i < n; i++) {
        state *= a;
        y[i] = randlc_value(state);
    }
    *x = state & RANDLC_MASK;
}

/* The state n steps after x, in O(log n): x a^n mod 2^46. */
static inline uint64_t randlc_jump(uint64_t x, uint64_t a, uint64_t n)
{
    for (; n > 0; n >>= 1) {
        if (n & 1)
            x *= a;
        a *= a;
    }
    return x & RANDLC_MASK;
}

#endif
