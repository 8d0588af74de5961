/*
 * Lines of points in x, y or z, LANES neighbours at a time: each element of a vector belongs to a line of its
 * own, so what is written for one line solves several. Lines in x are neighbours in y, all others in x.
 *
 * Along a line its variables are ordered as density, the momentum along the line, those across, energy: in this
 * order the equations of the three directions are the same.
 */
#ifndef NPB_LINES_H
#define NPB_LINES_H

#include "navier_stokes.h"

#include <stddef.h>

enum { LANES = 2 };
typedef double lanes __attribute__((vector_size(LANES * sizeof(double))));

_Static_assert((N - 2) % LANES == 0, "the inner lines of a plane fill their vectors");

struct point {
    int k, j, i;
};

struct direction {
    struct point step;         /* to the next point of a line */
    ptrdiff_t lane, flow_lane; /* in u and rhs, and in flow: to the next line, in doubles */
    int order[VARIABLES];      /* of the variables: order[1] is the momentum along the line */
    double d;                  /* artificial diffusion */
};

enum {
    U_ROW = VARIABLES * N,
    FLOW_ROW = sizeof(struct flow) / sizeof(double),
};

static const struct direction in_x = {{0, 0, 1}, U_ROW, FLOW_ROW, {0, 1, 2, 3, 4}, DX};
static const struct direction in_y = {{0, 1, 0}, 1, 1, {0, 2, 3, 1, 4}, DY};
static const struct direction in_z = {{1, 0, 0}, 1, 1, {0, 3, 1, 2, 4}, DZ};

/* Point n of the line that begins at first. */
static inline struct point point_at(const struct direction *in, struct point first, int n)
{
    return (struct point){first.k + n * in->step.k, first.j + n * in->step.j, first.i + n * in->step.i};
}

/* A value of each line, from that of the first. */
static inline lanes load(const double *value, ptrdiff_t lane)
{
    lanes all;

    for (int l = 0; l < LANES; l++)
        all[l] = value[l * lane];
    return all;
}

static inline void store(double *value, ptrdiff_t lane, lanes all)
{
    for (int l = 0; l < LANES; l++)
        value[l * lane] = all[l];
}

#endif
