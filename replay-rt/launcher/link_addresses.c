/* replay-rt/launcher/link_addresses.c - the addresses of functions, by their names. */
#include "replay-rt/launcher/link_addresses.h"

#include "replay-rt/launcher/link_image.h"
#include "replay-rt/launcher/link_symbols.h"

#include <stdlib.h>
#include <string.h>

struct taken {                            /* borrowed name; unit 0: any that has no definition of its own */
    const char *name;
    uint64_t unit, address;
};

struct taken_list {
    struct taken *items;
    size_t count, capacity;
};

static bool taken_add(struct taken_list *list, const char *name, uint64_t unit, uint64_t address)
{
    if (link_image_allocates(name) || !link_symbol_is_writable(name))
        return true;
    if (!array_reserve(&list->items, &list->capacity, list->count + 1, sizeof *list->items))
        return false;
    list->items[list->count++] = (struct taken){name, unit, address};
    return true;
}

/* The executable's entry for a function of a library, or NULL. */
static const struct image_export *entry_find(const struct loaded_image *program, const char *name)
{
    for (size_t i = 0; i < program->file.entry_count; i++)
        if (!strcmp(program->file.entries[i].name, name))
            return &program->file.entries[i];
    return NULL;
}

/* What all images find by a name: the executable's entry for it, or where the first that defines it has it. False: in none. */
static bool address_find(const struct images *images, size_t index, const char *name, uint64_t *ret_address)
{
    const struct loaded_image *program = &images->items[0];
    const struct image_export *entry = entry_find(program, name);
    const struct image_export *found = NULL;
    if (entry) {
        *ret_address = entry->address + program->bias;
        return true;
    }
    size_t resolved = images_resolve(images, index, name, &found);
    if (resolved != SIZE_MAX)
        *ret_address = found->address + images->items[resolved].bias;
    return resolved != SIZE_MAX;
}

/* A function that units of the image share. */
static const struct elf_symbol *own_find(const struct loaded_image *image, const char *name)
{
    const struct elf_symbol *symbols;
    size_t count = elf_file_tables(image->elf, &symbols);
    for (size_t i = 0; i < count; i++)
        if (symbols[i].kind == PCERE_SYMBOL_FUNCTION && !symbols[i].local && !strcmp(symbols[i].name, name))
            return &symbols[i];
    return NULL;
}

bool link_address_find(const struct images *images, size_t index, const char *name, uint64_t *ret_address)
{
    const struct loaded_image *image = &images->items[index];
    const struct elf_symbol *own = own_find(image, name);
    const struct image_export *found = NULL;
    const struct elf_unit *units;
    if (own)
        *ret_address = own->address + image->bias;
    if (own && !image_export_find(&image->file, name))
        return true;
    if (own || entry_find(&images->items[0], name))
        return address_find(images, index, name, ret_address) || own;
    if (!index && !image->bias)           /* as in others_collect() */
        return false;
    size_t resolved = images_resolve(images, index, name, &found);
    return resolved != SIZE_MAX && found->kind == PCERE_SYMBOL_FUNCTION && images->items[resolved].elf
           && elf_file_units(images->items[resolved].elf, &units) && address_find(images, index, name, ret_address);
}

static bool own_collect(const struct images *images, size_t index, struct taken_list *list)
{
    const struct elf_symbol *symbols;
    size_t count = elf_file_tables(images->items[index].elf, &symbols);
    bool good = true;
    for (size_t i = 0; good && i < count; i++) {
        if (symbols[i].kind != PCERE_SYMBOL_FUNCTION)
            continue;
        uint64_t address = symbols[i].address + images->items[index].bias;
        if (!symbols[i].local && image_export_find(&images->items[index].file, symbols[i].name))
            address_find(images, index, symbols[i].name, &address);
        good = taken_add(list, symbols[i].name, symbols[i].unit_id, address) && (symbols[i].local || taken_add(list, symbols[i].name, 0, address));
    }
    return good;
}

static bool others_collect(const struct images *images, size_t index, struct taken_list *list)
{
    const struct loaded_image *program = &images->items[0];
    uint64_t address = 0;
    bool good = true;
    for (size_t i = 0; good && i < program->file.entry_count; i++)
        good = taken_add(list, program->file.entries[i].name, 0, program->file.entries[i].address + program->bias);
    if (!index && !program->bias)         /* its code has room for nearer addresses alone: what it took it has an entry for */
        return good;
    for (size_t other = 0; good && other < images->count; other++) {
        const struct loaded_image *image = &images->items[other];
        const struct elf_unit *units;
        if (other == index || !image->elf || !elf_file_units(image->elf, &units))
            continue;
        for (size_t i = 0; good && i < image->file.export_count; i++)
            if (image->file.exports[i].kind == PCERE_SYMBOL_FUNCTION && address_find(images, index, image->file.exports[i].name, &address))
                good = taken_add(list, image->file.exports[i].name, 0, address);
    }
    return good;
}

static int taken_order(const void *left, const void *right)
{
    const struct taken *a = left, *b = right;
    int order = strcmp(a->name, b->name);
    return order ? order : (a->unit > b->unit) - (a->unit < b->unit);
}

static void taken_write(const struct taken *taken, bool script, struct text *out)
{
    struct text name = {0};
    if (taken->unit)
        text_addf(&name, "__pcere_at.%016llx.%s", (unsigned long long)taken->unit, taken->name);
    else
        text_addf(&name, "__pcere_at.%s", taken->name);
    if (name.failed)
        out->failed = true;
    else if (script)                      /* a shared object's code refers to absolute symbols of a script alone */
        text_addf(out, "HIDDEN(\"%s\" = 0x%llx);\n", name.data, (unsigned long long)taken->address);
    else
        link_symbol_write(out, name.data, taken->address);
    text_done(&name);
}

enum pcere_status link_addresses_write(const struct images *images, size_t index, struct text *out, struct pcere_error *error)
{
    struct taken_list list = {0};
    bool good = own_collect(images, index, &list) && others_collect(images, index, &list);
    if (list.count)
        qsort(list.items, list.count, sizeof *list.items, taken_order);
    for (size_t i = 0; good && i < list.count; i++)
        if (!i || taken_order(&list.items[i], &list.items[i - 1]) != 0)
            taken_write(&list.items[i], index > 0, out);
    free(list.items);
    return good && !out->failed ? PCERE_OK : pcere_fail_memory(error, "addresses of functions");
}
