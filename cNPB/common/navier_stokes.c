/*
 * The discrete Navier-Stokes equations of BT and SP: the spatial operator, the forcing term that goes with the
 * exact solution, first values, norms and verification.
 *
 * The operator is written for one line of points in x and one direction at a time: the directions differ in
 * where the neighbours are, which momentum is the normal one, and in their artificial diffusion.
 */
#include "navier_stokes.h"

#include "npb.h"

#include <math.h>
#include <stdio.h>

double u[N][N][VARIABLES][N];
double rhs[N][N][VARIABLES][N];
struct flow flow[N][N];
static double forcing[N][N][VARIABLES][N];

/* Position in the unit cube of index 0 <= i < N. */
static inline double position(int i)
{
    return i / (N - 1.0);
}

static inline void exact_at(int k, int j, int i, double value[VARIABLES])
{
    exact_solution(position(i), position(j), position(k), value);
}

/* flow from u, for a line. */
static inline void compute_flow(struct flow *restrict f, double (*restrict w)[N])
{
    for (int i = 0; i < N; i++) {
        double rho_i = 1.0 / w[0][i];
        double square = 0.5 * rho_i * (w[1][i] * w[1][i] + w[2][i] * w[2][i] + w[3][i] * w[3][i]);

        f->rho_i[i] = rho_i;
        f->velocity[0][i] = w[1][i] * rho_i;
        f->velocity[1][i] = w[2][i] * rho_i;
        f->velocity[2][i] = w[3][i] * rho_i;
        f->square[i] = square;
        f->qs[i] = square * rho_i;
    }
#if WITH_SPEED
    for (int i = 0; i < N; i++)
        f->speed[i] = sqrt(C1 * C2 * f->rho_i[i] * (w[4][i] - f->square[i]));
#endif
}

/* A line of points: its variables and what follows from them. */
struct line {
    double (*u)[N];
    const struct flow *flow;
};

static inline struct line line_at(int k, int j)
{
    return (struct line){u[k][j], &flow[k][j]};
}

/*
 * Adds one direction's convective and diffusive terms. A point's neighbours in that direction are on the lines
 * before and after, moved by shift points (x: both are the line itself, moved by 1). The direction is normal:
 * 0, 1 or 2; d is its artificial diffusion.
 */
static inline void add_fluxes(double (*restrict sum)[N], struct line before, struct line here,
                              struct line after, int shift, int normal, double d)
{
    const int along = normal, across1 = (normal + 1) % 3, across2 = (normal + 2) % 3;
    const double dtx1 = d * TX1, viscous = C3C4 * TX1;
    const struct flow *fm = before.flow, *fc = here.flow, *fp = after.flow;

    for (int i = 1; i < N - 1; i++) {
        const int im = i - shift, ip = i + shift;
        const double vm = fm->velocity[along][im], vc = fc->velocity[along][i], vp = fp->velocity[along][ip];
        const double pm = C2 * (before.u[4][im] - fm->square[im]); /* pressure */
        const double pp = C2 * (after.u[4][ip] - fp->square[ip]);

        sum[0][i] += dtx1 * (after.u[0][ip] - 2.0 * here.u[0][i] + before.u[0][im]) -
                     TX2 * (after.u[1 + along][ip] - before.u[1 + along][im]);

        sum[1 + along][i] +=
            dtx1 * (after.u[1 + along][ip] - 2.0 * here.u[1 + along][i] + before.u[1 + along][im]) +
            viscous * CON43 * (vp - 2.0 * vc + vm) -
            TX2 * (after.u[1 + along][ip] * vp - before.u[1 + along][im] * vm + pp - pm);

        sum[1 + across1][i] +=
            dtx1 * (after.u[1 + across1][ip] - 2.0 * here.u[1 + across1][i] + before.u[1 + across1][im]) +
            viscous * (fp->velocity[across1][ip] - 2.0 * fc->velocity[across1][i] + fm->velocity[across1][im]) -
            TX2 * (after.u[1 + across1][ip] * vp - before.u[1 + across1][im] * vm);

        sum[1 + across2][i] +=
            dtx1 * (after.u[1 + across2][ip] - 2.0 * here.u[1 + across2][i] + before.u[1 + across2][im]) +
            viscous * (fp->velocity[across2][ip] - 2.0 * fc->velocity[across2][i] + fm->velocity[across2][im]) -
            TX2 * (after.u[1 + across2][ip] * vp - before.u[1 + across2][im] * vm);

        sum[4][i] += dtx1 * (after.u[4][ip] - 2.0 * here.u[4][i] + before.u[4][im]) +
                     viscous * (1.0 - C1C5) * (fp->qs[ip] - 2.0 * fc->qs[i] + fm->qs[im]) +
                     viscous / 6.0 * (vp * vp - 2.0 * vc * vc + vm * vm) +
                     viscous * C1C5 *
                         (after.u[4][ip] * fp->rho_i[ip] - 2.0 * here.u[4][i] * fc->rho_i[i] +
                          before.u[4][im] * fm->rho_i[im]) -
                     TX2 * ((after.u[4][ip] + pp) * vp - (before.u[4][im] + pm) * vm);
    }
}

/*
 * Fourth differences over the points -2 to +2 of a line: full inside, and one-sided for the first and last two
 * inner points, where the line's end points only count as far as they are near.
 */
static const double fourth_difference[5][5] = {
    {0.0, 0.0, 5.0, -4.0, 1.0},   {0.0, -4.0, 6.0, -4.0, 1.0}, {1.0, -4.0, 6.0, -4.0, 1.0},
    {1.0, -4.0, 6.0, -4.0, 0.0},  {1.0, -4.0, 5.0, 0.0, 0.0},
};

/* Which of them is that of index 1 <= i <= N - 2 in its line. */
static inline const double *fourth_difference_at(int i)
{
    return fourth_difference[i <= 2 ? i - 1 : i >= N - 3 ? i - N + 6 : 2];
}

static inline int clamp(int i)
{
    return i < 0 ? 0 : i > N - 1 ? N - 1 : i;
}

/* Subtracts the dissipation in x. */
static inline void add_dissipation_x(double (*restrict sum)[N], double (*w)[N])
{
    static const int ends[] = {1, 2, N - 3, N - 2};

    for (int m = 0; m < VARIABLES; m++) {
        for (int i = 3; i < N - 3; i++)
            sum[m][i] -= DSSP * (w[m][i - 2] + w[m][i + 2] - 4.0 * (w[m][i - 1] + w[m][i + 1]) + 6.0 * w[m][i]);
        for (int end = 0; end < 4; end++) {
            const int i = ends[end];
            const double *c = fourth_difference_at(i);

            for (int n = -2; n <= 2; n++)
                sum[m][i] -= DSSP * c[n + 2] * w[m][clamp(i + n)];
        }
    }
}

/* Subtracts the dissipation in y or z: w are the lines -2 to +2, of which that in the middle has index j. */
static inline void add_dissipation(double (*restrict sum)[N], double (*const w[5])[N], int j)
{
    const double *c = fourth_difference_at(j);
    const double c0 = DSSP * c[0], c1 = DSSP * c[1], c2 = DSSP * c[2], c3 = DSSP * c[3], c4 = DSSP * c[4];

    for (int m = 0; m < VARIABLES; m++) {
        const double *w0 = w[0][m], *w1 = w[1][m], *w2 = w[2][m], *w3 = w[3][m], *w4 = w[4][m];

        for (int i = 1; i < N - 1; i++)
            sum[m][i] -= c0 * w0[i] + c1 * w1[i] + c2 * w2[i] + c3 * w3[i] + c4 * w4[i];
    }
}

/* Adds the whole spatial operator, applied to u, at the inner points of a line. */
static inline void add_operator(double (*restrict sum)[N], int k, int j)
{
    double(*const y[5])[N] = {u[k][clamp(j - 2)], u[k][j - 1], u[k][j], u[k][j + 1], u[k][clamp(j + 2)]};
    double(*const z[5])[N] = {u[clamp(k - 2)][j], u[k - 1][j], u[k][j], u[k + 1][j], u[clamp(k + 2)][j]};
    const struct line here = line_at(k, j);

    add_fluxes(sum, here, here, here, 1, 0, DX);
    add_fluxes(sum, line_at(k, j - 1), here, line_at(k, j + 1), 0, 1, DY);
    add_fluxes(sum, line_at(k - 1, j), here, line_at(k + 1, j), 0, 2, DZ);
    add_dissipation_x(sum, u[k][j]);
    add_dissipation(sum, y, j);
    add_dissipation(sum, z, k);
}

void exact_rhs(void)
{
#pragma omp parallel
    {
#pragma omp for
        for (int k = 0; k < N; k++)
            for (int j = 0; j < N; j++) {
                for (int i = 0; i < N; i++) {
                    double value[VARIABLES];

                    exact_at(k, j, i, value);
                    for (int m = 0; m < VARIABLES; m++)
                        u[k][j][m][i] = value[m];
                }
                compute_flow(&flow[k][j], u[k][j]);
            }

#pragma omp for
        for (int k = 1; k < N - 1; k++)
            for (int j = 1; j < N - 1; j++) {
                double sum[VARIABLES][N] = {{0.0}};

                add_operator(sum, k, j);
                for (int m = 0; m < VARIABLES; m++)
                    for (int i = 1; i < N - 1; i++)
                        forcing[k][j][m][i] = -sum[m][i];
            }
    }
}

void compute_rhs(void)
{
#pragma omp parallel
    {
#pragma omp for
        for (int k = 0; k < N; k++)
            for (int j = 0; j < N; j++)
                compute_flow(&flow[k][j], u[k][j]);

#pragma omp for
        for (int k = 1; k < N - 1; k++)
            for (int j = 1; j < N - 1; j++) {
                double sum[VARIABLES][N];

                for (int m = 0; m < VARIABLES; m++)
                    for (int i = 0; i < N; i++)
                        sum[m][i] = forcing[k][j][m][i];
                add_operator(sum, k, j);
                for (int m = 0; m < VARIABLES; m++)
                    for (int i = 1; i < N - 1; i++)
                        rhs[k][j][m][i] = DT * sum[m][i];
            }
    }
}

void add(void)
{
#pragma omp parallel for
    for (int k = 1; k < N - 1; k++)
        for (int j = 1; j < N - 1; j++)
            for (int m = 0; m < VARIABLES; m++)
                for (int i = 1; i < N - 1; i++)
                    u[k][j][m][i] += rhs[k][j][m][i];
}

static inline bool is_face(int i)
{
    return i == 0 || i == N - 1;
}

/* Linear in t from a to b. */
static inline double between(double a, double b, double t)
{
    return t * b + (1.0 - t) * a;
}

void initialize(void)
{
#pragma omp parallel for
    for (int k = 0; k < N; k++)
        for (int j = 0; j < N; j++)
            for (int i = 0; i < N; i++) {
                const double xi = position(i), eta = position(j), zeta = position(k);
                double face[3][2][VARIABLES], value[VARIABLES];

                exact_solution(xi, eta, zeta, value);
                for (int side = 0; side < 2; side++) {
                    exact_solution(side, eta, zeta, face[0][side]);
                    exact_solution(xi, side, zeta, face[1][side]);
                    exact_solution(xi, eta, side, face[2][side]);
                }
                for (int m = 0; m < VARIABLES; m++) {
                    const double x = between(face[0][0][m], face[0][1][m], xi);
                    const double y = between(face[1][0][m], face[1][1][m], eta);
                    const double z = between(face[2][0][m], face[2][1][m], zeta);

                    u[k][j][m][i] = is_face(i) || is_face(j) || is_face(k)
                                        ? value[m]
                                        : x + y + z - x * y - x * z - y * z + x * y * z;
                }
            }
}

/* The root of the sum of squares over the number of inner points. */
static void root_mean(double sum[VARIABLES])
{
    for (int m = 0; m < VARIABLES; m++)
        sum[m] = sqrt(sum[m] / ((N - 2.0) * (N - 2.0) * (N - 2.0)));
}

/* The difference between u and the exact solution, over all points. */
static void error_norm(double sum[VARIABLES])
{
    double sums[VARIABLES] = {0.0};

#pragma omp parallel for reduction(+ : sums)
    for (int k = 0; k < N; k++)
        for (int j = 0; j < N; j++)
            for (int i = 0; i < N; i++) {
                double value[VARIABLES];

                exact_at(k, j, i, value);
                for (int m = 0; m < VARIABLES; m++) {
                    const double difference = u[k][j][m][i] - value[m];

                    sums[m] += difference * difference;
                }
            }

    for (int m = 0; m < VARIABLES; m++)
        sum[m] = sums[m];
    root_mean(sum);
}

/* The right-hand side, over the inner points. */
static void rhs_norm(double sum[VARIABLES])
{
    double sums[VARIABLES] = {0.0};

#pragma omp parallel for reduction(+ : sums)
    for (int k = 1; k < N - 1; k++)
        for (int j = 1; j < N - 1; j++)
            for (int m = 0; m < VARIABLES; m++)
                for (int i = 1; i < N - 1; i++)
                    sums[m] += rhs[k][j][m][i] * rhs[k][j][m][i];

    for (int m = 0; m < VARIABLES; m++)
        sum[m] = sums[m];
    root_mean(sum);
}

bool verify(const double residual[VARIABLES], const double error[VARIABLES], double epsilon)
{
    double xcr[VARIABLES], xce[VARIABLES];
    bool verified = true;
    char what[16];

    error_norm(xce);
    compute_rhs();
    rhs_norm(xcr);
    for (int m = 0; m < VARIABLES; m++) {
        snprintf(what, sizeof what, "residual %d", m + 1);
        verified &= npb_close(what, xcr[m] / DT, residual[m], epsilon);
    }
    for (int m = 0; m < VARIABLES; m++) {
        snprintf(what, sizeof what, "error %d", m + 1);
        verified &= npb_close(what, xce[m], error[m], epsilon);
    }
    return verified;
}
