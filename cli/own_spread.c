/* cli/own_spread.c - see own_spread.h. */
#include "cli/own_spread.h"

#include "core/json.h"
#include "predictor/processes.h"
#include "predictor/runs.h"
#include "store/store.h"

#include <stdlib.h>

enum pcere_status own_spread_find(const struct predict_request *request, uint32_t threads, struct own_spread *ret_spread, struct pcere_error *error)
{
    struct own_spread spread = {.threads = threads};
    enum pcere_status status = processes_spread(request, threads, &spread.process_ratio, &spread.processes, error);
    double *values = calloc(request->sample_count + 1, sizeof *values);
    if (status == PCERE_OK && !values)
        status = pcere_fail_memory(error, "times of runs");
    if (status == PCERE_OK) {
        spread.pair_ratio = runs_pairs(request, threads, values, &spread.pairs);
        *ret_spread = spread;
    }
    free(values);
    return status;
}

static bool is_below(const struct own_spread *spread, double precision_ratio)
{
    return (spread->processes && precision_ratio < spread->process_ratio) || (spread->pairs && precision_ratio < spread->pair_ratio);
}

static void spread_print(const struct own_spread *spread, double precision_ratio)
{
    char precision[CLI_TEXT_MOST], ratio[CLI_TEXT_MOST];
    printf("a precision of %s lies below what this machine does to the same work: with %u thread%s", cli_ratio_text(precision, precision_ratio), spread->threads, spread->threads == 1 ? "" : "s");
    if (spread->processes)
        printf(" processes of one codelet differ by %s (standard deviation, %zu processes)", cli_ratio_text(ratio, spread->process_ratio), spread->processes);
    if (spread->pairs)
        printf("%s two runs of the program in a row by %s (median of %zu pair%s)", spread->processes ? "," : "", cli_ratio_text(ratio, spread->pair_ratio), spread->pairs, spread->pairs == 1 ? "" : "s");
    puts(": of a single run it says no more");
}

static json_t *spread_value(const struct own_spread *spread, double precision_ratio, bool *failed)
{
    json_t *value = json_object();
    json_put(value, "threads", json_from_u64(spread->threads), failed);
    json_put(value, "process_ratio", spread->processes ? json_real(spread->process_ratio) : json_null(), failed);
    json_put(value, "processes", json_from_u64(spread->processes), failed);
    json_put(value, "pair_ratio", spread->pairs ? json_real(spread->pair_ratio) : json_null(), failed);
    json_put(value, "pairs", json_from_u64(spread->pairs), failed);
    json_put(value, "precision_below", json_boolean(is_below(spread, precision_ratio)), failed);
    return value;
}

/* Is it the first result with so many threads? */
static bool is_first(const struct replay_report *report, size_t index)
{
    bool first = report->results[index].sample.sample_count > 0;
    for (size_t i = 0; first && i < index; i++)
        first = !report->results[i].sample.sample_count || report->results[i].sample.threads != report->results[index].sample.threads;
    return first;
}

enum pcere_status own_spread_tell(struct cli *cli, const struct replay_report *report, double precision_ratio, struct pcere_error *error)
{
    struct store_sample *samples = NULL;
    size_t count = 0;
    bool failed = false;
    if (!(precision_ratio > 0) || !report->result_count)
        return PCERE_OK;
    enum pcere_status status = store_samples_load(cli->store, &samples, &count, error);
    json_t *list = status == PCERE_OK && cli->json ? json_array() : NULL;
    for (size_t i = 0; status == PCERE_OK && i < report->result_count; i++) {
        const struct store_sample *own = &report->results[i].sample;
        const struct predict_request request = {.manifest = store_manifest(cli->store), .samples = samples, .sample_count = count, .arch = own->host_name, .flags = own->flags, .settings = own->settings};
        struct own_spread spread;
        if (!is_first(report, i))
            continue;
        status = own_spread_find(&request, own->threads, &spread, error);
        if (status == PCERE_OK && list)
            failed |= json_array_append_new(list, spread_value(&spread, precision_ratio, &failed)) != 0;
        else if (status == PCERE_OK && is_below(&spread, precision_ratio))
            spread_print(&spread, precision_ratio);
    }
    if (list)
        json_put(cli->document, "own_spread", list, &failed);
    store_samples_free(samples, count);
    return status == PCERE_OK && failed ? pcere_fail_memory(error, "the result") : status;
}
