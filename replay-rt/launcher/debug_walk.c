/* replay-rt/launcher/debug_walk.c - from a byte of a variable to the value that holds it, and how one would write that in the source. */
#include "replay-rt/launcher/debug_info.h"

#include "core/text.h"

#include <inttypes.h>
#include <string.h>

#define DEPTH_MOST 48
#define MIX UINT64_C(0x9e3779b97f4a7c15)

static uint64_t mixed(uint64_t group, uint64_t step)
{
    uint64_t value = (group ^ (step + 1)) * MIX;
    return value ^ value >> 29;
}

static void both_add(struct text *exact, struct text *pattern, const char *words)
{
    if (exact)
        text_add(exact, words);
    if (pattern)
        text_add(pattern, words);
}

/* Empty base classes lie where the first value does. What a class adds may lie behind the last value of its base class, in what would be padding there: of members
 * that reach over each other the one that begins last has the byte. */
static const struct debug_member *member_at(const struct debug_info *info, const struct debug_type *type, uint64_t offset)
{
    const struct debug_member *found = NULL;
    for (size_t i = 0; i < type->member_count; i++) {
        const struct debug_member *member = &type->members[i];
        if (offset >= member->offset && offset - member->offset < member->bytes && (!found || member->offset > found->offset)
            && !debug_type_get(info, member->type)->hollow)
            found = member;
    }
    return found;
}

/* The last member, if it is an array that goes on here. */
static const struct debug_member *tail_at(const struct debug_type *type, uint64_t offset, bool open)
{
    if (type->tail != DEBUG_TAIL_FLEXIBLE && (type->tail != DEBUG_TAIL_ONE || !open))
        return NULL;
    const struct debug_member *last = &type->members[type->member_count - 1];
    return offset >= last->offset ? last : NULL;
}

uint32_t debug_type_tail(const struct debug_info *info, uint32_t number, uint64_t *ret_offset)
{
    uint64_t offset = 0;
    const struct debug_type *type = debug_type_get(info, number);
    const uint64_t most = type->bytes;
    for (int depth = 0; depth < DEPTH_MOST && type->kind == DEBUG_STRUCT && type->tail; depth++) {
        const struct debug_member *last = &type->members[type->member_count - 1];
        if (last->offset > most - offset)
            return 0;
        offset += last->offset;
        number = last->type;
        type = debug_type_get(info, number);
    }
    if (type->kind != DEBUG_ARRAY || !offset)
        return 0;
    *ret_offset = offset;
    return number;
}

/* Bit fields that share a byte are told apart by nobody here. */
static void neighbours_add(const struct debug_type *type, const struct debug_member *first, uint64_t offset, struct text *exact,
                           struct text *pattern)
{
    for (const struct debug_member *next = first + 1; next < type->members + type->member_count; next++)
        if (!next->type && next->name && offset >= next->offset && offset - next->offset < next->bytes) {
            both_add(exact, pattern, "/");
            both_add(exact, pattern, next->name);
        }
}

/* Of a bit field's bytes, by all fields that have some of them. Where something else lies there, or they are many, none is known to be unused. */
static uint64_t unused_bits(const struct debug_type *type, const struct debug_member *field)
{
    uint64_t unused = field->bytes < sizeof unused ? (UINT64_C(1) << 8 * field->bytes) - 1 : UINT64_MAX;
    if (field->bytes > sizeof unused)
        return 0;
    for (const struct debug_member *member = type->members; member < type->members + type->member_count; member++)
        for (uint64_t bit = 0; member->offset < field->offset + field->bytes && member->offset + member->bytes > field->offset && bit < 8 * member->bytes; bit++) {
            bool has = !member->bits || (bit >= member->first_bit && bit < (uint64_t)member->first_bit + member->bits);
            uint64_t at = 8 * (member->offset - field->offset) + bit;
            if (has && at < 8 * field->bytes)
                unused &= ~(UINT64_C(1) << at);
        }
    return unused;
}

/* `member`: NULL for what lies in none. A condition variable without waiting threads has no value, whatever it counted. A lock is held or not, and how often; by whom, and who wanted it meanwhile, is a matter of time, as is whether a reader
 * or a writer had it last (the low bits of the readers' number). */
static void waits_note(const struct debug_type *type, const struct debug_member *member, struct debug_leaf *leaf)
{
    static const struct { enum debug_waits waits; const char *member; uint64_t unused; bool holder; } parts[] = {
        {DEBUG_WAITS_CONDITION, NULL, UINT64_MAX, false},
        {DEBUG_WAITS_MUTEX, "__lock", 0, true},
        {DEBUG_WAITS_MUTEX, "__owner", 0, true},
        {DEBUG_WAITS_MUTEX, "__spins", UINT64_MAX, false},
        {DEBUG_WAITS_MUTEX, "__elision", UINT64_MAX, false},
        {DEBUG_WAITS_READERS, "__readers", 7, false},
        {DEBUG_WAITS_READERS, "__wrphase_futex", UINT64_MAX, false},
        {DEBUG_WAITS_READERS, "__writers_futex", UINT64_MAX, false},
        {DEBUG_WAITS_READERS, "__cur_writer", 0, true},
    };
    leaf->waits |= type->waits != DEBUG_WAITS_NONE;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].waits == type->waits && (!parts[i].member || (member && member->name && !strcmp(parts[i].member, member->name)))) {
            leaf->unused |= parts[i].unused;
            leaf->holder |= parts[i].holder;
        }
}

/* An array of unknown length reaches as far as the memory does. */
static uint64_t element_bytes(const struct debug_info *info, const struct debug_type *array)
{
    return debug_type_get(info, array->element)->bytes;
}

/* Into the element of a Fortran array that holds byte *rest. Arrays lie in arrays, the last index outermost. */
static void fortran_indices(const struct debug_info *info, struct debug_leaf *leaf, uint64_t *rest, struct text *exact, struct text *pattern)
{
    int64_t indices[DEBUG_DIMENSIONS_MOST];
    int count = 0;
    const struct debug_type *type = debug_type_get(info, leaf->type);
    for (; type->kind == DEBUG_ARRAY && type->fortran && !type->characters && element_bytes(info, type) && count < DEBUG_DIMENSIONS_MOST; type = debug_type_get(info, leaf->type)) {
        uint64_t bytes = element_bytes(info, type), index = *rest / bytes;
        indices[count++] = type->lower + (int64_t)index;
        leaf->offset += index * bytes;
        *rest -= index * bytes;
        leaf->type = type->element;
        leaf->group = mixed(leaf->group, UINT64_MAX - 1);
    }
    for (int i = count; i--;) {
        const char *before = i == count - 1 ? "(" : ",";
        if (exact)
            text_addf(exact, "%s%" PRId64, before, indices[i]);
        if (pattern)
            text_addf(pattern, "%s:", before);
    }
    both_add(exact, pattern, ")");
}

void debug_type_walk(const struct debug_info *info, uint32_t number, uint64_t offset, bool open, struct text *exact, struct text *pattern,
                     struct debug_leaf *ret_leaf)
{
    struct debug_leaf leaf = {.type = number};
    uint64_t rest = offset;
    for (int depth = 0; depth < DEPTH_MOST; depth++) {
        const struct debug_type *type = debug_type_get(info, leaf.type);
        leaf.kind = type->kind;
        leaf.bytes = type->bytes;
        if (type->kind == DEBUG_ARRAY && type->fortran && !type->characters && element_bytes(info, type)) {
            fortran_indices(info, &leaf, &rest, exact, pattern);
            continue;
        }
        if (type->kind == DEBUG_ARRAY && element_bytes(info, type)) {
            uint64_t bytes = element_bytes(info, type), index = rest / bytes;
            if (exact && type->characters)
                text_addf(exact, "(%" PRIu64 ":%" PRIu64 ")", index + 1, index + 1);
            else if (exact)
                text_addf(exact, "[%" PRIu64 "]", index);
            if (pattern)
                text_add(pattern, type->characters ? "(:)" : "[]");
            leaf.offset += index * bytes;
            rest -= index * bytes;
            leaf.type = type->element;
            leaf.group = mixed(leaf.group, UINT64_MAX - 1);
            continue;
        }
        if (type->kind == DEBUG_STRUCT) {
            const struct debug_member *member = member_at(info, type, rest);
            member = member ? member : tail_at(type, rest, open);
            if (!member) {
                leaf.kind = DEBUG_UNKNOWN;
                leaf.padding = type->member_count > 0 && rest < type->bytes;
                leaf.offset += rest;
                leaf.bytes = 1;
                leaf.group = mixed(leaf.group, UINT64_MAX - 2);
                waits_note(type, NULL, &leaf);
                both_add(exact, pattern, leaf.padding ? " (padding)" : "");
                break;
            }
            if (member->name) {
                both_add(exact, pattern, type->fortran ? "%" : ".");
                both_add(exact, pattern, member->name);
            }
            if (!member->type)
                neighbours_add(type, member, rest, exact, pattern);
            leaf.offset += member->offset;
            rest -= member->offset;
            leaf.group = mixed(leaf.group, (uint64_t)(member - type->members));
            leaf.type = member->type;
            waits_note(type, member, &leaf);
            if (!member->type) {          /* a bit field */
                leaf.kind = DEBUG_INTEGER;
                leaf.bytes = member->bytes;
                leaf.unused |= unused_bits(type, member);
                break;
            }
            continue;
        }
        break;
    }
    if (leaf.kind == DEBUG_ARRAY || leaf.kind == DEBUG_STRUCT || !leaf.bytes || rest >= leaf.bytes) {
        leaf.kind = DEBUG_UNKNOWN;
        leaf.offset = offset;
        leaf.bytes = 1;
    }
    *ret_leaf = leaf;
}
