/* replay-rt/launcher/debug_info.c - the only file that knows libdw: from entries of DWARF to a table of types and a list of variables.
 *
 * Types are numbered when they are first met; what a pointer points to is read when it is asked for, so that a program's types are not all read
 * for one variable. 0 is the type of which nothing is known.
 */
#include "replay-rt/launcher/debug_info.h"

#include "core/text.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENTRIES_MOST 20000000u            /* of the debug information: more are not looked at */
#define DEPTH_MOST 48                     /* of types in types, and of blocks in blocks */
#define REGISTER_BP 6
#define REGISTER_SP 7

struct place { const void *entry; uint32_t type; };      /* open hash */

struct function { Dwarf_Die die; const char *name; uint32_t line; };

struct debug_info {
    int descriptor;
    Dwarf *dwarf;
    struct debug_type *types;
    size_t type_count, type_capacity;
    Dwarf_Die *dies;                      /* by type: of pointers, what they point to */
    size_t die_capacity;
    struct place *places;
    size_t place_capacity;                /* a power of two */
    struct debug_variable *variables;
    size_t variable_count, variable_capacity;
    struct function *outlined;            /* bodies of parallel constructs */
    size_t outlined_count, outlined_capacity;
    char **strings;
    size_t string_count, string_capacity;
    uint32_t entries;
    bool failed;                          /* no memory */
};

static uint32_t type_read(struct debug_info *info, Dwarf_Die *die, int depth);

/* ---- entries --------------------------------------------------------------------------------------------------------------- */

static bool attribute(Dwarf_Die *die, unsigned name, Dwarf_Attribute *ret_attribute)
{
    return dwarf_attr_integrate(die, name, ret_attribute) != NULL;
}

static const char *entry_string(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute found;
    return attribute(die, name, &found) ? dwarf_formstring(&found) : NULL;
}

static bool entry_number(Dwarf_Die *die, unsigned name, uint64_t *ret_number)
{
    Dwarf_Attribute found;
    Dwarf_Word number;
    if (!attribute(die, name, &found) || dwarf_formudata(&found, &number) != 0)
        return false;
    *ret_number = number;
    return true;
}

static bool entry_flag(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute found;
    bool flag = false;
    return dwarf_attr(die, name, &found) && dwarf_formflag(&found, &flag) == 0 && flag;
}

static bool entry_reference(Dwarf_Die *die, unsigned name, Dwarf_Die *ret_die)
{
    Dwarf_Attribute found;
    return attribute(die, name, &found) && dwarf_formref_die(&found, ret_die) != NULL;
}

static bool child_first(struct debug_info *info, Dwarf_Die *die, Dwarf_Die *ret_child)
{
    return info->entries++ < ENTRIES_MOST && dwarf_child(die, ret_child) == 0;
}

static bool child_next(struct debug_info *info, Dwarf_Die *child)
{
    return info->entries++ < ENTRIES_MOST && dwarf_siblingof(child, child) == 0;
}

static const char *string_keep(struct debug_info *info, struct text *text)
{
    char *kept = text_take(text);
    if (!kept || !array_reserve(&info->strings, &info->string_capacity, info->string_count + 1, sizeof *info->strings)) {
        free(kept);
        info->failed = true;
        return "?";
    }
    return info->strings[info->string_count++] = kept;
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
    if (info->type_count * 2 < info->place_capacity)
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
static uint32_t type_new(struct debug_info *info)
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

static uint64_t product(uint64_t count, uint64_t bytes)
{
    uint64_t result;
    return __builtin_mul_overflow(count, bytes, &result) || result > UINT64_MAX >> 8 ? 0 : result;
}

static struct debug_type array_of(const struct debug_info *info, uint32_t element, uint64_t count)
{
    const struct debug_type *one = &info->types[element];
    return (struct debug_type){.kind = DEBUG_ARRAY, .element = element, .count = count, .bytes = product(count, one->bytes),
                               .holds_pointers = one->holds_pointers};
}

/* Dimensions from the last to the first: an array of arrays. */
static struct debug_type array_read(struct debug_info *info, Dwarf_Die *die, int depth)
{
    uint64_t counts[8];
    size_t dimensions = 0;
    Dwarf_Die element, child;
    uint32_t type = entry_reference(die, DW_AT_type, &element) ? type_read(info, &element, depth) : 0;
    if (child_first(info, die, &child))
        do {
            uint64_t count = 0;
            if (dwarf_tag(&child) != DW_TAG_subrange_type || dimensions == sizeof counts / sizeof *counts)
                continue;
            if (!entry_number(&child, DW_AT_count, &count) && entry_number(&child, DW_AT_upper_bound, &count))
                count = count == UINT64_MAX || count == UINT32_MAX ? 0 : count + 1;
            counts[dimensions++] = count;
        } while (child_next(info, &child));
    while (dimensions > 1) {
        struct debug_type inner = array_of(info, type, counts[--dimensions]);
        uint32_t number = type_new(info);
        if (!number)
            return (struct debug_type){0};
        info->types[number] = inner;
        type = number;
    }
    return array_of(info, type, dimensions ? counts[0] : 0);
}

static bool member_read(struct debug_info *info, Dwarf_Die *die, int depth, struct debug_member *ret_member)
{
    Dwarf_Die type;
    uint64_t bits = 0, bit_offset = 0;
    struct debug_member member = {.name = entry_string(die, DW_AT_name)};
    if (entry_flag(die, DW_AT_external) || entry_flag(die, DW_AT_declaration))
        return false;                     /* static */
    if (dwarf_hasattr(die, DW_AT_data_member_location) && !entry_number(die, DW_AT_data_member_location, &member.offset))
        return false;                     /* a virtual base class: only the object knows where */
    if (entry_number(die, DW_AT_bit_size, &bits) && bits && bits <= 128) {
        if (!entry_number(die, DW_AT_data_bit_offset, &bit_offset))
            bit_offset = member.offset * 8;
        member.offset = bit_offset / 8;
        member.bytes = (bit_offset % 8 + bits + 7) / 8;
    } else if (entry_reference(die, DW_AT_type, &type)) {
        member.type = type_read(info, &type, depth);
        member.bytes = info->types[member.type].bytes;
    }
    *ret_member = member;
    return true;
}

static struct debug_type struct_read(struct debug_info *info, Dwarf_Die *die, int depth)
{
    struct debug_type type = {.kind = DEBUG_STRUCT, .hollow = true, .name = entry_string(die, DW_AT_name)};
    size_t capacity = 0;
    Dwarf_Die child;
    entry_number(die, DW_AT_byte_size, &type.bytes);
    if (child_first(info, die, &child))
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
        } while (child_next(info, &child));
    return type;
}

static struct debug_type number_read(Dwarf_Die *die)
{
    struct debug_type type = {.kind = DEBUG_INTEGER, .name = entry_string(die, DW_AT_name)};
    uint64_t encoding = 0;
    entry_number(die, DW_AT_byte_size, &type.bytes);
    entry_number(die, DW_AT_encoding, &encoding);
    if (encoding == DW_ATE_float && (type.bytes == 4 || type.bytes == 8 || type.bytes == 16))
        type.kind = DEBUG_FLOAT;
    else if (encoding == DW_ATE_complex_float && (type.bytes == 8 || type.bytes == 16 || type.bytes == 32))
        type.kind = DEBUG_COMPLEX;
    else if (type.bytes > 16)
        type.kind = DEBUG_UNKNOWN;
    return type;
}

static uint32_t type_make(struct debug_info *info, Dwarf_Die *die, int tag, int depth)
{
    uint32_t number = type_new(info);
    if (!number)
        return 0;
    if (!places_grow(info)) {
        info->failed = true;
        return 0;
    }
    *place_find(info->places, info->place_capacity, die->addr) = (struct place){die->addr, number};
    struct debug_type type = {0};
    switch (tag) {
    case DW_TAG_pointer_type:
    case DW_TAG_reference_type:
    case DW_TAG_rvalue_reference_type: {
        Dwarf_Die target;
        type = (struct debug_type){.kind = DEBUG_POINTER, .reference = tag != DW_TAG_pointer_type, .holds_pointers = true, .bytes = 8};
        if (entry_reference(die, DW_AT_type, &target))
            info->dies[number] = target;
        break;
    }
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
        type = struct_read(info, die, depth);
        break;
    case DW_TAG_array_type:
        type = array_read(info, die, depth);
        break;
    default:
        type = number_read(die);
        break;
    }
    info->types[number] = type;
    return number;
}

static uint32_t type_read(struct debug_info *info, Dwarf_Die *start, int depth)
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
            if (!entry_reference(&die, DW_AT_type, &die))
                return 0;
            continue;
        case DW_TAG_base_type:
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
    if (type >= info->type_count || info->types[type].kind != DEBUG_POINTER || !info->dies[type].addr)
        return 0;
    Dwarf_Die die = info->dies[type];
    return type_read(info, &die, 0);
}

/* ---- variables ------------------------------------------------------------------------------------------------------------- */

struct scope { const char *function; const char *prefix; };

static const char *entry_name(struct debug_info *info, const struct scope *scope, Dwarf_Die *die)
{
    const char *name = entry_string(die, DW_AT_name);
    if (!name || !*name || !scope->prefix)
        return name && *name ? name : NULL;
    struct text text = {0};
    text_addf(&text, "%s%s", scope->prefix, name);
    return string_keep(info, &text);
}

/* Only addresses that hold for the whole run. */
static bool static_location(Dwarf_Die *die, enum debug_where *ret_where, uint64_t *ret_address)
{
    Dwarf_Attribute location, operand;
    Dwarf_Op *operations;
    size_t count = 0;
    if (!dwarf_attr(die, DW_AT_location, &location) || dwarf_getlocation(&location, &operations, &count) != 0 || count < 1 || count > 2)
        return false;
    bool thread = count == 2 && (operations[1].atom == DW_OP_form_tls_address || operations[1].atom == DW_OP_GNU_push_tls_address);
    if (count == 2 && !thread)
        return false;
    Dwarf_Addr address = 0;
    switch (operations[0].atom) {
    case DW_OP_addr:
    case DW_OP_const8u:
    case DW_OP_const4u:
    case DW_OP_constu:
        if (!thread && operations[0].atom != DW_OP_addr)
            return false;
        address = operations[0].number;
        break;
    case DW_OP_addrx:
    case DW_OP_constx:
    case DW_OP_GNU_const_index:
    case DW_OP_GNU_addr_index:
        if (dwarf_getlocation_attr(&location, &operations[0], &operand) != 0)
            return false;
        if (dwarf_formaddr(&operand, &address) != 0) {
            Dwarf_Word word;
            if (dwarf_formudata(&operand, &word) != 0)
                return false;
            address = word;
        }
        break;
    default:
        return false;
    }
    *ret_where = thread ? DEBUG_IN_THREAD : DEBUG_AT_ADDRESS;
    *ret_address = address;
    return true;
}

static bool variable_add(struct debug_info *info, struct debug_variable **list, size_t *count, size_t *capacity,
                         const struct debug_variable *variable)
{
    if (!array_reserve(list, capacity, *count + 1, sizeof **list)) {
        info->failed = true;
        return false;
    }
    (*list)[(*count)++] = *variable;
    return true;
}

static void static_add(struct debug_info *info, const struct scope *scope, Dwarf_Die *die)
{
    struct debug_variable variable = {.function = scope->function};
    Dwarf_Die type, declaration;
    struct scope own = *scope;
    if (!static_location(die, &variable.where, &variable.address) || !entry_reference(die, DW_AT_type, &type))
        return;
    Dwarf_Attribute specification;
    if (!own.prefix && dwarf_attr(die, DW_AT_specification, &specification) && dwarf_formref_die(&specification, &declaration)) {
        Dwarf_Die *scopes = NULL;         /* a static member: its class is part of its name */
        if (dwarf_getscopes_die(&declaration, &scopes) > 1 && dwarf_diename(&scopes[1]) && dwarf_tag(&scopes[1]) != DW_TAG_compile_unit) {
            struct text text = {0};
            text_addf(&text, "%s::", dwarf_diename(&scopes[1]));
            own.prefix = string_keep(info, &text);
        }
        free(scopes);
    }
    variable.name = entry_name(info, &own, die);
    variable.type = type_read(info, &type, 0);
    if (variable.name)
        variable_add(info, &info->variables, &info->variable_count, &info->variable_capacity, &variable);
}

static void outlined_add(struct debug_info *info, Dwarf_Die *die, const char *name)
{
    uint64_t line = 0;
    Dwarf_Die child;
    if (!name || !strstr(name, ".omp_outlined") || !entry_number(die, DW_AT_decl_line, &line) || !child_first(info, die, &child))
        return;
    if (!array_reserve(&info->outlined, &info->outlined_capacity, info->outlined_count + 1, sizeof *info->outlined)) {
        info->failed = true;
        return;
    }
    info->outlined[info->outlined_count++] = (struct function){*die, name, (uint32_t)line};
}

static void entries_visit(struct debug_info *info, const struct scope *scope, Dwarf_Die *parent, int depth)
{
    Dwarf_Die die;
    if (depth >= DEPTH_MOST || info->failed || !child_first(info, parent, &die))
        return;
    do {
        struct scope inner = *scope;
        switch (dwarf_tag(&die)) {
        case DW_TAG_variable:
            static_add(info, scope, &die);
            break;
        case DW_TAG_namespace: {
            struct text text = {0};
            const char *name = dwarf_diename(&die);
            text_addf(&text, "%s%s", scope->prefix ? scope->prefix : "", name ? name : "(anonymous)");
            text_add(&text, "::");
            inner.prefix = string_keep(info, &text);
            entries_visit(info, &inner, &die, depth + 1);
            break;
        }
        case DW_TAG_subprogram:
            inner.prefix = NULL;
            inner.function = entry_string(&die, DW_AT_name);
            outlined_add(info, &die, inner.function);
            entries_visit(info, &inner, &die, depth + 1);
            break;
        case DW_TAG_lexical_block:
        case DW_TAG_inlined_subroutine:
        case DW_TAG_module:
        case DW_TAG_structure_type:
        case DW_TAG_class_type:
            entries_visit(info, scope, &die, depth + 1);
            break;
        default:
            break;
        }
    } while (!info->failed && child_next(info, &die));
}

size_t debug_info_variables(const struct debug_info *info, const struct debug_variable **ret_variables)
{
    *ret_variables = info->variables;
    return info->variable_count;
}

/* ---- parallel constructs ----------------------------------------------------------------------------------------------------- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* dwarf_decl_file takes 0, which is the first file since version 5, for none. */
static bool is_of_file(Dwarf_Die *die, const char *file)
{
    Dwarf_Die unit;
    Dwarf_Files *files;
    size_t count;
    uint64_t index;
    if (!entry_number(die, DW_AT_decl_file, &index) || !dwarf_diecu(die, &unit, NULL, NULL) || dwarf_getsrcfiles(&unit, &files, &count) != 0
        || index >= count)
        return false;
    const char *own = dwarf_filesrc(files, index, NULL, NULL);
    return own && !strcmp(base_name(own), base_name(file));
}

/* Up to ".omp_outlined" the names are equal. */
static bool is_of_function(const char *name, const char *caller, size_t length)
{
    return !strncmp(name, caller, length) && !strncmp(name + length, ".omp_outlined", 13);
}

/* With -g a construct has two functions: one that takes what the fork passes, and lies at the construct's line, and in it one with the variables'
 * own types, "_debug__", that lies at the line of what follows. */
static struct function *construct_find(struct debug_info *info, const char *file, uint32_t line, const char *caller)
{
    struct function *outer = NULL, *inner = NULL;
    size_t length = strcspn(caller, "+");
    for (size_t i = 0; i < info->outlined_count; i++) {
        struct function *function = &info->outlined[i];
        if (function->line != line || strstr(function->name, "_debug__") || !is_of_file(&function->die, file))
            continue;
        if (!outer || (length && is_of_function(function->name, caller, length)))
            outer = function;
    }
    if (!outer)
        return NULL;
    length = (size_t)(strstr(outer->name, ".omp_outlined") - outer->name);
    for (size_t i = 0; i < info->outlined_count; i++) {
        struct function *function = &info->outlined[i];
        if (function->line >= line && strstr(function->name, "_debug__") && is_of_function(function->name, outer->name, length)
            && is_of_file(&function->die, file) && (!inner || function->line < inner->line))
            inner = function;
    }
    return inner ? inner : outer;
}

#define HIDDEN_ARGUMENTS 2                /* .global_tid., .bound_tid. */

enum pcere_status debug_info_arguments(struct debug_info *info, const char *file, uint32_t line, const char *caller,
                                       struct debug_variable **ret_variables, size_t *ret_count, struct pcere_error *error)
{
    struct debug_variable *list = NULL;
    size_t count = 0, capacity = 0, seen = 0;
    struct function *function = construct_find(info, file, line, caller);
    Dwarf_Die child;
    if (function && child_first(info, &function->die, &child))
        do {
            Dwarf_Die type;
            if (dwarf_tag(&child) != DW_TAG_formal_parameter || seen++ < HIDDEN_ARGUMENTS)
                continue;
            struct debug_variable variable = {.name = entry_string(&child, DW_AT_name), .where = DEBUG_AS_ARGUMENT};
            if (entry_reference(&child, DW_AT_type, &type))
                variable.type = type_read(info, &type, 0);
            variable_add(info, &list, &count, &capacity, &variable);
        } while (!info->failed && child_next(info, &child));
    if (info->failed) {
        free(list);
        return pcere_fail_memory(error, "debug information");
    }
    *ret_variables = list;
    *ret_count = count;
    return PCERE_OK;
}

/* ---- frames ------------------------------------------------------------------------------------------------------------------ */

static bool register_value(const struct debug_frame *frame, unsigned number, uint64_t *ret_value)
{
    if (number == REGISTER_SP && frame->stack_pointer)
        *ret_value = frame->stack_pointer;
    else if (number == REGISTER_BP && frame->frame_pointer)
        *ret_value = frame->frame_pointer;
    else
        return false;
    return true;
}

static bool frame_base(Dwarf_Die *function, const struct debug_frame *frame, uint64_t *ret_base)
{
    Dwarf_Attribute found;
    Dwarf_Op *operations;
    size_t count = 0;
    if (!attribute(function, DW_AT_frame_base, &found) || dwarf_getlocation_addr(&found, frame->pc - 1, &operations, &count, 1) != 1 || count != 1)
        return false;
    if (operations[0].atom == DW_OP_call_frame_cfa) {
        *ret_base = frame->canonical_address;
        return frame->canonical_address != 0;
    }
    return operations[0].atom >= DW_OP_reg0 && operations[0].atom <= DW_OP_reg31
           && register_value(frame, (unsigned)(operations[0].atom - DW_OP_reg0), ret_base);
}

/* At the return address itself another list may hold than at the call. */
static bool frame_location(Dwarf_Die *die, const struct debug_frame *frame, bool has_base, uint64_t base, uint64_t *ret_address)
{
    Dwarf_Attribute found;
    Dwarf_Op *operations;
    size_t count = 0;
    if (!dwarf_attr(die, DW_AT_location, &found) || dwarf_getlocation_addr(&found, frame->pc - 1, &operations, &count, 1) != 1 || count != 1)
        return false;
    if (operations[0].atom == DW_OP_fbreg && has_base) {
        *ret_address = base + operations[0].number;
        return true;
    }
    uint64_t value;
    if (operations[0].atom < DW_OP_breg0 || operations[0].atom > DW_OP_breg31
        || !register_value(frame, (unsigned)(operations[0].atom - DW_OP_breg0), &value))
        return false;
    *ret_address = value + operations[0].number;
    return true;
}

static bool holds_pc(Dwarf_Die *die, uint64_t pc)
{
    return dwarf_haspc(die, pc) == 1;
}

struct frame_walk {
    const struct debug_frame *frame;
    struct debug_variable *list;
    size_t count, capacity;
    uint64_t base;
    bool has_base;
};

static void frame_visit(struct debug_info *info, struct frame_walk *walk, const char *function, Dwarf_Die *parent, int depth)
{
    Dwarf_Die die;
    if (depth >= DEPTH_MOST || !child_first(info, parent, &die))
        return;
    do {
        int tag = dwarf_tag(&die);
        if (tag == DW_TAG_formal_parameter || tag == DW_TAG_variable) {
            struct debug_variable variable = {.name = entry_string(&die, DW_AT_name), .function = function, .where = DEBUG_IN_FRAME};
            Dwarf_Die type;
            if (!variable.name || !frame_location(&die, walk->frame, walk->has_base, walk->base, &variable.address)
                || !entry_reference(&die, DW_AT_type, &type))
                continue;
            variable.type = type_read(info, &type, 0);
            variable_add(info, &walk->list, &walk->count, &walk->capacity, &variable);
        } else if (tag == DW_TAG_inlined_subroutine && holds_pc(&die, walk->frame->pc - 1)) {
            const char *name = entry_string(&die, DW_AT_name);
            frame_visit(info, walk, name ? name : function, &die, depth + 1);
        } else if (tag == DW_TAG_lexical_block) {
            frame_visit(info, walk, function, &die, depth + 1);
        }
    } while (!info->failed && child_next(info, &die));
}

static bool function_at(struct debug_info *info, Dwarf_Die *parent, uint64_t pc, int depth, Dwarf_Die *ret_function)
{
    Dwarf_Die die;
    if (depth >= DEPTH_MOST || !child_first(info, parent, &die))
        return false;
    do {
        int tag = dwarf_tag(&die);
        if (tag == DW_TAG_subprogram && holds_pc(&die, pc)) {
            *ret_function = die;
            return true;
        }
        if ((tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_class_type || tag == DW_TAG_structure_type)
            && function_at(info, &die, pc, depth + 1, ret_function))
            return true;
    } while (child_next(info, &die));
    return false;
}

enum pcere_status debug_info_frame(struct debug_info *info, const struct debug_frame *frame, struct debug_variable **ret_variables,
                                   size_t *ret_count, struct pcere_error *error)
{
    struct frame_walk walk = {.frame = frame};
    Dwarf_Die unit, function;
    if (info->dwarf && frame->pc && dwarf_addrdie(info->dwarf, frame->pc - 1, &unit) && function_at(info, &unit, frame->pc - 1, 0, &function)) {
        walk.has_base = frame_base(&function, frame, &walk.base);
        frame_visit(info, &walk, entry_string(&function, DW_AT_name), &function, 0);
    }
    if (info->failed) {
        free(walk.list);
        return pcere_fail_memory(error, "debug information");
    }
    *ret_variables = walk.list;
    *ret_count = walk.count;
    return PCERE_OK;
}

/* ---- opening --------------------------------------------------------------------------------------------------------------- */

static void units_visit(struct debug_info *info)
{
    static const struct scope outside = {0};
    Dwarf_CU *unit = NULL;
    Dwarf_Die die, sub;
    uint8_t kind;
    while (!info->failed && info->entries++ < ENTRIES_MOST && dwarf_get_units(info->dwarf, unit, &unit, NULL, &kind, &die, &sub) == 0)
        if (kind == DW_UT_compile)
            entries_visit(info, &outside, &die, 0);
}

enum pcere_status debug_info_open(const char *path, struct debug_info **ret_info, struct pcere_error *error)
{
    struct debug_info *info = calloc(1, sizeof *info);
    if (!info)
        return pcere_fail_memory(error, "debug information");
    type_new(info);
    info->descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (info->descriptor < 0) {
        int cause = errno;
        debug_info_close(info);
        return pcere_fail(error, PCERE_DATA, cause, NULL, "cannot read '%s'", path);
    }
    info->dwarf = info->failed ? NULL : dwarf_begin(info->descriptor, DWARF_C_READ);
    if (info->dwarf)
        units_visit(info);
    if (info->failed) {
        debug_info_close(info);
        return pcere_fail_memory(error, "debug information");
    }
    *ret_info = info;
    return PCERE_OK;
}

void debug_info_close(struct debug_info *info)
{
    if (!info)
        return;
    if (info->dwarf)
        dwarf_end(info->dwarf);
    if (info->descriptor >= 0)
        close(info->descriptor);
    for (size_t i = 0; i < info->type_count; i++)
        free(info->types[i].members);
    for (size_t i = 0; i < info->string_count; i++)
        free(info->strings[i]);
    free(info->types);
    free(info->dies);
    free(info->places);
    free(info->variables);
    free(info->outlined);
    free(info->strings);
    free(info);
}
