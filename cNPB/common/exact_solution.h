/*
 * The exact solution that BT, SP and LU are made to have: in each of the five conserved variables a polynomial
 * of degree four in each coordinate of the unit cube, without mixed terms (NPB report, section 4.2 and its table
 * of coefficients).
 */
#ifndef NPB_EXACT_SOLUTION_H
#define NPB_EXACT_SOLUTION_H

enum { VARIABLES = 5 }; /* density, three components of momentum, energy */

/* constant term; then by power one to four the coefficients of xi, eta, zeta */
static const double exact_coefficient[VARIABLES][13] = {
    {2.0, 0.0, 0.0, 4.0, 5.0, 3.0, 0.5, 0.02, 0.01, 0.03, 0.5, 0.4, 0.3},
    {1.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 0.01, 0.03, 0.02, 0.4, 0.3, 0.5},
    {2.0, 2.0, 0.0, 0.0, 0.0, 2.0, 3.0, 0.04, 0.03, 0.05, 0.3, 0.5, 0.4},
    {2.0, 2.0, 0.0, 0.0, 0.0, 2.0, 3.0, 0.03, 0.05, 0.04, 0.2, 0.1, 0.3},
    {5.0, 4.0, 3.0, 2.0, 0.1, 0.4, 0.3, 0.05, 0.04, 0.03, 0.1, 0.3, 0.2},
};

/* Stores the solution at a point of the unit cube in u. */
static inline void exact_solution(double xi, double eta, double zeta, double u[VARIABLES])
{
    for (int m = 0; m < VARIABLES; m++) {
        const double *c = exact_coefficient[m];

        u[m] = c[0] + xi * (c[1] + xi * (c[4] + xi * (c[7] + xi * c[10]))) +
               eta * (c[2] + eta * (c[5] + eta * (c[8] + eta * c[11]))) +
               zeta * (c[3] + zeta * (c[6] + zeta * (c[9] + zeta * c[12])));
    }
}

#endif
