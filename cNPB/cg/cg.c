/*
 * CG: the smallest eigenvalue of a large sparse symmetric matrix, estimated by inverse iteration, whose
 * linear systems are solved by 25 steps of the conjugate gradient method (NPB report, section 3.3).
 * Each step of the method is one parallel region.
 */
#include "npb.h"
#include "params.h"
#include "makea.h"
#include "randlc.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>

#define EPSILON 1e-10

/* The matrix, by rows (see makea.h). */
static int rowstr[NA + 1];
static int colidx[NZ];
static double a[NZ];

static double x[NA]; /* right-hand side */
static double z[NA]; /* solution */
static double p[NA]; /* search direction */
static double q[NA]; /* A p */
static double r[NA]; /* residual */

/* Row j of the matrix times the vector y. */
static inline double row_times(int j, const double y[])
{
    double sum = 0.0;

    for (int k = rowstr[j]; k < rowstr[j + 1]; k++)
        sum += a[k] * y[colidx[k]];
    return sum;
}

/* x is all ones, the rest zero. */
static void set_initial_vectors(void)
{
#pragma omp parallel for
    for (int j = 0; j < NA; j++) {
        x[j] = 1.0;
        z[j] = 0.0;
        p[j] = 0.0;
        q[j] = 0.0;
        r[j] = 0.0;
    }
}

/* Solves A z = x approximately; returns the norm ||x - A z||. */
static double conj_grad(void)
{
    double rho = 0.0, sum = 0.0;

#pragma omp parallel for reduction(+ : rho)
    for (int j = 0; j < NA; j++) {
        q[j] = 0.0;
        z[j] = 0.0;
        r[j] = x[j];
        p[j] = x[j];
        rho += x[j] * x[j];
    }

    for (int cgit = 1; cgit <= CGITMAX; cgit++) {
        double rho0 = rho, d = 0.0;

        rho = 0.0;
#pragma omp parallel
        {
            double alpha, beta;

#pragma omp for reduction(+ : d)
            for (int j = 0; j < NA; j++) {
                q[j] = row_times(j, p);
                d += p[j] * q[j];
            }

            alpha = rho0 / d;
#pragma omp for reduction(+ : rho)
            for (int j = 0; j < NA; j++) {
                z[j] += alpha * p[j];
                r[j] -= alpha * q[j];
                rho += r[j] * r[j];
            }

            beta = rho / rho0;
#pragma omp for
            for (int j = 0; j < NA; j++)
                p[j] = r[j] + beta * p[j];
        }
    }

#pragma omp parallel for reduction(+ : sum)
    for (int j = 0; j < NA; j++) {
        double d;

        r[j] = row_times(j, z);
        d = x[j] - r[j];
        sum += d * d;
    }
    return sqrt(sum);
}

/* One step of the inverse iteration: solves, makes z, normalised, the next x. Returns the estimate zeta. */
static double inverse_iteration(double *rnorm)
{
    double xz = 0.0, zz = 0.0, scale;

    *rnorm = conj_grad();

#pragma omp parallel for reduction(+ : xz, zz)
    for (int j = 0; j < NA; j++) {
        xz += x[j] * z[j];
        zz += z[j] * z[j];
    }

    scale = 1.0 / sqrt(zz);
#pragma omp parallel for
    for (int j = 0; j < NA; j++)
        x[j] = scale * z[j];

    return SHIFT + 1.0 / xz;
}

int main(void)
{
    struct npb_run run = {.name = "CG", .iterations = NITER, .operation = "floating point"};
    const double terms = NONZER * (NONZER + 1.0);
    uint64_t tran = 314159265;
    double zeta = 0.0, rnorm, start;
    char size[16];
    int nonzeros;

    snprintf(size, sizeof size, "%d", NA);
    run.size = size;
    if (!npb_begin(&run, 0))
        return NPB_USAGE;

    start = npb_seconds();
    randlc(&tran, RANDLC_A); /* the NPB begin with the second number */
    nonzeros = makea(rowstr, colidx, a, &tran);

    /* One step touches all data and code, untimed; then everything begins anew. */
    set_initial_vectors();
    inverse_iteration(&rnorm);
    set_initial_vectors();
    printf(" Nonzeros: %d\n Initialization time = %.3f seconds\n\n", nonzeros, npb_seconds() - start);

    printf("   iteration           ||r||                 zeta\n");
    start = npb_seconds();
    for (int it = 1; it <= NITER; it++) {
        zeta = inverse_iteration(&rnorm);
        printf("    %5d       %20.14E%20.13f\n", it, rnorm, zeta);
    }
    run.seconds = npb_seconds() - start;

    printf("\n");
    run.operations = 2.0 * NITER * NA * (3.0 + terms + CGITMAX * (5.0 + terms) + 3.0);
    run.verified = npb_close("zeta", zeta, ZETA_REF, EPSILON);
    return npb_end(&run);
}
