/* replay-rt/launcher/build_places.c - where in a line of the instruction cache the program's functions begin: those of a codelet begin there, too. */
#include "replay-rt/launcher/build_work.h"

#include "core/elf_code.h"
#include "core/files.h"
#include "replay-rt/launcher/link_symbols.h"

#include <fcntl.h>
#include <inttypes.h>

#define LINE_BYTES 64u

/* Code that is compiled as it was, for a processor whose lines these are. What counts, or has other flags or passes, is other code. */
static bool is_as_it_was(const struct build_options *options)
{
    return !options->processor->triple && !(options->flags && *options->flags) && !options->passes && !options->pass_plugin && !options->count && !options->character && !options->all_loops;
}

/* A stripped program tells of no functions. */
static struct text functions_list(const struct loaded_image *image)
{
    struct text places = {0};
    struct elf_code *code = elf_code_open(elf_file_path(image->elf));
    struct elf_code_place place;
    text_add(&places, "");
    for (size_t i = 0; code && elf_code_at(code, i, &place); i++) {
        const char *unit = place.unit && link_symbol_is_writable(place.unit) ? place.unit : "";
        if (link_symbol_is_writable(place.name))
            text_addf(&places, "%u\t%s\t%s\n", (unsigned)(place.start % LINE_BYTES), unit, place.name);
    }
    elf_code_close(code);
    return places;
}

enum pcere_status build_places_describe(const struct builder *builder, struct text *text, struct pcere_error *error)
{
    enum pcere_status status = PCERE_OK;
    for (size_t k = 0; !status && is_as_it_was(builder->options) && k < builder->images->count; k++) {
        uint64_t hash = 0, bytes = 0;
        if (!builder->images->items[k].elf)
            continue;
        status = file_hash(AT_FDCWD, elf_file_path(builder->images->items[k].elf), &hash, &bytes, error);
        text_addf(text, "|places of %" PRIx64, hash);
    }
    return status;
}

bool build_places_path(const struct builder *builder, size_t image, struct text *path)
{
    if (!builder->images->items[image].elf || !is_as_it_was(builder->options))
        return false;
    text_addf(path, "%s/%zu.places", builder->folder, image);
    return true;
}

enum pcere_status build_places_write(const struct builder *builder, struct pcere_error *error)
{
    enum pcere_status status = PCERE_OK;
    for (size_t k = 0; !status && k < builder->images->count; k++) {
        struct text path = {0}, places = {0};
        if (build_places_path(builder, k, &path)) {
            places = functions_list(&builder->images->items[k]);
            status = path.failed || places.failed ? pcere_fail_memory(error, "where functions begin")
                                                  : file_replace(AT_FDCWD, path.data, places.data, places.length, false, NULL, error);
        }
        text_done(&places);
        text_done(&path);
    }
    return status;
}
