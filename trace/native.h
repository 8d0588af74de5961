/* trace/native.h - a trace of our own (docs/format/trace.md) as the model of timeline.h.
 *
 * Records of all threads are taken in the order of time: which task a thread executes, which construct is open in it, what it waits for. Spans are what a thread did without a break: a task that
 * was suspended has several, all with its number. Tasks are in the order of their creation. Traces of several processes are laid beside each other by the machines' clocks of the day, as each
 * knew it when its program began; each is a worker, since none is a head.
 */
#ifndef PCERE_TRACE_NATIVE_H
#define PCERE_TRACE_NATIVE_H

#include "profiler/host/trace_file.h"
#include "trace/timeline.h"

/* Add a trace to the model, as a process. PCERE_USAGE, PCERE_DATA, PCERE_SYSTEM as trace_file_open; PCERE_NO: no OpenMP was seen in it. */
enum pcere_status native_read(const char *path, struct timeline *timeline, struct pcere_error *error);

/* What a record DEPENDENCE declares; false: a type that OpenMP does not have. */
bool native_dependence(const struct trace_item *item, struct dependence *ret_dependence);

#endif
