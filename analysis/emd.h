/* analysis/emd.h - the earth mover's distance between two weighted sets of points in the plane.
 *
 * Y. Rubner, C. Tomasi and L. J. Guibas, "The Earth Mover's Distance as a Metric for Image Retrieval" (IJCV 2000). Solved exactly as a transport
 * problem by the network simplex of LEMON. The one file of C++ outside of passes/; this is its C face.
 */
#ifndef PCERE_ANALYSIS_EMD_H
#define PCERE_ANALYSIS_EMD_H

#include "core/error.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct emd_point { double x, y; uint64_t weight; };    /* finite; the weight is at least 1 */

#define EMD_POINTS_MOST 20000u
#define EMD_WEIGHT_MOST ((uint64_t)1 << 31)            /* of a whole side */

/* Least work to turn `a` into `b`, each side's weights counted as shares of its sum: mean Euclidean distance moved. Agrees with the true optimum
 * to a part in 1e12 of the largest distance. Time grows about with the square of points: 500 against 500 some tens of ms.
 * PCERE_USAGE: a side without points, with too many or too much weight; a coordinate that is not finite. PCERE_SYSTEM: no memory, or the solver gave up. */
enum pcere_status emd_distance(const struct emd_point *a, size_t a_count, const struct emd_point *b, size_t b_count, double *ret_distance,
                               struct pcere_error *error);

#ifdef __cplusplus
}
#endif

#endif
