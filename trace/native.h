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

/* What a record DEPENDENCE with these flags and this value declares; false: a type that OpenMP does not have. */
static inline bool native_dependence(uint32_t flags, uint64_t value, struct dependence *ret_dependence)
{
    static const uint8_t types[16] = {[1] = DEPENDENCE_IN, [2] = DEPENDENCE_OUT, [3] = DEPENDENCE_INOUT, [4] = DEPENDENCE_MUTEXINOUTSET, [7] = DEPENDENCE_INOUTSET,
                                      [TRACE_DEPENDENCE_ALL_MEMORY] = DEPENDENCE_INOUT};
    ret_dependence->address = value;
    ret_dependence->type = types[flags % 16];
    ret_dependence->all_memory = flags == TRACE_DEPENDENCE_ALL_MEMORY;
    return ret_dependence->type != 0;
}

#endif
