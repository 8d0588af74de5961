/*
 * MG: the V-cycle multigrid method on a periodic cube, for the Poisson equation with 20 point charges
 * (NPB report, section 3.2). Each operator is one parallel region, called for every level of the grid.
 *
 * The four operators are 27-point stencils whose coefficients depend on the distance alone. So all of them
 * first add up, along a line of cells, the neighbours of equal distance in the plane across the line, in
 * private line buffers; every buffered sum then serves three cells.
 */
#include "npb.h"
#include "params.h"
#include "randlc.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>

#define EPSILON 1e-8

enum { CHARGES = 10 }; /* of either sign */

/* The solution u and the residual r on all levels, one after the other, and the right-hand side v. */
static double u_cells[CELLS];
static double r_cells[CELLS];
static double v_cells[M * M * M];

/* Where rows and planes begin: levels differ in size, and yet u[level][i3][i2][i1] is a cell. */
static double *u_rows[ROWS], *r_rows[ROWS], *v_rows[M * M];
static double **u_planes[PLANES], **r_planes[PLANES], **v_planes[M];
static double ***u[LT + 1], ***r[LT + 1], ***v;

/* Cells in each direction on a level, ghost layer included. */
static inline int cells_of(int level)
{
    return (1 << level) + 2;
}

/* Lets planes and rows lead to the n^3 cells. */
static void index_cells(double **planes[], double *rows[], double cells[], int n)
{
    for (int i3 = 0; i3 < n; i3++) {
        planes[i3] = &rows[i3 * n];
        for (int i2 = 0; i2 < n; i2++)
            planes[i3][i2] = &cells[(i3 * n + i2) * n];
    }
}

static void setup(void)
{
    int plane = 0, row = 0, cell = 0;

    for (int level = LT; level >= 1; level--) {
        int n = cells_of(level);

        index_cells(&u_planes[plane], &u_rows[row], &u_cells[cell], n);
        index_cells(&r_planes[plane], &r_rows[row], &r_cells[cell], n);
        u[level] = &u_planes[plane];
        r[level] = &r_planes[plane];
        plane += n;
        row += n * n;
        cell += n * n * n;
    }
    index_cells(v_planes, v_rows, v_cells, M);
    v = v_planes;
}

/* Sets a grid to zero, ghost layer included. */
static void zero3(double ***z, int n)
{
#pragma omp parallel for
    for (int i3 = 0; i3 < n; i3++)
        for (int i2 = 0; i2 < n; i2++)
            for (int i1 = 0; i1 < n; i1++)
                z[i3][i2][i1] = 0.0;
}

/* Copies the faces of the cube to the ghost layers opposite: the grid is periodic. */
static void comm3(double ***z, int n)
{
#pragma omp parallel
    {
#pragma omp for
        for (int i3 = 1; i3 < n - 1; i3++) {
            for (int i2 = 1; i2 < n - 1; i2++) {
                z[i3][i2][0] = z[i3][i2][n - 2];
                z[i3][i2][n - 1] = z[i3][i2][1];
            }
            for (int i1 = 0; i1 < n; i1++) {
                z[i3][0][i1] = z[i3][n - 2][i1];
                z[i3][n - 1][i1] = z[i3][1][i1];
            }
        }

#pragma omp for
        for (int i2 = 0; i2 < n; i2++)
            for (int i1 = 0; i1 < n; i1++) {
                z[0][i2][i1] = z[n - 2][i2][i1];
                z[n - 1][i2][i1] = z[1][i2][i1];
            }
    }
}

/* r = v - A u. The residual r may be v itself. */
static void resid(double ***uu, double ***vv, double ***rr, int n)
{
#pragma omp parallel for
    for (int i3 = 1; i3 < n - 1; i3++) {
        double u1[M], u2[M];

        for (int i2 = 1; i2 < n - 1; i2++) {
            for (int i1 = 0; i1 < n; i1++) {
                u1[i1] = uu[i3][i2 - 1][i1] + uu[i3][i2 + 1][i1] + uu[i3 - 1][i2][i1] + uu[i3 + 1][i2][i1];
                u2[i1] = uu[i3 - 1][i2 - 1][i1] + uu[i3 - 1][i2 + 1][i1] + uu[i3 + 1][i2 - 1][i1] +
                         uu[i3 + 1][i2 + 1][i1];
            }
            for (int i1 = 1; i1 < n - 1; i1++)
                rr[i3][i2][i1] = vv[i3][i2][i1] - A0 * uu[i3][i2][i1] -
                                 A2 * (u2[i1] + u1[i1 - 1] + u1[i1 + 1]) -
                                 A3 * (u2[i1 - 1] + u2[i1 + 1]);
        }
    }
    comm3(rr, n);
}

/* u = u + S r: the smoother. */
static void psinv(double ***rr, double ***uu, int n)
{
#pragma omp parallel for
    for (int i3 = 1; i3 < n - 1; i3++) {
        double r1[M], r2[M];

        for (int i2 = 1; i2 < n - 1; i2++) {
            for (int i1 = 0; i1 < n; i1++) {
                r1[i1] = rr[i3][i2 - 1][i1] + rr[i3][i2 + 1][i1] + rr[i3 - 1][i2][i1] + rr[i3 + 1][i2][i1];
                r2[i1] = rr[i3 - 1][i2 - 1][i1] + rr[i3 - 1][i2 + 1][i1] + rr[i3 + 1][i2 - 1][i1] +
                         rr[i3 + 1][i2 + 1][i1];
            }
            for (int i1 = 1; i1 < n - 1; i1++)
                uu[i3][i2][i1] += C0 * rr[i3][i2][i1] +
                                  C1 * (rr[i3][i2][i1 - 1] + rr[i3][i2][i1 + 1] + r1[i1]) +
                                  C2 * (r2[i1] + r1[i1 - 1] + r1[i1 + 1]);
        }
    }
    comm3(uu, n);
}

/* coarse = P fine: half weighting. Coarse cell j lies on the fine cell 2 j; the coarse grid has n cells. */
static void rprj3(double ***fine, double ***coarse, int n)
{
#pragma omp parallel for
    for (int j3 = 1; j3 < n - 1; j3++) {
        double x1[M], y1[M];
        int i3 = 2 * j3;

        for (int j2 = 1; j2 < n - 1; j2++) {
            int i2 = 2 * j2;

            for (int i1 = 1; i1 < 2 * n - 2; i1++) {
                x1[i1] = fine[i3][i2 - 1][i1] + fine[i3][i2 + 1][i1] + fine[i3 - 1][i2][i1] +
                         fine[i3 + 1][i2][i1];
                y1[i1] = fine[i3 - 1][i2 - 1][i1] + fine[i3 - 1][i2 + 1][i1] + fine[i3 + 1][i2 - 1][i1] +
                         fine[i3 + 1][i2 + 1][i1];
            }
            for (int j1 = 1; j1 < n - 1; j1++) {
                int i1 = 2 * j1;

                coarse[j3][j2][j1] =
                    0.5 * fine[i3][i2][i1] +
                    0.25 * (fine[i3][i2][i1 - 1] + fine[i3][i2][i1 + 1] + x1[i1]) +
                    0.125 * (x1[i1 - 1] + x1[i1 + 1] + y1[i1]) + 0.0625 * (y1[i1 - 1] + y1[i1 + 1]);
            }
        }
    }
    comm3(coarse, n);
}

/* fine = fine + Q coarse: trilinear interpolation. The coarse grid has n cells in each direction. */
static void interp(double ***coarse, double ***fine, int n)
{
#pragma omp parallel for
    for (int j3 = 0; j3 < n - 1; j3++) {
        double z1[M], z2[M], z3[M];
        int i3 = 2 * j3;

        for (int j2 = 0; j2 < n - 1; j2++) {
            int i2 = 2 * j2;

            for (int j1 = 0; j1 < n; j1++) {
                z1[j1] = coarse[j3][j2 + 1][j1] + coarse[j3][j2][j1];
                z2[j1] = coarse[j3 + 1][j2][j1] + coarse[j3][j2][j1];
                z3[j1] = coarse[j3 + 1][j2 + 1][j1] + coarse[j3 + 1][j2][j1] + z1[j1];
            }
            for (int j1 = 0; j1 < n - 1; j1++) {
                fine[i3][i2][2 * j1] += coarse[j3][j2][j1];
                fine[i3][i2][2 * j1 + 1] += 0.5 * (coarse[j3][j2][j1 + 1] + coarse[j3][j2][j1]);
            }
            for (int j1 = 0; j1 < n - 1; j1++) {
                fine[i3][i2 + 1][2 * j1] += 0.5 * z1[j1];
                fine[i3][i2 + 1][2 * j1 + 1] += 0.25 * (z1[j1] + z1[j1 + 1]);
            }
            for (int j1 = 0; j1 < n - 1; j1++) {
                fine[i3 + 1][i2][2 * j1] += 0.5 * z2[j1];
                fine[i3 + 1][i2][2 * j1 + 1] += 0.25 * (z2[j1] + z2[j1 + 1]);
            }
            for (int j1 = 0; j1 < n - 1; j1++) {
                fine[i3 + 1][i2 + 1][2 * j1] += 0.25 * z3[j1];
                fine[i3 + 1][i2 + 1][2 * j1 + 1] += 0.125 * (z3[j1] + z3[j1 + 1]);
            }
        }
    }
}

/* Returns the L2 norm over the inner cells (root of the mean square) and sets ret_max to the largest |z|. */
static double norm2u3(double ***z, int n, double *ret_max)
{
    const double cells = (n - 2.0) * (n - 2.0) * (n - 2.0);
    double sum = 0.0, max = 0.0;

#pragma omp parallel for reduction(+ : sum) reduction(max : max)
    for (int i3 = 1; i3 < n - 1; i3++)
        for (int i2 = 1; i2 < n - 1; i2++)
            for (int i1 = 1; i1 < n - 1; i1++) {
                double magnitude = fabs(z[i3][i2][i1]);

                sum += magnitude * magnitude;
                if (magnitude > max)
                    max = magnitude;
            }

    *ret_max = max;
    return sqrt(sum / cells);
}

struct charge {
    double value;
    double *cell;
};

/* Keeps in best the CHARGES largest values seen, in falling order. */
static void keep_largest(struct charge best[], double value, double *cell)
{
    int place = CHARGES - 1;

    for (; place > 0 && best[place - 1].value < value; place--)
        best[place] = best[place - 1];
    best[place] = (struct charge){value, cell};
}

/*
 * The right-hand side: fills the inner cells with random numbers in the order of their indices, then puts
 * +1 where the ten largest were, -1 where the ten smallest were, and 0 everywhere else.
 */
static void zran3(double ***z, int n)
{
    struct charge largest[CHARGES], smallest[CHARGES]; /* smallest: of the negated values */
    uint64_t state = 314159265;

    for (int i = 0; i < CHARGES; i++) {
        largest[i] = (struct charge){0.0, NULL};
        smallest[i] = (struct charge){-1.0, NULL};
    }

    for (int i3 = 1; i3 < n - 1; i3++)
        for (int i2 = 1; i2 < n - 1; i2++) {
            double *row = z[i3][i2];

            vranlc((size_t)(n - 2), &state, RANDLC_A, &row[1]);
            for (int i1 = 1; i1 < n - 1; i1++) {
                if (row[i1] > largest[CHARGES - 1].value)
                    keep_largest(largest, row[i1], &row[i1]);
                if (-row[i1] > smallest[CHARGES - 1].value)
                    keep_largest(smallest, -row[i1], &row[i1]);
            }
        }

    zero3(z, n);
    for (int i = 0; i < CHARGES; i++) {
        *largest[i].cell = +1.0;
        *smallest[i].cell = -1.0;
    }
    comm3(z, n);
}

/* One V-cycle: u gains the correction for the residual r of the finest level. */
static void mg3p(void)
{
    for (int level = LT; level > 1; level--)
        rprj3(r[level], r[level - 1], cells_of(level - 1));

    zero3(u[1], cells_of(1));
    psinv(r[1], u[1], cells_of(1));

    for (int level = 2; level < LT; level++) {
        int n = cells_of(level);

        zero3(u[level], n);
        interp(u[level - 1], u[level], cells_of(level - 1));
        resid(u[level], r[level], r[level], n);
        psinv(r[level], u[level], n);
    }

    interp(u[LT - 1], u[LT], cells_of(LT - 1));
    resid(u[LT], v, r[LT], M);
    psinv(r[LT], u[LT], M);
}

int main(void)
{
    struct npb_run run = {.name = "MG", .iterations = NIT, .operation = "floating point"};
    double rnm2, rnmu, start;
    char size[32];

    snprintf(size, sizeof size, "%d x %d x %d", NX, NX, NX);
    run.size = size;
    if (!npb_begin(&run, 0))
        return NPB_USAGE;

    start = npb_seconds();
    setup();

    /* One V-cycle touches all data and code, untimed; then everything begins anew. */
    zero3(u[LT], M);
    zran3(v, M);
    norm2u3(v, M, &rnmu);
    resid(u[LT], v, r[LT], M);
    mg3p();
    resid(u[LT], v, r[LT], M);
    zero3(u[LT], M);
    zran3(v, M);
    printf(" Initialization time = %.3f seconds\n\n", npb_seconds() - start);

    start = npb_seconds();
    resid(u[LT], v, r[LT], M);
    norm2u3(r[LT], M, &rnmu);
    for (int it = 1; it <= NIT; it++) {
        mg3p();
        resid(u[LT], v, r[LT], M);
    }
    rnm2 = norm2u3(r[LT], M, &rnmu);
    run.seconds = npb_seconds() - start;

    printf(" Largest residual: %.14e\n", rnmu);
    run.operations = 58.0 * NIT * NX * NX * NX;
    run.verified = npb_close("L2 norm", rnm2, RNM2_REF, EPSILON);
    return npb_end(&run);
}
