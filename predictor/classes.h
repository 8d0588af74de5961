/* predictor/classes.h - which invocations of a region perform alike, and which one of each class is worth capturing.
 *
 * PCERE (Popov et al. 2015), section III-B c): invocations that perform alike form a class, one representative is captured and replayed,
 * and its time counts for all members. The classes map one to one onto struct store_class of store/store.h.
 *
 * Rules, in the order in which they apply. Ratios are of wall times; "first" means earliest in the program.
 *  1. Up to 10 invocations: each is its own class, unless they perform alike: all times of a class lie within 10 % of each other (5 % to
 *     either side: what a machine itself scatters from one invocation to the next).
 *  2. More: CLARA over the logarithm of time finds the classes (predictor/division.h). Regions that change steadily, without gaps, are
 *     cut into classes of about a factor 2, and the members of such a class are scaled by their own times (amdahl_class_weight).
 *  3. First touch: leading invocations (at most 3) of a class that is not rare, if they take at least 1.2 times what those after them
 *     take, become classes of their own. So do classes of at most 3 invocations that come before all of a class that takes 1 / 1.2 to
 *     1 / 2.5 of their time, or whose page faults explain at least half of the difference.
 *  4. Noise: rare invocations (at most 1 in 50, or one) that are slower, not among the region's first three, together at most 10 %
 *     of the region's time and not reproducible (three or more within 10 % of each other are) form one class that is not captured: its
 *     in-vivo time is kept as it is. Evidence decides first: the arguments of usual invocations, or preemptions, make them noise up to
 *     30 % of the region's time; arguments of their own make them a class.
 *  5. Classes whose medians are within 1 % are one, as are neighbours within 40 ns (predictor/division.h).
 *  6. The representative is the member whose time is nearest to the class's median, and whose number of page faults is the usual one, not
 *     one of the first three of a class with more than six members if a later one is as good (within 2 %, or 5 % from the median).
 *     Where begin_ns is given, members within 5 % of the median are equally good, and the first one that begins at near_ns or after
 *     it represents (else the last one before it): dumps that lie close together in the program have less changed memory between them.
 *     Of these, such as came behind another class in the region go before such as came behind their own: what they find in caches is what others left there, which
 *     a replay can repeat, and not what the one before them used, which may have been other data of the same size.
 *     Where the median is less than a third of the mean (a class of all kinds of times), the time wanted is that of those in which the middle of the class's time
 *     is spent, and what takes less than a third of the mean represents only where nothing else does, and never as at hand (rule 9).
 *  7. Where there are more classes than allowed, neighbours join, first those that lose least by it (time of the lighter one times the
 *     logarithm of their ratio), and count scaled; the heavier one's median is then what the representative is near to. Where one class is
 *     allowed nothing is divided, and the representative takes about as long as those in which the middle of the region's time is spent.
 *  8. A class that weighs less than `min_share_ratio` of the program's wall time is not wanted: its in-vivo time is kept. Light first
 *     invocations form one class together, light neighbours in a steadily changing region too.
 *  9. Where only some invocations are at hand (captured already), these represent. A class with none at hand, but with a median within a factor
 *     1.25 of that of a class with some (not of first invocations), joins it, the nearest one, and counts scaled. So does one that lies between two such classes, a shorter and a longer one, within a factor 2 of the nearer and 4 of the other one,
 *     if page faults do not tell it from these, and either its first 64 members have arguments that members of the nearer one have (of its first 64), so that the
 *     work is the same and there is more or less of it, or the region's times change steadily from one to the other, without a gap. It joins the nearer one
 *     (between_members). If it is rare
 *     (one of more than ten invocations, at most 1 in 50, and none of first invocations), it is not wanted: where it comes about again could not be told. Else its
 *     representative is not at hand, and it has to be captured.
 * 10. Where at least a third of a class's members have arguments, and callers, with which invocations usually (in the median of four or more) take within a factor 1.25 of the class's
 *     median, a member with such as usually take another time, by a factor 1.5 or more, is in it by chance: it represents only where nothing else does, and never as at hand.
 * There are never more than `max_classes` classes, first touch and noise included: with 1 there is neither, with 2 there is no noise.
 */
#ifndef PCERE_PREDICTOR_CLASSES_H
#define PCERE_PREDICTOR_CLASSES_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLASSES_MAX_DEFAULT 10
#define CLASSES_MIN_SHARE_DEFAULT 0.005
#define CLASSES_LIMIT 1000               /* the largest max_classes */

struct classes_input {                   /* invocations of one region in program order: element i is invocation i + 1; borrowed */
    size_t count;                        /* at least 1, at most UINT32_MAX */
    const uint64_t *time_ns;             /* in-vivo wall times */
    const uint64_t *arguments_hash;      /* NULL, or a hash of each invocation's arguments */
    const uint64_t *calls_hash;          /* NULL, or a hash of each invocation's arguments and of where it was called from */
    const uint32_t *minor_faults;        /* NULL, or page faults during each invocation */
    const uint32_t *preemptions;         /* NULL, or involuntary context switches during each invocation */
    const uint64_t *begin_ns;            /* NULL, or when each invocation began */
    const uint32_t *kinds;               /* NULL, or what keeps invocations apart, however long they take: the size of the team. More kinds than classes are allowed do not */
    const bool *at_hand;                 /* NULL: all are; or which invocations can represent at no cost */
    uint64_t near_ns;                    /* on the same clock: where in the program representatives are wanted */
};

struct classes_options {
    uint32_t max_classes;                /* 0: CLASSES_MAX_DEFAULT */
    double min_share_ratio;              /* of the program's wall time, 0 to 1; 0: every class is wanted */
    uint64_t wall_ns;                    /* the program's wall time; 0 if unknown: every class is wanted */
    uint64_t seed;                       /* same input and seed, same classes */
};

enum classes_kind {
    CLASSES_ALIKE,                       /* members count as the representative: weight = members */
    CLASSES_SCALED,                      /* members differ by degree: weight = time_ns / representative_ns */
    CLASSES_FIRST,                       /* first-touch invocations */
    CLASSES_NOISE,                       /* rare interruptions: never wanted */
};

struct classes_class {
    uint64_t representative;             /* invocation number, from 1 */
    uint64_t members;                    /* itself included */
    uint64_t time_ns;                    /* of all members together */
    uint64_t time_ns_median;             /* of the members */
    uint64_t representative_ns;          /* of the representative itself */
    uint64_t between_members, between_ns;/* of these, members that joined it from between it and another class of which some are at hand (rule 9) */
    enum classes_kind kind;
    bool wanted;                         /* worth a dump; false: the in-vivo time is kept, and reason says why */
    char reason[120];                    /* why it is not wanted, or "" */
};

struct classes_result {
    struct classes_class *classes;       /* ascending by representative; members and time_ns add up to the region's */
    size_t class_count;                  /* 1 to max_classes */
    uint32_t *class_of;                  /* [count] position in `classes` of each invocation's class */
};

/* Find the classes of a region. Ten million invocations take about a second.
 * PCERE_DATA: no invocations, or times whose sum overflows. PCERE_USAGE: max_classes above CLASSES_LIMIT, min_share_ratio not in [0, 1].
 * PCERE_SYSTEM: no memory (about 20 bytes per invocation). classes_result_done frees what the result holds. */
enum pcere_status classes_find(const struct classes_input *input, const struct classes_options *options,
                               struct classes_result *ret_result, struct pcere_error *error);
void classes_result_done(struct classes_result *result);

/* "alike", "scaled", "first", "noise". */
const char *classes_kind_name(enum classes_kind kind);

#endif
