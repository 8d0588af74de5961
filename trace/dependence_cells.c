/* trace/dependence_cells.c - see dependence_cells.h. */
#include "trace/dependence_cells.h"

#include <stdlib.h>
#include <string.h>

enum { FEW = sizeof(((struct node_list *)0)->few) / sizeof(uint32_t) };
_Static_assert(sizeof(struct cell) == 64, "a cell is a line of a cache");

static bool node_list_grow(struct node_list *list)
{
    uint32_t capacity = list->capacity ? list->capacity * 2 : 8;
    uint32_t *items = capacity > list->capacity ? malloc(capacity * sizeof *items) : NULL;
    if (!items)
        return false;
    memcpy(items, node_list_items(list), list->count * sizeof *items);
    node_list_done(list);
    list->items = items;
    list->capacity = capacity;
    return true;
}

bool node_list_add(struct node_list *list, uint32_t item)
{
    if (list->count == (list->capacity ? list->capacity : FEW) && !node_list_grow(list))
        return false;
    node_list_items(list)[list->count++] = item;
    return true;
}

void node_list_done(struct node_list *list)
{
    if (list->capacity)
        free(list->items);
    list->capacity = 0;
}

static struct cell *cell_find(const struct cells *cells, uint64_t address, uint64_t scope)
{
    struct cell *cell = cells_first(cells, address, scope), *end = cells->list + cells->count;
    while (cell->scope && (cell->address != address || cell->scope != scope + 1))
        cell = cell + 1 < end ? cell + 1 : cells->list;
    return cell;
}

static bool cells_grow(struct cells *cells)
{
    struct cells grown = *cells;
    grown.count = cells->count ? cells->count * 2 : 1024;
    grown.list = aligned_alloc(sizeof *grown.list, grown.count * sizeof *grown.list);
    if (!grown.list)
        return false;
    memset(grown.list, 0, grown.count * sizeof *grown.list);
    for (size_t i = 0; i < cells->count; i++)
        if (cells->list[i].scope)
            *cell_find(&grown, cells->list[i].address, cells->list[i].scope - 1) = cells->list[i];
    free(cells->list);
    *cells = grown;
    return true;
}

static struct cell *cell_of(struct cells *cells, uint64_t address, uint64_t scope)
{
    if (cells->used * 2 >= cells->count && !cells_grow(cells))
        return NULL;
    struct cell *cell = cell_find(cells, address, scope);
    if (!cell->scope) {
        cell->address = address;
        cell->scope = (uint32_t)scope + 1;
        cells->used++;
    }
    return cell;
}

bool cells_edges(struct cells *cells, struct node_list *from, uint32_t to)
{
    const uint32_t *items = node_list_items(from);
    for (uint32_t i = 0; i < from->count; i++)
        if (items[i] != to && !cells->edge(cells->state, items[i], to))
            return false;
    return true;
}

static bool cell_write(struct cells *cells, struct cell *cell, uint32_t task)
{
    bool memory = cell->readers.count ? cells_edges(cells, &cell->readers, task) : cells_edges(cells, &cell->last, task);
    cell->readers.count = cell->before.count = 0;
    cell->set_type = 0;
    cell->last.count = 1;
    node_list_items(&cell->last)[0] = task;
    return memory;
}

static bool cell_join(struct cells *cells, struct cell *cell, uint32_t task, uint32_t type)
{
    if (cell->set_type != type || cell->readers.count) {
        struct node_list before = cell->readers.count ? cell->readers : cell->last, old = cell->before;
        if (cell->readers.count) {
            cell->readers = old;
        } else {
            cell->last = old;
        }
        cell->before = before;
        cell->readers.count = cell->last.count = 0;
        cell->set_type = type;
    }
    return cells_edges(cells, &cell->before, task) && node_list_add(&cell->last, task);
}

bool cells_take(struct cells *cells, const struct dependence *dependence, uint64_t scope, uint32_t task)
{
    struct cell *cell = cell_of(cells, dependence->address, scope);
    if (!cell)
        return false;
    if (dependence->type == DEPENDENCE_IN)
        return cells_edges(cells, &cell->last, task) && node_list_add(&cell->readers, task);
    if (dependence->type == DEPENDENCE_MUTEXINOUTSET || dependence->type == DEPENDENCE_INOUTSET)
        return cell_join(cells, cell, task, dependence->type);
    return cell_write(cells, cell, task);
}

bool cells_take_all(struct cells *cells, uint32_t scope, uint32_t task)
{
    bool memory = true;
    for (size_t i = 0; i < cells->count && memory; i++)
        if (cells->list[i].scope == scope + 1) {
            struct cell *cell = &cells->list[i];
            memory = cells_edges(cells, &cell->readers, task) && cells_edges(cells, &cell->last, task);
            cell->readers.count = cell->before.count = cell->last.count = 0;
            cell->set_type = 0;
            memory = memory && node_list_add(&cell->last, task);
        }
    return memory;
}

void cells_done(struct cells *cells)
{
    for (size_t i = 0; i < cells->count; i++) {
        node_list_done(&cells->list[i].last);
        node_list_done(&cells->list[i].before);
        node_list_done(&cells->list[i].readers);
    }
    free(cells->list);
    cells->list = NULL;
    cells->count = cells->used = 0;
}
