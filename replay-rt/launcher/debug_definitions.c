/* replay-rt/launcher/debug_definitions.c - what a class that a unit only declares is.
 *
 * Compilers write a class into the units that make its objects or have its virtual functions; others have its name alone, as units of C have that of a handle.
 */
#include "include/pcere/bisect.h"
#include "replay-rt/launcher/debug_private.h"

#include <stdlib.h>
#include <string.h>

#define DECLARATIONS_MOST 20000u          /* that are looked up: each is searched for in its unit, and hostile ones may be many */

uint64_t debug_path_within(uint64_t path, const char *name)
{
    for (path = (path ^ ':') * UINT64_C(0x100000001b3); *name; name++)
        path = (path ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    return path;
}

/* Types may stand in units of their own (-fdebug-types-section), which a declaration names by a signature. */
static bool signature_follow(Dwarf_Die *declaration, Dwarf_Die *ret_definition)
{
    Dwarf_Attribute signature;
    return dwarf_attr(declaration, DW_AT_signature, &signature) && dwarf_formref_die(&signature, ret_definition) && !debug_flag(ret_definition, DW_AT_declaration);
}

void debug_definition_add(struct debug_info *info, uint64_t path, Dwarf_Die *die)
{
    Dwarf_Die own = *die;
    if (debug_flag(die, DW_AT_declaration) && !signature_follow(die, &own))
        return;
    const char *name = dwarf_diename(&own);
    if (!name || !dwarf_hasattr(&own, DW_AT_byte_size))
        return;
    if (!array_reserve(&info->definitions, &info->definition_capacity, info->definition_count + 1, sizeof *info->definitions))
        info->failed = true;
    else
        info->definitions[info->definition_count++] = (struct definition){name, path, own};
}

static int definition_order(const void *left, const void *right)
{
    const struct definition *a = left, *b = right;
    int order = strcmp(a->name, b->name);
    return order ? order : (a->path > b->path) - (a->path < b->path);
}

void debug_definitions_sort(struct debug_info *info)
{
    if (info->definition_count)
        qsort(info->definitions, info->definition_count, sizeof *info->definitions, definition_order);
}

/* Namespaces and classes around an entry. false: what lies in a function, or in a namespace without a name, is its unit's own. */
static bool path_read(Dwarf_Die *die, uint64_t *ret_path)
{
    Dwarf_Die *scopes = NULL;
    int count = dwarf_getscopes_die(die, &scopes);
    bool known = count > 0;
    *ret_path = 0;
    for (int i = count - 1; known && i >= 1; i--) {
        const char *name = dwarf_diename(&scopes[i]);
        switch (dwarf_tag(&scopes[i])) {
        case DW_TAG_compile_unit:
            break;
        case DW_TAG_namespace:
        case DW_TAG_structure_type:
        case DW_TAG_class_type:
        case DW_TAG_union_type:
            known = name != NULL;
            *ret_path = known ? debug_path_within(*ret_path, name) : 0;
            break;
        default:
            known = false;
            break;
        }
    }
    free(scopes);
    return known;
}

bool debug_is_of_std(Dwarf_Die *die)
{
    Dwarf_Die *scopes = NULL;
    int count = dwarf_getscopes_die(die, &scopes), outermost = count - 1;
    while (outermost > 0 && dwarf_tag(&scopes[outermost]) != DW_TAG_namespace)
        outermost--;
    const char *name = outermost > 0 ? dwarf_diename(&scopes[outermost]) : NULL;
    bool is = name && !strcmp(name, "std");
    free(scopes);
    return is;
}

/* In C, units may mean different things by one name: all that have it must be alike in size. */
bool debug_definition_find(struct debug_info *info, Dwarf_Die *declaration, Dwarf_Die *ret_definition)
{
    struct definition wanted = {.name = dwarf_diename(declaration)};
    if (signature_follow(declaration, ret_definition))
        return true;
    size_t count = wanted.name ? info->definition_count : 0;
    BISECT(named, 0, count, i, strcmp(info->definitions[i].name, wanted.name) < 0);
    if (named == count || strcmp(info->definitions[named].name, wanted.name) != 0)
        return false;
    if (info->declarations++ >= DECLARATIONS_MOST || !path_read(declaration, &wanted.path))
        return false;
    BISECT(first, named, count, j, definition_order(&info->definitions[j], &wanted) < 0);
    uint64_t bytes = 0, other = 0;
    if (first == count || definition_order(&info->definitions[first], &wanted) != 0)
        return false;
    if (!debug_number(&info->definitions[first].die, DW_AT_byte_size, &bytes))
        return false;
    for (size_t i = first + 1; i < count && definition_order(&info->definitions[i], &wanted) == 0; i++)
        if (!debug_number(&info->definitions[i].die, DW_AT_byte_size, &other) || other != bytes)
            return false;
    *ret_definition = info->definitions[first].die;
    return true;
}
