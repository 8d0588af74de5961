/*
 * MG's problem by class and the published residual norms. Class W is the NPB's own redefinition, 128^3 and
 * 4 iterations (from NPB 3.2 on; before, it was 64^3 and 40 iterations, which ends in rounding errors).
 */
#ifndef MG_PARAMS_H
#define MG_PARAMS_H

#if NPB_CLASS == 'S'
#define LT  5
#define NIT 4
#define RNM2_REF 5.307707005734e-05
#elif NPB_CLASS == 'W'
#define LT  7
#define NIT 4
#define RNM2_REF 6.467329375339e-06
#elif NPB_CLASS == 'A'
#define LT  8
#define NIT 4
#define RNM2_REF 2.433365309069e-06
#elif NPB_CLASS == 'B'
#define LT  8
#define NIT 20
#define RNM2_REF 1.800564401355e-06
#elif NPB_CLASS == 'C'
#define LT  9
#define NIT 20
#define RNM2_REF 5.70673228574e-07
#else
#error "unknown class: S, W, A, B or C"
#endif

/* The smoother's coefficients: by distance 0, 1, sqrt 2 (that of sqrt 3 is zero). */
#if NPB_CLASS == 'B' || NPB_CLASS == 'C'
#define C0 (-3.0 / 17.0)
#define C1 (+1.0 / 33.0)
#define C2 (-1.0 / 61.0)
#else
#define C0 (-3.0 / 8.0)
#define C1 (+1.0 / 32.0)
#define C2 (-1.0 / 64.0)
#endif

/* The operator's coefficients: by distance 0, sqrt 2, sqrt 3 (that of 1 is zero). */
#define A0 (-8.0 / 3.0)
#define A2 (1.0 / 6.0)
#define A3 (1.0 / 12.0)

/*
 * Level l is a cube of side 2^l and a ghost layer all around: N(l) = 2^l + 2 cells in each direction.
 * CELLS, ROWS and PLANES are the sums of N(l)^3, N(l)^2 and N(l) over all levels from 1 to LT.
 */
#define NX     (1 << LT)
#define M      (NX + 2)
#define PLANES (2 * NX - 2 + 2 * LT)
#define ROWS   ((NX * NX - 1) / 3 * 4 + 4 * (2 * NX - 2) + 4 * LT)
#define CELLS  ((NX * NX * NX - 1) / 7 * 8 + (NX * NX - 1) / 3 * 24 + 12 * (2 * NX - 2) + 8 * LT)

#endif
