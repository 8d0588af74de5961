#include "platform/topology.h"

#include <errno.h>
#include <hwloc.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum relation { RELATION_CORE, RELATION_L2, RELATION_L3, RELATION_NUMA, RELATION_PACKAGE, RELATION_MACHINE, RELATION_COUNT };
static const char *const relations[RELATION_COUNT] = {"core", "l2", "l3", "numa", "package", "machine"};

void topology_done(struct topology *topology)
{
    free(topology->cpus);
    free(topology->pairs);
    *topology = (struct topology){0};
}

/* A part of a package that has memory of its own, as where a processor is divided into NUMA nodes. */
static bool divides_package(hwloc_topology_t machine, hwloc_obj_t group)
{
    hwloc_obj_t package = hwloc_get_ancestor_obj_by_type(machine, HWLOC_OBJ_PACKAGE, group);
    return package && !hwloc_bitmap_isequal(group->nodeset, package->nodeset);
}

/* The nearest thing that both are part of. */
static enum relation relation_of(hwloc_topology_t machine, hwloc_obj_t a, hwloc_obj_t b)
{
    hwloc_obj_t common = hwloc_get_common_ancestor_obj(machine, a, b);
    for (; common; common = common->parent)
        switch (common->type) {
        case HWLOC_OBJ_CORE:
        case HWLOC_OBJ_L1CACHE: return RELATION_CORE;
        case HWLOC_OBJ_L2CACHE: return RELATION_L2;
        case HWLOC_OBJ_L3CACHE:
        case HWLOC_OBJ_L4CACHE: return RELATION_L3;
        case HWLOC_OBJ_PACKAGE: return RELATION_PACKAGE;
        default:
            if (divides_package(machine, common))
                return RELATION_NUMA;
        }
    return RELATION_MACHINE;
}

static void caches_fill(hwloc_topology_t machine, struct topology *topology)
{
    hwloc_obj_t first = hwloc_get_obj_by_type(machine, HWLOC_OBJ_PU, 0);
    for (hwloc_obj_t at = first; at && topology->cache_count < TOPOLOGY_LEVELS_MOST; at = at->parent) {
        if (!hwloc_obj_type_is_dcache(at->type) || !at->attr->cache.size)
            continue;
        topology->caches[topology->cache_count++] = (struct topology_cache){
            .level = at->attr->cache.depth, .bytes = at->attr->cache.size, .line_bytes = at->attr->cache.linesize,
            .ways = at->attr->cache.associativity > 0 ? (unsigned)at->attr->cache.associativity : 0,
            .shared_by = (unsigned)hwloc_bitmap_weight(at->cpuset),
        };
    }
}

/* Hardware threads in the order "one of each core first"; topology->cpus has room for all. */
static void cpus_fill(hwloc_topology_t machine, hwloc_obj_t *units, struct topology *topology)
{
    size_t total = (size_t)hwloc_get_nbobjs_by_type(machine, HWLOC_OBJ_PU);
    for (unsigned round = 0; topology->cpu_count < total && round < total; round++) {
        for (size_t i = 0; i < total; i++) {
            hwloc_obj_t unit = hwloc_get_obj_by_type(machine, HWLOC_OBJ_PU, (unsigned)i);
            hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(machine, HWLOC_OBJ_CORE, unit);
            unsigned rank = core ? (unsigned)hwloc_get_nbobjs_inside_cpuset_by_type(machine, core->cpuset, HWLOC_OBJ_PU) : 1;
            unsigned place = 0;
            for (unsigned k = 0; core && k < rank; k++)
                if (hwloc_get_obj_inside_cpuset_by_type(machine, core->cpuset, HWLOC_OBJ_PU, k) == unit)
                    place = k;
            if (place == round) {
                units[topology->cpu_count] = unit;
                topology->cpus[topology->cpu_count++] = unit->os_index;
            }
        }
        if (round == 0)
            topology->core_count = topology->cpu_count;
    }
}

static void pairs_fill(hwloc_topology_t machine, hwloc_obj_t *units, unsigned pairs_each, struct topology *topology)
{
    for (enum relation relation = 0; relation < RELATION_COUNT; relation++) {
        unsigned found = 0;
        for (size_t a = 0; a < topology->cpu_count && found < pairs_each; a++)
            for (size_t b = a + 1; b < topology->cpu_count && found < pairs_each; b++)
                if (relation_of(machine, units[a], units[b]) == relation) {
                    topology->pairs[topology->pair_count++] =
                        (struct topology_pair){.relation = relations[relation], .cpus = {topology->cpus[a], topology->cpus[b]}};
                    found++;
                    break;      /* the next pair begins elsewhere */
                }
    }
}

static unsigned largest_inside(hwloc_topology_t machine, hwloc_obj_type_t outer, hwloc_obj_type_t inner)
{
    int outers = hwloc_get_nbobjs_by_type(machine, outer);
    unsigned largest = 1;
    for (int i = 0; i < outers; i++) {
        hwloc_obj_t object = hwloc_get_obj_by_type(machine, outer, (unsigned)i);
        int inside = hwloc_get_nbobjs_inside_cpuset_by_type(machine, object->cpuset, inner);
        largest = inside > (int)largest ? (unsigned)inside : largest;
    }
    return largest;
}

static enum pcere_status topology_fill(hwloc_topology_t machine, unsigned pairs_each, struct topology *topology, struct pcere_error *error)
{
    int units_count = hwloc_get_nbobjs_by_type(machine, HWLOC_OBJ_PU);
    size_t total = units_count > 0 ? (size_t)units_count : 0;
    hwloc_obj_t *units = calloc(total + 1, sizeof *units), root = hwloc_get_root_obj(machine);
    topology->cpus = calloc(total + 1, sizeof *topology->cpus);
    topology->pairs = calloc(RELATION_COUNT * (size_t)pairs_each + 1, sizeof *topology->pairs);
    if (!units || !topology->cpus || !topology->pairs || !total) {
        free(units);
        return total ? pcere_fail_memory(error, "the topology") : pcere_fail(error, PCERE_SYSTEM, 0, NULL, "the machine's topology shows no processor");
    }
    int sockets = hwloc_get_nbobjs_by_type(machine, HWLOC_OBJ_PACKAGE), nodes = hwloc_get_nbobjs_by_type(machine, HWLOC_OBJ_NUMANODE);
    topology->sockets = sockets > 0 ? (unsigned)sockets : 1;
    topology->numa_nodes = nodes > 0 ? (unsigned)nodes : 1;
    topology->threads_per_core = largest_inside(machine, HWLOC_OBJ_CORE, HWLOC_OBJ_PU);
    int cores = hwloc_get_nbobjs_by_type(machine, HWLOC_OBJ_CORE);
    topology->cores_per_socket = sockets > 0 ? largest_inside(machine, HWLOC_OBJ_PACKAGE, cores > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU) : cores > 0 ? (unsigned)cores : (unsigned)total;
    topology->memory_bytes = root->total_memory;
    caches_fill(machine, topology);
    cpus_fill(machine, units, topology);
    pairs_fill(machine, units, pairs_each, topology);
    free(units);
    return PCERE_OK;
}

enum pcere_status topology_read(const char *xml, unsigned pairs_each, struct topology *ret_topology, struct pcere_error *error)
{
    hwloc_topology_t machine;
    if (hwloc_topology_init(&machine) != 0)
        return pcere_fail_memory(error, "the topology");
    if (xml && hwloc_topology_set_xmlbuffer(machine, xml, (int)strlen(xml) + 1) != 0) {
        hwloc_topology_destroy(machine);
        return pcere_fail(error, PCERE_DATA, 0, "lstopo --of xml writes one", "the description of a topology is no XML of hwloc's");
    }
    unsigned long flags = xml ? 0 : HWLOC_TOPOLOGY_FLAG_IS_THISSYSTEM | HWLOC_TOPOLOGY_FLAG_RESTRICT_TO_CPUBINDING;
    if (hwloc_topology_set_flags(machine, flags) != 0 || hwloc_topology_load(machine) != 0) {
        int problem = errno;
        hwloc_topology_destroy(machine);
        return pcere_fail(error, xml ? PCERE_DATA : PCERE_SYSTEM, problem, NULL, "the machine's topology cannot be read");
    }
    struct topology topology = {0};
    enum pcere_status status = topology_fill(machine, pairs_each, &topology, error);
    hwloc_topology_destroy(machine);
    if (status)
        topology_done(&topology);
    else
        *ret_topology = topology;
    return status;
}
