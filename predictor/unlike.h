/* predictor/unlike.h - invocations that took as long as a class by chance: such as begin like them take another time (rule 10 of predictor/classes.h).
 * Private to predictor/. */
#ifndef PCERE_PREDICTOR_UNLIKE_H
#define PCERE_PREDICTOR_UNLIKE_H

#include "predictor/classes.h"
#include "predictor/specials.h"

/* Of each invocation, by input->calls_hash: a short product met by cold caches may take as long as a longer one does always, and stands for none of these.
 * Nothing is found where beginnings do not tell classes apart. `class_of` says each invocation's class, `groups` measures them. PCERE_SYSTEM: no memory. */
enum pcere_status unlike_find(const struct classes_input *input, const uint32_t *class_of, const struct group *groups, size_t class_count, bool *ret_unlike,
                              struct pcere_error *error);

#endif
