/* replay-rt/launcher/debug_code.c - what debug information tells of a place in the code: who has been inlined there, what a parallel construct takes
 * from around it, which variables lie in a frame. */
#include "replay-rt/launcher/debug_private.h"

#include "core/text.h"

#include <stdlib.h>
#include <string.h>

#define REGISTER_BP 6
#define REGISTER_SP 7

/* ---- code -------------------------------------------------------------------------------------------------------------------- */

static bool holds_pc(Dwarf_Die *die, uint64_t pc)
{
    return dwarf_haspc(die, pc) == 1;
}

static bool function_at(struct debug_info *info, Dwarf_Die *parent, uint64_t pc, int depth, Dwarf_Die *ret_function)
{
    Dwarf_Die die;
    if (depth >= DEPTH_MOST || !debug_child(info, parent, &die))
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
    } while (debug_sibling(info, &die));
    return false;
}

/* Not by .debug_aranges, which clang does not write. */
static bool unit_at(struct debug_info *info, uint64_t pc, Dwarf_Die *ret_unit)
{
    Dwarf_CU *unit = NULL;
    Dwarf_Die code;
    while (debug_unit_next(info, &unit, &code, ret_unit))
        if (holds_pc(&code, pc))
            return true;
    return false;
}

/* The innermost function whose code that is, also where it was inlined: as the linker calls it, if that is known. */
static const char *function_name_at(struct debug_info *info, uint64_t pc)
{
    Dwarf_Die die, child;
    const char *name = NULL;
    if (!unit_at(info, pc, &child) || !function_at(info, &child, pc, 0, &die))
        return NULL;
    for (int depth = 0; depth < DEPTH_MOST; depth++) {
        if (dwarf_tag(&die) != DW_TAG_lexical_block) {
            name = debug_string(&die, DW_AT_linkage_name);
            name = name ? name : debug_string(&die, DW_AT_name);
        }
        bool inside = debug_child(info, &die, &child);
        while (inside && !((dwarf_tag(&child) == DW_TAG_inlined_subroutine || dwarf_tag(&child) == DW_TAG_lexical_block) && holds_pc(&child, pc)))
            inside = debug_sibling(info, &child);
        if (!inside)
            return name;
        die = child;
    }
    return name;
}

/* ---- parallel constructs ----------------------------------------------------------------------------------------------------- */

/* dwarf_decl_file takes 0, which is the first file since version 5, for none. */
static bool is_of_file(Dwarf_Die *die, const char *file)
{
    Dwarf_Die unit;
    Dwarf_Files *files;
    size_t count;
    uint64_t index;
    if (!debug_number(die, DW_AT_decl_file, &index) || !dwarf_diecu(die, &unit, NULL, NULL) || dwarf_getsrcfiles(&unit, &files, &count) != 0
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

/* "f.omp_outlined_debug__"; target constructs have functions whose own names end in that. */
static bool is_inner(const char *name)
{
    const char *outlined = strstr(name, ".omp_outlined");
    return outlined && strstr(outlined, "_debug__");
}

/* With -g a construct has two functions: one that takes what the fork passes, and lies at the construct's line, and in it one with the variables'
 * own types, "_debug__", that lies at the line of what follows. */
static struct function *construct_find(struct debug_info *info, const char *file, uint32_t line, const char *caller)
{
    struct function *outer = NULL, *inner = NULL;
    size_t length = strcspn(caller, "+");
    for (size_t i = 0; i < info->outlined_count; i++) {
        struct function *function = &info->outlined[i];
        if (function->line != line || is_inner(function->name) || !is_of_file(&function->die, file))
            continue;
        if (!outer || (length && is_of_function(function->name, caller, length)))
            outer = function;
    }
    if (!outer)
        return NULL;
    length = (size_t)(strstr(outer->name, ".omp_outlined") - outer->name);
    for (size_t i = 0; i < info->outlined_count; i++) {
        struct function *function = &info->outlined[i];
        if (function->line >= line && is_inner(function->name) && is_of_function(function->name, outer->name, length)
            && is_of_file(&function->die, file) && (!inner || function->line < inner->line))
            inner = function;
    }
    return inner ? inner : outer;
}

#define HIDDEN_ARGUMENTS 2                /* .global_tid., .bound_tid. */

enum pcere_status debug_info_arguments(struct debug_info *info, const char *file, uint32_t line, const char *caller, uint64_t pc,
                                       struct debug_variable **ret_variables, size_t *ret_count, struct pcere_error *error)
{
    struct debug_variable *list = NULL;
    size_t count = 0, capacity = 0, seen = 0;
    const char *inlined = function_name_at(info, pc);
    struct function *function = construct_find(info, file, line, inlined ? inlined : caller);
    Dwarf_Die child;
    if (function && debug_child(info, &function->die, &child))
        do {
            Dwarf_Die type;
            if (dwarf_tag(&child) != DW_TAG_formal_parameter || seen++ < HIDDEN_ARGUMENTS)
                continue;
            struct debug_variable variable = {.name = debug_string(&child, DW_AT_name), .where = DEBUG_AS_ARGUMENT};
            if (debug_reference(&child, DW_AT_type, &type))
                variable.type = debug_type_read(info, &type, 0);
            variable.extent = variable.name && !strcmp(variable.name, "vla") && debug_flag(&child, DW_AT_artificial);
            debug_variable_add(info, &list, &count, &capacity, &variable);
        } while (!info->failed && debug_sibling(info, &child));
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
    if (!debug_attribute(function, DW_AT_frame_base, &found) || dwarf_getlocation_addr(&found, frame->pc - 1, &operations, &count, 1) != 1 || !count)
        return false;
    if (operations[0].atom == DW_OP_call_frame_cfa && count <= 3) {       /* or so many bytes from it */
        if (count == 2 || (count == 3 && (operations[1].atom != DW_OP_consts || operations[2].atom != DW_OP_plus)))
            return false;
        *ret_base = frame->canonical_address + (count == 3 ? operations[1].number : 0);
        return frame->canonical_address != 0;
    }
    if (count != 1)
        return false;
    return operations[0].atom >= DW_OP_reg0 && operations[0].atom <= DW_OP_reg31
           && register_value(frame, (unsigned)(operations[0].atom - DW_OP_reg0), ret_base);
}

/* At the return address itself another list may hold than at the call. Behind the place in the frame there may stand that it holds the variable's address, as that of
 * a Fortran dummy. */
static bool frame_location(Dwarf_Die *die, const struct debug_frame *frame, bool has_base, uint64_t base, uint64_t *ret_address)
{
    Dwarf_Attribute found;
    Dwarf_Op *operations;
    size_t count = 0;
    if (!dwarf_attr(die, DW_AT_location, &found) || dwarf_getlocation_addr(&found, frame->pc - 1, &operations, &count, 1) != 1 || !count || count > 2
        || (count == 2 && (operations[1].atom != DW_OP_deref || !frame->word_read)))
        return false;
    uint64_t value = base;
    if (operations[0].atom == DW_OP_fbreg ? !has_base
                                          : operations[0].atom < DW_OP_breg0 || operations[0].atom > DW_OP_breg31
                                                || !register_value(frame, (unsigned)(operations[0].atom - DW_OP_breg0), &value))
        return false;
    value += operations[0].number;
    if (count == 2)
        return frame->word_read(frame->memory, value, ret_address);
    *ret_address = value;
    return true;
}

struct frame_walk {
    const struct debug_frame *frame;
    struct debug_variable *list;
    size_t count, capacity;
    uint64_t base;
    bool has_base;
};

/* Arrays of variable length: each of their sizes is a number, or a variable in the frame. 0: one of these is not known. */
static uint32_t array_in_frame(struct debug_info *info, const struct frame_walk *walk, Dwarf_Die *array, uint32_t element)
{
    uint64_t counts[DEBUG_DIMENSIONS_MOST], address;
    size_t count = 0;
    Dwarf_Die child, size;
    if (debug_child(info, array, &child))
        do {
            if (dwarf_tag(&child) != DW_TAG_subrange_type)
                continue;
            if (count == DEBUG_DIMENSIONS_MOST)
                return 0;
            if (!debug_number(&child, DW_AT_count, &counts[count])
                && (!walk->frame->word_read || !debug_reference(&child, DW_AT_count, &size) || !frame_location(&size, walk->frame, walk->has_base, walk->base, &address)
                    || !walk->frame->word_read(walk->frame->memory, address, &counts[count])))
                return 0;
            count++;
        } while (debug_sibling(info, &child));
    return debug_type_array(info, element, counts, count);
}

static void frame_variable(struct debug_info *info, struct frame_walk *walk, const char *function, Dwarf_Die *die)
{
    struct debug_variable variable = {.name = debug_string(die, DW_AT_name), .function = function, .where = DEBUG_IN_FRAME};
    Dwarf_Die type;
    if (!variable.name || !frame_location(die, walk->frame, walk->has_base, walk->base, &variable.address)
        || !debug_reference(die, DW_AT_type, &type))
        return;
    variable.type = debug_type_read(info, &type, 0);
    Dwarf_Die element;
    if (!info->types[variable.type].bytes && dwarf_tag(&type) == DW_TAG_array_type && debug_reference(&type, DW_AT_type, &element))
        variable.type = array_in_frame(info, walk, &type, debug_type_read(info, &element, 0));
    debug_variable_add(info, &walk->list, &walk->count, &walk->capacity, &variable);
}

/* Blocks and inlined functions that the frame is not in share places on the stack with those that it is in. */
static void frame_visit(struct debug_info *info, struct frame_walk *walk, const char *function, Dwarf_Die *parent, int depth)
{
    uint64_t pc = walk->frame->pc - 1;
    Dwarf_Die die;
    if (depth >= DEPTH_MOST)
        return;
    if (debug_child(info, parent, &die))
        do {
            int tag = dwarf_tag(&die);
            if ((tag != DW_TAG_inlined_subroutine && tag != DW_TAG_lexical_block) || !holds_pc(&die, pc))
                continue;
            const char *name = tag == DW_TAG_inlined_subroutine ? debug_string(&die, DW_AT_name) : NULL;
            frame_visit(info, walk, name ? name : function, &die, depth + 1);
        } while (!info->failed && debug_sibling(info, &die));
    if (debug_child(info, parent, &die))
        do {
            if (dwarf_tag(&die) == DW_TAG_formal_parameter || dwarf_tag(&die) == DW_TAG_variable)
                frame_variable(info, walk, function, &die);
        } while (!info->failed && debug_sibling(info, &die));
}

enum pcere_status debug_info_frame(struct debug_info *info, const struct debug_frame *frame, struct debug_variable **ret_variables,
                                   size_t *ret_count, struct pcere_error *error)
{
    struct frame_walk walk = {.frame = frame};
    Dwarf_Die unit, function;
    if (frame->pc && unit_at(info, frame->pc - 1, &unit) && function_at(info, &unit, frame->pc - 1, 0, &function)) {
        walk.has_base = frame_base(&function, frame, &walk.base);
        frame_visit(info, &walk, debug_string(&function, DW_AT_name), &function, 0);
    }
    if (info->failed) {
        free(walk.list);
        return pcere_fail_memory(error, "debug information");
    }
    *ret_variables = walk.list;
    *ret_count = walk.count;
    return PCERE_OK;
}
