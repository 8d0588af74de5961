/* cli/choose.h - from measured invocations to classes: the bridge between the tracer, which measures, and the predictor, which classifies.
 */
#ifndef PCERE_CLI_CHOOSE_H
#define PCERE_CLI_CHOOSE_H

#include "capture-rt/tracer/capture.h"
#include "store/store.h"

struct choose_context {
    uint32_t max_classes;        /* 0: the predictor's default */
    double min_share_ratio;      /* of the run's wall time */
    struct store_series *series; /* of the regions that were classified so far; the context's owner frees them */
    size_t series_count, series_capacity;
    uint64_t light_ns;           /* stops for classes that are lighter than that, so far: 0 at the start */
    struct choose_found *found;  /* what choose_begin found for each of the run's regions, until choose_classes takes it */
    size_t found_count;
};

void choose_done(struct choose_context *context);

/* A capture_choose_begin_fn and the capture_choose_fn that follows it; their context is a struct choose_context. The first finds all
 * regions' classes, by several threads; the second hands them out in the order of the regions. */
enum pcere_status choose_begin(void *context, const struct capture_run *run, struct pcere_error *error);
enum pcere_status choose_classes(void *context, const struct capture_run *run, size_t region, struct store_class **ret_classes,
                                 size_t *ret_count, struct pcere_error *error);

#endif
