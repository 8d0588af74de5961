/* profiler/host/trace_salvage.h - which blocks of a trace file are whole, where its index is lost or wrong. */
#ifndef PCERE_PROFILER_HOST_TRACE_SALVAGE_H
#define PCERE_PROFILER_HOST_TRACE_SALVAGE_H

#include "profiler/host/trace_file.h"

/* Look at every place of the file for a block. *ret_index is the caller's to free, has at most one block for each thread and sequence number, and of each thread those from its first one up to the first
 * that is missing; file->until_ticks is set to the time up to which all threads that are there have theirs. file->thread_count must be known. PCERE_SYSTEM: no memory. */
enum pcere_status trace_salvage(struct trace_file *file, struct trace_index **ret_index, uint64_t *ret_count, struct pcere_error *error);

#endif
