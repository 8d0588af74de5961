/* capture-rt/tracer/ahead.h - makes memory for records of the log before the program comes to it, and for the run's invocations before we do, on a processor that it leaves free. */
#ifndef PCERE_CAPTURE_TRACER_AHEAD_H
#define PCERE_CAPTURE_TRACER_AHEAD_H

#include "capture-rt/tracer/log.h"

struct ahead;

/* Begin; NULL: it cannot, and the program makes the memory itself. `log` stays until ahead_end, which leaves it the room for invocations. */
struct ahead *ahead_begin(struct shared_log *log);
/* From and to when the program stands still, and waits for what we do: that may need the memory map, which the making holds. Both accept NULL. */
void ahead_pause(struct ahead *ahead, bool pause);
void ahead_end(struct ahead *ahead);

#endif
