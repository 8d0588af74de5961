/* capture-rt/tracer/nearby.h - among a region's invocations: those near one that nothing disturbed and that are like it, and kinds of them by what they take. */
#ifndef PCERE_CAPTURE_TRACER_NEARBY_H
#define PCERE_CAPTURE_TRACER_NEARBY_H

#include "capture-rt/tracer/capture.h"

#define NEARBY_REACH 256                /* how far away an invocation's like are looked for, */
#define NEARBY_SIDE 40                  /* so many to either side at most */
#define NEARBY_MOST (2 * NEARBY_SIDE)
#define NEARBY_LIKE_LEAST 2             /* so many make a kind */
#define NEARBY_STEP_RATIO 1.25          /* from one time of a kind to the next, and from its least to its largest, at most */
#define NEARBY_KIND_RATIO 1.5
#define NEARBY_PLACE_REACH 4            /* how far away the neighbour is that tells an invocation's place */

enum nearby_like {              /* of the undisturbed ones, that are nested as it is, and ask for as many threads: */
    NEARBY_FORETOLD,            /* those that took about as long as was expected of it */
    NEARBY_USUAL,               /* all but those that touched memory first, which are like no other */
    NEARBY_SAME,                /* of these, those with its words */
};

/* By the clock, less what reading it takes; at least 1. */
uint64_t nearby_measured_ns(const struct capture_invocation *invocation, uint64_t probe_ns);
bool nearby_is_disturbed(const struct capture_invocation *invocation);

struct nearby_one { uint64_t words_hash, time_ns, state; };    /* state: who is like it */

/* A region's invocations, as far as others nearby look at them: that is done hundreds of times for each that was disturbed, and what lies close together is looked through
 * several times as fast. */
struct nearby_list {
    const struct capture_region *region;
    uint64_t probe_ns;
    struct nearby_one *ones;            /* as in the region's list */
    size_t capacity;
};

/* For another region; `list`: zeroed, or of another one. False: no memory. */
bool nearby_list_fill(struct nearby_list *list, const struct capture_region *region, uint64_t probe_ns);
/* Invocation `at` changed: it is disturbed, or not. */
void nearby_list_renew(struct nearby_list *list, size_t at);
void nearby_list_done(struct nearby_list *list);

/* Times of those like invocation `at` of the list, the nearest first, to one side; `most`: at most NEARBY_SIDE. Returns how many. */
size_t nearby_side(const struct nearby_list *list, size_t at, bool after, enum nearby_like like, size_t most, uint64_t *times);
/* To both, ascending. */
size_t nearby_both(const struct nearby_list *list, size_t at, enum nearby_like like, uint64_t times[NEARBY_MOST]);

/* Times of those like it nearby that stand where it stands: behind and before invocations that take about as long as those behind and before it do. Compared is the nearest
 * undisturbed one to each side, a few places away at most; none where there is none. Returns how many. */
size_t nearby_placed(const struct nearby_list *list, size_t at, enum nearby_like like, uint64_t times[NEARBY_MOST]);

/* Within a factor NEARBY_KIND_RATIO of each other. */
bool nearby_is_about(uint64_t one_ns, uint64_t other_ns);

/* Sort a few times. */
void nearby_sort(uint64_t *times, size_t count);

/* Kinds among those near an invocation. Of the next one that asks most of these are the same: what went out of reach leaves, what came into it is added. */
struct nearby_kinds {
    struct { uint64_t time_ns; size_t at; } times[NEARBY_MOST];     /* ascending by time */
    size_t time_count, low, high;       /* the first and the last of them in the region's list: all that are alike in between are there */
    uint64_t words_hash;                /* of the invocation that asked */
    uint32_t team;
    bool nested;
    uint64_t medians[NEARBY_MOST];      /* of the kinds, ascending */
    size_t sizes[NEARBY_MOST];          /* how many are of each */
    size_t count;
    bool apart;                         /* nothing lies between some of them; else times change steadily, or all are of one kind */
};

/* `kinds`: zeroed, or of the same region, asked with the same `like` for another invocation. All that ask are disturbed, so that none is near another. */
void nearby_kinds_find(const struct nearby_list *list, size_t at, enum nearby_like like, struct nearby_kinds *kinds);

#endif
