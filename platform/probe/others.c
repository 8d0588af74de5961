/* platform/probe/others.c - keeping other processors busy while an experiment runs on the first. */
#include "probe.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

struct others {
    const struct probe *probe;
    void *(*begin)(const struct probe *probe), *(*step)(void *state);
    pthread_barrier_t begun;
    atomic_bool ends;
    struct other { struct others *all; unsigned cpu; pthread_t id; } *list;
};

static void *other_run(void *raw)
{
    struct other *other = raw;
    struct others *all = other->all;
    probe_pin(other->cpu);
    void *state = all->begin(all->probe);
    pthread_barrier_wait(&all->begun);
    while (!atomic_load_explicit(&all->ends, memory_order_relaxed))
        state = all->step(state);
    probe_keep(state);
    return NULL;
}

struct others *probe_others_start(const struct probe *probe, void *(*begin)(const struct probe *probe), void *(*step)(void *state))
{
    struct others *all = calloc(1, sizeof *all);
    struct other *list = calloc(probe->cpu_count, sizeof *list);
    if (!all || !list || pthread_barrier_init(&all->begun, NULL, (unsigned)probe->cpu_count) != 0)
        probe_refuse("no memory for %zu threads", probe->cpu_count);
    all->probe = probe;
    all->begin = begin;
    all->step = step;
    all->list = list;
    for (size_t i = 1; i < probe->cpu_count; i++) {
        list[i] = (struct other){.all = all, .cpu = probe->cpus[i]};
        if (pthread_create(&list[i].id, NULL, other_run, &list[i]) != 0)
            probe_refuse("thread %zu cannot be started", i);
    }
    pthread_barrier_wait(&all->begun);
    return all;
}

void probe_others_end(struct others *all)
{
    atomic_store(&all->ends, true);
    for (size_t i = 1; i < all->probe->cpu_count; i++)
        pthread_join(all->list[i].id, NULL);
    pthread_barrier_destroy(&all->begun);
    free(all->list);
    free(all);
}
