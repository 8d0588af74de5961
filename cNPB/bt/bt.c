/*
 * BT: implicit time steps for the Navier-Stokes equations. The implicit operator is approximately factored into
 * one factor for each direction, and in each the lines of points are independent block tridiagonal systems of
 * 5 x 5 blocks (Beam and Warming's scheme; NPB report, section 4.3). Each sweep is one parallel region.
 *
 * A thread takes a few neighbouring lines at once, builds their blocks point by point while it eliminates, and
 * keeps on its stack just what elimination leaves of a line.
 */
#include "lines.h"
#include "navier_stokes.h"
#include "npb.h"

#include <stdio.h>

#define EPSILON 1e-8

typedef lanes block[VARIABLES][VARIABLES];

/* What a point contributes to its own equation, and with its sign changed to that of the next point. */
struct blocks {
    block minus_a;
    block b;
};

/* A point's equation after elimination: x = r - c x', where x' is the next point's solution. */
struct eliminated {
    block c;
    lanes r[VARIABLES];
};

/*
 * Makes the contributions of point n from the Jacobians there, fjac of the flux and njac of the viscous terms.
 * That to the equation of the point before is c.
 */
static inline void build_blocks(struct blocks *restrict out, block *restrict c, const struct direction *in,
                                struct point first, int n)
{
    const struct point p = point_at(in, first, n);
    const struct flow *f = &flow[p.k][p.j];
    const lanes rho_i = load(&f->rho_i[p.i], in->flow_lane);
    const lanes v1 = load(&f->velocity[in->order[1] - 1][p.i], in->flow_lane);
    const lanes v2 = load(&f->velocity[in->order[2] - 1][p.i], in->flow_lane);
    const lanes v3 = load(&f->velocity[in->order[3] - 1][p.i], in->flow_lane);
    const lanes qs = load(&f->qs[p.i], in->flow_lane);
    const lanes e = load(&u[p.k][p.j][4][p.i], in->lane) * rho_i;
    const lanes mu = C3C4 * rho_i;
    const lanes zero = {0.0};

    const block fjac = {
        {zero, 1.0 + zero, zero, zero, zero},
        {C2 * qs - v1 * v1, (2.0 - C2) * v1, -C2 * v2, -C2 * v3, C2 + zero},
        {-v1 * v2, v2, v1, zero, zero},
        {-v1 * v3, v3, zero, v1, zero},
        {(2.0 * C2 * qs - C1 * e) * v1, C1 * e - C2 * (v1 * v1 + qs), -C2 * v1 * v2, -C2 * v1 * v3, C1 * v1},
    };
    const block njac = {
        {zero, zero, zero, zero, zero},
        {-CON43 * mu * v1, CON43 * mu, zero, zero, zero},
        {-mu * v2, zero, mu, zero, zero},
        {-mu * v3, zero, zero, mu, zero},
        {mu * ((C1C5 - CON43) * v1 * v1 + (C1C5 - 1.0) * (v2 * v2 + v3 * v3) - C1C5 * e),
         (CON43 - C1C5) * mu * v1, (1.0 - C1C5) * mu * v2, (1.0 - C1C5) * mu * v3, C1C5 * mu},
    };

    for (int row = 0; row < VARIABLES; row++)
        for (int col = 0; col < VARIABLES; col++) {
            const double unit = row == col ? 1.0 : 0.0;
            const lanes flux = DT * TX2 * fjac[row][col];
            const lanes viscous = DT * TX1 * njac[row][col] + DT * TX1 * in->d * unit;

            out->minus_a[row][col] = flux + viscous;
            out->b[row][col] = 2.0 * viscous + unit;
            (*c)[row][col] = flux - viscous;
        }
}

/* r += a x */
static inline void matvec_add(lanes r[VARIABLES], block *a, const lanes x[VARIABLES])
{
    for (int row = 0; row < VARIABLES; row++)
        for (int col = 0; col < VARIABLES; col++)
            r[row] += (*a)[row][col] * x[col];
}

/* r += a x for a row of a block */
static inline void row_add(lanes r[VARIABLES], lanes a, const lanes x[VARIABLES])
{
    for (int col = 0; col < VARIABLES; col++)
        r[col] += a * x[col];
}

/* b += a c, where a is zero where both Jacobians are. */
static inline void matmul_add(block *restrict b, block *a, block *c)
{
    static const int nonzero[VARIABLES] = {2, 5, 3, 2, 5}; /* first columns of a row; and a[3][3] */

    for (int row = 0; row < VARIABLES; row++)
        for (int col = 0; col < nonzero[row]; col++)
            row_add((*b)[row], (*a)[row][col], (*c)[col]);
    row_add((*b)[3], (*a)[3][3], (*c)[3]);
}

/* b becomes its factors L U, with the inverse of U's diagonal. No pivoting: its diagonal dominates. */
static inline void factor(block *b)
{
    for (int p = 0; p < VARIABLES; p++) {
        (*b)[p][p] = 1.0 / (*b)[p][p];
        for (int row = p + 1; row < VARIABLES; row++) {
            (*b)[row][p] *= (*b)[p][p];
            for (int col = p + 1; col < VARIABLES; col++)
                (*b)[row][col] -= (*b)[row][p] * (*b)[p][col];
        }
    }
}

/* x becomes (L U)^-1 x. */
static inline void substitute(block *lu, lanes x[VARIABLES])
{
    for (int p = 0; p < VARIABLES; p++)
        for (int row = p + 1; row < VARIABLES; row++)
            x[row] -= (*lu)[row][p] * x[p];
    for (int p = VARIABLES - 1; p >= 0; p--) {
        x[p] *= (*lu)[p][p];
        for (int row = 0; row < p; row++)
            x[row] -= (*lu)[row][p] * x[p];
    }
}

/* c and r become b^-1 c and b^-1 r. */
static inline void binvcrhs(block *b, block *c, lanes r[VARIABLES])
{
    factor(b);
    for (int col = 0; col < VARIABLES; col++) {
        lanes x[VARIABLES];

        for (int row = 0; row < VARIABLES; row++)
            x[row] = (*c)[row][col];
        substitute(b, x);
        for (int row = 0; row < VARIABLES; row++)
            (*c)[row][col] = x[row];
    }
    substitute(b, r);
}

/*
 * Solves for rhs along the lines that begin at first and its neighbours: a x(n-1) + b x(n) + c x(n+1) = rhs(n),
 * where x is zero at both ends of the line.
 */
static inline void solve_lines(const struct direction *in, struct point first)
{
    struct eliminated line[N - 1];
    struct blocks ring[2]; /* of the points n - 1 and n, then n and n + 1 */
    lanes x[VARIABLES] = {{0.0}};

    build_blocks(&ring[0], &line[0].c, in, first, 0);
    build_blocks(&ring[1], &line[0].c, in, first, 1);
    line[0] = (struct eliminated){0};

    for (int n = 1; n < N - 1; n++) {
        struct blocks *before = &ring[(n - 1) % 2], *here = &ring[n % 2];
        const struct point p = point_at(in, first, n);

        for (int m = 0; m < VARIABLES; m++)
            line[n].r[m] = load(&rhs[p.k][p.j][in->order[m]][p.i], in->lane);
        matvec_add(line[n].r, &before->minus_a, line[n - 1].r);
        matmul_add(&here->b, &before->minus_a, &line[n - 1].c);
        build_blocks(before, &line[n].c, in, first, n + 1);
        binvcrhs(&here->b, &line[n].c, line[n].r);
    }

    for (int n = N - 2; n >= 1; n--) {
        const struct point p = point_at(in, first, n);
        lanes next[VARIABLES];

        for (int m = 0; m < VARIABLES; m++) {
            next[m] = line[n].r[m];
            for (int col = 0; col < VARIABLES; col++)
                next[m] -= line[n].c[m][col] * x[col];
        }
        for (int m = 0; m < VARIABLES; m++) {
            x[m] = next[m];
            store(&rhs[p.k][p.j][in->order[m]][p.i], in->lane, x[m]);
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
    x_solve();
    y_solve();
    z_solve();
    add();
}

int main(void)
{
    static const double residual[VARIABLES] = RESIDUAL_REF, error[VARIABLES] = ERROR_REF;
    struct npb_run run = {.name = "BT", .iterations = NITER, .operation = "floating point"};
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

    /* The NPB's count: (3478.8 N^3 - 17655.7 N^2 + 28023.7 N) in a step. */
    run.operations = NITER * (((3478.8 * N - 17655.7) * N + 28023.7) * N);
    run.verified = verify(residual, error, EPSILON);
    return npb_end(&run);
}
