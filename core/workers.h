/* core/workers.h - the same work on every processor that this process may use. */
#ifndef PCERE_CORE_WORKERS_H
#define PCERE_CORE_WORKERS_H

#include <stddef.h>

/* Run work(context) on the calling thread and on others beside it, at most `tasks` in all; returns when all have returned. `work` takes
 * tasks until none is left, so that fewer threads than wished for (none can be made) still do everything. */
void workers_run(void *(*work)(void *context), void *context, size_t tasks);

#endif
