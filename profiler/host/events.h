/* profiler/host/events.h - events by their names: what the kernel counts, what programs count, and what the processor counts.
 *
 * "page-faults" and its like are the kernel's (sw), "ir-loads" and its like those of programs that were compiled to count (include/pcere/counts.inc), "cache-loads" and its like those of the model of caches (cache_counts.inc); names of the processor's events are libpfm4's ("INST_RETIRED:ANY"), where PCERE was built with it.
 */
#ifndef PCERE_PROFILER_HOST_EVENTS_H
#define PCERE_PROFILER_HOST_EVENTS_H

#include "core/error.h"
#include "profiler/protocol.h"

#include <stdbool.h>
#include <stddef.h>

/* Fill in an event. PCERE_USAGE: there is none of that name. PCERE_REFUSED: it is one of a processor, but not of this one, or PCERE was built
 * without libpfm4. */
enum pcere_status event_find(const char *name, struct trace_event *ret_event, struct pcere_error *error);

/* Names of the events of sw, ir and cache; NULL behind the last. */
const char *const *event_names(void);
/* Names of this processor's events, alone and with each of their masks ("INST_RETIRED:ANY"), for suggestions; NULL behind the last. `lower`: in small letters. Free them below, which accepts NULL;
 * NULL: no memory, or PCERE was built without libpfm4. */
char **event_processor_names(bool lower);
void event_processor_names_free(char **names);
/* All events of a back end by its name, "sw", "ir" or "cache": how many went to `ret_events`, which has room for `most`; 0: no such back end. */
size_t event_group(const char *backend, struct trace_event *ret_events, size_t most);

/* Why the kernel refused to count an event, by what perf_event_open(2) left in errno: a clause, and what to do. Both constant. */
const char *event_refusal(int errnum, const char **ret_hint);

/* Can this machine count events of its processor? PCERE_REFUSED says why not. */
enum pcere_status event_hardware_probe(struct pcere_error *error);
/* Does its kernel count these, all of TRACE_BACKEND_PMU, together and all the time? */
bool event_hardware_fits(const struct trace_event *events, size_t count);

#endif
