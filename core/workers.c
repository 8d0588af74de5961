#include "core/workers.h"

#include <pthread.h>
#include <sched.h>

void workers_run(void *(*work)(void *context), void *context, size_t tasks)
{
    enum { WORKERS_MOST = 64 };
    pthread_t workers[WORKERS_MOST];
    cpu_set_t cpus;
    size_t count = sched_getaffinity(0, sizeof cpus, &cpus) ? 1 : (size_t)CPU_COUNT(&cpus), started = 0;
    count = count < tasks ? count : tasks;
    count = count < WORKERS_MOST ? count : WORKERS_MOST;
    while (started + 1 < count && !pthread_create(&workers[started], NULL, work, context))
        started++;
    work(context);
    while (started)
        pthread_join(workers[--started], NULL);
}
