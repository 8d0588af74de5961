/* capture-rt/tracer/session_private.h - what a capturing run, its plan and its stops have of each other. */
#ifndef PCERE_CAPTURE_TRACER_SESSION_PRIVATE_H
#define PCERE_CAPTURE_TRACER_SESSION_PRIVATE_H

#include "capture-rt/tracer/session.h"

/* ---- session_plan.c ------------------------------------------------------------------------------------------------------- */

/* Put into the log where a run is to stop: the manifest's representatives that are not kept yet. */
void session_plan_fill(struct session *session);
/* What the stops of a run that chooses may cost. */
struct capture_policy session_policy(const struct session *session);
/* Is an invocation to be captured that the program stopped at? What the user did not ask for, the program is told not to ask about again. */
enum pcere_status session_wants(struct session *session, const struct capture_message *message, bool *ret_wanted, struct pcere_error *error);
/* In a run with a plan, while the program stands still: this invocation cannot be captured, and a later one that took about as long stands for
 * its class. False: there is none. */
bool session_plan_replace(struct session *session, const struct capture_message *message);
/* The caller frees it; NULL: no memory. */
char *session_region_name(const struct session *session, uint32_t region);

/* ---- session_stop.c ------------------------------------------------------------------------------------------------------- */

/* Do what a message asks for, and answer it. `tracking`: a descriptor that came with it, or -1; it is closed or kept in any case. */
enum pcere_status session_serve(struct session *session, const struct capture_message *message, int tracking, struct pcere_error *error);
void session_answer(struct session *session, enum capture_answer_type type);
/* Threads that are held may stay so by as much longer as the program stood still: that is no time that it had. */
void session_holds_extend(struct session *session, uint64_t stopped_ns);

#endif
