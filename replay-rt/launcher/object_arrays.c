/* replay-rt/launcher/object_arrays.c - arrays that a descriptor in captured memory leads to: how far they reach, and the indices of what lies in one. Compilers leave out bounds that nobody reads. */
#include "replay-rt/launcher/objects_private.h"

#include <inttypes.h>

struct extent { int64_t lower; uint64_t count, stride_bytes; };

static bool bound_value(const struct objects *objects, const struct debug_bound *bound, uint64_t descriptor, int64_t *ret_value)
{
    if (!bound->stored) {
        *ret_value = bound->number;
        return true;
    }
    return captured_view_read(objects->source.view, descriptor + (uint64_t)bound->number, ret_value, sizeof *ret_value);
}

/* False: what the memory holds is no array whose first index runs fastest, as one with a step backwards. */
static bool extents_read(const struct objects *objects, const struct debug_type *pointer, uint64_t descriptor, uint64_t element, struct extent *extents)
{
    uint64_t reach = element;
    if (!pointer->dimension_count || pointer->dimension_count > DEBUG_DIMENSIONS_MOST || !element)
        return false;
    for (size_t i = 0; i < pointer->dimension_count; i++) {
        const struct debug_dimension *dimension = &pointer->dimensions[i];
        int64_t lower, count, stride;
        uint64_t span;
        if (!bound_value(objects, &dimension->lower, descriptor, &lower) || !bound_value(objects, &dimension->count, descriptor, &count)
            || !bound_value(objects, &dimension->stride_bytes, descriptor, &stride) || count <= 0 || stride <= 0 || (count > 1 && (uint64_t)stride < reach))
            return false;
        if (__builtin_mul_overflow((uint64_t)(count - 1), (uint64_t)stride, &span) || __builtin_add_overflow(reach, span, &reach))
            return false;
        extents[i] = (struct extent){lower, (uint64_t)count, (uint64_t)stride};
    }
    return true;
}

uint64_t objects_array_bytes(const struct objects *objects, const struct debug_type *pointer, uint64_t descriptor, uint64_t element)
{
    struct extent extents[DEBUG_DIMENSIONS_MOST];
    if (!extents_read(objects, pointer, descriptor, element, extents))
        return 0;
    uint64_t bytes = element;
    for (size_t i = 0; i < pointer->dimension_count; i++)
        bytes += (extents[i].count - 1) * extents[i].stride_bytes;
    return bytes;
}

bool objects_array_name(const struct objects *objects, const struct object *object, uint64_t offset, bool pattern, struct text *out)
{
    const struct debug_type *pointer = debug_type_get(objects->source.info, object->pointer);
    const size_t count = pointer->dimension_count;
    struct extent extents[DEBUG_DIMENSIONS_MOST];
    uint64_t indices[DEBUG_DIMENSIONS_MOST];
    if (!count || object->parent == NONE)
        return false;
    uint64_t descriptor = objects->items[object->parent].address + object->slot;
    const uint64_t element = debug_type_get(objects->source.info, object->type)->bytes;
    if (!pattern && !extents_read(objects, pointer, descriptor, element, extents)) {
        text_addf(out, "(+%" PRIu64 ")", element ? offset / element : offset);
        return true;
    }
    for (size_t i = count; !pattern && i--;) {
        indices[i] = offset / extents[i].stride_bytes;
        offset -= indices[i] * extents[i].stride_bytes;
    }
    for (size_t i = 0; i < count; i++)
        if (pattern)
            text_add(out, i ? ",:" : "(:");
        else
            text_addf(out, "%c%" PRId64, i ? ',' : '(', extents[i].lower + (int64_t)indices[i]);
    if (pointer->characters && !pattern)
        text_addf(out, ":%" PRId64, extents[0].lower + (int64_t)indices[0]);
    text_add(out, ")");
    return true;
}
