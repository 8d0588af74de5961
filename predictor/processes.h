/* predictor/processes.h - how far processes of one codelet lie apart.
 *
 * Each process has an offset of its own, which more repetitions in it do not average out. A run of the program is one process: what those of a codelet differ by, runs differ by, too, and a
 * codelet's median that is known more precisely than that says no more of one run.
 */
#ifndef PCERE_PREDICTOR_PROCESSES_H
#define PCERE_PREDICTOR_PROCESSES_H

#include "predictor/predict.h"

/* Standard deviation of processes' medians over their mean, pooled over all captured classes of which two processes or more count at these threads (as for a prediction), each weighed by its
 * class's time. *ret_count: how many processes these are; 0, and a ratio of 0: there are none. PCERE_SYSTEM: no memory. */
enum pcere_status processes_spread(const struct predict_request *request, uint32_t threads, double *ret_ratio, size_t *ret_count, struct pcere_error *error);

#endif
