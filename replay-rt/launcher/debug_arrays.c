/* replay-rt/launcher/debug_arrays.c - arrays as DWARF tells them: of C's, whose last index runs fastest, and of Fortran's, whose first does, with bounds.
 *
 * An array that is allocated, pointed to or of assumed shape is a descriptor in memory: the first word leads to its elements, others hold bounds.
 *
 *    descriptor  ┌────────┬─ ... ─┬───────┬───────┬────────┬───────┬───────┬────────┐
 *                │ base   │       │ lower │ count │ stride │ lower │ count │ stride │ ...      where, DWARF's expressions say
 *                └───┬────┴─ ... ─┴───────┴───────┴────────┴───────┴───────┴────────┘
 *                    └──▶ elements
 */
#include "replay-rt/launcher/debug_private.h"

#include <stdlib.h>

#define WORD_BYTES 8u
#define DESCRIPTOR_BYTES_MOST 4096
#define DESCRIPTOR_MEMBERS 2u             /* the pointer, the rest */

bool debug_is_fortran(Dwarf_Die *die)
{
    Dwarf_Die unit;
    switch (dwarf_diecu(die, &unit, NULL, NULL) ? dwarf_srclang(&unit) : -1) {
    case DW_LANG_Fortran77:
    case DW_LANG_Fortran90:
    case DW_LANG_Fortran95:
    case DW_LANG_Fortran03:
    case DW_LANG_Fortran08:
        return true;
    default:
        return false;
    }
}

static uint64_t product(uint64_t count, uint64_t bytes)
{
    uint64_t result;
    return __builtin_mul_overflow(count, bytes, &result) || result > UINT64_MAX >> 8 ? 0 : result;
}

static struct debug_type array_of(const struct debug_info *info, uint32_t element, uint64_t count, int64_t lower, bool fortran)
{
    const struct debug_type *one = &info->types[element];
    return (struct debug_type){.kind = DEBUG_ARRAY, .element = element, .count = count, .bytes = product(count, one->bytes), .lower = lower,
                               .holds_pointers = one->holds_pointers, .fortran = fortran};
}

/* "The word at N from the object", as flang writes it: push the object's address, add N, read. */
static bool word_of_object(Dwarf_Attribute *attribute, int64_t *ret_offset)
{
    Dwarf_Op *operations;
    size_t count = 0;
    if (dwarf_getlocation(attribute, &operations, &count) != 0 || count < 2 || count > 3 || operations[0].atom != DW_OP_push_object_address
        || operations[count - 1].atom != DW_OP_deref || (count == 3 && operations[1].atom != DW_OP_plus_uconst))
        return false;
    uint64_t offset = count == 3 ? operations[1].number : 0;
    if (offset > DESCRIPTOR_BYTES_MOST)
        return false;
    *ret_offset = (int64_t)offset;
    return true;
}

/* Its own value where it is a number or such a word; `otherwise` where the entry has no such attribute. False: it says something else. */
static bool bound_read(Dwarf_Die *die, unsigned name, int64_t otherwise, struct debug_bound *ret_bound)
{
    Dwarf_Attribute found;
    Dwarf_Sword number;
    struct debug_bound bound = {.number = otherwise};
    if (dwarf_attr(die, name, &found)) {
        if (dwarf_formsdata(&found, &number) == 0)
            bound.number = number;
        else if (word_of_object(&found, &bound.number))
            bound.stored = true;
        else
            return false;
    }
    *ret_bound = bound;
    return true;
}

static uint64_t bound_end(const struct debug_bound *bound)
{
    return bound->stored ? (uint64_t)bound->number + WORD_BYTES : 0;
}

static uint32_t type_add(struct debug_info *info, struct debug_type type)
{
    uint32_t number = debug_type_new(info);
    if (number)
        info->types[number] = type;
    return number;
}

/* The pointer to the elements, whose dimensions it then owns, and behind it words that are no user's. */
static struct debug_type descriptor_of(struct debug_info *info, struct debug_type pointer, uint64_t bytes)
{
    struct debug_member *members = calloc(DESCRIPTOR_MEMBERS, sizeof *members);
    uint32_t number = info->failed || !members ? 0 : type_add(info, pointer);
    if (!number) {
        info->failed = true;
        free(pointer.dimensions);
        free(members);
        return (struct debug_type){0};
    }
    uint32_t word = type_add(info, (struct debug_type){.kind = DEBUG_INTEGER, .bytes = WORD_BYTES});
    uint32_t words = type_add(info, array_of(info, word, bytes / WORD_BYTES - 1, 0, false));
    members[0] = (struct debug_member){.type = number, .bytes = WORD_BYTES};
    members[1] = (struct debug_member){.name = "(descriptor)", .type = words, .offset = WORD_BYTES, .bytes = bytes - WORD_BYTES};
    return (struct debug_type){.kind = DEBUG_STRUCT, .fortran = true, .holds_pointers = true, .bytes = bytes, .members = members, .member_count = DESCRIPTOR_MEMBERS};
}

static bool dimension_add(struct debug_info *info, struct debug_type *pointer, struct debug_dimension dimension)
{
    struct debug_dimension *wider = realloc(pointer->dimensions, (pointer->dimension_count + 1) * sizeof dimension);
    info->failed |= !wider;
    if (wider) {
        pointer->dimensions = wider;
        pointer->dimensions[pointer->dimension_count++] = dimension;
    }
    return wider;
}

/* Unknown where an expression is of another form. */
static struct debug_type descriptor_read(struct debug_info *info, Dwarf_Die *die, uint32_t element)
{
    struct debug_type pointer = {.kind = DEBUG_POINTER, .holds_pointers = true, .fortran = true, .bytes = WORD_BYTES, .element = element};
    uint64_t bytes = WORD_BYTES;
    Dwarf_Die child;
    if (debug_child(info, die, &child))
        do {
            struct debug_dimension next;
            if (dwarf_tag(&child) != DW_TAG_subrange_type)
                continue;
            if (pointer.dimension_count == DEBUG_DIMENSIONS_MOST || !bound_read(&child, DW_AT_lower_bound, 1, &next.lower) || !bound_read(&child, DW_AT_count, 0, &next.count)
                || !bound_read(&child, DW_AT_byte_stride, 0, &next.stride_bytes)) {
                free(pointer.dimensions);
                return (struct debug_type){0};
            }
            const uint64_t ends[] = {bound_end(&next.lower), bound_end(&next.count), bound_end(&next.stride_bytes)};
            for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
                bytes = ends[i] > bytes ? ends[i] : bytes;
            if (!dimension_add(info, &pointer, next))
                break;
        } while (debug_sibling(info, &child));
    return descriptor_of(info, pointer, bytes);
}

/* Where the length lies that DWARF gives as "the object's address, and N more". */
static bool length_of_object(Dwarf_Die *die, int64_t *ret_offset)
{
    Dwarf_Attribute found;
    Dwarf_Op *operations;
    size_t count = 0;
    if (!dwarf_attr(die, DW_AT_string_length, &found) || dwarf_getlocation(&found, &operations, &count) != 0 || count != 2
        || operations[0].atom != DW_OP_push_object_address || operations[1].atom != DW_OP_plus_uconst || operations[1].number > DESCRIPTOR_BYTES_MOST)
        return false;
    *ret_offset = (int64_t)operations[1].number;
    return true;
}

struct debug_type debug_characters_read(struct debug_info *info, Dwarf_Die *die)
{
    Dwarf_Attribute where;
    int64_t offset = 0;
    uint64_t bytes = 0;
    uint32_t character = type_add(info, (struct debug_type){.kind = DEBUG_INTEGER, .name = "character", .bytes = 1});
    if (dwarf_attr(die, DW_AT_data_location, &where)) {
        struct debug_type pointer = {.kind = DEBUG_POINTER, .holds_pointers = true, .fortran = true, .bytes = WORD_BYTES, .element = character, .characters = true};
        struct debug_dimension dimension = {.lower = {.number = 1}, .count = {.stored = true}, .stride_bytes = {.number = 1}};
        if (!word_of_object(&where, &offset) || offset || !length_of_object(die, &dimension.count.number) || dimension.count.number % WORD_BYTES
            || !dimension.count.number || !dimension_add(info, &pointer, dimension))
            return (struct debug_type){0};
        return descriptor_of(info, pointer, bound_end(&dimension.count));
    }
    debug_number(die, DW_AT_byte_size, &bytes);
    struct debug_type type = array_of(info, character, bytes, 1, true);
    type.characters = true;
    return type;
}

uint32_t debug_type_array(struct debug_info *info, uint32_t element, const uint64_t *counts, size_t count)
{
    for (size_t i = count; i--;) {
        struct debug_type array = array_of(info, element, counts[i], 0, false);
        element = array.bytes ? type_add(info, array) : 0;
        if (!element)
            return 0;
    }
    return element;
}

struct dimension { uint64_t count; int64_t lower; };

static size_t dimensions_read(struct debug_info *info, Dwarf_Die *die, struct dimension *dimensions)
{
    const int64_t first = debug_is_fortran(die) ? 1 : 0;
    size_t count = 0;
    Dwarf_Die child;
    if (debug_child(info, die, &child))
        do {
            struct dimension next = {.lower = first};
            struct debug_bound lower;
            if (dwarf_tag(&child) != DW_TAG_subrange_type || count == DEBUG_DIMENSIONS_MOST)
                continue;
            if (bound_read(&child, DW_AT_lower_bound, first, &lower) && !lower.stored)
                next.lower = lower.number;
            if (!debug_number(&child, DW_AT_count, &next.count) && debug_number(&child, DW_AT_upper_bound, &next.count))
                next.count = next.count == UINT64_MAX || next.count == UINT32_MAX ? 0 : next.count - (uint64_t)next.lower + 1;
            dimensions[count++] = next;
        } while (debug_sibling(info, &child));
    return count;
}

/* The innermost array is of the dimension that runs fastest. */
struct debug_type debug_array_read(struct debug_info *info, Dwarf_Die *die, uint32_t element)
{
    Dwarf_Attribute where;
    int64_t offset = 0;
    if (dwarf_attr(die, DW_AT_data_location, &where))
        return word_of_object(&where, &offset) && !offset ? descriptor_read(info, die, element) : (struct debug_type){0};
    const bool fortran = debug_is_fortran(die);
    struct dimension dimensions[DEBUG_DIMENSIONS_MOST];
    size_t count = dimensions_read(info, die, dimensions);
    uint32_t type = element;
    for (size_t i = 0; i + 1 < count; i++) {
        const struct dimension *next = &dimensions[fortran ? i : count - 1 - i];
        type = type_add(info, array_of(info, type, next->count, next->lower, fortran));
    }
    const struct dimension *last = &dimensions[fortran && count ? count - 1 : 0];
    return count ? array_of(info, type, last->count, last->lower, fortran) : array_of(info, type, 0, fortran, fortran);
}
