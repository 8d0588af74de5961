/* cli/verify_in_vivo.c - the same invocations, captured once more at another number of threads. */
#include "cli/verify_in_vivo.h"
#include "capture-rt/tracer/capture.h"
#include "cli/interrupt.h"
#include "cli/measure_store.h"
#include "cli/program_stage.h"
#include "core/text.h"

#include <stdlib.h>
#include <string.h>

struct in_vivo_store {
    char *directory, *path;
    struct store *store;
    char **notes;                     /* NULL-terminated sentences of that capture, or NULL */
    struct replay_target *targets;    /* of this store, in the order of the asked-for ones that are there */
    size_t target_count;
};

struct wanted { const struct replay_target *targets; size_t count; };

static const struct capture_invocation *invocation_find(const struct capture_region *region, uint64_t number)
{
    for (size_t i = 0; i < region->list_count; i++)
        if (region->list[i].number == number)
            return &region->list[i];
    return NULL;
}

/* A capture_choose_fn: the invocations that the store has, and no others. */
static enum pcere_status wanted_choose(void *context, const struct capture_run *run, size_t index, struct store_class **ret_classes,
                                       size_t *ret_count, struct pcere_error *error)
{
    const struct wanted *wanted = context;
    const struct capture_region *region = &run->regions[index];
    struct store_class *classes = calloc(wanted->count + 1, sizeof *classes);
    size_t count = 0;
    if (!classes)
        return pcere_fail_memory(error, "the classes");
    for (size_t i = 0; i < wanted->count; i++) {
        const struct replay_target *target = &wanted->targets[i];
        const struct capture_invocation *invocation = invocation_find(region, target->class->representative);
        if (strcmp(target->region->name, region->name) != 0 || !invocation || !invocation->end_ns)
            continue;
        uint64_t time_ns = invocation->end_ns - invocation->begin_ns;
        classes[count++] = (struct store_class){.representative = invocation->number, .members = 1, .time_ns = time_ns, .time_ns_median = time_ns,
                                                .representative_ns = time_ns, .captured = true, .nested = target->class->nested};
    }
    *ret_classes = classes;
    *ret_count = count;
    return PCERE_OK;
}

static enum pcere_status paths_make(struct in_vivo_store *place, struct pcere_error *error)
{
    enum pcere_status status = cli_directory_new(&place->directory, error);
    if (status != PCERE_OK)
        return status;
    struct text path = {0};
    text_addf(&path, "%s/in-vivo.pcere", place->directory);
    place->path = text_take(&path);
    return place->path ? PCERE_OK : pcere_fail_memory(error, "a path");
}

static enum pcere_status captured_again(struct cli *cli, const struct replay_setup *setup, uint32_t threads, struct in_vivo_store *place,
                                        struct pcere_error *error)
{
    struct wanted wanted = {setup->targets, setup->target_count};
    struct program_stage stage = PROGRAM_STAGE_NONE;
    struct capture_result result = {0};
    char text[80];
    enum pcere_status status = paths_make(place, error);
    if (status == PCERE_OK)
        status = capture_input_keep(error);
    if (status == PCERE_OK)
        status = program_stage_enter(cli, &stage, error);
    if (status == PCERE_OK) {
        const struct capture_options options = {
            .program = stage.program, .arguments = store_manifest(cli->store)->arguments, .environment = stage.environment.list,
            .library = stage.library, .threads = threads, .two_runs = true, .silent = true,
            .store = place->path, .choose = wanted_choose, .choose_context = &wanted, .stop = interrupt_came,
        };
        snprintf(text, sizeof text, "running the program with %u thread%s", threads, threads == 1 ? "" : "s");
        cli_progress(cli, text);
        status = capture_program(&options, &result, error);
        if (status == PCERE_OK)
            status = cli_program_judge_again(cli, result.program_status, error);
        else if (status == PCERE_NO)          /* it was ended from outside */
            cli_program_judge(cli, result.program_status, NULL);
        place->notes = result.notes;
        result.notes = NULL;
        capture_result_done(&result);
    }
    program_stage_leave(&stage);
    return status == PCERE_OK ? store_open(place->path, &place->store, error) : status;
}

static const struct replay_target *target_find(const struct in_vivo_store *place, const struct replay_target *asked)
{
    for (size_t i = 0; i < place->target_count; i++)
        if (!strcmp(place->targets[i].region->name, asked->region->name)
            && place->targets[i].class->representative == asked->class->representative)
            return &place->targets[i];
    return NULL;
}

/* "its arguments differ between the timing run and the capturing run" of "work@x.c:5, invocation 3: ..."; NULL: there is no such sentence. */
static const char *note_find(char *const *notes, const struct replay_target *asked)
{
    struct text head = {0};
    const char *found = NULL;
    text_addf(&head, "%s, invocation %llu: ", asked->region->name, (unsigned long long)asked->class->representative);
    for (; !head.failed && notes && *notes && !found; notes++)
        found = strncmp(*notes, head.data, head.length) == 0 ? *notes + head.length : NULL;
    text_done(&head);
    return found;
}

/* What that capture says of an invocation that it does not have; NULL: nothing, since the program did not enter it. */
static const char *reason_find(const struct in_vivo_store *place, const struct replay_target *asked)
{
    const struct store_manifest *manifest = store_manifest(place->store);
    const char *reason = note_find(place->notes, asked);
    for (size_t i = 0; i < manifest->region_count; i++) {
        const struct store_region *region = &manifest->regions[i];
        if (strcmp(region->name, asked->region->name) != 0)
            continue;
        for (size_t k = 0; k < region->class_count; k++)
            if (region->classes[k].representative == asked->class->representative && region->classes[k].reason)
                reason = region->classes[k].reason;
        reason = reason ? reason : region->reason;
    }
    return reason;
}

/* The program had another course: the invocation is not there, or could not be captured. */
static void result_without(struct verify_result *result, const struct in_vivo_store *place, const struct replay_target *asked, uint32_t threads)
{
    const char *reason = reason_find(place, asked);
    *result = (struct verify_result){.target = asked, .threads = threads};
    if (!store_manifest_invocations(store_manifest(place->store))) {
        pcere_fail(&result->error, PCERE_NO, 0, MEASURE_ELSE_HINT ", unless it has other ways for that number of threads",
                   "with %u thread%s the program entered none of its parallel regions: it did something else than when it was captured", threads,
                   threads == 1 ? "" : "s");
        return;
    }
    pcere_fail(&result->error, PCERE_NO, 0, NULL, "with %u thread%s the program has no invocation %llu of '%s' that can be captured%s%.200s", threads, threads == 1 ? "" : "s",
               (unsigned long long)asked->class->representative, asked->region->name, reason ? ": " : "", reason ? reason : "");
}

static enum pcere_status verified_there(const struct replay_setup *setup, uint32_t threads, struct in_vivo_store *place,
                                        struct verify_report *all, struct pcere_error *error)
{
    struct verify_report report = {0};
    struct replay_options options = setup->options;
    enum pcere_status status = PCERE_OK;
    options.threads = &threads;
    options.thread_count = 1;
    if (replay_select(place->store, NULL, 0, &place->targets, &place->target_count, NULL) != PCERE_OK)
        place->target_count = 0;
    if (place->target_count)
        status = verify_run(place->store, place->targets, place->target_count, &options, &report, error);
    if (status != PCERE_OK)
        return status;
    for (size_t i = 0; i < setup->target_count; i++) {
        if (report.results && interrupt_came())
            break;                    /* it has not all of them */
        struct verify_result *result = &all->results[all->result_count++];
        const struct replay_target *here = target_find(place, &setup->targets[i]);
        if (!here) {
            result_without(result, place, &setup->targets[i], threads);
            continue;
        }
        *result = report.results[here - place->targets];
        report.results[here - place->targets] = (struct verify_result){0};
        result->target = &setup->targets[i];
    }
    all->build_ns += report.build_ns;
    verify_report_done(&report);
    return PCERE_OK;
}

enum pcere_status verify_in_vivo_run(struct cli *cli, const struct replay_setup *setup, struct verify_in_vivo *ret_runs, struct pcere_error *error)
{
    size_t counts = setup->options.thread_count;
    enum pcere_status status = PCERE_OK;
    ret_runs->report.results = calloc(counts * setup->target_count + 1, sizeof *ret_runs->report.results);
    ret_runs->stores = calloc(counts + 1, sizeof *ret_runs->stores);
    if (!ret_runs->report.results || !ret_runs->stores)
        return pcere_fail_memory(error, "the results");
    for (size_t i = 0; status == PCERE_OK && i < counts && !interrupt_came(); i++) {
        struct in_vivo_store *place = &ret_runs->stores[ret_runs->store_count++];
        status = captured_again(cli, setup, setup->options.threads[i], place, error);
        if (status == PCERE_OK)
            status = verified_there(setup, setup->options.threads[i], place, &ret_runs->report, error);
    }
    return status;
}

void verify_in_vivo_done(struct verify_in_vivo *runs)
{
    verify_report_done(&runs->report);
    for (size_t i = 0; i < runs->store_count; i++) {
        struct in_vivo_store *place = &runs->stores[i];
        if (place->store)
            store_close(place->store);
        cli_directory_remove(place->directory);
        for (char **note = place->notes; note && *note; note++)
            free(*note);
        free(place->notes);
        free(place->targets);
        free(place->directory);
        free(place->path);
    }
    free(runs->stores);
    *runs = (struct verify_in_vivo){0};
}
