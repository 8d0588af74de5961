#include "core/workers.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

void workers_wait(void *(*work)(void *context), void *context, size_t tasks, size_t threads)
{
    pthread_t workers[WORKERS_MOST];
    size_t count = threads < tasks ? threads : tasks, started = 0;
    count = count < WORKERS_MOST ? count : WORKERS_MOST;
    while (started + 1 < count && !pthread_create(&workers[started], NULL, work, context))
        started++;
    work(context);
    while (started)
        pthread_join(workers[--started], NULL);
}

void workers_run(void *(*work)(void *context), void *context, size_t tasks)
{
    cpu_set_t cpus;
    workers_wait(work, context, tasks, sched_getaffinity(0, sizeof cpus, &cpus) ? 1 : (size_t)CPU_COUNT(&cpus));
}

void workers_yield(void)
{
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 19);
}
