#include "capture-rt/tracer/manifest.h"

#include "capture-rt/tracer/libraries.h"
#include "capture-rt/tracer/plain.h"
#include "core/host.h"
#include "core/text.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool region_matches(const char *name, const char *pattern)
{
    return !pattern || strstr(name, pattern) || fnmatch(pattern, name, 0) == 0;
}

static char **list_copy(char *const *list)
{
    size_t count = 0;
    while (list && list[count])
        count++;
    char **copy = calloc(count + 1, sizeof *copy);
    for (size_t i = 0; copy && i < count; i++)
        if (!(copy[i] = strdup(list[i]))) {
            while (i > 0)
                free(copy[--i]);
            free(copy);
            return NULL;
        }
    return copy;
}

static char *compiler_name(const struct elf_file *elf)
{
    const struct elf_unit *units;
    size_t count = elf_file_units(elf, &units);
    struct text text = {0};
    for (size_t i = 0; i < count; i++) {
        bool seen = false;
        for (size_t j = 0; j < i; j++)
            seen |= units[j].header.llvm_major == units[i].header.llvm_major;
        if (!seen)
            text_addf(&text, "%sclang %u", text.length ? ", " : "", units[i].header.llvm_major);
    }
    return text_take(&text);
}

static enum pcere_status host_text(char **ret_text, struct pcere_error *error)
{
    json_t *object;
    enum pcere_status status = host_describe(&object, error);
    if (status != PCERE_OK)
        return status;
    *ret_text = json_dumps(object, JSON_COMPACT);
    json_decref(object);
    return *ret_text ? PCERE_OK : pcere_fail_memory(error, "the description of this machine");
}

/* The region that most of the invocations of a nested one were in. */
static const char *parent_of(const struct capture_run *run, const struct capture_region *region)
{
    size_t *counts = region->nested ? calloc(run->region_count + 1, sizeof *counts) : NULL;
    size_t most = SIZE_MAX;
    for (size_t i = 0; counts && i < region->list_count; i++) {
        size_t parent = region->list[i].parent;
        if (parent < run->region_count && ++counts[parent] && (most == SIZE_MAX || counts[parent] > counts[most]))
            most = parent;
    }
    free(counts);
    return most == SIZE_MAX ? NULL : run->regions[most].name;
}

static bool regions_fill(const struct capture_run *run, struct store_manifest *manifest)
{
    manifest->regions = calloc(run->region_count ? run->region_count : 1, sizeof *manifest->regions);
    if (!manifest->regions)
        return false;
    for (size_t i = 0; i < run->region_count; i++) {
        const struct capture_region *from = &run->regions[i];
        struct store_region *to = &manifest->regions[i];
        manifest->region_count = i + 1;
        const char *parent = parent_of(run, from);
        *to = (struct store_region){.name = strdup(from->name), .function = strdup(from->function), .file = strdup(from->file),
                                    .line = from->line, .invocations = from->invocations, .time_ns = from->time_ns,
                                    .nested = from->nested, .nested_ns = from->nested_ns, .probed_ns = from->probed_ns, .parent = parent ? strdup(parent) : NULL,
                                    .status = strdup("skipped"), .reason = strdup("the capture did not come to its end"),
                                    .thread_sized = from->thread_sized ? strdup(from->thread_sized) : NULL};
        if (!to->name || !to->function || !to->file || !to->status || !to->reason || !to->thread_sized != !from->thread_sized || !to->parent != !parent)
            return false;
    }
    return true;
}

enum pcere_status manifest_begin(const struct capture_options *options, const struct capture_places *places, const struct capture_run *run, const struct elf_file *elf,
                                 struct store_manifest *ret_manifest, struct pcere_error *error)
{
    const char *build_id = elf_file_build_id(elf);
    struct store_manifest manifest = {
        .program = strdup(options->program), .program_file = strdup(places->program_file),
        .arguments = list_copy(options->arguments), .environment = list_copy(run->environment),
        .working_directory = strdup(places->working_directory), .compiler = compiler_name(elf), .build_id = build_id ? strdup(build_id) : NULL,
        .page_size = (uint64_t)sysconf(_SC_PAGESIZE), .threads = run->threads, .wall_ns = run->wall_ns, .serial_ns = run->serial_ns,
        .program_status = run->program_status, .image_bias = run->image_bias};
    enum pcere_status status = host_text(&manifest.host, error);
    if (status == PCERE_OK &&
        (!manifest.program || !manifest.program_file || !manifest.arguments || !manifest.environment ||
         !manifest.working_directory || !manifest.compiler || !regions_fill(run, &manifest)))
        status = pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot describe the program");
    if (status != PCERE_OK) {
        store_manifest_done(&manifest);
        return status;
    }
    *ret_manifest = manifest;
    return PCERE_OK;
}

/* ---- classes --------------------------------------------------------------------------------------------------------------- */

static bool reason_copy(char **reason, const char *text)
{
    free(*reason);
    *reason = strdup(text);
    return *reason != NULL;
}

static bool reason_set(char **reason, const char *format, double number)
{
    struct text text = {0};
    text_addf(&text, format, number);
    free(*reason);
    *reason = text_take(&text);
    return *reason != NULL;
}

static bool class_judge(const struct capture_options *options, const struct capture_run *run, const char *name, const char *obstacle,
                        struct store_class *class)
{
    double share = run->wall_ns ? (double)class->time_ns / (double)run->wall_ns : 1;
    if (!region_matches(name, options->pattern)) {
        class->captured = class->by_chance = false;
        return reason_copy(&class->reason, "not asked for");
    }
    if (obstacle) {
        class->captured = class->by_chance = false;
        return reason_copy(&class->reason, obstacle);
    }
    if (class->captured && share < options->share_least_ratio) {
        class->captured = false;
        return reason_set(&class->reason, "weighs %.2f %% of the run: its time in vivo is kept", 100 * share);
    }
    if (!class->captured && !class->reason)
        return reason_copy(&class->reason, "not wanted: its time in vivo is kept");
    return true;
}

enum pcere_status manifest_choose(const struct capture_options *options, const struct capture_run *run,
                                  struct store_manifest *manifest, struct pcere_error *error)
{
    enum pcere_status status = options->choose_begin ? options->choose_begin(options->choose_context, run, error) : PCERE_OK;
    for (size_t i = 0; i < run->region_count && status == PCERE_OK; i++) {
        struct store_region *region = &manifest->regions[i];
        if (run->regions[i].list_count == 0)
            continue;
        status =
            options->choose(options->choose_context, run, i, &region->classes, &region->class_count, error);
        if (status != PCERE_OK)
            return status;
        const char *obstacle = NULL;
        char *plain = run->regions[i].plain ? plain_reason(&run->regions[i]) : NULL;
        if (run->regions[i].plain)
            obstacle = plain;
        else if (run->regions[i].object)
            library_is_rebuilt(run->regions[i].object, &obstacle);
        bool enough = !run->regions[i].plain || plain;
        for (size_t j = 0; enough && j < region->class_count; j++)
            enough = class_judge(options, run, region->name, obstacle, &region->classes[j]);
        free(plain);
        if (!enough)
            return pcere_fail_memory(error, "the classes");
    }
    return status;
}

/* ---- what became of them --------------------------------------------------------------------------------------------------- */

static bool region_state(struct store_region *region, const char *state, char *reason)
{
    free(region->status);
    free(region->reason);
    region->status = strdup(state);
    region->reason = reason;
    return region->status && (reason || strcmp(state, "captured") == 0);
}

static char *never_timed(const struct capture_region *region)
{
    struct text text = {0};
    text_add(&text, region->unfinished ? "it was left before its end, by exit, a crash or a jump" : "never entered");
    return text_take(&text);
}

static bool same_reason(const struct store_region *region)
{
    for (size_t i = 0; i < region->class_count; i++)
        if (!region->classes[i].reason || strcmp(region->classes[i].reason, region->classes[0].reason) != 0)
            return false;
    return region->class_count > 0;
}

static char *none_wanted(const struct capture_run *run, const struct store_region *region, bool matches)
{
    struct text text = {0};
    double share = run->wall_ns ? (double)region->time_ns / (double)run->wall_ns : 0;
    if (!matches)
        text_add(&text, "not asked for");
    else if (same_reason(region))
        text_add(&text, region->classes[0].reason);
    else
        text_addf(&text, "weighs %.2f %% of the run, in %zu classes that are all too light: its time in vivo is kept", 100 * share,
                  region->class_count);
    return text_take(&text);
}

enum pcere_status manifest_settle(const struct capture_options *options, const struct capture_run *run, const char *missing,
                                  struct store_manifest *manifest, struct pcere_error *error)
{
    bool enough = true;
    for (size_t i = 0; i < manifest->region_count && i < run->region_count; i++) {
        struct store_region *region = &manifest->regions[i];
        const char *lost = NULL;
        size_t captured = 0;
        for (size_t j = 0; j < region->class_count; j++) {
            struct store_class *class = &region->classes[j];
            captured += class->codelet != NULL;
            if (class->captured && !class->codelet) {
                class->captured = false;
                if (!class->reason && !(class->reason = strdup(missing)))
                    enough = false;
                lost = class->reason;
            }
        }
        if (captured)
            enough &= region_state(region, "captured", NULL);
        else if (lost)
            enough &= region_state(region, "invalid", strdup(lost));
        else if (run->regions[i].list_count == 0)
            enough &= region_state(region, "skipped", never_timed(&run->regions[i]));
        else
            enough &= region_state(region, "skipped", none_wanted(run, region, region_matches(region->name, options->pattern)));
    }
    return enough ? PCERE_OK : pcere_fail_memory(error, "the manifest");
}
