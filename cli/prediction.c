/* cli/prediction.c - from words to a prediction, and from there to JSON. */
#include "cli/prediction.h"
#include "cli/architectures.h"
#include "cli/capture_table.h"
#include "cli/own_spread.h"
#include "core/host.h"
#include "core/json.h"
#include "core/text.h"
#include "platform/signature.h"
#include "predictor/amdahl.h"
#include "predictor/replays.h"
#include "predictor/statistics.h"
#include "store/store.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define MISSING_PARTS 4u                  /* of a prediction: what may be missing at thread counts that nobody asked for by name */

void prediction_done(struct prediction *prediction)
{
    predict_result_done(&prediction->result);
    modelling_done(&prediction->modelling);
    store_samples_free(prediction->samples, prediction->sample_count);
    store_series_free(prediction->series, prediction->series_count);
    free(prediction->threads);
    free(prediction->clock_falls);
    free(prediction->arch);
}

static enum pcere_status arch_resolve(const char *word, struct prediction *prediction, struct pcere_error *error)
{
    char *own;
    enum pcere_status status = host_name(&own, error);
    if (status != PCERE_OK)
        return status;
    prediction->here = !word || strcmp(word, "host") == 0 || strcmp(word, own) == 0;
    prediction->arch = prediction->here ? own : strdup(word);
    if (!prediction->here)
        free(own);
    return prediction->arch ? PCERE_OK : pcere_fail_memory(error, "a name");
}

static int by_number(const void *a, const void *b)
{
    const uint32_t *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

/* Thread counts at which that machine replayed anything, ascending; the capture's own if there are none, so that the prediction says what is missing. */
static enum pcere_status threads_default(struct prediction *prediction, struct pcere_error *error)
{
    uint32_t *threads = calloc(prediction->sample_count + 1, sizeof *threads);
    if (!threads)
        return pcere_fail_memory(error, "the thread counts");
    size_t count = 0;
    for (size_t i = 0; i < prediction->sample_count; i++) {
        const struct store_sample *sample = &prediction->samples[i];
        bool wanted = strcmp(sample->kind, "replay") == 0 && strcmp(sample->host_name, prediction->arch) == 0;
        for (size_t j = 0; j < count && wanted; j++)
            wanted = threads[j] != sample->threads;
        if (wanted)
            threads[count++] = sample->threads;
    }
    qsort(threads, count, sizeof *threads, by_number);
    if (!count)
        threads[count++] = prediction->manifest->threads ? prediction->manifest->threads : 1;
    prediction->threads = threads;
    prediction->request.thread_count = count;
    return PCERE_OK;
}

/* Without replays there, 1, 2, 4, 8 threads as far as the machine has cores. */
static enum pcere_status threads_of_model(struct prediction *prediction, const struct platform_signature *signature, struct pcere_error *error)
{
    enum { DOUBLINGS = 4 };
    uint32_t *threads = calloc(DOUBLINGS, sizeof *threads);
    size_t count = 0;
    if (!threads)
        return pcere_fail_memory(error, "the thread counts");
    for (uint32_t wanted = 1; count < DOUBLINGS && (!count || wanted <= signature_cores(signature)); wanted *= 2)
        threads[count++] = wanted;
    prediction->threads = threads;
    prediction->request.thread_count = count;
    return PCERE_OK;
}

/* A machine on which something was replayed is predicted from that; one of which there is only a description, by its model. */
static enum pcere_status model_wanted(const struct prediction_words *words, const struct prediction *prediction, bool *ret_wanted, struct pcere_error *error)
{
    char *captured_on = host_described_name(prediction->manifest->host);
    bool measured = prediction->here || (captured_on && strcmp(captured_on, prediction->arch) == 0);
    for (size_t i = 0; i < prediction->sample_count && !measured; i++)
        measured = strcmp(prediction->samples[i].host_name, prediction->arch) == 0;
    free(captured_on);
    *ret_wanted = words->model || !measured;
    if (!*ret_wanted)
        return PCERE_OK;
    struct platform_signature signature;
    bool here;
    enum pcere_status status = modelling_signature(words->arch, &signature, &here, error);
    if (status == PCERE_OK)
        signature_done(&signature);
    return status;
}

static enum pcere_status model_prepare(struct cli *cli, const struct prediction_words *words, struct prediction *prediction, struct pcere_error *error)
{
    struct platform_signature signature;
    bool here;
    enum pcere_status status = PCERE_OK;
    if (!prediction->threads) {
        status = modelling_signature(words->arch, &signature, &here, error);
        if (status == PCERE_OK) {
            status = threads_of_model(prediction, &signature, error);
            signature_done(&signature);
        }
    }
    const struct modelling_words wanted = {words->arch, words->flags, words->settings, prediction->threads, prediction->request.thread_count,
                                           prediction->samples, prediction->sample_count};
    if (status == PCERE_OK)
        status = modelling_make(cli, &wanted, &prediction->modelling, error);
    if (status != PCERE_OK)
        return status;
    prediction->by_model = true;
    prediction->request.model = modelling_estimate;
    prediction->request.model_context = &prediction->modelling;
    prediction->request.kept_ratio = prediction->modelling.is_here ? 1 : prediction->modelling.kept_ratio;
    return status;
}

/* Of what was not replayed with POINT's threads, the time of regions that cannot run with so many. */
static uint64_t refused_ns(const struct prediction *prediction, const struct predict_point *point)
{
    uint64_t time_ns = 0;
    for (size_t r = 0; r < point->region_count; r++)
        if (!store_region_may_have(&prediction->manifest->regions[r], prediction->manifest->threads, point->threads))
            for (size_t c = 0; c < point->regions[r].class_count; c++)
                time_ns += point->regions[r].classes[c].missing ? point->regions[r].classes[c].time_ns : 0;
    return time_ns;
}

/* What should have been replayed with so many threads, and was not: how many classes, and is that at most a quarter of what is predicted? What cannot be replayed with them may make half of it: the prediction says so. SIZE_MAX: nothing was replayed with
 * them. */
static size_t missing_count(const struct prediction *prediction, uint32_t threads, bool *ret_little)
{
    struct predict_request request = prediction->request;
    struct predict_result result;
    request.threads = &threads;
    request.thread_count = 1;
    request.partial = true;
    *ret_little = false;
    if (predict_run(&request, &result, NULL) != PCERE_OK)
        return SIZE_MAX;
    size_t count = result.points[0].missing_count;
    uint64_t refused = refused_ns(prediction, &result.points[0]), time_ns = result.points[0].time_ns;
    *ret_little = result.points[0].missing_ns - refused <= time_ns / MISSING_PARTS && refused <= time_ns / 2;
    predict_result_done(&result);
    return count;
}

/* Of the default thread counts, those at which as much was replayed as at any, or little is missing. */
static void threads_reduce(struct cli *cli, struct prediction *prediction)
{
    size_t kept = 0, count = prediction->request.thread_count, fewest = SIZE_MAX;
    uint32_t *enough = calloc(count, sizeof *enough);
    size_t *missing = calloc(count, sizeof *missing);
    struct text left = {0};
    for (size_t i = 0; enough && missing && i < count; i++) {
        bool little;
        missing[i] = missing_count(prediction, prediction->threads[i], &little);
        fewest = missing[i] < fewest ? missing[i] : fewest;
        missing[i] = little ? 0 : missing[i];
    }
    for (size_t i = 0; enough && missing && i < count; i++) {
        if (missing[i] <= fewest)
            enough[kept++] = prediction->threads[i];
        else
            text_addf(&left, "%s%u", left.length ? "," : "", prediction->threads[i]);
    }
    const char *flags = prediction->request.flags ? prediction->request.flags : "", *settings = prediction->request.settings ? prediction->request.settings : "";
    if (kept && kept < count) {
        cli_note(cli, "little was replayed with %s thread%s%s%s%s%s: that is left out here; pcere predict%s%s%s%s%s%s --threads %s predicts it from what there is", left.data,
                 strcmp(left.data, "1") == 0 ? "" : "s", *flags ? " and " : "", flags, *settings ? " and " : "", settings, *flags ? " --flags '" : "", flags, *flags ? "'" : "",
                 *settings ? " --settings '" : "", settings, *settings ? "'" : "", left.data);
        memcpy(prediction->threads, enough, kept * sizeof *enough);
        prediction->request.thread_count = kept;
    }
    free(enough);
    free(missing);
    text_done(&left);
}

enum pcere_status prediction_reload(const struct cli *cli, struct prediction *prediction, struct pcere_error *error)
{
    struct store_sample *samples = NULL;
    size_t count = 0;
    struct pcere_error failure;
    enum pcere_status status = store_samples_load(cli->store, &samples, &count, &failure);
    if (status != PCERE_OK && !(status == PCERE_DATA && failure.errnum == ENOENT)) {      /* a store that was handed on without its samples has none */
        *error = failure;
        return status;
    }
    store_samples_free(prediction->samples, prediction->sample_count);
    prediction->samples = samples;
    prediction->sample_count = count;
    prediction->request.samples = samples;
    prediction->request.sample_count = count;
    return PCERE_OK;
}

/* By the machine's signature, where it has one that says so: it is not needed, and one that is damaged is for `pcere platform` to tell. */
static enum pcere_status clocks_find(struct prediction *prediction, struct pcere_error *error)
{
    struct platform_signature signature;
    char *path;
    if (prediction->by_model || architecture_read(prediction->arch, &signature, &path, NULL) != PCERE_OK)
        return PCERE_OK;
    prediction->clock_falls = calloc(prediction->request.thread_count + 1, sizeof *prediction->clock_falls);
    for (size_t i = 0; prediction->clock_falls && i < prediction->request.thread_count; i++)
        prediction->clock_falls[i] = signature_clock_falls(&signature, prediction->threads[i], NULL);
    prediction->request.clock_falls = prediction->clock_falls;
    signature_done(&signature);
    free(path);
    return prediction->clock_falls ? PCERE_OK : pcere_fail_memory(error, "the thread counts");
}

enum pcere_status prediction_prepare(struct cli *cli, const struct prediction_words *words, struct prediction *prediction, struct pcere_error *error)
{
    prediction->manifest = store_manifest(cli->store);
    prediction->request = (struct predict_request){
        .manifest = prediction->manifest, .flags = words->flags, .settings = words->settings, .measured_serial = words->measured_serial,
        .store_name = cli->store_named ? store_path(cli->store) : NULL, .seed = 1,
    };
    enum pcere_status status = arch_resolve(words->arch, prediction, error);
    if (status == PCERE_OK)
        status = prediction_reload(cli, prediction, error);
    if (status == PCERE_OK)
        status = store_invocations_load(cli->store, &prediction->series, &prediction->series_count, error);
    if (status != PCERE_OK)
        return status;
    prediction->request.series = prediction->series;
    prediction->request.series_count = prediction->series_count;
    prediction->request.arch = prediction->arch;
    bool model;
    status = model_wanted(words, prediction, &model, error);
    if (status != PCERE_OK)
        return status;
    if (!words->thread_count && model) {
        status = PCERE_OK;           /* the model's machine tells */
    } else if (!words->thread_count) {
        status = threads_default(prediction, error);
        if (status == PCERE_OK)
            threads_reduce(cli, prediction);
    } else {
        prediction->threads = calloc(words->thread_count, sizeof *prediction->threads);
        if (!prediction->threads)
            return pcere_fail_memory(error, "the thread counts");
        for (size_t i = 0; i < words->thread_count; i++)
            prediction->threads[i] = words->threads[i];
        prediction->request.thread_count = words->thread_count;
    }
    if (status == PCERE_OK && model)
        status = model_prepare(cli, words, prediction, error);
    prediction->request.threads = prediction->threads;
    return status == PCERE_OK ? clocks_find(prediction, error) : status;
}

uint64_t prediction_region_real_ns(const struct prediction *prediction, const char *region, uint32_t threads)
{
    double *values = calloc(prediction->sample_count + 1, sizeof *values);
    size_t count = 0;
    for (size_t i = 0; values && i < prediction->sample_count; i++) {
        const struct store_sample *sample = &prediction->samples[i];
        if (strcmp(sample->kind, "run") == 0 && sample->region && strcmp(sample->region, region) == 0 && sample->threads == threads &&
            strcmp(sample->host_name, prediction->arch) == 0 && sample->sample_count == 1 && text_equal(sample->flags, prediction->request.flags) &&
            text_equal(sample->settings, prediction->request.settings))
            values[count++] = (double)sample->samples_ns[0];
    }
    uint64_t median = 0;
    if (count) {
        statistics_sort(values, count);
        median = (uint64_t)(statistics_median(values, count) + 0.5);
    }
    free(values);
    return median;
}

static json_t *number_or_null(uint64_t number)
{
    return number ? json_from_u64(number) : json_null();
}

static json_t *check_value(enum predict_check check)
{
    return check == PREDICT_UNCHECKED ? json_null() : json_string(check == PREDICT_CHECKED_BY_RUNS ? "runs" : "classes");
}

static json_t *region_value(const struct prediction *prediction, const struct predict_region *region, uint32_t threads, bool *failed)
{
    json_t *value = json_object(), *classes = json_array();
    json_put(value, "region", json_from_string(region->name), failed);
    json_put(value, "time_ns", json_from_u64(region->time_ns), failed);
    json_put(value, "low_ns", json_from_u64(region->low_ns), failed);
    json_put(value, "high_ns", json_from_u64(region->high_ns), failed);
    json_put(value, "basis", json_string(predict_basis_name(region->basis)), failed);
    json_put(value, "in_vivo_ns", json_from_u64(region->in_vivo_ns), failed);
    json_put(value, "real_ns", number_or_null(prediction_region_real_ns(prediction, region->name, threads)), failed);
    json_put(value, "scaling_low_ratio", region->scaling_classes > 1 ? json_real(region->scaling_low_ratio) : json_null(), failed);
    json_put(value, "scaling_high_ratio", region->scaling_classes > 1 ? json_real(region->scaling_high_ratio) : json_null(), failed);
    for (size_t i = 0; i < region->class_count; i++) {
        const struct predict_class *class = &region->classes[i];
        json_t *entry = json_object();
        json_put(entry, "representative", json_from_u64(class->representative), failed);
        json_put(entry, "basis", json_string(predict_basis_name(class->basis)), failed);
        json_put(entry, "weight", json_real(class->weight), failed);
        json_put(entry, "vitro_ns", number_or_null(class->vitro_ns), failed);
        json_put(entry, "time_ns", json_from_u64(class->time_ns), failed);
        json_put(entry, "processes", json_from_u64(class->process_count), failed);
        json_put(entry, "missing", json_boolean(class->missing), failed);
        json_put(entry, "unseen", json_boolean(class->unseen), failed);
        json_put(entry, "alien_ratio", class->alien_ratio < 0 || class->alien_ratio > 0 ? json_real(class->alien_ratio) : json_null(), failed);
        json_put(entry, "members_checked_by", check_value(class->check), failed);
        json_put(entry, "members_ratio", class->members_ratio > 0 ? json_real(class->members_ratio) : json_null(), failed);
        json_put(entry, "repetitions", json_from_u64(class->repetition_count), failed);
        const struct modelled_class *modelled =
            prediction->by_model ? modelling_find(&prediction->modelling, region->name, class->representative, threads) : NULL;
        json_put(entry, "model", modelled ? modelling_class_value(modelled, failed) : json_null(), failed);
        if (json_array_append_new(classes, entry) != 0)
            *failed = true;
    }
    json_put(value, "classes", classes, failed);
    return value;
}

uint64_t prediction_fork_ns(const struct prediction *prediction, uint32_t threads)
{
    double *values = calloc(prediction->sample_count + 1, sizeof *values);
    double fork_ns = values && !prediction->by_model ? replays_fork_ns(&prediction->request, threads, values) : 0;
    free(values);
    return (uint64_t)(fork_ns + 0.5);
}

double prediction_stretched_ratio(const struct prediction *prediction, const struct store_region **ret_most)
{
    const struct store_manifest *manifest = prediction->manifest;
    double stretched_ns = 0, most_ns = 0;
    *ret_most = NULL;
    for (size_t i = 0; i < manifest->region_count; i++) {
        const struct store_region *region = &manifest->regions[i];
        double ratio = store_stretched_ratio(region->probed_ns, region->time_ns + region->nested_ns), own_ns = (double)region->time_ns * ratio / (1 + ratio);
        stretched_ns += own_ns;
        if (own_ns <= most_ns)
            continue;
        most_ns = own_ns;
        *ret_most = region;
    }
    double rest_ns = (double)manifest->wall_ns - stretched_ns;
    return rest_ns > 0 ? stretched_ns / rest_ns : 0;
}

uint64_t prediction_at_one_ns(const struct predict_result *result)
{
    for (size_t i = 0; i < result->point_count; i++)
        if (result->points[i].threads == 1)
            return result->points[i].time_ns;
    return 0;
}

/* On what the prediction rests, together time_ns. */
static json_t *parts_value(const struct predict_point *point, bool *failed)
{
    json_t *value = json_object();
    for (size_t b = 0; b < PREDICT_BASES; b++)
        if (point->parts_ns[b])
            json_put(value, predict_basis_name((enum predict_basis)b), json_from_u64(point->parts_ns[b]), failed);
    json_put(value, "outside_regions", json_from_u64(point->serial_ns), failed);
    json_put(value, "team_start", json_from_u64(point->start_ns), failed);
    if (point->clock_ns)
        json_put(value, "clock", json_from_u64(point->clock_ns), failed);
    return value;
}

static json_t *lines_value(const struct predict_request *request, uint32_t threads)
{
    uint64_t low_ns, high_ns;
    replays_lines(request, threads, &low_ns, &high_ns);
    return low_ns ? json_pack("[I, I]", (json_int_t)low_ns, (json_int_t)high_ns) : json_null();
}

static json_t *point_value(const struct prediction *prediction, const struct predict_point *point, bool *failed)
{
    json_t *value = json_object(), *regions = json_array();
    json_put(value, "threads", json_from_u64(point->threads), failed);
    json_put(value, "time_ns", json_from_u64(point->time_ns), failed);
    json_put(value, "low_ns", json_from_u64(point->low_ns), failed);
    json_put(value, "high_ns", json_from_u64(point->high_ns), failed);
    uint64_t one_ns = prediction_at_one_ns(&prediction->result);
    json_put(value, "speedup", one_ns && point->time_ns ? json_real((double)one_ns / (double)point->time_ns) : json_null(), failed);
    json_put(value, "real_ns", point->has_real ? json_from_u64(point->real_ns) : json_null(), failed);
    json_put(value, "real_runs", json_from_u64(point->real_count), failed);
    json_put(value, "real_spread_ratio", point->real_count > 1 ? json_real(point->real_spread_ratio) : json_null(), failed);
    json_put(value, "real_pairs", json_from_u64(point->real_pairs), failed);
    json_put(value, "real_pair_ratio", point->real_pairs ? json_real(point->real_pair_ratio) : json_null(), failed);
    json_put(value, "real_waited_ratio", point->has_real ? json_real(point->real_waited_ratio) : json_null(), failed);
    const struct store_region *most;
    json_put(value, "real_stretched_ratio", point->has_real ? json_real(prediction_stretched_ratio(prediction, &most)) : json_null(), failed);
    json_put(value, "real_team", point->fixed_count ? json_from_u64(prediction->manifest->threads) : json_null(), failed);
    json_put(value, "real_team_regions", json_from_u64(point->fixed_count), failed);
    json_put(value, "error_ratio", point->has_real ? json_real(point->error_ratio) : json_null(), failed);
    json_put(value, "acceleration", point->has_acceleration ? json_real(point->acceleration) : json_null(), failed);
    json_put(value, "serial_ns", json_from_u64(point->serial_ns), failed);
    json_put(value, "serial_basis", json_string(predict_basis_name(point->serial_basis)), failed);
    json_put(value, "real_serial_ns", number_or_null(point->real_serial_ns), failed);
    bool changes = point->serial_change_ratio < 0 || point->serial_change_ratio > 0;
    json_put(value, "serial_change_ratio", changes ? json_real(point->serial_change_ratio) : json_null(), failed);
    json_put(value, "strange_ns", number_or_null(point->strange_ns), failed);
    json_put(value, "strange_region", point->strange_most ? json_from_string(point->strange_most) : json_null(), failed);
    json_put(value, "parts_ns", parts_value(point, failed), failed);
    json_put(value, "missing", json_from_u64(point->missing_count), failed);
    json_put(value, "missing_ns", json_from_u64(point->missing_ns), failed);
    json_put(value, "preempted_ratio", json_real(point->preempted_ratio), failed);
    json_put(value, "line_ns", lines_value(&prediction->request, point->threads), failed);
    struct own_spread spread = {0};
    *failed |= own_spread_find(&prediction->request, point->threads, &spread, NULL) != PCERE_OK;
    json_put(value, "process_ratio", spread.processes ? json_real(spread.process_ratio) : json_null(), failed);
    json_put(value, "processes", json_from_u64(spread.processes), failed);
    json_put(value, "clock_falls", point->clock_falls > 1 ? json_real(point->clock_falls) : json_null(), failed);
    json_put(value, "fork_ns", number_or_null(prediction_fork_ns(prediction, point->threads)), failed);
    json_put(value, "team_start_ns", number_or_null(point->start_ns), failed);
    json_put(value, "cost_ns", number_or_null(point->cost_ns), failed);
    for (size_t i = 0; i < point->region_count; i++)
        if (json_array_append_new(regions, region_value(prediction, &point->regions[i], point->threads, failed)) != 0)
            *failed = true;
    json_put(value, "regions", regions, failed);
    return value;
}

/* The whole rests on replays if any region does, and on samples if any of these ran only a part of its iterations. */
static const char *basis_name(const struct predict_result *result)
{
    enum predict_basis whole = PREDICT_IN_VIVO;
    for (size_t i = 0; i < result->point_count; i++)
        for (size_t j = 0; j < result->points[i].region_count; j++) {
            enum predict_basis basis = result->points[i].regions[j].basis;
            if (basis == PREDICT_MODEL)
                return predict_basis_name(basis);
            if (basis == PREDICT_SAMPLE || (basis == PREDICT_REPLAY && whole == PREDICT_IN_VIVO))
                whole = basis;
        }
    return predict_basis_name(whole);
}

unsigned prediction_processors(const struct prediction *prediction)
{
    if (prediction->here)
        return cli_processors();
    return prediction->by_model ? signature_threads(&prediction->modelling.signature) : UINT_MAX;
}

bool prediction_law(const struct prediction *prediction, struct prediction_law *ret_law)
{
    const struct predict_point *least = NULL, *most = NULL;
    for (size_t i = 0; i < prediction->result.point_count; i++) {
        const struct predict_point *point = &prediction->result.points[i];
        if (point->threads > prediction_processors(prediction))
            continue;
        least = !least || point->threads < least->threads ? point : least;
        most = !most || point->threads > most->threads ? point : most;
    }
    struct prediction_law law = {0};
    if (!least || least == most ||
        amdahl_fit(least->threads, (double)least->time_ns, most->threads, (double)most->time_ns, &law.serial_ratio, NULL, NULL) != PCERE_OK)
        return false;
    law.threads[0] = least->threads;
    law.threads[1] = most->threads;
    *ret_law = law;
    return true;
}

static json_t *law_value(const struct prediction *prediction, bool *failed)
{
    struct prediction_law law;
    if (!prediction_law(prediction, &law))
        return json_null();
    json_t *value = json_object(), *threads = json_array();
    *failed = json_array_append_new(threads, json_from_u64(law.threads[0])) != 0 || json_array_append_new(threads, json_from_u64(law.threads[1])) != 0 || *failed;
    json_put(value, "threads", threads, failed);
    json_put(value, "serial_ratio", json_real(law.serial_ratio), failed);
    json_put(value, "speedup_limit", law.serial_ratio > 0 ? json_real(1 / law.serial_ratio) : json_null(), failed);
    return value;
}

static json_t *absent_value(const struct predict_absent *absent, bool *failed)
{
    json_t *value = json_object();
    json_put(value, "threads", json_from_u64(absent->threads), failed);
    json_put(value, "reason", json_from_string(absent->why.message), failed);
    json_put(value, "hint", json_from_string(absent->why.hint), failed);
    return value;
}

enum pcere_status prediction_document_add(json_t *document, const struct prediction *prediction, struct pcere_error *error)
{
    const struct predict_result *result = &prediction->result;
    bool failed = false;
    json_put(document, "program", json_from_string(prediction->manifest->program), &failed);
    json_put(document, "arch", json_from_string(prediction->arch), &failed);
    json_put(document, "basis", json_string(basis_name(result)), &failed);
    json_put(document, "serial_ns", json_from_u64(result->serial_ns), &failed);
    json_put(document, "serial_basis", json_string(predict_basis_name(result->serial_basis)), &failed);
    json_put(document, "captured_elsewhere", json_boolean(result->foreign), &failed);
    json_put(document, "run_spread_ratio", json_real(result->run_ratio), &failed);
    json_put(document, "not_entered", capture_not_entered_value(prediction->manifest, &failed), &failed);
    json_put(document, "drift_ratio", result->drift_ns ? json_real(result->drift_ratio) : json_null(), &failed);
    json_put(document, "run_spread_runs", json_from_u64(result->run_count), &failed);
    json_put(document, "amdahl", law_value(prediction, &failed), &failed);
    json_t *list = json_array();
    for (size_t i = 0; i < result->point_count; i++)
        if (json_array_append_new(list, point_value(prediction, &result->points[i], &failed)) != 0)
            failed = true;
    json_put(document, "predictions", list, &failed);
    list = json_array();
    for (size_t i = 0; i < result->absent_count; i++)
        if (json_array_append_new(list, absent_value(&result->absent[i], &failed)) != 0)
            failed = true;
    json_put(document, "not_predicted", list, &failed);
    return failed ? pcere_fail_memory(error, "the result") : PCERE_OK;
}

enum pcere_status prediction_make(struct prediction *prediction, struct pcere_error *error)
{
    predict_result_done(&prediction->result);
    prediction->result = (struct predict_result){0};
    struct predict_request request = prediction->request;
    request.partial = true;
    return predict_run(&request, &prediction->result, error);
}
