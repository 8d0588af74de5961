/* replay-rt/launcher/debug_private.h - what the files share that know libdw: entries of DWARF, and the handle. For them only.
 *
 *   debug_types.c   entries, and types made of them        debug_info.c   opening, static variables        debug_code.c   constructs, frames
 *   debug_arrays.c  arrays, and Fortran's descriptors of them    debug_definitions.c   what is only declared in a unit
 */
#ifndef PCERE_REPLAY_LAUNCHER_DEBUG_PRIVATE_H
#define PCERE_REPLAY_LAUNCHER_DEBUG_PRIVATE_H

#include "core/text.h"
#include "replay-rt/launcher/debug_info.h"

#include <dwarf.h>
#include <elfutils/libdw.h>

#define ENTRIES_MOST 20000000u            /* of the debug information: more are not looked at */
#define DEPTH_MOST 48                     /* of types in types, and of blocks in blocks */

struct place { const void *entry; uint32_t type; };      /* open hash */

/* A class with its members; `path` tells the namespaces and classes around it. */
struct definition { const char *name; uint64_t path; Dwarf_Die die; };

/* Once for each class that extends it. */
struct extension { const char *name; uint64_t derived_bytes; Dwarf_Die derived; };

struct function { Dwarf_Die die; const char *name; uint32_t line; };

struct debug_info {
    int descriptor;
    Dwarf *dwarf;
    struct debug_type *types;
    size_t type_count, type_capacity;
    Dwarf_Die *dies;                      /* by type: of pointers, what they point to */
    size_t die_capacity;
    struct place *places;
    size_t place_count, place_capacity;   /* a power of two */
    struct debug_variable *variables;
    size_t variable_count, variable_capacity;
    struct extension *bases;              /* classes that others extend; ascending by name */
    size_t base_count, base_capacity;
    struct definition *definitions;       /* ascending by name and path */
    size_t definition_count, definition_capacity;
    struct function *outlined;            /* bodies of parallel constructs */
    size_t outlined_count, outlined_capacity;
    char **strings;
    size_t string_count, string_capacity;
    uint32_t entries, declarations;
    bool failed;                          /* no memory */
};

/* Attributes, also those that an entry has from another one that it completes or is a copy of. False or NULL: it has none of that kind. */
bool debug_attribute(Dwarf_Die *die, unsigned name, Dwarf_Attribute *ret_attribute);
const char *debug_string(Dwarf_Die *die, unsigned name);
bool debug_number(Dwarf_Die *die, unsigned name, uint64_t *ret_number);
bool debug_flag(Dwarf_Die *die, unsigned name);          /* its own only */
bool debug_reference(Dwarf_Die *die, unsigned name, Dwarf_Die *ret_die);

/* Children, as long as fewer than ENTRIES_MOST entries have been looked at: hostile ones may go in circles. */
bool debug_child(struct debug_info *info, Dwarf_Die *die, Dwarf_Die *ret_child);
bool debug_sibling(struct debug_info *info, Dwarf_Die *child);

/* The unit behind *unit (NULL: the first): the entry that says which code it has, and the one whose children are its entries, which with -gsplit-dwarf lies in a file of its
 * own. Units whose file is not where it was compiled are passed over. */
bool debug_unit_next(struct debug_info *info, Dwarf_CU **unit, Dwarf_Die *ret_code, Dwarf_Die *ret_entries);

/* The text's content, which the handle frees, or "?" without memory (info->failed). */
const char *debug_keep(struct debug_info *info, struct text *text);

/* Numbers of types: a new one of which nothing is known, and that of an entry. 0 without memory (info->failed). */
uint32_t debug_type_new(struct debug_info *info);
uint32_t debug_type_read(struct debug_info *info, Dwarf_Die *start, int depth);

/* Definitions are added in any order, and sorted before one is looked for. */
uint64_t debug_path_within(uint64_t path, const char *name);     /* 0: outside of all */
void debug_definition_add(struct debug_info *info, uint64_t path, Dwarf_Die *die);
void debug_definitions_sort(struct debug_info *info);
/* Is it a class of the C++ library's namespace? */
bool debug_is_of_std(Dwarf_Die *die);
/* That of a class that is only declared here. false: the program has none, or several that differ. */
bool debug_definition_find(struct debug_info *info, Dwarf_Die *declaration, Dwarf_Die *ret_definition);

bool debug_is_fortran(Dwarf_Die *die);    /* by its unit's language */
/* An array's entry: nested arrays, or the descriptor that leads to one. */
struct debug_type debug_array_read(struct debug_info *info, Dwarf_Die *die, uint32_t element);
/* A string's entry: characters, or the descriptor that leads to them. */
struct debug_type debug_characters_read(struct debug_info *info, Dwarf_Die *die);

/* False: no memory (info->failed). */
bool debug_variable_add(struct debug_info *info, struct debug_variable **list, size_t *count, size_t *capacity,
                        const struct debug_variable *variable);

#endif
