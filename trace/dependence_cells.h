/* trace/dependence_cells.h - OpenMP's rules of dependences, address by address: who wrote it last, and who has read it since.
 *
 * Per address of a scope (the children of one task) the last writer, or the set of tasks that may write in any order, what these wait for, and the readers since.
 */
#ifndef PCERE_TRACE_DEPENDENCE_CELLS_H
#define PCERE_TRACE_DEPENDENCE_CELLS_H

#include "trace/timeline.h"

struct node_list {               /* the first ones in itself: most have one writer, and few readers */
    uint32_t count, capacity;    /* capacity 0: in `few` */
    union { uint32_t few[2]; uint32_t *items; };
};

struct cell {                    /* what is known of an address in a scope: a line of a cache */
    uint64_t address;
    uint32_t scope;              /* + 1; 0: free */
    uint32_t set_type;           /* of `last`, if it is a set; 0: a single writer, or none */
    struct node_list last;       /* writers: one, or a set */
    struct node_list before;     /* what the members of the set in `last` wait for */
    struct node_list readers;    /* since `last` */
};

struct cells {                   /* zeroed before, edge and state by the caller */
    bool (*edge)(void *state, uint32_t from, uint32_t to);       /* told of each edge, perhaps more than once; false: no memory */
    void *state;
    struct cell *list;           /* [count], a table of hashes, aligned to its cells */
    size_t count, used;
};

static inline uint32_t *node_list_items(struct node_list *list) { return list->capacity ? list->items : list->few; }

/* Where the search for an address begins; NULL: there are no cells. */
static inline struct cell *cells_first(const struct cells *cells, uint64_t address, uint64_t scope)
{
    uint64_t hash = (address ^ scope << 48) * 0x9e3779b97f4a7c15u >> 32;
    return cells->count ? &cells->list[hash & (cells->count - 1)] : NULL;
}

/* These return false where memory runs out. Tasks are numbered by the caller, and come in the order of their creation. */
bool cells_take(struct cells *cells, const struct dependence *dependence, uint64_t scope, uint32_t task);
/* As if it wrote every address that the scope knows. */
bool cells_take_all(struct cells *cells, uint32_t scope, uint32_t task);
bool cells_edges(struct cells *cells, struct node_list *from, uint32_t to);
bool node_list_add(struct node_list *list, uint32_t item);
void node_list_done(struct node_list *list);     /* accepts zeroed */
void cells_done(struct cells *cells);            /* accepts zeroed */

#endif
