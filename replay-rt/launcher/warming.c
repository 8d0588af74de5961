/* replay-rt/launcher/warming.c - see warming.h. */
#include "replay-rt/launcher/warming.h"

#include "core/text.h"
#include "predictor/measured.h"
#include "replay-rt/launcher/doubt.h"
#include "replay-rt/launcher/policy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PRECEDE_RUNS 5u
#define LAY_NS 600u                       /* what a page costs that is laid down before a region */
#define PRECEDE_PARTS 8u                  /* of the class's time in vivo: what all runs of the predecessors may take */
#define TRIALS_COST_RATIO 0.05            /* other warm-ups are tried until they took so much of the class's time in vivo, */
#define TRIALS_FAR_NS 100000000.0         /* the same of a class that takes such a share of the program, and comes out too short by CALIBRATE_FAR_RATIO */
#define TRIALS_FAR_SHARE 0.1
#define TRIALS_MISSED_SHARE 0.005         /* and in any case until they took what the class would be wrong by, no longer than TRIALS_FAR_NS, where that is such a share of the program */
#define BESIDE_RUNS 3.0                   /* that calibrating takes at least: not at another number of threads than those asked for where they take longer than that */
#define WHOLE_RUNS_LEAST 3u              /* that a whole replay takes, warm-up included */
#define TRIALS_COST_NS 100000000u         /* or, where "auto" was asked for by its name, so long at least */

/* ---- what is known of it ------------------------------------------------------------------------------------------------------------- */

/* Pages that were absent before the region, and there after it. */
static uint64_t first_touches(const struct store_codelet *codelet, uint64_t page_bytes)
{
    uint64_t pages = 0;
    size_t before = 0;
    for (size_t i = 0; i < codelet->after_count; i++) {
        const struct store_run *run = &codelet->after[i];
        uint64_t end = run->address + run->count * page_bytes;
        for (uint64_t at = run->address; at < end;) {
            while (before < codelet->before_count && codelet->before[before].address + codelet->before[before].count * page_bytes <= at)
                before++;
            const struct store_run *here = before < codelet->before_count ? &codelet->before[before] : NULL;
            bool present = here && here->address <= at;
            uint64_t stop = present ? here->address + here->count * page_bytes : here && here->address < end ? here->address : end;
            stop = stop < end ? stop : end;
            pages += present ? 0 : (stop - at) / page_bytes;
            at = stop;
        }
    }
    return pages;
}

/* Of that class, and measured on this machine. */
static bool is_of(const struct store_sample *sample, const struct replay_session *session, const struct replay_target *target)
{
    return !strcmp(sample->host_name, session->host_name) && sample->region && !strcmp(sample->region, target->region->name) && sample->representative == target->class->representative;
}

/* What an earlier replay of the program's own code found here, the newest last. */
static const struct store_sample *decision_find(const struct replay_session *session, const struct replay_target *target)
{
    for (size_t i = session->sample_count; i-- > 0;) {
        const struct store_sample *sample = &session->samples[i];
        if (!strcmp(sample->kind, "replay") && is_of(sample, session, target) && !strcmp(sample->warmup, "auto") && sample->has_residual && !*sample->flags && !*sample->settings && sample->warmup_policy
            && warmup_kind_of(sample->warmup_policy) < WARMUP_KINDS)
            return sample;
    }
    return NULL;
}

static bool is_sampled_auto(const struct replay_session *session)
{
    return session->options->sample && !strcmp(session->options->sample, "auto");
}

static enum pcere_status trial_read(const struct store_sample *sample, enum warmup_kind kind, uint64_t cost_ns, struct calibrate_trial *ret_trial,
                                    struct pcere_error *error)
{
    double *values = calloc(sample->sample_count + 1, sizeof *values);
    if (!values)
        return pcere_fail_memory(error, "samples");
    size_t count = measured_values(sample, values, NULL, NULL);
    *ret_trial = (struct calibrate_trial){.kind = kind, .done = count > 0, .cost_ns = cost_ns};
    if (count) {
        statistics_sort(values, count);
        struct statistics_interval interval = statistics_median_interval(values, count, 0.95);
        ret_trial->time_ns = statistics_median(values, count);
        ret_trial->spread_ratio = ret_trial->time_ns > 0 ? (interval.high - interval.low) / 2 / 1.96 / ret_trial->time_ns : 0;
    }
    free(values);
    return PCERE_OK;
}

static double share_of(const struct replay_session *session, const struct replay_target *target)
{
    return (double)target->class->time_ns / ((double)store_manifest(session->store)->wall_ns + 1);
}

/* Shots that an earlier replay did not believe are kept as a trial. Only there are trials sampled. The newest; NULL: there are none. */
static const struct store_sample *disbelieved_find(const struct replay_session *session, const struct replay_target *target)
{
    for (size_t i = session->sample_count; i-- > 0;) {
        const struct store_sample *sample = &session->samples[i];
        if (!strcmp(sample->kind, "calibration") && sample->sampled_ratio > 0 && is_of(sample, session, target))
            return sample;
    }
    return NULL;
}

static bool whole_agrees(const struct warming *warming, const struct store_sample *shots, const struct store_sample *whole)
{
    struct calibrate_trial trial = {0};
    return !trial_read(whole, WARMUP_PLAIN, 0, &trial, NULL) && trial.done && doubt_whole_agrees(shots, trial.time_ns, share_of(warming->session, warming->target));
}

/* Whether shots stand for the region, as far as an earlier replay tells. */
static void disbelief_find(struct warming *warming)
{
    const struct replay_session *session = warming->session;
    const struct store_sample *shots = disbelieved_find(session, warming->target);
    for (size_t i = 0; shots && i < session->sample_count; i++) {
        const struct store_sample *sample = &session->samples[i];
        warming->shots_stand |= !strcmp(sample->kind, "replay") && !(sample->sampled_ratio > 0) && is_of(sample, session, warming->target) && sample->threads == shots->threads && !*sample->flags && !*sample->settings && whole_agrees(warming, shots, sample);
    }
    warming->whole_why = shots && !warming->shots_stand ? "shots did not stand for it in an earlier replay" : NULL;
}

static const char *calibration_refusal(const struct replay_session *session, const struct replay_target *target, const struct warming *warming)
{
    const struct store_manifest *manifest = store_manifest(session->store);
    char *settings = replay_settings_text(session->options);
    bool other = (session->options->flags && *session->options->flags) || !settings || *settings;
    free(settings);
    if (session->elsewhere)
        return "captured on another machine";
    if (other)
        return "with other flags or settings than the program's";
    bool cold_is_tried = policy_is_short(manifest->wall_ns) && warming->subject.invocations <= POLICY_OFTEN;
    if (!cold_is_tried && (double)target->class->time_ns < CALIBRATE_WEIGHT_RATIO * (double)manifest->wall_ns)
        return "it weighs too little to be compared";
    return warming->subject.in_vivo_ns ? NULL : "its time in vivo is not known";
}

uint64_t warming_before_ns(const struct warming *warming)
{
    uint64_t sum_ns = 0;
    for (size_t i = 0; i < warming->predecessor_count; i++)
        sum_ns += warming->predecessors[i].class->representative_ns;
    return sum_ns;
}

/* Its predecessors' runs, two of them untimed and three timed, would take longer than what they could make better is worth. */
static bool precede_too_long(const struct warming *warming)
{
    return warming_before_ns(warming) > warming->target->class->time_ns / PRECEDE_PARTS / PRECEDE_RUNS;
}

/* The same of the pages that are laid down before them and behind them: where other invocations were captured than those that followed each other, these may be
 * most of the memory. */
static bool laying_too_long(const struct warming *warming)
{
    uint64_t pages = 0;
    for (size_t i = 0; i < warming->steps.copy_count; i++)
        pages += warming->steps.copies[i].pages;
    return pages * LAY_NS > warming->target->class->time_ns / PRECEDE_PARTS / PRECEDE_RUNS;
}

enum pcere_status replay_series_need(struct replay_session *session, struct pcere_error *error)
{
    if (session->series_loaded)
        return PCERE_OK;
    enum pcere_status status = store_invocations_load(session->store, &session->series, &session->series_count, error);
    session->series_loaded = !status;
    return status;
}

enum pcere_status warming_begin(struct replay_session *session, const struct replay_target *target, const struct store_codelet *codelet,
                                const struct codelet_memory *memory, struct warming *ret_warming, struct pcere_error *error)
{
    const char *asked = session->options->warmup ? session->options->warmup : "auto";
    struct warming warming = {.session = session, .target = target, .codelet = codelet, .memory = memory, .asked = asked, .kind = warmup_kind_of(asked),
                              .why = "asked for"};
    bool automatic = !strcmp(asked, "auto");
    enum pcere_status status = PCERE_OK;
    if (automatic || warming.kind == WARMUP_PRECEDED)
        status = replay_series_need(session, error);
    if (!status && (automatic || warming.kind == WARMUP_PRECEDED))
        status = predecessors_find(session->store, session->series, session->series_count, target, warming.predecessors, &warming.predecessor_count, error);
    if (status)
        return status;
    size_t count = warming.predecessor_count;
    warming.subject = (struct calibrate_subject){
        .invocations = target->region->invocations,
        .representative = target->class->representative,
        .members = target->class->members,
        .in_vivo_ns = calibrate_reference_ns(target->class),
        .first_touches = first_touches(codelet, store_manifest(session->store)->page_size),
        .memory_bytes = target->class->memory_bytes,
        .predecessors = count,
        .after_itself = count && predecessor_repeats(&warming.predecessors[count - 1], target),
    };
    if (is_sampled_auto(session))
        disbelief_find(&warming);
    if (warming.kind == WARMUP_PRECEDED && !count) {
        warming.kind = WARMUP_HISTORY;
        warming.why = "nothing is known that ran before it";
    }
    if (automatic) {
        const struct store_sample *decision = decision_find(session, target);
        warming.kind = decision ? warmup_kind_of(decision->warmup_policy) : calibrate_expect(&warming.subject, &warming.why);
        warming.has_residual = decision != NULL;
        warming.residual_ratio = decision ? decision->residual_ratio : 0;
        if (!decision && !session->options->warmup && warming.kind == WARMUP_PRECEDED && precede_too_long(&warming)) {
            warming.kind = WARMUP_HISTORY;
            warming.why = "what ran before it takes long beside what its class took";
            warming.too_long = true;
        }
        const char *refusal = decision ? "as calibrated before" : calibration_refusal(session, target, &warming);
        warming.calibrates = !refusal;
        warming.why = refusal ? refusal : warming.why;
    }
    *ret_warming = warming;
    return PCERE_OK;
}

void warming_done(struct warming *warming)
{
    plan_steps_done(&warming->steps);
}

/* ---- measuring ----------------------------------------------------------------------------------------------------------------------- */

static char *reason_text(const struct warming *warming, enum warmup_kind kind, const char *why)
{
    struct text text = {0};
    text_addf(&text, "%s", why);
    if (kind == WARMUP_PRECEDED && warming->toured_after)
        text_addf(&text, "; after %s, in one process with it", warming->toured_after);
    if (kind == WARMUP_PRECEDED && warming->steps_made && !warming->toured_after) {
        text_addf(&text, "; after");
        for (size_t i = 0; i < warming->predecessor_count; i++)
            text_addf(&text, "%s %s #%llu%s", i ? "," : "", warming->predecessors[i].region->name,
                      (unsigned long long)warming->predecessors[i].class->representative,
                      warming->steps.items[i].touched ? " (only its pages touched)"
                      : warming->predecessors[i].invocation == warming->predecessors[i].class->representative ? "" : " (another invocation)");
    }
    return text_take(&text);
}

static enum pcere_status measure_as(struct warming *warming, enum warmup_kind kind, uint64_t budget_ns, bool trial, const char *why,
                                    struct replay_result *result, struct pcere_error *error)
{
    enum pcere_status status = PCERE_OK;
    uint64_t start_ns = replay_session_clock_ns();
    if (kind == WARMUP_PRECEDED && !warming->steps_made) {
        status = predecessors_prepare(warming->session, warming->codelet, warming->memory, warming->predecessors, warming->predecessor_count,
                                      &warming->steps, &warming->touched, error);
        warming->steps_made = !status;
        result->sample.cost_ns += replay_session_clock_ns() - start_ns;
    }
    if (status)
        return status;
    if (kind == WARMUP_PRECEDED && !trial && !warming->has_residual && !warming->session->options->warmup && laying_too_long(warming)) {
        kind = warming->kind = WARMUP_HISTORY;
        why = warming->why = "to lay down the memory of what ran before it takes long beside what its class took";
    }
    const struct measurement measurement = {
        .warmup = kind < WARMUP_KINDS ? warmup_name(kind) : warming->asked,
        .steps = kind == WARMUP_PRECEDED ? &warming->steps : NULL,
        .budget_ns = budget_ns,
        .trial = trial,
        .whole_why = trial ? NULL : warming->whole_why,
        .opens = warming->opens,
    };
    free(result->sample.warmup_policy);
    free(result->sample.warmup_reason);
    result->sample.warmup_policy = strdup(measurement.warmup);
    result->sample.warmup_reason = reason_text(warming, kind, why);
    if (!result->sample.warmup_policy || !result->sample.warmup_reason)
        return pcere_fail_memory(error, "a sample");
    status = replay_measure(warming->session, warming->codelet, warming->memory, &measurement, result, error);
    if (status != PCERE_NO || kind != WARMUP_PRECEDED || trial)
        return status;
    char text[sizeof error->message + 48];
    snprintf(text, sizeof text, "what ran before it cannot run here: %s", error->message);
    warming->kind = WARMUP_PLAIN;
    return measure_as(warming, WARMUP_PLAIN, budget_ns, trial, text, result, error);
}

enum pcere_status replay_whole_note(struct replay_session *session, const struct replay_target *target, const struct store_sample *sample, struct pcere_error *error)
{
    struct calibrate_trial trial;
    if (sample->sampled_ratio > 0)
        return PCERE_OK;
    enum pcere_status status = trial_read(sample, WARMUP_PLAIN, 0, &trial, error);
    if (status || !trial.done)
        return status;
    if (!array_reserve(&session->wholes, &session->whole_capacity, session->whole_count + 1, sizeof *session->wholes))
        return pcere_fail_memory(error, "samples");
    session->wholes[session->whole_count++] = (struct replay_whole){target, sample->threads, trial.time_ns};
    return PCERE_OK;
}

static bool sibling_agrees(const struct warming *warming, const struct store_sample *shots)
{
    const struct replay_session *session = warming->session;
    struct calibrate_trial trial = {0};
    return !trial_read(shots, WARMUP_PLAIN, 0, &trial, NULL) && trial.done
           && doubt_sibling_agrees(session->wholes, session->whole_count, warming->target, shots->threads, trial.time_ns);
}

/* The sample becomes one that predictions do not count. */
static enum pcere_status trial_keep(struct replay_result *result, struct store_sample *sample, struct pcere_error *error)
{
    struct store_sample *grown = realloc(result->trials, (result->trial_count + 1) * sizeof *grown);
    char *kind = strdup("calibration");
    if (grown)
        result->trials = grown;
    if (!grown || !kind) {
        free(kind);
        return pcere_fail_memory(error, "samples");
    }
    free(sample->kind);
    sample->kind = kind;
    result->trials[result->trial_count++] = *sample;
    *sample = (struct store_sample){0};
    return PCERE_OK;
}

static enum pcere_status trial_measure(struct warming *warming, enum warmup_kind kind, uint32_t threads, struct replay_result *result,
                                       struct pcere_error *error)
{
    struct pcere_error failure = {0};
    enum pcere_status status = replay_result_begin(warming->session, warming->target, threads, "replay", result, error);
    if (status)
        return status;
    status = measure_as(warming, kind, 0, true, "tried", result, &failure);
    if (status && status != PCERE_NO) {
        *error = failure;
        return status;
    }
    return PCERE_OK;                  /* one that cannot run leaves no samples */
}

static void results_exchange(struct replay_result *result, struct replay_result *other)
{
    struct replay_result moved = *result;
    *result = *other;
    *other = moved;
    result->trials = other->trials;
    result->trial_count = other->trial_count;
    result->refusal = other->refusal;
    other->trials = NULL;
    other->trial_count = 0;
    other->refusal = NULL;
}

static void decision_say(const struct warming *warming, const struct calibrate_trial *trials, size_t chosen, size_t count, char *text, size_t text_bytes)
{
    uint64_t reference_ns = warming->subject.in_vivo_ns;
    double first = 100 * calibrate_residual_ratio(&trials[0], reference_ns), taken = 100 * calibrate_residual_ratio(&trials[chosen], reference_ns);
    if (chosen)
        snprintf(text, text_bytes, "%s was %+.1f %% from the time in vivo, this %+.1f %%", warmup_name(trials[0].kind), first, taken);
    else if (calibrate_is_near(&trials[0], reference_ns, warming->subject.members))
        snprintf(text, text_bytes, "%s, and the time in vivo agrees", warming->why);
    else
        snprintf(text, text_bytes, "%s; %+.1f %% from the time in vivo, and %s", warming->why, first,
                 count > 1 ? "no other warm-up is clearly nearer" : "nothing else was tried");
}

/* Then its time is worth nothing, and the program's prediction is, too. */
static bool is_far_and_heavy(const struct warming *warming, const struct calibrate_trial *trial)
{
    return trial->done && trial->time_ns * CALIBRATE_FAR_RATIO < (double)warming->subject.in_vivo_ns
           && (double)warming->target->class->time_ns > TRIALS_FAR_SHARE * (double)store_manifest(warming->session->store)->wall_ns;
}

/* By how much all invocations of the class would be too long or too short together; 0 where nobody sees that in the program's time. */
static double missed_ns(const struct warming *warming, const struct calibrate_trial *trial)
{
    double class_ns = (double)warming->target->class->time_ns, ratio = calibrate_residual_ratio(trial, warming->subject.in_vivo_ns);
    double missed_ns = trial->done ? class_ns * fabs(ratio) : 0;
    return missed_ns > TRIALS_MISSED_SHARE * (double)store_manifest(warming->session->store)->wall_ns ? missed_ns : 0;
}

/* `result` was measured as expected. budget_ns: of all its replays, or 0. */
static enum pcere_status calibrate(struct warming *warming, uint64_t budget_ns, struct replay_result *result, struct pcere_error *error)
{
    struct calibrate_trial trials[WARMUP_KINDS];
    struct replay_result others[WARMUP_KINDS];
    size_t count = 1;
    uint64_t spent_ns = 0;
    double most_ns = fmax(warming->session->options->warmup ? TRIALS_COST_NS : 0, TRIALS_COST_RATIO * (double)warming->target->class->time_ns);
    most_ns = budget_ns ? fmin(most_ns, (double)budget_ns / WARMING_TRIAL_PARTS) : most_ns;
    enum pcere_status status = trial_read(&result->sample, warming->kind, result->sample.cost_ns, &trials[0], error);
    if (!status && !budget_ns && is_far_and_heavy(warming, &trials[0]))
        most_ns = fmax(most_ns, TRIALS_FAR_NS);
    if (!status && !budget_ns)
        most_ns = fmax(most_ns, fmin(missed_ns(warming, &trials[0]), TRIALS_FAR_NS));
    enum warmup_kind next;
    while (!status && calibrate_may_try(&warming->subject, trials, count, spent_ns, most_ns) && count < WARMUP_KINDS
           && calibrate_next(&warming->subject, trials, count, &next)) {
        status = trial_measure(warming, next, result->sample.threads, &others[count], error);
        if (!status)
            status = trial_read(&others[count].sample, next, others[count].sample.cost_ns, &trials[count], error);
        spent_ns += others[count].sample.cost_ns;
        count++;
    }
    size_t chosen = status ? 0 : calibrate_choose(&warming->subject, trials, count);
    if (!status) {
        char text[256];
        decision_say(warming, trials, chosen, count, text, sizeof text);
        warming->kind = trials[chosen].kind;
        warming->has_residual = true;
        warming->residual_ratio = calibrate_residual_ratio(&trials[chosen], warming->subject.in_vivo_ns);
        if (chosen)
            results_exchange(result, &others[chosen]);
        free(result->sample.warmup_reason);
        result->sample.warmup_reason = reason_text(warming, warming->kind, text);
        result->sample.cost_ns = trials[0].cost_ns + spent_ns;
        warming->why = "as calibrated before";
    }
    for (size_t i = 1; i < count; i++) {
        if (!status && others[i].sample.sample_count)
            status = trial_keep(result, &others[i].sample, error);
        replay_result_done(&others[i]);
    }
    warming->calibrates = false;
    return status;
}

/* What a comparison leaves holds for the numbers of threads behind it. */
static void residual_note(struct warming *warming, struct replay_result *result)
{
    const struct store_sample *sample = &result->sample;
    struct calibrate_trial trial = {0};
    bool own = sample->threads == store_manifest(warming->session->store)->threads && warming->kind < WARMUP_KINDS && !warming->session->elsewhere
               && !*sample->flags && !*sample->settings && warming->subject.in_vivo_ns;
    result->reference_ns = warming->subject.in_vivo_ns;
    if (own && !trial_read(sample, warming->kind, 0, &trial, NULL) && trial.done) {
        result->sample.has_residual = true;
        result->sample.residual_ratio = calibrate_residual_ratio(&trial, warming->subject.in_vivo_ns);
        warming->has_residual = true;
        warming->residual_ratio = result->sample.residual_ratio;
    } else if (warming->has_residual) {
        result->sample.has_residual = true;
        result->sample.residual_ratio = warming->residual_ratio;
    }
}

enum pcere_status warming_settle(struct warming *warming, const char *after, struct replay_result *result, struct pcere_error *error)
{
    if (!warming->toured_after)
        warming->why = "what ran around it runs around it";
    warming->toured_after = after;
    warming->kind = WARMUP_PRECEDED;
    free(result->sample.warmup_policy);
    free(result->sample.warmup_reason);
    result->sample.warmup_policy = strdup(warmup_name(WARMUP_PRECEDED));
    result->sample.warmup_reason = reason_text(warming, WARMUP_PRECEDED, warming->why);
    if (!result->sample.warmup_policy || !result->sample.warmup_reason)
        return pcere_fail_memory(error, "a sample");
    residual_note(warming, result);
    struct calibrate_trial toured = {0};
    enum pcere_status status = PCERE_OK;
    if (warming->calibrates && result->sample.threads == store_manifest(warming->session->store)->threads)
        status = trial_read(&result->sample, WARMUP_PRECEDED, 0, &toured, error);
    if (!toured.done || missed_ns(warming, &toured) <= 0)
        return status;
    status = calibrate(warming, 0, result, error);
    warming->tour_left = warming->kind != WARMUP_PRECEDED;
    residual_note(warming, result);
    return status;
}

/* Where the whole replay, the result, is farther from the time in vivo than the shots, the last trial, something else disturbed both: the shots are the result again. */
static enum pcere_status shots_return(struct warming *warming, struct replay_result *result, struct pcere_error *error)
{
    struct store_sample *shots = &result->trials[result->trial_count - 1];
    struct calibrate_trial whole = {0}, sampled = {0};
    enum pcere_status status = trial_read(&result->sample, warming->kind, 0, &whole, error);
    if (!status)
        status = trial_read(shots, warming->kind, 0, &sampled, error);
    uint64_t reference_ns = warming->subject.in_vivo_ns;
    if (status || !reference_ns || calibrate_distance(&whole, reference_ns) <= calibrate_distance(&sampled, reference_ns))
        return status;
    struct store_sample moved = *shots;
    char *kind = moved.kind;
    moved.kind = result->sample.kind;
    moved.cost_ns = result->sample.cost_ns;
    *shots = result->sample;
    shots->kind = kind;
    result->sample = moved;
    warming->whole_why = NULL;
    free(result->refusal);
    result->refusal = NULL;
    return PCERE_OK;
}

/* Shots that do not stand for the region become a trial, and it is replayed whole, where its class took long enough for that: at all other numbers of threads, too, unless it took whole what they took. */
static enum pcere_status disbelieve(struct warming *warming, uint64_t budget_ns, struct replay_result *result, struct pcere_error *error)
{
    const struct store_manifest *manifest = store_manifest(warming->session->store);
    uint32_t threads = result->sample.threads;
    bool own = !warming->session->elsewhere && !*result->sample.flags && !*result->sample.settings, comparable = own && threads == manifest->threads;
    uint64_t reference_ns = comparable && !warming->shots_stand ? warming->subject.in_vivo_ns : 0, least_ns = own ? doubt_least_ns(warming->subject.in_vivo_ns, warming->codelet->capture_threads, threads) : 0;
    const char *why = own && is_sampled_auto(warming->session) && !sibling_agrees(warming, &result->sample)
                          ? doubt_of_shots(&result->sample, reference_ns, least_ns, share_of(warming->session, warming->target)) : NULL;
    uint64_t captured = warming->codelet->capture_threads ? warming->codelet->capture_threads : 1;
    uint64_t run_ns = warming->subject.in_vivo_ns + (warming->kind == WARMUP_PRECEDED ? warming_before_ns(warming) : 0);
    uint64_t in_vivo_ns = threads > captured ? run_ns / threads * captured : run_ns;
    uint64_t changed = codelet_memory_changed_pages(warming->memory, manifest->page_size);
    bool weighs = (double)warming->target->class->time_ns > DOUBT_WEIGHT_RATIO * (double)manifest->wall_ns;
    if (budget_ns && result->sample.cost_ns + WHOLE_RUNS_LEAST * in_vivo_ns > budget_ns)
        return PCERE_OK;
    bool far = doubt_is_far(&result->sample, reference_ns, least_ns);
    if (!why || !weighs || (!far && !doubt_pays(replay_class_ns_at(warming->target->class, warming->codelet, threads), in_vivo_ns, changed, warming->session->page_ns,
                                               manifest->wall_ns)))
        return PCERE_OK;
    struct replay_result whole;
    enum pcere_status status = replay_result_begin(warming->session, warming->target, threads, "replay", &whole, error);
    if (status)
        return status;
    warming->whole_why = why;
    whole.sample.cost_ns = result->sample.cost_ns;
    whole.load_ns = result->load_ns;
    results_exchange(result, &whole);
    status = trial_keep(result, &whole.sample, error);
    replay_result_done(&whole);
    if (!status)
        status = measure_as(warming, warming->kind, budget_ns, false, warming->why, result, error);
    if (status || !comparable)
        return status;
    warming->shots_stand = whole_agrees(warming, &result->trials[result->trial_count - 1], &result->sample);
    warming->whole_why = warming->shots_stand ? NULL : warming->whole_why;
    return shots_return(warming, result, error);
}

/* A precision or a budget is for the warm-up that was taken: more processes under it, if they fit. */
static enum pcere_status measure_on(struct warming *warming, uint64_t budget_ns, struct replay_result *result, struct pcere_error *error)
{
    uint64_t most_ns = budget_ns ? budget_ns : POLICY_PATIENCE_NS;
    if (result->sample.cost_ns + result->process_ns > most_ns)
        return PCERE_OK;
    const char *whole_why = warming->whole_why;
    char *why = result->sample.warmup_reason, *refusal = result->refusal;
    result->sample.warmup_reason = result->refusal = NULL;
    warming->whole_why = refusal ? refusal : whole_why;
    enum pcere_status status = measure_as(warming, warming->kind, budget_ns, false, warming->why, result, error);
    warming->whole_why = whole_why;
    free(result->sample.warmup_reason);
    free(result->refusal);
    result->sample.warmup_reason = why;
    result->refusal = refusal;
    return status;
}

enum pcere_status warming_measure(struct warming *warming, uint64_t budget_ns, struct replay_result *result, struct pcere_error *error)
{
    const struct replay_options *options = warming->session->options;
    enum warmup_kind expected = warming->kind;
    bool here = warming->calibrates && result->sample.threads == store_manifest(warming->session->store)->threads;
    warming->opens = here && (options->precision_ratio > 0 || options->budget_ns);
    enum pcere_status status = measure_as(warming, warming->kind, budget_ns, false, warming->why, result, error);
    bool sampled = result->sample.sampled_ratio > 0;
    if (!status && sampled)
        status = disbelieve(warming, budget_ns, result, error);
    else if (!status && result->sample.threads == store_manifest(warming->session->store)->threads && is_sampled_auto(warming->session))
        warming->whole_why = "it was replayed whole with as many threads as it was captured with, and compared so";
    if (here && !status && !sampled && expected == warming->kind)
        status = calibrate(warming, budget_ns, result, error);
    bool goes_on = warming->opens && !sampled;
    warming->opens = false;
    if (goes_on && !status)
        status = measure_on(warming, budget_ns, result, error);
    if (!status)
        status = replay_whole_note(warming->session, warming->target, &result->sample, error);
    if (!status)
        residual_note(warming, result);
    return status;
}

enum pcere_status warming_calibrate_beside(struct warming *warming, struct replay_result *result, struct pcere_error *error)
{
    struct replay_result beside;
    if (!warming->session->options->warmup && BESIDE_RUNS * (double)warming->target->class->representative_ns > TRIALS_COST_RATIO * (double)warming->target->class->time_ns) {
        warming->calibrates = false;
        return PCERE_OK;
    }
    const struct store_manifest *manifest = store_manifest(warming->session->store);
    enum pcere_status status = replay_result_begin(warming->session, warming->target, manifest->threads, "replay", &beside, error);
    if (status)
        return status;
    struct pcere_error failure = {0};
    enum warmup_kind expected = warming->kind;
    status = measure_as(warming, warming->kind, 0, true, warming->why, &beside, &failure);
    if (!status && expected == warming->kind)
        status = calibrate(warming, 0, &beside, &failure);
    result->sample.cost_ns += beside.sample.cost_ns;
    for (size_t i = 0; !status && i < beside.trial_count; i++)
        status = trial_keep(result, &beside.trials[i], &failure);
    if (!status && beside.sample.sample_count) {
        residual_note(warming, &beside);
        status = trial_keep(result, &beside.sample, &failure);
    }
    replay_result_done(&beside);
    warming->calibrates = false;
    if (status && status != PCERE_NO) {
        *error = failure;
        return status;
    }
    return PCERE_OK;                  /* if it cannot run with so many threads, it is not calibrated */
}
