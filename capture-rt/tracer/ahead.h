/* capture-rt/tracer/ahead.h - makes memory for records of the log before the program comes to it, on a processor that it leaves free. */
#ifndef PCERE_CAPTURE_TRACER_AHEAD_H
#define PCERE_CAPTURE_TRACER_AHEAD_H

#include "capture-rt/protocol.h"

struct ahead;

/* Begin; NULL: it cannot, and the program makes the memory itself. `log` stays until ahead_end. */
struct ahead *ahead_begin(struct capture_log *log);
/* Accepts NULL. */
void ahead_end(struct ahead *ahead);

#endif
