/* replay-rt/launcher/object_names.c - how one would write in the source what lies at an address. */
#include "replay-rt/launcher/objects_private.h"

#include <inttypes.h>
#include <string.h>

static void leaf_name(const struct objects *objects, uint32_t type, uint64_t offset, bool open, bool pattern, struct text *out)
{
    struct debug_leaf leaf;
    debug_type_walk(objects->source.info, type, offset, open, pattern ? NULL : out, pattern ? out : NULL, &leaf);
}

static void index_name(uint64_t index, bool pattern, struct text *out)
{
    if (pattern)
        text_add(out, "[]");
    else
        text_addf(out, "[%" PRIu64 "]", index);
}

/* What is written behind the pointer's own name. */
static void block_name(const struct objects *objects, const struct object *object, uint64_t offset, bool pattern, struct text *out)
{
    const struct debug_type *type = debug_type_get(objects->source.info, object->type);
    uint64_t element = type->bytes;
    if (!element || object_is_rest(object, element, offset)) {
        size_t before = out->length;
        leaf_name(objects, element ? 0 : object->type, offset, false, pattern, out);
        if (out->length == before && !pattern)
            text_addf(out, "+0x%" PRIx64, offset);
        return;
    }
    struct debug_leaf leaf = {0};
    if (object->extended && offset < element)
        debug_type_walk(objects->source.info, object->type, offset, false, NULL, NULL, &leaf);
    if (object->extended && (offset >= element || leaf.padding)) {
        text_add(out, object->by_reference ? ".(derived)" : "->(derived)");
        if (!pattern)
            text_addf(out, "+0x%" PRIx64, offset);
        return;
    }
    struct text inner = {0};
    leaf_name(objects, object->type, object->open ? offset : offset % element, object->open, pattern, &inner);
    const char *words = inner.length ? inner.data : "";
    if (objects_array_name(objects, object, offset, pattern, out) || (object->by_reference && offset < element)) {
        text_add(out, words);
    } else if ((object->bytes / element < 2 || object->extended || object->open || (object->endless && offset < element)) && type->kind == DEBUG_STRUCT && *words == '.') {
        text_addf(out, "->%s", words + 1);
    } else {
        index_name(offset / element, pattern, out);
        text_add(out, words);
    }
    out->failed |= inner.failed;
    text_done(&inner);
}

static void root_name(const struct objects *objects, const struct object *object, uint64_t offset, bool pattern, struct text *out)
{
    if (object->function)
        text_addf(out, "%s: ", object->function);
    text_add(out, object->name ? object->name : "?");
    if (object->kind == OBJECT_VARIABLE)
        leaf_name(objects, object->type, offset, false, pattern, out);
    else if (object->kind == OBJECT_SYMBOL && offset && !pattern)
        text_addf(out, "+0x%" PRIx64, offset);
}

#define STEPS_MOST 12                     /* of a way that are written */

struct step { const struct object *object; uint64_t offset; bool gap; };

/* The way to a value from a variable down. Of a long one the middle is left out; in a pattern, what repeats (a list, a tree) is written once. */
static void way_name(const struct objects *objects, const struct object *object, uint64_t offset, bool pattern, struct text *out)
{
    struct step steps[STEPS_MOST];
    size_t count = 0;
    for (;;) {
        bool again = pattern && object->alias != NONE;
        steps[count++] = (struct step){object, offset, again};
        if (again)
            object = &objects->items[object->alias];
        if (object->parent == NONE)
            break;
        offset = object->slot;
        object = &objects->items[object->parent];
        if (count < STEPS_MOST - 1 || object->parent == NONE)
            continue;
        steps[count - 1].gap = true;
        while (object->parent != NONE) {
            offset = object->slot;
            object = &objects->items[object->parent];
        }
    }
    while (count--) {
        const struct step *step = &steps[count];
        text_add(out, step->gap ? "->..." : "");
        if (step->object->kind == OBJECT_BLOCK)
            block_name(objects, step->object, step->offset, pattern, out);
        else
            root_name(objects, step->object, step->offset, pattern, out);
    }
}

/* How the members of the C++ library's classes are written by those who use these. */
static void library_shorten(struct text *text)
{
    static const char *const hidden[] = {"._M_impl._M_start", "._M_t._M_t._M_head_impl", "._M_elems", ".__begin_"};
    for (size_t i = 0; text->data && i < sizeof hidden / sizeof *hidden; i++)
        for (char *at = text->data; (at = strstr(at, hidden[i]));) {
            size_t bytes = strlen(hidden[i]);
            memmove(at, at + bytes, strlen(at + bytes) + 1);
            text->length -= bytes;
        }
}

void objects_name(const struct objects *objects, const struct object_place *place, bool pattern, struct text *out)
{
    const struct object *object = &objects->items[place->object];
    way_name(objects, object, place->leaf.offset, pattern, out);
    library_shorten(out);
    if (object->thread)
        text_addf(out, " of thread %" PRIu32, object->thread - 1);
}

__extension__ typedef __float128 quad;

long double object_float(enum debug_kind kind, const void *bytes, uint64_t count)
{
    quad wide;
    float single;
    double twice;
    long double extended = 0;
    if (kind == DEBUG_QUAD && count == sizeof wide) {
        memcpy(&wide, bytes, sizeof wide);
        return (long double)wide;
    }
    switch (count) {
    case sizeof single:
        memcpy(&single, bytes, sizeof single);
        return (long double)single;
    case sizeof twice:
        memcpy(&twice, bytes, sizeof twice);
        return (long double)twice;
    default:
        memcpy(&extended, bytes, count < 10 ? count : 10);
        return extended;
    }
}
