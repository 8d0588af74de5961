/* replay-rt/target/processors.c - work on memory by all processors, also those that the region's team does not have.
 *
 * The threads are no part of the OpenMP runtime, and have ended before the region is timed.
 */
#include "replay-rt/target/codelet.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

enum { HELPERS_MOST = 15 };

struct share { team_fn *run; void *context; uint32_t number, count; pthread_t thread; };

static cpu_set_t processors;
static bool processors_known;

void pcere_processors_find(void)
{
    processors_known = !sched_getaffinity(0, sizeof processors, &processors);
}

static void *share_run(void *context)
{
    struct share *share = context;
    share->run(share->context, share->number, share->count);
    return NULL;
}

bool pcere_processors_others(pthread_attr_t *attributes)
{
    cpu_set_t others = processors;
    int here = sched_getcpu();
    if (here >= 0 && here < CPU_SETSIZE)
        CPU_CLR((size_t)here, &others);
    return processors_known && CPU_COUNT(&others) && !pthread_attr_setaffinity_np(attributes, sizeof others, &others);
}

/* How many of them run; those that could not be started are left to the caller. */
static uint32_t shares_start(struct share *shares, uint32_t count)
{
    pthread_attr_t attributes;
    uint32_t started = 1;
    if (pthread_attr_init(&attributes))
        return started;
    if (pcere_processors_others(&attributes))
        while (started < count && !pthread_create(&shares[started].thread, &attributes, share_run, &shares[started]))
            started++;
    pthread_attr_destroy(&attributes);
    return started;
}

bool pcere_processors_suffice(uint32_t threads)
{
    return processors_known && threads <= (uint32_t)CPU_COUNT(&processors);
}

uint32_t pcere_processors_of(uint32_t threads)
{
    uint32_t count = processors_known ? (uint32_t)CPU_COUNT(&processors) : threads;
    return threads < count ? threads : count;
}

void pcere_processors_any(void)
{
    if (processors_known)
        sched_setaffinity(0, sizeof processors, &processors);
}

/* Memory lies where the thread that makes it runs. */
static bool memory_is_one(void)
{
    return access("/sys/devices/system/node/node1", F_OK) != 0;
}

void pcere_processors_run(team_fn *run, void *context, uint32_t team)
{
    struct share shares[HELPERS_MOST + 1];
    uint32_t count = processors_known ? (uint32_t)CPU_COUNT(&processors) : 1;
    count = count < HELPERS_MOST + 1 ? count : HELPERS_MOST + 1;
    if (count <= team || !memory_is_one()) {
        pcere_team_run(run, context);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        shares[i] = (struct share){.run = run, .context = context, .number = i, .count = count};
    uint32_t started = shares_start(shares, count);
    share_run(&shares[0]);
    for (uint32_t i = started; i < count; i++)
        share_run(&shares[i]);
    for (uint32_t i = 1; i < started; i++)
        pthread_join(shares[i].thread, NULL);
}
