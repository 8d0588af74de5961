/* include/pcere/bisect.h - where something stands in what is sorted. */
#ifndef PCERE_BISECT_H
#define PCERE_BISECT_H

#include <stdbool.h>
#include <stddef.h>

/* Declares `place`: the first index of [from, to) for which `before` does not hold; `to`: it holds for all. `before` is an expression of `index`, which the macro names, and holds for
 * the first so many and for none behind them. */
#define BISECT(place, from, to, index, before)                                                                                                                                          \
    size_t place = (from);                                                                                                                                                              \
    for (size_t place##_most = (to), index; place < place##_most && (index = place + (place##_most - place) / 2, true);)                                                                \
        if (before)                                                                                                                                                                     \
            place = index + 1;                                                                                                                                                          \
        else                                                                                                                                                                            \
            place##_most = index

#endif
