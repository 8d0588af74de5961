/* replay-rt/launcher/debug_types.c - from entries of DWARF to a table of types.
 *
 * Types are numbered when they are first met; what a pointer points to is read when it is asked for, so that a program's types are not all read
 * for one variable. 0 is the type of which nothing is known.
 */
#include "replay-rt/launcher/debug_private.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ---- entries --------------------------------------------------------------------------------------------------------------- */

bool debug_attribute(Dwarf_Die *die, unsigned name, Dwarf_Attribute *ret_attribute)
{
    return dwarf_attr_integrate(die, name, ret_attribute) != NULL;
}

const char *debug_string(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute found;
    return debug_attribute(die, name, &found) ? dwarf_formstring(&found) : NULL;
}

bool debug_number(Dwarf_Die *die, unsigned name, uint64_t *ret_number)
{
    Dwarf_Attribute found;
    Dwarf_Word number;
    if (!debug_attribute(die, name, &found) || dwarf_formudata(&found, &number) != 0)
        return false;
    *ret_number = number;
    return true;
}

bool debug_flag(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute found;
    bool flag = false;
    return dwarf_attr(die, name, &found) && dwarf_formflag(&found, &flag) == 0 && flag;
}

bool debug_reference(Dwarf_Die *die, unsigned name, Dwarf_Die *ret_die)
{
    Dwarf_Attribute found;
    return debug_attribute(die, name, &found) && dwarf_formref_die(&found, ret_die) != NULL;
}

bool debug_child(struct debug_info *info, Dwarf_Die *die, Dwarf_Die *ret_child)
{
    return info->entries++ < ENTRIES_MOST && dwarf_child(die, ret_child) == 0;
}

bool debug_sibling(struct debug_info *info, Dwarf_Die *child)
{
    return info->entries++ < ENTRIES_MOST && dwarf_siblingof(child, child) == 0;
}

const char *debug_keep(struct debug_info *info, struct text *text)
{
    char *kept = text_take(text);
    if (!kept || !array_reserve(&info->strings, &info->string_capacity, info->string_count + 1, sizeof *info->strings)) {
        free(kept);
        info->failed = true;
        return "?";
    }
    return info->strings[info->string_count++] = kept;
}

bool debug_variable_add(struct debug_info *info, struct debug_variable **list, size_t *count, size_t *capacity,
                        const struct debug_variable *variable)
{
    if (!array_reserve(list, capacity, *count + 1, sizeof **list)) {
        info->failed = true;
        return false;
    }
    (*list)[(*count)++] = *variable;
    return true;
}

/* ---- types ----------------------------------------------------------------------------------------------------------------- */

static struct place *place_find(struct place *places, size_t capacity, const void *entry)
{
    size_t at = (size_t)(((uintptr_t)entry * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & (capacity - 1);
    while (places[at].entry && places[at].entry != entry)
        at = (at + 1) & (capacity - 1);
    return &places[at];
}

static bool places_grow(struct debug_info *info)
{
    if (info->place_count * 2 < info->place_capacity)
        return true;
    size_t capacity = info->place_capacity ? info->place_capacity * 2 : 1024;
    struct place *places = calloc(capacity, sizeof *places);
    if (!places)
        return false;
    for (size_t i = 0; i < info->place_capacity; i++)
        if (info->places[i].entry)
            *place_find(places, capacity, info->places[i].entry) = info->places[i];
    free(info->places);
    info->places = places;
    info->place_capacity = capacity;
    return true;
}

/* A type's number before anything is known of it, so that it may be met again on the way. */
uint32_t debug_type_new(struct debug_info *info)
{
    size_t count = info->type_count;
    if (count >= UINT32_MAX || !array_reserve(&info->types, &info->type_capacity, count + 1, sizeof *info->types)
        || !array_reserve(&info->dies, &info->die_capacity, count + 1, sizeof *info->dies)) {
        info->failed = true;
        return 0;
    }
    info->types[count] = (struct debug_type){0};
    memset(&info->dies[count], 0, sizeof *info->dies);
    return (uint32_t)info->type_count++;
}

static bool member_read(struct debug_info *info, Dwarf_Die *die, int depth, struct debug_member *ret_member)
{
    Dwarf_Die type;
    uint64_t bits = 0, bit_offset = 0;
    struct debug_member member = {.name = debug_string(die, DW_AT_name)};
    if (debug_flag(die, DW_AT_external) || debug_flag(die, DW_AT_declaration))
        return false;                     /* static */
    if (dwarf_hasattr(die, DW_AT_data_member_location) && !debug_number(die, DW_AT_data_member_location, &member.offset))
        return false;                     /* a virtual base class: only the object knows where */
    if (debug_number(die, DW_AT_bit_size, &bits) && bits && bits <= 128) {
        if (!debug_number(die, DW_AT_data_bit_offset, &bit_offset))
            bit_offset = member.offset * 8;
        member.offset = bit_offset / 8;
        member.bytes = (bit_offset % 8 + bits + 7) / 8;
        member.first_bit = (uint32_t)(bit_offset % 8);
        member.bits = (uint32_t)bits;
    } else if (debug_reference(die, DW_AT_type, &type)) {
        member.type = debug_type_read(info, &type, depth);
        member.bytes = info->types[member.type].bytes;
    }
    *ret_member = member;
    return true;
}

static enum debug_tail tail_of(const struct debug_info *info, const struct debug_type *type)
{
    if (!type->member_count || type->fortran || !type->bytes)
        return DEBUG_TAIL_NONE;
    const struct debug_member *last = &type->members[type->member_count - 1];
    const struct debug_type *member = &info->types[last->type];
    for (size_t i = 0; i + 1 < type->member_count; i++)
        if (type->members[i].offset > last->offset)
            return DEBUG_TAIL_NONE;
    if (member->kind == DEBUG_STRUCT)
        return member->tail == DEBUG_TAIL_FLEXIBLE ? DEBUG_TAIL_FLEXIBLE : DEBUG_TAIL_NONE;
    if (member->kind != DEBUG_ARRAY || member->count > 1 || !info->types[member->element].bytes)
        return DEBUG_TAIL_NONE;
    return member->count ? DEBUG_TAIL_ONE : DEBUG_TAIL_FLEXIBLE;
}

/* The GNU C++ library's room for an object of a type that only its parameter names: in the nodes of lists, maps and sets. */
static bool is_room(const char *name)
{
    return name && (!strncmp(name, "__aligned_membuf<", 17) || !strncmp(name, "__aligned_buffer<", 17));
}

static bool room_read(struct debug_info *info, Dwarf_Die *die, int depth, struct debug_member *ret_member)
{
    Dwarf_Die child, type;
    if (!debug_child(info, die, &child))
        return false;
    do
        if (dwarf_tag(&child) == DW_TAG_template_type_parameter && debug_reference(&child, DW_AT_type, &type)) {
            uint32_t number = debug_type_read(info, &type, depth);
            *ret_member = (struct debug_member){.type = number, .bytes = info->types[number].bytes};
            return number != 0;
        }
    while (debug_sibling(info, &child));
    return false;
}

#define ALIGNMENT_MOST 64u

/* Of a component of Fortran's; 1 where none is told. */
static uint64_t component_alignment(Dwarf_Die *die)
{
    uint64_t alignment = 1;
    return debug_number(die, DW_AT_alignment, &alignment) && alignment <= ALIGNMENT_MOST && __builtin_popcountll(alignment) == 1 ? alignment : 1;
}

/* flang counts a derived type's bytes to the end of its last component; elements of arrays lie as far apart as the largest alignment of a component has it. */
static uint64_t up_to(uint64_t bytes, uint64_t alignment)
{
    return bytes > UINT64_MAX - alignment ? bytes : (bytes + alignment - 1) / alignment * alignment;
}

/* As the GNU C library calls them in pthread_cond_t, pthread_mutex_t and the like, and so in std::condition_variable, std::mutex. */
static enum debug_waits waits_of(const char *name)
{
    static const struct { const char *name; enum debug_waits waits; } known[] = {
        {"__pthread_cond_s", DEBUG_WAITS_CONDITION}, {"__pthread_mutex_s", DEBUG_WAITS_MUTEX}, {"__pthread_rwlock_arch_t", DEBUG_WAITS_READERS},
    };
    for (size_t i = 0; name && i < sizeof known / sizeof *known; i++)
        if (!strcmp(name, known[i].name))
            return known[i].waits;
    return DEBUG_WAITS_NONE;
}

/* C++'s, which consists of one pthread_cond_t: compilers write only its name where its constructors are the library's. */
static bool is_condition(Dwarf_Die *die, const char *name)
{
    return name && !strcmp(name, "condition_variable") && debug_flag(die, DW_AT_declaration) && debug_is_of_std(die);
}

static struct debug_type struct_read(struct debug_info *info, Dwarf_Die *die, int depth)
{
    struct debug_type type = {.kind = DEBUG_STRUCT, .hollow = true, .name = debug_string(die, DW_AT_name), .fortran = debug_is_fortran(die)};
    size_t capacity = 0;
    uint64_t alignment = 1;
    Dwarf_Die child;
    struct debug_member held;
    type.waits = waits_of(type.name);
    debug_number(die, DW_AT_byte_size, &type.bytes);
    bool room = is_room(type.name) && room_read(info, die, depth, &held) && held.bytes <= type.bytes
                && array_reserve(&type.members, &capacity, 1, sizeof *type.members);
    if (room) {
        type.holds_pointers = info->types[held.type].holds_pointers;
        type.hollow = info->types[held.type].hollow;
        type.members[type.member_count++] = held;
    } else if (debug_child(info, die, &child))
        do {
            int tag = dwarf_tag(&child);
            struct debug_member member;
            if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) || !member_read(info, &child, depth, &member))
                continue;
            if (!array_reserve(&type.members, &capacity, type.member_count + 1, sizeof *type.members)) {
                info->failed = true;
                break;
            }
            type.holds_pointers |= info->types[member.type].holds_pointers;
            type.hollow &= info->types[member.type].hollow;
            type.members[type.member_count++] = member;
            if (type.fortran && component_alignment(&child) > alignment)
                alignment = component_alignment(&child);
        } while (debug_sibling(info, &child));
    if (is_condition(die, type.name)) {
        type.bytes = sizeof(pthread_cond_t);
        type.waits = DEBUG_WAITS_CONDITION;
        type.hollow = false;
    }
    type.bytes = up_to(type.bytes, alignment);
    if (dwarf_tag(die) != DW_TAG_union_type)
        type.tail = tail_of(info, &type);
    return type;
}

/* The encoding does not tell it from long double, which has as many bytes. */
static bool is_quad(const char *name)
{
    static const char *const names[] = {"__float128", "_Float128", "__ieee128"};
    for (size_t i = 0; name && i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i]))
            return true;
    return false;
}

enum { EXTENDED_BYTES = 10, EXTENDED_ROOM = 16 };       /* of the x87's numbers */

static struct debug_type number_read(Dwarf_Die *die)
{
    struct debug_type type = {.kind = DEBUG_INTEGER, .name = debug_string(die, DW_AT_name)};
    uint64_t encoding = 0;
    debug_number(die, DW_AT_byte_size, &type.bytes);
    debug_number(die, DW_AT_encoding, &encoding);
    if ((encoding == DW_ATE_float && type.bytes == EXTENDED_BYTES) || (encoding == DW_ATE_complex_float && type.bytes == 2 * EXTENDED_BYTES))
        type.bytes = type.bytes * EXTENDED_ROOM / EXTENDED_BYTES;       /* flang counts what is used */
    if (encoding == DW_ATE_float && type.bytes == 16 && is_quad(type.name))
        type.kind = DEBUG_QUAD;
    else if (encoding == DW_ATE_float && (type.bytes == 4 || type.bytes == 8 || type.bytes == 16))
        type.kind = DEBUG_FLOAT;
    else if (encoding == DW_ATE_complex_float && (type.bytes == 8 || type.bytes == 16 || type.bytes == 32))
        type.kind = DEBUG_COMPLEX;
    else if (type.bytes > 16)
        type.kind = DEBUG_UNKNOWN;
    return type;
}

/* From now on the entry is that type. false: no memory. */
static bool place_add(struct debug_info *info, const Dwarf_Die *die, uint32_t number)
{
    if (!places_grow(info)) {
        info->failed = true;
        return false;
    }
    *place_find(info->places, info->place_capacity, die->addr) = (struct place){die->addr, number};
    info->place_count++;
    return true;
}

static uint32_t type_make(struct debug_info *info, Dwarf_Die *die, int tag, int depth)
{
    Dwarf_Die definition;
    if (debug_flag(die, DW_AT_declaration) && debug_definition_find(info, die, &definition)) {
        uint32_t defined = debug_type_read(info, &definition, depth);
        return place_add(info, die, defined) ? defined : 0;
    }
    uint32_t number = debug_type_new(info);
    if (!number || !place_add(info, die, number))
        return 0;
    struct debug_type type = {0};
    switch (tag) {
    case DW_TAG_pointer_type:
    case DW_TAG_reference_type:
    case DW_TAG_rvalue_reference_type: {
        Dwarf_Die target;
        type = (struct debug_type){.kind = DEBUG_POINTER, .reference = tag != DW_TAG_pointer_type || debug_is_fortran(die), .holds_pointers = true, .bytes = 8};
        if (debug_reference(die, DW_AT_type, &target))
            info->dies[number] = target;
        break;
    }
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
        type = struct_read(info, die, depth);
        break;
    case DW_TAG_array_type: {
        Dwarf_Die element;
        type = debug_array_read(info, die, debug_reference(die, DW_AT_type, &element) ? debug_type_read(info, &element, depth) : 0);
        break;
    }
    case DW_TAG_string_type:
        type = debug_characters_read(info, die);
        break;
    default:
        type = number_read(die);
        break;
    }
    info->types[number] = type;
    return number;
}

uint32_t debug_type_read(struct debug_info *info, Dwarf_Die *start, int depth)
{
    Dwarf_Die die = *start;
    for (; depth < DEPTH_MOST && !info->failed && info->entries++ < ENTRIES_MOST; depth++) {
        int tag = dwarf_tag(&die);
        switch (tag) {
        case DW_TAG_typedef:
        case DW_TAG_const_type:
        case DW_TAG_volatile_type:
        case DW_TAG_restrict_type:
        case DW_TAG_atomic_type:
        case DW_TAG_subrange_type:
            if (!debug_reference(&die, DW_AT_type, &die))
                return 0;
            continue;
        case DW_TAG_base_type:
        case DW_TAG_string_type:
        case DW_TAG_enumeration_type:
        case DW_TAG_ptr_to_member_type:
        case DW_TAG_pointer_type:
        case DW_TAG_reference_type:
        case DW_TAG_rvalue_reference_type:
        case DW_TAG_structure_type:
        case DW_TAG_class_type:
        case DW_TAG_union_type:
        case DW_TAG_array_type: {
            struct place *place = info->place_capacity ? place_find(info->places, info->place_capacity, die.addr) : NULL;
            return place && place->entry ? place->type : type_make(info, &die, tag, depth + 1);
        }
        default:
            return 0;
        }
    }
    return 0;
}

const struct debug_type *debug_type_get(const struct debug_info *info, uint32_t type)
{
    return &info->types[type < info->type_count ? type : 0];
}

uint32_t debug_type_target(struct debug_info *info, uint32_t type)
{
    if (type >= info->type_count || info->types[type].kind != DEBUG_POINTER)
        return 0;
    if (info->types[type].element)        /* of a descriptor, which is no entry of its own */
        return info->types[type].element;
    if (!info->dies[type].addr)
        return 0;
    Dwarf_Die die = info->dies[type];
    return debug_type_read(info, &die, 0);
}
