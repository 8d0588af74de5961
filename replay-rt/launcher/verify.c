/* replay-rt/launcher/verify.c - each codelet once, from captured memory to the memory that the original had afterwards. */
#include "replay-rt/launcher/causes.h"
#include "replay-rt/launcher/replay.h"
#include "replay-rt/launcher/replay_session.h"

#include <stdlib.h>

static enum pcere_status codelet_verify(const struct replay_session *session, const struct store_codelet *codelet,
                                        const struct codelet_memory *memory, struct verify_result *result, struct pcere_error *error)
{
    const struct store_manifest *manifest = store_manifest(session->store);
    const struct plan_policy policy = {.task = PLAN_VERIFY};
    struct plan_file plan = {.fd = -1};
    uint64_t wall_ns = 0;
    enum pcere_status status = plan_file_new(codelet, manifest, &session->pool, memory, &session->image, session->program, &policy,
                                             &plan, error);
    if (!status)
        status = replay_session_process(session, codelet, &plan, result->threads, &wall_ns, error);
    if (!status) {
        const struct plan_result *from = &plan.plan->result;
        result->compared_bytes = from->compared_bytes;
        result->different_bytes = from->different_bytes;
        result->renamed_pointers = from->renamed_pointers;
        result->identical = !from->different_bytes;
        status = causes_collect(from, codelet, session->program, manifest->image_bias, &result->causes, &result->cause_count, error);
    }
    plan_file_done(&plan);
    return status;
}

static void target_verify(struct replay_session *session, const struct replay_target *target, struct verify_report *report, size_t total)
{
    const struct replay_options *options = session->options;
    struct store_codelet codelet;
    struct codelet_memory memory = {0};
    struct pcere_error failure = {0};
    size_t counts = options->thread_count ? options->thread_count : 1;
    enum pcere_status loaded = store_codelet_load(session->store, target->class->codelet, &codelet, &failure);
    enum pcere_status status = loaded;
    if (!status && !codelet.has_after)
        status = pcere_fail(&failure, PCERE_NO, 0, NULL, "region '%s' cannot be verified: its end was not seen in the original",
                            target->region->name);
    if (!status)
        status = codelet_memory_new(session->store, &session->pool, &codelet, &session->image, true, &memory, &failure);
    for (size_t i = 0; i < counts; i++) {
        struct verify_result *result = &report->results[report->result_count];
        *result = (struct verify_result){.target = target, .error = failure};
        result->threads = options->thread_count ? options->threads[i] : store_manifest(session->store)->threads;
        if (!result->threads)
            result->threads = 1;
        if (options->progress)
            options->progress(options->progress_context, target->region->name, target->class->representative, result->threads,
                              report->result_count, total);
        report->result_count++;
        if (!status)
            codelet_verify(session, &codelet, &memory, result, &result->error);
    }
    codelet_memory_done(&memory);
    page_pool_trim(&session->pool);
    if (!loaded)
        store_codelet_done(&codelet);
}

enum pcere_status verify_run(struct store *store, const struct replay_target *targets, size_t target_count,
                             const struct replay_options *options, struct verify_report *ret_report, struct pcere_error *error)
{
    struct replay_session session;
    struct verify_report report = {0};
    enum pcere_status status = replay_session_open(store, options, &session, error);
    if (status)
        return status;
    report.build_ns = session.build_ns;
    report.build_cached = session.build.cached;
    size_t total = target_count * (options->thread_count ? options->thread_count : 1);
    report.results = calloc(total ? total : 1, sizeof *report.results);
    if (report.results)
        for (size_t i = 0; i < target_count; i++)
            target_verify(&session, &targets[i], &report, total);
    else
        status = pcere_fail_memory(error, "results");
    replay_session_close(&session);
    if (!status)
        *ret_report = report;
    return status;
}

void verify_report_done(struct verify_report *report)
{
    for (size_t i = 0; i < report->result_count; i++) {
        for (size_t j = 0; j < report->results[i].cause_count; j++)
            free(report->results[i].causes[j].name);
        free(report->results[i].causes);
    }
    free(report->results);
    *report = (struct verify_report){0};
}
