/* capture-rt/tracer/again.h - what the runs of a capture measured and captured, in classes; and the runs that follow where one was not enough. */
#ifndef PCERE_CAPTURE_TRACER_AGAIN_H
#define PCERE_CAPTURE_TRACER_AGAIN_H

#include "capture-rt/tracer/session.h"

#include <sys/types.h>

/* Where further runs have their standard input from. */
struct again_input {
    int second;                  /* for the second run; -1: as the caller's own */
    int source;                  /* what it is read from again for those after it, */
    off_t start;                 /* from here on */
    bool once;                   /* it cannot be had again: there is only one run */
};

/* The first run has ended, and nothing is made of it yet. Where codelets after the first one turned out to need libraries that were not captured, it begins anew with
 * them, and what was measured and captured until then is forgotten, unless the program ends differently. */
enum pcere_status again_libraries(struct session *session, const struct again_input *input, struct pcere_error *error);

/* What a run that was stopped measured, without what stops disturbed. */
void again_times(struct session *session, struct capture_run *run);

/* Make the manifest, with classes of the invocations of session->result->timing. */
enum pcere_status again_classes(struct session *session, struct pcere_error *error);

/* Find what the first run left open and run the program again for it, as long as that is worth it; what stays open then has its reason. */
enum pcere_status again_mend(struct session *session, const struct again_input *input, struct pcere_error *error);

/* After several of its invocations the other threads were not calm: classes without a codelet that are wanted get that as their reason. */
enum pcere_status again_restless_tell(struct session *session, struct pcere_error *error);

#endif
