/* trace/dependences.h - which task waits for which, from the dependences that they declared.
 *
 * OpenMP's rules (5.2, section 15.9.5), per generating task and address: what reads waits for the last that wrote, what writes for the last that wrote and
 * all that read since; tasks of one mutexinoutset or inoutset clause form a set whose members do not wait for each other; omp_all_memory
 * touches every address. So the graph is the same in each run, whatever had ended before its successor was created.
 */
#ifndef PCERE_TRACE_DEPENDENCES_H
#define PCERE_TRACE_DEPENDENCES_H

#include "trace/graph.h"
#include "trace/timeline.h"

/* A node for each explicit task of the timeline, in the order of creation (so edges go forward), with its run time. Edges that others imply are left out only where
 * the rules leave them out. A taskwait holds what its generating task makes afterwards back until its children ended: a node of no work, if there are any.
 * PCERE_SYSTEM: no memory. */
enum pcere_status dependences_graph(const struct timeline *timeline, struct graph *ret_graph, struct pcere_error *error);

#endif
