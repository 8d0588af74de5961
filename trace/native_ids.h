/* trace/native_ids.h - while records are read: implicit and explicit tasks, and teams, by their ids.
 *
 * Ids count from 1 for each thread, tasks and teams apart. They stand in pages of a thousand, and where nothing is asked of what has ended a page is given back when all in it have.
 */
#ifndef PCERE_TRACE_NATIVE_IDS_H
#define PCERE_TRACE_NATIVE_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct actor {                   /* an implicit or explicit task */
    uint32_t task;               /* of the timeline + 1; 0: implicit */
    uint32_t team, scope;        /* of what stands for a team: + 1; scope + 1; 0: it made no task yet */
    uint32_t epoch, phase, member;
    uint32_t wait, mutex;        /* what it waits for now; 0: nothing */
    uint32_t loop, chunk;        /* place of the loop that it is in; 1: in a range of it */
    uint32_t taskloop;           /* place of the one that it is in */
    bool implicit, initial;
    uint32_t number;             /* of the timeline's actors + 1; 0: not among them */
    uint32_t step;               /* of the timeline's steps + 1: the last one, if it goes on; 0: another begins */
    uint32_t loops;              /* that it began */
    uint64_t range_first, range_count, range_chunk;
    bool range_fixed;
    uint64_t back;               /* implicit: what its thread goes on with at its end */
};

struct page;
struct pages { struct page **list; size_t count, capacity; };

enum ids_kind { IDS_ACTORS, IDS_TEAMS, IDS_KINDS };

struct native_ids {
    struct pages *pages[IDS_KINDS];      /* [thread that made them] */
    size_t threads;
    uint64_t most;               /* counts are not above this */
    bool sparing;                /* ids are forgotten */
    bool memory;                 /* false: there was none */
    struct actor nobody;         /* for ids that make no sense, and where there is no memory */
};

/* False: no memory. Freed by ids_done, in any case. */
bool ids_init(struct native_ids *ids, size_t threads, uint64_t most, bool sparing);
void ids_done(struct native_ids *ids);
/* Made, zeroed, if it is not there. Never NULL; it stays where it is until it is forgotten. */
struct actor *ids_find(struct native_ids *ids, enum ids_kind kind, uint64_t id);
/* Whatever had this id is told of no more: once for each id. */
void ids_forget(struct native_ids *ids, enum ids_kind kind, uint64_t id);

#endif
