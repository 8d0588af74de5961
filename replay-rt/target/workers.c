/* replay-rt/target/workers.c - where the OpenMP runtime's new threads begin: not where the thread works that makes them and waits.
 *
 * A kernel may let a new thread begin on its creator's processor although another one is idle, and move it at its next tick only (4 ms with Linux's usual 250 a second): the creator looks
 * without pause whether its team is there. Captured regions have their team before they are timed, so that only the replay's cost differs. Once such a thread runs elsewhere it may use
 * what its creator may, and the runtime binds it as it likes.
 */
#include "replay-rt/target/codelet.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

enum { WORKERS_MOST = 256 };            /* more begin where the kernel likes */

struct worker { void *(*run)(void *); void *context; cpu_set_t permitted; };

static struct worker workers[WORKERS_MOST];
static atomic_uint worker_count;
static bool apart;

static void *worker_run(void *context)
{
    const struct worker *worker = context;
    sched_setaffinity(0, sizeof worker->permitted, &worker->permitted);
    return worker->run(worker->context);
}

static int create_next(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *context)
{
    static int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    void *symbol = next ? NULL : dlsym(RTLD_NEXT, "pthread_create");
    if (symbol)
        memcpy(&next, &symbol, sizeof symbol);
    return next(thread, attributes, run, context);
}

/* The caller's attributes are as they were behind it. */
static bool create_apart(pthread_t *thread, pthread_attr_t *attributes, void *(*run)(void *), void *context)
{
    unsigned number = atomic_fetch_add(&worker_count, 1);
    if (number >= WORKERS_MOST || sched_getaffinity(0, sizeof workers[number].permitted, &workers[number].permitted) != 0 || !pcere_processors_others(attributes))
        return false;
    workers[number].run = run;
    workers[number].context = context;
    bool created = create_next(thread, attributes, worker_run, &workers[number]) == 0;
    pthread_attr_setaffinity_np(attributes, 0, &workers[number].permitted);        /* none, as before */
    return created;
}

/* Weak, since a program may have a function of this name. */
__attribute__((weak, visibility("default"))) int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *context)
{
    if (apart && attributes && create_apart(thread, (pthread_attr_t *)attributes, run, context))
        return 0;
    return create_next(thread, attributes, run, context);
}

void pcere_workers_begin(team_fn *run, void *context)
{
    apart = true;
    pcere_team_run(run, context);
    apart = false;
}
