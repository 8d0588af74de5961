/* core/workers.h - the same work on every processor that this process may use, or by as many threads as may wait at once. */
#ifndef PCERE_CORE_WORKERS_H
#define PCERE_CORE_WORKERS_H

#include <stddef.h>

#define WORKERS_MOST 64u

/* Run work(context) on the calling thread and on others beside it, at most `tasks` in all; returns when all have returned. `work` takes
 * tasks until none is left, so that fewer threads than wished for (none can be made) still do everything. */
void workers_run(void *(*work)(void *context), void *context, size_t tasks);

/* The same for what waits rather than computes: by `threads` (at most WORKERS_MOST), however many processors there are. */
void workers_wait(void *(*work)(void *context), void *context, size_t tasks, size_t threads);

/* From now on the calling thread, and threads that it makes, yield to all others (niceness 19, which belongs to a thread on Linux). What an ordinary user yielded cannot be taken
 * back: beside other work such a thread has a processor for a few milliseconds in some 200, so whoever waits for what it was to do had better do that himself, and it must hold
 * nothing for long that others need. */
void workers_yield(void);

#endif
