/* tests/programs/capture_driver.c - captures a program through the tracer's own interface, without the command line, and prints what came
 * of it as lines that a script can check. `--first N` makes the first N invocations of every region classes of their own,
 * `--larger MIB` the process larger than the program.
 */
#include "capture-rt/tracer/capture.h"
#include "core/faults.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

extern char **environ;

static enum pcere_status choose_first(void *context, const struct capture_run *run, size_t region, struct store_class **ret_classes,
                                      size_t *ret_count, struct pcere_error *error)
{
    const struct capture_region *measured = &run->regions[region];
    size_t most = *(size_t *)context, count = measured->list_count < most ? measured->list_count : most;
    struct store_class *classes = calloc(count ? count : 1, sizeof *classes);
    if (!classes)
        return pcere_fail_memory(error, "the classes");
    for (size_t i = 0; i < count; i++) {
        const struct capture_invocation *invocation = &measured->list[i];
        uint64_t ns = invocation->time_ns;
        classes[i] = (struct store_class){.representative = invocation->number, .members = 1, .time_ns = ns, .time_ns_median = ns,
                                          .representative_ns = ns, .captured = true};
    }
    *ret_classes = classes;
    *ret_count = count;
    return PCERE_OK;
}

static size_t threads_of(const struct store_codelet *codelet)
{
    size_t count = 0;
    for (size_t i = 0; i < codelet->thread_count; i++)
        count += codelet->threads[i].image == 0;
    return count;
}

static void regions_print(const char *path)
{
    struct store *store;
    struct pcere_error error;
    if (store_open(path, &store, &error) != PCERE_OK) {
        printf("store none: %s\n", error.message);
        return;
    }
    const struct store_manifest *manifest = store_manifest(store);
    printf("store complete %d check %d\n", manifest->complete, store_check(store, &error));
    for (size_t i = 0; i < manifest->region_count; i++) {
        const struct store_region *region = &manifest->regions[i];
        printf("region %s invocations %" PRIu64 " status %s ", region->name, region->invocations, region->status);
        if (region->reason)
            printf("reason %s\n", region->reason);
        else
            printf("nested %" PRIu64 " parent %s\n", region->nested, region->parent ? region->parent : "-");
        for (size_t j = 0; j < region->class_count; j++) {
            const struct store_class *class = &region->classes[j];
            struct store_codelet codelet;
            if (!class->codelet)
                continue;
            if (store_codelet_load(store, class->codelet, &codelet, &error) != PCERE_OK) {
                printf("codelet %s unreadable: %s\n", class->codelet, error.message);
                continue;
            }
            uint64_t before = 0, after = 0;
            for (size_t k = 0; k < codelet.before_count; k++)
                before += codelet.before[k].count;
            for (size_t k = 0; k < codelet.after_count; k++)
                after += codelet.after[k].count;
            printf("codelet %s pages %" PRIu64 " after %" PRIu64 " has_after %d words %zu threads %zu tls %" PRIu64 " locks %zu runs %zu stored %" PRIu64 " levels %" PRIu32,
                   class->codelet, before, after, codelet.has_after, codelet.word_count, threads_of(&codelet),
                   codelet.threads[0].tls_bytes, codelet.lock_count, codelet.before_count, class->stored_bytes, codelet.setting.level_count);
            for (uint32_t k = 0; k < codelet.setting.level_count; k++)
                printf(" team %" PRIu32 " number %" PRIu32, codelet.setting.levels[k].team, codelet.setting.levels[k].number);
            putchar('\n');
            for (size_t k = 0; k < codelet.frame_count; k++)
                printf("frame %s\n", codelet.frames[k].symbol);
            store_codelet_done(&codelet);
        }
    }
    store_close(store);
}

/* What the process that becomes the program had in memory counts as the program's peak. */
static bool grow(size_t bytes)
{
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    return memory != MAP_FAILED;
}

int main(int argc, char **argv)
{
    size_t first = 2;
    struct capture_options options = {.environment = environ, .library = PCERE_CAPTURE_LIBRARY, .store = "test.pcere", .two_runs = true, .light_ratio = 0.005,
                                      .choose = choose_first, .choose_context = &first};
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        const char *option = argv[i], *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(option, "--no-after") == 0) {
            options.no_after = true;
            continue;
        }
        if (strcmp(option, "--one-run") == 0) {
            options.two_runs = false;
            continue;
        }
        if (strcmp(option, "--force") == 0) {
            options.force = true;
            continue;
        }
        i++;
        if (strcmp(option, "--first") == 0)
            first = strtoul(value, NULL, 10);
        else if (strcmp(option, "--threads") == 0)
            options.threads = (uint32_t)strtoul(value, NULL, 10);
        else if (strcmp(option, "--share") == 0)
            options.share_least_ratio = strtod(value, NULL);
        else if (strcmp(option, "--regions") == 0)
            options.pattern = value;
        else if (strcmp(option, "--refuse") == 0)
            options.faults = (unsigned)strtoul(value, NULL, 10);
        else if (strcmp(option, "--fault-ns") == 0)
            options.fault_ns = strtoul(value, NULL, 10);
        else if (strcmp(option, "--fault") == 0 && fault_arm(value, NULL) != PCERE_OK)
            return 2;
        else if (strcmp(option, "-o") == 0)
            options.store = value;
        else if (strcmp(option, "--larger") == 0 && !grow(strtoul(value, NULL, 10) << 20))
            return 2;
    }
    if (i >= argc)
        return 2;
    options.program = argv[i];
    options.arguments = argv + i + 1;

    struct capture_result result;
    struct pcere_error error = {0};
    enum pcere_status status = capture_program(&options, &result, &error);
    fflush(stdout);
    if (status != PCERE_OK)
        printf("error %d %s | %s\n", status, error.message, error.hint);
    printf("program_status %d exited %d code %d signal %d\n", result.program_status, WIFEXITED(result.program_status),
           WEXITSTATUS(result.program_status), WIFSIGNALED(result.program_status) ? WTERMSIG(result.program_status) : 0);
    printf("timing_ns %" PRIu64 " serial_ns %" PRIu64 " capturing_ns %" PRIu64 " writing_ns %" PRIu64 " stall_ns %" PRIu64
           " tracking %d captured %zu wanted %zu separate %d\n",
           result.timing.wall_ns, result.timing.serial_ns, result.capture_wall_ns, result.writing_ns, result.stall_ns,
           result.tracking, result.captured, result.wanted, result.timing.runtime_separate);
    for (size_t k = 0; k < result.stop_count; k++)
        printf("stop %s %" PRIu64 " %s stall_ns %" PRIu64 " present %" PRIu64 " read %" PRIu64 "\n",
               result.timing.regions[result.stops[k].region].name, result.stops[k].invocation, result.stops[k].at_end ? "end" : "begin",
               result.stops[k].stall_ns, result.stops[k].present_bytes, result.stops[k].read_bytes);
    for (size_t r = 0; r < result.timing.region_count; r++)
        for (size_t k = 0; k < result.timing.regions[r].list_count; k++)
            if (result.timing.regions[r].list[k].fresh)
                printf("touches first %s %" PRIu64 "\n", result.timing.regions[r].name, result.timing.regions[r].list[k].number);
    for (size_t k = 0; result.notes && result.notes[k]; k++)
        printf("note %s\n", result.notes[k]);
    capture_result_done(&result);
    regions_print(options.store);
    return (int)status;
}
