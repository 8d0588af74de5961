/* replay-rt/launcher/images.c - opens what the manifest lists. */
#include "replay-rt/launcher/images.h"

#include "core/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum pcere_status image_load(const struct store *store, const char *name, struct loaded_image *image, struct pcere_error *error)
{
    char *path = NULL;
    uint64_t low = 0, high = 0;
    enum pcere_status status = store_file(store, name, &path, error);
    if (!status)
        status = elf_file_open(path, &image->elf, error);
    if (!status)
        status = image_open(path, &image->file, error);
    free(path);
    if (status)
        return status;
    elf_file_span(image->elf, &low, &high);
    image->low = low + image->bias;
    image->high = high + image->bias;
    return PCERE_OK;
}

enum pcere_status images_open(const struct store *store, struct images *ret_images, struct pcere_error *error)
{
    const struct store_manifest *manifest = store_manifest(store);
    struct images images = {.items = calloc(manifest->image_count + 1, sizeof *images.items)};
    if (!images.items)
        return pcere_fail_memory(error, "the list of libraries");
    enum pcere_status status = PCERE_OK;
    for (size_t i = 0; !status && i <= manifest->image_count; i++) {
        const struct store_image *from = i ? &manifest->images[i - 1] : NULL;
        struct loaded_image *image = &images.items[images.count++];
        *image = (struct loaded_image){.name = from && from->library ? from->library : "", .bias = from ? from->bias : manifest->image_bias,
                                       .global = !from || from->global, .file_name = ""};
        char *name = NULL;
        if (from && !from->library)
            continue;
        if (asprintf(&name, from ? "libraries/%s" : "program", image->name) < 0)
            status = pcere_fail_memory(error, "a path");
        else
            status = image_load(store, name, image, error);
        for (size_t j = 0; from && j < store_library_count(store); j++)
            if (!strcmp(store_library(store, j)->name, image->name))
                image->file_name = base_name(store_library(store, j)->file);
        free(name);
    }
    if (status)
        images_close(&images);
    else
        *ret_images = images;
    return status;
}

void images_close(struct images *images)
{
    for (size_t i = 0; i < images->count; i++) {
        elf_file_close(images->items[i].elf);
        image_close(&images->items[i].file);
    }
    free(images->items);
    *images = (struct images){0};
}

/* Another library may have lain at the same place at another time: names of mappings tell. */
bool images_stacks_execute(const struct images *images)
{
    for (size_t i = 0; i < images->count; i++)
        if (images->items[i].elf && images->items[i].file.stack_executes)
            return true;
    return false;
}

bool image_is_present(const struct images *images, size_t index, const struct store_codelet *codelet)
{
    if (index >= images->count)
        return false;
    const struct loaded_image *image = &images->items[index];
    if (!index || !image->elf)
        return !index;
    for (size_t i = 0; i < codelet->mapping_count; i++) {
        const struct store_mapping *mapping = &codelet->mappings[i];
        if (mapping->role != STORE_ROLE_LIBRARY || mapping->start != image->low)
            continue;
        return !strncmp(mapping->name, image->file_name, sizeof mapping->name - 1);
    }
    return false;
}

/* How often the image has the unit. */
static size_t has_unit(const struct loaded_image *image, uint64_t unit_id)
{
    const struct elf_unit *units;
    size_t count = image->elf ? elf_file_units(image->elf, &units) : 0, found = 0;
    for (size_t i = 0; i < count; i++)
        found += units[i].header.unit_id == unit_id;
    return found;
}

enum pcere_status images_check(const struct images *images, const struct store_codelet *codelet, struct pcere_error *error)
{
    for (size_t i = 0; i < codelet->mapping_count; i++) {
        const struct store_mapping *mapping = &codelet->mappings[i];
        bool known = mapping->role != STORE_ROLE_LIBRARY;
        for (size_t j = 1; !known && j < images->count; j++)
            known = images->items[j].elf && mapping->start >= images->items[j].low && mapping->start < images->items[j].high;
        if (!known)
            return pcere_fail(error, PCERE_DATA, 0, "capture the program again while its libraries stay where they are",
                              "the store has no copy of the shared library '%.63s' that the region '%s' needs", mapping->name, codelet->region);
    }
    if (has_unit(&images->items[images_of_region(images, codelet)], codelet->unit_id) > 1)
        return pcere_fail(error, PCERE_NO, 0, "link that object once, or compile it so that the copies differ",
                          "the object with region '%s' is linked twice into one image: which of the two ran cannot be told", codelet->region);
    return PCERE_OK;
}

static bool library_defines(const struct images *images, const char *name)
{
    for (size_t i = 1; i < images->count; i++) {
        const struct image_export *found = image_export_find(&images->items[i].file, name);
        if (found)
            return true;
    }
    return false;
}

size_t images_resolve(const struct images *images, size_t from, const char *name, const struct image_export **ret_symbol)
{
    for (size_t i = 0; i <= images->count; i++) {
        size_t index = i < images->count ? i : from;
        if (i < images->count && !images->items[i].global)
            continue;
        const struct image_export *found = image_export_find(&images->items[index].file, name);
        if (!found || (found->copy && !library_defines(images, name)))
            continue;
        *ret_symbol = found;
        return index;
    }
    return SIZE_MAX;
}

size_t images_of_region(const struct images *images, const struct store_codelet *codelet)
{
    size_t first = SIZE_MAX, count = 0;
    for (size_t i = 0; i < images->count; i++)
        if (image_is_present(images, i, codelet) && has_unit(&images->items[i], codelet->unit_id)) {
            first = first == SIZE_MAX ? i : first;
            count++;
        }
    for (size_t j = 0; count > 1 && j < codelet->frame_count; j++)
        for (size_t i = 0; i < images->count; i++)
            if (codelet->frames[j].address >= images->items[i].low && codelet->frames[j].address < images->items[i].high &&
                image_is_present(images, i, codelet) && has_unit(&images->items[i], codelet->unit_id))
                return i;
    return first == SIZE_MAX ? 0 : first;
}
