/* cli/spread.c - see spread.h. */
#include "cli/spread.h"
#include "cli/cli.h"
#include "cli/measure_store.h"
#include "core/host.h"
#include "core/json.h"
#include "core/text.h"
#include "core/units.h"
#include "predictor/runs.h"
#include "predictor/statistics.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SHARE_LEAST_PARTS 100u           /* a region that weighs less is not called unsteady */

enum pcere_status spread_append(const struct store *store, const struct capture_result *result, struct pcere_error *error)
{
    json_t *description = NULL;
    char *name = NULL, *host = NULL;
    if (!result->more_count)
        return PCERE_OK;
    enum pcere_status status = host_name(&name, error);
    if (status == PCERE_OK)
        status = host_describe(&description, error);
    if (status == PCERE_OK && !(host = json_dumps(description, JSON_COMPACT)))
        status = pcere_fail_memory(error, "the machine's description");
    for (size_t i = 0; status == PCERE_OK && i < result->more_count; i++)
        status = measure_store_append(store, name, host, "", &result->more[i], 0, error);
    json_decref(description);
    free(name);
    free(host);
    return status;
}

enum pcere_status spread_load(struct store *store, struct spread *spread, struct pcere_error *error)
{
    *spread = (struct spread){.manifest = store_manifest(store), .host_name = host_described_name(store_manifest(store)->host)};
    enum pcere_status status = store_samples_load(store, &spread->samples, &spread->sample_count, error);
    return status == PCERE_DATA && error->errnum == ENOENT ? PCERE_OK : status;      /* a store that was handed on without its samples has no runs */
}

void spread_done(struct spread *spread)
{
    store_samples_free(spread->samples, spread->sample_count);
    free(spread->host_name);
    *spread = (struct spread){0};
}

static struct predict_request request_of(const struct spread *spread)
{
    return (struct predict_request){.manifest = spread->manifest, .samples = spread->samples, .sample_count = spread->sample_count, .arch = spread->host_name};
}

/* Times of a region in these runs, sorted. */
static size_t region_times(const struct spread *spread, const char *region, double *values)
{
    size_t count = 0;
    for (size_t i = 0; i < spread->sample_count; i++) {
        const struct store_sample *sample = &spread->samples[i];
        if (strcmp(sample->kind, "run") == 0 && sample->region && strcmp(sample->region, region) == 0 && sample->threads == spread->manifest->threads &&
            strcmp(sample->host_name, spread->host_name) == 0 && sample->sample_count == 1 && text_equal(sample->settings, NULL))
            values[count++] = (double)sample->samples_ns[0];
    }
    statistics_sort(values, count);
    return count;
}

static void unsteady_print(const struct spread *spread, double *values, FILE *out)
{
    const struct store_region *worst = NULL;
    double most = 0;
    char name[REGION_NAME_BYTES], text[CLI_TEXT_MOST];
    for (size_t i = 0; i < spread->manifest->region_count; i++) {
        const struct store_region *region = &spread->manifest->regions[i];
        size_t count = region_times(spread, region->name, values);
        double ratio = count > 1 && region->time_ns >= spread->manifest->wall_ns / SHARE_LEAST_PARTS ? statistics_spread_ratio(values, count) : 0;
        if (ratio > most) {
            most = ratio;
            worst = region;
        }
    }
    if (worst)
        fprintf(out, "least steady is %s: %s apart\n", cli_region_name(name, spread->manifest, worst->name), cli_ratio_text(text, most));
}

void spread_print(const struct spread *spread, FILE *out)
{
    double *values = calloc(spread->sample_count + 1, sizeof *values);
    size_t count = 0, pairs = 0;
    if (!values || !spread->host_name || !spread->manifest->wall_ns) {
        free(values);
        return;
    }
    const struct predict_request request = request_of(spread);
    double pair_ratio = runs_pairs(&request, spread->manifest->threads, values, &pairs);
    uint64_t median_ns = runs_median(&request, spread->manifest->threads, false, values, &count);
    if (count) {
        char median[CLI_TEXT_MOST], captured[UNITS_TEXT_BYTES], between[CLI_TEXT_MOST], pair[CLI_TEXT_MOST];
        fprintf(out, "\n%zu further run%s: %s", count, count == 1 ? "" : "s",
                cli_interval_text(median, median_ns, (uint64_t)values[0], (uint64_t)values[count - 1]));
        if (pairs)
            fprintf(out, ", %s apart, two in a row %s (median of %zu pair%s)", cli_ratio_text(between, statistics_spread_ratio(values, count)), cli_ratio_text(pair, pair_ratio), pairs,
                    pairs == 1 ? "" : "s");
        fprintf(out, "; the captured one took %s, %+.1f %%\n", units_format_ns(spread->manifest->wall_ns, captured),
                100 * ((double)spread->manifest->wall_ns / (double)median_ns - 1));
        unsteady_print(spread, values, out);
    }
    free(values);
}

static json_t *times_value(const double *values, size_t count, bool *failed)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        if (json_array_append_new(list, json_from_u64((uint64_t)values[i])) != 0)
            *failed = true;
    return list;
}

static json_t *regions_value(const struct spread *spread, double *values, bool *failed)
{
    json_t *list = json_array();
    for (size_t i = 0; i < spread->manifest->region_count; i++) {
        const char *name = spread->manifest->regions[i].name;
        size_t count = region_times(spread, name, values);
        if (!count)
            continue;
        json_t *value = json_object();
        json_put(value, "region", json_from_string(name), failed);
        json_put(value, "times_ns", times_value(values, count, failed), failed);
        json_put(value, "spread_ratio", count > 1 ? json_real(statistics_spread_ratio(values, count)) : json_null(), failed);
        if (json_array_append_new(list, value) != 0)
            *failed = true;
    }
    return list;
}

static json_t *spread_value(const struct spread *spread, double *values, bool *failed)
{
    const struct predict_request request = request_of(spread);
    uint32_t threads = spread->manifest->threads;
    size_t count, pairs;
    double pair_ratio = runs_pairs(&request, threads, values, &pairs);
    uint64_t serial_ns = runs_median(&request, threads, true, values, &count), median_ns = runs_median(&request, threads, false, values, &count);
    if (!count)
        return json_null();
    json_t *value = json_object();
    json_put(value, "threads", json_from_u64(threads), failed);
    json_put(value, "walls_ns", times_value(values, count, failed), failed);
    json_put(value, "wall_ns_median", json_from_u64(median_ns), failed);
    json_put(value, "serial_ns_median", json_from_u64(serial_ns), failed);
    json_put(value, "spread_ratio", count > 1 ? json_real(statistics_spread_ratio(values, count)) : json_null(), failed);
    json_put(value, "pairs", json_from_u64(pairs), failed);
    json_put(value, "pair_ratio", pairs ? json_real(pair_ratio) : json_null(), failed);
    json_put(value, "regions", regions_value(spread, values, failed), failed);
    return value;
}

enum pcere_status spread_document_add(json_t *document, const struct spread *spread, struct pcere_error *error)
{
    bool failed = false;
    double *values = calloc(spread->sample_count + 1, sizeof *values);
    if (!values)
        return pcere_fail_memory(error, "the result");
    json_put(document, "spread", spread->host_name ? spread_value(spread, values, &failed) : json_null(), &failed);
    free(values);
    return failed ? pcere_fail_memory(error, "the result") : PCERE_OK;
}
