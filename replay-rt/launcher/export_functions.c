/* replay-rt/launcher/export_functions.c - addresses of functions in an export: what leads from captured ones to exported code, and what that code takes for one.
 *
 * Code compares addresses of functions with those in captured data, and leaves them there. So it must take the captured ones, although it calls its own
 * functions directly. The linker cannot tell the two apart, the compiler's assembly does: functions.sed gives what is taken a name of its own, NAME.at.
 */
#include "replay-rt/launcher/export_work.h"

#include "replay-rt/launcher/link_addresses.h"
#include "replay-rt/launcher/link_symbols.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define JUMP_BYTES 5u                     /* of what support.c writes at the old address of a function */
#define NAMES_OF_COMMAND 100u             /* one regular expression for all names of a large program would take long */

struct taken { const char *name; uint64_t address; };      /* borrowed */

static int symbol_order(const void *left, const void *right)
{
    const struct elf_symbol *const *a = left, *const *b = right;
    return ((*a)->address > (*b)->address) - ((*a)->address < (*b)->address);
}

/* ---- captured ones lead to exported code ---------------------------------------------------------------------------------------------- */

/* Functions of the exported units, by their old addresses; two that lie too close for a jump are left out. */
static enum pcere_status functions_write(const struct export_work *work, struct text *out, struct pcere_error *error)
{
    const struct elf_symbol *symbols;
    size_t count = elf_file_tables(work->home->elf, &symbols), found = 0;
    uint64_t bias = work->home->bias;
    const struct elf_symbol **functions = calloc(count + 1, sizeof(struct elf_symbol *));
    if (!functions)
        return pcere_fail_memory(error, "the program's symbols");
    for (size_t i = 0; i < count; i++)
        if (symbols[i].kind == PCERE_SYMBOL_FUNCTION && export_chosen_unit(work, symbols[i].unit_id) && strcmp(symbols[i].name, "main") != 0)
            functions[found++] = &symbols[i];
    qsort(functions, found, sizeof(struct elf_symbol *), symbol_order);
    struct text name = {0};
    text_add(out, "\n# Old addresses of functions, and the functions: captured data may point to them.\n"
                  ".globl pcere_functions, pcere_functions_end\npcere_functions:\n");
    for (size_t i = 0; i < found; i++) {
        size_t next = i + 1;
        while (next < found && functions[next]->address == functions[i]->address)
            next++;
        bool near = next < found && functions[next]->address - functions[i]->address < JUMP_BYTES;
        export_name(export_chosen_unit(work, functions[i]->unit_id), functions[i], &name);
        if ((i && functions[i]->address == functions[i - 1]->address) || near || name.failed || !export_name_is_writable(name.data))
            continue;
        text_addf(out, ".weak \"%s.entry\"\n.hidden \"%s.entry\"\n.quad 0x%" PRIx64 ", \"%s.entry\"\n", name.data, name.data,
                  functions[i]->address + bias, name.data);
    }
    text_add(out, "pcere_functions_end:\n\n.section .note.GNU-stack,\"\",@progbits\n");
    text_done(&name);
    free(functions);
    return PCERE_OK;
}

/* ---- code takes captured ones ----------------------------------------------------------------------------------------------------------- */

/* Internal functions of a unit. */
static bool own_collect(const struct export_work *work, const struct export_chosen *chosen, struct taken *taken, size_t *count)
{
    const struct elf_symbol *symbols;
    size_t symbol_count = elf_file_tables(work->home->elf, &symbols);
    struct text name = {0};
    for (size_t i = 0; i < symbol_count; i++) {
        if (symbols[i].kind != PCERE_SYMBOL_FUNCTION || symbols[i].unit_id != chosen->object->unit->header.unit_id)
            continue;
        export_name(chosen, &symbols[i], &name);
        const char *known = name.failed || !symbols[i].local ? NULL : names_find(&chosen->taken, name.data);
        if (known)
            taken[(*count)++] = (struct taken){known, symbols[i].address + work->home->bias};
    }
    bool good = !name.failed;
    text_done(&name);
    return good;
}

static int taken_order(const void *left, const void *right)
{
    return strcmp(((const struct taken *)left)->name, ((const struct taken *)right)->name);
}

/* Each name once; what the program has no address for is not among them, and stays what it is here. */
static enum pcere_status taken_collect(const struct export_work *work, struct taken **ret_taken, size_t *ret_count, struct pcere_error *error)
{
    const struct elf_symbol *symbols;
    size_t room = elf_file_tables(work->home->elf, &symbols) + 1, count = 0, kept = 0;
    bool good = true;
    for (size_t i = 0; i < work->chosen_count; i++)
        room += work->chosen[i].taken.count;
    struct taken *taken = calloc(room, sizeof *taken);
    for (size_t i = 0; taken && good && i < work->chosen_count; i++)
        good = own_collect(work, &work->chosen[i], taken, &count);
    for (size_t i = 0; taken && i < work->chosen_count; i++)
        for (size_t j = 0; j < work->chosen[i].taken.count; j++) {
            struct taken other = {work->chosen[i].taken.items[j], 0};
            if (link_address_find(&work->session.images, work->image, other.name, &other.address))
                taken[count++] = other;
        }
    if (!taken || !good) {
        free(taken);
        return pcere_fail_memory(error, "addresses of functions");
    }
    qsort(taken, count, sizeof *taken, taken_order);
    for (size_t i = 0; i < count; i++)
        if ((!kept || strcmp(taken[kept - 1].name, taken[i].name) != 0) && link_symbol_is_writable(taken[i].name))
            taken[kept++] = taken[i];
    *ret_taken = taken;
    *ret_count = kept;
    return PCERE_OK;
}

/* A name in a regular expression. */
static void pattern_add(struct text *out, const char *name)
{
    for (; *name; name++)
        text_addf(out, strchr(".$()[]{}*+?|^/", *name) ? "\\%c" : "%c", *name);
}

static enum pcere_status script_write(const struct export_work *work, const struct taken *taken, size_t count, struct pcere_error *error)
{
    struct text out = {0};
    text_add(&out, "# functions.sed - functions whose addresses the code takes, other than to call them, have other names there: NAME.at. These are the program's\n"
                   "# addresses (addresses.s), which captured data may hold, and which lead to the functions here.\n"
                   "/^\\t([a-z]|\\.quad\\t)/!b\n"
                   "/^\\t(call|j)/b\n");
    for (size_t i = 0; i < count; i++) {
        text_add(&out, i % NAMES_OF_COMMAND ? "|" : "s/([\\t ,(]\\$?)(\"?)(");
        pattern_add(&out, taken[i].name);
        if (i + 1 == count || (i + 1) % NAMES_OF_COMMAND == 0)
            text_add(&out, ")\\2($|[^A-Za-z0-9_.$\"])/\\1\\2\\3.at\\2\\4/g\n");     /* in quotes or without, but whole */
    }
    enum pcere_status status = export_text(work, "functions.sed", &out, error);
    text_done(&out);
    return status;
}

enum pcere_status export_functions_write(const struct export_work *work, struct text *addresses, struct pcere_error *error)
{
    struct taken *taken = NULL;
    struct text name = {0};
    size_t count = 0;
    enum pcere_status status = taken_collect(work, &taken, &count, error);
    if (!status)
        text_add(addresses, "\n# Functions whose addresses the code takes (functions.sed).\n");
    for (size_t i = 0; !status && i < count; i++) {
        name.length = 0;
        text_addf(&name, "%s.at", taken[i].name);
        if (name.failed)
            status = pcere_fail_memory(error, "addresses of functions");
        else
            link_symbol_write(addresses, name.data, taken[i].address);
    }
    if (!status)
        status = script_write(work, taken, count, error);
    if (!status)
        status = functions_write(work, addresses, error);
    text_done(&name);
    free(taken);
    return status;
}
