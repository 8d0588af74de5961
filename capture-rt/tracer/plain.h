/* capture-rt/tracer/plain.h - regions of units that the plugin did not compile: what they are called, and what is said of them. */
#ifndef PCERE_CAPTURE_TRACER_PLAIN_H
#define PCERE_CAPTURE_TRACER_PLAIN_H

#include "capture-rt/tracer/capture.h"

/* Name those that the compiler left without a source position by the symbols of their code, and tell all names apart. Those of instrumented units stay. Find out
 * which are `unprobed`. */
enum pcere_status plain_regions_name(struct capture_run *run, const char *program, struct pcere_error *error);

/* Why such a region is not captured: malloc'ed; NULL: no memory. */
char *plain_reason(const struct capture_region *region);

/* A sentence on all of them, with their share of the run, malloc'ed; NULL: there are none, or no memory. */
char *plain_note(const struct capture_run *run);

#endif
