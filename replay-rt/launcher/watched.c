/* replay-rt/launcher/watched.c - one run of a codelet that somebody else records. */
#include "replay-rt/launcher/policy.h"
#include "replay-rt/launcher/replay.h"
#include "replay-rt/launcher/replay_session.h"

static enum pcere_status codelet_watch(struct replay_session *session, const struct replay_target *target, const struct store_codelet *codelet,
                                       uint32_t threads, uint64_t *ret_time_ns, struct pcere_error *error)
{
    struct codelet_memory memory = {0};
    struct plan_file plan = {.fd = -1};
    struct policy policy;
    uint64_t wall_ns = 0;
    const struct policy_subject subject = {target->region->invocations, target->class->representative, target->class->members};
    enum pcere_status status = replay_threads_check(target, codelet, replay_team(codelet, store_manifest(session->store), threads), error);
    if (!status)
        status = policy_choose(session->options->warmup, 1, &subject, &policy, error);
    if (!status)
        status = codelet_memory_new(session->store, &session->pool, codelet, &session->images, false, &memory, error);
    if (!status) {
        policy.plan.watched = 1;
        policy.plan.repeat_least = policy.plan.repeat_most = 1;
        status = plan_file_new(codelet, store_manifest(session->store), &session->pool, &memory, &session->images, &policy.plan, NULL, &plan, error);
    }
    if (!status)
        status = replay_session_process(session, codelet, &plan, threads, &wall_ns, error);
    if (!status)
        *ret_time_ns = plan.plan->result.samples_ns[0];
    plan_file_done(&plan);
    codelet_memory_done(&memory);
    return status;
}

enum pcere_status replay_watched(struct store *store, const struct replay_target *target, uint32_t threads, const struct replay_options *options,
                                 const struct replay_watcher *watcher, uint64_t *ret_time_ns, struct pcere_error *error)
{
    struct replay_session session;
    struct store_codelet codelet;
    enum pcere_status status = replay_check_warmup(options->warmup, error);
    if (!status && !threads)
        status = pcere_fail(error, PCERE_USAGE, 0, NULL, "a codelet cannot run with 0 threads");
    if (!status)
        status = replay_session_open(store, options, &session, error);
    if (status)
        return status;
    session.watcher = watcher;
    status = store_codelet_load(store, target->class->codelet, &codelet, error);
    if (!status) {
        status = build_unit_check(&session.build, codelet.unit_id, error);
        if (!status)
            status = images_check(&session.images, &codelet, error);
        if (!status)
            status = codelet_watch(&session, target, &codelet, threads, ret_time_ns, error);
        store_codelet_done(&codelet);
    }
    replay_session_close(&session);
    return status;
}
