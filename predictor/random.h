/* predictor/random.h - the one source of randomness of the predictor: seeded, small, the same numbers on every machine.
 *
 * Sebastiano Vigna's splitmix64 (a counter that passes through a mixing function). Not for secrets.
 */
#ifndef PCERE_PREDICTOR_RANDOM_H
#define PCERE_PREDICTOR_RANDOM_H

#include <math.h>
#include <stdint.h>

/* The next 64 random bits; *state may start at any value: the seed. */
static inline uint64_t random_next(uint64_t *state)
{
    uint64_t mixed = *state += 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    return mixed ^ (mixed >> 31);
}

/* A number in [0, limit), each equally likely; `limit` is at least 1. */
static inline uint64_t random_below(uint64_t *state, uint64_t limit)
{
    uint64_t number = random_next(state);
    while (number < limit && number < (0 - limit) % limit)      /* 2^64 mod limit: numbers below it would make small results likelier */
        number = random_next(state);
    return number % limit;
}

/* Between 0 and 1. */
static inline double random_uniform(uint64_t *state)
{
    return ((double)(random_next(state) >> 11) + 0.5) * 0x1p-53;
}

/* Standard normal by Box and Muller. */
static inline double random_normal(uint64_t *state)
{
    double u = random_uniform(state), v = random_uniform(state);
    return sqrt(-2 * log(u)) * cos(2 * 3.14159265358979323846 * v);
}

#endif
