/* replay-rt/launcher/debug_info.c - opens debug information, and lists the variables that have one place for the whole run. */
#include "replay-rt/launcher/debug_private.h"
#include "include/pcere/bisect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- variables ------------------------------------------------------------------------------------------------------------- */

struct scope {
    const char *function, *prefix;
    uint64_t path;                        /* of the namespaces and classes */
    bool local;                           /* what is in it is its unit's own */
};

static const char *entry_name(struct debug_info *info, const struct scope *scope, Dwarf_Die *die)
{
    const char *name = debug_string(die, DW_AT_name);
    if (!name || !*name || !scope->prefix)
        return name && *name ? name : NULL;
    struct text text = {0};
    text_addf(&text, "%s%s", scope->prefix, name);
    return debug_keep(info, &text);
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
    bool behind = count == 2 && operations[1].atom == DW_OP_plus_uconst;      /* as members of Fortran's common blocks */
    if (count == 2 && !thread && !behind)
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
    *ret_address = address + (behind ? operations[1].number : 0);
    return true;
}

static void static_add(struct debug_info *info, const struct scope *scope, Dwarf_Die *die)
{
    struct debug_variable variable = {.function = scope->function};
    Dwarf_Die type, declaration;
    struct scope own = *scope;
    if (!static_location(die, &variable.where, &variable.address) || !debug_reference(die, DW_AT_type, &type))
        return;
    Dwarf_Attribute specification;
    if (!own.prefix && dwarf_attr(die, DW_AT_specification, &specification) && dwarf_formref_die(&specification, &declaration)) {
        Dwarf_Die *scopes = NULL;         /* a static member: its class is part of its name */
        if (dwarf_getscopes_die(&declaration, &scopes) > 1 && dwarf_diename(&scopes[1]) && dwarf_tag(&scopes[1]) != DW_TAG_compile_unit) {
            struct text text = {0};
            text_addf(&text, "%s::", dwarf_diename(&scopes[1]));
            own.prefix = debug_keep(info, &text);
        }
        free(scopes);
    }
    variable.name = entry_name(info, &own, die);
    variable.type = debug_type_read(info, &type, 0);
    if (variable.name)
        debug_variable_add(info, &info->variables, &info->variable_count, &info->variable_capacity, &variable);
}

static void outlined_add(struct debug_info *info, Dwarf_Die *die, const char *name)
{
    uint64_t line = 0;
    Dwarf_Die child;
    if (!name || !strstr(name, ".omp_outlined") || !debug_number(die, DW_AT_decl_line, &line) || !debug_child(info, die, &child))
        return;
    if (!array_reserve(&info->outlined, &info->outlined_capacity, info->outlined_count + 1, sizeof *info->outlined)) {
        info->failed = true;
        return;
    }
    info->outlined[info->outlined_count++] = (struct function){*die, name, (uint32_t)line};
}

/* Each unit has its own entry of a class, so classes are known by their names. */
static void base_add(struct debug_info *info, Dwarf_Die *inheritance, Dwarf_Die *derived)
{
    uint64_t base_bytes = 0, derived_bytes = 0;
    Dwarf_Die base;
    const char *name = debug_reference(inheritance, DW_AT_type, &base) ? debug_string(&base, DW_AT_name) : NULL;
    if (!name || !debug_number(derived, DW_AT_byte_size, &derived_bytes) || !debug_number(&base, DW_AT_byte_size, &base_bytes) || base_bytes > derived_bytes)
        return;
    if (!array_reserve(&info->bases, &info->base_capacity, info->base_count + 1, sizeof *info->bases))
        info->failed = true;
    else
        info->bases[info->base_count++] = (struct extension){name, derived_bytes, *derived};
}

static int extension_order(const void *left, const void *right)
{
    return strcmp(((const struct extension *)left)->name, ((const struct extension *)right)->name);
}

/* The first of them; base_count: it has none. */
static size_t extensions_of(const struct debug_info *info, uint32_t number)
{
    const struct debug_type *type = debug_type_get(info, number);
    if (type->kind != DEBUG_STRUCT || !type->name)
        return info->base_count;
    BISECT(low, 0, info->base_count, i, strcmp(info->bases[i].name, type->name) < 0);
    return low < info->base_count && !strcmp(info->bases[low].name, type->name) ? low : info->base_count;
}

bool debug_type_is_extended(const struct debug_info *info, uint32_t number)
{
    return extensions_of(info, number) < info->base_count;
}

size_t debug_type_derived(struct debug_info *info, uint32_t number, uint64_t bytes_least, uint64_t bytes_most, uint32_t ret_types[DEBUG_DERIVED_MOST])
{
    const char *base = debug_type_get(info, number)->name, *names[DEBUG_DERIVED_MOST];
    size_t count = 0;
    for (size_t i = extensions_of(info, number); i < info->base_count && !strcmp(info->bases[i].name, base) && count < DEBUG_DERIVED_MOST; i++) {
        struct extension extension = info->bases[i];
        const char *name = debug_string(&extension.derived, DW_AT_name);
        bool known = !name || extension.derived_bytes < bytes_least || extension.derived_bytes > bytes_most;
        for (size_t k = 0; !known && k < count; k++)
            known = !strcmp(names[k], name);
        if (known)
            continue;
        names[count] = name;
        ret_types[count++] = debug_type_read(info, &extension.derived, 0);
    }
    return count;
}

static void scope_enter(struct scope *scope, Dwarf_Die *die)
{
    const char *name = dwarf_diename(die);
    scope->local |= !name;
    scope->path = name ? debug_path_within(scope->path, name) : scope->path;
}

static void entries_visit(struct debug_info *info, const struct scope *scope, Dwarf_Die *parent, int depth)
{
    Dwarf_Die die;
    if (depth >= DEPTH_MOST || info->failed || !debug_child(info, parent, &die))
        return;
    do {
        struct scope inner = *scope;
        switch (dwarf_tag(&die)) {
        case DW_TAG_variable:
            static_add(info, scope, &die);
            break;
        case DW_TAG_namespace:
        case DW_TAG_module: {
            struct text text = {0};
            const char *name = dwarf_diename(&die);
            text_addf(&text, "%s%s", scope->prefix ? scope->prefix : "", name ? name : "(anonymous)");
            text_add(&text, "::");
            inner.prefix = debug_keep(info, &text);
            scope_enter(&inner, &die);
            entries_visit(info, &inner, &die, depth + 1);
            break;
        }
        case DW_TAG_subprogram:
            inner.prefix = NULL;
            inner.local = true;
            inner.function = debug_string(&die, DW_AT_name);
            outlined_add(info, &die, inner.function);
            entries_visit(info, &inner, &die, depth + 1);
            break;
        case DW_TAG_common_block: {       /* its variables belong to no function */
            struct text text = {0};
            const char *name = dwarf_diename(&die);
            text_addf(&text, "/%s/", name ? name : "");
            inner = (struct scope){.prefix = debug_keep(info, &text)};
            entries_visit(info, &inner, &die, depth + 1);
            break;
        }
        case DW_TAG_lexical_block:
        case DW_TAG_inlined_subroutine:
            entries_visit(info, scope, &die, depth + 1);
            break;
        case DW_TAG_structure_type:
        case DW_TAG_class_type:
        case DW_TAG_union_type:
            if (!scope->local)
                debug_definition_add(info, scope->path, &die);
            scope_enter(&inner, &die);
            if (dwarf_tag(&die) != DW_TAG_union_type)
                entries_visit(info, &inner, &die, depth + 1);
            break;
        case DW_TAG_inheritance:
            base_add(info, &die, parent);
            break;
        default:
            break;
        }
    } while (!info->failed && debug_sibling(info, &die));
}

size_t debug_info_variables(const struct debug_info *info, const struct debug_variable **ret_variables)
{
    *ret_variables = info->variables;
    return info->variable_count;
}

/* ---- opening --------------------------------------------------------------------------------------------------------------- */

bool debug_unit_next(struct debug_info *info, Dwarf_CU **unit, Dwarf_Die *ret_code, Dwarf_Die *ret_entries)
{
    Dwarf_Die split;
    uint8_t kind;
    while (!info->failed && info->dwarf && info->entries++ < ENTRIES_MOST && dwarf_get_units(info->dwarf, *unit, unit, NULL, &kind, ret_code, &split) == 0)
        if (kind == DW_UT_compile || (kind == DW_UT_skeleton && dwarf_tag(&split) != DW_TAG_invalid)) {
            *ret_entries = kind == DW_UT_compile ? *ret_code : split;
            return true;
        }
    return false;
}

static void units_visit(struct debug_info *info)
{
    static const struct scope outside = {0};
    Dwarf_CU *unit = NULL;
    Dwarf_Die code, entries;
    while (debug_unit_next(info, &unit, &code, &entries))
        entries_visit(info, &outside, &entries, 0);
    if (info->base_count)
        qsort(info->bases, info->base_count, sizeof *info->bases, extension_order);
    debug_definitions_sort(info);
}

enum pcere_status debug_info_open(const char *path, struct debug_info **ret_info, struct pcere_error *error)
{
    struct debug_info *info = calloc(1, sizeof *info);
    if (!info)
        return pcere_fail_memory(error, "debug information");
    debug_type_new(info);
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
    for (size_t i = 0; i < info->type_count; i++) {
        free(info->types[i].members);
        free(info->types[i].dimensions);
    }
    for (size_t i = 0; i < info->string_count; i++)
        free(info->strings[i]);
    free(info->types);
    free(info->dies);
    free(info->places);
    free(info->variables);
    free(info->bases);
    free(info->definitions);
    free(info->outlined);
    free(info->strings);
    free(info);
}
