/* predictor/representatives.h - which invocation stands for each class.
 *
 * Rule 6 of predictor/classes.h, which calls this once its classes are known. Only classes.c includes this.
 */
#ifndef PCERE_PREDICTOR_REPRESENTATIVES_H
#define PCERE_PREDICTOR_REPRESENTATIVES_H

#include "predictor/classes.h"
#include "predictor/specials.h"

/* Whether a time of a class of all kinds of times is one of those that make up its sum: not a fraction of their mean. */
bool representatives_fit(const struct group *group, uint64_t time_ns);

/* Set representative and representative_ns of classes[class_count], whose time_ns_median and members are known. class_of[input->count] numbers them from 0;
 * targets[class_count] is the time that a representative should have, 0 for the median; groups[class_count] has the usual number of page faults; unlike[input->count]
 * are in their class by chance.
 * Error: PCERE_SYSTEM (no memory). */
enum pcere_status representatives_choose(const struct classes_input *input, const uint32_t *class_of, const uint64_t *targets, const struct group *groups, const bool *unlike,
                                        struct classes_class *classes, size_t class_count, struct pcere_error *error);

#endif
