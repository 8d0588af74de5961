/* replay-rt/launcher/object_segments.c - which object holds an address: overlapping objects cut into disjoint segments, and the search in them. */
#include "replay-rt/launcher/objects_private.h"
#include "include/pcere/bisect.h"

#include <stdlib.h>

#define OVERLAPS_MOST 32

static int object_order(const void *left, const void *right, void *items)
{
    const struct object *ordered = items, *a = &ordered[*(const uint32_t *)left], *b = &ordered[*(const uint32_t *)right];
    return a->address != b->address ? (a->address > b->address) - (a->address < b->address) : (a > b) - (a < b);
}

uint32_t *objects_by_address(const struct objects *objects, size_t *ret_count)
{
    uint32_t *list = malloc((objects->count + 1) * sizeof *list);
    size_t count = 0;
    for (size_t i = 0; list && i < objects->count; i++)
        if (objects->items[i].kind != OBJECT_ARGUMENT && objects->items[i].bytes)
            list[count++] = (uint32_t)i;
    if (list && count)
        qsort_r(list, count, sizeof *list, object_order, objects->items);
    *ret_count = count;
    return list;
}

static void segment_add(struct objects *objects, uint64_t start, uint64_t end, uint32_t object, uint32_t shared)
{
    struct segment *last = objects->segment_count ? &objects->segments[objects->segment_count - 1] : NULL;
    if (start >= end)
        return;
    if (last && last->object == object && last->shared == shared && last->end == start) {
        last->end = end;
        return;
    }
    if (!array_reserve(&objects->segments, &objects->segment_capacity, objects->segment_count + 1, sizeof *objects->segments)) {
        objects->failed = true;
        return;
    }
    objects->segments[objects->segment_count++] = (struct segment){start, end, object, shared};
}

struct overlap { uint32_t objects[OVERLAPS_MOST]; size_t count; };

static void overlap_drop(struct overlap *overlap, size_t index)
{
    overlap->objects[index] = overlap->objects[--overlap->count];
}

/* Another variable that is open, of another type than this one. */
static uint32_t shared_find(const struct objects *objects, const struct overlap *overlap, uint32_t best)
{
    const struct object *items = objects->items;
    for (size_t i = 0; items[best].kind == OBJECT_VARIABLE && i < overlap->count; i++) {
        const struct object *other = &items[overlap->objects[i]];
        if (overlap->objects[i] != best && other->kind == OBJECT_VARIABLE && other->type != items[best].type && other->thread == items[best].thread)
            return overlap->objects[i];
    }
    return NONE;
}

/* From `from` up to `to`, what was found first of those that are open has the bytes. */
static uint64_t overlap_advance(struct objects *objects, struct overlap *overlap, uint64_t from, uint64_t to)
{
    while (overlap->count && from < to) {
        uint32_t best = NONE;
        uint64_t stop = to;
        for (size_t i = 0; i < overlap->count;) {
            const struct object *object = &objects->items[overlap->objects[i]];
            uint64_t end = object->address + object->bytes;
            if (end <= from) {
                overlap_drop(overlap, i);
                continue;
            }
            best = overlap->objects[i] < best ? overlap->objects[i] : best;
            stop = end < stop ? end : stop;
            i++;
        }
        if (best != NONE)
            segment_add(objects, from, stop, best, shared_find(objects, overlap, best));
        from = stop;
    }
    return to;
}

void objects_segments_make(struct objects *objects)
{
    size_t count;
    uint32_t *list = objects_by_address(objects, &count);
    struct overlap overlap = {.count = 0};
    uint64_t at = 0;
    if (!list)
        objects->failed = true;
    for (size_t i = 0; list && i < count; i++) {
        at = overlap_advance(objects, &overlap, at, objects->items[list[i]].address);
        if (overlap.count == OVERLAPS_MOST) {
            size_t worst = 0;
            for (size_t j = 1; j < overlap.count; j++)
                worst = overlap.objects[j] > overlap.objects[worst] ? j : worst;
            overlap_drop(&overlap, worst);
        }
        overlap.objects[overlap.count++] = list[i];
    }
    overlap_advance(objects, &overlap, at, UINT64_MAX);
    free(list);
}

/* Takes the bytes for what they would be in an array of its type, too, and forgets what they are where that is not the same. */
static void either_compare(const struct debug_info *info, const struct object *object, uint64_t offset, struct debug_leaf *leaf)
{
    const uint64_t element = debug_type_get(info, object->type)->bytes, base = offset / element * element;
    struct debug_leaf other;
    debug_type_walk(info, object->type, offset - base, false, NULL, NULL, &other);
    if (other.padding || other.kind != leaf->kind || other.bytes != leaf->bytes || other.offset + base != leaf->offset) {
        leaf->kind = DEBUG_UNKNOWN;
        leaf->group = objects_mixed(leaf->group, element);
    }
}

void objects_walk(const struct objects *objects, const struct object *object, uint64_t offset, struct debug_leaf *ret_leaf)
{
    const struct debug_info *info = objects->source.info;
    const uint64_t element = debug_type_get(info, object->type)->bytes;
    const bool whole = object->kind != OBJECT_BLOCK || object->extended || object->open || !element;
    const uint64_t base = whole ? 0 : offset / element * element;
    debug_type_walk(info, object_is_rest(object, element, offset) ? 0 : object->type, offset - base, object->open, NULL, NULL, ret_leaf);
    if (object->either && offset >= element)
        either_compare(info, object, offset, ret_leaf);
    ret_leaf->padding &= !object->extended;
    ret_leaf->offset += base;
}

/* Forgets what the bytes are where the other variable says something else. */
static void shared_compare(const struct objects *objects, const struct object *other, uint64_t address, uint64_t start, struct debug_leaf *leaf)
{
    struct debug_leaf its;
    objects_walk(objects, other, address - other->address, &its);
    if (its.kind == leaf->kind && its.bytes == leaf->bytes && its.offset + other->address == leaf->offset + start)
        return;
    leaf->kind = DEBUG_UNKNOWN;
    leaf->padding &= its.padding;
}

bool objects_find(const struct objects *objects, uint64_t address, struct object_place *ret_place)
{
    BISECT(low, 0, objects->segment_count, i, objects->segments[i].end <= address);
    if (low == objects->segment_count || objects->segments[low].start > address)
        return false;
    struct object_place place = {.object = objects->segments[low].object};
    const struct object *object = &objects->items[place.object];
    objects_walk(objects, object, address - object->address, &place.leaf);
    if (objects->segments[low].shared != NONE)
        shared_compare(objects, &objects->items[objects->segments[low].shared], address, object->address, &place.leaf);
    place.leaf.group = objects_mixed(object->group, place.leaf.group);
    place.address = object->address + place.leaf.offset;
    place.assumed = object->kind == OBJECT_BLOCK && !object->open && place.leaf.offset >= debug_type_get(objects->source.info, object->type)->bytes
                    && !debug_type_get(objects->source.info, object->pointer)->dimension_count;
    *ret_place = place;
    return true;
}
