/* cli/lines.c - see lines.h. */
#include "cli/lines.h"

#include "include/pcere/line_ring.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

enum { THREADS_MOST = 64 };

struct member { struct line_ring *ring; uint32_t number, threads; uint64_t line_ns; pthread_t thread; };

static void *member_pass(void *context)
{
    struct member *member = context;
    member->line_ns = line_ring_ns(member->ring, member->number, member->threads);
    return NULL;
}

/* One that cannot be made does not come, and the others give up. */
static uint32_t members_start(struct member *members, uint32_t threads, const cpu_set_t *processors)
{
    uint32_t started = 0;
    for (size_t cpu = 0; started < threads && cpu < CPU_SETSIZE; cpu++) {
        pthread_attr_t attributes;
        cpu_set_t one;
        if (!CPU_ISSET(cpu, processors))
            continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        if (pthread_attr_init(&attributes))
            return started;
        int failure = pthread_attr_setaffinity_np(&attributes, sizeof one, &one);
        if (!failure)
            failure = pthread_create(&members[started].thread, &attributes, member_pass, &members[started]);
        pthread_attr_destroy(&attributes);
        if (failure)
            return started;
        started++;
    }
    return started;
}

uint64_t cli_line_ns(unsigned threads)
{
    cpu_set_t processors;
    if (threads < 2 || threads > THREADS_MOST || sched_getaffinity(0, sizeof processors, &processors) || threads > (unsigned)CPU_COUNT(&processors))
        return 0;
    struct line_ring *ring = aligned_alloc(_Alignof(struct line_ring), sizeof *ring);
    struct member *members = calloc(threads, sizeof *members);
    uint64_t line_ns = 0;
    if (ring && members) {
        atomic_init(&ring->turn, 0);
        for (uint32_t i = 0; i < threads; i++)
            members[i] = (struct member){.ring = ring, .number = i, .threads = threads};
        uint32_t started = members_start(members, threads, &processors);
        for (uint32_t i = 0; i < started; i++)
            pthread_join(members[i].thread, NULL);
        line_ns = started == threads ? members[0].line_ns : 0;
    }
    free(ring);
    free(members);
    return line_ns;
}
