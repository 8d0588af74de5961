/* cli/verb_predict.c - pcere predict: the whole program's time at other thread counts, out of its replays. */
#include "cli/measure_store.h"
#include "cli/verbs.h"
#include "core/host.h"
#include "core/json.h"
#include "core/units.h"
#include "predictor/predict.h"
#include "predictor/statistics.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

struct predict_words {
    struct cli_threads threads;
    const char *arch, *flags, *settings;
    bool measure;
    uint64_t repeat;
};

struct prediction {
    const struct store_manifest *manifest;
    struct store_sample *samples;
    size_t sample_count;
    char *arch;                      /* host name that the samples must have */
    bool here;                       /* it is this machine */
    struct predict_request request;
    uint32_t *threads;
    struct predict_result result;
};

static void prediction_done(struct prediction *prediction)
{
    predict_result_done(&prediction->result);
    store_samples_free(prediction->samples, prediction->sample_count);
    free(prediction->threads);
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

/* Of the default thread counts, those at which every captured class was replayed; if there is none, all stay. */
static void threads_reduce(struct cli *cli, struct prediction *prediction)
{
    size_t kept = 0, count = prediction->request.thread_count;
    uint32_t *complete = calloc(count, sizeof *complete);
    for (size_t i = 0; complete && i < count; i++) {
        struct predict_request request = prediction->request;
        struct predict_result result;
        request.threads = &prediction->threads[i];
        request.thread_count = 1;
        if (predict_run(&request, &result, NULL) != PCERE_OK)
            continue;
        predict_result_done(&result);
        complete[kept++] = prediction->threads[i];
    }
    if (kept && kept < count) {
        cli_note(cli, "%zu of %zu thread counts are left out: not every region was replayed at them", count - kept, count);
        memcpy(prediction->threads, complete, kept * sizeof *complete);
        prediction->request.thread_count = kept;
    }
    free(complete);
}

static enum pcere_status samples_reload(const struct cli *cli, struct prediction *prediction, struct pcere_error *error)
{
    struct store_sample *samples;
    size_t count;
    enum pcere_status status = store_samples_load(cli->store, &samples, &count, error);
    if (status != PCERE_OK)
        return status;
    store_samples_free(prediction->samples, prediction->sample_count);
    prediction->samples = samples;
    prediction->sample_count = count;
    prediction->request.samples = samples;
    prediction->request.sample_count = count;
    return PCERE_OK;
}

static enum pcere_status request_fill(struct cli *cli, const struct predict_words *words, struct prediction *prediction, struct pcere_error *error)
{
    prediction->manifest = store_manifest(cli->store);
    prediction->request = (struct predict_request){
        .manifest = prediction->manifest, .flags = words->flags, .settings = words->settings,
        .store_name = cli->store_named ? store_path(cli->store) : NULL, .seed = 1,
    };
    enum pcere_status status = arch_resolve(words->arch, prediction, error);
    if (status == PCERE_OK)
        status = samples_reload(cli, prediction, error);
    if (status != PCERE_OK)
        return status;
    prediction->request.arch = prediction->arch;
    if (!words->threads.count) {
        status = threads_default(prediction, error);
        if (status == PCERE_OK)
            threads_reduce(cli, prediction);
    } else {
        prediction->threads = calloc(words->threads.count, sizeof *prediction->threads);
        if (!prediction->threads)
            return pcere_fail_memory(error, "the thread counts");
        for (size_t i = 0; i < words->threads.count; i++)
            prediction->threads[i] = words->threads.counts[i];
        prediction->request.thread_count = words->threads.count;
    }
    prediction->request.threads = prediction->threads;
    return status;
}

/* Median of what real runs of that machine say of a region at these threads; 0: nothing. */
static uint64_t region_real(const struct prediction *prediction, const char *region, uint32_t threads)
{
    double *values = calloc(prediction->sample_count + 1, sizeof *values);
    size_t count = 0;
    for (size_t i = 0; values && i < prediction->sample_count; i++) {
        const struct store_sample *sample = &prediction->samples[i];
        if (strcmp(sample->kind, "run") == 0 && sample->region && strcmp(sample->region, region) == 0 && sample->threads == threads &&
            strcmp(sample->host_name, prediction->arch) == 0 && sample->sample_count == 1)
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

static json_t *region_value(const struct prediction *prediction, const struct predict_region *region, uint32_t threads, bool *failed)
{
    json_t *value = json_object(), *classes = json_array();
    json_put(value, "region", json_from_string(region->name), failed);
    json_put(value, "time_ns", json_from_u64(region->time_ns), failed);
    json_put(value, "low_ns", json_from_u64(region->low_ns), failed);
    json_put(value, "high_ns", json_from_u64(region->high_ns), failed);
    json_put(value, "basis", json_string(predict_basis_name(region->basis)), failed);
    json_put(value, "in_vivo_ns", json_from_u64(region->in_vivo_ns), failed);
    json_put(value, "real_ns", number_or_null(region_real(prediction, region->name, threads)), failed);
    for (size_t i = 0; i < region->class_count; i++) {
        const struct predict_class *class = &region->classes[i];
        json_t *entry = json_object();
        json_put(entry, "representative", json_from_u64(class->representative), failed);
        json_put(entry, "basis", json_string(predict_basis_name(class->basis)), failed);
        json_put(entry, "weight", json_real(class->weight), failed);
        json_put(entry, "vitro_ns", number_or_null(class->vitro_ns), failed);
        json_put(entry, "time_ns", json_from_u64(class->time_ns), failed);
        json_put(entry, "processes", json_from_u64(class->process_count), failed);
        json_put(entry, "repetitions", json_from_u64(class->repetition_count), failed);
        if (json_array_append_new(classes, entry) != 0)
            *failed = true;
    }
    json_put(value, "classes", classes, failed);
    return value;
}

static json_t *point_value(const struct prediction *prediction, const struct predict_point *point, bool *failed)
{
    json_t *value = json_object(), *regions = json_array();
    json_put(value, "threads", json_from_u64(point->threads), failed);
    json_put(value, "time_ns", json_from_u64(point->time_ns), failed);
    json_put(value, "low_ns", json_from_u64(point->low_ns), failed);
    json_put(value, "high_ns", json_from_u64(point->high_ns), failed);
    json_put(value, "real_ns", point->has_real ? json_from_u64(point->real_ns) : json_null(), failed);
    json_put(value, "real_runs", json_from_u64(point->real_count), failed);
    json_put(value, "error_ratio", point->has_real ? json_real(point->error_ratio) : json_null(), failed);
    json_put(value, "acceleration", point->has_acceleration ? json_real(point->acceleration) : json_null(), failed);
    json_put(value, "cost_ns", number_or_null(point->cost_ns), failed);
    for (size_t i = 0; i < point->region_count; i++)
        if (json_array_append_new(regions, region_value(prediction, &point->regions[i], point->threads, failed)) != 0)
            *failed = true;
    json_put(value, "regions", regions, failed);
    return value;
}

static const char *basis_name(const struct predict_result *result)
{
    for (size_t i = 0; i < result->point_count; i++)
        for (size_t j = 0; j < result->points[i].region_count; j++)
            if (result->points[i].regions[j].basis == PREDICT_REPLAY)
                return predict_basis_name(PREDICT_REPLAY);
    return predict_basis_name(PREDICT_IN_VIVO);
}

static enum pcere_status document_add(json_t *document, const struct prediction *prediction, struct pcere_error *error)
{
    const struct predict_result *result = &prediction->result;
    bool failed = false;
    json_put(document, "program", json_from_string(prediction->manifest->program), &failed);
    json_put(document, "arch", json_from_string(prediction->arch), &failed);
    json_put(document, "basis", json_string(basis_name(result)), &failed);
    json_put(document, "serial_ns", json_from_u64(result->serial_ns), &failed);
    json_put(document, "serial_basis", json_string(predict_basis_name(result->serial_basis)), &failed);
    json_put(document, "captured_elsewhere", json_boolean(result->foreign), &failed);
    json_t *list = json_array();
    for (size_t i = 0; i < result->point_count; i++)
        if (json_array_append_new(list, point_value(prediction, &result->points[i], &failed)) != 0)
            failed = true;
    json_put(document, "predictions", list, &failed);
    return failed ? pcere_fail_memory(error, "the result") : PCERE_OK;
}

static void points_print(const struct prediction *prediction, bool *marked)
{
    static const char *const headings[] = {">threads", "predicted", ">real", ">error", ">acceleration"};
    struct cli_table *table = cli_table_new(sizeof headings / sizeof *headings, headings);
    for (size_t i = 0; table && i < prediction->result.point_count; i++) {
        const struct predict_point *point = &prediction->result.points[i];
        char threads[CLI_TEXT_MOST], time[CLI_TEXT_MOST], real[UNITS_TEXT_BYTES] = "-", error[CLI_TEXT_MOST] = "-", acceleration[CLI_TEXT_MOST] = "-";
        if (point->has_real) {
            units_format_ns(point->real_ns, real);
            cli_ratio_text(error, point->error_ratio);
        }
        if (point->has_acceleration)
            snprintf(acceleration, sizeof acceleration, "%.3g", point->acceleration);
        const char *cells[] = {prediction->here ? cli_thread_count_text(threads, point->threads, marked) : cli_thread_count_text(threads, point->threads, &(bool){false}),
                               cli_interval_text(time, point->time_ns, point->low_ns, point->high_ns), real, error, acceleration};
        cli_table_row(table, cells);
    }
    cli_table_print(table, stdout);
    cli_table_free(table);
}

static void region_row(struct cli_table *table, const struct prediction *prediction, const struct predict_point *point,
                       const struct predict_region *region)
{
    char threads[24], time[CLI_TEXT_MOST], real[UNITS_TEXT_BYTES] = "-", error[CLI_TEXT_MOST] = "-", share[CLI_TEXT_MOST];
    snprintf(threads, sizeof threads, "%u", point->threads);
    uint64_t real_ns = region_real(prediction, region->name, point->threads);
    if (real_ns) {
        units_format_ns(real_ns, real);
        snprintf(error, sizeof error, "%+.1f %%", 100 * ((double)region->time_ns / (double)real_ns - 1));
    }
    const char *cells[] = {region->name, threads, cli_interval_text(time, region->time_ns, region->low_ns, region->high_ns),
                           cli_ratio_text(share, point->time_ns ? (double)region->time_ns / (double)point->time_ns : 0), real, error,
                           region->basis == PREDICT_REPLAY ? "" : "not replayed: as in the capture's run"};
    cli_table_row(table, cells);
}

/* Regions under one percent everywhere are left out and counted. */
static void regions_print(const struct prediction *prediction)
{
    static const char *const headings[] = {"region", ">threads", "in vitro", ">share", ">in vivo", ">difference", ""};
    struct cli_table *table = cli_table_new(sizeof headings / sizeof *headings, headings);
    const struct predict_result *result = &prediction->result;
    size_t small = 0;
    putchar('\n');
    for (size_t i = 0; table && i < prediction->manifest->region_count; i++) {
        bool shown = false;
        for (size_t j = 0; j < result->point_count; j++)
            shown = shown || result->points[j].regions[i].time_ns * 100 >= result->points[j].time_ns;
        small += !shown;
        for (size_t j = 0; shown && j < result->point_count; j++)
            region_row(table, prediction, &result->points[j], &result->points[j].regions[i]);
    }
    cli_table_print(table, stdout);
    cli_table_free(table);
    if (small)
        printf("%zu region%s under 1 %% of the time %s not listed\n", small, small == 1 ? "" : "s", small == 1 ? "is" : "are");
}

static void foreign_print(const struct prediction *prediction)
{
    char *captured_on = host_described_name(prediction->manifest->host);
    bool serial = prediction->result.serial_basis == PREDICT_IN_VIVO;
    printf("\nThe program was captured on another machine (%s): %swhat was not replayed on %s keeps that machine's time.\n",
           captured_on ? captured_on : "without a name", serial ? "the part outside regions and " : "", prediction->arch);
    free(captured_on);
}

static void prediction_print(const struct prediction *prediction)
{
    char serial[UNITS_TEXT_BYTES];
    bool marked = false;
    printf("%s on %s%s\n\n", prediction->manifest->program, prediction->arch, prediction->here ? " (this machine)" : "");
    points_print(prediction, &marked);
    printf("\noutside regions %s at any number of threads\n", units_format_ns(prediction->result.serial_ns, serial));
    regions_print(prediction);
    if (prediction->result.foreign)
        foreign_print(prediction);
    cli_thread_mark_print(marked, stdout);
}

static enum pcere_status predict_verb(struct cli *cli, void *raw, struct pcere_error *error)
{
    const struct predict_words *words = raw;
    struct prediction prediction = {0};
    enum pcere_status status = request_fill(cli, words, &prediction, error);
    if (status == PCERE_OK && words->measure && !prediction.here)
        status = pcere_fail(error, PCERE_USAGE, 0, "run this on that machine, or leave --measure out", "--measure runs the program here, and this is not '%s'",
                            prediction.arch);
    /* First without real runs: it is no use to measure what cannot be predicted. */
    if (status == PCERE_OK)
        status = predict_run(&prediction.request, &prediction.result, error);
    if (status == PCERE_OK && words->measure) {
        status = measure_store(cli, prediction.threads, prediction.request.thread_count, words->repeat, error);
        if (status == PCERE_OK)
            status = samples_reload(cli, &prediction, error);
        if (status == PCERE_OK) {
            predict_result_done(&prediction.result);
            prediction.result = (struct predict_result){0};
            status = predict_run(&prediction.request, &prediction.result, error);
        }
    }
    if (status == PCERE_OK && cli->json)
        status = document_add(cli->document, &prediction, error);
    else if (status == PCERE_OK)
        prediction_print(&prediction);
    prediction_done(&prediction);
    return status;
}

static const struct cli_option options[] = {
    {"arch", 0, CLI_TEXT, offsetof(struct predict_words, arch), "NAME",
     "The machine whose replays count: its name in the samples, or host for this one (host).", 0, 0},
    {"threads", 0, CLI_THREADS, offsetof(struct predict_words, threads), "LIST", "Thread counts; all that were replayed if not given.", 0, 0},
    {"measure", 0, CLI_FLAG, offsetof(struct predict_words, measure), NULL,
     "Run the program with each thread count, and put real time, error and acceleration beside the prediction.", 0, 0},
    {"repeat", 0, CLI_NUMBER, offsetof(struct predict_words, repeat), "N",
     "Real runs for each thread count with --measure; if not given, as many as fit into three seconds, one to five.", 1, 10000},
    {"flags", 0, CLI_TEXT, offsetof(struct predict_words, flags), "FLAGS", "Use the replays that were made with these compiler flags.", 0, 0},
    {"settings", 0, CLI_TEXT, offsetof(struct predict_words, settings), "WORDS",
     "Use the replays that were made with these OpenMP settings, as samples name them: \"bind=close\".", 0, 0},
};

const struct cli_verb cli_verb_predict = {
    .name = "predict",
    .summary = "the whole program's time at each number of threads, out of its replays",
    .synopsis = "[STORE]",
    .description =
        "Adds up the serial part, measured once, and for each class of each region the replayed time of its representative times the number of "
        "invocations that it stands for. What was not captured keeps its time from the capture's run, and is marked.\n\n"
        "Every prediction comes with a 95 % interval. Error is |predicted - real| / real. Acceleration is the real time of the whole program over the "
        "wall time of all replays at that number of threads, restoring and warm-up included, building not.\n\n"
        "Samples carry the name of the machine that measured them. To predict another machine, replay the store there and predict with --arch and "
        "that machine's name. A name is given by PCERE_HOST or by the file /etc/pcere/host; else it is made from the processor's.",
    .examples = "pcere predict\npcere predict --threads 1,2,4 --measure\npcere predict --arch sandybridge\n",
    .options = options, .option_count = sizeof options / sizeof *options, .options_bytes = sizeof(struct predict_words),
    .operands = CLI_OPERANDS_STORE,
    .needs = CLI_NEEDS_STORE,
    .run = predict_verb,
};
