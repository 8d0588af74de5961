/* trace/native_reading.h - between native.c, which takes the records of all threads in the order of time, and native_records.c, which knows what each of them means. */
#ifndef PCERE_TRACE_NATIVE_READING_H
#define PCERE_TRACE_NATIVE_READING_H

#include "profiler/host/trace_file.h"
#include "trace/native_ids.h"
#include "trace/native_outside.h"
#include "trace/timeline.h"

struct open_span { int64_t begin_ns; uint32_t place; uint8_t kind; };

struct walk {                   /* through a thread's records */
    struct trace_cursor cursor;
    struct trace_item item;      /* its next one, if `more` */
    bool more;
    uint32_t thread;
    uint64_t now;                /* id of what it executes; 0: nothing */
    int64_t since_ns;
    bool told;                   /* it had a record: since_ns is its time, or a later one's */
    struct open_span stack[64];
    size_t depth;
    uint32_t alone;              /* single and masked constructs among them */
    uint32_t pending_team, made; /* made: the task that its last record, but for dependences, made, + 1; 0: none */
    struct outside outside;
};

struct reading {
    struct timeline *timeline;
    struct trace_file *file;
    struct native_ids ids;
    bool sparing;                /* nothing is kept of tasks and teams that have ended: only spans are asked for, with the tasks' numbers */
    uint32_t free_task, free_team;       /* places that can be used again, + 1; 0: none; the next one stands in their `thread` and `size` */
    struct span *held;           /* [thread], in sparing: the last short one, to be joined with the next */
    enum { HELP_UNKNOWN, HELP_NONE, HELP_RUNTIME } *helps;       /* [thread]: is it the runtime's own, by its first team? */
    uint32_t *places;            /* [construct]: of the timeline's strings */
    uint32_t no_team;            /* what is outside of regions */
    uint32_t scopes, process, first_thread, first_task;
    size_t first_span;
    uint64_t records;            /* that were taken */
    bool memory;
    struct walk *walk;           /* the thread whose record is taken */
    struct outside_shared outside;
    int64_t shift_ns;            /* from this trace's time to the model's */
    int64_t end_ns;              /* of the program, where it told: threads may tell something behind it */
};

/* The next record of reading->walk. */
void reading_item(struct reading *reading, const struct trace_item *item);
/* reading->walk has no more: what it left open ends at its last record, or at end_ns if that is later. */
void reading_finish(struct reading *reading, int64_t end_ns);
/* A span that no task did. */
void reading_span(struct reading *reading, uint32_t thread, enum span_kind kind, int64_t begin_ns, int64_t end_ns, uint32_t place);

#endif
