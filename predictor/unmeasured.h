/* predictor/unmeasured.h - what a prediction says where its samples are not there: which, and the command that measures them.
 *
 * Only predict.c includes this. Each of these returns the status with which it set `error`.
 */
#ifndef PCERE_PREDICTOR_UNMEASURED_H
#define PCERE_PREDICTOR_UNMEASURED_H

#include "predictor/predict.h"
#include "predictor/replays.h"

/* No sample is of the machine asked for; the hint lists those that there are. captured_on may be NULL. PCERE_USAGE. */
enum pcere_status unmeasured_host(const struct predict_request *request, const char *captured_on, struct pcere_error *error);

/* One class has no sample at these threads; the hint names all thread counts asked for at which some class lacks one, so that one command measures them:
 * PCERE_DATA. Where the region cannot run with so many threads, that is said: PCERE_NO. `replays` as in replays.h; it is overwritten. `own`: the program's own code, on the
 * machine that captured it. */
enum pcere_status unmeasured_class(const struct predict_request *request, struct replays *replays, bool own, const char *region, uint64_t representative,
                                   uint32_t threads, struct pcere_error *error);

#endif
