/* cli/capture_table.c - the regions of a manifest as a table and as JSON. */
#include "cli/capture_table.h"
#include "cli/cli.h"
#include "core/json.h"
#include "core/region_name.h"
#include "core/text.h"
#include "core/units.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

#define NOT_ENTERED_MOST 4          /* told by name */

static double share_of(const struct store_manifest *manifest, uint64_t time_ns)
{
    return manifest->wall_ns ? (double)time_ns / (double)manifest->wall_ns : 0;
}

static int by_time(const void *a, const void *b)
{
    const struct store_region *const *left = a, *const *right = b;
    if ((*left)->time_ns != (*right)->time_ns)
        return (*left)->time_ns < (*right)->time_ns ? 1 : -1;
    return strcmp((*left)->name, (*right)->name);
}

/* Of the first class that was seen to read or write, or NULL. */
static const char *region_io(const struct store_region *region)
{
    for (size_t i = 0; i < region->class_count; i++)
        if (region->classes[i].io)
            return region->classes[i].io;
    return NULL;
}

char *capture_stretched_text(char text[static CAPTURE_STRETCHED_BYTES], uint64_t probed_ns, uint64_t time_ns)
{
    double ratio = store_stretched_ratio(probed_ns, time_ns);
    if (ratio <= STORE_STRETCHED_RATIO)
        return NULL;
    snprintf(text, CAPTURE_STRETCHED_BYTES, "%.0f %% longer for probes of regions inside it", 100 * ratio);
    return text;
}

/* The most threads that a codelet of it was captured with. */
static uint32_t threads_captured(const struct store_region *region, uint32_t capture_threads)
{
    uint32_t threads = 0;
    for (size_t i = 0; i < region->class_count; i++) {
        uint32_t own = region->classes[i].team ? region->classes[i].team : capture_threads;
        if (region->classes[i].captured && own > threads)
            threads = own;
    }
    return threads;
}

static bool nested_only(const struct store_region *region)
{
    return region->nested > 0 && region->nested == region->invocations;
}

static void region_row(struct cli_table *table, const struct store_manifest *manifest, const struct store_region *region)
{
    size_t captured = 0;
    uint64_t stored_bytes = 0, memory_bytes = 0;
    for (size_t i = 0; i < region->class_count; i++) {
        captured += region->classes[i].captured;
        stored_bytes += region->classes[i].stored_bytes;
        if (region->classes[i].memory_bytes > memory_bytes)
            memory_bytes = region->classes[i].memory_bytes;
    }
    char invocations[24], classes[48], time[UNITS_TEXT_BYTES], share[CLI_TEXT_MOST], memory[UNITS_TEXT_BYTES], stored[UNITS_TEXT_BYTES];
    snprintf(invocations, sizeof invocations, "%llu", (unsigned long long)region->invocations);
    snprintf(classes, sizeof classes, "%zu of %zu", captured, region->class_count);
    char holds[STORE_HOLDS_BYTES];
    struct text note = {0};
    const char *io = region_io(region);
    if (region->reason)
        text_add(&note, region->reason);
    uint32_t threads = threads_captured(region, manifest->threads);
    if (captured && region->thread_sized)
        text_addf(&note, "%s%s: %s", region->reason ? "; " : "", store_region_holds(holds, region, threads), region->thread_sized);
    uint32_t team = store_region_team(region, manifest->threads);
    if (team)
        text_addf(&note, "%salways with %u thread%s, as the program asks", note.length ? "; " : "", team, team == 1 ? "" : "s");
    if (io)
        text_addf(&note, "%s%s", note.length ? "; " : "", io);
    if (region->nested) {
        text_addf(&note, "%s", note.length ? "; " : "");
        if (!nested_only(region))
            text_addf(&note, "%llu of them ", (unsigned long long)region->nested);
        text_addf(&note, "inside %s", region->parent ? region->parent : "other regions");
    }
    if (store_region_is_short(region) && region->time_ns + region->nested_ns > 0)
        text_addf(&note, "%sunder 2 us each, less the clock's own time", note.length ? "; " : "");
    char stretched[CAPTURE_STRETCHED_BYTES];
    if (capture_stretched_text(stretched, region->probed_ns, region->time_ns + region->nested_ns))
        text_addf(&note, "%s%s", note.length ? "; " : "", stretched);
    char *words = text_take(&note);
    const char *cells[] = {region->name, invocations, units_format_ns(nested_only(region) ? region->nested_ns : region->time_ns, time),
                           nested_only(region) ? "-" : cli_ratio_text(share, share_of(manifest, region->time_ns)), classes,
                           captured ? units_format_bytes(memory_bytes, memory) : "-",
                           captured ? units_format_bytes(stored_bytes, stored) : "-", words ? words : region->reason};
    cli_table_row(table, cells);
    free(words);
}

static void total_row(struct cli_table *table, const struct store_manifest *manifest, const char *name, uint64_t time_ns)
{
    char time[UNITS_TEXT_BYTES], share[CLI_TEXT_MOST];
    const char *cells[] = {name, NULL, units_format_ns(time_ns, time), cli_ratio_text(share, share_of(manifest, time_ns)), NULL, NULL, NULL, NULL};
    cli_table_row(table, cells);
}

/* In regions that are in no other, which took ret_all_ns together. */
static uint64_t without_ns(const struct store_manifest *manifest, uint64_t *ret_all_ns)
{
    uint64_t all_ns = 0, left_ns = 0;
    for (size_t i = 0; i < manifest->region_count; i++)
        for (size_t j = 0; j < manifest->regions[i].class_count; j++) {
            const struct store_class *class = &manifest->regions[i].classes[j];
            all_ns += class->nested ? 0 : class->time_ns;
            left_ns += class->nested || class->captured ? 0 : class->time_ns;
        }
    if (ret_all_ns)
        *ret_all_ns = all_ns;
    return left_ns;
}

static void not_entered_print(const struct store_manifest *manifest, FILE *out)
{
    char name[REGION_NAME_BYTES];
    if (manifest->not_entered_count)
        fputc('\n', out);
    for (size_t i = 0; i < manifest->not_entered_count && i < NOT_ENTERED_MOST; i++)
        fprintf(out, "not entered here: %s, %s\n", cli_region_name(name, manifest, manifest->not_entered[i].region), manifest->not_entered[i].reason);
    if (manifest->not_entered_count > NOT_ENTERED_MOST)
        fprintf(out, "and %zu more\n", manifest->not_entered_count - NOT_ENTERED_MOST);
}

void capture_table_print(const struct store_manifest *manifest, FILE *out)
{
    static const char *const headings[] = {"~region", ">invocations", ">in vivo", ">share", ">captured", ">memory", ">stored", ""};
    const struct store_region **order = calloc(manifest->region_count + 1, sizeof(const struct store_region *));
    struct cli_table *table = cli_table_new(sizeof headings / sizeof *headings, headings);
    if (order && table) {
        for (size_t i = 0; i < manifest->region_count; i++)
            order[i] = &manifest->regions[i];
        qsort(order, manifest->region_count, sizeof *order, by_time);
        for (size_t i = 0; i < manifest->region_count; i++)
            region_row(table, manifest, order[i]);
        total_row(table, manifest, "of these, without a codelet", without_ns(manifest, NULL));
        total_row(table, manifest, "outside regions", manifest->serial_ns);
        total_row(table, manifest, "whole run", manifest->wall_ns);
        cli_table_print(table, out);
        not_entered_print(manifest, out);
    }
    cli_table_free(table);
    free(order);
}

static json_t *class_value(const struct store_class *class, bool *failed)
{
    json_t *value = json_object();
    json_put(value, "representative", json_from_u64(class->representative), failed);
    json_put(value, "members", json_from_u64(class->members), failed);
    json_put(value, "time_ns", json_from_u64(class->time_ns), failed);
    json_put(value, "time_ns_median", json_from_u64(class->time_ns_median), failed);
    json_put(value, "representative_ns", json_from_u64(class->representative_ns), failed);
    json_put(value, "between_members", json_from_u64(class->between_members), failed);
    json_put(value, "between_ns", json_from_u64(class->between_ns), failed);
    json_put(value, "nested", json_boolean(class->nested), failed);
    json_put(value, "captured", json_boolean(class->captured), failed);
    json_put(value, "memory_bytes", class->captured ? json_from_u64(class->memory_bytes) : json_null(), failed);
    json_put(value, "stored_bytes", class->captured ? json_from_u64(class->stored_bytes) : json_null(), failed);
    json_put(value, "reason", json_from_string(class->reason), failed);
    json_put(value, "io", json_from_string(class->io), failed);
    json_put(value, "read_bytes", class->io ? json_from_u64(class->read_bytes) : json_null(), failed);
    json_put(value, "written_bytes", class->io ? json_from_u64(class->written_bytes) : json_null(), failed);
    return value;
}

json_t *capture_not_entered_value(const struct store_manifest *manifest, bool *failed)
{
    json_t *list = json_array();
    for (size_t i = 0; i < manifest->not_entered_count; i++) {
        const struct store_limit *limit = &manifest->not_entered[i];
        json_t *value = json_object();
        json_put(value, "region", json_from_string(limit->region), failed);
        json_put(value, "from_threads", json_from_u64(store_limit_enters(limit)), failed);
        json_put(value, "reason", json_from_string(limit->reason), failed);
        if (json_array_append_new(list, value) != 0)
            *failed = true;
    }
    return list;
}

static json_t *region_value(const struct store_manifest *manifest, const struct store_region *region, bool *failed)
{
    json_t *value = json_object(), *classes = json_array();
    json_put(value, "region", json_from_string(region->name), failed);
    json_put(value, "function", json_from_string(region->function), failed);
    json_put(value, "file", json_from_string(region->file), failed);
    json_put(value, "line", json_from_u64(region->line), failed);
    json_put(value, "invocations", json_from_u64(region->invocations), failed);
    json_put(value, "time_ns", json_from_u64(region->time_ns), failed);
    json_put(value, "share_ratio", manifest->wall_ns ? json_real(share_of(manifest, region->time_ns)) : json_null(), failed);
    json_put(value, "nested", json_from_u64(region->nested), failed);
    json_put(value, "nested_ns", json_from_u64(region->nested_ns), failed);
    json_put(value, "parent", json_from_string(region->parent), failed);
    json_put(value, "probed_ns", json_from_u64(region->probed_ns), failed);
    json_put(value, "status", json_from_string(region->status), failed);
    json_put(value, "reason", json_from_string(region->reason), failed);
    json_put(value, "thread_sized", json_from_string(region->thread_sized), failed);
    json_put(value, "io", json_from_string(region_io(region)), failed);
    json_put(value, "short", json_boolean(store_region_is_short(region)), failed);
    for (size_t i = 0; i < region->class_count; i++)
        if (json_array_append_new(classes, class_value(&region->classes[i], failed)) != 0)
            *failed = true;
    json_put(value, "classes", classes, failed);
    return value;
}

enum pcere_status capture_document_add(json_t *document, const struct store_manifest *manifest, struct pcere_error *error)
{
    bool failed = false;
    json_put(document, "program", json_from_string(manifest->program), &failed);
    json_put(document, "complete", json_boolean(manifest->complete), &failed);
    json_put(document, "threads", json_from_u64(manifest->threads), &failed);
    json_put(document, "wall_ns", json_from_u64(manifest->wall_ns), &failed);
    json_put(document, "serial_ns", json_from_u64(manifest->serial_ns), &failed);
    json_put(document, "capture_wall_ns", manifest->capture_wall_ns ? json_from_u64(manifest->capture_wall_ns) : json_null(), &failed);
    uint64_t all_ns, left_ns = without_ns(manifest, &all_ns);
    json_put(document, "covered_ratio", all_ns ? json_real(1 - (double)left_ns / (double)all_ns) : json_null(), &failed);
    json_t *regions = json_array();
    for (size_t i = 0; i < manifest->region_count; i++)
        if (json_array_append_new(regions, region_value(manifest, &manifest->regions[i], &failed)) != 0)
            failed = true;
    json_put(document, "regions", regions, &failed);
    json_put(document, "not_entered", capture_not_entered_value(manifest, &failed), &failed);
    return failed ? pcere_fail_memory(error, "the result") : PCERE_OK;
}
