/* capture-rt/tracer/measure.h - the timing run by itself, for a program that was checked. */
#ifndef PCERE_CAPTURE_TRACER_MEASURE_H
#define PCERE_CAPTURE_TRACER_MEASURE_H

#include "capture-rt/tracer/log.h"

/* As capture_measure, with standard input, output and error given; -1: /dev/null. */
enum pcere_status measure_run(const struct capture_options *options, const int descriptors[3], struct capture_run *ret_run,
                              struct pcere_error *error);

#endif
