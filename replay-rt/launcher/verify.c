/* replay-rt/launcher/verify.c - each codelet, from captured memory to the memory that the original had afterwards. */
#include "replay-rt/launcher/debug_info.h"
#include "replay-rt/launcher/differences.h"
#include "replay-rt/launcher/objects.h"
#include "replay-rt/launcher/replay.h"
#include "replay-rt/launcher/replay_session.h"
#include "replay-rt/launcher/rounded.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define RUNS 2u                 /* that are held against each other */
#define RUNS_MORE 3u            /* where these agree with several threads, and not with the original: does another one differ? */
#define TERMS_PER_NS 16.0                 /* what one processor adds, at most */

struct verifier {
    struct replay_session session;
    struct debug_info **infos;            /* of each image: read when something differs */
};

struct subject {                          /* one codelet */
    const struct replay_target *target;
    struct store_codelet codelet;
    struct codelet_memory memory;
    struct captured_view view;
    struct objects *objects;              /* likewise */
};

/* One thread and the original's code add in the original's order. */
static struct difference_bound bound_choose(const struct replay_session *session, const struct store_codelet *codelet, uint32_t team)
{
    const struct replay_options *options = session->options;
    const struct store_manifest *manifest = store_manifest(session->store);
    uint32_t captured = replay_team(codelet, manifest, manifest->threads);
    double given = options->tolerance_ratio;
    struct difference_bound bound = {given, given, given};
    if (given >= 0)
        return bound;
    bound = (struct difference_bound){0};
    if (team > 1 || captured > 1 || (options->flags && *options->flags))
        difference_bound_for_terms(TERMS_PER_NS * (double)codelet->in_vivo_ns * (captured > 1 ? captured : 1), &bound);
    return bound;
}

static enum pcere_status plan_new(struct verifier *verifier, const struct subject *subject, uint32_t threads, struct plan_file *ret_plan, struct pcere_error *error)
{
    struct replay_session *session = &verifier->session;
    const struct store_manifest *manifest = store_manifest(session->store);
    const struct plan_policy policy = {.task = PLAN_VERIFY};
    enum pcere_status status = plan_file_new(&subject->codelet, manifest, &session->pool, &subject->memory, &session->images, &policy, NULL, ret_plan, error);
    if (!status)
        ret_plan->plan->made_in_place = replay_team(&subject->codelet, manifest, threads) <= 1 && replay_team(&subject->codelet, manifest, manifest->threads) <= 1;
    return status;
}

static enum pcere_status run_once(struct verifier *verifier, const struct subject *subject, struct verify_result *result,
                                  struct difference_list *ret_list, struct pcere_error *error)
{
    struct plan_file plan = {.fd = -1};
    uint64_t wall_ns = 0;
    enum pcere_status status = plan_new(verifier, subject, result->threads, &plan, error);
    if (!status)
        status = replay_session_process(&verifier->session, &subject->codelet, &plan, result->threads, &wall_ns, error);
    if (plan.plan)
        result->asked |= atomic_load(&plan.plan->result.asked) & ((UINT64_C(1) << PLAN_ASK_COUNT) - 1);
    if (!status)
        status = difference_list_load(&plan, ret_list, error);
    if (!status) {
        const struct plan_result *from = &plan.plan->result;
        result->runs++;
        result->locale_missing = from->locale_missing;
        replay_words_take(from->missing, sizeof result->file_missing, result->file_missing);
        if (result->runs == 1 || from->different_bytes > result->different_bytes) {
            result->compared_bytes = from->compared_bytes;
            result->different_bytes = from->different_bytes;
            result->renamed_pointers = from->renamed_pointers;
            result->allocated_blocks = from->made_blocks;
        }
    }
    plan_file_done(&plan);
    return status;
}

/* What the region allocated has names like all else, once everything that replays need was made of its mappings. */
static enum pcere_status made_map(struct store_codelet *codelet, uint64_t page_bytes, struct pcere_error *error)
{
    if (!codelet->made_count || codelet_mapping_at(codelet, codelet->made[0].address))
        return PCERE_OK;
    struct store_mapping *grown = realloc(codelet->mappings, (codelet->mapping_count + 1) * sizeof *grown);
    if (!grown)
        return pcere_fail_memory(error, "the mappings of a codelet");
    const struct store_run *last = &codelet->made[codelet->made_count - 1];
    size_t at = codelet->mapping_count++;
    codelet->mappings = grown;
    for (; at && grown[at - 1].start > codelet->made[0].address; at--)
        grown[at] = grown[at - 1];
    grown[at] = (struct store_mapping){.start = codelet->made[0].address, .end = last->address + last->count * page_bytes,
                                       .protection = PROT_READ | PROT_WRITE, .role = STORE_ROLE_ANONYMOUS, .name = DIFFERENCES_MADE};
    return PCERE_OK;
}

static enum pcere_status objects_prepare(struct verifier *verifier, struct subject *subject, struct pcere_error *error)
{
    struct replay_session *session = &verifier->session;
    enum pcere_status status = PCERE_OK;
    char *name = NULL, *file = NULL;
    size_t image = images_of_region(&session->images, &subject->codelet);
    if (subject->objects)
        return PCERE_OK;
    if (!verifier->infos && !(verifier->infos = calloc(session->images.count, sizeof *verifier->infos)))
        return pcere_fail_memory(error, "debug information");
    if (!verifier->infos[image]) {
        if (asprintf(&name, image ? "libraries/%s" : "program", session->images.items[image].name) < 0)
            return pcere_fail_memory(error, "a path");
        status = store_file(session->store, name, &file, error);
        if (!status)
            status = debug_info_open(file, &verifier->infos[image], error);
        free(name);
        free(file);
    }
    if (!status)
        status = made_map(&subject->codelet, session->pool.page_bytes, error);
    if (!status && !subject->view.pages)
        status = captured_view_open(&session->pool, &subject->memory, &subject->view, error);
    if (status)
        return status;
    const struct objects_source source = {
        .info = verifier->infos[image],
        .images = &session->images,
        .image = image,
        .codelet = &subject->codelet,
        .region = subject->target->region,
        .view = &subject->view,
    };
    return objects_new(&source, &subject->objects, error);
}

/* ---- what is beyond the bound ------------------------------------------------------------------------------------------------ */

enum { DOWN, UP, DIRECTIONS };

static enum pcere_status run_directed(struct verifier *verifier, const struct subject *subject, uint32_t threads, bool up, struct difference_list *ret_list,
                                      struct pcere_error *error)
{
    struct plan_file plan = {.fd = -1};
    uint64_t wall_ns = 0;
    enum pcere_status status = plan_new(verifier, subject, threads, &plan, error);
    if (!status) {
        plan.plan->float_control = rounded_control(plan.plan->float_control, up);
        status = replay_session_process(&verifier->session, &subject->codelet, &plan, threads, &wall_ns, error);
    }
    if (!status)
        status = difference_list_load(&plan, ret_list, error);
    plan_file_done(&plan);
    return status;
}

/* Something is called different that rounding may explain, where the bound is ours. */
static bool is_doubtful(const struct replay_session *session, const struct store_codelet *codelet, const struct difference_source *source,
                        const struct verify_result *result)
{
    bool floating = false;
    for (size_t i = 0; i < result->cause_count; i++) {
        const struct verify_cause *cause = &result->causes[i];
        floating = floating || (cause->verdict > VERIFY_ROUNDED && (cause->floating || !strcmp(cause->kind, "unknown type")));
    }
    return floating && source->bound.double_ratio > 0 && session->options->tolerance_ratio < 0 && codelet->setting.float_control;
}

static void causes_done(struct verify_result *result)
{
    for (size_t i = 0; i < result->cause_count; i++)
        verify_cause_done(&result->causes[i]);
    free(result->causes);
    result->causes = NULL;
    result->cause_count = 0;
}

/* Rounding is to explain differences as large as this part of the values: that may be so where terms cancel, and where threads race to a few outcomes. */
#define MUCH_RATIO 1e-3

static bool explains_much(const struct verify_result *result)
{
    bool much = false;
    for (size_t i = 0; i < result->cause_count && !much; i++)
        much = result->causes[i].verdict == VERIFY_ROUNDED && result->causes[i].floating && result->causes[i].largest_relative > MUCH_RATIO;
    return much && result->verdict == VERIFY_ROUNDED;
}

/* Replays that round down and up, as struct rounded refers to them. */
struct directed {
    struct difference_list replay[DIRECTIONS], capture[DIRECTIONS], again[ROUNDED_AGAIN_MOST][DIRECTIONS];
    struct rounded rounded;
};

static void directed_done(struct directed *directed)
{
    for (size_t i = 0; i < DIRECTIONS; i++) {
        difference_list_done(&directed->replay[i]);
        difference_list_done(&directed->capture[i]);
        for (size_t j = 0; j < ROUNDED_AGAIN_MOST; j++)
            difference_list_done(&directed->again[j][i]);
    }
}

/* False: the region fails when it is rounded otherwise, which tells nothing. */
static bool run_pair(struct verifier *verifier, const struct subject *subject, uint32_t threads, struct difference_list lists[DIRECTIONS], struct rounded_pair *ret_pair)
{
    struct pcere_error ignored;
    for (size_t i = 0; i < DIRECTIONS; i++)
        if (run_directed(verifier, subject, threads, i == UP, &lists[i], &ignored) != PCERE_OK)
            return false;
    *ret_pair = (struct rounded_pair){&lists[DOWN], &lists[UP]};
    return true;
}

/* Until there are `most` pairs beside the first. */
static bool run_again(struct verifier *verifier, const struct subject *subject, uint32_t threads, size_t most, struct directed *directed)
{
    struct rounded *rounded = &directed->rounded;
    for (; rounded->again_count < most; rounded->again_count++)
        if (!run_pair(verifier, subject, threads, directed->again[rounded->again_count], &rounded->again[rounded->again_count]))
            return false;
    return true;
}

static enum pcere_status judge_rounded(struct difference_source *source, const struct difference_list *lists, const struct rounded *rounded,
                                       struct verify_result *result, struct pcere_error *error)
{
    causes_done(result);
    result->directed = true;
    source->rounded = rounded;
    enum pcere_status status = differences_judge(source, lists, result->runs, result, error);
    source->rounded = NULL;
    return status;
}

/* Judge once more, with how far rounding moves each value: at the replay's number of threads and at the capture's, in whose order the original added. A region that fails
 * when it is rounded otherwise stays as it was judged. */
static enum pcere_status judge_again(struct verifier *verifier, const struct subject *subject, struct difference_source *source,
                                     const struct difference_list *lists, struct verify_result *result, struct pcere_error *error)
{
    const struct store_manifest *manifest = store_manifest(verifier->session.store);
    uint32_t threads = result->threads, captured = manifest->threads ? manifest->threads : 1;
    bool team = replay_team(&subject->codelet, manifest, threads) > 1;
    struct directed directed = {0};
    struct rounded *rounded = &directed.rounded;
    enum pcere_status status = PCERE_OK;
    bool ran = run_pair(verifier, subject, threads, directed.replay, &rounded->replay);
    rounded->capture = rounded->replay;
    if (ran && captured != threads)
        ran = run_pair(verifier, subject, captured, directed.capture, &rounded->capture);
    if (ran && run_again(verifier, subject, threads, team, &directed)) {
        status = judge_rounded(source, lists, rounded, result, error);
        if (!status && team && explains_much(result)) {
            run_again(verifier, subject, threads, ROUNDED_AGAIN_MOST, &directed);       /* as many as it brings forth */
            status = judge_rounded(source, lists, rounded, result, error);
        }
    }
    directed_done(&directed);
    return status;
}

static enum pcere_status judge_all(struct verifier *verifier, const struct subject *subject, struct difference_source *source,
                                   const struct difference_list *lists, struct verify_result *result, struct pcere_error *error)
{
    enum pcere_status status = differences_judge(source, lists, result->runs, result, error);
    if (!status && is_doubtful(&verifier->session, &subject->codelet, source, result))
        status = judge_again(verifier, subject, source, lists, result, error);
    return status;
}

/* The program gave C++'s streams buffers of their own, where the original has text that replays write elsewhere. */
static bool is_of_streams(const struct replay_session *session, const struct verify_result *result)
{
    static const char unsynced[] = "_ZNSt8ios_base15sync_with_stdioEb";
    for (size_t i = 0; i < result->cause_count; i++)
        if (result->causes[i].verdict >= VERIFY_DIFFERENT && !result->causes[i].text)
            return false;
    return result->verdict >= VERIFY_DIFFERENT && (elf_file_imports(session->program, unsynced) || elf_file_symbol(session->program, unsynced));
}

static enum pcere_status codelet_verify(struct verifier *verifier, struct subject *subject, struct verify_result *result,
                                        struct pcere_error *error)
{
    struct difference_list lists[RUNS] = {0};
    enum pcere_status status = PCERE_OK;
    uint32_t team = replay_team(&subject->codelet, store_manifest(verifier->session.store), result->threads), wanted = team > 1 ? RUNS : 1;
    uint32_t asked = replay_asked_threads(&verifier->session, &subject->codelet);
    result->asked_threads = asked != result->threads ? asked : 0;
    if (!store_region_pieces(subject->target->region)) /* uneven shares leave the same memory */
        status = replay_threads_check(subject->target, &subject->codelet, team, error);
    for (uint32_t run = 0; !status && run < wanted; run++) {
        status = run_once(verifier, subject, result, &lists[run], error);
        wanted = !status && lists[run].different_bytes ? RUNS : wanted;
    }
    struct difference_source source = {.codelet = &subject->codelet, .view = &subject->view,
                                       .bound = bound_choose(&verifier->session, &subject->codelet, team)};
    result->bound_ratio = source.bound.double_ratio;
    result->single_bound_ratio = source.bound.single_ratio;
    if (!status && result->different_bytes) {
        status = objects_prepare(verifier, subject, error);
        source.objects = subject->objects;
        if (!status)
            status = judge_all(verifier, subject, &source, lists, result, error);
    }
    for (uint32_t more = 0; !status && team > 1 && result->verdict == VERIFY_DIFFERENT && more < RUNS_MORE; more++) {
        difference_list_done(&lists[RUNS - 1]);
        status = run_once(verifier, subject, result, &lists[RUNS - 1], error);
        causes_done(result);
        if (!status)
            status = judge_all(verifier, subject, &source, lists, result, error);
    }
    result->identical = !status && !result->different_bytes;
    result->streams = !status && is_of_streams(&verifier->session, result);
    for (uint32_t run = 0; run < RUNS; run++)
        difference_list_done(&lists[run]);
    return status;
}

static void subject_done(struct subject *subject, bool loaded)
{
    objects_free(subject->objects);
    captured_view_close(&subject->view);
    codelet_memory_done(&subject->memory);
    if (loaded)
        store_codelet_done(&subject->codelet);
}

static void result_done(struct verify_result *result)
{
    causes_done(result);
    *result = (struct verify_result){0};
}

static void target_verify(struct verifier *verifier, const struct replay_target *target, struct verify_report *report, size_t total)
{
    struct replay_session *session = &verifier->session;
    const struct replay_options *options = session->options;
    struct subject subject = {.target = target};
    struct pcere_error failure = {0};
    size_t counts = options->thread_count ? options->thread_count : 1;
    enum pcere_status loaded = store_codelet_load(session->store, target->class->codelet, &subject.codelet, &failure);
    enum pcere_status status = loaded;
    if (!status)
        status = build_unit_check(&session->build, subject.codelet.unit_id, &failure);
    if (!status && !subject.codelet.has_after)
        status = pcere_fail(&failure, PCERE_NO, 0, NULL, "region '%s' cannot be verified: its end was not seen in the original",
                            target->region->name);
    if (!status)
        status = images_check(&session->images, &subject.codelet, &failure);
    if (!status)
        status = codelet_memory_new(session->store, &session->pool, &subject.codelet, &session->images, true, &subject.memory, &failure);
    for (size_t i = 0; i < counts && !replay_session_stopped(session); i++) {
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
            codelet_verify(verifier, &subject, result, &result->error);
        if (result->error.status != PCERE_OK && replay_session_stopped(session))
            result_done(&report->results[--report->result_count]);
    }
    subject_done(&subject, !loaded);
    page_pool_trim(&session->pool);
}

enum pcere_status verify_run(struct store *store, const struct replay_target *targets, size_t target_count,
                             const struct replay_options *options, struct verify_report *ret_report, struct pcere_error *error)
{
    struct verifier verifier = {.infos = NULL};
    struct replay_session *session = &verifier.session;
    struct verify_report report = {0};
    enum pcere_status status = replay_session_open(store, options, session, error);
    if (status)
        return status;
    report.build_ns = session->build_ns;
    report.build_cached = session->build.cached;
    size_t total = target_count * (options->thread_count ? options->thread_count : 1);
    report.results = calloc(total ? total : 1, sizeof *report.results);
    if (report.results)
        for (size_t i = 0; i < target_count && !replay_session_stopped(session); i++)
            target_verify(&verifier, &targets[i], &report, total);
    else
        status = pcere_fail_memory(error, "results");
    for (size_t i = 0; verifier.infos && i < session->images.count; i++)
        debug_info_close(verifier.infos[i]);
    free(verifier.infos);
    if (!status)
        status = replay_session_compilers(session, &report.compilers, &report.compiler_count, error);
    replay_session_close(session);
    if (status)
        verify_report_done(&report);
    else
        *ret_report = report;
    return status;
}

void verify_report_done(struct verify_report *report)
{
    for (size_t i = 0; i < report->result_count; i++)
        result_done(&report->results[i]);
    free(report->results);
    free(report->compilers);
    *report = (struct verify_report){0};
}

const char *replay_asked_name(unsigned bit)
{
#define NAME_ENTRY(name, text) text,
    static const char *const names[] = {PLAN_ASKS(NAME_ENTRY)};
    return bit < sizeof names / sizeof *names ? names[bit] : NULL;
}

enum replay_asked replay_asked_kind(unsigned bit)
{
    return bit < PLAN_ASK_DESCRIPTORS ? REPLAY_ASKED_CHANGING : bit < PLAN_ASK_PLACES ? REPLAY_ASKED_DESCRIPTORS : REPLAY_ASKED_PLACES;
}
