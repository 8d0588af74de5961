/*
 * FT: the heat equation on a periodic box, solved in frequency space by three-dimensional Fourier transforms
 * (NPB report, section 3.4). Each of a transform's three directions is one parallel region.
 */
#include "npb.h"
#include "params.h"
#include "fft.h"
#include "randlc.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>

#define PI      3.14159265358979323846
#define ALPHA   1e-6 /* the equation is du/dt = ALPHA (d^2/dx^2 + d^2/dy^2 + d^2/dz^2) u */
#define SEED    314159265
#define EPSILON 1e-12

/* Points that enter a checksum. */
enum { SAMPLES = 1024 };

typedef struct complex grid[NZ][NY][NX];

static grid u0;                    /* the solution in frequency space */
static grid u1;                    /* the same in space, and what is on the way there */
static double twiddle[NZ][NY][NX]; /* by what each frequency decays in a step */

static const struct complex checksums_ref[NITER] = {CHECKSUMS_REF};

static void fft_init(void)
{
    for (int j = 0; j < LONGEST; j++) {
        double angle = -2.0 * PI * j / LONGEST;

        root[j] = (struct complex){cos(angle), sin(angle)};
    }
}

/* One direction's part of the decay: its frequencies are 0 to n / 2 - 1, then -n / 2 to -1. */
static inline double decay(int index, int n)
{
    const double frequency = index < n / 2 ? index : index - n;

    return exp(-4.0 * ALPHA * PI * PI * frequency * frequency);
}

/* The decay in a step, exp(-4 ALPHA pi^2 (kx^2 + ky^2 + kz^2)). */
static void compute_indexmap(void)
{
#pragma omp parallel
    {
        double x_decay[NX];

        for (int i = 0; i < NX; i++)
            x_decay[i] = decay(i, NX);

#pragma omp for
        for (int k = 0; k < NZ; k++)
            for (int j = 0; j < NY; j++) {
                const double yz_decay = decay(k, NZ) * decay(j, NY);

                for (int i = 0; i < NX; i++)
                    twiddle[k][j][i] = yz_decay * x_decay[i];
            }
    }
}

/* Fills u1 with random numbers in the order of the indices; each plane jumps to its place in the sequence. */
static void compute_initial_conditions(void)
{
#pragma omp parallel for
    for (int k = 0; k < NZ; k++) {
        uint64_t state = randlc_jump(SEED, RANDLC_A, (uint64_t)k * (2 * NX * NY));
        double row[2 * NX];

        for (int j = 0; j < NY; j++) {
            vranlc(2 * NX, &state, RANDLC_A, row);
            for (int i = 0; i < NX; i++)
                u1[k][j][i] = (struct complex){row[2 * i], row[2 * i + 1]};
        }
    }
}

/* One time step in frequency space, and a copy of it to be transformed. */
static void evolve(void)
{
#pragma omp parallel for
    for (int k = 0; k < NZ; k++)
        for (int j = 0; j < NY; j++)
            for (int i = 0; i < NX; i++) {
                u0[k][j][i].re *= twiddle[k][j][i];
                u0[k][j][i].im *= twiddle[k][j][i];
                u1[k][j][i] = u0[k][j][i];
            }
}

/* Transforms along x, in place. */
static void cffts1(enum direction direction, grid x)
{
#pragma omp parallel for
    for (int k = 0; k < NZ; k++)
        for (int j = 0; j < NY; j += BLOCK)
            transform(direction, NX, x[k][j], x[k][j], 1, NX);
}

/* Transforms along y, in place. */
static void cffts2(enum direction direction, grid x)
{
#pragma omp parallel for
    for (int k = 0; k < NZ; k++)
        for (int i = 0; i < NX; i += BLOCK)
            transform(direction, NY, &x[k][0][i], &x[k][0][i], NX, 1);
}

/* Transforms x along z to y, which may be x. */
static void cffts3(enum direction direction, grid x, grid y)
{
#pragma omp parallel for
    for (int j = 0; j < NY; j++)
        for (int i = 0; i < NX; i += BLOCK)
            transform(direction, NZ, &x[0][j][i], &y[0][j][i], NX * NY, 1);
}

/* The mean over the box, but of SAMPLES points only. */
static struct complex checksum(void)
{
    const double points = (double)NX * NY * NZ;
    double re = 0.0, im = 0.0;

#pragma omp parallel for reduction(+ : re, im)
    for (int j = 1; j <= SAMPLES; j++) {
        re += u1[5 * j % NZ][3 * j % NY][j % NX].re;
        im += u1[5 * j % NZ][3 * j % NY][j % NX].im;
    }
    return (struct complex){re / points, im / points};
}

/* Makes the tables and the initial state, and transforms the latter to frequency space. */
static void setup(void)
{
    compute_indexmap();
    compute_initial_conditions();
    fft_init();
    cffts1(FORWARD, u1);
    cffts2(FORWARD, u1);
    cffts3(FORWARD, u1, u0);
}

/* One time step; returns the checksum after it. */
static struct complex step(void)
{
    evolve();
    cffts3(INVERSE, u1, u1);
    cffts2(INVERSE, u1);
    cffts1(INVERSE, u1);
    return checksum();
}

static bool verify(const struct complex sums[NITER])
{
    bool verified = true;

    for (int it = 0; it < NITER; it++) {
        char what[16];

        snprintf(what, sizeof what, "step %d re", it + 1);
        if (!npb_close(what, sums[it].re, checksums_ref[it].re, EPSILON))
            verified = false;
        snprintf(what, sizeof what, "step %d im", it + 1);
        if (!npb_close(what, sums[it].im, checksums_ref[it].im, EPSILON))
            verified = false;
    }
    return verified;
}

int main(void)
{
    struct npb_run run = {.name = "FT", .iterations = NITER, .operation = "floating point"};
    const double points = (double)NX * NY * NZ;
    struct complex sums[NITER];
    char size[32];
    double start;

    snprintf(size, sizeof size, "%d x %d x %d", NX, NY, NZ);
    run.size = size;
    if (!npb_begin(&run, 0))
        return NPB_USAGE;

    /* Touches all data and code, untimed; then everything begins anew. */
    start = npb_seconds();
    setup();
    printf(" Initialization time = %.3f seconds\n\n", npb_seconds() - start);

    start = npb_seconds();
    setup();
    for (int it = 0; it < NITER; it++)
        sums[it] = step();
    run.seconds = npb_seconds() - start;

    /* The NPB's count: N (14.8157 + 7.19641 ln N + (5.23518 + 7.21113 ln N) NITER) for N points. */
    run.operations = points * (14.8157 + 7.19641 * log(points) + (5.23518 + 7.21113 * log(points)) * NITER);
    run.verified = verify(sums);
    return npb_end(&run);
}
