/* cli/measure_store.c - real runs of a store's program. */
#include "cli/measure_store.h"
#include "capture-rt/tracer/capture.h"
#include "cli/interrupt.h"
#include "cli/lines.h"
#include "cli/program_stage.h"
#include "core/text.h"
#include "core/units.h"
#include "predictor/members.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RUNS_MOST = 5 };
#define RUNS_NS 3000000000u
#define ELSE_RATIO 4                /* of the captured run's time, divided by so many times more threads: less than one in so many is no run of the same work */

/* The times of a class's members in a run, by the numbers that the capture gave them; returns how many, and which is the representative. */
static size_t members_collect(const struct store_series *series, const struct store_class *class, const struct capture_region *region, uint64_t *times_ns,
                              size_t *ret_representative)
{
    size_t count = 0;
    *ret_representative = SIZE_MAX;
    for (size_t i = 0; i < series->count; i++) {
        uint64_t number = series->number[i];
        if (series->representative[i] != class->representative || number == 0 || number > region->list_count || region->list[number - 1].nested
            || !region->list[number - 1].end_ns)
            continue;
        if (number == class->representative)
            *ret_representative = count;
        times_ns[count++] = region->list[number - 1].time_ns;
    }
    return count;
}

/* A line for each class of several members that was captured: what they take on average, and those that perform as the representative does. */
static enum pcere_status members_append(const struct cli *cli, const struct program_stage *stage, const struct capture_run *run,
                                        const struct store_series *series, const struct capture_region *region, struct pcere_error *error)
{
    const struct store_manifest *manifest = store_manifest(cli->store);
    uint64_t *times_ns = calloc(series->count + 1, sizeof *times_ns);
    char kind[] = "members", none[] = "";
    enum pcere_status status = times_ns ? PCERE_OK : pcere_fail_memory(error, "the members of a class");
    for (size_t r = 0; r < manifest->region_count; r++)
        for (size_t c = 0; status == PCERE_OK && strcmp(manifest->regions[r].name, region->name) == 0 && c < manifest->regions[r].class_count; c++) {
            const struct store_class *class = &manifest->regions[r].classes[c];
            size_t at;
            uint64_t pair[2];
            if (!class->captured || class->members < 2 || members_collect(series, class, region, times_ns, &at) < 2 || at == SIZE_MAX)
                continue;
            status = members_judge(times_ns, members_collect(series, class, region, times_ns, &at), at, class->representative, &pair[0], &pair[1], error);
            struct store_sample sample = {
                .kind = kind, .host_name = stage->host_name, .host = stage->host, .region = region->name, .representative = class->representative,
                .threads = run->threads, .warmup = none, .flags = none, .settings = none, .samples_ns = pair, .sample_count = 2,
                .when_s = (uint64_t)time(NULL),
            };
            if (status == PCERE_OK)
                status = store_sample_append(cli->store, &sample, error);
        }
    free(times_ns);
    return status;
}

/* Whether the classes that were found at the capture's number of threads hold at these. */
static enum pcere_status classes_append(const struct cli *cli, const struct program_stage *stage, const struct capture_run *run, struct pcere_error *error)
{
    struct store_series *series;
    size_t count;
    enum pcere_status status = store_invocations_load(cli->store, &series, &count, error);
    if (status != PCERE_OK)
        return status;
    for (size_t s = 0; s < count; s++)
        for (size_t r = 0; status == PCERE_OK && r < run->region_count; r++)
            if (strcmp(series[s].region, run->regions[r].name) == 0)
                status = members_append(cli, stage, run, &series[s], &run->regions[r], error);
    store_series_free(series, count);
    return status;
}

/* The threads that all invocations of a region asked for, as far as they are listed; 0: not the same, or not known. */
static uint32_t region_team(const struct capture_region *region)
{
    uint32_t team = 0;
    for (size_t i = 0; i < region->list_count; i++)
        if (!region->list[i].nested && team && region->list[i].team != team)
            return 0;
        else if (!region->list[i].nested)
            team = region->list[i].team;
    return team;
}

bool measure_processors_suffice(const struct capture_run *run)
{
    unsigned processors = cli_processors();
    bool suffice = run->threads <= processors;
    for (size_t i = 0; i < run->invocation_count; i++)
        suffice = suffice && run->invocations[i].team <= processors && !run->invocations[i].nested;
    return suffice;
}

enum pcere_status measure_store_append(const struct store *store, const char *host_name, const char *host, const char *settings, const struct capture_run *run, uint64_t line_ns,
                                       struct pcere_error *error)
{
    enum pcere_status status = PCERE_OK;
    char kind[] = "run", none[] = "";
    uint64_t waited_ns = run->waited_ns;
    bool told = waited_ns && measure_processors_suffice(run);
    for (size_t i = 0; status == PCERE_OK && i <= run->region_count; i++) {
        const struct capture_region *region = i ? &run->regions[i - 1] : NULL;
        uint64_t time_ns = region ? region->time_ns : run->wall_ns;
        struct store_sample sample = {
            .kind = kind, .host_name = (char *)(uintptr_t)host_name, .host = (char *)(uintptr_t)host, .region = region ? region->name : NULL,
            .threads = run->threads, .team = region ? region_team(region) : 0, .warmup = none, .flags = none, .settings = (char *)(uintptr_t)settings,
            .waits_ns = !region && told ? &waited_ns : NULL, .samples_ns = &time_ns, .sample_count = 1, .cost_ns = run->wall_ns,
            .line_ns = region ? 0 : line_ns, .wall_ns = region ? 0 : run->wall_ns, .serial_ns = region ? 0 : run->serial_ns, .when_s = (uint64_t)time(NULL),
        };
        status = store_sample_append(store, &sample, error);
    }
    return status;
}

/* It had another input, as a rule, of which a comparison would say nothing. A program may leave its regions out with one thread, but not be done then in a small part of the time that all of them took. */
static enum pcere_status likeness_judge(const struct cli *cli, const struct capture_run *run, struct pcere_error *error)
{
    const struct store_manifest *manifest = store_manifest(cli->store);
    double times = run->threads > manifest->threads ? (double)run->threads / manifest->threads : 1;
    uint64_t entered = 0;
    for (size_t i = 0; i < run->region_count; i++)
        entered += run->regions[i].invocations;
    if (entered || !store_manifest_invocations(manifest) || (double)run->wall_ns * times * ELSE_RATIO > (double)manifest->wall_ns)
        return PCERE_OK;
    char took[UNITS_TEXT_BYTES], captured[UNITS_TEXT_BYTES];
    return pcere_fail(error, PCERE_NO, 0, MEASURE_ELSE_HINT,
                      "the program entered none of its parallel regions and was done in %s, where the captured run took %s: it did something else",
                      units_format_ns(run->wall_ns, took), units_format_ns(manifest->wall_ns, captured));
}

static enum pcere_status run_once(struct cli *cli, const struct program_stage *stage, const struct capture_options *options, const char *settings,
                                  uint64_t *ret_wall_ns, struct pcere_error *error)
{
    struct capture_run run;
    uint64_t before_ns = cli_line_ns(options->threads);
    enum pcere_status status = capture_measure(options, &run, error);
    if (status != PCERE_OK)
        return status;
    uint64_t line_ns = cli_line_ns(options->threads);
    line_ns = line_ns > before_ns ? line_ns : before_ns;
    status = cli_program_judge_again(cli, run.program_status, error);
    if (status == PCERE_OK)
        status = likeness_judge(cli, &run, error);
    if (status == PCERE_OK)
        status = measure_store_append(cli->store, stage->host_name, stage->host, settings, &run, line_ns, error);
    if (status == PCERE_OK && !*settings && run.threads != store_manifest(cli->store)->threads)
        status = classes_append(cli, stage, &run, error);
    *ret_wall_ns = run.wall_ns;
    capture_run_done(&run);
    return status;
}

/* *runs: so many more were made. */
static enum pcere_status run_often(struct cli *cli, const struct program_stage *stage, const struct capture_options *options, const char *settings, uint64_t repeat,
                                   size_t *runs, struct pcere_error *error)
{
    enum pcere_status status = capture_input_keep(error);
    uint64_t spent_ns = 0, wall_ns = 0;
    for (uint64_t done = 0; status == PCERE_OK && !interrupt_came() && (repeat ? done < repeat : !done || (done < RUNS_MOST && spent_ns + wall_ns < RUNS_NS)); done++) {
        char text[80];
        snprintf(text, sizeof text, "running the program with %u thread%s", options->threads, options->threads == 1 ? "" : "s");
        cli_progress(cli, text);
        status = run_once(cli, stage, options, settings, &wall_ns, error);
        spent_ns += wall_ns;
        *runs += status == PCERE_OK;
    }
    return status;
}

static struct capture_options options_of(const struct cli *cli, const struct program_stage *stage)
{
    return (struct capture_options){
        .program = stage->program, .arguments = store_manifest(cli->store)->arguments, .environment = stage->environment.list,
        .library = stage->library, .stdout_descriptor = -1, .stderr_descriptor = -1, .stop = interrupt_came,
    };
}

/* A terminal's ctrl-C ends the program, and this process sees that. */
static enum pcere_status end_judge(struct cli *cli, size_t runs, enum pcere_status status, struct pcere_error *error)
{
    if (status > PCERE_NO || (!cli->signal && !interrupt_came()))
        return status;
    return interrupt_fail(cli, NULL, error, "what %zu real run%s of the program took is in '%s'", runs, runs == 1 ? "" : "s", store_path(cli->store));
}

enum pcere_status measure_store(struct cli *cli, const unsigned *threads, size_t thread_count, uint64_t repeat, struct pcere_error *error)
{
    struct program_stage stage = PROGRAM_STAGE_NONE;
    size_t runs = 0;
    enum pcere_status status = program_stage_enter(cli, &stage, error);
    if (status == PCERE_OK) {
        struct capture_options options = options_of(cli, &stage);
        for (size_t i = 0; status == PCERE_OK && i < thread_count; i++) {
            options.threads = threads[i];
            status = run_often(cli, &stage, &options, "", repeat, &runs, error);
        }
        cli_progress(cli, NULL);
    }
    program_stage_leave(&stage);
    return end_judge(cli, runs, status, error);
}

enum pcere_status measure_store_set(struct cli *cli, const struct measure_settings *settings, unsigned threads, uint64_t repeat, struct pcere_error *error)
{
    struct program_stage stage = PROGRAM_STAGE_NONE;
    struct environment environment = {0};
    size_t runs = 0;
    enum pcere_status status = program_stage_enter(cli, &stage, error);
    if (status == PCERE_OK) {
        struct capture_options options = options_of(cli, &stage);
        options.threads = threads;
        environment = environment_copy(stage.environment.list);
        if (settings->schedule)
            environment_set(&environment, "OMP_SCHEDULE=%s", settings->schedule);
        if (settings->bind)
            environment_set(&environment, "OMP_PROC_BIND=%s", settings->bind);
        options.environment = environment.list;
        status = environment.failed ? pcere_fail_memory(error, "the environment")
                                    : run_often(cli, &stage, &options, settings->text ? settings->text : "", repeat, &runs, error);
        cli_progress(cli, NULL);
    }
    program_stage_leave(&stage);
    environment_done(&environment);
    return end_judge(cli, runs, status, error);
}
