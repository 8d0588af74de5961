/* platform/topology.h - which processors there are, what they share, and which pairs of them differ in that; by hwloc. */
#ifndef PCERE_PLATFORM_TOPOLOGY_H
#define PCERE_PLATFORM_TOPOLOGY_H

#include "core/error.h"

#include <stddef.h>
#include <stdint.h>

enum { TOPOLOGY_LEVELS_MOST = 6 };

struct topology_cache { unsigned level; uint64_t bytes; unsigned line_bytes, ways, shared_by; };    /* shared_by: hardware threads */
struct topology_pair { const char *relation; unsigned cpus[2]; };       /* relation: a constant string, see platform_pair */

struct topology {
    unsigned sockets, cores_per_socket, threads_per_core, numa_nodes;   /* each at least 1; of unequal ones the largest */
    uint64_t memory_bytes;
    struct topology_cache caches[TOPOLOGY_LEVELS_MOST];                 /* data or unified, nearest first */
    size_t cache_count;
    unsigned *cpus;                 /* that this process may use, as the system numbers them: one of each core first, cores in the order of the machine */
    size_t cpu_count, core_count;   /* core_count: how many of `cpus` are the first of their core */
    struct topology_pair *pairs;    /* for each relation that there is up to `pairs_each` pairs, nearest relation first */
    size_t pair_count;
};

/* This machine, as far as this process may use it; or, if `xml` is not NULL, the machine that it describes (hwloc's lstopo --of xml).
 * PCERE_DATA: no such description. PCERE_SYSTEM: hwloc finds nothing out. */
enum pcere_status topology_read(const char *xml, unsigned pairs_each, struct topology *ret_topology, struct pcere_error *error);
void topology_done(struct topology *topology);

#endif
