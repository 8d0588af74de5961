/* predictor/line.h - PAM on a line: what clara.h says of BUILD and SWAP, for points of one coordinate that ascend.
 *
 * The points between two neighbouring medoids belong to the one up to the middle, and to the other from there on, so sums of coordinates up to each point
 * tell what any exchange gains without a look at distances: a round takes about 4 m steps for m points, where m^2 distances would have to be read. These sums are rounded otherwise than
 * those of distances. So whatever is best by less than rounding can explain is decided by sums of distances, in the order of the points: medoids are
 * those that PAM finds from the table of distances.
 */
#ifndef PCERE_PREDICTOR_LINE_H
#define PCERE_PREDICTOR_LINE_H

#include <stdbool.h>
#include <stddef.h>

struct line {
    size_t count;                /* points, at least 1 */
    double *at;                  /* [count] ascending: the caller fills them in, then calls line_sum */
    double *sums;                /* [count + 1] of the distances from the first point of those before each */
    double *rows, **row_of;      /* [(most + 2) * count], [most + 2]: what the points between a medoid and each point cost; nothing to the left, each medoid, nothing to the right */
    double *gains;               /* [3 * count] what a candidate gains */
    double *losses;              /* [most + 1] what each medoid is missed by, */
    double *costs, *most;        /* [most + 1] what the points in each interval between medoids cost, and the most that one there gains */
};

/* Room for `count` points and `most` medoids; false: no memory. line_done frees what there is in either case. */
bool line_init(struct line *line, size_t count, size_t most);
void line_done(struct line *line);
void line_sum(struct line *line);

/* The positions of k medoids by BUILD and SWAP, ascending; 1 <= k <= count, k <= most. */
void line_medoids(struct line *line, size_t k, size_t *ret_medoids);

/* ret_ends[c]: where the points end that are nearest to medoid c, one of `k` ascending positions in `at`; those in the middle belong to the lower one. */
void line_divide(const double *at, size_t count, size_t k, const size_t *medoids, size_t *ret_ends);

/* Average silhouette width of clusters that end there; a cluster of one has width 0, and clusters may be empty. */
double line_silhouette(const struct line *line, size_t k, const size_t *ends);

#endif
