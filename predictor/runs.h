/* predictor/runs.h - what a host's real runs of the program say: how long they took, how much they differ, how much of them lies outside regions.
 *
 * Knows which samples are such runs. `values` is room for a number of each of the request's samples, and is overwritten.
 */
#ifndef PCERE_PREDICTOR_RUNS_H
#define PCERE_PREDICTOR_RUNS_H

#include "predictor/predict.h"

/* A whole run on that host, with the flags and settings asked for. */
bool runs_is(const struct predict_request *request, const struct store_sample *sample);

/* Median at these threads of their wall time, or of the part outside regions, ns; 0: there is none. `values` holds all *ret_count of them, sorted. */
uint64_t runs_median(const struct predict_request *request, uint32_t threads, bool serial, double *values, size_t *ret_count);

/* Standard deviation over mean of runs that differ in nothing, pooled with what is assumed of such machines. *ret_count: how many told. */
double runs_spread(const struct predict_request *request, double *values, size_t *ret_count);

/* By how much two runs at these threads that followed each other differ, over their mean: the median of all such pairs. *ret_pairs: how many; 0: nothing is known. */
double runs_pairs(const struct predict_request *request, uint32_t threads, double *values, size_t *ret_pairs);

/* The part outside regions at these threads; where no run had so many, in proportion between the nearest below and above, or that of the nearest.
 * False: there are no runs. */
bool runs_serial(const struct predict_request *request, uint32_t threads, double *values, uint64_t *ret_ns);

/* What a run at these threads spends, on average, in regions that the manifest does not have. *ret_count: so many regions; *ret_most: which of them takes most of it, borrowed from the
 * samples; NULL: none. */
uint64_t runs_strange(const struct predict_request *request, uint32_t threads, size_t *ret_count, const char **ret_most);

/* Of the time of all runs at these threads, how long their initial threads waited for a processor, which other work had. 0: they did not, or it is not known. */
double runs_waited_ratio(const struct predict_request *request, uint32_t threads);

/* Regions that asked for as many threads in all real runs at these threads as in the capture, which had others, though replays take it that they follow what is asked. Their number;
 * *ret_most: the one that takes most of a run, borrowed from the manifest; NULL: none. */
size_t runs_fixed(const struct predict_request *request, uint32_t threads, const char **ret_most);

#endif
