/* trace/native_order.h - what is put right in the model when all records of a trace of ours were taken. */
#ifndef PCERE_TRACE_NATIVE_ORDER_H
#define PCERE_TRACE_NATIVE_ORDER_H

#include "trace/timeline.h"

struct native_starts { size_t span, step, actor; };     /* where this trace's begin */

/* A worker hears late of its region's end: what it waits behind that, in spans from the first one on, is no wait. */
void native_waits_cut(struct timeline *timeline, size_t first);

/* Put tasks from the first one on in the order of their creation, and their new numbers into all that names them. Those that did not end are counted in `unfinished`. False: no memory. */
bool native_tasks_order(struct timeline *timeline, size_t first, struct native_starts starts);

#endif
