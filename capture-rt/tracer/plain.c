#include "capture-rt/tracer/plain.h"

#include "core/elf_code.h"
#include "core/elf_file.h"
#include "core/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool is_replaced(char **text, char *by)
{
    if (!by)
        return false;
    free(*text);
    *text = by;
    return true;
}

/* "f.omp_outlined.1" of clang, "f._omp_fn.1" of GCC, "f_..omp_par" of flang: all are of f. */
static bool function_name(struct capture_region *region, const char *symbol)
{
    static const char *const marks[] = {"._omp_fn", ".omp_outlined", "..omp_par", ".omp"};
    const char *end = symbol + strlen(symbol);
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        const char *mark = strstr(symbol, marks[i]);
        end = mark && mark > symbol && mark < end ? mark : end;
    }
    return is_replaced(&region->function, strndup(symbol, (size_t)(end - symbol)));
}

static bool region_name(struct capture_region *region, const char *program)
{
    const char *path = region->object ? region->object : program;
    char *symbol, *unit;
    elf_code_name(path, region->code, &symbol, &unit);
    struct text name = {0};
    bool enough = !symbol || function_name(region, symbol);
    if (symbol)
        text_addf(&name, "%s@%s", region->function, base_name(unit ? unit : path));
    if (unit)
        enough &= is_replaced(&region->file, strdup(base_name(unit)));
    if (!symbol)
        text_addf(&name, "0x%" PRIx64 "@%s", region->code, base_name(path));
    enough &= is_replaced(&region->name, text_take(&name));
    free(symbol);
    free(unit);
    return enough;
}

/* Does another region stand before this one, as the plugin numbers regions of one name: by where their code lies, instrumented ones first? */
static bool is_before(const struct capture_region *other, const struct capture_region *region)
{
    return !other->plain || other->code < region->code;
}

/* `names` are those before any was changed. */
static bool name_number(struct capture_run *run, const char *const *names, size_t region)
{
    unsigned ordinal = 1;
    for (size_t i = 0; i < run->region_count; i++)
        ordinal += i != region && strcmp(names[i], names[region]) == 0 && is_before(&run->regions[i], &run->regions[region]);
    struct text name = {0};
    text_addf(&name, "%s#%u", names[region], ordinal);
    char *numbered = text_take(&name);
    if (ordinal == 1 || !numbered) {
        free(numbered);
        return ordinal == 1;
    }
    run->regions[region].name = numbered;       /* the old one is still in `names` */
    return true;
}

static bool is_listed(const struct elf_construct *constructs, size_t count, const struct capture_region *region)
{
    for (size_t i = 0; i < count; i++)
        if (constructs[i].entry.kind == PCERE_CONSTRUCT_PARALLEL && constructs[i].entry.line == region->line &&
            (region->line || text_equal(constructs[i].function, region->function)) && strcmp(base_name(constructs[i].file), base_name(region->file)) == 0)
            return true;
    return false;
}

/* Where the plugin's list of an object's constructs has a region, and no region of that object came with a probe, these are null: code of the large model that is
 * not independent of its position has weak functions so. */
static void unprobed_find(struct capture_run *run, const char *object, const char *path)
{
    struct elf_file *elf = NULL;
    const struct elf_construct *constructs;
    size_t plain = 0, probed = 0;
    for (size_t i = 0; i < run->region_count; i++)
        if (text_equal(run->regions[i].object, object)) {
            plain += run->regions[i].plain;
            probed += !run->regions[i].plain;
        }
    if (!plain || probed || elf_file_open(path, &elf, NULL) != PCERE_OK)
        return;
    size_t count = elf_file_constructs(elf, &constructs);
    for (size_t i = 0; i < run->region_count; i++)
        if (text_equal(run->regions[i].object, object))
            run->regions[i].unprobed = is_listed(constructs, count, &run->regions[i]);
    elf_file_close(elf);
}

enum pcere_status plain_regions_name(struct capture_run *run, const char *program, struct pcere_error *error)
{
    size_t count = 0;
    for (size_t i = 0; i < run->region_count; i++) {
        struct capture_region *region = &run->regions[i];
        count += region->plain;
        if (region->plain && !region->line && !region_name(region, program))
            return pcere_fail_memory(error, "the regions");
    }
    if (!count)
        return PCERE_OK;
    unprobed_find(run, NULL, program);
    char **names = calloc(run->region_count, sizeof *names);
    bool enough = names != NULL;
    for (size_t i = 0; names && i < run->region_count; i++)
        names[i] = run->regions[i].name;
    for (size_t i = 0; enough && i < run->region_count; i++)
        enough = !run->regions[i].plain || name_number(run, (const char *const *)names, i);
    for (size_t i = 0; names && i < run->region_count; i++)
        if (run->regions[i].name != names[i])
            free(names[i]);
    free(names);
    return enough ? PCERE_OK : pcere_fail_memory(error, "the regions");
}

static void unit_add(struct text *text, const struct capture_region *region)
{
    if (region->file[0])
        text_add(text, base_name(region->file));
    else if (region->object)
        text_add(text, base_name(region->object));
    else
        text_add(text, "a unit of the program");
}

char *plain_reason(const struct capture_region *region)
{
    struct text text = {0};
    unit_add(&text, region);
    if (region->plugin_version)
        text_addf(&text, " was compiled with another version of the plugin (%u, not %u): only its time is known; compile it again with this one", region->plugin_version,
                  PCERE_ABI_VERSION);
    else
        text_add(&text, region->unprobed ? " was compiled with the plugin, but its probes were not linked, as happens with the linker mold, which drops them (link with -fuse-ld=lld), and with "
                                       "-mcmodel=large where code is not independent of its position: compile it with -fPIE"
                                     : " was compiled without the plugin: only its time is known");
    return text_take(&text);
}

char *plain_note(const struct capture_run *run)
{
    uint64_t time_ns = 0;
    size_t count = 0, unprobed = 0, older = 0;
    for (size_t i = 0; i < run->region_count; i++)
        if (run->regions[i].plain) {
            unprobed += run->regions[i].unprobed;
            older += run->regions[i].plugin_version != 0;
            time_ns += run->regions[i].time_ns;
            count++;
        }
    if (!count)
        return NULL;
    struct text text = {0};
    text_addf(&text, "%zu region%s, %.3g %% of the run's time, %s of code that was compiled %s", count, count == 1 ? "" : "s",
              run->wall_ns ? 100 * (double)time_ns / (double)run->wall_ns : 0, count == 1 ? "is" : "are",
              unprobed == count ? "with the plugin, but without probes, since the linker left them out: pcere regions says why"
              : older == count  ? "with another version of the plugin: only what is compiled with this one is captured"
              : older           ? "without the plugin, or with another version of it: only what is compiled with this one is captured"
                                : "without the plugin: only what is compiled with it is captured");
    return text_take(&text);
}
