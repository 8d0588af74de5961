/* predictor/clara.h - clustering large data around medoids: PAM inside, samples around it.
 *
 * L. Kaufman and P. J. Rousseeuw, "Finding Groups in Data" (Wiley 1990), chapter 2 (PAM: BUILD and SWAP) and chapter 3 (CLARA). Medoids
 * are points of the data, which is why classes of invocations have a representative that really ran. Knows nothing about invocations.
 */
#ifndef PCERE_PREDICTOR_CLARA_H
#define PCERE_PREDICTOR_CLARA_H

#include "core/error.h"

#include <stddef.h>
#include <stdint.h>

enum clara_metric { CLARA_EUCLIDEAN, CLARA_MANHATTAN };

struct clara_points {
    const double *coordinates;   /* row-major: point i has its coordinates at [i * dimensions]; finite; standardised by the caller */
    size_t count;                /* points, at least 1 */
    size_t dimensions;           /* at least 1 */
};

struct clara_options {
    size_t clusters;             /* k: 1 to count */
    size_t samples;              /* how many samples are tried; 0: 5 */
    size_t sample_size;          /* points in a sample, at least k; 0: 40 + 2 k. With at least `count`, PAM runs once on everything */
    enum clara_metric metric;
    uint64_t seed;
    const size_t *given;         /* NULL, or the caller's own samples: samples * sample_size point numbers, ascending in each sample */
};

struct clara_result {
    size_t cluster_count;
    size_t *medoids;             /* [cluster_count] point numbers, ascending: cluster c is the one around medoids[c] */
    size_t *sizes;               /* [cluster_count] points */
    uint32_t *clusters;          /* [count] the cluster of each point */
    double objective;            /* mean dissimilarity of all points to their medoid */
    double silhouette;           /* average silhouette width over the best sample, -1 to 1; 0 for one cluster */
    size_t *sample;              /* the best sample: point numbers, ascending */
    size_t sample_count;
};

/* Cluster `points`. The first sample is random; later ones hold the best medoids so far and random others; the sample whose medoids have
 * the least objective over all points wins, the first of equals. Same input and seed, same result.
 *
 * Ties, so that results equal those of R's cluster::pam, and of cluster::clara(pamLike = TRUE) on its best sample: BUILD takes the last of
 * equally good points; SWAP takes the first of equally good exchanges, in the order of points, then of medoids, and none that gains nothing
 * beyond rounding; a point that is equally near to two medoids joins the one with the lower number.
 *
 * PCERE_USAGE: k, sample size or a given sample out of range. PCERE_DATA: a coordinate that is not finite. PCERE_SYSTEM: no memory (a
 * sample of m points takes 8 m^2 bytes). clara_result_done frees what the result holds. */
enum pcere_status clara_run(const struct clara_points *points, const struct clara_options *options, struct clara_result *ret_result,
                            struct pcere_error *error);
void clara_result_done(struct clara_result *result);

#endif
