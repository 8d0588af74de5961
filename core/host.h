/* core/host.h - which machine this is, as recorded beside every measurement; read from /proc, /sys and uname only.
 */
#ifndef PCERE_CORE_HOST_H
#define PCERE_CORE_HOST_H

#include "core/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HOST_NAME_BYTES 64           /* a machine's name with its NUL */

/* One word of at most 63 letters, digits, '.', '_' and '-' that begins with a letter or digit, so that a file can be called like it. */
bool host_name_valid(const char *name);

/* Call this machine `name` from now on, whatever it is: cli/ hands over PCERE_HOST. NULL or "": no longer. PCERE_USAGE: not
 * valid. Not thread-safe: call it before anything else. */
enum pcere_status host_set_name(const char *name, struct pcere_error *error);

/* Name of this machine for --arch: what host_set_name gave, else the first line of /etc/pcere/host if that file exists
 * (PCERE_DATA if it is not a name), else the CPU's model name made into one word ("amd-epyc"), suffixed with its core count
 * ("amd-epyc-2"). free() it. */
enum pcere_status host_name(char **ret_name, struct pcere_error *error);

/* The name in a description that some machine's host_describe made, as text; free() it. NULL: no description, or none in it. */
char *host_described_name(const char *description);

/* The instruction sets of this machine's processor as the kernel lists them ("fpu vme de pse ..."). free() it. PCERE_SYSTEM: unreadable. */
enum pcere_status host_cpu_features(char **ret_features, struct pcere_error *error);

/* The NUMA node of each processor by its number, UINT32_MAX where the system does not say; 0 everywhere on a kernel that knows no nodes. free() it. PCERE_SYSTEM. */
enum pcere_status host_cpu_nodes(uint32_t **ret_nodes, size_t *ret_count, struct pcere_error *error);

/* Size of the largest cache that the first processor has, or shares; 0: the system does not say. */
uint64_t host_largest_cache_bytes(void);

/* Size of the largest cache that the first processor shares with no other core; 0: the system does not say. */
uint64_t host_private_cache_bytes(void);

/* Memory that this process may still take without anything else having to give way: what the machine has left, or less where a control group (a container, a batch
 * job) has a limit. host_memory_bytes: what there is in all, by the same. 0: the system does not say. */
uint64_t host_memory_available_bytes(void);
uint64_t host_memory_bytes(void);

/* {"name", "cpu", "architecture", "cores", "threads", "memory_bytes", "page_size_bytes", "kernel", "caches": [{"level", "type",
 * "bytes", "line_bytes", "shared_by"}]}; new reference. "cores" are physical, "threads" what the system schedules on,
 * "shared_by" how many of those share one such cache. What a machine does not tell is null. */
enum pcere_status host_describe(json_t **ret_object, struct pcere_error *error);

#endif
