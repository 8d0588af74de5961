/* predictor/alike.h - a few invocations, grouped by hand: neighbours in time that perform alike.
 *
 * Rule 1 of predictor/classes.h, which calls this for regions and first invocations too few to be divided. Only classes.c includes this.
 */
#ifndef PCERE_PREDICTOR_ALIKE_H
#define PCERE_PREDICTOR_ALIKE_H

#include "predictor/classes.h"

/* Sort `invocations` (indices into input->time_ns) by time and number their groups in `ret_group`, both of `count` elements, from 0 and ascending by time:
 * neighbours join, the closest first, as long as the whole group stays within 10 % or there are more than `limit` groups. *ret_groups is their number.
 * Error: PCERE_SYSTEM (no memory). */
enum pcere_status alike_group(const struct classes_input *input, uint32_t *invocations, size_t count, size_t limit, uint32_t *ret_group, size_t *ret_groups,
                              struct pcere_error *error);

#endif
