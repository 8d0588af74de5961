/* predictor/division.h - where a line of sorted values falls apart into groups, and where it is one smear without gaps.
 *
 * The one-dimensional heart of predictor/classes.h: CLARA proposes groups, silhouette and separation decide whether they are real. Knows
 * nothing about invocations, and of time only that clocks tick; its values are logarithms, so that differences are ratios.
 */
#ifndef PCERE_PREDICTOR_DIVISION_H
#define PCERE_PREDICTOR_DIVISION_H

#include "core/error.h"

#include <stddef.h>
#include <stdint.h>

struct division_part {
    size_t first, end;       /* positions [first, end) in the sorted values */
    uint32_t smear;          /* 0, or the number (from 1) of the stretch without gaps that it was cut from */
};

/* Divide `logs` (ascending, natural logarithms, finite, `count` at least 1) into 1 to `part_limit` parts, ascending and without holes.
 *
 * A stretch is divided into the k groups of CLARA (k from 2 up to what part_limit leaves, at most 10) with the best average silhouette
 * that is at least 0.7 (Kaufman and Rousseeuw 1990, table 4: "a strong structure has been found") and whose neighbours are separated: their
 * medians differ by more than 1 % (10 % if one of them has fewer than 10 values, whose spread says little) and by more than four robust
 * standard deviations (1.4826 MAD) of the wider one, which is taken to be no less than 10 ns, where the values are logarithms of nanoseconds. What comes out is tried again, so that near groups are found beside far ones.
 * Stretches that resist, but whose 5 % and 95 % quantiles are more than a factor 2 apart, are smears: they are cut by CLARA into groups
 * of about a factor 2 as long as part_limit allows.
 *
 * ret_parts has room for part_limit. PCERE_SYSTEM: no memory. */
enum pcere_status division_find(const double *logs, size_t count, size_t part_limit, uint64_t seed, struct division_part *ret_parts,
                                size_t *ret_part_count, struct pcere_error *error);

#endif
