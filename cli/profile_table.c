/* cli/profile_table.c - a profile for its users: the file, the label graph, a document, or constructs by the time that their execution units took and what the
 * run could not see. */
#include "cli/cli.h"
#include "cli/compare_text.h"
#include "cli/profile_runs.h"
#include "core/json.h"
#include "core/units.h"
#include "profiler/host/unit_profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct type_row { uint32_t construct; uint8_t kind; size_t first, count; uint64_t active_ns; };

static int by_type(const void *a, const void *b, void *context)
{
    const struct profile *profile = context;
    size_t left = *(const size_t *)a, right = *(const size_t *)b;
    if (profile->construct[left] != profile->construct[right])
        return profile->construct[left] < profile->construct[right] ? -1 : 1;
    if (profile->kinds[left] != profile->kinds[right])
        return profile->kinds[left] < profile->kinds[right] ? -1 : 1;
    uint64_t a_ns = profile->active_ns[left], b_ns = profile->active_ns[right];
    return a_ns < b_ns ? -1 : a_ns > b_ns;
}

static int by_time(const void *a, const void *b)
{
    const struct type_row *left = a, *right = b;
    return left->active_ns < right->active_ns ? 1 : left->active_ns > right->active_ns ? -1 : 0;
}

static void type_print(struct cli_table *table, const struct profile *profile, const size_t *rows, const struct type_row *type, uint64_t all_ns)
{
    enum { FIXED = 7 };
    char count[32], total[UNITS_TEXT_BYTES], least[UNITS_TEXT_BYTES], middle[UNITS_TEXT_BYTES], most[UNITS_TEXT_BYTES], share[CLI_TEXT_MOST];
    snprintf(count, sizeof count, "%zu", type->count);
    const uint64_t *active_ns = profile->active_ns;
    const char **cells = calloc(FIXED + 1 + profile->event_count, sizeof *cells);
    char (*sums)[CLI_TEXT_MOST] = calloc(profile->event_count + 1, sizeof *sums);
    if (cells && sums) {
        cells[0] = profile->constructs[type->construct].name;
        cells[1] = profile_kind_name(type->kind);
        cells[2] = count;
        cells[3] = units_format_ns(type->active_ns, total);
        cells[4] = cli_ratio_text(share, all_ns ? (double)type->active_ns / (double)all_ns : 0);
        cells[5] = units_format_ns(active_ns[rows[type->first + type->count / 2]], middle);
        cells[6] = units_format_ns(active_ns[rows[type->first]], least);
        cells[7] = units_format_ns(active_ns[rows[type->first + type->count - 1]], most);
        for (size_t i = 0; i < profile->event_count; i++) {
            uint64_t sum = 0;
            for (size_t j = 0; j < type->count; j++)
                sum += profile->counts[i][rows[type->first + j]];
            cells[8 + i] = compare_value_text(sums[i], (double)sum, profile->events[i].unit);
        }
        cli_table_row(table, cells);
    }
    free(cells);
    free(sums);
}

static struct cli_table *types_table(const struct profile *profile)
{
    static const char *const fixed[] = {"construct", "type", ">XUs", ">active", ">share", ">median", ">shortest", ">longest"};
    size_t columns = sizeof fixed / sizeof *fixed + profile->event_count;
    const char **headings = calloc(columns, sizeof *headings);
    char **names = calloc(profile->event_count + 1, sizeof *names);
    struct cli_table *table = NULL;
    bool failed = !headings || !names;
    for (size_t i = 0; !failed && i < columns; i++) {
        size_t event = i - sizeof fixed / sizeof *fixed;
        if (i < sizeof fixed / sizeof *fixed) {
            headings[i] = fixed[i];
            continue;
        }
        failed = asprintf(&names[event], ">%s", profile->events[event].name) < 0;
        headings[i] = failed ? NULL : names[event];
    }
    if (!failed)
        table = cli_table_new(columns, headings);
    for (size_t i = 0; names && i < profile->event_count; i++)
        free(names[i]);
    free(names);
    free(headings);
    return table;
}

static enum pcere_status profile_print(const struct profile *profile, struct pcere_error *error)
{
    size_t *rows = calloc(profile->count + 1, sizeof *rows);
    struct type_row *types = calloc(profile->count + 1, sizeof *types);
    struct cli_table *table = types_table(profile);
    if (!rows || !types || !table) {
        free(rows);
        free(types);
        cli_table_free(table);
        return pcere_fail_memory(error, "the table");
    }
    for (size_t i = 0; i < profile->count; i++)
        rows[i] = i;
    qsort_r(rows, profile->count, sizeof *rows, by_type, (struct profile *)(uintptr_t)profile);
    size_t count = 0;
    uint64_t all_ns = 0;
    for (size_t i = 0; i < profile->count; i++) {
        size_t row = rows[i];
        if (!count || types[count - 1].construct != profile->construct[row] || types[count - 1].kind != profile->kinds[row])
            types[count++] = (struct type_row){profile->construct[row], profile->kinds[row], i, 0, 0};
        types[count - 1].count++;
        types[count - 1].active_ns += profile->active_ns[row];
        all_ns += profile->active_ns[row];
    }
    qsort(types, count, sizeof *types, by_time);
    char wall[UNITS_TEXT_BYTES], active[UNITS_TEXT_BYTES];
    const struct profile_run *run = &profile->runs[0];
    printf("%zu XU%s, active %s; wall time %s, %u thread%s, level %u\n\n", profile->count, profile->count == 1 ? "" : "s", units_format_ns(all_ns, active), units_format_ns(run->wall_ns, wall),
           run->threads, run->threads == 1 ? "" : "s", run->level);
    for (size_t i = 0; i < count; i++)
        type_print(table, profile, rows, &types[i], all_ns);
    cli_table_print(table, stdout);
    if (run->blind_count)
        puts("\nNot seen:");
    for (size_t i = 0; i < run->blind_count; i++)
        printf("- %s\n", run->blind[i]);
    cli_table_free(table);
    free(rows);
    free(types);
    return PCERE_OK;
}

void profile_dropped_print(const struct profile *combined, FILE *out)
{
    for (size_t i = 0; i < combined->dropped_count; i++) {
        const struct profile_dropped *dropped = &combined->dropped[i];
        fprintf(out, "%srun %u: %llu XU%s could not be combined: %s of %s\n", i ? "" : "\n", dropped->run + 1, (unsigned long long)dropped->xus, dropped->xus == 1 ? "" : "s",
                profile_kind_name(dropped->kind), combined->constructs[dropped->construct].name);
    }
}

static enum pcere_status graph_write(const struct units *units, const struct profile_request *request, struct pcere_error *error)
{
    if (!request->force && access(request->graph, F_OK) == 0)
        return pcere_fail(error, PCERE_USAGE, EEXIST, "--force replaces it", "cannot write '%.300s'", request->graph);
    FILE *file = fopen(request->graph, "we");
    if (!file)
        return pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot write '%.300s'", request->graph);
    enum pcere_status status = label_graph_write(units, request->graph_most ? request->graph_most : 500, file, request->graph, error);
    if (fclose(file) != 0 && status == PCERE_OK)
        status = pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot write '%.300s'", request->graph);
    return status;
}

static enum pcere_status result_show(struct cli *cli, const struct profile_request *request, const struct profile *profile, struct pcere_error *error)
{
    bool failed = false;
    if (request->csv)
        return profile_csv_write(profile, stdout, "standard output", error);
    enum pcere_status status = cli->json ? PCERE_OK : profile_print(profile, error);
    if (!cli->json && status == PCERE_OK) {
        profile_runs_print(request->runs, stdout);
        profile_dropped_print(profile, stdout);
    }
    if (!cli->json)
        return status;
    json_put(cli->document, "program", json_from_string(profile->runs[0].program), &failed);
    profile_runs_describe(request->runs, cli->document, &failed);
    if (failed)
        return pcere_fail_memory(error, "the result");
    status = profile_json_write(profile, cli->document, stdout, "standard output", error);
    json_decref(cli->document);
    cli->document = NULL;                        /* it is written */
    return status;
}

enum pcere_status profile_deliver(struct cli *cli, const struct profile_request *request, const struct units *units, const struct profile *profile,
                                  struct pcere_error *error)
{
    enum pcere_status status = request->graph ? graph_write(units, request, error) : PCERE_OK;
    if (status == PCERE_OK)
        status = profile_write(profile, request->path, request->force, error);
    return status == PCERE_OK && !request->quiet ? result_show(cli, request, profile, error) : status;
}
