/*
 * LU: the compressible flow equations on a cube, marched to their steady state by symmetric successive
 * over-relaxation (NPB report, section 4.3.2). A step solves a block lower and a block upper triangular system,
 * whose rows are the grid's points in order and in reverse order.
 *
 * The grid is a cube, and the solution that is wanted is known (exact_solution.h): the forcing term makes it steady.
 */
#include "exact_solution.h"
#include "npb.h"
#include "params.h"
#include "pipeline.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>

#define EPSILON 1e-8

/* The gas: ratio of specific heats gamma = C1 = C5, C2 = gamma - 1, and the viscosity C3 C4. */
#define C1    1.4
#define C2    0.4
#define C34   0.1
#define C1345 (C1 * C1 * C34)

#define OMEGA 1.2 /* over-relaxation */

/* The spacing h is the same in all directions: 1 / h^2 and 1 / (2 h). */
#define T1 ((N - 1.0) * (N - 1.0))
#define T2 (0.5 * (N - 1.0))

#define DSSP 0.25 /* dissipation of fourth order */

/* Dissipation of second order along x, y, z, the same for all variables. */
static const double diffusion[3] = {0.75, 0.75, 1.0};
#define DIFFUSION_SUM 2.5

static double u[N][N][N][VARIABLES];   /* the solution */
static double rsd[N][N][N][VARIABLES]; /* the steady residual, then what a step adds to u */
static double frct[N][N][N][VARIABLES];

/* What the plane behind a triangular solve adds to the right-hand side of the plane at its front. */
static double zeta_part[N][N][VARIABLES];

static struct progress lower_progress[N], upper_progress[N]; /* of each strip of rows */

static void exact(int i, int j, int k, double point[VARIABLES])
{
    exact_solution(i / (N - 1.0), j / (N - 1.0), k / (N - 1.0), point);
}

/* Boundary values: the exact solution on the six faces. */
static void setbv(void)
{
#pragma omp parallel
    {
#pragma omp for
        for (int j = 0; j < N; j++)
            for (int i = 0; i < N; i++) {
                exact(i, j, 0, u[0][j][i]);
                exact(i, j, N - 1, u[N - 1][j][i]);
            }

#pragma omp for
        for (int k = 0; k < N; k++)
            for (int i = 0; i < N; i++) {
                exact(i, 0, k, u[k][0][i]);
                exact(i, N - 1, k, u[k][N - 1][i]);
            }

#pragma omp for
        for (int k = 0; k < N; k++)
            for (int j = 0; j < N; j++) {
                exact(0, j, k, u[k][j][0]);
                exact(N - 1, j, k, u[k][j][N - 1]);
            }
    }
}

/* Initial values: transfinite interpolation of the boundary values. */
static void setiv(void)
{
#pragma omp parallel for
    for (int k = 1; k < N - 1; k++) {
        double zeta = k / (N - 1.0);

        for (int j = 1; j < N - 1; j++) {
            double eta = j / (N - 1.0);

            for (int i = 1; i < N - 1; i++) {
                double xi = i / (N - 1.0);

                for (int m = 0; m < VARIABLES; m++) {
                    double p = (1.0 - xi) * u[k][j][0][m] + xi * u[k][j][N - 1][m];
                    double q = (1.0 - eta) * u[k][0][i][m] + eta * u[k][N - 1][i][m];
                    double r = (1.0 - zeta) * u[0][j][i][m] + zeta * u[N - 1][j][i][m];

                    u[k][j][i][m] = p + q + r - p * q - q * r - r * p + p * q * r;
                }
            }
        }
    }
}

/* A row of points by quantity: conserved variables, velocity, and per mass the kinetic and the whole energy. */
struct line {
    double u[VARIABLES][N], velocity[3][N], kinetic[N], energy[N], pressure[N];
};

static inline void line_load(struct line *line, double row[N][VARIABLES])
{
    for (int i = 0; i < N; i++)
        for (int m = 0; m < VARIABLES; m++)
            line->u[m][i] = row[i][m];
    for (int i = 0; i < N; i++) {
        double rho = line->u[0][i], inverse = 1.0 / rho;
        double x = line->u[1][i] * inverse, y = line->u[2][i] * inverse, z = line->u[3][i] * inverse;
        double kinetic = 0.5 * (x * x + y * y + z * z);

        line->velocity[0][i] = x;
        line->velocity[1][i] = y;
        line->velocity[2][i] = z;
        line->kinetic[i] = kinetic;
        line->energy[i] = line->u[4][i] * inverse;
        line->pressure[i] = C2 * (line->u[4][i] - rho * kinetic);
    }
}

/*
 * Sets sum to the central differences over a row's points, along all three directions: of the convective flux, and
 * of the viscous flux, whose differences between half points are second differences of velocities and energies.
 * Before and after are the neighbouring rows in each direction; along x they are the row itself, shifted by a point.
 */
static inline void sum_fluxes(const struct line *here, const struct line *const before[3],
                              const struct line *const after[3], double sum[VARIABLES][N])
{
    static const int shift[3] = {1, 0, 0};
    const double viscous = C34 * T1;

    for (int i = 1; i < N - 1; i++) {
        double flux = 0.0;

        for (int n = 0; n < 3; n++)
            flux += after[n]->u[n + 1][i + shift[n]] - before[n]->u[n + 1][i - shift[n]];
        sum[0][i] = -T2 * flux;
    }

    for (int m = 0; m < 3; m++)
        for (int i = 1; i < N - 1; i++) {
            double flux = after[m]->pressure[i + shift[m]] - before[m]->pressure[i - shift[m]];
            double second = -(6.0 + 2.0 / 3.0) * here->velocity[m][i];

            for (int n = 0; n < 3; n++) {
                int a = i + shift[n], b = i - shift[n];

                flux += after[n]->u[m + 1][a] * after[n]->velocity[n][a] -
                        before[n]->u[m + 1][b] * before[n]->velocity[n][b];
                second += (n == m ? 4.0 / 3.0 : 1.0) * (after[n]->velocity[m][a] + before[n]->velocity[m][b]);
            }
            sum[m + 1][i] = viscous * second - T2 * flux;
        }

    for (int i = 1; i < N - 1; i++) {
        double flux = 0.0, kinetic = -6.0 * here->kinetic[i], energy = -6.0 * here->energy[i];
        double normal = -4.0 * here->kinetic[i];

        for (int n = 0; n < 3; n++) {
            int a = i + shift[n], b = i - shift[n];
            double va = after[n]->velocity[n][a], vb = before[n]->velocity[n][b];

            flux += (after[n]->u[4][a] + after[n]->pressure[a]) * va -
                    (before[n]->u[4][b] + before[n]->pressure[b]) * vb;
            kinetic += after[n]->kinetic[a] + before[n]->kinetic[b];
            energy += after[n]->energy[a] + before[n]->energy[b];
            normal += va * va + vb * vb;
        }
        sum[4][i] = viscous * ((1.0 - C1 * C1) * kinetic + (1.0 / 6.0) * normal + C1 * C1 * energy) - T2 * flux;
    }
}

/*
 * Weights of the points p - 2 to p + 2 in the dissipation along direction n: T1 d (1, -2, 1) of second order, less
 * DSSP (1, -4, 6, -4, 1) of fourth order, which near the boundary does without the points on it and beyond.
 */
static inline void dissipation_weights(int p, int n, double w[5])
{
    const double second = diffusion[n] * T1;
    const bool first = p == 1, last = p == N - 2;

    w[0] = p <= 2 ? 0.0 : -DSSP;
    w[1] = second + (first ? 0.0 : 4.0 * DSSP);
    w[2] = -2.0 * second - (first || last ? 5.0 : 6.0) * DSSP;
    w[3] = second + (last ? 0.0 : 4.0 * DSSP);
    w[4] = p >= N - 3 ? 0.0 : -DSSP;
}

/* Points beyond the boundary have no weight: others stand for them. */
static inline int inside(int p)
{
    return p < 0 ? 0 : p > N - 1 ? N - 1 : p;
}

/* Sets the inner points of a row to the dissipation, which is linear: along the row, all variables alike. */
static inline void dissipate(double v[N][N][N][VARIABLES], int k, int j, double row[N][VARIABLES])
{
    double wx[5], wy[5], wz[5];
    const double *here = (const double *)v[k][j];
    const double *y0 = (const double *)v[k][inside(j - 2)], *y1 = (const double *)v[k][j - 1];
    const double *y3 = (const double *)v[k][j + 1], *y4 = (const double *)v[k][inside(j + 2)];
    const double *z0 = (const double *)v[inside(k - 2)][j], *z1 = (const double *)v[k - 1][j];
    const double *z3 = (const double *)v[k + 1][j], *z4 = (const double *)v[inside(k + 2)][j];
    double *out = (double *)row;
    const int edges[4] = {1, 2, N - 3, N - 2};

    dissipation_weights(j, 1, wy);
    dissipation_weights(k, 2, wz);
    for (int x = VARIABLES; x < VARIABLES * (N - 1); x++)
        out[x] = (wy[2] + wz[2]) * here[x] + (wy[0] * y0[x] + wy[4] * y4[x]) + (wy[1] * y1[x] + wy[3] * y3[x]) +
                 (wz[0] * z0[x] + wz[4] * z4[x]) + (wz[1] * z1[x] + wz[3] * z3[x]);

    dissipation_weights(3, 0, wx);
    for (int x = VARIABLES * 3; x < VARIABLES * (N - 3); x++)
        out[x] += wx[2] * here[x] + wx[0] * (here[x - 2 * VARIABLES] + here[x + 2 * VARIABLES]) +
                  wx[1] * (here[x - VARIABLES] + here[x + VARIABLES]);
    for (int e = 0; e < 4; e++) {
        int i = edges[e];

        dissipation_weights(i, 0, wx);
        for (int m = 0; m < VARIABLES; m++)
            row[i][m] += wx[0] * v[k][j][inside(i - 2)][m] + wx[1] * v[k][j][i - 1][m] + wx[2] * v[k][j][i][m] +
                         wx[3] * v[k][j][i + 1][m] + wx[4] * v[k][j][inside(i + 2)][m];
    }
}

/*
 * Stores in the inner points of out the time derivative of the state v, less the forcing term if there is one.
 * For a parallel region: the team shares the planes.
 */
static inline void steady_residual(double v[N][N][N][VARIABLES], double (*forcing)[N][N][VARIABLES],
                                   double out[N][N][N][VARIABLES])
{
#pragma omp for
    for (int k = 1; k < N - 1; k++) {
        struct line lines[3], below, above;
        double sum[VARIABLES][N], row[N][VARIABLES];

        line_load(&lines[0], v[k][0]);
        line_load(&lines[1], v[k][1]);
        for (int j = 1; j < N - 1; j++) {
            const struct line *before = &lines[(j - 1) % 3], *here = &lines[j % 3];
            struct line *after = &lines[(j + 1) % 3];

            line_load(after, v[k][j + 1]);
            line_load(&below, v[k - 1][j]);
            line_load(&above, v[k + 1][j]);
            sum_fluxes(here, (const struct line *const[3]){here, before, &below},
                       (const struct line *const[3]){here, after, &above}, sum);
            dissipate(v, k, j, row);

            for (int i = 1; i < N - 1; i++)
                for (int m = 0; m < VARIABLES; m++)
                    out[k][j][i][m] = row[i][m] + sum[m][i] - (forcing ? forcing[k][j][i][m] : 0.0);
        }
    }
}

/* The forcing term: the residual of the exact solution, which is for that time in rsd. */
static void erhs(void)
{
#pragma omp parallel
    {
#pragma omp for
        for (int k = 0; k < N; k++)
            for (int j = 0; j < N; j++)
                for (int i = 0; i < N; i++)
                    exact(i, j, k, rsd[k][j][i]);

        steady_residual(rsd, NULL, frct);
    }
}

/* The steady residual of u: what its time derivative is. */
static void rhs(void)
{
#pragma omp parallel
    steady_residual(u, frct, rsd);
}

/* Root of the mean square of each variable over the inner points. */
static void l2norm(double v[N][N][N][VARIABLES], double norm[VARIABLES])
{
    double sum[VARIABLES] = {0.0};

#pragma omp parallel for reduction(+ : sum)
    for (int k = 1; k < N - 1; k++)
        for (int j = 1; j < N - 1; j++)
            for (int i = 1; i < N - 1; i++)
                for (int m = 0; m < VARIABLES; m++)
                    sum[m] += v[k][j][i][m] * v[k][j][i][m];

    for (int m = 0; m < VARIABLES; m++)
        norm[m] = sqrt(sum[m] / ((N - 2.0) * (N - 2.0) * (N - 2.0)));
}

/* The same of the difference between u and the exact solution. */
static void error(double norm[VARIABLES])
{
    double sum[VARIABLES] = {0.0};

#pragma omp parallel for reduction(+ : sum)
    for (int k = 1; k < N - 1; k++)
        for (int j = 1; j < N - 1; j++)
            for (int i = 1; i < N - 1; i++) {
                double wanted[VARIABLES];

                exact(i, j, k, wanted);
                for (int m = 0; m < VARIABLES; m++)
                    sum[m] += (wanted[m] - u[k][j][i][m]) * (wanted[m] - u[k][j][i][m]);
            }

    for (int m = 0; m < VARIABLES; m++)
        norm[m] = sqrt(sum[m] / ((N - 2.0) * (N - 2.0) * (N - 2.0)));
}

static double pressure(const double v[VARIABLES])
{
    return C2 * (v[4] - 0.5 * (v[1] * v[1] + v[2] * v[2] + v[3] * v[3]) / v[0]);
}

/* Surface integral of the pressure over a box inside the cube, by the trapezoidal rule. */
static double pintgr(void)
{
    enum { I1 = 1, I2 = N - 2, J1 = 1, J2 = N - 3, K1 = 2, K2 = N - 2 };
    double sum = 0.0;

#pragma omp parallel reduction(+ : sum)
    {
#pragma omp for nowait
        for (int j = J1; j < J2; j++)
            for (int i = I1; i < I2; i++)
                for (int corner = 0; corner < 4; corner++)
                    sum += pressure(u[K1][j + corner / 2][i + corner % 2]) +
                           pressure(u[K2][j + corner / 2][i + corner % 2]);

#pragma omp for nowait
        for (int k = K1; k < K2; k++)
            for (int i = I1; i < I2; i++)
                for (int corner = 0; corner < 4; corner++)
                    sum += pressure(u[k + corner / 2][J1][i + corner % 2]) +
                           pressure(u[k + corner / 2][J2][i + corner % 2]);

#pragma omp for nowait
        for (int k = K1; k < K2; k++)
            for (int j = J1; j < J2; j++)
                for (int corner = 0; corner < 4; corner++)
                    sum += pressure(u[k + corner / 2][j + corner % 2][I1]) +
                           pressure(u[k + corner / 2][j + corner % 2][I2]);
    }
    return 0.25 * sum / T1;
}

/* State at a point, as far as the blocks of the triangular systems depend on it. */
struct state {
    double inverse_density, velocity[3], kinetic, energy;
};

/*
 * A change of the conserved variables, and what it means at a given state: density times the changes of velocity
 * and of energy per mass, and of the kinetic energy the part that the velocity changes.
 */
struct change {
    double du[VARIABLES], dvelocity[3], denergy, dkinetic;
};

static inline struct state state_of(const double v[VARIABLES])
{
    struct state s;

    s.inverse_density = 1.0 / v[0];
    for (int m = 0; m < 3; m++)
        s.velocity[m] = v[m + 1] * s.inverse_density;
    s.kinetic = 0.5 * (s.velocity[0] * s.velocity[0] + s.velocity[1] * s.velocity[1] + s.velocity[2] * s.velocity[2]);
    s.energy = v[4] * s.inverse_density;
    return s;
}

static inline void complete_change(const struct state *s, struct change *c)
{
    for (int m = 0; m < 3; m++)
        c->dvelocity[m] = c->du[m + 1] - s->velocity[m] * c->du[0];
    c->dkinetic =
        s->velocity[0] * c->dvelocity[0] + s->velocity[1] * c->dvelocity[1] + s->velocity[2] * c->dvelocity[2];
    c->denergy = c->du[4] - s->energy * c->du[0];
}

/*
 * Solves D du = r. Convection, a central difference, is absent from the diagonal block D, and in terms of changes of
 * density, velocity and energy per mass viscosity is off D's diagonal only in the row of energy.
 */
static inline struct change solve_diagonal(const struct state *s, const double r[VARIABLES])
{
    const double base = 1.0 + 2.0 * DT * T1 * DIFFUSION_SUM;
    const double velocity_part = 2.0 * DT * T1 * C34 * (4.0 / 3.0 + 2.0);
    const double kinetic_part = 2.0 * DT * T1 * (C34 * (4.0 / 3.0 + 2.0) - 3.0 * C1345);
    const double energy_part = 2.0 * DT * T1 * 3.0 * C1345;
    const double scale = 1.0 / (base + velocity_part * s->inverse_density);
    const double energy_scale = 1.0 / (base + energy_part * s->inverse_density);
    struct change c;

    for (int m = 0; m < 3; m++)
        c.dvelocity[m] = (r[m + 1] - s->velocity[m] * r[0]) * scale;
    c.dkinetic = s->velocity[0] * c.dvelocity[0] + s->velocity[1] * c.dvelocity[1] + s->velocity[2] * c.dvelocity[2];
    c.denergy = (r[4] - s->energy * r[0] - kinetic_part * s->inverse_density * c.dkinetic) * energy_scale;

    c.du[0] = r[0] * (1.0 / base);
    for (int m = 0; m < 3; m++)
        c.du[m + 1] = c.dvelocity[m] + s->velocity[m] * c.du[0];
    c.du[4] = c.denergy + s->energy * c.du[0];
    return c;
}

/*
 * Stores in r what the change of a point adds to the right-hand side of the next point along direction n, forwards
 * (sign +1) or backwards (-1): the Jacobians of the convective and the viscous flux, and the dissipation, times du.
 */
static inline void couple(const struct state *s, const struct change *c, int n, double sign, double r[VARIABLES])
{
    const double convection = sign * OMEGA * DT * T2;
    const double dissipation = OMEGA * DT * T1 * diffusion[n];
    const double viscosity = OMEGA * DT * T1 * C34 * s->inverse_density;
    const double excess = OMEGA * DT * T1 * C1345 * s->inverse_density;
    const double mass = convection * c->du[n + 1];
    const double speed = convection * s->velocity[n];
    const double dpressure = convection * C2 * (c->denergy - c->dkinetic + (s->energy - s->kinetic) * c->du[0]);
    const double enthalpy = C1 * s->energy - C2 * s->kinetic;

    r[0] = mass + dissipation * c->du[0];
    for (int m = 0; m < 3; m++)
        r[m + 1] = (speed + viscosity) * c->dvelocity[m] + s->velocity[m] * mass + dissipation * c->du[m + 1];
    r[n + 1] += dpressure + (1.0 / 3.0) * viscosity * c->dvelocity[n];
    r[4] = speed * (C1 * c->denergy - C2 * c->dkinetic) + enthalpy * mass +
           (viscosity * (c->dkinetic + (1.0 / 3.0) * s->velocity[n] * c->dvelocity[n]) +
            excess * (c->denergy - c->dkinetic)) +
           dissipation * c->du[4];
}

/* The rows from begin to end of all planes belong to one thread, the strip of that number. */
struct strip {
    int number, begin, end;
};

static struct strip own_strip(void)
{
    int threads = omp_get_num_threads(), thread = omp_get_thread_num();
    int rows = (N - 2) / threads, more = (N - 2) % threads;

    return (struct strip){.number = thread,
                          .begin = 1 + thread * rows + (thread < more ? thread : more),
                          .end = 1 + (thread + 1) * rows + (thread < more ? thread + 1 : more)};
}

/* Stores in part what a solved row, a neighbour's, adds to the right-hand side of the next; sign as for couple. */
static void couple_row(int k, int j, double sign, double part[N][VARIABLES])
{
    for (int i = 1; i < N - 1; i++) {
        struct state s = state_of(u[k][j][i]);
        struct change c;

        for (int m = 0; m < VARIABLES; m++)
            c.du[m] = rsd[k][j][i][m];
        complete_change(&s, &c);
        couple(&s, &c, 1, sign, part[i]);
    }
}

/* Lower triangular solve along a row: D du = DT rsd + what the points before it add; du takes the place of rsd. */
static void lower_row(int k, int j, double eta_part[N][VARIABLES])
{
    double xi_part[VARIABLES] = {0.0};

    for (int i = 1; i < N - 1; i++) {
        struct state s = state_of(u[k][j][i]);
        struct change c;
        double r[VARIABLES];

        for (int m = 0; m < VARIABLES; m++)
            r[m] = DT * rsd[k][j][i][m] + eta_part[i][m] + zeta_part[j][i][m] + xi_part[m];
        c = solve_diagonal(&s, r);
        for (int m = 0; m < VARIABLES; m++)
            rsd[k][j][i][m] = c.du[m];
        couple(&s, &c, 0, 1.0, xi_part);
        couple(&s, &c, 1, 1.0, eta_part[i]);
        couple(&s, &c, 2, 1.0, zeta_part[j][i]);
    }
}

/* Upper triangular solve along a row, backwards: D (du - rsd) = what the points after it add. */
static void upper_row(int k, int j, double eta_part[N][VARIABLES])
{
    double xi_part[VARIABLES] = {0.0};

    for (int i = N - 2; i >= 1; i--) {
        struct state s = state_of(u[k][j][i]);
        struct change c;
        double r[VARIABLES];

        for (int m = 0; m < VARIABLES; m++)
            r[m] = eta_part[i][m] + zeta_part[j][i][m] + xi_part[m];
        c = solve_diagonal(&s, r);
        for (int m = 0; m < VARIABLES; m++)
            c.du[m] = rsd[k][j][i][m] += c.du[m];
        complete_change(&s, &c);
        couple(&s, &c, 0, -1.0, xi_part);
        couple(&s, &c, 1, -1.0, eta_part[i]);
        couple(&s, &c, 2, -1.0, zeta_part[j][i]);
    }
}

static void clear_row(double row[N][VARIABLES])
{
    for (int i = 0; i < N; i++)
        for (int m = 0; m < VARIABLES; m++)
            row[i][m] = 0.0;
}

static void lower_solve(struct strip strip)
{
    double eta_part[N][VARIABLES];

    for (int j = strip.begin; j < strip.end; j++)
        clear_row(zeta_part[j]);
    for (int k = 1; k < N - 1; k++) {
        clear_row(eta_part);
        if (strip.begin > 1) {
            pipeline_wait(&lower_progress[strip.number - 1], k);
            couple_row(k, strip.begin - 1, 1.0, eta_part);
        }
        for (int j = strip.begin; j < strip.end; j++)
            lower_row(k, j, eta_part);
        pipeline_done(&lower_progress[strip.number], k);
    }
}

static void upper_solve(struct strip strip)
{
    double eta_part[N][VARIABLES];

    for (int j = strip.begin; j < strip.end; j++)
        clear_row(zeta_part[j]);
    for (int k = N - 2; k >= 1; k--) {
        clear_row(eta_part);
        if (strip.end < N - 1) {
            pipeline_wait(&upper_progress[strip.number + 1], N - 1 - k);
            couple_row(k, strip.end, -1.0, eta_part);
        }
        for (int j = strip.end - 1; j >= strip.begin; j--)
            upper_row(k, j, eta_part);
        pipeline_done(&upper_progress[strip.number], N - 1 - k);
    }
}

/* From the residual to the next u. Threads beyond the number of rows have no strip. */
static void ssor_iteration(void)
{
#pragma omp parallel
    {
        struct strip strip = own_strip();

        if (strip.begin < strip.end) {
            pipeline_reset(&lower_progress[strip.number]);
            pipeline_reset(&upper_progress[strip.number]);
        }
#pragma omp barrier
        if (strip.begin < strip.end) {
            lower_solve(strip);
            upper_solve(strip);
        }
#pragma omp barrier
#pragma omp for
        for (int k = 1; k < N - 1; k++)
            for (int j = 1; j < N - 1; j++)
                for (int i = 1; i < N - 1; i++)
                    for (int m = 0; m < VARIABLES; m++)
                        u[k][j][i][m] += 1.0 / (OMEGA * (2.0 - OMEGA)) * rsd[k][j][i][m];
    }
}

/* Returns the seconds that the iterations take; norm: of the residual after them. */
static double ssor(int iterations, double norm[VARIABLES])
{
    double start;

    rhs();
    l2norm(rsd, norm);

    start = npb_seconds();
    for (int it = 1; it <= iterations; it++) {
        ssor_iteration();
        rhs();
    }
    l2norm(rsd, norm);
    return npb_seconds() - start;
}

static bool verify(const double residual[VARIABLES], const double errors[VARIABLES], double surface)
{
    static const double residual_ref[VARIABLES] = {RESIDUAL_REF}, error_ref[VARIABLES] = {ERROR_REF};
    bool verified = true;
    char what[16];

    for (int m = 0; m < VARIABLES; m++) {
        snprintf(what, sizeof what, "residual %d", m + 1);
        verified &= npb_close(what, residual[m], residual_ref[m], EPSILON);
    }
    for (int m = 0; m < VARIABLES; m++) {
        snprintf(what, sizeof what, "error %d", m + 1);
        verified &= npb_close(what, errors[m], error_ref[m], EPSILON);
    }
    verified &= npb_close("surface", surface, SURFACE_REF, EPSILON);
    return verified;
}

int main(void)
{
    struct npb_run run = {.name = "LU", .iterations = ITMAX, .operation = "floating point"};
    double residual[VARIABLES], errors[VARIABLES];
    char size[32];

    snprintf(size, sizeof size, "%d x %d x %d", N, N, N);
    run.size = size;
    if (!npb_begin(&run, 0))
        return NPB_USAGE;

    setbv();
    setiv();
    erhs();

    /* One iteration touches all data and code, untimed; then everything begins anew. */
    ssor(1, residual);
    setbv();
    setiv();
    run.seconds = ssor(ITMAX, residual);

    error(errors);
    run.operations = ITMAX * (1984.77 * N * N * N - 10923.3 * N * N + 27770.9 * N - 144010.0);
    run.verified = verify(residual, errors, pintgr());
    return npb_end(&run);
}
