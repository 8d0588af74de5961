/* replay-rt/target/sample_hooks.c - calls of the OpenMP runtime that a region makes, put in front of the runtime's own. */
#include "replay-rt/target/sample_hooks.h"

#include <dlfcn.h>

struct pcere_sample_real pcere_sample_real;
unsigned char pcere_sample_active, pcere_sample_armed;
void *pcere_sample_task;

void pcere_sample_find(void *slot, const char *name)
{
    void *address = dlsym(RTLD_NEXT, name);
    memcpy(slot, &address, sizeof address);
}

__attribute__((constructor)) static void real_find(void)
{
    static const char *const inits[] = {"__kmpc_for_static_init_4", "__kmpc_for_static_init_4u", "__kmpc_for_static_init_8", "__kmpc_for_static_init_8u"};
    struct pcere_sample_real *real = &pcere_sample_real;
    for (int i = 0; i < 4; i++)
        pcere_sample_find(&real->static_init[i], inits[i]);
    pcere_sample_find(&real->static_fini, "__kmpc_for_static_fini");
    pcere_sample_find(&real->fork, "__kmpc_fork_call");
    pcere_sample_find(&real->barrier, "__kmpc_barrier");
    pcere_sample_find(&real->reduce, "__kmpc_reduce");
    pcere_sample_find(&real->reduce_nowait, "__kmpc_reduce_nowait");
    pcere_sample_find(&real->reduce_end, "__kmpc_end_reduce");
    pcere_sample_find(&real->copyprivate, "__kmpc_copyprivate");
    pcere_sample_dispatch_find();
}

bool pcere_sample_hooks_ready(void)
{
    const struct pcere_sample_real *real = &pcere_sample_real;
    bool ready = real->static_fini && real->fork && real->barrier && real->reduce && real->reduce_nowait && real->reduce_end && real->copyprivate;
    for (int i = 0; i < 4; i++)
        ready = ready && real->static_init[i];
    return ready && pcere_sample_dispatch_ready();
}

void pcere_sample_hooks_arm(bool serial)
{
    pcere_sample_armed = !serial;
    pcere_sample_active = 1;
}

void pcere_sample_hooks_disarm(void)
{
    pcere_sample_active = pcere_sample_armed = 0;
}

static struct sample_thread *watched(void)
{
    return pcere_sample_active ? pcere_sample_own : NULL;
}

void pcere_sample_nested(void)
{
    if (pcere_sample_own)
        pcere_sample_shot.nested_region = true;
}

/* ---- where threads wait for each other ------------------------------------------------------------------------------------------- */

static void wait_begin(struct sample_thread *thread)
{
    if (thread)
        pcere_sample_wait_begin(thread);
}

static void wait_end(struct sample_thread *thread)
{
    if (thread)
        pcere_sample_wait_end(thread);
}

HOOK void __kmpc_barrier(const struct location *location, int32_t number);
HOOK void __kmpc_barrier(const struct location *location, int32_t number)
{
    struct sample_thread *thread = watched();
    wait_begin(thread);
    pcere_sample_real.barrier(location, number);
    wait_end(thread);
}

/* Whether threads wait here depends on the method that the runtime chooses; where they do not, nearly nothing lies between this and the next barrier. */
HOOK int __kmpc_reduce(const struct location *location, int32_t number, int32_t count, size_t bytes, void *data, void (*combine)(void *, void *), void *lock);
HOOK int __kmpc_reduce(const struct location *location, int32_t number, int32_t count, size_t bytes, void *data, void (*combine)(void *, void *), void *lock)
{
    struct sample_thread *thread = watched();
    wait_begin(thread);
    int result = pcere_sample_real.reduce(location, number, count, bytes, data, combine, lock);
    wait_end(thread);
    return result;
}

HOOK int __kmpc_reduce_nowait(const struct location *location, int32_t number, int32_t count, size_t bytes, void *data, void (*combine)(void *, void *),
                              void *lock);
HOOK int __kmpc_reduce_nowait(const struct location *location, int32_t number, int32_t count, size_t bytes, void *data, void (*combine)(void *, void *),
                              void *lock)
{
    struct sample_thread *thread = watched();
    wait_begin(thread);
    int result = pcere_sample_real.reduce_nowait(location, number, count, bytes, data, combine, lock);
    wait_end(thread);
    return result;
}

HOOK void __kmpc_end_reduce(const struct location *location, int32_t number, void *lock);
HOOK void __kmpc_end_reduce(const struct location *location, int32_t number, void *lock)
{
    struct sample_thread *thread = watched();
    wait_begin(thread);
    pcere_sample_real.reduce_end(location, number, lock);
    wait_end(thread);
}

HOOK void __kmpc_copyprivate(const struct location *location, int32_t number, size_t bytes, void *data, void (*copy)(void *, void *), int32_t did);
HOOK void __kmpc_copyprivate(const struct location *location, int32_t number, size_t bytes, void *data, void (*copy)(void *, void *), int32_t did)
{
    struct sample_thread *thread = watched();
    wait_begin(thread);
    pcere_sample_real.copyprivate(location, number, bytes, data, copy, did);
    wait_end(thread);
}
