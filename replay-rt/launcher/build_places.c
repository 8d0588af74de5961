/* replay-rt/launcher/build_places.c - where in a line of the instruction cache the program's functions begin: those of a codelet begin there, too. */
#include "replay-rt/launcher/build_work.h"

#include "core/elf_code.h"
#include "core/files.h"
#include "replay-rt/launcher/link_symbols.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES 64u

/* Code that is compiled as it was, for a processor whose lines these are. What counts, or has other flags or passes, is other code. */
static bool is_as_it_was(const struct build_options *options)
{
    return !options->processor->triple && !(options->flags && *options->flags) && !options->passes && !options->pass_plugin && !options->count && !options->character && !options->all_loops;
}

static void functions_list(const struct loaded_image *image, struct text *places)
{
    struct elf_code *code = elf_code_open(elf_file_path(image->elf));
    struct elf_code_place place;
    for (size_t i = 0; code && elf_code_at(code, i, &place); i++) {
        const char *unit = place.unit && link_symbol_is_writable(place.unit) ? place.unit : "";
        if (link_symbol_is_writable(place.name))
            text_addf(places, "%u\t%s\t%s\n", (unsigned)(place.start % LINE_BYTES), unit, place.name);
    }
    elf_code_close(code);
}

enum pcere_status build_places_find(struct builder *builder, struct pcere_error *error)
{
    bool failed = false;
    if (!is_as_it_was(builder->options))
        return PCERE_OK;
    if (!(builder->places = calloc(builder->images->count, sizeof *builder->places)))
        return pcere_fail_memory(error, "where functions begin");
    for (size_t k = 0; k < builder->images->count; k++) {
        if (builder->images->items[k].elf)
            functions_list(&builder->images->items[k], &builder->places[k]);
        failed |= builder->places[k].failed;
    }
    return failed ? pcere_fail_memory(error, "where functions begin") : PCERE_OK;
}

void build_places_describe(const struct builder *builder, struct text *text)
{
    for (size_t k = 0; builder->places && k < builder->images->count; k++)
        if (builder->places[k].length)
            text_addf(text, "|places\n%s", builder->places[k].data);
}

bool build_places_path(const struct builder *builder, size_t image, struct text *path)
{
    if (!builder->places || !builder->places[image].length)
        return false;
    text_addf(path, "%s/%zu.places", builder->folder, image);
    return true;
}

enum pcere_status build_places_write(const struct builder *builder, struct pcere_error *error)
{
    enum pcere_status status = PCERE_OK;
    for (size_t k = 0; !status && k < builder->images->count; k++) {
        struct text path = {0};
        if (build_places_path(builder, k, &path))
            status = path.failed ? pcere_fail_memory(error, "a path") : file_replace(AT_FDCWD, path.data, builder->places[k].data, builder->places[k].length, false, NULL, error);
        text_done(&path);
    }
    return status;
}

void build_places_done(struct builder *builder)
{
    for (size_t k = 0; builder->places && k < builder->images->count; k++)
        text_done(&builder->places[k]);
    free(builder->places);
    builder->places = NULL;
}
