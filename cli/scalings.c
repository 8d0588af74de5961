/* cli/scalings.c - see scalings.h. */
#include "cli/scalings.h"

#include "core/json.h"
#include "predictor/siblings.h"
#include "store/store.h"

#include <math.h>
#include <stdlib.h>

struct scalings {
    struct predict_request request;
    struct store_sample *samples;
    struct store_series *series;
    double *ratios;
};

static enum pcere_status scalings_load(struct store *store, const struct store_sample *like, struct scalings *scalings, struct pcere_error *error)
{
    size_t sample_count, series_count, most = 1;
    const struct store_manifest *manifest = store_manifest(store);
    enum pcere_status status = store_samples_load(store, &scalings->samples, &sample_count, error);
    if (status != PCERE_OK)
        return status;
    scalings->request = (struct predict_request){.manifest = manifest, .samples = scalings->samples, .sample_count = sample_count, .arch = like->host_name,
                                                 .flags = like->flags, .settings = like->settings, .partial = true};
    status = store_invocations_load(store, &scalings->series, &series_count, error);
    if (status != PCERE_OK)
        return status;
    scalings->request.series = scalings->series;
    scalings->request.series_count = series_count;
    for (size_t r = 0; r < manifest->region_count; r++)
        most = manifest->regions[r].class_count > most ? manifest->regions[r].class_count : most;
    scalings->ratios = calloc(most, sizeof *scalings->ratios);
    return scalings->ratios ? PCERE_OK : pcere_fail_memory(error, "the classes");
}

static void scalings_done(struct scalings *scalings)
{
    store_samples_free(scalings->samples, scalings->request.sample_count);
    store_series_free(scalings->series, scalings->request.series_count);
    free(scalings->ratios);
}

static json_t *check_value(const struct store_region *region, uint32_t threads, const struct siblings_span *span, const double *ratios, bool *failed)
{
    json_t *value = json_object(), *classes = json_array();
    json_put(value, "region", json_from_string(region->name), failed);
    json_put(value, "threads", json_from_u64(threads), failed);
    json_put(value, "classes_compared", json_from_u64(span->classes), failed);
    json_put(value, "scaling_low_ratio", json_real(span->low_ratio), failed);
    json_put(value, "scaling_high_ratio", json_real(span->high_ratio), failed);
    for (size_t c = 0; c < region->class_count; c++) {
        if (ratios[c] <= 0)
            continue;
        json_t *class = json_object();
        json_put(class, "representative", json_from_u64(region->classes[c].representative), failed);
        json_put(class, "members_ratio", json_real(ratios[c]), failed);
        *failed |= json_array_append_new(classes, class) != 0;
    }
    json_put(value, "classes", classes, failed);
    return value;
}

static void check_print(const struct store_manifest *manifest, const struct store_region *region, uint32_t threads, const struct siblings_span *span, const double *ratios)
{
    char name[REGION_NAME_BYTES];
    size_t broken = 0;
    double least = 1, most = 1;
    for (size_t c = 0; c < region->class_count; c++) {
        if (ratios[c] <= 0 || fabs(ratios[c] - 1) <= 0)
            continue;
        broken++;
        least = fmin(least, ratios[c]);
        most = fmax(most, ratios[c]);
    }
    if (broken)
        printf("%s: its classes take %.2f to %.2f times as long with %u thread%s as with the capture's, so that %zu of them may not stand for all their members there: these would take %.2f times "
               "what they say, and predictions have both in their intervals\n", cli_region_name(name, manifest, region->name), span->low_ratio, span->high_ratio, threads,
               threads == 1 ? "" : "s", broken, most - 1 > 1 - least ? most : least);
}

static bool is_first(const struct replay_report *report, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (report->results[i].target->region == report->results[at].target->region && report->results[i].sample.threads == report->results[at].sample.threads)
            return false;
    return true;
}

enum pcere_status scalings_tell(struct cli *cli, const struct replay_report *report, struct pcere_error *error)
{
    const struct store_sample *like = NULL;
    for (size_t i = 0; !like && i < report->result_count; i++)
        if (report->results[i].error.status == PCERE_OK && report->results[i].sample.sample_count)
            like = &report->results[i].sample;
    struct scalings scalings = {0};
    json_t *list = json_array();
    bool failed = false;
    enum pcere_status status = like ? scalings_load(cli->store, like, &scalings, error) : PCERE_OK;
    for (size_t i = 0; like && status == PCERE_OK && i < report->result_count; i++) {
        const struct store_region *region = report->results[i].target->region;
        uint32_t threads = report->results[i].sample.threads;
        struct siblings_span span;
        if (!is_first(report, i))
            continue;
        status = siblings_check(&scalings.request, region, threads, scalings.ratios, &span, error);
        if (status != PCERE_OK || span.classes < 2)
            continue;
        if (cli->json)
            failed |= json_array_append_new(list, check_value(region, threads, &span, scalings.ratios, &failed)) != 0;
        else
            check_print(scalings.request.manifest, region, threads, &span, scalings.ratios);
    }
    scalings_done(&scalings);
    if (!cli->json)
        json_decref(list);
    else
        json_put(cli->document, "class_checks", list, &failed);
    return failed && status == PCERE_OK ? pcere_fail_memory(error, "the result") : status;
}
