/*
 * What BT and SP share: the compressible Navier-Stokes equations on N x N x N points of the unit cube, made to
 * have a known steady solution, and all of an implicit time step but its solves (NPB report, section 4).
 *
 * Arrays are u[k][j][m][i]: the N points of a line in x lie together, variable after variable, so that loops
 * over i stream and fill vectors in each of the three directions. N, DT and WITH_SPEED come from params.h.
 */
#ifndef NPB_NAVIER_STOKES_H
#define NPB_NAVIER_STOKES_H

#include "exact_solution.h"
#include "params.h"

#include <stdbool.h>

/* The gas: ratio of specific heats C1, C2 = C1 - 1; viscosity and heat conduction C3, C4, C5. */
#define C1    1.4
#define C2    0.4
#define C3C4  (0.1 * 1.0)
#define C1C5  (1.4 * 1.4)
#define CON43 (4.0 / 3.0)

/* Weights of central differences: TX1 of second ones, TX2 of first ones. The grid is the same in x, y and z. */
#define TX1 ((N - 1.0) * (N - 1.0))
#define TX2 (0.5 * (N - 1.0))

/* Artificial diffusion in each direction, the same for all variables, and fourth-order dissipation. */
#define DX   0.75
#define DY   0.75
#define DZ   1.0
#define DSSP (0.25 * 1.0) /* a quarter of the largest */

/* What follows from u, for the points of a line in x. */
struct flow {
    double rho_i[N];       /* 1 / density */
    double velocity[3][N]; /* us, vs, ws: in x, y and z */
    double qs[N];          /* velocity squared, halved */
    double square[N];      /* density times that */
#if WITH_SPEED
    double speed[N]; /* of sound */
#endif
};

extern double u[N][N][VARIABLES][N]; /* density, momentum in x, y and z, energy */
extern double rhs[N][N][VARIABLES][N]; /* right-hand side, then update of u; zero on the faces of the cube */
extern struct flow flow[N][N];

/* u: the exact solution on the faces of the cube, and inside what transfinite interpolation makes of them. */
void initialize(void);

/* The forcing term: what lets the exact solution be steady on this grid. Overwrites u, flow. */
void exact_rhs(void);

/* From u: flow everywhere, and rhs inside, DT times the sum of forcing, fluxes and dissipation. */
void compute_rhs(void);

/* u = u + rhs. */
void add(void);

/* Compares error and residual of u with the published values; computes rhs anew. */
bool verify(const double residual[VARIABLES], const double error[VARIABLES], double epsilon);

#endif
