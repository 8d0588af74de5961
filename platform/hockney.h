/* platform/hockney.h - straight lines through times of transfers: t = alpha + beta * bytes (Hockney 1994; the signature paper's Eq. 2).
 *
 * Times span orders of magnitude, so that what is made small is the sum of squared *relative* residuals. alpha and beta are never negative.
 */
#ifndef PCERE_PLATFORM_HOCKNEY_H
#define PCERE_PLATFORM_HOCKNEY_H

#include "core/error.h"
#include "platform/signature.h"

#include <stddef.h>
#include <stdint.h>

struct hockney_line {
    double alpha_ns, beta_ns_per_byte;
    double r2;                      /* 1 - residual over total sum of squares of the times; 1 for one point */
    double worst_residual_ratio;    /* largest |t - fit| / t */
};

/* `count` at least 1 (asserted), times above 0, sizes above 0. One point: alpha 0. All sizes equal: alpha 0 and their mean. */
struct hockney_line hockney_fit(const uint64_t *bytes, const double *time_ns, size_t count);

/* One line for all points into transfer->alpha_ns and so on, and a line for each range that `edges` (ascending sizes: capacities of the caches) part
 * the sizes into, as pieces; ranges without points are left out, ranges with one are joined to the one before. transfer->points must be there. */
enum pcere_status hockney_pieces(struct platform_transfer *transfer, const uint64_t *edges, size_t edge_count, struct pcere_error *error);

/* Time of a transfer by the pieces, or by the one line if there are none; between and beyond pieces the nearest one holds. */
double hockney_time_ns(const struct platform_transfer *transfer, uint64_t bytes);

#endif
