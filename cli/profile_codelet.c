/* cli/profile_codelet.c - a profile of one captured invocation, replayed alone, and how faithful it is to the program's own. */
#include "analysis/difference.h"
#include "analysis/epd.h"
#include "analysis/profile_part.h"
#include "cli/profile_files.h"
#include "cli/profile_runs.h"
#include "cli/replay_options.h"
#include "core/json.h"
#include "core/text.h"
#include "core/units.h"
#include "profiler/host/recording.h"
#include "profiler/host/unit_profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- which ------------------------------------------------------------------------------------------------------------------------ */

/* Of the classes that were captured of the one region: the one that took most of the program's time. */
static enum pcere_status target_choose(const struct replay_setup *setup, size_t operands, const struct replay_target **ret_target, struct pcere_error *error)
{
    const struct replay_target *best = &setup->targets[0];
    for (size_t i = 1; i < setup->target_count; i++) {
        if (setup->targets[i].region != best->region)
            return pcere_fail(error, PCERE_USAGE, 0, "pcere regions lists them", operands ? "that names several regions, among them %s and %s" : "name one region, such as %s or %s",
                              best->region->name, setup->targets[i].region->name);
        if (setup->targets[i].class->time_ns > best->class->time_ns)
            best = &setup->targets[i];
    }
    *ret_target = best;
    return PCERE_OK;
}

/* ---- labels ----------------------------------------------------------------------------------------------------------------------- */

/* Number of the invocation among all children of the initial task: regions that began before it, if the store knows all of them; else 0. */
static uint64_t rank_find(const struct store *store, const struct replay_target *target)
{
    const struct store_manifest *manifest = store_manifest(store);
    struct store_series *series = NULL;
    size_t count = 0;
    uint64_t begin_ns = UINT64_MAX, rank = 1;
    if (store_invocations_load(store, &series, &count, NULL) != PCERE_OK)
        return 0;
    bool whole = true;
    for (size_t i = 0; i < manifest->region_count; i++)
        whole = whole && !manifest->regions[i].nested;
    for (size_t i = 0; i < count; i++) {
        whole = whole && series[i].count == series[i].invocations;
        for (size_t j = 0; j < series[i].count && strcmp(series[i].region, target->region->name) == 0; j++)
            if (series[i].number[j] == target->class->representative)
                begin_ns = series[i].begin_ns[j];
    }
    whole = whole && begin_ns != UINT64_MAX;
    for (size_t i = 0; whole && i < count; i++)
        for (size_t j = 0; j < series[i].count; j++)
            rank += series[i].begin_ns[j] < begin_ns;
    store_series_free(series, count);
    return whole ? rank : 0;
}

/* "0.17": what stands before the region's place in its labels. */
static char *beginning_make(const struct store *store, const struct replay_target *target, bool *ret_known)
{
    struct text text = {0};
    uint64_t rank = rank_find(store, target);
    *ret_known = rank != 0;
    text_addf(&text, "0.%s%llu", rank ? "" : "~", (unsigned long long)(rank ? rank : target->class->representative));
    return text_take(&text);
}

/* ---- the run ---------------------------------------------------------------------------------------------------------------------- */

struct codelet_record { const struct recording_options *options; int file; };

static enum pcere_status record_open(void *context, int *ret_file, struct pcere_error *error)
{
    struct codelet_record *record = context;
    if (record->file >= 0)
        close(record->file);
    record->file = -1;
    unlink(record->options->trace);
    enum pcere_status status = recording_trace_make(record->options, &record->file, error);
    if (status == PCERE_OK)
        *ret_file = record->file;
    return status;
}

static enum pcere_status codelet_record(struct cli *cli, const struct profile_request *request, const struct replay_setup *setup,
                                        const struct replay_target *target, uint64_t *ret_time_ns, struct pcere_error *error)
{
    struct text preload = {0}, place = {0};
    text_addf(&preload, "LD_PRELOAD=%s", request->library);
    text_addf(&place, TRACE_ENVIRONMENT "=%d", REPLAY_WATCHER_DESCRIPTOR);
    static char enabled[] = "OMP_TOOL=enabled";
    char *const environment[] = {preload.data, place.data, enabled, NULL};
    const struct recording_options options = {.library = request->library, .trace = request->trace, .clock = request->clock, .events = request->events,
                                              .event_count = request->event_count, .wanted = request->wanted, .caches = {request->caches[0], request->caches[1]}};
    struct codelet_record record = {&options, -1};
    const struct replay_watcher watcher = {environment, record_open, &record};
    enum pcere_status status = preload.failed || place.failed ? pcere_fail_memory(error, "an environment") : PCERE_OK;
    cli_progress(cli, target->region->name);
    if (status == PCERE_OK)
        status = replay_watched(cli->store, target, setup->threads[0], &setup->options, &watcher, ret_time_ns, error);
    cli_progress(cli, NULL);
    if (status == PCERE_OK)
        status = trace_file_seal(record.file, request->kept, 0, *ret_time_ns, error);
    if (record.file >= 0)
        close(record.file);
    text_done(&preload);
    text_done(&place);
    return status;
}

/* ---- fidelity --------------------------------------------------------------------------------------------------------------------- */

struct fidelity {
    struct profile_files in_vivo;          /* parts of the program's profiles */
    struct profile *in_vitro;
    struct difference difference;
    double epd, floored;
    bool has_epd;
};

static void fidelity_done(struct fidelity *fidelity)
{
    difference_done(&fidelity->difference);
    profile_files_done(&fidelity->in_vivo);
    profile_free(fidelity->in_vitro);
}

/* The label of the captured invocation in a profile of the whole program. */
static enum pcere_status instance_find(const struct profile *profile, const char *name, const char *place, const struct replay_target *target, char **ret_label,
                                       struct pcere_error *error)
{
    struct profile_instances instances;
    enum pcere_status status = profile_instances_find(profile, place, &instances, error);
    if (status != PCERE_OK)
        return status;
    uint64_t number = target->class->representative;
    if (target->region->nested)
        status = pcere_fail(error, PCERE_NO, 0, NULL, "%s runs inside other regions, where its invocations have no order that labels know", target->region->name);
    else if (instances.count != target->region->invocations || !number || number > instances.count)
        status = pcere_fail(error, PCERE_DATA, 0, "profile the program with the input and the threads of the capture",
                            "'%.200s' has %zu instances of %s with XUs, the capture has %llu", name, instances.count, target->region->name,
                            (unsigned long long)target->region->invocations);
    else if (!(*ret_label = strdup(instances.labels[number - 1])))
        status = pcere_fail_memory(error, "a label");
    profile_instances_done(&instances);
    return status;
}

static enum pcere_status dissimilarity_find(struct fidelity *fidelity, struct pcere_error *error)
{
    const char *const *names = (const char *const *)fidelity->in_vivo.names;
    struct epd_calibration calibration;
    struct epd_result result = {0};
    if (fidelity->in_vivo.count < 2 || fidelity->in_vitro->event_count < 2)
        return PCERE_OK;
    enum pcere_status status = epd_calibrate(fidelity->in_vivo.profiles, names, fidelity->in_vivo.count, &(struct epd_options){0}, &calibration, error);
    if (status != PCERE_OK)
        return status;
    status = epd_evaluate(fidelity->in_vitro, "the codelet's profile", fidelity->in_vivo.profiles, names, fidelity->in_vivo.count, &calibration, &result, error);
    if (status == PCERE_OK) {
        fidelity->epd = result.epd;
        fidelity->floored = result.floored;
        fidelity->has_epd = true;
        epd_result_done(&result);
    }
    epd_calibration_done(&calibration);
    return status;
}

static enum pcere_status fidelity_find(const char *list, const char *place, const struct replay_target *target, const struct profile *profile,
                                       const char *label, struct fidelity *fidelity, struct pcere_error *error)
{
    struct profile_run as = profile->runs[0];
    enum pcere_status status = profile_files_read_list(list, &fidelity->in_vivo, error);
    for (size_t i = 0; status == PCERE_OK && i < fidelity->in_vivo.count; i++) {
        struct profile **slot = &fidelity->in_vivo.profiles[i], *part = NULL;
        struct profile_run claimed = as;      /* settings of affinity and the region may differ, nothing else */
        claimed.region = (*slot)->runs[0].region;
        claimed.settings = (*slot)->runs[0].settings;
        claimed.setting_count = (*slot)->runs[0].setting_count;
        char *instance = NULL;
        status = profile_same_run((*slot)->runs, fidelity->in_vivo.names[i], &claimed, "the codelet", error);
        if (status == PCERE_OK)
            status = instance_find(*slot, fidelity->in_vivo.names[i], place, target, &instance, error);
        if (status == PCERE_OK)
            status = profile_part(*slot, instance, &as, &part, error);
        free(instance);
        if (status == PCERE_OK) {
            profile_free(*slot);
            *slot = part;
        }
    }
    if (status == PCERE_OK)
        status = profile_part(profile, label, &as, &fidelity->in_vitro, error);
    const char *const own = "the codelet's profile";
    const struct difference_side sides[2] = {{fidelity->in_vivo.profiles, (const char *const *)fidelity->in_vivo.names, fidelity->in_vivo.count},
                                             {&fidelity->in_vitro, &own, 1}};
    if (status == PCERE_OK)
        status = difference_make(&sides[0], &sides[1], DIFFERENCE_BY_CONSTRUCT, 0, &fidelity->difference, error);
    return status == PCERE_OK ? dissimilarity_find(fidelity, error) : status;
}

static json_t *fidelity_value(const struct fidelity *fidelity, bool *failed)
{
    json_t *value = json_object(), *events = json_array();
    const struct difference *difference = &fidelity->difference;
    json_put(value, "references", json_from_u64(fidelity->in_vivo.count), failed);
    json_put(value, "matched_xus", json_from_u64(difference->event_count ? difference->events[0].matched : 0), failed);
    json_put(value, "only_in_vivo_xus", json_from_u64(difference->only_a), failed);
    json_put(value, "only_in_vitro_xus", json_from_u64(difference->only_b), failed);
    for (size_t i = 0; i < difference->event_count; i++) {
        const struct difference_event *event = &difference->events[i];
        json_t *entry = json_object();
        json_put(entry, "event", json_from_string(event->name), failed);
        json_put(entry, "unit", json_from_string(event->unit), failed);
        json_put(entry, "in_vivo", json_real(event->a_sum), failed);
        json_put(entry, "in_vitro", json_real(event->b_sum), failed);
        if (json_array_append_new(events, entry) != 0)
            *failed = true;
    }
    json_put(value, "events", events, failed);
    json_put(value, "epd", fidelity->has_epd && isfinite(fidelity->epd) ? json_real(fidelity->epd) : json_null(), failed);
    json_put(value, "epd_floored", fidelity->has_epd && isfinite(fidelity->floored) ? json_real(fidelity->floored) : json_null(), failed);
    return value;
}

static void fidelity_print(const struct fidelity *fidelity)
{
    static const char *const headings[] = {"event", ">in vivo", ">in vitro", ">ratio"};
    const struct difference *difference = &fidelity->difference;
    struct cli_table *table = cli_table_new(4, headings);
    size_t matched = difference->event_count ? difference->events[0].matched : 0;
    printf("\nBeside %zu profile%s of the program: %zu XU%s by label, %zu only there, %zu only here.\n\n", fidelity->in_vivo.count, fidelity->in_vivo.count == 1 ? "" : "s",
           matched, matched == 1 ? " matches" : "s match", difference->only_a, difference->only_b);
    for (size_t i = 0; table && i < difference->event_count; i++) {
        const struct difference_event *event = &difference->events[i];
        bool time = strcmp(event->unit, "ns") == 0;
        char vivo[UNITS_TEXT_BYTES], vitro[UNITS_TEXT_BYTES], ratio[CLI_TEXT_MOST];
        snprintf(vivo, sizeof vivo, "%.0f", event->a_sum);
        snprintf(vitro, sizeof vitro, "%.0f", event->b_sum);
        snprintf(ratio, sizeof ratio, "%.3f", event->b_sum / event->a_sum);
        const char *cells[] = {event->name, time ? units_format_ns((uint64_t)event->a_sum, vivo) : vivo, time ? units_format_ns((uint64_t)event->b_sum, vitro) : vitro,
                               event->a_sum > 0 ? ratio : ""};
        cli_table_row(table, cells);
    }
    if (table)
        cli_table_print(table, stdout);
    cli_table_free(table);
    if (fidelity->has_epd && isfinite(fidelity->epd))
        printf("\nDissimilarity (EPD): %.2f; 1 is as far as runs of the program are from each other.\n", fidelity->epd);
    else if (fidelity->has_epd)
        puts("\nDissimilarity (EPD): none, since runs of the program do not differ at all.");
}

/* ---- together --------------------------------------------------------------------------------------------------------------------- */

static enum pcere_status codelet_judge(struct cli *cli, const struct profile_request *request, const struct replay_target *target, uint32_t threads,
                                       uint64_t time_ns, struct pcere_error *error)
{
    const struct store_manifest *manifest = store_manifest(cli->store);
    struct trace_file *file = NULL;
    struct units units = {0};
    struct profile *profile = NULL;
    struct fidelity fidelity = {0};
    struct text label = {0};
    char settings[48];
    bool known = false, failed = false;
    char *beginning = beginning_make(cli->store, target, &known);
    snprintf(settings, sizeof settings, "OMP_NUM_THREADS=%u", threads);
    char *const environment[] = {settings, NULL};
    enum pcere_status status = beginning ? trace_file_open(request->trace, &file, error) : pcere_fail_memory(error, "a label");
    if (status == PCERE_OK)
        status = units_collect(file, &(struct units_options){.rules = request->rules, .marked = beginning}, &units, error);
    if (status == PCERE_OK && !units.count)
        status = pcere_fail(error, PCERE_NO, 0, "XUs are tasks, sections, and ranges of worksharing loops", "%s executed no XU: its profile is empty", target->region->name);
    const struct unit_profile_run run = {.program = manifest->program, .arguments = manifest->arguments, .environment = environment,
                                         .build_id = manifest->build_id ? manifest->build_id : "", .region = target->region->name};
    if (status == PCERE_OK)
        status = profile_make(request, &units, &run, &profile, error);
    bool deliver = false;
    if (status == PCERE_OK)
        status = profile_runs_join(request->runs, &profile, &deliver, error);
    const char *place = status == PCERE_OK ? file->constructs[units.marked].place : "";
    text_addf(&label, "%s@%s", beginning ? beginning : "", place);
    if (status == PCERE_OK && deliver && request->in_vivo)
        status = label.failed ? pcere_fail_memory(error, "a label") : fidelity_find(request->in_vivo, place, target, profile, label.data, &fidelity, error);
    if (status == PCERE_OK && deliver && cli->json && !request->quiet) {
        json_put(cli->document, "region", json_from_string(target->region->name), &failed);
        json_put(cli->document, "representative", json_from_u64(target->class->representative), &failed);
        json_put(cli->document, "time_ns", json_from_u64(time_ns), &failed);
        if (request->in_vivo)
            json_put(cli->document, "fidelity", fidelity_value(&fidelity, &failed), &failed);
    }
    if (status == PCERE_OK && deliver && !known && !request->quiet)
        cli_note(cli, "the number of the region among all is not known: labels begin with %s, which has its own number", beginning);
    if (status == PCERE_OK && deliver)
        status = failed ? pcere_fail_memory(error, "the result") : profile_deliver(cli, request, &units, profile, error);
    if (status == PCERE_OK && deliver && request->in_vivo && !cli->json && !request->csv)
        fidelity_print(&fidelity);
    fidelity_done(&fidelity);
    profile_free(profile);
    units_done(&units);
    trace_file_close(file);
    text_done(&label);
    free(beginning);
    return status;
}

/* What the codelet must be compiled to count. */
static const char *counting_choose(const struct profile_request *request)
{
    static const char *const words[2][3] = {{NULL, "ir", "cache"}, {"iterations", "ir,iterations", "cache,iterations"}};
    int counted = 0;
    for (size_t i = 0; i < request->event_count; i++) {
        int wanted = request->events[i].backend == TRACE_BACKEND_CACHE ? 2 : request->events[i].backend == TRACE_BACKEND_IR ? 1 : 0;
        counted = wanted > counted ? wanted : counted;
    }
    return words[request->wanted & TRACE_WANT_ITERATIONS ? 1 : 0][counted];
}

enum pcere_status profile_codelet(struct cli *cli, const struct profile_request *request, struct pcere_error *error)
{
    unsigned given = request->threads;
    const struct cli_threads threads = {&given, request->threads != 0};
    struct replay_setup setup;
    const struct replay_target *target = NULL;
    uint64_t time_ns = 0;
    enum pcere_status status = replay_setup_init(cli, &threads, &setup, error);
    if (status == PCERE_OK)
        status = target_choose(&setup, cli->operand_count, &target, error);
    if (status == PCERE_OK) {
        setup.options.warmup = request->warmup;
        setup.options.count = counting_choose(request);
        status = codelet_record(cli, request, &setup, target, &time_ns, error);
    }
    if (status == PCERE_OK)
        status = codelet_judge(cli, request, target, setup.threads[0], time_ns, error);
    replay_setup_done(&setup);
    return status;
}
