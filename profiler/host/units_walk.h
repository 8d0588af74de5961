/* profiler/host/units_walk.h - the state of a walk over all threads' records: which tasks are under way, and what is open in each.
 */
#ifndef PCERE_PROFILER_HOST_UNITS_WALK_H
#define PCERE_PROFILER_HOST_UNITS_WALK_H

#include "profiler/host/units.h"

enum frame_kind { FRAME_BASE, FRAME_LOOP, FRAME_RANGE, FRAME_SINGLE, FRAME_MASKED, FRAME_TASKLOOP, FRAME_WAIT };

struct frame {
    uint8_t kind;                /* enum frame_kind */
    uint8_t schedule;            /* of a loop */
    bool split;                  /* a range, or a task of a taskloop, whose iterations are told: it is the one that runs */
    uint32_t node;               /* LABEL_NONE: transparent */
    uint32_t unit;               /* LABEL_NONE: none */
    uint32_t construct;
    uint64_t rank;               /* of its last child */
};

enum context_kind { CONTEXT_INITIAL, CONTEXT_IMPLICIT, CONTEXT_TASK };

struct context {                 /* an instance of a task */
    uint8_t kind;                /* enum context_kind */
    bool running, internal;      /* internal: of the runtime, no task of the program */
    bool at_once;                /* made by a taskloop and executed where it is made: the runtime may not tell its iterations */
    uint32_t number, team;       /* implicit: thread in the team, size of the team */
    uint64_t forced;             /* calls of next_rank_TID so far */
    uint64_t shared;             /* worksharing constructs met so far */
    uint32_t node;               /* its label's; LABEL_NONE: not known yet */
    uint32_t taskloop;           /* node of the taskloop that made it, or LABEL_NONE */
    uint32_t construct;
    uint32_t common;             /* what loops that all teams of a league share are named after, in place of their own region; LABEL_NONE: there is no league */
    bool league;                 /* implicit: of a teams construct */
    struct context *back;        /* implicit: what its thread goes on with at its end */
    struct frame *frames;
    size_t frame_count, frame_capacity;
};

struct team { uint32_t node, construct, common, number, size; bool league; };   /* common: see struct context; size: unless 0, it stands for that thread of a team of that size */

struct stream {                  /* a thread */
    struct trace_cursor cursor;
    struct trace_item item;      /* the next one */
    bool has, blocked;
    struct context *now;         /* the task that it executes, or NULL */
    uint32_t number;             /* in its team */
    uint32_t unit;               /* that time goes to */
    uint32_t cpu;                /* UINT32_MAX: not known */
    bool waiting;
    uint64_t last_ticks;
    uint32_t team_size;
    uint64_t team_id;            /* of the implicit task that begins next */
    uint64_t league;             /* that it began and has not ended, or 0 */
    struct context **contexts;   /* tasks that it made, by their count */
    size_t context_count, context_capacity;
    struct team *teams;
    size_t team_count, team_capacity;
};

struct walk {
    const struct trace_file *file;
    struct units_options options;
    bool on;                     /* what is done now is meant */
    struct units *units;
    struct stream *streams;
    struct pcere_error *error;
    enum pcere_status status;
    uint64_t roots;
};

/* The task of that id, or NULL: its creation was not met yet. */
struct context *walk_context_find(const struct walk *walk, uint64_t id);
const struct team *walk_team_find(const struct walk *walk, uint64_t id);      /* likewise */
/* What the record does to tasks, labels and XUs. walk->status: no memory. */
void walk_apply(struct walk *walk, struct stream *stream, const struct trace_item *item);
void walk_context_free(struct context *context);

#endif
