/* cli/verb_tune.c - pcere tune: the best threads, flags, schedule and binding of each region, found on its codelets. */
#include "cli/interrupt.h"
#include "cli/looking.h"
#include "cli/measure_store.h"
#include "cli/tune_search.h"
#include "cli/verbs.h"
#include "core/elf_file.h"
#include "core/json.h"
#include "core/text.h"
#include "core/units.h"
#include "predictor/runs.h"
#include "replay-rt/launcher/replay_session.h"
#include "store/store.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BUDGET_NS 120000000000u
#define SHARE_LEAST_RATIO 0.01

struct tune_words {
    struct cli_threads threads;
    const char *flags, *schedules, *binds, *budget;
    uint64_t seed;
    bool measure, all_loops;
};

/* ---- what is tried ---------------------------------------------------------------------------------------------------------- */

struct list { char *text; const char **items; uint32_t count; };

static void list_done(struct list *list)
{
    free(list->text);
    free(list->items);
}

/* "a; b;c" behind a first item that is NULL: as it is. An empty item is refused. */
static enum pcere_status list_parse(const char *option, const char *words, struct list *list, struct pcere_error *error)
{
    list->text = strdup(words ? words : "");
    list->items = calloc((words ? strlen(words) : 0) + 3, sizeof *list->items);
    if (!list->text || !list->items)
        return pcere_fail_memory(error, "a list");
    list->items[list->count++] = NULL;
    for (char *at = list->text, *next; words && at; at = next) {
        next = strchr(at, ';');
        if (next)
            *next++ = '\0';
        at += strspn(at, " ");
        for (char *end = at + strlen(at); end > at && end[-1] == ' ';)
            *--end = '\0';
        if (!*at)
            return pcere_fail(error, PCERE_USAGE, 0, "separate what is to be tried by semicolons: \"-O2; -O3 -march=native\"", "%s: '%.60s' has an empty item", option, words);
        list->items[list->count++] = at;
    }
    return PCERE_OK;
}

/* Without "-O2", where that is the level. */
static void level_leave(struct list *flags, int level)
{
    char word[sizeof "-O" + 3 * sizeof level];
    uint32_t kept = 1;
    snprintf(word, sizeof word, "-O%d", level);
    for (size_t i = 1; i < flags->count; i++)
        if (strcmp(flags->items[i], word) != 0)
            flags->items[kept++] = flags->items[i];
    flags->count = kept;
}

/* Powers of two up to the processors, and these. */
static size_t threads_usual(uint32_t *threads)
{
    size_t count = 0;
    uint32_t processors = cli_processors();
    for (uint32_t i = 1; i < processors; i *= 2)
        threads[count++] = i;
    threads[count++] = processors;
    return count;
}

static const char flags_usual[] = "-O2; -O3; -O3 -march=native; -O3 -march=native -mprefer-vector-width=512; -O3 -march=native -funroll-loops";

enum { LEVEL_UNKNOWN = -1, LEVEL_DIFFERS = -2 };

/* What the program has loops for: some that may ask for a schedule, or are shared out otherwise; and does it set that itself? Codelets run with the schedule that is tried
 * all the same. And the level that all its units, and those of its libraries, were compiled with: trying that would try what is there. */
struct program { bool asks_for_schedules, sets_schedule; int level; };

static void level_note(struct program *program, const struct elf_file *elf)
{
    const struct elf_unit *units;
    size_t count = elf_file_units(elf, &units);
    for (size_t i = 0; i < count; i++) {
        int level = units[i].header.optimisation < PCERE_OPT_SIZE ? (int)units[i].header.optimisation : LEVEL_DIFFERS;
        program->level = program->level == LEVEL_UNKNOWN || program->level == level ? level : LEVEL_DIFFERS;
    }
}

static enum pcere_status library_look(struct cli *cli, const struct store_image *image, struct program *program, struct pcere_error *error)
{
    char *name = NULL, *path;
    struct elf_file *elf;
    if (!image->library)
        return PCERE_OK;
    if (asprintf(&name, "libraries/%s", image->library) < 0)
        return pcere_fail_memory(error, "the program's libraries");
    enum pcere_status status = store_file(cli->store, name, &path, error);
    free(name);
    if (status)
        return status;
    if (elf_file_open(path, &elf, NULL) == PCERE_OK) {
        level_note(program, elf);
        elf_file_close(elf);
    }
    free(path);
    return PCERE_OK;
}

static enum pcere_status program_look(struct cli *cli, struct program *ret_program, struct pcere_error *error)
{
    char *path;
    struct elf_file *elf;
    enum pcere_status status = store_file(cli->store, "program", &path, error);
    if (status)
        return status;
    if (elf_file_open(path, &elf, NULL) == PCERE_OK) {
        ret_program->asks_for_schedules = elf_file_imports(elf, "__kmpc_dispatch_init_");
        ret_program->sets_schedule = elf_file_imports(elf, "omp_set_schedule");
        level_note(ret_program, elf);
        elf_file_close(elf);
    }
    free(path);
    const struct store_manifest *manifest = store_manifest(cli->store);
    for (size_t i = 0; i < manifest->image_count && !status; i++)
        status = library_look(cli, &manifest->images[i], ret_program, error);
    return status;
}

struct tuner {
    struct tune_search search;
    struct list flags, schedules, binds;
    uint32_t threads[64];
};

static const char schedules_usual[] = "static; dynamic; guided", binds_usual[] = "close; spread";
enum { BIND_PROCESSORS = 3 };       /* from how many on it is tried where threads are bound */

static enum pcere_status space_fill(struct tuner *tuner, const struct tune_words *words, const struct program *program, struct pcere_error *error)
{
    const char *schedules = words->schedules ? words->schedules : program->asks_for_schedules ? schedules_usual : NULL;
    const char *binds = words->binds ? words->binds : cli_processors() >= BIND_PROCESSORS ? binds_usual : NULL;
    size_t thread_count = threads_usual(tuner->threads);
    if (words->threads.count > sizeof tuner->threads / sizeof *tuner->threads)
        return pcere_fail(error, PCERE_USAGE, 0, NULL, "--threads: at most %zu thread counts are searched", sizeof tuner->threads / sizeof *tuner->threads);
    if (words->threads.count)
        thread_count = words->threads.count;
    for (size_t i = 0; i < words->threads.count; i++)
        tuner->threads[i] = words->threads.counts[i];
    enum pcere_status status = list_parse("--flags", words->flags ? words->flags : flags_usual, &tuner->flags, error);
    if (status == PCERE_OK && !words->flags)
        level_leave(&tuner->flags, program->level);
    if (status == PCERE_OK)
        status = list_parse("--schedules", schedules, &tuner->schedules, error);
    if (status == PCERE_OK)
        status = list_parse("--binds", binds, &tuner->binds, error);
    /* Before anything is measured, not when its turn comes. */
    for (size_t i = 1; i < tuner->schedules.count && status == PCERE_OK; i++)
        status = environment_schedule_check("--schedules", tuner->schedules.items[i], error);
    for (size_t i = 1; i < tuner->binds.count && status == PCERE_OK; i++)
        status = environment_bind_check("--binds", tuner->binds.items[i], error);
    tuner->search.space = (struct tune_space){
        .threads = tuner->threads, .flags = tuner->flags.items, .schedules = tuner->schedules.items, .binds = tuner->binds.items,
        .counts = {{(uint32_t)thread_count, tuner->flags.count, tuner->schedules.count, tuner->binds.count}},
        .all_loops = words->all_loops, .sets_schedule = program->sets_schedule,
    };
    if (status == PCERE_OK && words->all_loops && !words->schedules)
        status = pcere_fail(error, PCERE_USAGE, 0, "say which: --schedules \"dynamic,16; guided\"", "--all-loops says which loops --schedules is for, and there is no --schedules");
    return status;
}

/* ---- the whole program ------------------------------------------------------------------------------------------------------ */

/* Predicted, with all regions at the lower and the upper end of their intervals at once; time_ns 0: unknown. */
struct total { uint64_t time_ns, low_ns, high_ns; };

struct totals {
    struct total captured;               /* as captured: its thread count, if that was tried */
    struct total uniform_time;           /* with what an environment can say, the same for all regions: the best of what was tried on all of them; 0: nothing was */
    struct tuning_setting uniform;       /* that; the compiler's flags as they are */
    struct total tuned;                  /* each region with its best */
    uint64_t captured_real_ns, uniform_real_ns;      /* medians of real runs on this machine; 0: none */
};

/* Serial part and regions that were not searched, as the capture's run had them. */
static uint64_t rest_ns(const struct tune_search *search)
{
    const struct store_manifest *manifest = store_manifest(search->cli->store);
    uint64_t rest = manifest->serial_ns;
    for (size_t i = 0; i < manifest->region_count; i++)
        rest += manifest->regions[i].time_ns;
    for (size_t r = 0; r < search->region_count; r++)
        rest -= manifest->regions[search->regions[r].index].time_ns;
    return rest;
}

static void total_add(struct total *total, uint64_t time_ns, uint64_t low_ns, uint64_t high_ns)
{
    total->time_ns += time_ns;
    total->low_ns += low_ns;
    total->high_ns += high_ns;
}

/* Unknown: some region was not measured so, or does not run so. */
static struct total uniform_total(const struct tune_search *search, const struct tuning_setting *setting)
{
    const uint64_t rest = rest_ns(search);
    struct total sum = {rest, rest, rest};
    for (size_t r = 0; r < search->region_count; r++) {
        const struct tuning_trial *trial = tune_trial(&search->regions[r], setting);
        if (!trial || trial->failed)
            return (struct total){0};
        total_add(&sum, trial->time_ns, trial->low_ns, trial->high_ns);
    }
    return sum;
}

/* An environment says the schedule of those loops alone that ask for it, and of programs that do not say it themselves. */
static uint32_t environment_schedules(const struct tune_space *space)
{
    return space->all_loops || space->sets_schedule ? 1 : space->counts.counts[TUNING_SCHEDULE];
}

/* Number `index` of the settings that an environment can make; those that change least come first. */
static struct tuning_setting environment_setting(const struct tune_space *space, uint32_t index)
{
    uint32_t threads = space->counts.counts[TUNING_THREADS], schedules = environment_schedules(space);
    return (struct tuning_setting){{[TUNING_THREADS] = index % threads, [TUNING_SCHEDULE] = index / threads % schedules, [TUNING_BIND] = index / threads / schedules}};
}

/* Times that are nearly alike are: then what changes least is taken. */
static void uniform_find(const struct tune_search *search, struct totals *totals)
{
    const uint32_t *counts = search->space.counts.counts;
    for (uint32_t i = 0; i < counts[TUNING_THREADS] * environment_schedules(&search->space) * counts[TUNING_BIND]; i++) {
        struct tuning_setting setting = environment_setting(&search->space, i);
        struct total total = uniform_total(search, &setting);
        double bound_ns = (double)totals->uniform_time.time_ns * (setting.values[TUNING_SCHEDULE] || setting.values[TUNING_BIND] ? 1 - TUNING_ALIKE_RATIO : 1);
        if (total.time_ns && (!totals->uniform_time.time_ns || (double)total.time_ns < bound_ns)) {
            totals->uniform_time = total;
            totals->uniform = setting;
        }
    }
}

static struct totals totals_find(const struct tune_search *search)
{
    const uint64_t rest = rest_ns(search);
    struct totals totals = {.tuned = {rest, rest, rest}};
    uint32_t captured = store_manifest(search->cli->store)->threads;
    for (uint32_t t = 0; t < search->space.counts.counts[TUNING_THREADS]; t++)
        if (search->space.threads[t] == captured)
            totals.captured = uniform_total(search, &(struct tuning_setting){{t, 0, 0, 0}});
    uniform_find(search, &totals);
    for (size_t r = 0; r < search->region_count; r++) {
        const struct tune_region *region = &search->regions[r];
        const uint64_t kept_ns = store_manifest(search->cli->store)->regions[region->index].time_ns;
        if (region->applied)
            total_add(&totals.tuned, region->applied->time_ns, region->applied->low_ns, region->applied->high_ns);
        else
            total_add(&totals.tuned, kept_ns, kept_ns, kept_ns);
    }
    return totals;
}

/* Median of the store's real runs on this machine with so many threads and such settings; 0: none. */
static uint64_t real_ns(const struct tune_search *search, uint32_t threads, const char *settings)
{
    struct predict_request request = search->prediction.request;
    request.settings = settings;
    size_t count;
    double *values = calloc(request.sample_count + 1, sizeof *values);
    uint64_t time_ns = values ? runs_median(&request, threads, false, values, &count) : 0;
    free(values);
    return time_ns;
}

/* ---- what comes of it ------------------------------------------------------------------------------------------------------- */

static const char *value_of(const struct tune_search *search, const struct tuning_setting *setting, enum tuning_dimension dimension)
{
    const char *const *lists[] = {[TUNING_FLAGS] = search->space.flags, [TUNING_SCHEDULE] = search->space.schedules, [TUNING_BIND] = search->space.binds};
    return lists[dimension][setting->values[dimension]];
}

static uint32_t threads_of(const struct tune_search *search, const struct tuning_setting *setting)
{
    return search->space.threads[setting->values[TUNING_THREADS]];
}

/* "4 threads, -O3 -march=native, bind close"; free() it. */
static char *setting_text(const struct tune_search *search, const struct tuning_setting *setting)
{
    struct text text = {0};
    uint32_t threads = threads_of(search, setting);
    const char *flags = value_of(search, setting, TUNING_FLAGS), *schedule = value_of(search, setting, TUNING_SCHEDULE), *bind = value_of(search, setting, TUNING_BIND);
    text_addf(&text, "%u thread%s", threads, threads == 1 ? "" : "s");
    if (flags)
        text_addf(&text, ", %s", flags);
    if (schedule)
        text_addf(&text, ", schedule %s", schedule);
    if (bind)
        text_addf(&text, ", bind %s", bind);
    return text_take(&text);
}

/* The OpenMP settings of a trial as samples name them; free() it. */
static char *settings_text(const struct tune_search *search, const struct tuning_setting *setting)
{
    const struct replay_options options = {.schedule = value_of(search, setting, TUNING_SCHEDULE), .bind = value_of(search, setting, TUNING_BIND)};
    return replay_settings_text(&options);
}

static void real_find(const struct tune_search *search, struct totals *totals)
{
    char *settings = settings_text(search, &totals->uniform);
    totals->captured_real_ns = real_ns(search, store_manifest(search->cli->store)->threads, "");
    totals->uniform_real_ns = settings && totals->uniform_time.time_ns ? real_ns(search, threads_of(search, &totals->uniform), settings) : 0;
    free(settings);
}

/* What to change in the source for this region; `usual` is what the environment gives. free() it; "" where nothing is. */
static char *hint_text(const struct tune_search *search, const struct tune_region *region, const struct tuning_setting *usual)
{
    const struct store_region *about = &store_manifest(search->cli->store)->regions[region->index];
    struct text text = {0};
    text_add(&text, "");
    if (!region->best || !region->applied)
        return text_take(&text);
    const struct tuning_setting *setting = &region->applied->setting;
    uint32_t threads = threads_of(search, setting);
    const char *flags = value_of(search, setting, TUNING_FLAGS), *schedule = value_of(search, setting, TUNING_SCHEDULE), *bind = value_of(search, setting, TUNING_BIND);
    bool same_schedule = setting->values[TUNING_SCHEDULE] == usual->values[TUNING_SCHEDULE], same_bind = setting->values[TUNING_BIND] == usual->values[TUNING_BIND];
    if (threads != threads_of(search, usual))
        text_addf(&text, "+ #pragma omp ... num_threads(%u)", threads);
    if (bind && !same_bind)
        text_addf(&text, "%s+ #pragma omp ... proc_bind(%s)", text.length ? "\n" : "", bind);
    if (schedule && !same_schedule)
        text_addf(&text, "%s+ #pragma omp for schedule(%s)", text.length ? "\n" : "", schedule);
    if (flags)
        text_addf(&text, "%s+ compile %s with %s", text.length ? "\n" : "", about->file ? about->file : "its file", flags);
    const char *alone = value_of(search, &region->best->setting, TUNING_FLAGS);
    if (alone && region->best->setting.values[TUNING_FLAGS] != setting->values[TUNING_FLAGS] && tuning_clearly_faster(region->best, region->applied))
        text_addf(&text, "%s+ in a file of its own, compiled with %s, it takes %.1f %% less", text.length ? "\n" : "", alone,
                  100 * (1 - (double)region->best->time_ns / (double)region->applied->time_ns));
    return text_take(&text);
}

static json_t *trial_value(const struct tune_search *search, const struct tuning_trial *trial, bool *failed)
{
    if (!trial)
        return json_null();
    json_t *value = json_object();
    json_put(value, "threads", json_from_u64(threads_of(search, &trial->setting)), failed);
    json_put(value, "flags", json_from_string(value_of(search, &trial->setting, TUNING_FLAGS)), failed);
    json_put(value, "schedule", json_from_string(value_of(search, &trial->setting, TUNING_SCHEDULE)), failed);
    json_put(value, "bind", json_from_string(value_of(search, &trial->setting, TUNING_BIND)), failed);
    json_put(value, "time_ns", trial->failed ? json_null() : json_from_u64(trial->time_ns), failed);
    json_put(value, "low_ns", trial->failed ? json_null() : json_from_u64(trial->low_ns), failed);
    json_put(value, "high_ns", trial->failed ? json_null() : json_from_u64(trial->high_ns), failed);
    json_put(value, "failed", json_boolean(trial->failed), failed);
    return value;
}

static json_t *region_value(const struct tune_search *search, const struct tune_region *region, const struct tuning_setting *usual, bool *failed)
{
    json_t *value = json_object(), *trials = json_array();
    char *hint = hint_text(search, region, usual);
    json_put(value, "region", json_from_string(region->targets->region->name), failed);
    json_put(value, "in_vivo_ns", json_from_u64(region->targets->region->time_ns), failed);
    json_put(value, "base", trial_value(search, region->base, failed), failed);
    json_put(value, "best", trial_value(search, region->best, failed), failed);
    json_put(value, "applied", trial_value(search, region->applied, failed), failed);
    bool both = region->base && region->best && region->base->time_ns;
    json_put(value, "gain_ratio", both ? json_real(1 - (double)region->best->time_ns / (double)region->base->time_ns) : json_null(), failed);
    json_put(value, "clear", json_boolean(region->clear), failed);
    json_put(value, "verified", json_from_string(region->verified), failed);
    json_put(value, "hint", json_from_string(hint && *hint ? hint : NULL), failed);
    json_put(value, "note", json_from_string(region->note), failed);
    for (size_t i = 0; i < region->trial_count; i++)
        if (json_array_append_new(trials, trial_value(search, &region->trials[i], failed)) != 0)
            *failed = true;
    json_put(value, "trials", trials, failed);
    free(hint);
    return value;
}

static json_t *time_or_null(uint64_t time_ns)
{
    return time_ns ? json_from_u64(time_ns) : json_null();
}

static json_t *gain_value(uint64_t before_ns, uint64_t after_ns)
{
    return before_ns && after_ns ? json_real(1 - (double)after_ns / (double)before_ns) : json_null();
}

static json_t *uniform_value(const struct tune_search *search, const struct totals *totals, bool *failed)
{
    json_t *value = json_object();
    json_put(value, "threads", json_from_u64(threads_of(search, &totals->uniform)), failed);
    json_put(value, "schedule", json_from_string(value_of(search, &totals->uniform, TUNING_SCHEDULE)), failed);
    json_put(value, "bind", json_from_string(value_of(search, &totals->uniform, TUNING_BIND)), failed);
    json_put(value, "predicted_ns", json_from_u64(totals->uniform_time.time_ns), failed);
    json_put(value, "predicted_low_ns", json_from_u64(totals->uniform_time.low_ns), failed);
    json_put(value, "predicted_high_ns", json_from_u64(totals->uniform_time.high_ns), failed);
    json_put(value, "real_ns", time_or_null(totals->uniform_real_ns), failed);
    json_put(value, "predicted_gain_ratio", gain_value(totals->captured.time_ns, totals->uniform_time.time_ns), failed);
    json_put(value, "real_gain_ratio", gain_value(totals->captured_real_ns, totals->uniform_real_ns), failed);
    return value;
}

/* A line for each variable, "" where nothing was measured; free() it. */
static char *environment_text(const struct tune_search *search, const struct totals *totals, const char *prefix)
{
    struct text text = {0};
    const char *schedule = value_of(search, &totals->uniform, TUNING_SCHEDULE), *bind = value_of(search, &totals->uniform, TUNING_BIND);
    text_add(&text, "");
    if (totals->uniform_time.time_ns)
        text_addf(&text, "%sOMP_NUM_THREADS=%u\n", prefix, threads_of(search, &totals->uniform));
    if (totals->uniform_time.time_ns && schedule)
        text_addf(&text, "%sOMP_SCHEDULE=%s\n", prefix, schedule);
    if (totals->uniform_time.time_ns && bind)
        text_addf(&text, "%sOMP_PROC_BIND=%s\n", prefix, bind);
    return text_take(&text);
}

static enum pcere_status document_add(json_t *document, const struct tune_search *search, const struct totals *totals, struct pcere_error *error)
{
    bool failed = false;
    json_t *list = json_array();
    uint32_t captured = store_manifest(search->cli->store)->threads;
    for (size_t r = 0; r < search->region_count; r++)
        if (json_array_append_new(list, region_value(search, &search->regions[r], &totals->uniform, &failed)) != 0)
            failed = true;
    json_put(document, "regions", list, &failed);
    json_put(document, "method", json_string(tuning_is_exhaustive(&search->space.counts) ? "exhaustive" : "coordinates"), &failed);
    json_put(document, "seed", json_from_u64(search->seed), &failed);
    json_put(document, "measured", json_from_u64(search->measured), &failed);
    json_put(document, "known", json_from_u64(search->known), &failed);
    json_put(document, "failed", json_from_u64(search->failed), &failed);
    json_put(document, "not_tried", json_from_u64(search->left), &failed);
    json_put(document, "cost_ns", json_from_u64(search->spent_ns), &failed);
    json_put(document, "captured", json_pack("{s:I, s:o, s:o}", "threads", (json_int_t)captured, "predicted_ns", time_or_null(totals->captured.time_ns), "real_ns",
                                             time_or_null(totals->captured_real_ns)), &failed);
    json_put(document, "uniform", totals->uniform_time.time_ns ? uniform_value(search, totals, &failed) : json_null(), &failed);
    json_put(document, "tuned", json_pack("{s:o, s:o}", "predicted_ns", json_from_u64(totals->tuned.time_ns), "gain_ratio", gain_value(totals->captured.time_ns, totals->tuned.time_ns)), &failed);
    json_t *environment = json_array();
    char *lines = environment_text(search, totals, "");
    for (char *at = lines, *end; at && (end = strchr(at, '\n')); at = end + 1)
        json_array_append_new(environment, json_pack("s#", at, (int)(end - at)));
    free(lines);
    json_put(document, "environment", environment, &failed);
    return failed ? pcere_fail_memory(error, "the result") : PCERE_OK;
}

/* Something else than the base was found, and it may be no better. */
static bool unsure(const struct tune_region *region)
{
    return region->base && region->best && region->best != region->base && !region->clear;
}

static void region_row(struct cli_table *table, const struct tune_search *search, const struct tune_region *region)
{
    char base_time[UNITS_TEXT_BYTES] = "-", best_time[CLI_TEXT_MOST] = "-", gain[CLI_TEXT_MOST] = "";
    char *base = region->base ? setting_text(search, &region->base->setting) : NULL, *best = region->best ? setting_text(search, &region->best->setting) : NULL;
    if (region->base)
        units_format_ns(region->base->time_ns, base_time);
    if (region->best)
        cli_interval_text(best_time, region->best->time_ns, region->best->low_ns, region->best->high_ns);
    if (region->base && region->best && region->best != region->base)
        snprintf(gain, sizeof gain, "%.1f %%%s", 100 * (1 - (double)region->best->time_ns / (double)region->base->time_ns), region->clear ? "" : " ?");
    const char *cells[] = {region->targets->region->name, base, base_time, region->best == region->base ? "the same" : best, best_time, gain,
                           region->verified ? region->verified : region->best == region->base ? "" : "same code", region->note};
    cli_table_row(table, cells);
    free(base);
    free(best);
}

static void total_print(const struct total *total, const char *words, uint64_t run_ns)
{
    char time[CLI_TEXT_MOST], real[UNITS_TEXT_BYTES];
    printf("  %-20s  %s", cli_interval_text(time, total->time_ns, total->low_ns, total->high_ns), words);
    printf(run_ns ? " (really %s)\n" : "\n", units_format_ns(run_ns, real));
}

static const char *less_or_more(double ratio) { return ratio <= 1 ? "less" : "more"; }

/* ratio: of the time */
static void gain_print(double predicted, double real)
{
    printf("by the environment alone %.1f %% %s time, really %.1f %% %s\n", 100 * fabs(1 - predicted), less_or_more(predicted), 100 * fabs(1 - real), less_or_more(real));
}

static void totals_print(const struct tune_search *search, const struct totals *totals)
{
    char words[CLI_TEXT_MOST];
    uint32_t captured = store_manifest(search->cli->store)->threads, threads = threads_of(search, &totals->uniform);
    bool set = totals->uniform.values[TUNING_SCHEDULE] || totals->uniform.values[TUNING_BIND];
    printf("\nthe whole program, predicted:\n");
    snprintf(words, sizeof words, "with %u thread%s, as captured", captured, captured == 1 ? "" : "s");
    if (totals->captured.time_ns)
        total_print(&totals->captured, words, totals->captured_real_ns);
    snprintf(words, sizeof words, "with OMP_NUM_THREADS=%u%s", threads, set ? " and the settings below" : " alone");
    if (totals->uniform_time.time_ns && (set || threads != captured))
        total_print(&totals->uniform_time, words, totals->uniform_real_ns);
    total_print(&totals->tuned, "with the best of each region, and one set of flags for each file", 0);
    if (totals->captured_real_ns && totals->uniform_real_ns && totals->captured.time_ns && (set || threads != captured))
        gain_print((double)totals->uniform_time.time_ns / (double)totals->captured.time_ns, (double)totals->uniform_real_ns / (double)totals->captured_real_ns);
}

static void hints_print(const struct tune_search *search, const struct totals *totals)
{
    char *lines = environment_text(search, totals, "export ");
    if (lines && *lines)
        printf("\n%s", lines);
    free(lines);
    for (size_t r = 0; r < search->region_count; r++) {
        const struct store_region *about = search->regions[r].targets->region;
        char *hint = hint_text(search, &search->regions[r], &totals->uniform), name[REGION_NAME_BYTES];
        cli_region_name(name, search->prediction.manifest, about->name);
        if (hint && *hint)
            printf("\n@@ %s:%u %.*s%s\n%s\n", about->file, about->line, (int)strcspn(name, "@"), name, unsure(&search->regions[r]) ? " ?" : "", hint);
        free(hint);
    }
}

static void result_print(const struct tune_search *search, const struct totals *totals)
{
    static const char *const headings[] = {"~region", "as it is", ">time", "best", ">time", ">gain", "results", ""};
    struct cli_table *table = cli_table_new(sizeof headings / sizeof *headings, headings);
    bool any_unsure = false;
    for (size_t r = 0; table && r < search->region_count; r++) {
        const struct tune_region *region = &search->regions[r];
        region_row(table, search, region);
        any_unsure = any_unsure || unsure(region);
    }
    cli_table_print(table, stdout);
    cli_table_free(table);
    if (any_unsure)
        printf("? less than what the measurements differ by\n");
    totals_print(search, totals);
    hints_print(search, totals);
    char time[UNITS_TEXT_BYTES];
    printf("\n%zu settings of regions measured, %zu known before, %zu do not run; %s\n", search->measured, search->known, search->failed, units_format_ns(search->spent_ns, time));
    if (search->left)
        printf("%zu settings were not tried, since the budget was spent: tune again goes on from here\n", search->left);
}

/* ---- the verb --------------------------------------------------------------------------------------------------------------- */

static enum pcere_status tuner_prepare(struct tuner *tuner, const struct tune_words *words, struct cli *cli, struct pcere_error *error)
{
    struct tune_search *search = &tuner->search;
    const struct cli_threads none = {0};
    const uint32_t one = 1;
    search->cli = cli;
    search->seed = words->seed ? words->seed : 1;
    search->budget_ns = BUDGET_NS;
    enum pcere_status status = words->budget ? units_parse_time("--budget", words->budget, &search->budget_ns, error) : PCERE_OK;
    struct program program = {.level = LEVEL_UNKNOWN};
    if (status == PCERE_OK)
        status = program_look(cli, &program, error);
    if (status == PCERE_OK)
        status = space_fill(tuner, words, &program, error);
    for (size_t i = 1; i < tuner->flags.count && status == PCERE_OK; i++)
        replay_flags_note(cli, tuner->flags.items[i]);
    if (status == PCERE_OK)
        status = replay_setup_init(cli, &none, &search->setup, error);
    if (status == PCERE_OK)
        status = looking_before(cli, cli->store, search->space.threads, search->space.counts.counts[TUNING_THREADS], error);
    const struct prediction_words wanted = {.threads = &one, .thread_count = 1};
    if (status == PCERE_OK)
        status = prediction_prepare(cli, &wanted, &search->prediction, error);
    if (status == PCERE_OK && program.sets_schedule && search->space.counts.counts[TUNING_SCHEDULE] > 1)
        cli_note(cli, "the program calls omp_set_schedule, so that OMP_SCHEDULE has no effect: the best schedule is a hint for its source");
    if (status == PCERE_OK && search->space.counts.counts[TUNING_SCHEDULE] == 1)
        cli_note(cli, "no loop of the program says schedule(runtime): other schedules are tried with --all-loops and --schedules");
    if (status == PCERE_OK)
        status = tune_search_init(search, cli->operand_count ? 0 : SHARE_LEAST_RATIO, error);
    return status;
}

static enum pcere_status measure(struct cli *cli, struct tune_search *search, const struct totals *totals, struct pcere_error *error)
{
    const unsigned captured = store_manifest(cli->store)->threads, threads = threads_of(search, &totals->uniform);
    char *text = settings_text(search, &totals->uniform);
    const struct measure_settings settings = {text, value_of(search, &totals->uniform, TUNING_SCHEDULE), value_of(search, &totals->uniform, TUNING_BIND)};
    enum pcere_status status = measure_store(cli, &captured, 1, 0, error);
    if (status == PCERE_OK && totals->uniform_time.time_ns && (threads != captured || settings.schedule || settings.bind))
        status = measure_store_set(cli, &settings, threads, 0, error);
    free(text);
    return status == PCERE_OK ? prediction_reload(cli, &search->prediction, error) : status;
}

/* Real runs with the number of threads that is recommended may have told that the program sets its own. */
static void fixed_note(const struct tune_search *search, const struct totals *totals)
{
    const char *most;
    const uint32_t threads = threads_of(search, &totals->uniform), own = store_manifest(search->cli->store)->threads;
    char name[REGION_NAME_BYTES];
    size_t count = totals->uniform_time.time_ns ? runs_fixed(&search->prediction.request, threads, &most) : 0;
    if (count)
        cli_note(search->cli, "with OMP_NUM_THREADS=%u %s%s had %u thread%s in real runs all the same: the program sets that number itself (num_threads, omp_set_num_threads, an argument of its own), and is to be changed there", threads,
                 cli_region_name(name, search->prediction.manifest, most), count > 1 ? " and others" : "", own, own == 1 ? "" : "s");
}

static enum pcere_status tune_verb(struct cli *cli, void *raw, struct pcere_error *error)
{
    const struct tune_words *words = raw;
    struct tuner tuner = {0};
    enum pcere_status status = tuner_prepare(&tuner, words, cli, error);
    interrupt_remember("\npcere tune: ends when the setting at hand is measured, or at once if asked again\n");
    if (status == PCERE_OK)
        status = tune_search_run(&tuner.search, error);
    cli_progress(cli, NULL);
    if (status == PCERE_OK) {
        struct totals totals = totals_find(&tuner.search);
        if (words->measure)
            status = measure(cli, &tuner.search, &totals, error);
        real_find(&tuner.search, &totals);
        if (status == PCERE_OK)
            fixed_note(&tuner.search, &totals);
        if (status == PCERE_OK && cli->json)
            status = document_add(cli->document, &tuner.search, &totals, error);
        else if (status == PCERE_OK)
            result_print(&tuner.search, &totals);
    }
    tune_search_done(&tuner.search);
    prediction_done(&tuner.search.prediction);
    replay_setup_done(&tuner.search.setup);
    list_done(&tuner.flags);
    list_done(&tuner.schedules);
    list_done(&tuner.binds);
    return status;
}

static const struct cli_option options[] = {
    {"threads", 0, CLI_THREADS, offsetof(struct tune_words, threads), "LIST", "Thread counts to try; powers of two up to the processors if not given.", 0, 0},
    {"flags", 0, CLI_TEXT, offsetof(struct tune_words, flags), "LIST",
     "Compiler flags to try beside the original's, separated by semicolons (-O2; -O3; -O3 -march=native; the last with -mprefer-vector-width=512; the same with -funroll-loops).", 0, 0},
    {"schedules", 0, CLI_TEXT, offsetof(struct tune_words, schedules), "LIST",
     "Schedules to try for loops that say schedule(runtime), separated by semicolons, as \"dynamic,16; guided\" (static; dynamic; guided where the program may have such loops).", 0, 0},
    {"all-loops", 0, CLI_FLAG, offsetof(struct tune_words, all_loops), NULL, "With --schedules: for all loops, whatever their source says; their hints are clauses.", 0, 0},
    {"binds", 0, CLI_TEXT, offsetof(struct tune_words, binds), "LIST", "Values of OMP_PROC_BIND to try, separated by semicolons (close; spread on machines with three processors and more).", 0, 0},
    {"budget", 0, CLI_TEXT, offsetof(struct tune_words, budget), "TIME", "When to stop trying (2m); what was measured is kept, and the next search goes on.", 0, 0},
    {"seed", 0, CLI_NUMBER, offsetof(struct tune_words, seed), "N", "Seed of the intervals' bootstrap (1).", 1, 1000000000},
    {"measure", 0, CLI_FLAG, offsetof(struct tune_words, measure), NULL, "Run the program as captured and with the best environment, and show its real times.", 0, 0},
};

const struct cli_verb cli_verb_tune = {
    .name = "tune",
    .summary = "search each region's best threads, compiler flags, schedule and binding on its codelets",
    .synopsis = "[STORE] [REGION...]",
    .description =
        "Replays the codelets of each region with other numbers of threads, compiler flags, schedules and bindings, without running the program. Few "
        "combinations are all tried. Else the search goes by coordinates: all thread counts; then at the best of them all schedules, "
        "bindings and flags in turn, each at the best so far; then the thread counts once more if something changed. Every sample is kept, so that a search that was "
        "ended by its budget goes on where it was.\n\n"
        "Times within 1 % are taken for the same, and of those the setting that changes least is recommended. What was found, and what it is compared with, is "
        "measured twice more, and a gain that lies within the intervals is marked. A region whose memory after it differs beyond rounding with other flags keeps its own.\n\n"
        "Schedules are those that OMP_SCHEDULE gives to loops that ask for it. With --all-loops the regions' code is built so that every loop asks, but for loops that can be "
        "cancelled and those with iterations that wait for others; a region whose memory differs beyond rounding with another schedule keeps its own.\n\n"
        "Interrupted (ctrl-C, SIGTERM), it ends with exit status 130 (143) once the setting at hand is measured, at the second time at once; on a full disk with 5. Either way all "
        "samples are kept, and the same command goes on from there.\n\n"
        "Without REGION, regions under 1 % of the run are left out. The result is a setting of the environment, a hint for each region in the manner of a patch, "
        "and what the whole program is predicted to gain; other flags than the original's take effect only once the program is compiled with them.",
    .examples = "pcere tune\npcere tune resid --threads 1,2,4 --flags \"-O3 -march=native; -O3 -mavx2\"\npcere tune --schedules \"dynamic,16; guided\" --all-loops\npcere tune --budget 30s --measure\n",
    .options = options, .option_count = sizeof options / sizeof *options, .options_bytes = sizeof(struct tune_words),
    .operands = CLI_OPERANDS_STORE_REGIONS,
    .needs = CLI_NEEDS_STORE,
    .run = tune_verb,
};
