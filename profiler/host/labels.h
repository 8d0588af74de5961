/* profiler/host/labels.h - labels: the names of constructs' instances and XUs that are the same in every run of a program.
 *
 * R. Neill, A. Drebes and A. Pop, "Accurate and Complete Hardware Profiling for OpenMP" (IWOMP 2017), section 4.1. A label is the parent's label and one
 * element, so labels form a tree, the label graph. Each node is there once, however many threads met it. Written out:
 *
 *   0                 the root: the initial task
 *   .2@cg.c:405       the second child of its parent, of the construct there
 *   .0.3@cg.c:405     directly in a parallel region, where children have no order: number of the thread + its earlier calls × size of the team
 *   .17               a range of iterations, a chunk, a section: its first iteration
 */
#ifndef PCERE_PROFILER_HOST_LABELS_H
#define PCERE_PROFILER_HOST_LABELS_H

#include "core/error.h"
#include "core/text.h"
#include "profiler/host/trace_file.h"

#include <stdint.h>

enum label_kind { LABEL_ROOT, LABEL_RANKED, LABEL_FORCED, LABEL_FIRST, LABEL_GIVEN /* a root as well: label_table.given, '@' and the place */ };

struct label_node {
    uint32_t parent;             /* a root: itself */
    uint32_t construct;          /* of the trace file; of a range: its loop's */
    uint64_t index;              /* rank from 1, forced number from 0, first iteration; of a root: its number from 0 */
    uint8_t kind;                /* enum label_kind */
};

struct label_table {
    const struct trace_file *file;
    const char *given;           /* "0.17": borrowed */
    struct label_node *nodes;
    size_t count, capacity;
    uint32_t *slots;             /* of a hash table: node + 1, or 0 */
    size_t slot_count;
};

#define LABEL_NONE UINT32_MAX

/* Zeroed before; freed by label_table_done, which accepts that. */
void label_table_done(struct label_table *table);

/* The node of this description, new or known. PCERE_SYSTEM: no memory, or 2^31 nodes. */
enum pcere_status label_node(struct label_table *table, uint32_t parent, enum label_kind kind, uint32_t construct, uint64_t index, uint32_t *ret_node,
                             struct pcere_error *error);

/* Append the label, or just its last element. A label that is too long for a profile becomes its beginning, '~' and a hash of all of it. */
void label_text(const struct label_table *table, uint32_t node, struct text *text);
void label_element_text(const struct label_table *table, uint32_t node, struct text *text);

#endif
