/* profiler/host/trace_part.h - a part of a trace file by time, read with as little of the file as that takes.
 *
 * Blocks that touch the part are read, those in which tasks were made that execute in it, and of all others the records that hold beyond their block (trace_lasting.h): these stand in memory as blocks of their own,
 * so that a walk over each thread's records meets every region, loop, wait and task that reaches into the part, and nothing else of what lies outside of it.
 *
 *   thread 0:  [ lasting records of blocks 0 to 6 ][ block 7: makes tasks ][ lasting, 8 to 90 ][ 91 ][ 92 ][ lasting, 93 to the end ]
 */
#ifndef PCERE_PROFILER_HOST_TRACE_PART_H
#define PCERE_PROFILER_HOST_TRACE_PART_H

#include "profiler/host/trace_file.h"

/* As trace_file_salvage; but of a sealed file that has the tables for it only the part from from_ns to to_ns, since the run's start, and `part` is set. What lies outside of it is looked at only where it is needed: damage there
 * is not found. */
enum pcere_status trace_part_open(const char *path, uint64_t from_ns, uint64_t to_ns, struct trace_file **ret_file, struct pcere_error *error);

/* Of a part: how many tasks the whole program had made before the one with this id, which was made at that time. Cheap if asked in the order of time. */
uint64_t trace_part_tasks(const struct trace_file *file, uint64_t id, uint64_t ticks);

/* ---- between trace_file.c and trace_part.c ------------------------------------------------------------------------------------ */

struct trace_part;
bool trace_part_sound(const struct trace_file *file);            /* are the tables for it, if it has them, as they were written? Its header and its index are sound. */
bool trace_part_can(const struct trace_file *file);              /* has it the tables? Its header and its index are sound. */
/* Which blocks are read: entries of the index, malloc'ed, in their order. Header, tables and clock of the file must be there. PCERE_DATA: the tables are damaged. PCERE_SYSTEM: no memory. */
enum pcere_status trace_part_select(struct trace_file *file, const char *path, uint64_t from_ns, uint64_t to_ns, struct trace_index **ret_index, uint64_t *ret_count, struct pcere_error *error);
/* Threads have those blocks: lasting records between them. PCERE_SYSTEM: no memory. */
enum pcere_status trace_part_fill(struct trace_file *file, struct pcere_error *error);
void trace_part_free(struct trace_part *part);                   /* accepts NULL */

#endif
