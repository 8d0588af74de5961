/* replay-rt/launcher/objects.c - finds the objects of captured memory. */
#include "replay-rt/launcher/objects_private.h"
#include "include/pcere/bisect.h"
#include "include/pcere/fresh_blocks.h"

#include <stdlib.h>
#include <string.h>

#define OBJECTS_MOST 2000000u
#define SLOTS_MOST 40000000u              /* pointers that are looked at */
#define BLOCKS_MOST 8000000u
#define DEPTH_MOST 48
#define STRETCHES_FIRST 1024u             /* a power of two */
#define HEADER_BYTES 16u                  /* of the C library's blocks: two words, the second holds size and flags */
#define SIZE_FLAGS 7u
#define FLAG_MAPPED 2u
#define ADDRESS_END (UINT64_C(1) << 47)   /* of what a process has */

static uint32_t object_add(struct objects *objects, const struct object *object)
{
    if (objects->count >= OBJECTS_MOST)
        return NONE;
    if (!array_reserve(&objects->items, &objects->capacity, objects->count + 1, sizeof *objects->items)) {
        objects->failed = true;
        return NONE;
    }
    objects->items[objects->count] = *object;
    return (uint32_t)objects->count++;
}

static const struct store_mapping *mapping_at(const struct objects *objects, uint64_t address)
{
    return codelet_mapping_at(objects->source.codelet, address);
}

static uint64_t word_read(const struct objects *objects, uint64_t address)
{
    uint64_t word = 0;
    return captured_view_read(objects->source.view, address, &word, sizeof word) ? word : 0;
}

/* ---- blocks of the heap ------------------------------------------------------------------------------------------------------ */

static bool is_image(const struct objects *objects, uint64_t address)
{
    return address >= objects->image_low && address < objects->image_end;
}

/* The kernel may make several mappings of one heap or arena, whose blocks do not end with them; .bss begins in the mapping of the file's last page. */
static uint64_t span_end(const struct store_codelet *codelet, size_t i, enum store_role role)
{
    uint64_t end = codelet->mappings[i].end;
    while (++i < codelet->mapping_count && codelet->mappings[i].start == end && codelet->mappings[i].role == role)
        end = codelet->mappings[i].end;
    return end;
}

static bool block_add(struct objects *objects, uint64_t start, uint64_t end)
{
    if (!array_reserve(&objects->blocks, &objects->block_capacity, objects->block_count + 1, sizeof *objects->blocks)) {
        objects->failed = true;
        return false;
    }
    objects->blocks[objects->block_count++] = (struct block){start, end, NONE};
    return true;
}

/* Of the heap from `at` on, as the C library lays it out. */
static void heap_collect(struct objects *objects, uint64_t at, uint64_t heap_end)
{
    while (heap_end - at > HEADER_BYTES && objects->block_count < BLOCKS_MOST) {
        uint64_t size = word_read(objects, at + 8) & ~(uint64_t)SIZE_FLAGS;
        if (size < 2 * HEADER_BYTES || size % HEADER_BYTES || size > heap_end - at)
            return;
        if (!block_add(objects, at + HEADER_BYTES, at + size + 8 < heap_end ? at + size + 8 : heap_end))
            return;
        at += size;
    }
}

/* Of what the region allocated: pages of zeros hold no size. */
static void made_collect(struct objects *objects, const struct store_mapping *mapping)
{
    const struct store_codelet *codelet = objects->source.codelet;
    uint64_t start = 0;
    for (size_t i = 0; i < codelet->made_count; i++) {
        const struct store_run *run = &codelet->made[i];
        const uint64_t end = run->address + run->count * objects->source.view->page_bytes;
        if (run->page == STORE_PAGE_ZERO)
            continue;
        start = start < run->address + FRESH_HEADER_BYTES ? run->address + FRESH_HEADER_BYTES : start;
        while (start - sizeof start < end && objects->block_count < BLOCKS_MOST) {
            uint64_t chunk = fresh_chunk_of(word_read(objects, start - sizeof start));
            if (chunk && (start > mapping->end || chunk > mapping->end - start || !block_add(objects, start, start + fresh_usable(chunk))))
                return;
            start += chunk ? fresh_step(chunk) : HEADER_BYTES;
        }
    }
}

/* Without address randomisation the heap begins where the image ends, and the kernel may make one mapping of both. */
static void blocks_collect(struct objects *objects)
{
    const struct store_codelet *codelet = objects->source.codelet;
    uint64_t end_of_heap = 0;
    for (size_t i = 0; i < codelet->mapping_count; i++) {
        const struct store_mapping *mapping = &codelet->mappings[i];
        bool behind = mapping->role == STORE_ROLE_IMAGE && mapping->start < objects->image_end && mapping->end > objects->image_end;
        bool made = codelet->made_count && mapping->start == codelet->made[0].address;
        size_t first = objects->block_count;
        if ((mapping->role != STORE_ROLE_HEAP && !behind && !made) || mapping->start < end_of_heap)
            continue;
        end_of_heap = made ? mapping->end : span_end(codelet, i, STORE_ROLE_HEAP);
        if (made)
            made_collect(objects, mapping);
        else
            heap_collect(objects, behind ? objects->image_end : mapping->start, end_of_heap);
        if (first < objects->block_count && objects->walk_count < WALKS_MOST)
            objects->walks[objects->walk_count++] = (struct walk){objects->blocks[first].start, objects->blocks[objects->block_count - 1].end};
    }
}

/* Between blocks that are known. */
static bool is_walked(const struct objects *objects, uint64_t address)
{
    for (size_t i = 0; i < objects->walk_count; i++)
        if (address >= objects->walks[i].start && address < objects->walks[i].end)
            return true;
    return false;
}

static struct block *block_at(const struct objects *objects, uint64_t address)
{
    BISECT(low, 0, objects->block_count, i, objects->blocks[i].end <= address);
    return low < objects->block_count && objects->blocks[low].start <= address ? &objects->blocks[low] : NULL;
}

/* Blocks of other arenas, large blocks: the size before the address, if that can be one. 0: it cannot. */
static uint64_t block_end_by_header(const struct objects *objects, const struct store_mapping *mapping, uint64_t address)
{
    if (mapping->role == STORE_ROLE_STACK || is_image(objects, address) || address % HEADER_BYTES
        || address - mapping->start < HEADER_BYTES)
        return 0;
    uint64_t word = word_read(objects, address - 8), size = word & ~(uint64_t)SIZE_FLAGS, start = address - HEADER_BYTES;
    uint64_t most = span_end(objects->source.codelet, (size_t)(mapping - objects->source.codelet->mappings), mapping->role);
    if (size < 2 * HEADER_BYTES || size % HEADER_BYTES || size > most - start)
        return 0;
    return start + size + (word & FLAG_MAPPED || start + size + 8 > most ? 0 : 8);
}

/* Of the objects whose end is known, the first that ends above the address. */
static const struct object *root_above(const struct objects *objects, uint64_t address)
{
    BISECT(low, 0, objects->root_count, i, objects->items[objects->roots[i]].address + objects->items[objects->roots[i]].bytes <= address);
    return low < objects->root_count ? &objects->items[objects->roots[low]] : NULL;
}

/* `address`: it leads nowhere. */
static uint64_t end_of_target(const struct objects *objects, const struct store_mapping *mapping, uint64_t address, struct block **ret_block,
                              bool *ret_endless)
{
    *ret_block = block_at(objects, address);
    *ret_endless = false;
    if (*ret_block)
        return (*ret_block)->end;
    if (is_walked(objects, address))
        return address;                   /* just behind a block's end */
    uint64_t end = block_end_by_header(objects, mapping, address);
    if (end)
        return end;
    *ret_endless = true;
    const struct object *next = root_above(objects, address);
    return next && next->address > address && next->address < mapping->end ? next->address : mapping->end;
}

/* ---- pointers ---------------------------------------------------------------------------------------------------------------- */

/* From the third object of a type in a row on they are like the second: a list, a tree. */
static uint32_t alias_find(const struct objects *objects, uint32_t parent, uint32_t type)
{
    uint32_t nearest = NONE;
    for (int depth = 0; depth < DEPTH_MOST && parent != NONE; depth++) {
        const struct object *above = &objects->items[parent];
        if (above->kind == OBJECT_BLOCK && above->type == type) {
            if (above->alias != NONE || nearest != NONE)
                return above->alias != NONE ? above->alias : nearest;
            nearest = parent;
        }
        parent = above->parent;
    }
    return NONE;
}

/* Is the address already one of this type's places in the object that was found first? */
static bool is_inside(const struct object *owner, uint32_t type, uint64_t address, uint64_t element)
{
    return owner->type == type && !owner->open && address >= owner->address && address - owner->address < owner->bytes && element
           && (address - owner->address) % element == 0;
}

/* What a pointer of `type` that holds `target`, and lies at `slot` of `parent`, leads to. */
#define SIBLINGS_MOST 4u

/* What holds it has a pointer of that type to what this one points into, or just behind: first and last of an array. The pointers before this one in their parent
 * were added last. */
static bool is_end_of_sibling(const struct objects *objects, uint32_t parent, uint32_t to, uint64_t target)
{
    for (size_t i = objects->count, looked = 0; i && looked < SIBLINGS_MOST && objects->items[i - 1].parent == parent; i--, looked++) {
        const struct object *sibling = &objects->items[i - 1];
        if (sibling->type == to && !sibling->endless && sibling->address < target && target <= sibling->address + sibling->bytes)
            return true;
    }
    return false;
}

static struct stretch *stretch_at(const struct objects *objects, uint64_t end, uint32_t type, uint64_t phase)
{
    size_t at = objects_mixed(objects_mixed(end, type), phase) & (objects->stretch_room - 1);
    while (objects->stretches[at].end
           && (objects->stretches[at].end != end || objects->stretches[at].type != type || objects->stretches[at].phase != phase))
        at = (at + 1) & (objects->stretch_room - 1);
    return &objects->stretches[at];
}

static bool stretches_grow(struct objects *objects)
{
    const size_t room = objects->stretch_room;
    struct stretch *old = objects->stretches, *wider = calloc(room ? 2 * room : STRETCHES_FIRST, sizeof *wider);
    if (!wider)
        return false;
    objects->stretches = wider;
    objects->stretch_room = room ? 2 * room : STRETCHES_FIRST;
    for (size_t i = 0; i < room; i++)
        if (old[i].end)
            *stretch_at(objects, old[i].end, old[i].type, old[i].phase) = old[i];
    free(old);
    return true;
}

/* Thousands of pointers may lead into one array, to its end as far as anybody knows: each adds only what lies before all that came earlier, so that none of it is
 * looked at twice. The end of what is new from `target` on; `target`: nothing is. */
static uint64_t stretch_new(struct objects *objects, uint32_t type, uint64_t target, uint64_t end, uint64_t element)
{
    if (2 * objects->stretch_count >= objects->stretch_room && !stretches_grow(objects)) {
        objects->failed = true;
        return target;
    }
    struct stretch *stretch = stretch_at(objects, end, type, target % element);
    uint64_t known_from = stretch->end ? stretch->from : end;
    if (known_from <= target)
        return target;
    objects->stretch_count += !stretch->end;
    *stretch = (struct stretch){.end = end, .phase = target % element, .from = target, .type = type};
    return known_from;
}

/* Has objects of its own kind (a list's, a tree's links) or a table of virtual functions: such are made one by one. */
static bool is_linked_or_virtual(const struct objects *objects, uint32_t number, uint32_t whole, int depth)
{
    const struct debug_type type = *debug_type_get(objects->source.info, number);
    for (size_t i = 0; depth < DEPTH_MOST && i < type.member_count; i++) {
        const struct debug_member *member = &debug_type_get(objects->source.info, number)->members[i];
        const char *name = member->name;
        if ((name && !strncmp(name, "_vptr", 5)) || (whole && debug_type_target(objects->source.info, member->type) == whole)
            || (!name && is_linked_or_virtual(objects, member->type, whole, depth + 1)))
            return true;
    }
    return false;
}

/* What was asked for of a block that can hold so much, at least. */
static uint64_t asked_least(uint64_t usable)
{
    return usable <= 24 ? 1 : usable < FRESH_SMALL_BYTES ? usable - 15 : usable / 2;
}

/* Of several that lie there (base classes without values) the last. */
static const struct debug_member *member_around(const struct debug_type *type, uint64_t offset)
{
    const struct debug_member *inner = NULL;
    for (size_t i = 0; i < type->member_count; i++)
        if (offset >= type->members[i].offset && offset - type->members[i].offset < type->members[i].bytes)
            inner = &type->members[i];
    return inner;
}

/* Does the name of a class around the pointer hold this text? Of the object that has the pointer, and of its members on the way to it. */
static bool parent_names(const struct objects *objects, const struct object *object, const char *text)
{
    const struct debug_info *info = objects->source.info;
    const struct object *parent = &objects->items[object->parent];
    uint64_t offset = object->slot;
    const struct debug_type *type = debug_type_get(info, parent->type);
    if (parent->kind == OBJECT_BLOCK && !parent->open && type->bytes)
        offset %= type->bytes;
    for (int depth = 0; depth < DEPTH_MOST && type->kind != DEBUG_UNKNOWN; depth++) {
        if (type->kind == DEBUG_ARRAY) {
            uint64_t element = debug_type_get(info, type->element)->bytes;
            offset = element ? offset % element : 0;
            type = debug_type_get(info, type->element);
            continue;
        }
        if (type->kind != DEBUG_STRUCT)
            return false;
        if (type->name && strstr(type->name, text))
            return true;
        const struct debug_member *inner = member_around(type, offset);
        if (!inner)
            return false;
        offset -= inner->offset;
        type = debug_type_get(info, inner->type);
    }
    return false;
}

#define HOLDERS_MOST 3                    /* a table of buckets lies between */

static bool holder_names(const struct objects *objects, const struct object *object, const char *text)
{
    for (int i = 0; i < HOLDERS_MOST && object->kind == OBJECT_BLOCK; i++, object = &objects->items[object->parent])
        if (parent_names(objects, object, text))
            return true;
    return false;
}

/* "_Hash_node<std::pair<const int, info>, false>": is the pointer in a class of what stands between the brackets, but for that flag? */
static bool is_of_holder(const struct objects *objects, const struct object *object, uint32_t derived)
{
    const char *name = debug_type_get(objects->source.info, derived)->name, *open = name ? strchr(name, '<') : NULL, *close = open ? strrchr(open, '>') : NULL;
    if (!close || close == open + 1)
        return false;
    char *inner = strndup(open + 1, (size_t)(close - open - 1)), *flag = inner ? strrchr(inner, ',') : NULL;
    if (flag && (!strcmp(flag, ", false") || !strcmp(flag, ", true")))
        *flag = 0;
    bool found = inner && holder_names(objects, object, inner);
    free(inner);
    return found;
}

/* It is alone in its block, whose size tells which derived class it is of, or who holds it: one that the first of a list, a tree is of, or the container. */
static void derived_find(const struct objects *objects, struct object *object)
{
    const struct object parent = objects->items[object->parent];
    uint32_t types[DEBUG_DERIVED_MOST], derived = 0;
    size_t count = debug_type_derived(objects->source.info, object->declared, asked_least(object->bytes), object->bytes, types), alike = 0;
    for (size_t i = 0; i < count; i++)
        if (parent.kind == OBJECT_BLOCK && parent.type == types[i])
            derived = types[i];
    for (size_t i = 0; i < count && !derived; i++)
        alike += is_of_holder(objects, object, types[i]);
    for (size_t i = 0; i < count && !derived; i++)
        if (count == 1 || (alike == 1 && is_of_holder(objects, object, types[i])))
            derived = types[i];
    if (!derived || debug_type_derived(objects->source.info, derived, asked_least(object->bytes), object->bytes, types))
        return;                           /* or one that is derived from that */
    object->type = derived;
    object->bytes = debug_type_get(objects->source.info, derived)->bytes;
    object->extended = object->endless = false;
}

/* An array of whole elements fits its block but for what the C library rounds sizes up by, so that some of what is none passes for one.
 *
 * How a structure lies in a longer block, whose start a pointer leads to (`whole`) or not: as the first of an array, as part of an object of a derived class, before the
 * elements of its last member, or before what only the program knows (a header's payload, the rest of an object that begins with this one).
 *
 *    ┌──────┬──────┬──────┬──────┐  ┌──────────┬── ··· ──┐  ┌───┬────┬────┬── ··· ──┐  ┌──────┬── ··· ──┐
 *    │ type │ type │ type │ type │  │ extended   derived │  │ n │v[0]│v[1]│         │  │ type │    ?    │
 *    └──────┴──────┴──────┴──────┘  └──────────┴── ··· ──┘  └───┴────┴────┴── ··· ──┘  └──────┴── ··· ──┘
 */
static void object_shape(const struct objects *objects, struct object *object, bool in_heap, bool whole)
{
    const struct debug_info *info = objects->source.info;
    const struct debug_type *type = debug_type_get(info, object->type);
    uint64_t head = type->bytes;
    if (!head)
        return;
    const bool longer = object->bytes > head, fits = object->bytes % head < HEADER_BYTES;
    in_heap &= whole;
    object->extended = debug_type_is_extended(info, object->type)
                       && (object->by_reference || (in_heap && longer && (!fits || is_linked_or_virtual(objects, object->type, object->type, 0))));
    if (object->extended && in_heap)
        derived_find(objects, object);
    if (object->type != object->declared)
        return;
    type = debug_type_get(info, object->type);        /* reading others may have moved it */
    if (type->kind != DEBUG_STRUCT || object->extended || !longer)
        return;
    object->open = whole && debug_type_tail(info, object->type, &head);
    object->either = object->open && type->tail == DEBUG_TAIL_ONE && fits;
    if (!object->open && type->tail != DEBUG_TAIL_FLEXIBLE && (!in_heap || fits))
        return;                           /* an array, for all that is known */
    object->block_bytes = whole ? object->bytes : 0;
    object->bytes = head;
    object->endless = false;
}

/* Is it a member, or a member's, of the object that was found first? */
static bool is_member(const struct objects *objects, const struct object *owner, uint32_t type, uint64_t address)
{
    const struct debug_info *info = objects->source.info;
    const struct debug_type *at = debug_type_get(info, owner->type);
    uint64_t offset = address - owner->address;
    if (address < owner->address || offset >= owner->bytes || owner->open || !at->bytes)
        return false;
    offset %= at->bytes;
    for (int depth = 0; depth < DEPTH_MOST && at->kind == DEBUG_STRUCT; depth++) {
        const struct debug_member *inner = member_around(at, offset);
        if (!inner)
            return false;
        offset -= inner->offset;
        if (!offset && inner->type == type)
            return true;
        at = debug_type_get(info, inner->type);
    }
    return false;
}

static void target_add(struct objects *objects, uint32_t parent, uint64_t slot, uint64_t slot_group, uint32_t type, uint64_t target)
{
    const struct store_mapping *mapping = target ? mapping_at(objects, target) : NULL;
    if (!mapping)
        return;
    const struct debug_info *info = objects->source.info;
    uint32_t to = debug_type_target(objects->source.info, type);
    uint64_t element = debug_type_get(info, to)->bytes;
    bool by_reference = debug_type_get(info, type)->reference;
    const struct object *root = objects->root_count ? root_above(objects, target) : NULL;
    if ((root && root->address <= target) || (!to && is_image(objects, target)))
        return;
    struct block *block;
    bool endless;
    uint64_t end = end_of_target(objects, mapping, target, &block, &endless);
    if (end == target || (!block && to && is_end_of_sibling(objects, parent, to, target)))
        return;
    uint64_t reach = by_reference ? element : objects_array_bytes(objects, debug_type_get(info, type), objects->items[parent].address + slot, element);
    const bool whole = !reach && !endless && (!block || target == block->start);
    if (reach) {
        end = reach < end - target ? target + reach : end;
        endless = false;
    }
    if (block && block->owner != NONE) {
        const struct object *owner = &objects->items[block->owner];
        if (!to || is_inside(owner, to, target, element) || is_member(objects, owner, to, target) || (owner->address == target && owner->declared == to))
            return;
    }
    struct object object = {.address = target, .bytes = end - target, .type = to, .declared = to, .pointer = type, .parent = parent, .slot = slot, .kind = OBJECT_BLOCK,
                            .by_reference = by_reference, .endless = endless};
    object_shape(objects, &object, block, whole);
    end = target + object.bytes;
    if (element && object.type == to && debug_type_get(info, to)->holds_pointers && (end = stretch_new(objects, to, target, end, element)) == target)
        return;
    object.bytes = end - target;
    uint32_t alias = object.alias = to ? alias_find(objects, parent, object.type) : NONE;
    object.group = alias != NONE ? objects_mixed(objects->items[alias].group, 1) : objects_mixed(objects->items[parent].group, slot_group);
    uint32_t number = object_add(objects, &object);
    if (block && block->owner == NONE && number != NONE)
        block->owner = number;
}

/* What stands where an array would have a pointer, and can be none, ends it: behind its first elements lies something else, or what nobody has filled. */
static bool array_cut(struct objects *objects, uint32_t number, uint64_t offset, uint64_t word)
{
    struct object *object = &objects->items[number];
    const uint64_t element = debug_type_get(objects->source.info, object->type)->bytes;
    if (object->kind != OBJECT_BLOCK || object->open || object->extended || object->block_bytes || !element || offset < element || word < ADDRESS_END || word == UINT64_MAX
        || debug_type_get(objects->source.info, object->pointer)->dimension_count)
        return false;
    object->block_bytes = object->endless ? 0 : object->bytes;
    object->bytes = offset / element * element;
    return true;
}

/* The pointers in something of that type. Those to anything at all wait until all others are known (`typeless`). */
static void slots_visit(struct objects *objects, uint32_t object, uint32_t number, uint64_t offset, bool typeless, int depth)
{
    const struct debug_info *info = objects->source.info;
    const struct debug_type type = *debug_type_get(info, number);
    if (depth >= DEPTH_MOST || !type.holds_pointers || objects->failed || objects->count >= OBJECTS_MOST)
        return;
    if (type.kind == DEBUG_STRUCT) {
        for (size_t i = 0; i < type.member_count; i++)
            slots_visit(objects, object, type.members[i].type, offset + type.members[i].offset, typeless, depth + 1);
    } else if (type.kind == DEBUG_ARRAY) {
        uint64_t bytes = debug_type_get(info, type.element)->bytes;
        for (uint64_t i = 0; bytes && i < type.count && objects->slots < SLOTS_MOST; i++)
            slots_visit(objects, object, type.element, offset + i * bytes, typeless, depth + 1);
    } else if (type.kind == DEBUG_POINTER && objects->slots++ < SLOTS_MOST) {
        const struct object *holder = &objects->items[object];
        if (offset > holder->bytes || holder->bytes - offset < 8)
            return;
        const uint64_t word = word_read(objects, holder->address + offset);
        if (array_cut(objects, object, offset, word) || !debug_type_target(objects->source.info, number) != typeless)
            return;
        struct debug_leaf leaf;
        objects_walk(objects, holder, offset, &leaf);
        target_add(objects, object, offset, leaf.group, number, word);
    }
}

static void tail_scan(struct objects *objects, uint32_t number, bool typeless)
{
    const struct debug_info *info = objects->source.info;
    const struct object object = objects->items[number];
    uint64_t at = 0;
    const uint32_t element = debug_type_get(info, debug_type_tail(info, object.type, &at))->element;
    const uint64_t bytes = debug_type_get(info, element)->bytes;
    for (; bytes && bytes <= object.bytes - at && objects->slots < SLOTS_MOST; at += bytes)
        slots_visit(objects, number, element, at, typeless, 0);
}

static void object_scan(struct objects *objects, uint32_t number, bool typeless)
{
    const struct object object = objects->items[number];
    const struct debug_type type = *debug_type_get(objects->source.info, object.type);
    if (object.kind == OBJECT_SYMBOL || object.kind == OBJECT_ARGUMENT || !type.holds_pointers)
        return;
    uint64_t element = type.bytes;
    if (object.kind == OBJECT_VARIABLE && element) {
        slots_visit(objects, number, object.type, 0, typeless, 0);
        return;
    }
    uint32_t one = object.type;
    if (!element && type.kind == DEBUG_ARRAY) {
        one = type.element;
        element = debug_type_get(objects->source.info, one)->bytes;
    }
    if (object.open) {
        if (object.block_bytes)
            slots_visit(objects, number, object.type, 0, typeless, 0);
        else
            tail_scan(objects, number, typeless);
        return;
    }
    const uint64_t end = object.extended && element < object.bytes ? element : object.bytes;
    for (uint64_t at = 0; element && element <= end - at && objects->slots < SLOTS_MOST; at += element)
        slots_visit(objects, number, one, at, typeless, 0);
}

/* What lies behind heads, for all bytes that nothing has by then. */
static void blocks_add(struct objects *objects)
{
    for (size_t i = 0, count = objects->count; i < count; i++) {
        struct object block = objects->items[i];
        if (!block.block_bytes)
            continue;
        block.bytes = block.block_bytes;
        block.block_bytes = 0;
        block.type = block.open ? block.type : 0;
        object_add(objects, &block);
    }
}

static void scan_all(struct objects *objects)
{
    size_t typed = 0;
    for (int heads = 1; heads >= 0; heads--) {
        for (; typed < objects->count && !objects->failed; typed++)
            object_scan(objects, (uint32_t)typed, false);
        if (heads)
            blocks_add(objects);
    }
    for (size_t i = 0; i < typed && !objects->failed; i++)
        object_scan(objects, (uint32_t)i, true);
}

/* ---- variables --------------------------------------------------------------------------------------------------------------- */

/* A variable in memory. One whose length its type does not tell (an array's) reaches to the next. */
static uint32_t variable_add(struct objects *objects, const struct debug_variable *variable, uint64_t address, uint32_t thread)
{
    const struct store_mapping *mapping = mapping_at(objects, address);
    uint64_t bytes = debug_type_get(objects->source.info, variable->type)->bytes;
    if (!mapping || !bytes)
        return NONE;
    struct object object = {.address = address, .type = variable->type, .parent = NONE, .alias = NONE, .thread = thread,
                            .kind = OBJECT_VARIABLE, .name = variable->name, .function = variable->function};
    uint64_t most = span_end(objects->source.codelet, (size_t)(mapping - objects->source.codelet->mappings), mapping->role) - address;
    object.bytes = bytes < most ? bytes : most;
    object.group = objects_mixed(address, (uint64_t)thread << 32 | variable->type);
    return object_add(objects, &object);
}

/* Of a runtime that is linked into the program, or of capture itself: what it leads to is known by other names. */
static bool is_ignored(const struct store_codelet *codelet, uint64_t address)
{
    for (size_t i = 0; i < codelet->ignored_count; i++)
        if (address - codelet->ignored[i].address < codelet->ignored[i].bytes)
            return true;
    return false;
}

static void statics_add(struct objects *objects)
{
    const struct store_codelet *codelet = objects->source.codelet;
    const struct debug_variable *variables;
    size_t count = debug_info_variables(objects->source.info, &variables);
    const struct loaded_image *image = &objects->source.images->items[objects->source.image];
    for (size_t i = 0; i < count; i++) {
        if (variables[i].where == DEBUG_AT_ADDRESS && !is_ignored(codelet, variables[i].address + image->bias))
            variable_add(objects, &variables[i], variables[i].address + image->bias, 0);
        for (size_t t = 0; variables[i].where == DEBUG_IN_THREAD && t < codelet->thread_count; t++)
            if (codelet->threads[t].image == objects->source.image && variables[i].address < codelet->threads[t].tls_bytes)
                variable_add(objects, &variables[i], codelet->threads[t].tls_address + variables[i].address, codelet->threads[t].number + 1);
    }
}

/* Of argument i, if that is an array of variable length: what comes before it are its sizes. A pointer may be one to such an array, so that nobody knows which of them it has. */
static uint32_t variable_length(struct objects *objects, const struct debug_variable *arguments, size_t i)
{
    const uint32_t element = debug_type_target(objects->source.info, arguments[i].type);
    size_t count = 0;
    while (count < i && count < DEBUG_DIMENSIONS_MOST && arguments[i - count - 1].extent)
        count++;
    if (!count || debug_type_get(objects->source.info, element)->kind == DEBUG_POINTER)
        return 0;
    return debug_type_array(objects->source.info, element, &objects->source.codelet->words[i - count], count);
}

/* What it has by reference is in use while it runs; of the callers' variables only the debug information says so. */
static enum pcere_status arguments_add(struct objects *objects, bool by_reference, struct pcere_error *error)
{
    const struct store_codelet *codelet = objects->source.codelet;
    const struct store_region *region = objects->source.region;
    struct debug_variable *arguments;
    size_t count;
    const char *caller = codelet->frame_count ? codelet->frames[0].symbol : "";
    uint64_t pc = codelet->frame_count ? codelet->frames[0].address - objects->source.images->items[objects->source.image].bias - 1 : 0;
    enum pcere_status status = debug_info_arguments(objects->source.info, region->file ? region->file : "", region->line, caller, pc,
                                                    &arguments, &count, error);
    if (status)
        return status;
    for (size_t i = 0; i < count && i < codelet->word_count; i++) {
        const struct debug_type *type = debug_type_get(objects->source.info, arguments[i].type);
        if (type->kind != DEBUG_POINTER || type->reference != by_reference || !arguments[i].name)
            continue;
        uint32_t array = by_reference ? variable_length(objects, arguments, i) : 0;
        if (array) {
            variable_add(objects, &(struct debug_variable){.name = arguments[i].name, .function = region->function, .type = array}, codelet->words[i], 0);
            continue;
        }
        struct object object = {.type = arguments[i].type, .parent = NONE, .alias = NONE, .kind = OBJECT_ARGUMENT, .bytes = 8,
                                .name = arguments[i].name, .function = region->function, .group = objects_mixed(0x61726775, i)};
        uint32_t number = object_add(objects, &object);
        if (number != NONE)
            target_add(objects, number, 0, 0, arguments[i].type, codelet->words[i]);
    }
    free(arguments);
    return PCERE_OK;
}

/* Where frame i returns to is a word on the stack, and the frame ends just above it. */
static uint64_t frame_end(struct objects *objects, size_t i, uint64_t from)
{
    const struct store_codelet *codelet = objects->source.codelet;
    const struct store_mapping *mapping = from ? mapping_at(objects, from) : NULL;
    if (!mapping || i + 1 >= codelet->frame_count)
        return 0;
    for (uint64_t at = (from + 7) & ~UINT64_C(7); at < mapping->end; at += 8)
        if (word_read(objects, at) == codelet->frames[i + 1].address)
            return at + 8;
    return 0;
}

#define BELOW_RETURN 16u                  /* from a frame's end: return address and the caller's frame pointer, where functions keep one */

/* The last frame's end is not known. Its frame pointer is what the function that it called has saved. */
static uint64_t frame_pointer_saved(struct objects *objects, size_t i, uint64_t stack_pointer)
{
    const struct store_mapping *mapping = mapping_at(objects, stack_pointer);
    uint64_t saved = i && mapping ? word_read(objects, stack_pointer - BELOW_RETURN) : 0;
    return saved >= stack_pointer && saved < mapping->end ? saved : 0;
}

static bool frame_word(void *memory, uint64_t address, uint64_t *ret_word)
{
    const struct objects *objects = memory;
    return captured_view_read(objects->source.view, address, ret_word, sizeof *ret_word);
}

static enum pcere_status frames_add(struct objects *objects, struct pcere_error *error)
{
    const struct store_codelet *codelet = objects->source.codelet;
    const struct loaded_image *image = &objects->source.images->items[objects->source.image];
    uint64_t stack_pointer = codelet->stack_pointer;
    for (size_t i = 0; i < codelet->frame_count && stack_pointer; i++) {
        uint64_t pc = codelet->frames[i].address;
        struct debug_frame frame = {.pc = pc >= image->low && pc < image->high ? pc - image->bias : UINT64_MAX, .stack_pointer = stack_pointer,
                                    .canonical_address = frame_end(objects, i, stack_pointer)};
        frame.word_read = frame_word;
        frame.memory = objects;
        frame.frame_pointer = frame.canonical_address ? frame.canonical_address - BELOW_RETURN : frame_pointer_saved(objects, i, stack_pointer);
        struct debug_variable *variables;
        size_t count;
        enum pcere_status status = debug_info_frame(objects->source.info, &frame, &variables, &count, error);
        if (status)
            return status;
        for (size_t v = 0; v < count; v++)
            variable_add(objects, &variables[v], variables[v].address, 0);
        free(variables);
        stack_pointer = frame.canonical_address;
    }
    return PCERE_OK;
}

static void image_symbols_add(struct objects *objects, uint32_t number)
{
    const struct loaded_image *image = &objects->source.images->items[number];
    const struct elf_symbol *lists[2];
    size_t counts[2] = {elf_file_tables(image->elf, &lists[0]), elf_file_symbols(image->elf, &lists[1])};
    const struct store_codelet *codelet = objects->source.codelet;
    for (int list = 0; list < 2; list++)
        for (size_t i = 0; i < counts[list]; i++) {
            const struct elf_symbol *symbol = &lists[list][i];
            struct object object = {.bytes = symbol->size, .parent = NONE, .alias = NONE, .kind = OBJECT_SYMBOL, .name = symbol->name};
            for (size_t t = 0; symbol->kind == PCERE_SYMBOL_TLS && t < codelet->thread_count; t++) {
                object.address = codelet->threads[t].tls_address + symbol->address;
                object.thread = codelet->threads[t].number + 1;
                object.group = objects_mixed(object.address, 2);
                if (codelet->threads[t].image == number && symbol->address < codelet->threads[t].tls_bytes && object.bytes <= codelet->threads[t].tls_bytes - symbol->address)
                    object_add(objects, &object);
            }
            object.address = symbol->address + image->bias;
            object.thread = 0;
            object.group = objects_mixed(object.address, 2);
            if (symbol->kind == PCERE_SYMBOL_VARIABLE && object.bytes && object.bytes <= UINT64_MAX - object.address)
                object_add(objects, &object);
        }
}

static void symbols_add(struct objects *objects)
{
    for (size_t i = 0; i < objects->source.images->count; i++)
        if (image_is_present(objects->source.images, i, objects->source.codelet))
            image_symbols_add(objects, (uint32_t)i);
}

/* ---- all together ------------------------------------------------------------------------------------------------------------ */

enum pcere_status objects_new(const struct objects_source *source, struct objects **ret_objects, struct pcere_error *error)
{
    struct objects *objects = calloc(1, sizeof *objects);
    if (!objects)
        return pcere_fail_memory(error, "the variables");
    objects->source = *source;
    objects->image_low = source->images->items[source->image].low;
    objects->image_end = source->images->items[source->image].high;
    blocks_collect(objects);
    statics_add(objects);
    enum pcere_status status = arguments_add(objects, true, error);
    if (!status)
        status = frames_add(objects, error);
    objects->roots = objects_by_address(objects, &objects->root_count);
    objects->failed |= !objects->roots;
    if (!status)
        status = arguments_add(objects, false, error);
    if (!status) {
        scan_all(objects);
        symbols_add(objects);
        objects_segments_make(objects);
    }
    if (!status && objects->failed)
        status = pcere_fail_memory(error, "the variables");
    if (status)
        objects_free(objects);
    else
        *ret_objects = objects;
    return status;
}

uint64_t objects_image_end(const struct objects *objects) { return objects->image_end; }

void objects_free(struct objects *objects)
{
    if (!objects)
        return;
    free(objects->items);
    free(objects->roots);
    free(objects->blocks);
    free(objects->stretches);
    free(objects->segments);
    free(objects);
}
