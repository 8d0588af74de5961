/* cli/tune_search.c - see tune_search.h. */
#include "cli/interrupt.h"
#include "cli/tune_search.h"
#include "core/text.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CONFIRMATIONS 2                  /* measurements of base and best beside the one that chose them */

static uint64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- regions -------------------------------------------------------------------------------------------------------------- */

enum pcere_status tune_search_init(struct tune_search *search, double share_least_ratio, struct pcere_error *error)
{
    const struct store_manifest *manifest = store_manifest(search->cli->store);
    search->regions = calloc(search->setup.target_count + 1, sizeof *search->regions);
    if (!search->regions)
        return pcere_fail_memory(error, "the regions");
    for (size_t i = 0; i < search->setup.target_count;) {
        const struct replay_target *first = &search->setup.targets[i];
        size_t end = i, index = (size_t)(first->region - manifest->regions);
        while (end < search->setup.target_count && search->setup.targets[end].region == first->region)
            end++;
        if ((double)first->region->time_ns >= share_least_ratio * (double)manifest->wall_ns)
            search->regions[search->region_count++] = (struct tune_region){.index = index, .targets = first, .target_count = end - i};
        i = end;
    }
    if (!search->region_count)
        return pcere_fail(error, PCERE_DATA, 0, "name it, then its weight does not matter", "no captured region weighs enough to be tuned");
    return PCERE_OK;
}

void tune_search_done(struct tune_search *search)
{
    for (size_t i = 0; i < search->region_count; i++) {
        free(search->regions[i].trials);
        free(search->regions[i].note);
    }
    free(search->regions);
    search->regions = NULL;
    search->region_count = 0;
}

const struct tuning_trial *tune_trial(const struct tune_region *region, const struct tuning_setting *setting)
{
    for (size_t i = 0; i < region->trial_count; i++)
        if (tuning_same(&region->trials[i].setting, setting))
            return &region->trials[i];
    return NULL;
}

static void note_add(struct tune_region *region, const char *format, const char *words)
{
    struct text text = {0};
    if (region->note)
        return;
    text_addf(&text, format, words);
    region->note = text_take(&text);
}

/* ---- one setting ----------------------------------------------------------------------------------------------------------- */

static struct replay_options options_of(const struct tune_search *search, const struct tuning_setting *setting)
{
    struct replay_options options = search->setup.options;
    options.threads = &search->space.threads[setting->values[TUNING_THREADS]];
    options.thread_count = 1;
    options.flags = search->space.flags[setting->values[TUNING_FLAGS]];
    options.schedule = search->space.schedules[setting->values[TUNING_SCHEDULE]];
    options.all_loops = search->space.all_loops;
    options.bind = search->space.binds[setting->values[TUNING_BIND]];
    return options;
}

/* What the store's samples say of it; false: nothing. */
static bool trial_known(struct tune_search *search, const struct tune_region *region, const struct tuning_setting *setting, struct tuning_trial *ret_trial)
{
    struct replay_options options = options_of(search, setting);
    struct predict_request request = search->prediction.request;
    struct predict_region predicted;
    uint64_t cost_ns;
    char *settings = replay_settings_text(&options);
    request.threads = options.threads;
    request.thread_count = 1;
    request.flags = options.flags;
    request.settings = settings;
    request.seed = search->seed;
    bool known = settings && predict_one_region(&request, region->index, &predicted, &cost_ns, NULL) == PCERE_OK;
    free(settings);
    if (!known)
        return false;
    *ret_trial = (struct tuning_trial){*setting, predicted.time_ns, predicted.low_ns, predicted.high_ns, false};
    free(predicted.classes);
    return true;
}

static enum pcere_status trial_put(struct tune_region *region, const struct tuning_trial *trial, struct pcere_error *error)
{
    for (size_t i = 0; i < region->trial_count; i++)
        if (tuning_same(&region->trials[i].setting, &trial->setting)) {
            region->trials[i] = *trial;
            return PCERE_OK;
        }
    if (!array_reserve(&region->trials, &region->trial_capacity, region->trial_count + 1, sizeof *region->trials))
        return pcere_fail_memory(error, "the trials");
    region->trials[region->trial_count++] = *trial;
    return PCERE_OK;
}

/* The samples of a report go to the store; regions of which a class did not run have failed with that setting. */
static enum pcere_status report_take(struct tune_search *search, const struct replay_report *report, struct tune_region *const *regions, size_t count,
                                     const struct tuning_setting *setting, struct pcere_error *error)
{
    enum pcere_status status = PCERE_OK;
    for (size_t i = 0; i < report->result_count && status == PCERE_OK; i++)
        if (report->results[i].error.status == PCERE_OK && report->results[i].sample.sample_count)
            status = store_sample_append(search->cli->store, &report->results[i].sample, error);
    if (status == PCERE_OK)
        status = prediction_reload(search->cli, &search->prediction, error);
    for (size_t r = 0; r < count && status == PCERE_OK; r++) {
        struct tuning_trial trial = {.setting = *setting, .failed = true};
        if (!trial_known(search, regions[r], setting, &trial)) {
            search->failed++;
            for (size_t i = 0; i < report->result_count; i++)
                if (report->results[i].target->region == regions[r]->targets->region && report->results[i].error.status != PCERE_OK)
                    note_add(regions[r], "a setting does not run: %s", report->results[i].error.message);
        }
        status = trial_put(regions[r], &trial, error);
    }
    return status;
}

static enum pcere_status interrupted(struct tune_search *search, struct pcere_error *error)
{
    return interrupt_fail(search->cli, "the same command goes on from here", error, "what was measured, %zu setting%s of regions, is in '%s'", search->measured,
                          search->measured == 1 ? "" : "s", store_path(search->cli->store));
}

/* Replay some regions with one setting. Flags that do not compile are a setting that fails, not a failure. */
static enum pcere_status setting_measure(struct tune_search *search, struct tune_region *const *regions, size_t count,
                                         const struct tuning_setting *setting, struct pcere_error *error)
{
    struct replay_options options = options_of(search, setting);
    struct replay_report report = {0};
    size_t target_count = 0;
    struct replay_target *targets = calloc(search->setup.target_count + 1, sizeof *targets);
    if (!targets)
        return pcere_fail_memory(error, "the codelets");
    for (size_t r = 0; r < count; r++)
        for (size_t i = 0; i < regions[r]->target_count; i++)
            targets[target_count++] = regions[r]->targets[i];
    uint64_t start_ns = clock_ns();
    enum pcere_status status = replay_run(search->cli->store, targets, target_count, &options, &report, error);
    search->spent_ns += clock_ns() - start_ns;
    /* What was ended from the terminal says nothing of its setting. */
    if (status != PCERE_OK && interrupt_came()) {
        search->measured -= count;
        status = interrupted(search, error);
    } else if (status == PCERE_NO && setting->values[TUNING_FLAGS]) {
        for (size_t r = 0; r < count; r++) {
            const struct tuning_trial trial = {.setting = *setting, .failed = true};
            note_add(regions[r], "flags do not compile: %s", error->message);
            status = trial_put(regions[r], &trial, error);
            search->failed++;
        }
    } else if (status == PCERE_OK) {
        status = report_take(search, &report, regions, count, setting, error);
        replay_report_done(&report);
        if (status == PCERE_OK && interrupt_came())
            status = interrupted(search, error);
    }
    free(targets);
    return status;
}

static bool out_of_time(const struct tune_search *search)
{
    return search->budget_ns && search->spent_ns >= search->budget_ns;
}

/* ---- the search ------------------------------------------------------------------------------------------------------------ */

#define MATTERS_RATIO 0.9                 /* of the time without: what makes more of a difference counts even where intervals overlap */

static bool matters(const struct tuning_trial *trial, const struct tuning_trial *simpler)
{
    return simpler->failed || tuning_clearly_faster(trial, simpler) || (double)trial->time_ns < MATTERS_RATIO * (double)simpler->time_ns;
}

/* What makes no clear difference is left as it is: the best of many noisy times has flags or bindings by chance. */
static const struct tuning_trial *simplest(const struct tune_region *region, const struct tuning_trial *best)
{
    static const enum tuning_dimension dimensions[] = {TUNING_FLAGS, TUNING_BIND, TUNING_SCHEDULE};
    for (size_t i = 0; best && i < sizeof dimensions / sizeof *dimensions; i++) {
        struct tuning_setting setting = best->setting;
        setting.values[dimensions[i]] = 0;
        const struct tuning_trial *simpler = tune_trial(region, &setting);
        best = simpler && !matters(best, simpler) ? simpler : best;
    }
    return best;
}

static void best_update(struct tune_search *search, struct tune_region *region)
{
    size_t base_count = 0;
    struct tuning_trial *base = calloc(region->trial_count + 1, sizeof *base);
    for (size_t i = 0; base && i < region->trial_count; i++) {
        const struct tuning_setting *setting = &region->trials[i].setting;
        if (!setting->values[TUNING_FLAGS] && !setting->values[TUNING_SCHEDULE] && !setting->values[TUNING_BIND])
            base[base_count++] = region->trials[i];
    }
    const struct tuning_trial *found = base ? tuning_best(base, base_count, search->space.threads) : NULL;
    region->base = found ? tune_trial(region, &found->setting) : NULL;
    region->best = tuning_best(region->trials, region->trial_count, search->space.threads);
    region->best = simplest(region, region->best);
    region->clear = region->base && region->best && tuning_clearly_faster(region->best, region->base);
    free(base);
}

struct wish { struct tuning_setting setting; struct tune_region *region; bool done; };

/* Builds are what costs most: settings with the same flags together. */
static int wish_order(const void *left, const void *right)
{
    static const enum tuning_dimension order[] = {TUNING_FLAGS, TUNING_SCHEDULE, TUNING_BIND, TUNING_THREADS};
    const struct wish *a = left, *b = right;
    for (size_t i = 0; i < TUNING_DIMENSIONS; i++)
        if (a->setting.values[order[i]] != b->setting.values[order[i]])
            return a->setting.values[order[i]] < b->setting.values[order[i]] ? -1 : 1;
    return (a->region->index > b->region->index) - (a->region->index < b->region->index);
}

static enum pcere_status wishes_measure(struct tune_search *search, struct wish *wishes, size_t count, bool again, struct pcere_error *error)
{
    enum pcere_status status = PCERE_OK;
    struct tune_region **group = calloc(search->region_count + 1, sizeof(struct tune_region *));
    if (!group)
        return pcere_fail_memory(error, "the regions");
    qsort(wishes, count, sizeof *wishes, wish_order);
    for (size_t i = 0; i < count && status == PCERE_OK;) {
        size_t end = i, group_count = 0;
        for (; end < count && tuning_same(&wishes[end].setting, &wishes[i].setting); end++) {
            struct tuning_trial trial;
            if (!again && trial_known(search, wishes[end].region, &wishes[i].setting, &trial)) {
                search->known++;
                if (status == PCERE_OK)
                    status = trial_put(wishes[end].region, &trial, error);
            } else {
                group[group_count++] = wishes[end].region;
            }
        }
        if (status == PCERE_OK && group_count && out_of_time(search)) {
            search->left += again ? 0 : group_count;
        } else if (status == PCERE_OK && group_count) {
            search->measured += group_count;
            status = setting_measure(search, group, group_count, &wishes[i].setting, error);
        }
        i = end;
    }
    free(group);
    for (size_t r = 0; r < search->region_count; r++)
        best_update(search, &search->regions[r]);
    return status;
}

static enum pcere_status stage_run(struct tune_search *search, uint32_t stage, struct wish *wishes, struct tuning_setting *settings,
                                   struct pcere_error *error)
{
    static const struct tuning_setting now = {{0}};
    size_t count = 0;
    for (size_t r = 0; r < search->region_count; r++) {
        struct tune_region *region = &search->regions[r];
        if (stage && !region->best)
            continue;
        size_t wanted = tuning_stage(&search->space.counts, stage, region->best ? &region->best->setting : &now, settings);
        for (size_t i = 0; i < wanted; i++)
            if (!tune_trial(region, &settings[i]))
                wishes[count++] = (struct wish){.setting = settings[i], .region = region};
    }
    return wishes_measure(search, wishes, count, false, error);
}

static bool same_file(const struct tune_region *one, const struct tune_region *other)
{
    return text_equal(one->targets->region->file, other->targets->region->file);
}

/* A file has one set of flags: what is best for a region is wanted with those of its file's other regions as well, and without any. */
static enum pcere_status files_complete(struct tune_search *search, struct pcere_error *error)
{
    size_t count = 0;
    struct wish *wishes = calloc(search->region_count * (search->region_count + 1) + 1, sizeof *wishes);
    if (!wishes)
        return pcere_fail_memory(error, "the settings");
    for (size_t r = 0; r < search->region_count; r++) {
        struct tune_region *region = &search->regions[r];
        for (size_t i = 0; i <= search->region_count && region->best; i++) {
            const struct tune_region *other = i < search->region_count ? &search->regions[i] : NULL;
            struct tuning_setting setting = region->best->setting;
            if (other && (!other->best || !same_file(region, other)))
                continue;
            setting.values[TUNING_FLAGS] = other ? other->best->setting.values[TUNING_FLAGS] : 0;
            bool wished = tune_trial(region, &setting) != NULL;
            for (size_t w = 0; w < count && !wished; w++)
                wished = wishes[w].region == region && tuning_same(&wishes[w].setting, &setting);
            if (!wished)
                wishes[count++] = (struct wish){.setting = setting, .region = region};
        }
    }
    enum pcere_status status = wishes_measure(search, wishes, count, false, error);
    free(wishes);
    return status;
}

/* The best of many noisy times is too good by chance: what was found and what it is compared with are measured again. */
static enum pcere_status confirm(struct tune_search *search, struct wish *wishes, struct pcere_error *error)
{
    enum pcere_status status = PCERE_OK;
    for (int round = 0; round < CONFIRMATIONS && status == PCERE_OK; round++) {
        size_t count = 0;
        for (size_t r = 0; r < search->region_count; r++) {
            struct tune_region *region = &search->regions[r];
            if (!region->base || region->best == region->base)
                continue;
            wishes[count++] = (struct wish){.setting = region->base->setting, .region = region};
            wishes[count++] = (struct wish){.setting = region->best->setting, .region = region};
        }
        status = wishes_measure(search, wishes, count, true, error);
    }
    return status;
}

/* ---- results with other flags or schedules must be right -------------------------------------------------------------------------------- */

/* By as many threads as the capture's, but for `threads`. */
static enum pcere_status setting_verify(struct tune_search *search, const struct tune_region *region, const struct tuning_setting *setting, uint32_t threads,
                                        enum verify_verdict *ret_verdict, const char **ret_word, struct pcere_error *error)
{
    struct replay_options options = options_of(search, setting);
    threads = threads ? threads : store_manifest(search->cli->store)->threads;
    struct verify_report report;
    options.threads = &threads;
    options.tolerance_ratio = -1;
    uint64_t start_ns = clock_ns();
    enum pcere_status status = verify_run(search->cli->store, region->targets, region->target_count, &options, &report, error);
    search->spent_ns += clock_ns() - start_ns;
    if (interrupt_came()) {
        if (status == PCERE_OK)
            verify_report_done(&report);
        return interrupted(search, error);
    }
    if (status != PCERE_OK)
        return status;
    *ret_verdict = VERIFY_IDENTICAL;
    *ret_word = "identical";
    for (size_t i = 0; i < report.result_count; i++) {
        const struct verify_result *result = &report.results[i];
        enum verify_verdict verdict = result->error.status == PCERE_OK ? result->verdict : VERIFY_DIFFERENT;
        if (verdict > *ret_verdict) {
            *ret_verdict = verdict;
            *ret_word = result->error.status != PCERE_OK ? "not comparable" : verdict <= VERIFY_UNUSED ? "identical" : verdict == VERIFY_ROUNDED ? "rounding" : "different";
        }
    }
    verify_report_done(&report);
    return PCERE_OK;
}

/* A loop may rely on which thread has which iterations (nowait, memory of each thread's own), which only several threads show: as many as are recommended. Where results
 * differ with so many anyhow, that says nothing of the schedule. */
static enum pcere_status schedule_verify(struct tune_search *search, const struct tune_region *region, const struct tuning_setting *setting, enum verify_verdict *ret_verdict,
                                         const char **ret_word, struct pcere_error *error)
{
    const uint32_t threads = search->space.threads[setting->values[TUNING_THREADS]];
    struct tuning_setting as_it_is = *setting;
    enum verify_verdict without;
    const char *word;
    as_it_is.values[TUNING_SCHEDULE] = 0;
    enum pcere_status status = setting_verify(search, region, setting, threads, ret_verdict, ret_word, error);
    if (status != PCERE_OK || *ret_verdict <= VERIFY_ROUNDED)
        return status;
    status = setting_verify(search, region, &as_it_is, threads, &without, &word, error);
    if (status != PCERE_OK || without <= VERIFY_ROUNDED)
        return status;
    return setting_verify(search, region, setting, 0, ret_verdict, ret_word, error);
}

/* Take the best whose results are right; a trial whose are not has failed, and so have others with the flags, or the schedule, that made them wrong. */
static enum pcere_status region_verify(struct tune_search *search, struct tune_region *region, struct pcere_error *error)
{
    for (;;) {
        enum verify_verdict verdict = VERIFY_DIFFERENT;
        const char *word = NULL;
        const struct tuning_setting setting = region->best ? region->best->setting : (struct tuning_setting){{0}};
        uint32_t flags = setting.values[TUNING_FLAGS], schedule = search->space.all_loops ? setting.values[TUNING_SCHEDULE] : 0;
        if (!flags && !schedule)
            return PCERE_OK;
        enum tuning_dimension other = flags ? TUNING_FLAGS : TUNING_SCHEDULE;
        struct tuning_setting part = setting;                /* flags by themselves first */
        part.values[TUNING_SCHEDULE] = schedule ? 0 : part.values[TUNING_SCHEDULE];
        enum pcere_status status = flags ? setting_verify(search, region, &part, 0, &verdict, &word, error) : PCERE_OK;
        if (status == PCERE_OK && schedule && (!flags || verdict <= VERIFY_ROUNDED)) {
            other = TUNING_SCHEDULE;
            status = schedule_verify(search, region, &setting, &verdict, &word, error);
        }
        if (status != PCERE_OK)
            return status;
        region->verified = word;
        if (verdict <= VERIFY_ROUNDED)
            return PCERE_OK;
        note_add(region, other == TUNING_FLAGS ? "results with %s differ beyond rounding" : "results with schedule %s differ beyond rounding",
                 other == TUNING_FLAGS ? search->space.flags[flags] : search->space.schedules[schedule]);
        region->verified = NULL;
        for (size_t i = 0; i < region->trial_count; i++)
            region->trials[i].failed = region->trials[i].failed || region->trials[i].setting.values[other] == setting.values[other];
        best_update(search, region);
    }
}

/* ---- one file, one set of flags -------------------------------------------------------------------------------------------- */

static uint32_t flags_of(const struct tuning_trial *trial)
{
    return trial->setting.values[TUNING_FLAGS];
}

/* The region's best with other flags; NULL: that was not measured, or does not run, or its results are not right. */
static const struct tuning_trial *trial_with(const struct tune_region *region, uint32_t flags)
{
    struct tuning_setting setting = region->best->setting;
    setting.values[TUNING_FLAGS] = flags;
    const struct tuning_trial *trial = tune_trial(region, &setting);
    return trial && !trial->failed ? trial : NULL;
}

/* What the regions of a file take together with these flags; 0: some region has no such trial. */
static uint64_t file_time_ns(const struct tune_search *search, const struct tune_region *first, uint32_t flags)
{
    uint64_t sum_ns = 0;
    for (size_t r = 0; r < search->region_count; r++) {
        const struct tune_region *region = &search->regions[r];
        const struct tuning_trial *trial = region->best && same_file(region, first) ? trial_with(region, flags) : NULL;
        if (region->best && same_file(region, first) && !trial)
            return 0;
        sum_ns += trial ? trial->time_ns : 0;
    }
    return sum_ns;
}

/* Are the results of all regions of the file right with these flags? Trials of those whose are not have failed. */
static enum pcere_status file_verify(struct tune_search *search, const struct tune_region *first, uint32_t flags, bool *ret_right, struct pcere_error *error)
{
    *ret_right = true;
    for (size_t r = 0; r < search->region_count && *ret_right && flags; r++) {
        struct tune_region *region = &search->regions[r];
        if (!region->best || !same_file(region, first) || flags_of(region->best) == flags)
            continue;
        enum verify_verdict verdict = VERIFY_DIFFERENT;
        const char *word;
        enum pcere_status status = setting_verify(search, region, &trial_with(region, flags)->setting, 0, &verdict, &word, error);
        if (status != PCERE_OK)
            return status;
        *ret_right = verdict <= VERIFY_ROUNDED;
        for (size_t i = 0; i < region->trial_count && !*ret_right; i++)
            region->trials[i].failed = region->trials[i].failed || flags_of(&region->trials[i]) == flags;
    }
    return PCERE_OK;
}

/* The region's best with these flags, else the fastest of its trials with them, else as it is. */
static const struct tuning_trial *fastest_with(const struct tune_region *region, uint32_t flags)
{
    const struct tuning_trial *fastest = NULL, *as_best = trial_with(region, flags);
    if (as_best)
        return as_best;
    for (size_t i = 0; i < region->trial_count; i++) {
        const struct tuning_trial *trial = &region->trials[i];
        if (!trial->failed && flags_of(trial) == flags && (!fastest || trial->time_ns < fastest->time_ns))
            fastest = trial;
    }
    return fastest ? fastest : region->base;
}

static enum pcere_status file_settle(struct tune_search *search, const struct tune_region *first, struct pcere_error *error)
{
    bool right = false;
    uint32_t best = 0;
    while (!right) {
        uint64_t best_ns = best = 0;
        for (uint32_t flags = 0; flags < search->space.counts.counts[TUNING_FLAGS]; flags++) {
            uint64_t time_ns = file_time_ns(search, first, flags);
            if (time_ns && (!best_ns || time_ns < best_ns)) {
                best_ns = time_ns;
                best = flags;
            }
        }
        enum pcere_status status = best_ns ? file_verify(search, first, best, &right, error) : PCERE_OK;
        if (status != PCERE_OK)
            return status;
        right = right || !best_ns;
    }
    for (size_t r = 0; r < search->region_count; r++)
        if (search->regions[r].best && same_file(&search->regions[r], first))
            search->regions[r].applied = fastest_with(&search->regions[r], best);
    return PCERE_OK;
}

/* Regions of one file whose best flags are the same keep these. */
static enum pcere_status files_settle(struct tune_search *search, struct pcere_error *error)
{
    for (size_t r = 0; r < search->region_count; r++)
        search->regions[r].applied = search->regions[r].best;
    for (size_t r = 0; r < search->region_count; r++) {
        const struct tune_region *first = &search->regions[r];
        bool done = !first->best, differ = false;
        for (size_t i = 0; i < search->region_count && !done; i++) {
            const struct tune_region *other = &search->regions[i];
            if (!other->best || !same_file(first, other))
                continue;
            done = i < r;
            differ = differ || flags_of(other->best) != flags_of(first->best);
        }
        enum pcere_status status = differ && !done ? file_settle(search, first, error) : PCERE_OK;
        if (status != PCERE_OK)
            return status;
    }
    return PCERE_OK;
}

enum pcere_status tune_search_run(struct tune_search *search, struct pcere_error *error)
{
    size_t most = tuning_stage_most(&search->space.counts);
    struct wish *wishes = calloc(search->region_count * (most + 2), sizeof *wishes);
    struct tuning_setting *settings = calloc(most, sizeof *settings);
    enum pcere_status status = wishes && settings ? PCERE_OK : pcere_fail_memory(error, "the settings");
    for (uint32_t stage = 0; stage < tuning_stages(&search->space.counts) && status == PCERE_OK; stage++)
        status = stage_run(search, stage, wishes, settings, error);
    if (status == PCERE_OK)
        status = files_complete(search, error);
    if (status == PCERE_OK)
        status = confirm(search, wishes, error);
    for (size_t r = 0; r < search->region_count && status == PCERE_OK; r++)
        status = region_verify(search, &search->regions[r], error);
    if (status == PCERE_OK)
        status = files_settle(search, error);
    free(wishes);
    free(settings);
    return status;
}
