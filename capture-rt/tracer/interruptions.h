/* capture-rt/tracer/interruptions.h - what the machine takes from any code of a run: told where nobody looks, between a region's invocations. */
#ifndef PCERE_CAPTURE_TRACER_INTERRUPTIONS_H
#define PCERE_CAPTURE_TRACER_INTERRUPTIONS_H

#include "capture-rt/tracer/capture.h"

/* How much of the region's time interruptions are that come from nothing that it does, in ns: if they strike as often while its invocations run as
 * between them. 0: that cannot be told, since what lies between is too little, or differs by itself. */
uint64_t interruptions_expected_ns(const struct capture_region *region);

#endif
