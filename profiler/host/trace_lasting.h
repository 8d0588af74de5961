/* profiler/host/trace_lasting.h - of a thread's records those that hold beyond their block, so that a reader can begin in the middle of a file and know what each thread was in.
 *
 * A region that began, an implicit task, a loop, a single construct, a wait, the task that runs: each holds until it ends, or another takes its place. A record that holds at its block's end is lasting, and so is the one that ends it.
 * Who reads lasting records alone, up to the begin of a block, is in the state in which the thread's records before that block leave him, but for tasks that have ended.
 */
#ifndef PCERE_PROFILER_HOST_TRACE_LASTING_H
#define PCERE_PROFILER_HOST_TRACE_LASTING_H

#include "core/error.h"
#include "profiler/protocol.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LASTING_DEPTH = 512 };

struct lasting_frame {
    struct trace_lasting records[2];     /* what began it, with what belongs to that */
    uint32_t count;
    uint8_t type;                /* of what began it */
    bool told;                   /* its records are in the list */
    bool lasting;                /* it held at a block's end, so that its own end is told, too */
    bool open;                   /* readers have it open, or one that it took the place of: they are told when there is none any more, or who it is at a block's end */
};

struct lasting_walk {            /* through the records of one thread; zeroed before */
    struct lasting_frame frames[LASTING_DEPTH];
    size_t depth;
    struct trace_lasting team;   /* of the implicit task that begins next */
    bool regions;                /* by the caller: regions are lasting however soon they end, for workers hear late of that */
    bool lost;                   /* it is too deep, or has records that this does not know: devices, messages */
};

struct lasting_list { struct trace_lasting *list; size_t count, capacity; };

/* The thread's next record. What becomes lasting by it goes to `list`. False: no memory. */
bool lasting_take(struct lasting_walk *walk, const struct trace_lasting *record, struct lasting_list *list);
/* Its block ends here. False: no memory. */
bool lasting_block_end(struct lasting_walk *walk, struct lasting_list *list);

struct lasting_tables { struct trace_made *made; struct lasting_list lasting; };

/* Of record blocks in the order of thread and sequence number; made[i] is that of index[i]. *ret_known false: this file has records that it does not know, and there are no tables. Free with lasting_tables_done. PCERE_SYSTEM: no memory. */
enum pcere_status lasting_tables_make(const void *map, const struct trace_index *index, uint64_t count, struct lasting_tables *ret_tables, bool *ret_known, struct pcere_error *error);
void lasting_tables_done(struct lasting_tables *tables);         /* accepts zeroed */

#endif
