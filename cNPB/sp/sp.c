/*
 * SP: implicit time steps for the Navier-Stokes equations. As in BT there is one factor for each direction; here
 * each factor is brought to diagonal form by the eigenvectors of the flux Jacobian, and in each the lines of
 * points are five independent scalar pentadiagonal systems (Pulliam and Chaussee's scheme; NPB report, section
 * 4.3). Three of them have one matrix. Each sweep is one parallel region, and each change of eigenvectors too.
 */
#include "lines.h"
#include "navier_stokes.h"
#include "npb.h"

#include <math.h>
#include <stdio.h>

#define EPSILON   1e-8
#define ROOT_HALF M_SQRT1_2

/* One matrix for each eigenvalue: v serves the first three variables, v + c and v - c one each. */
enum { MATRICES = 3 };
static const int matrix_of[VARIABLES] = {0, 0, 0, 1, 2};

/* A point's equations after elimination: x = r - c1 x' - c2 x'', with the solutions of the next two points. */
struct eliminated {
    lanes c1[MATRICES], c2[MATRICES];
    lanes r[VARIABLES];
};

/* What a point contributes to its neighbours' equations and its own. */
struct coefficients {
    lanes v, c;      /* DT TX2 times velocity and speed of sound */
    lanes diffusion; /* DT TX1 times the largest coefficient of diffusion, which is that of the energy */
};

static inline struct coefficients coefficients_at(const struct direction *in, struct point first, int n)
{
    const struct point p = point_at(in, first, n);
    const struct flow *f = &flow[p.k][p.j];

    return (struct coefficients){
        .v = DT * TX2 * load(&f->velocity[in->order[1] - 1][p.i], in->flow_lane),
        .c = DT * TX2 * load(&f->speed[p.i], in->flow_lane),
        .diffusion = DT * TX1 * (in->d + C1C5 * C3C4 * load(&f->rho_i[p.i], in->flow_lane)),
    };
}

/*
 * Solves for rhs along the lines that begin at first and its neighbours. Beyond the inner points of a line the
 * solution is zero, so the fourth differences need no rows of their own near the ends but the diagonal's.
 */
static inline void solve_lines(const struct direction *in, struct point first)
{
    const double dissipation = DT * DSSP;
    struct eliminated line[N + 1]; /* of the points -1 to N - 1 */
    struct coefficients before, here = coefficients_at(in, first, 0), after = coefficients_at(in, first, 1);
    lanes x1[VARIABLES] = {{0.0}}, x2[VARIABLES] = {{0.0}};

    line[0] = line[1] = (struct eliminated){0};
    for (int n = 1; n < N - 1; n++) {
        const struct point p = point_at(in, first, n);
        const struct eliminated *back2 = &line[n - 1], *back1 = &line[n];
        struct eliminated *now = &line[n + 1];
        lanes below, above, diagonal, a1[MATRICES], pivot[MATRICES];

        before = here;
        here = after;
        after = coefficients_at(in, first, n + 1);
        below = -before.v - before.diffusion - 4.0 * dissipation;
        above = after.v - after.diffusion - 4.0 * dissipation;
        diagonal = 1.0 + 2.0 * here.diffusion + (n == 1 || n == N - 2 ? 5.0 : 6.0) * dissipation;

        for (int s = 0; s < MATRICES; s++) {
            const double sign = s == 0 ? 0.0 : s == 1 ? 1.0 : -1.0;

            a1[s] = below - sign * before.c - dissipation * back2->c1[s];
            pivot[s] = 1.0 / (diagonal - dissipation * back2->c2[s] - a1[s] * back1->c1[s]);
            now->c1[s] = (above + sign * after.c - a1[s] * back1->c2[s]) * pivot[s];
            now->c2[s] = dissipation * pivot[s];
        }
        for (int m = 0; m < VARIABLES; m++) {
            const int s = matrix_of[m];
            const lanes r = load(&rhs[p.k][p.j][m][p.i], in->lane);

            now->r[m] = (r - dissipation * back2->r[m] - a1[s] * back1->r[m]) * pivot[s];
        }
    }

    for (int n = N - 2; n >= 1; n--) {
        const struct point p = point_at(in, first, n);
        const struct eliminated *now = &line[n + 1];

        for (int m = 0; m < VARIABLES; m++) {
            const int s = matrix_of[m];
            const lanes x = now->r[m] - now->c1[s] * x1[m] - now->c2[s] * x2[m];

            x2[m] = x1[m];
            x1[m] = x;
            store(&rhs[p.k][p.j][m][p.i], in->lane, x);
        }
    }
}

/* From changes of the variables to those of the characteristics in x. */
static void txinvr(void)
{
#pragma omp parallel for
    for (int k = 1; k < N - 1; k++)
        for (int j = 1; j < N - 1; j++) {
            const struct flow *f = &flow[k][j];
            double(*r)[N] = rhs[k][j];

            for (int i = 1; i < N - 1; i++) {
                const double rho_i = f->rho_i[i], c = f->speed[i];
                const double us = f->velocity[0][i], vs = f->velocity[1][i], ws = f->velocity[2][i];
                const double r1 = r[0][i], r2 = r[1][i], r3 = r[2][i], r4 = r[3][i], r5 = r[4][i];
                const double t1 = C2 / (c * c) * (f->qs[i] * r1 - us * r2 - vs * r3 - ws * r4 + r5);
                const double t2 = ROOT_HALF * rho_i * (us * r1 - r2);
                const double t3 = ROOT_HALF * rho_i * c * t1;

                r[0][i] = r1 - t1;
                r[1][i] = -rho_i * (ws * r1 - r4);
                r[2][i] = rho_i * (vs * r1 - r3);
                r[3][i] = t3 - t2;
                r[4][i] = t3 + t2;
            }
        }
}

/* From the characteristics in x to those in y. */
static void ninvr(void)
{
#pragma omp parallel for
    for (int k = 1; k < N - 1; k++)
        for (int j = 1; j < N - 1; j++) {
            double(*r)[N] = rhs[k][j];

            for (int i = 1; i < N - 1; i++) {
                const double r1 = r[0][i], r2 = r[1][i], r3 = r[2][i], r4 = r[3][i], r5 = r[4][i];
                const double t1 = ROOT_HALF * r3, t2 = 0.5 * (r4 + r5);

                r[0][i] = -r2;
                r[1][i] = r1;
                r[2][i] = ROOT_HALF * (r4 - r5);
                r[3][i] = t2 - t1;
                r[4][i] = t2 + t1;
            }
        }
}

/* From the characteristics in y to those in z. */
static void pinvr(void)
{
#pragma omp parallel for
    for (int k = 1; k < N - 1; k++)
        for (int j = 1; j < N - 1; j++) {
            double(*r)[N] = rhs[k][j];

            for (int i = 1; i < N - 1; i++) {
                const double r1 = r[0][i], r2 = r[1][i], r3 = r[2][i], r4 = r[3][i], r5 = r[4][i];
                const double t1 = ROOT_HALF * r1, t2 = 0.5 * (r4 + r5);

                r[0][i] = ROOT_HALF * (r4 - r5);
                r[1][i] = -r3;
                r[2][i] = r2;
                r[3][i] = t2 - t1;
                r[4][i] = t2 + t1;
            }
        }
}

/* From the characteristics in z to changes of the variables. */
static void tzetar(void)
{
#pragma omp parallel for
    for (int k = 1; k < N - 1; k++)
        for (int j = 1; j < N - 1; j++) {
            const struct flow *f = &flow[k][j];
            const double *rho = u[k][j][0];
            double(*r)[N] = rhs[k][j];

            for (int i = 1; i < N - 1; i++) {
                const double us = f->velocity[0][i], vs = f->velocity[1][i], ws = f->velocity[2][i];
                const double r1 = r[0][i], r2 = r[1][i], r3 = r[2][i], r4 = r[3][i], r5 = r[4][i];
                const double c = f->speed[i];
                const double t1 = ROOT_HALF * rho[i] / c * (r4 + r5);
                const double t2 = r3 + t1;
                const double t3 = ROOT_HALF * rho[i] * (r4 - r5);

                r[0][i] = t2;
                r[1][i] = us * t2 - rho[i] * r2;
                r[2][i] = vs * t2 + rho[i] * r1;
                r[3][i] = ws * t2 + t3;
                r[4][i] = rho[i] * (vs * r1 - us * r2) + f->qs[i] * t2 + c * c / C2 * t1 + ws * t3;
            }
        }
}

static void x_solve(void)
{
#pragma omp parallel for
    for (int k = 1; k < N - 1; k++)
        for (int j = 1; j < N - 1; j += LANES)
            solve_lines(&in_x, (struct point){k, j, 0});
}

static void y_solve(void)
{
#pragma omp parallel for
    for (int k = 1; k < N - 1; k++)
        for (int i = 1; i < N - 1; i += LANES)
            solve_lines(&in_y, (struct point){k, 0, i});
}

static void z_solve(void)
{
#pragma omp parallel for
    for (int j = 1; j < N - 1; j++)
        for (int i = 1; i < N - 1; i += LANES)
            solve_lines(&in_z, (struct point){0, j, i});
}

static void step(void)
{
    compute_rhs();
    txinvr();
    x_solve();
    ninvr();
    y_solve();
    pinvr();
    z_solve();
    tzetar();
    add();
}

int main(void)
{
    static const double residual[VARIABLES] = RESIDUAL_REF, error[VARIABLES] = ERROR_REF;
    struct npb_run run = {.name = "SP", .iterations = NITER, .operation = "floating point"};
    char size[32];
    double start;

    snprintf(size, sizeof size, "%d x %d x %d", N, N, N);
    run.size = size;
    if (!npb_begin(&run, 0))
        return NPB_USAGE;

    start = npb_seconds();
    exact_rhs();

    /* One step touches all data and code, untimed; then everything begins anew. */
    initialize();
    step();
    initialize();
    printf(" Time step: %g\n Initialization time = %.3f seconds\n\n", DT, npb_seconds() - start);

    start = npb_seconds();
    for (int it = 1; it <= NITER; it++)
        step();
    run.seconds = npb_seconds() - start;

    /* The NPB's count: (881.174 N^3 - 4683.91 N^2 + 11484.5 N - 19272.4) in a step. */
    run.operations = NITER * (((881.174 * N - 4683.91) * N + 11484.5) * N - 19272.4);
    run.verified = verify(residual, error, EPSILON);
    return npb_end(&run);
}
