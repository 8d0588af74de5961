/* trace/native_metrics.h - the metrics of a trace of our own straight from its records, for programs whose numbers do not need the model: they have no devices, messages, untied tasks, taskwaits with dependences or omp_all_memory. */
#ifndef PCERE_TRACE_NATIVE_METRICS_H
#define PCERE_TRACE_NATIVE_METRICS_H

#include "trace/metrics.h"
#include "trace/pop.h"

/* *ret_done false: this is no such trace (or none at all, or one of which something is to be said), and the model must be made. What it gives is what metrics_run and pop_make give. By `workers` threads; 0: as many as there are processors, with the same result. PCERE_SYSTEM: no memory. */
enum pcere_status native_metrics(const char *path, size_t workers, struct run_metrics *ret_metrics, struct pop *ret_pop, bool *ret_done, struct pcere_error *error);

#endif
