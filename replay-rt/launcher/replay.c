/* replay-rt/launcher/replay.c - measurements: for each codelet its memory once, for each thread count its processes and samples. */
#include "replay-rt/launcher/replay.h"

#include "core/host.h"
#include "core/text.h"
#include "predictor/measured.h"
#include "replay-rt/launcher/doubt.h"
#include "replay-rt/launcher/policy.h"
#include "replay-rt/launcher/replay_session.h"
#include "replay-rt/launcher/sampling.h"
#include "replay-rt/launcher/speed.h"
#include "replay-rt/launcher/tour.h"
#include "replay-rt/launcher/warming.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define OPENING_NS 100000000u             /* of a precision: what is measured before a warm-up is decided on */
#define ENDING_PARTS 50u                  /* of a budget: what the ends of processes and of the session may take */
#define LAST_MEMORY_PARTS 2u             /* of who would be the last: with less than that, another one is */
#define FILLER_POOL_BYTES (16u << 20)     /* of captured pages: shots of programs with less are not cold enough for it to be needed */
#define FILLER_CLASS_NS 40000000u         /* making the file that fills caches takes half of that */

/* Where codelets run in an emulator, samples bear its name: they say nothing about this machine. */
static enum pcere_status host_load(struct replay_session *session, struct pcere_error *error)
{
    json_t *object = NULL;
    char *own = NULL;
    const char *target = session->options->target;
    enum pcere_status status = host_name(&own, error);
    if (!status && target && asprintf(&session->host_name, "%s.%s", own, target) < 0) {
        session->host_name = NULL;
        status = pcere_fail_memory(error, "the host's name");
    }
    if (!status && !target)
        session->host_name = own;
    else
        free(own);
    if (!status)
        status = host_describe(&object, error);
    if (!status && !(session->host = json_dumps(object, JSON_COMPACT)))
        status = pcere_fail_memory(error, "the host's description");
    if (!status)
        session->speed.program_ns = store_manifest(session->store)->wall_ns * (store_manifest(session->store)->threads ? store_manifest(session->store)->threads : 1);
    if (!status)
        session->cores = (uint64_t)json_integer_value(json_object_get(object, "cores"));
    json_decref(object);
    if (status)
        return status;
    char *captured_on = host_described_name(store_manifest(session->store)->host);
    session->elsewhere = !captured_on || strcmp(captured_on, session->host_name) != 0;
    free(captured_on);
    return PCERE_OK;
}

char *replay_settings_text(const struct replay_options *options)
{
    struct text text = {0};
    const char *names[] = {"schedule", "loops", "places", "bind", "passes", "pass-plugin", "count", "target"};
    const char *values[] = {options->schedule, options->schedule && options->all_loops ? "all" : NULL, options->places, options->bind, options->passes, options->pass_plugin, options->count, options->target};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (values[i])
            text_addf(&text, "%s%s=%s", text.length ? " " : "", names[i], values[i]);
    return text_take(&text);
}

enum pcere_status replay_result_begin(const struct replay_session *session, const struct replay_target *target, uint32_t threads, const char *kind,
                                      struct replay_result *ret_result, struct pcere_error *error)
{
    const struct replay_options *options = session->options;
    struct replay_result result = {.target = target, .in_vivo_ns = target->class->representative_ns};
    struct store_sample *sample = &result.sample;
    cpu_set_t permitted;
    *sample = (struct store_sample){
        .kind = strdup(kind),
        .host_name = strdup(session->host_name),
        .host = strdup(session->host),
        .region = strdup(target->region->name),
        .representative = target->class->representative,
        .threads = threads,
        .processors = sched_getaffinity(0, sizeof permitted, &permitted) ? 0 : (uint32_t)CPU_COUNT(&permitted),
        .warmup = strdup(options->warmup ? options->warmup : "auto"),
        .flags = strdup(options->flags ? options->flags : ""),
        .settings = replay_settings_text(options),
        .when_s = (uint64_t)time(NULL),
    };
    bool whole = sample->kind && sample->host_name && sample->host && sample->region && sample->warmup && sample->flags
                 && sample->settings;
    *ret_result = result;
    return whole ? PCERE_OK : pcere_fail_memory(error, "a sample");
}

void replay_result_done(struct replay_result *result)
{
    store_sample_done(&result->sample);
    store_samples_free(result->trials, result->trial_count);
    free(result->refusal);
    *result = (struct replay_result){0};
}

static bool numbers_grow(uint64_t **numbers, size_t room)
{
    uint64_t *grown = realloc(*numbers, room * sizeof *grown);
    if (grown)
        *numbers = grown;
    return grown != NULL;
}

/* Samples that say what they should: one thread's CPU time stands in for its wall time, more threads' does not. */
static size_t undisturbed_count(const struct store_sample *sample)
{
    size_t count = 0;
    for (size_t i = 0; i < sample->sample_count; i++)
        count += !sample->switches || sample->threads == 1 || !sample->switches[i];
    return count;
}

#define PHASE_TEXT(name, text) text,
static const char *const phases[] = {PLAN_PHASES(PHASE_TEXT) NULL};
_Static_assert(sizeof phases / sizeof *phases == REPLAY_PHASES + 1 && REPLAY_PHASES == PLAN_PHASE_COUNT, "replay.h counts the phases");

const char *replay_phase_name(unsigned phase)
{
    return phase < REPLAY_PHASES ? phases[phase] : NULL;
}

static uint64_t longest_of(const struct plan_result *from)
{
    uint64_t longest_ns = 0;
    for (uint64_t i = 0; i < from->sample_count && i < PLAN_SAMPLES; i++)
        longest_ns = from->samples_ns[i] > longest_ns ? from->samples_ns[i] : longest_ns;
    return longest_ns;
}

enum pcere_status replay_samples_take(struct replay_result *result, const struct plan_result *from, uint64_t full_ns, struct pcere_error *error)
{
    struct store_sample *sample = &result->sample;
    uint64_t count = from->sample_count < PLAN_SAMPLES ? from->sample_count : PLAN_SAMPLES, kept = 0;
    bool keep[PLAN_SAMPLES];
    double slow_ratio = speed_choose(from->samples_ns, from->works_ns, count, full_ns, keep);
    size_t room = sample->sample_count + count + 1;
    bool told = from->switches_tell && (sample->switches || !sample->sample_count);
    if (!numbers_grow(&sample->samples_ns, room) || !numbers_grow(&sample->cpu_ns, room) || (told && (!numbers_grow(&sample->switches, room) || !numbers_grow(&sample->waits_ns, room)))
        || !numbers_grow(&sample->process_counts, sample->process_count + 1))
        return pcere_fail_memory(error, "samples");
    if (!told) {
        free(sample->switches);
        free(sample->waits_ns);
        sample->switches = sample->waits_ns = NULL;
    }
    for (uint64_t i = 0; i < count; i++) {
        if (!keep[i])
            continue;
        kept++;
        if (told) {
            sample->switches[sample->sample_count] = from->switches[i];
            sample->waits_ns[sample->sample_count] = from->waits_ns[i];
        }
        sample->cpu_ns[sample->sample_count] = from->cpu_ns[i];
        sample->samples_ns[sample->sample_count++] = from->samples_ns[i];
    }
    sample->process_counts[sample->process_count++] = kept;
    if (sample->sample_count)
        sample->slow_ratio += (slow_ratio - sample->slow_ratio) * (double)kept / (double)sample->sample_count;
    result->looks += from->looks;
    result->slower_ratio += (double)from->slower_ppm / 1e6;
    sample->loud_ratio = result->looks ? result->slower_ratio / (double)result->looks : 0;
    result->last_slow_ratio = slow_ratio;
    result->slow_dropped += count - kept;
    result->awaited_ns += from->awaited_ns;
    sample->warmups = from->warmups > sample->warmups ? from->warmups : sample->warmups;
    if (from->fork_ns && (!sample->fork_ns || from->fork_ns < sample->fork_ns))
        sample->fork_ns = from->fork_ns;
    sample->start_ns = from->start_ns;
    sample->line_ns = from->line_ns ? from->line_ns : sample->line_ns;
    result->team = from->threads;
    result->locale_missing = from->locale_missing;
    if (!*result->file_missing)
        replay_words_take(from->missing, sizeof result->file_missing, result->file_missing);
    result->written_pages = from->written_pages;
    result->rates = (struct replay_rates){from->rates.captured_pages, from->rates.touched_pages, from->rates.restored_bytes, from->rates.dropped_bytes, from->rates.restore_ns,
                                          from->rates.copied_bytes, from->rates.copy_ns};
    result->dropped_pages = from->dropped_pages;
    result->laid_pages = from->laid_pages;
    result->processes++;
    for (unsigned i = 0; i < REPLAY_PHASES; i++)
        result->phases_ns[i] += from->phases_ns[i];
    return PCERE_OK;
}

static void refusal_take(struct replay_result *result, const struct plan_result *from)
{
    char text[sizeof from->refusal];
    replay_words_take(from->refusal, sizeof text, text);
    if (*text && !result->refusal)
        result->refusal = strdup(text);
}

/* A shot that crashed or did not end says nothing about the region: it is replayed whole. */
static void sampling_give_up(struct replay_result *result, struct plan_file *plan, const struct pcere_error *error)
{
    struct text text = {0};
    text_addf(&text, "a sampled run failed: %.200s", error->message);
    free(result->refusal);
    result->refusal = text_take(&text);
    plan->plan->policy.sample_shots = 0;
}

/* What was used shortly before, and may be in the last cache still. 0: it is too much for that. */
static uint64_t hot_bytes(const struct codelet_memory *memory, uint64_t page_bytes)
{
    uint64_t bytes = codelet_memory_pages(memory) * page_bytes;
    return bytes <= host_largest_cache_bytes() ? bytes : 0;
}

uint64_t replay_class_ns_at(const struct store_class *class, const struct store_codelet *codelet, uint32_t threads)
{
    uint64_t captured = codelet->capture_threads ? codelet->capture_threads : 1;
    return threads > captured ? class->time_ns / threads * captured : class->time_ns;
}

/* A program may make a part for each thread, before the region, and knows no more threads than it had. */
static void more_threads_hint(struct pcere_error *error, uint64_t captured, uint64_t threads)
{
    snprintf(error->hint, sizeof error->hint, "if the program makes memory for each of its threads, it made that for %llu: pcere capture --threads %llu. The backtrace on standard error says where",
             (unsigned long long)captured, (unsigned long long)threads);
}

/* The file that fills caches is made by the first process that uses it, which takes longer than all regions of some programs. */
static void filler_weigh(const struct replay_session *session, const struct replay_options *options, uint64_t class_ns, struct policy *policy)
{
    if (policy->allowed_ns && !options->repeat && !filler_is_made(&session->filler) && class_ns < FILLER_CLASS_NS)
        policy->plan.fill = 0;
}

/* As much as decides on a warm-up, before the rest is spent. */
static uint64_t opening_ns(uint64_t budget_ns)
{
    return budget_ns ? budget_ns / WARMING_TRIAL_PARTS + 1 : OPENING_NS;
}

enum pcere_status replay_measure(struct replay_session *session, const struct store_codelet *codelet, const struct codelet_memory *memory,
                                 const struct measurement *measurement, struct replay_result *result, struct pcere_error *error)
{
    const struct replay_options *options = session->options;
    struct policy policy;
    struct plan_file plan = {.fd = -1};
    uint64_t longest_ns = 0, class_ns = replay_class_ns_at(result->target->class, codelet, result->sample.threads);
    const struct policy_subject subject = {result->target->region->invocations, result->target->class->representative,
                                           result->target->class->members};
    uint32_t threads_asked = result->sample.threads;
    uint64_t captured = codelet->capture_threads ? codelet->capture_threads : 1, threads = threads_asked;
    uint64_t in_vivo_ns = threads > captured ? codelet->in_vivo_ns / threads * captured : codelet->in_vivo_ns;
    struct sampling_subject sampled = {
        class_ns, (double)result->target->class->time_ns / ((double)store_manifest(session->store)->wall_ns + 1),
        codelet_memory_pages(memory), codelet_memory_changed_pages(memory, store_manifest(session->store)->page_size), 0, false, measurement->budget_ns, session->page_ns,
        codelet_memory_made_pages(memory, codelet, store_manifest(session->store)->page_size), 0};
    if (!strcmp(measurement->warmup, warmup_name(WARMUP_PLAIN)))
        sampled.hot_bytes = hot_bytes(memory, store_manifest(session->store)->page_size);
    enum pcere_status status = policy_choose(measurement->warmup, options->repeat, &subject, &policy, error);
    if (!status)
        policy_weigh_memory(&policy, measurement->warmup, options->repeat, codelet->in_vivo_ns, codelet_memory_pages(memory), sampled.written_pages, session->page_ns);
    if (!status)
        policy_weigh_time(&policy, options->warmup, options->repeat, class_ns, sampled.share_ratio);
    if (!status)
        filler_weigh(session, options, class_ns, &policy);
    if (!status && !measurement->steps && policy.allowed_ns)
        policy_weigh_length(&policy, options->warmup, options->repeat, in_vivo_ns, result->sample.threads, sampled.written_pages > 0);
    if (!status && !measurement->trial)
        policy_extend(&policy, options->precision_ratio, measurement->opens ? opening_ns(measurement->budget_ns) : measurement->budget_ns);
    sampled.rehearsed = !status && policy.plan.rehearse && !policy.plan.warmups;
    if (!status && measurement->whole_why) {
        free(result->refusal);
        result->refusal = strdup(measurement->whole_why);
        status = result->refusal ? PCERE_OK : pcere_fail_memory(error, "a reason");
    }
    if (!status && !measurement->trial && !measurement->whole_why)
        status = sampling_choose(options, codelet, result->sample.threads, &sampled, &policy.plan, &result->refusal, error);
    if (!status && policy.plan.fill && policy.plan.sample_shots && session->pool.file_bytes >= FILLER_POOL_BYTES)
        filler_make(&session->filler);
    bool comparable = !session->elsewhere && !*result->sample.flags && !*result->sample.settings;
    if (comparable && threads == captured && policy.plan.learn && !policy.plan.warmups)
        policy.plan.first_most_ns = (uint64_t)(POLICY_FIRST_RATIO * (double)calibrate_reference_ns(result->target->class));
    policy.plan.rates = options->rates && !measurement->trial;
    policy.plan.watch_speed = !options->repeat && !session->processor.emulator;
    policy.plan.helpers = session->helpers;
    policy.plan.await_ns = speed_await_ns(policy.allowed_ns);
    if (!status && !replay_plan_take(session, memory, measurement->steps, threads_asked, &policy.plan, &plan))
        status = plan_file_new(codelet, store_manifest(session->store), &session->pool, memory, &session->images,
                               &policy.plan, measurement->steps, &plan, error);
    bool doubts = policy.allowed_ns && !policy.extended && !options->repeat && !measurement->trial && !measurement->steps, doubted = false;
    bool weighs = sampled.share_ratio >= DOUBT_WEIGHT_RATIO, heavy = sampled.share_ratio >= DOUBT_HEAVY_RATIO;
    double doubt_most = comparable ? doubt_most_ns(calibrate_reference_ns(result->target->class), codelet->capture_threads, result->sample.threads) : 0;
    while (!status) {
        uint64_t wall_ns = 0, start_ns = replay_session_clock_ns();
        struct pcere_error failure = {0};
        plan.plan->policy.starts = replay_starts_take(session, result->sample.threads);
        double first_slow_ratio = result->sample.slow_ratio;
        status = replay_session_process(session, codelet, &plan, result->sample.threads, &wall_ns, &failure);
        result->process_ns = replay_session_clock_ns() - start_ns;
        result->sample.cost_ns += result->process_ns;
        if (status == PCERE_NO && plan.plan->policy.sample_shots && atomic_load(&plan.plan->result.sampling)) {
            sampling_give_up(result, &plan, &failure);
            status = PCERE_OK;
            continue;
        }
        if (status && result->processes && replay_session_stopped(session)) {
            status = PCERE_OK;        /* what other processes measured counts */
            break;
        }
        if (status) {
            if (threads > captured && atomic_load(&plan.plan->result.state) == PLAN_CRASHED && !plan.plan->result.runtime_aborted)
                more_threads_hint(&failure, captured, threads);
            *error = failure;
            break;
        }
        if (doubted && result->sample.sampled_ratio > 0 && !atomic_load(&plan.plan->result.sampling))
            break;                    /* the second one took it for something that cannot be sampled: it says nothing about the first */
        refusal_take(result, &plan.plan->result);
        status = sampling_take(&plan.plan->result, &result->sample, error);
        if (!status)
            status = replay_samples_take(result, &plan.plan->result, speed_full_ns(&session->speed, result->sample.threads), error);
        uint64_t longer_ns = longest_of(&plan.plan->result);
        longest_ns = longer_ns > longest_ns ? longer_ns : longest_ns;
        if (status)
            break;
        bool sampled_inside = result->sample.sampled_ratio > 0;
        if (!sampled_inside)
            plan.plan->policy.sample_shots = 0;   /* refused: no other process need try */
        if (doubted)
            result->sample.slow_ratio = doubt_settle(&result->sample) ? result->last_slow_ratio : first_slow_ratio;
        else if (doubts && result->processes == 1 && (weighs || sampled_inside || result->sample.sample_count == 1)
                 && doubt_found(&result->sample, doubt_most * (heavy ? 1 : 1 + result->sample.slow_ratio))) {
            doubted = true;
            continue;
        }
        if (sampled_inside)
            break;
        status = measured_precision(&result->sample, &result->precision_ratio) ? PCERE_OK : pcere_fail_memory(error, "samples");
        if (!policy_fits(&policy, result->sample.cost_ns, result->process_ns) ||
            !policy_wants_more(&policy, options->repeat, result->processes, undisturbed_count(&result->sample), longest_ns,
                               result->sample.cost_ns, result->precision_ratio))
            break;
    }
    replay_plan_leave(session, memory, measurement->steps, threads_asked, &plan);
    if (status) {
        free(result->sample.samples_ns);
        free(result->sample.cpu_ns);
        free(result->sample.switches);
        free(result->sample.waits_ns);
        free(result->sample.process_counts);
        result->sample.samples_ns = result->sample.cpu_ns = result->sample.switches = result->sample.waits_ns = result->sample.process_counts = NULL;
        result->sample.process_count = 0;
        result->sample.sample_count = 0;
    }
    return status;
}

struct measuring {
    struct replay_session *session;
    struct replay_report *report;
    const struct replay_target *targets;
    size_t total, done;
    size_t first, last;               /* results that were measured first and last, of the report's; SIZE_MAX: none was */
    uint64_t begun_ns;                /* clock */
    double left_ns;                   /* time in vivo of the classes, once for each thread count, that are not measured yet: they share what is left of the budget */
};

static void progress_tell(const struct measuring *measuring, const struct replay_result *result, size_t done)
{
    const struct replay_options *options = measuring->session->options;
    if (options->progress)
        options->progress(options->progress_context, result->target->region->name, result->target->class->representative, result->sample.threads, done,
                          measuring->total);
}

/* What one thread count of a target may cost, loading included: its share of what those before it left of the budget. 0: there is none. */
static uint64_t budget_of(const struct measuring *measuring, const struct replay_target *target, const struct replay_result *result)
{
    uint64_t budget_ns = measuring->session->options->budget_ns, spent_ns = replay_session_clock_ns() - measuring->begun_ns;
    if (!budget_ns)
        return 0;
    budget_ns -= budget_ns / ENDING_PARTS;
    double left_ns = budget_ns > spent_ns ? (double)(budget_ns - spent_ns) : 0;
    double share = measuring->left_ns > 0 ? fmin((double)target->class->time_ns / measuring->left_ns, 1) : 0;
    return result->sample.cost_ns + (uint64_t)(left_ns * share) + 1;
}

/* False: no tour measured it, or it is left. */
static bool result_settle(struct warming *warming, struct tour_times *times, size_t thread, struct replay_result *result)
{
    if (!times->results || warming->tour_left)
        return false;
    uint64_t load_ns = result->sample.cost_ns;
    struct replay_result unused = *result;
    *result = times->results[thread];
    times->results[thread] = (struct replay_result){0};
    result->sample.cost_ns += load_ns;
    result->load_ns = unused.load_ns;
    replay_result_done(&unused);
    warming_settle(warming, times->after, result, &result->error);
    return true;
}

static void result_measure(struct measuring *measuring, struct warming *warming, struct tour_times *times, size_t thread, size_t index, bool first)
{
    struct replay_session *session = measuring->session;
    const struct store_manifest *manifest = store_manifest(session->store);
    struct replay_result *result = &measuring->report->results[index];
    uint32_t asked = replay_asked_threads(session, warming->codelet);
    progress_tell(measuring, result, measuring->done++);
    result->asked_threads = asked != result->sample.threads ? asked : 0;
    if (replay_threads_check(result->target, warming->codelet, replay_team(warming->codelet, manifest, result->sample.threads), &result->error) != PCERE_OK)
        return;
    enum pcere_status status = PCERE_OK;
    if (result_settle(warming, times, thread, result))
        return;
    if (first && warming->calibrates && result->sample.threads != manifest->threads)
        status = warming_calibrate_beside(warming, result, &result->error);
    if (!status)
        warming_measure(warming, budget_of(measuring, result->target, result), result, &result->error);
}

/* The first one, then the others in their order. */
static size_t turn_index(size_t turn, size_t first)
{
    return !turn ? first : turn <= first ? turn - 1 : turn;
}

/* At this number of threads its time in vivo is all that a prediction asks for. */
static bool is_left(const struct store_manifest *manifest, const struct replay_target *target, const struct replay_options *options, size_t thread)
{
    return options->leave_known && measured_is_known(manifest, target->class, options->threads[thread]);
}

/* The capture's number of threads, else the first that is asked for; without those that are left. options->thread_count: nothing is to be measured. */
static size_t first_choose(const struct store_manifest *manifest, const struct replay_target *target, const struct replay_options *options)
{
    size_t first = options->thread_count;
    for (size_t i = options->thread_count; i-- > 0;)
        if (!is_left(manifest, target, options, i) && (first == options->thread_count || options->threads[first] != manifest->threads))
            first = i;
    return first;
}

/* Memory is filled once; the thread count that is measured first pays for it: the capture's, if it is asked for, since it decides the warm-up. */
static void target_run(struct measuring *measuring, const struct replay_target *target, struct tour_times *times)
{
    struct replay_session *session = measuring->session;
    const struct replay_options *options = session->options;
    struct replay_report *report = measuring->report;
    struct store_codelet codelet;
    struct codelet_memory memory = {0};
    struct warming warming = {0};
    struct pcere_error failure = {0};
    size_t base = (size_t)(target - measuring->targets) * options->thread_count, first = first_choose(store_manifest(session->store), target, options);
    uint64_t start_ns = replay_session_clock_ns();
    if (first == options->thread_count)
        return;
    enum pcere_status loaded = store_codelet_load(session->store, target->class->codelet, &codelet, &failure);
    enum pcere_status status = loaded;
    if (!status)
        status = build_unit_check(&session->build, codelet.unit_id, &failure);
    if (!status)
        status = images_check(&session->images, &codelet, &failure);
    if (!status)
        status = codelet_memory_new(session->store, &session->pool, &codelet, &session->images, false, &memory, &failure);
    if (!status)
        status = warming_begin(session, target, &codelet, &memory, &warming, &failure);
    uint64_t load_ns = replay_session_clock_ns() - start_ns;
    for (size_t i = 0; i < options->thread_count; i++) {
        struct replay_result *result = &report->results[base + i];
        struct pcere_error own = {0};
        replay_result_begin(session, target, options->threads[i], "replay", result, &own);
        result->error = status ? failure : own;
        result->left = is_left(store_manifest(session->store), target, options, i);
        warming.calibrates &= !result->left;
    }
    report->results[base + first].sample.cost_ns = report->results[base + first].load_ns = load_ns;
    for (size_t turn = 0; turn < options->thread_count; turn++) {
        size_t i = turn_index(turn, first), after = turn + 1;
        struct replay_result *result = &report->results[base + i];
        while (after < options->thread_count && report->results[base + turn_index(after, first)].left)
            after++;
        session->next_threads = after < options->thread_count ? options->threads[turn_index(after, first)] : 0;
        result->stopped = replay_session_stopped(session);
        if (!result->left && !result->stopped && !result->error.status) {
            result_measure(measuring, &warming, times, i, base + i, !turn);
            result->stopped = result->error.status != PCERE_OK && replay_session_stopped(session);
        }
        if (!result->left && !result->stopped) {
            measuring->first = measuring->first == SIZE_MAX ? base + i : measuring->first;
            measuring->last = base + i;
        }
        report->cost_ns += result->sample.cost_ns;
        measuring->left_ns -= result->left ? 0 : (double)target->class->time_ns;
    }
    replay_stay_end(session);
    warming_done(&warming);
    codelet_memory_done(&memory);
    page_pool_trim(&session->pool);
    if (!loaded)
        store_codelet_done(&codelet);
}

/* Those that were not measured do not stay. */
static void unmeasured_drop(struct replay_report *report)
{
    size_t kept = 0;
    for (size_t i = 0; i < report->result_count; i++) {
        if (!report->results[i].target || report->results[i].stopped || report->results[i].left)
            replay_result_done(&report->results[i]);
        else
            report->results[kept++] = report->results[i];
    }
    report->result_count = kept;
}

/* The end of each process is part of what the next one costs, that of the last one of what it cost itself. */
static void last_process_count(const struct measuring *measuring)
{
    struct replay_session *session = measuring->session;
    struct replay_report *report = measuring->report;
    uint64_t start_ns = replay_session_clock_ns();
    filler_close(&session->filler);      /* which takes a while as well, beside it */
    process_ending_wait(&session->ending);
    uint64_t end_ns = replay_session_clock_ns() - start_ns;
    if (measuring->last == SIZE_MAX)
        return;
    report->results[measuring->last].sample.cost_ns += end_ns;
    report->results[measuring->last].phases_ns[PLAN_PHASE_END] += end_ns;
    report->cost_ns += end_ns;
}

/* What neither a codelet nor building is: who was measured first pays for opening the session, who was last for closing it. */
static void session_count(const struct measuring *measuring, uint64_t open_ns, uint64_t close_ns)
{
    struct replay_report *report = measuring->report;
    if (measuring->last == SIZE_MAX)
        return;
    struct replay_result *first = &report->results[measuring->first], *last = &report->results[measuring->last];
    first->sample.cost_ns += open_ns;
    first->load_ns += open_ns;
    last->sample.cost_ns += close_ns;
    last->phases_ns[PLAN_PHASE_END] += close_ns;
    report->cost_ns += open_ns + close_ns;
}

/* In processes of its own. */
static bool is_measured_alone(const struct measuring *measuring, const struct tour_times *times, size_t index)
{
    const struct replay_options *options = measuring->session->options;
    return !times[index].results && first_choose(store_manifest(measuring->session->store), &measuring->targets[index], options) < options->thread_count;
}

/* Nobody starts beside the end of the last process: so one with less memory than who would be that comes last, the one with the least, of those that no tour measured. The others keep their order. */
static void targets_order(const struct measuring *measuring, size_t target_count, const struct tour_times *times, size_t *ret_order)
{
    size_t least = target_count, usual = target_count;
    for (size_t i = 0; i < target_count; i++)
        if (is_measured_alone(measuring, times, i)) {
            usual = i;
            if (least == target_count || measuring->targets[i].class->memory_bytes < measuring->targets[least].class->memory_bytes)
                least = i;
        }
    bool moves = least < usual && measuring->targets[least].class->memory_bytes < measuring->targets[usual].class->memory_bytes / LAST_MEMORY_PARTS;
    for (size_t i = 0; i < target_count; i++)
        ret_order[i] = !moves || i < least ? i : i + 1 < target_count ? i + 1 : least;
}

/* As replay.h has it; the machine is the caller's. */
static bool may_leave(const struct store_manifest *manifest, const struct replay_target *targets, size_t target_count, const struct replay_options *options)
{
    char *settings = options->leave_known ? replay_settings_text(options) : NULL;
    bool any = false;
    for (size_t i = 0; settings && !*settings && !(options->flags && *options->flags) && i < target_count; i++)
        any |= first_choose(manifest, &targets[i], options) < options->thread_count;
    free(settings);
    return any;
}

static void first_begin(struct replay_session *session, const struct replay_target *targets, size_t target_count)
{
    const struct replay_options *options = session->options;
    size_t first = options->thread_count;
    for (size_t i = 0; i < target_count && first == options->thread_count; i++)
        first = first_choose(store_manifest(session->store), &targets[i], options);
    if (first < options->thread_count)
        replay_session_stand_by(session, options->threads[first]);
}

enum pcere_status replay_run(struct store *store, const struct replay_target *targets, size_t target_count,
                             const struct replay_options *asked, struct replay_report *ret_report, struct pcere_error *error)
{
    struct replay_options own = *asked;
    const struct replay_options *options = &own;
    own.leave_known = may_leave(store_manifest(store), targets, target_count, asked);
    struct replay_session session;
    struct replay_report report = {0};
    uint64_t start_ns = replay_session_clock_ns();
    enum pcere_status status = replay_check_warmup(options->warmup, error);
    if (!status && !options->thread_count)
        status = pcere_fail(error, PCERE_USAGE, 0, NULL, "no thread count is given");
    for (size_t i = 0; !status && i < options->thread_count; i++)
        if (!options->threads[i])
            status = pcere_fail(error, PCERE_USAGE, 0, NULL, "a codelet cannot run with 0 threads");
    if (!status)
        status = replay_session_open(store, options, &session, error);
    if (status)
        return status;
    first_begin(&session, targets, target_count);
    status = host_load(&session, error);
    if (!status)
        status = store_samples_load(store, &session.samples, &session.sample_count, NULL) == PCERE_SYSTEM ? pcere_fail_memory(error, "samples") : PCERE_OK;
    if (status) {
        replay_session_close(&session);
        return status;
    }
    uint64_t open_ns = replay_session_clock_ns() - start_ns - session.build_ns;
    report.build_ns = session.build_ns;
    report.link_ns = session.build.link_ns;
    report.build_cached = session.build.cached;
    report.build_apart = session.build.apart;
    report.room_lacking_bytes = session.pool.cache.without_room ? session.pool.file_bytes : 0;
    struct measuring measuring = {.session = &session, .report = &report, .targets = targets, .total = target_count * options->thread_count, .first = SIZE_MAX, .last = SIZE_MAX,
                                  .begun_ns = start_ns + session.build_ns};
    struct tour_times *times = calloc(target_count + 1, sizeof *times);
    size_t *order = calloc(target_count + 1, sizeof *order);
    report.results = calloc(measuring.total ? measuring.total : 1, sizeof *report.results);
    report.left = calloc(measuring.total ? measuring.total : 1, sizeof *report.left);
    if (!report.results || !report.left || !times || !order)
        status = pcere_fail_memory(error, "results");
    for (size_t i = 0; !status && i < target_count; i++)
        for (size_t t = 0; t < options->thread_count; t++)
            if (is_left(store_manifest(store), &targets[i], options, t))
                report.left[report.left_count++] = (struct replay_left){&targets[i], options->threads[t]};
            else
                measuring.left_ns += (double)targets[i].class->time_ns;
    if (!status)
        status = tours_measure(&session, targets, target_count, times, error);
    report.result_count = status ? 0 : measuring.total;
    if (!status)
        targets_order(&measuring, target_count, times, order);
    size_t alone = 0;                /* that are not measured yet */
    for (size_t i = 0; !status && i < target_count; i++)
        alone += is_measured_alone(&measuring, times, i);
    for (size_t i = 0; !status && i < target_count && !replay_session_stopped(&session); i++) {
        alone -= is_measured_alone(&measuring, times, order[i]);
        session.more = alone > 0;
        target_run(&measuring, &targets[order[i]], &times[order[i]]);
    }
    last_process_count(&measuring);
    free(order);
    for (size_t i = 0; times && i < target_count; i++)
        tour_times_done(&times[i], options->thread_count);
    free(times);
    if (!status)
        status = replay_session_compilers(&session, &report.compilers, &report.compiler_count, error);
    start_ns = replay_session_clock_ns();
    replay_session_close(&session);
    session_count(&measuring, open_ns, replay_session_clock_ns() - start_ns);
    unmeasured_drop(&report);
    if (status)
        replay_report_done(&report);
    else
        *ret_report = report;
    return status;
}

void replay_report_done(struct replay_report *report)
{
    for (size_t i = 0; i < report->result_count; i++)
        replay_result_done(&report->results[i]);
    free(report->results);
    free(report->left);
    free(report->compilers);
    *report = (struct replay_report){0};
}
