/* capture-rt/tracer/codelet.h - what a stop knows beyond pages: words, threads' TLS, live locks, the call path, and what a comparison of
 * memory must ignore because the OpenMP runtime or the capture itself wrote it.
 */
#ifndef PCERE_CAPTURE_TRACER_CODELET_H
#define PCERE_CAPTURE_TRACER_CODELET_H

#include "capture-rt/protocol.h"
#include "capture-rt/tracer/maps.h"
#include "capture-rt/tracer/libraries.h"
#include "core/elf_file.h"

struct range_list { struct store_range *ranges; size_t count, capacity; bool failed; };
void range_list_add(struct range_list *list, uint64_t start, uint64_t end);     /* empty ones are nothing */
void range_list_normalise(struct range_list *list);     /* ascending, not overlapping, not touching */

/* The compiler counts executions in variables of its own there (--coverage, -fprofile-generate, ..), which no comparison looks at. */
bool codelet_counts_executions(const struct elf_file *elf);

/* The program stands still at the start of a region: fill in all but region, members, in_vivo_ns, before and after. `message` and `log` are
 * hostile. PCERE_DATA: they make no sense. PCERE_SYSTEM: no memory. */
enum pcere_status codelet_begin(const struct capture_log *log, const struct capture_message *message, const struct elf_file *elf,
                                const struct libraries *libraries, const struct map_list *maps, pid_t pid, struct store_codelet *codelet, struct pcere_error *error);

/* At the region's end, while the program stands still: what the log says of locks and random numbers there, and of words that the calling function wrote. PCERE_SYSTEM: no memory. */
enum pcere_status codelet_end(const struct capture_log *log, uint64_t begin_stops, struct store_codelet *codelet, struct pcere_error *error);
/* The region is over, or will never be: complete `ignored`, which needs to know all sites that were entered. `threads`: log->stop.threads as it was
 * at the start; log->stop itself is not read, since the program may be at its next stop by now. `end_stack_pointer`: the program's at the end probe, or 0; it can lie above
 * that of the start, since a probe that is a tail call finds its function's frame gone. */
enum pcere_status codelet_finish(const struct capture_log *log, const struct capture_thread *threads, const struct elf_file *elf,
                                 const struct libraries *libraries, uint64_t end_stack_pointer, struct store_codelet *codelet, struct pcere_error *error);

#endif
