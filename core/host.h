/* core/host.h - which machine this is, as recorded beside every measurement. */
#ifndef PCERE_CORE_HOST_H
#define PCERE_CORE_HOST_H

#include "core/error.h"

#include <jansson.h>

/* Name of this machine for --arch: $name from /etc/pcere/host if that file exists, else the CPU's model name made into one word
 * ("amd-epyc"), suffixed with its core count ("amd-epyc-2"). free() it. */
enum pcere_status host_name(char **ret_name, struct pcere_error *error);

/* {"name", "cpu", "architecture", "cores", "threads", "memory_bytes", "page_size_bytes", "kernel", "caches": [...]}; new reference. */
enum pcere_status host_describe(json_t **ret_object, struct pcere_error *error);

#endif
