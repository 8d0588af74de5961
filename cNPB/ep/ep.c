/*
 * EP: pairs of Gaussian deviates, made from uniform ones by the polar method, summed and counted by square
 * annuli (NPB report, section 3.1). Threads share nothing but the final sums.
 */
#include "npb.h"
#include "params.h"
#include "randlc.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>

#define EPSILON 1e-8
#define SEED    UINT64_C(271828183)

struct sums {
    double sx, sy;     /* of the Gaussian deviates */
    int64_t pairs;     /* that were accepted */
    int64_t count[NQ]; /* of pairs with l <= max(|X|, |Y|) < l + 1 */
};

/* The uniform deviates of a thread's current batch. */
static double x[2 * NK];
#pragma omp threadprivate(x)

static struct sums gaussian_pairs(void)
{
    struct sums total;
    double sx = 0.0, sy = 0.0;
    int64_t pairs = 0, q[NQ] = {0};

#pragma omp parallel for reduction(+ : sx, sy, pairs, q[ : NQ])
    for (int batch = 0; batch < BATCHES; batch++) {
        uint64_t state = randlc_jump(SEED, RANDLC_A, UINT64_C(2) * NK * (uint64_t)batch);

        vranlc(2 * NK, &state, RANDLC_A, x);
        for (int i = 0; i < NK; i++) {
            double x1 = 2.0 * x[2 * i] - 1.0, x2 = 2.0 * x[2 * i + 1] - 1.0;
            double t = x1 * x1 + x2 * x2;

            if (t <= 1.0) {
                double scale = sqrt(-2.0 * log(t) / t);
                double gx = x1 * scale, gy = x2 * scale;

                q[(int)fmax(fabs(gx), fabs(gy))]++;
                sx += gx;
                sy += gy;
                pairs++;
            }
        }
    }

    total = (struct sums){.sx = sx, .sy = sy, .pairs = pairs};
    for (int l = 0; l < NQ; l++)
        total.count[l] = q[l];
    return total;
}

int main(void)
{
    struct npb_run run = {.name = "EP", .operation = "Random numbers generated"};
    int64_t counted = 0;
    struct sums total;
    double start;
    char size[32];

    snprintf(size, sizeof size, "2^%d pairs", LOG2_PAIRS);
    run.size = size;
    if (!npb_begin(&run, 0))
        return NPB_USAGE;

    start = npb_seconds();
    total = gaussian_pairs();
    run.seconds = npb_seconds() - start;

    printf(" Gaussian pairs: %" PRId64 "\n Counts by max(|X|, |Y|):\n", total.pairs);
    for (int l = 0; l < NQ; l++) {
        printf("  %3d  %12" PRId64 "\n", l, total.count[l]);
        counted += total.count[l];
    }

    printf(" Sum of counts %" PRId64 "   %s\n", counted, counted == total.pairs ? "ok" : "DIFFERS");
    run.verified = counted == total.pairs;
    run.verified &= npb_close("sum of X", total.sx, SX_REF, EPSILON);
    run.verified &= npb_close("sum of Y", total.sy, SY_REF, EPSILON);
    run.operations = 2.0 * NK * BATCHES;
    return npb_end(&run);
}
