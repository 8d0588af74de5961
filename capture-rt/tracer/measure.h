/* capture-rt/tracer/measure.h - the timing run by itself, for a program that was checked. */
#ifndef PCERE_CAPTURE_TRACER_MEASURE_H
#define PCERE_CAPTURE_TRACER_MEASURE_H

#include "capture-rt/tracer/log.h"

/* As capture_measure, with standard input, output and error given; -1: /dev/null. Not `real`: times are for a capture; the team is made before the first region. */
enum pcere_status measure_run(const struct capture_options *options, const int descriptors[3], bool real, struct capture_run *ret_run,
                              struct pcere_error *error);

#endif
