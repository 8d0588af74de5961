/* trace/native_outside.h - of a trace of ours what is done outside of its process: on devices, and with the other processes of an MPI program.
 *
 * A device becomes a process of its own, a worker in OMPC's words, with two threads for each thread that uses it: what it executes, and what is moved to it and from it. The head's side are
 * Target, Execute and data operations on the thread that asked for them.
 */
#ifndef PCERE_TRACE_NATIVE_OUTSIDE_H
#define PCERE_TRACE_NATIVE_OUTSIDE_H

#include "profiler/host/trace_file.h"
#include "trace/timeline.h"

struct outside_open { int64_t begin_ns; uint32_t place, device; uint8_t flags; };
struct outside_block { uint64_t address; uint32_t device, variable, place; };        /* of a device's memory */

enum { OUTSIDE_DEPTH = 8 };

struct outside_shared {          /* of a trace; zeroed before, process by the caller */
    uint32_t process, tags, devices;     /* operations, devices seen */
    struct outside_block *blocks;
    size_t block_count, block_capacity;
};

struct outside {                 /* of a thread; zeroed before, shared and thread by the caller */
    struct outside_shared *shared;
    uint32_t thread, task;       /* task: of the target region that the thread is in */
    struct outside_open targets[OUTSIDE_DEPTH], data, kernel, message;
    size_t depth;
    uint64_t address, bytes;
    uint32_t variable;
    bool nowait;                 /* by the caller: the region is a task of its own */
    struct timeline_step step;   /* what the caller is to put, if step_ready */
    bool step_ready;
};

/* Does the thread wait for a device now? */
static inline bool outside_waits(const struct outside *outside) { return outside->data.begin_ns || outside->kernel.begin_ns; }

void outside_done(struct outside_shared *shared);
/* A record; `place`: of its construct, among the timeline's strings. Types that are none of it are passed over, and what makes no sense (ends without a begin, ranks and sizes that cannot be) counts as broken. False: no memory. */
bool outside_take(struct outside *outside, struct timeline *timeline, const struct trace_item *item, int64_t now_ns, uint32_t place);
/* The thread tells nothing any more: what a device or a partner did not answer ends now, and counts as unfinished. */
bool outside_finish(struct outside *outside, struct timeline *timeline, int64_t end_ns);

#endif
