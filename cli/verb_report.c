/* cli/verb_report.c - pcere report: all that a store knows, as one page, as a table, or for other tools. */
#include "cli/architectures.h"
#include "cli/capture_table.h"
#include "cli/prediction.h"
#include "cli/verbs.h"
#include "core/files.h"
#include "core/json.h"
#include "report/report.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct report_words { const char *output, *format; bool force; };

typedef enum pcere_status report_write_fn(const json_t *document, FILE *out, const char *name, struct pcere_error *error);

struct report {
    struct cli *cli;
    json_t *document;                    /* borrowed */
    struct store_sample *samples;
    size_t sample_count;
    bool failed;
};

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

static bool same_source(const struct store_sample *a, const struct store_sample *b)
{
    return strcmp(a->host_name, b->host_name) == 0 && strcmp(or_empty(a->flags), or_empty(b->flags)) == 0
           && strcmp(or_empty(a->settings), or_empty(b->settings)) == 0;
}

/* With the compiler flags and OpenMP settings of the capture. */
static bool is_as_captured(const struct store_sample *sample)
{
    return !*or_empty(sample->flags) && !*or_empty(sample->settings);
}

static bool is_kind(const struct store_sample *sample, const char *kind)
{
    return strcmp(sample->kind, kind) == 0;
}

static void append(struct report *report, json_t *list, json_t *value)
{
    if (!value || json_array_append_new(list, value) != 0)
        report->failed = true;
}

static void strings_put(struct report *report, const char *key, char *const *strings)
{
    json_t *list = json_array();
    for (; strings && *strings; strings++)
        append(report, list, json_from_string(*strings));
    json_put(report->document, key, list, &report->failed);
}

static void capture_put(struct report *report, const struct store_manifest *manifest)
{
    uint64_t stored_bytes = 0;
    for (size_t i = 0; i < manifest->region_count; i++)
        for (size_t j = 0; j < manifest->regions[i].class_count; j++)
            stored_bytes += manifest->regions[i].classes[j].stored_bytes;
    json_t *host = json_loads(or_empty(manifest->host), 0, NULL);
    json_put(report->document, "captured_host", host ? host : json_null(), &report->failed);
    json_put(report->document, "compiler", json_from_string(manifest->compiler), &report->failed);
    json_put(report->document, "build_id", json_from_string(manifest->build_id), &report->failed);
    json_put(report->document, "stored_bytes", json_from_u64(stored_bytes), &report->failed);
    strings_put(report, "arguments", manifest->arguments);
    strings_put(report, "environment", manifest->environment);
}

/* Each machine that measured, described by the newest of its samples. */
static void hosts_put(struct report *report)
{
    json_t *list = json_array();
    for (size_t i = 0; i < report->sample_count; i++) {
        bool newer = false;
        for (size_t j = i + 1; j < report->sample_count && !newer; j++)
            newer = strcmp(report->samples[i].host_name, report->samples[j].host_name) == 0;
        json_t *host = newer ? NULL : json_loads(or_empty(report->samples[i].host), 0, NULL);
        if (host)
            append(report, list, host);
    }
    json_put(report->document, "replay_hosts", list, &report->failed);
}

/* The signature of a machine of this name, if it was measured; published ones are of other machines. */
static enum pcere_status platform_put(json_t *list, const char *name, struct report *report, struct pcere_error *error)
{
    struct platform_signature signature;
    json_t *object = NULL;
    char *path;
    for (size_t i = 0; i < json_array_size(list); i++)
        if (strcmp(json_string_value(json_object_get(json_array_get(list, i), "name")), name) == 0)
            return PCERE_OK;
    if (architecture_read(name, &signature, &path, NULL) != PCERE_OK)
        return PCERE_OK;        /* not measured, or damaged: 'pcere platform list' tells */
    free(path);
    enum pcere_status status = signature.basis == PLATFORM_MEASURED && strcmp(signature.name, name) == 0 ? signature_write(&signature, &object, error) : PCERE_OK;
    if (object)
        append(report, list, object);
    signature_done(&signature);
    return status;
}

static enum pcere_status platforms_put(struct report *report, struct pcere_error *error)
{
    json_t *list = json_array();
    const char *name = json_string_value(json_object_get(json_object_get(report->document, "captured_host"), "name"));
    enum pcere_status status = name && !strchr(name, '/') ? platform_put(list, name, report, error) : PCERE_OK;
    for (size_t i = 0; i < report->sample_count && status == PCERE_OK; i++)
        if (!strchr(report->samples[i].host_name, '/'))
            status = platform_put(list, report->samples[i].host_name, report, error);
    json_put(report->document, "platforms", list, &report->failed);
    return status;
}

static void runs_put(struct report *report)
{
    json_t *list = json_array();
    for (size_t i = 0; i < report->sample_count; i++) {
        const struct store_sample *sample = &report->samples[i];
        if (!is_kind(sample, "run"))
            continue;
        json_t *run = json_object(), *samples = json_array();
        json_put(run, "arch", json_from_string(sample->host_name), &report->failed);
        json_put(run, "region", json_from_string(sample->region), &report->failed);
        json_put(run, "settings", json_from_string(or_empty(sample->settings)), &report->failed);
        json_put(run, "threads", json_from_u64(sample->threads), &report->failed);
        for (size_t j = 0; sample->region && j < sample->sample_count; j++)
            append(report, samples, json_from_u64(sample->samples_ns[j]));
        if (!sample->region)
            append(report, samples, json_from_u64(sample->wall_ns));
        json_put(run, "samples_ns", samples, &report->failed);
        append(report, list, run);
    }
    json_put(report->document, "runs", list, &report->failed);
}

static enum pcere_status invocations_put(struct report *report, struct pcere_error *error)
{
    struct store_series *series;
    size_t count;
    enum pcere_status status = store_invocations_load(report->cli->store, &series, &count, error);
    if (status != PCERE_OK)
        return status;
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        json_t *value = json_object();
        json_put(value, "region", json_from_string(series[i].region), &report->failed);
        json_put(value, "invocations", json_from_u64(series[i].invocations), &report->failed);
        json_put(value, "number", json_from_numbers(series[i].number, series[i].count, &report->failed), &report->failed);
        json_put(value, "begin_ns", json_from_numbers(series[i].begin_ns, series[i].count, &report->failed), &report->failed);
        json_put(value, "time_ns", json_from_numbers(series[i].time_ns, series[i].count, &report->failed), &report->failed);
        json_put(value, "representative", json_from_numbers(series[i].representative, series[i].count, &report->failed), &report->failed);
        append(report, list, value);
    }
    store_series_free(series, count);
    json_put(report->document, "invocations", list, &report->failed);
    return PCERE_OK;
}

/* What that machine's replays with those flags and settings predict, or why they predict nothing. */
static enum pcere_status prediction_put(struct report *report, const struct store_sample *source, json_t *predictions, json_t *missing,
                                        struct pcere_error *error)
{
    const struct prediction_words words = {.arch = source->host_name, .flags = source->flags, .settings = source->settings};
    struct prediction prediction = {0};
    json_t *value = json_object();
    enum pcere_status status = prediction_prepare(report->cli, &words, &prediction, error);
    json_put(value, "flags", json_from_string(source->flags), &report->failed);
    json_put(value, "settings", json_from_string(source->settings), &report->failed);
    if (status == PCERE_OK)
        status = prediction_make(&prediction, error);
    if (status == PCERE_OK) {
        status = prediction_document_add(value, &prediction, error);
        append(report, predictions, json_incref(value));
    } else if (status == PCERE_DATA) {
        json_put(value, "arch", json_from_string(source->host_name), &report->failed);
        json_put(value, "why", json_from_string(error->message), &report->failed);
        json_put(value, "hint", json_from_string(error->hint), &report->failed);
        append(report, missing, json_incref(value));
        *error = (struct pcere_error){0};
        status = PCERE_OK;
    }
    json_decref(value);
    prediction_done(&prediction);
    return status;
}

/* Each source of replays once: those of the program as it was captured, or all others. */
static enum pcere_status sources_put(struct report *report, bool as_captured, json_t *predictions, json_t *missing, struct pcere_error *error)
{
    enum pcere_status status = PCERE_OK;
    for (size_t i = 0; i < report->sample_count && status == PCERE_OK; i++) {
        const struct store_sample *source = &report->samples[i];
        bool done = !is_kind(source, "replay") || is_as_captured(source) != as_captured;
        for (size_t j = 0; j < i && !done; j++)
            done = is_kind(&report->samples[j], "replay") && same_source(source, &report->samples[j]);
        if (!done)
            status = prediction_put(report, source, predictions, missing, error);
    }
    return status;
}

/* The program as it was captured comes first, whatever was replayed first: readers that show one prediction, or some, take the first. */
static enum pcere_status predictions_put(struct report *report, struct pcere_error *error)
{
    json_t *predictions = json_array(), *missing = json_array();
    enum pcere_status status = sources_put(report, true, predictions, missing, error);
    if (status == PCERE_OK)
        status = sources_put(report, false, predictions, missing, error);
    json_put(report->document, "predictions", predictions, &report->failed);
    json_put(report->document, "missing", missing, &report->failed);
    return status;
}

static enum pcere_status document_fill(struct report *report, struct pcere_error *error)
{
    const struct store_manifest *manifest = store_manifest(report->cli->store);
    enum pcere_status status = capture_document_add(report->document, manifest, error);
    if (status == PCERE_OK)
        status = store_samples_load(report->cli->store, &report->samples, &report->sample_count, error);
    if (status != PCERE_OK)
        return status;
    capture_put(report, manifest);
    hosts_put(report);
    runs_put(report);
    status = platforms_put(report, error);
    if (status == PCERE_OK)
        status = predictions_put(report, error);
    if (status == PCERE_OK)
        status = invocations_put(report, error);
    store_samples_free(report->samples, report->sample_count);
    return status == PCERE_OK && report->failed ? pcere_fail_memory(error, "the report") : status;
}

static report_write_fn *writer_of(const char *format)
{
    static const struct { const char *name; report_write_fn *write; } formats[] = {
        {"html", report_write_html}, {"csv", report_write_csv}, {"extrap", report_write_extrap}, {"json", NULL},
    };
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strcmp(formats[i].name, format) == 0)
            return formats[i].write;
    return NULL;
}

static enum pcere_status json_file_write(const json_t *document, FILE *out, const char *name, struct pcere_error *error)
{
    return json_write(document, out, name, error);
}

static mode_t usual_mode(void)
{
    mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

/* A report is made anew as often as somebody wants; what is no report of ours is somebody's. */
static enum pcere_status output_look(const char *path, bool force, struct pcere_error *error)
{
    char head[REPORT_HEAD_BYTES];
    struct stat there;
    if (force || stat(path, &there) != 0 || !S_ISREG(there.st_mode) || !there.st_size)
        return PCERE_OK;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t bytes = descriptor < 0 ? 0 : pread(descriptor, head, sizeof head, 0);
    if (descriptor >= 0)
        close(descriptor);
    if (bytes > 0 && report_is_one(head, (size_t)bytes))
        return PCERE_OK;
    return pcere_fail(error, PCERE_USAGE, 0, "--force replaces it, -o FILE names another", "'%.300s' is there, and is no report", path);
}

/* Whole or not at all; what is no regular file (a pipe, /dev/stdout) is written as it is. */
static enum pcere_status file_write(const char *path, report_write_fn *write, const json_t *document, struct pcere_error *error)
{
    struct stat there;
    struct file_stage stage = {.descriptor = -1};
    bool staged = stat(path, &there) != 0 || S_ISREG(there.st_mode);
    enum pcere_status status = staged ? file_stage(AT_FDCWD, path, "report.write", &stage, error) : PCERE_OK;
    if (status != PCERE_OK)
        return status;
    int own = staged ? fcntl(stage.descriptor, F_DUPFD_CLOEXEC, 3) : open(path, O_WRONLY | O_CLOEXEC);
    FILE *out = own < 0 ? NULL : fdopen(own, "w");
    if (!out)
        status = pcere_fail(error, PCERE_SYSTEM, errno, "name another file with -o", "cannot write '%s'", path);
    else
        status = write(document, out, path, error);
    if (out && fclose(out) != 0 && status == PCERE_OK)
        status = pcere_fail(error, PCERE_SYSTEM, errno, "is the disk full?", "cannot write '%s'", path);
    if (staged && status == PCERE_OK && fchmod(stage.descriptor, usual_mode()) != 0)
        status = pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot set the mode of '%s'", path);
    return staged ? file_publish(AT_FDCWD, path, &stage, false, "report.write", status, error) : status;
}

static enum pcere_status report_run(struct cli *cli, void *raw, struct pcere_error *error)
{
    const struct report_words *words = raw;
    const char *format = words->format ? words->format : cli->json ? "json" : "html";
    bool json = strcmp(format, "json") == 0;
    report_write_fn *write = json ? json_file_write : writer_of(format);
    if (!write)
        return pcere_fail(error, PCERE_USAGE, 0, "html, json, csv or extrap", "there is no format '%.50s'", format);
    if (cli->json && !json)
        return pcere_fail(error, PCERE_USAGE, 0, "leave one of them out", "--json and --format %s contradict each other", format);
    const bool to_file = words->output && strcmp(words->output, "-") != 0;
    enum pcere_status status = to_file ? output_look(words->output, words->force, error) : PCERE_OK;
    if (status == PCERE_OK)
        status = cli_document_begin(cli, error);
    struct report report = {.cli = cli, .document = cli->document};
    if (status == PCERE_OK)
        status = document_fill(&report, error);
    if (status != PCERE_OK)
        return status;
    if (to_file) {
        status = file_write(words->output, write, cli->document, error);
        if (status == PCERE_OK && !cli->json)
            cli_note(cli, "wrote %s", words->output);
        return status;
    }
    if (!cli->json)
        status = write(cli->document, stdout, "standard output", error);
    return status;
}

static const struct cli_option options[] = {
    {"output", 'o', CLI_TEXT, offsetof(struct report_words, output), "FILE", "The file to write; standard output if not given, or if it is -. An older report is replaced.", 0, 0},
    {"force", 0, CLI_FLAG, offsetof(struct report_words, force), NULL, "Replace a file that is no report, too.", 0, 0},
    {"format", 0, CLI_TEXT, offsetof(struct report_words, format), "NAME",
     "html: one page that needs nothing else (default). csv: a line a region and thread count. json: all of it. extrap: JSON lines for Extra-P.", 0, 0},
};

const struct cli_verb cli_verb_report = {
    .name = "report",
    .summary = "one page of all that a store knows: regions, classes, speed-up, errors, cost",
    .synopsis = "[STORE]",
    .description =
        "Writes what the store's capture, its replays and its real runs say. The page is one HTML file that opens without a network: curves of "
        "predicted and real speed-up with their intervals, regions with share, classes and error, every machine that measured, what was not captured and why. "
        "It holds no memory of the program, but its name, arguments and OpenMP settings.\n\n"
        "Extra-P wants each time at the same thread counts: those that were predicted, with real times if there are runs at each of them. It models from five on.\n\n"
        "Predictions are made of all replays of the store: for each machine, set of compiler flags and set of OpenMP settings that was replayed.",
    .examples = "pcere report -o report.html\npcere report cg.A.pcere --format csv -o regions.csv\npcere report --format extrap -o cg.jsonl\n",
    .options = options, .option_count = sizeof options / sizeof *options, .options_bytes = sizeof(struct report_words),
    .operands = CLI_OPERANDS_STORE,
    .needs = CLI_NEEDS_STORE,
    .run = report_run,
};
