/* capture-rt/tracer/callpath.h - how the program came to a region: its own frames above the probe, by libunwind. */
#ifndef PCERE_CAPTURE_TRACER_CALLPATH_H
#define PCERE_CAPTURE_TRACER_CALLPATH_H

#include "capture-rt/tracer/child.h"
#include "store/store.h"

/* The thread `tid` is stopped by ptrace. *ret_frames (malloc) holds addresses inside [low, high), innermost first, without names; none is no failure. */
enum pcere_status callpath_read(pid_t tid, uint64_t low, uint64_t high, struct store_frame **ret_frames, size_t *ret_count,
                                struct pcere_error *error);
/* Put "function+0x12" beside each address and drop what lies outside main. The process must still be there, but need not be stopped. */
void callpath_name(pid_t pid, struct store_frame *frames, size_t *count);

#endif
