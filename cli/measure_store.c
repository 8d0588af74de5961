/* cli/measure_store.c - real runs of a store's program. */
#include "cli/measure_store.h"
#include "capture-rt/tracer/capture.h"
#include "cli/program_stage.h"
#include "core/units.h"
#include "store/store.h"

#include <time.h>

enum { RUNS_MOST = 5 };
#define RUNS_NS 3000000000u

/* One line for the whole program, one for each region (its invocations together). */
static enum pcere_status run_append(const struct cli *cli, const struct program_stage *stage, const struct capture_run *run, struct pcere_error *error)
{
    enum pcere_status status = PCERE_OK;
    char kind[] = "run", none[] = "";
    for (size_t i = 0; status == PCERE_OK && i <= run->region_count; i++) {
        const struct capture_region *region = i ? &run->regions[i - 1] : NULL;
        uint64_t time_ns = region ? region->time_ns : run->wall_ns;
        struct store_sample sample = {
            .kind = kind, .host_name = stage->host_name, .host = stage->host, .region = region ? region->name : NULL,
            .threads = run->threads, .warmup = none, .flags = none, .settings = none,
            .samples_ns = &time_ns, .sample_count = 1, .cost_ns = run->wall_ns,
            .wall_ns = region ? 0 : run->wall_ns, .serial_ns = region ? 0 : run->serial_ns, .when_s = (uint64_t)time(NULL),
        };
        status = store_sample_append(cli->store, &sample, error);
    }
    return status;
}

static enum pcere_status run_once(struct cli *cli, const struct program_stage *stage, const struct capture_options *options, uint64_t *ret_wall_ns,
                                  struct pcere_error *error)
{
    struct capture_run run;
    enum pcere_status status = capture_measure(options, &run, error);
    if (status != PCERE_OK)
        return status;
    status = cli_program_judge(cli, run.program_status, error);
    if (status == PCERE_OK)
        status = run_append(cli, stage, &run, error);
    *ret_wall_ns = run.wall_ns;
    capture_run_done(&run);
    return status;
}

enum pcere_status measure_store(struct cli *cli, const unsigned *threads, size_t thread_count, uint64_t repeat, struct pcere_error *error)
{
    struct program_stage stage = PROGRAM_STAGE_NONE;
    enum pcere_status status = program_stage_enter(cli, &stage, error);
    if (status == PCERE_OK) {
        struct capture_options options = {
            .program = stage.program, .arguments = store_manifest(cli->store)->arguments, .environment = stage.environment,
            .library = stage.library, .stdout_descriptor = -1, .stderr_descriptor = -1,
        };
        for (size_t i = 0; status == PCERE_OK && i < thread_count; i++) {
            options.threads = threads[i];
            uint64_t spent_ns = 0, wall_ns = 0;
            for (uint64_t done = 0; status == PCERE_OK && (repeat ? done < repeat : !done || (done < RUNS_MOST && spent_ns + wall_ns < RUNS_NS)); done++) {
                char text[80];
                snprintf(text, sizeof text, "running the program with %u thread%s", threads[i], threads[i] == 1 ? "" : "s");
                cli_progress(cli, text);
                status = run_once(cli, &stage, &options, &wall_ns, error);
                spent_ns += wall_ns;
            }
        }
        cli_progress(cli, NULL);
    }
    program_stage_leave(&stage);
    return status;
}
