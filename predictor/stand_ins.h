/* predictor/stand_ins.h - which classes count by another class's representative, since none of their own members is at hand (rule 9 of predictor/classes.h).
 * Private to predictor/. */
#ifndef PCERE_PREDICTOR_STAND_INS_H
#define PCERE_PREDICTOR_STAND_INS_H

#include "predictor/classes.h"
#include "predictor/specials.h"

struct stand_in {
    size_t class;                        /* that stands in, or the number of classes: none does */
    bool between;                        /* members lie between captured ones, and are like neither */
};

/* Of each class; `class_of` says each invocation's, `groups` measures them, input->at_hand is there, `unlike` are in their class by chance. PCERE_SYSTEM: no memory. */
enum pcere_status stand_ins_find(const struct classes_input *input, const uint32_t *class_of, const struct group *groups, const bool *unlike, const enum classes_kind *kinds,
                                 size_t class_count, struct stand_in *ret_stand_ins, struct pcere_error *error);

#endif
