/* trace/dependence_cells.c - see dependence_cells.h. */
#include "trace/dependence_cells.h"
#include "core/text.h"

#include <stdlib.h>

bool node_list_add(struct node_list *list, uint32_t item)
{
    if (!array_reserve(&list->items, &list->capacity, list->count + 1, sizeof *list->items))
        return false;
    list->items[list->count++] = item;
    return true;
}

static size_t cell_place(const struct cell *cells, size_t count, uint64_t address, uint32_t scope)
{
    size_t place = (size_t)(((address ^ (uint64_t)scope << 48) * 0x9e3779b97f4a7c15u) >> 32) & (count - 1);
    while (cells[place].scope && (cells[place].address != address || cells[place].scope != scope + 1))
        place = (place + 1) & (count - 1);
    return place;
}

static bool cells_grow(struct cells *cells)
{
    size_t count = cells->count ? cells->count * 2 : 1024;
    struct cell *list = calloc(count, sizeof *list);
    if (!list)
        return false;
    for (size_t i = 0; i < cells->count; i++)
        if (cells->list[i].scope)
            list[cell_place(list, count, cells->list[i].address, cells->list[i].scope - 1)] = cells->list[i];
    free(cells->list);
    cells->list = list;
    cells->count = count;
    return true;
}

static struct cell *cell_of(struct cells *cells, uint64_t address, uint32_t scope)
{
    if (cells->used * 2 >= cells->count && !cells_grow(cells))
        return NULL;
    struct cell *cell = &cells->list[cell_place(cells->list, cells->count, address, scope)];
    if (!cell->scope) {
        cell->address = address;
        cell->scope = scope + 1;
        cells->used++;
    }
    return cell;
}

bool cells_edges(struct cells *cells, const struct node_list *from, uint32_t to)
{
    for (size_t i = 0; i < from->count; i++)
        if (from->items[i] != to && !cells->edge(cells->state, from->items[i], to))
            return false;
    return true;
}

static bool cell_write(struct cells *cells, struct cell *cell, uint32_t task)
{
    bool memory = cells_edges(cells, &cell->readers, task) && (cell->readers.count || cells_edges(cells, &cell->last, task));
    cell->readers.count = cell->before.count = cell->last.count = 0;
    cell->set_type = 0;
    return memory && node_list_add(&cell->last, task);
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

bool cells_take(struct cells *cells, const struct dependence *dependence, uint32_t scope, uint32_t task)
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
        free(cells->list[i].last.items);
        free(cells->list[i].before.items);
        free(cells->list[i].readers.items);
    }
    free(cells->list);
    cells->list = NULL;
    cells->count = cells->used = 0;
}
