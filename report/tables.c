/* report/tables.c - the document as comma-separated values and as Extra-P's JSON lines. */
#include "report/report.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define TABLE_BEGINS "region,file,line,status,reason,invocations,"

static enum pcere_status written(FILE *out, const char *name, struct pcere_error *error)
{
    if (fflush(out) != 0 || ferror(out))
        return pcere_fail(error, PCERE_SYSTEM, errno, errno == EPIPE ? NULL : "is the disk full?", "cannot write %s", name);
    return PCERE_OK;
}

static void cell_text(FILE *out, const char *text)
{
    if (!text)
        text = "";
    if (!text[strcspn(text, ",\"\r\n")]) {
        fputs(text, out);
        return;
    }
    putc('"', out);
    for (; *text; text++)
        fprintf(out, *text == '"' ? "\"\"" : "%c", *text);
    putc('"', out);
}

static void cell_value(FILE *out, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    putc(',', out);
    if (json_is_integer(value))
        fprintf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        fprintf(out, "%.9g", json_real_value(value));
    else if (json_is_string(value))
        cell_text(out, json_string_value(value));
    else if (json_is_boolean(value))
        fputs(json_is_true(value) ? "true" : "false", out);
}

static const json_t *region_of(const json_t *document, const char *name)
{
    size_t i;
    json_t *region;
    json_array_foreach(json_object_get(document, "regions"), i, region)
        if (name && strcmp(name, json_string_value(json_object_get(region, "region"))) == 0)
            return region;
    return NULL;
}

static void region_line(FILE *out, const json_t *region, const json_t *prediction, const json_t *point, const json_t *predicted)
{
    cell_text(out, json_string_value(json_object_get(region, "region")));
    cell_value(out, region, "file");
    cell_value(out, region, "line");
    cell_value(out, region, "status");
    cell_value(out, region, "reason");
    cell_value(out, region, "invocations");
    fprintf(out, ",%zu", json_array_size(json_object_get(region, "classes")));
    cell_value(out, region, "time_ns");
    cell_value(out, region, "share_ratio");
    cell_value(out, prediction, "arch");
    cell_value(out, prediction, "flags");
    cell_value(out, prediction, "settings");
    cell_value(out, point, "threads");
    cell_value(out, predicted, "basis");
    cell_value(out, predicted, "time_ns");
    cell_value(out, predicted, "low_ns");
    cell_value(out, predicted, "high_ns");
    cell_value(out, predicted, "real_ns");
    cell_value(out, predicted, "not_replayed_ns");
    cell_value(out, predicted, "missing_ns");
    fputs("\r\n", out);
}

static json_int_t number_at(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

/* What of a region's or the whole program's predicted time rests on no replay, shot or model, and what of that should have been replayed. */
static json_t *region_rest(const json_t *predicted)
{
    size_t i;
    json_t *class, *copy = json_copy((json_t *)(uintptr_t)predicted);
    json_int_t missing_ns = 0;
    json_array_foreach(json_object_get(predicted, "classes"), i, class)
        missing_ns += json_is_true(json_object_get(class, "missing")) ? number_at(class, "time_ns") : 0;
    if (copy)
        json_object_set_new(copy, "not_replayed_ns", json_integer(number_at(predicted, "in_vivo_ns")));
    if (copy)
        json_object_set_new(copy, "missing_ns", json_integer(missing_ns));
    return copy;
}

static json_t *point_rest(const json_t *point, const json_t *prediction)
{
    static const char *const replayed[] = {"replay", "sample", "model"};
    json_t *copy = json_copy((json_t *)(uintptr_t)point), *parts = json_object_get(point, "parts_ns");
    json_int_t rest_ns = number_at(point, "time_ns");
    for (size_t i = 0; i < sizeof replayed / sizeof *replayed; i++)
        rest_ns -= number_at(parts, replayed[i]);
    if (copy)
        json_object_set(copy, "basis", json_object_get(prediction, "basis"));
    if (copy)
        json_object_set_new(copy, "not_replayed_ns", json_integer(rest_ns));
    return copy;
}

static void point_lines(FILE *out, const json_t *document, const json_t *prediction, const json_t *point)
{
    size_t i;
    json_t *predicted;
    json_array_foreach(json_object_get(point, "regions"), i, predicted) {
        json_t *rest = region_rest(predicted);
        region_line(out, region_of(document, json_string_value(json_object_get(predicted, "region"))), prediction, point, rest);
        json_decref(rest);
    }
    json_t *whole = json_pack("{s:o, s:o}", "status", json_null(), "time_ns", json_incref(json_object_get(document, "wall_ns")));
    json_t *rest = point_rest(point, prediction);
    if (whole && rest)
        region_line(out, whole, prediction, point, rest);
    json_decref(whole);
    json_decref(rest);
}

enum pcere_status report_write_csv(const json_t *document, FILE *out, const char *name, struct pcere_error *error)
{
    fputs(TABLE_BEGINS "classes,in_vivo_ns,share_ratio,arch,flags,settings,threads,basis,predicted_ns,low_ns,high_ns,"
          "real_ns,not_replayed_ns,missing_ns\r\n", out);
    size_t i, j;
    json_t *prediction, *point, *region;
    bool any = false;
    json_array_foreach(json_object_get(document, "predictions"), i, prediction)
        json_array_foreach(json_object_get(prediction, "predictions"), j, point) {
            point_lines(out, document, prediction, point);
            any = true;
        }
    if (!any)
        json_array_foreach(json_object_get(document, "regions"), i, region)
            region_line(out, region, NULL, NULL, NULL);
    return written(out, name, error);
}

/* ---- Extra-P ---------------------------------------------------------------------------------------------------------------
 * It refuses a file unless each metric of each call path has values at the same set of coordinates: these are the thread counts that were
 * predicted, or, without a prediction, those of all real runs; what lacks one of them is left out. */

#define SERIES_NAME_MOST 1024

struct extrap_series { const json_t *source; const char *program, *region, *metric; };

/* The values of a series at a thread count, written if there is an `out`; how many there are. */
typedef size_t extrap_values_fn(const struct extrap_series *series, json_int_t threads, FILE *out);

/* An arrow parts the levels of a call path, and C++ has an operator of that name. */
static void path_make(const struct extrap_series *series, char path[static SERIES_NAME_MOST])
{
    snprintf(path, SERIES_NAME_MOST, "%s", series->program);
    size_t length = strlen(path);
    if (!series->region)
        return;
    snprintf(path + length, SERIES_NAME_MOST - length, "->%s", series->region);
    for (char *at = strstr(path + length + (length + 2 < SERIES_NAME_MOST ? 2 : 0), "->"); at; at = strstr(at, "->"))
        at[1] = ')';
}

static void extrap_line(FILE *out, const struct extrap_series *series, json_int_t threads, const json_t *time_ns)
{
    char path[SERIES_NAME_MOST];
    path_make(series, path);
    json_t *line = json_pack("{s:{s:I}, s:s, s:s, s:f}", "params", "p", threads, "callpath", path, "metric", series->metric, "value", json_number_value(time_ns) / 1e9);
    if (line && json_dumpf(line, out, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_ENSURE_ASCII) == 0)      /* it reads files in the encoding of the user's locale */
        putc('\n', out);
    json_decref(line);
}

static bool same_name(const json_t *value, const char *name)
{
    const char *own = json_string_value(value);
    return own && name ? strcmp(own, name) == 0 : !own && !name;
}

static size_t predicted_values(const struct extrap_series *series, json_int_t threads, FILE *out)
{
    size_t i, j, count = 0;
    json_t *point, *region;
    json_array_foreach(json_object_get(series->source, "predictions"), i, point) {
        if (json_integer_value(json_object_get(point, "threads")) != threads)
            continue;
        const json_t *found = series->region ? NULL : point;
        json_array_foreach(json_object_get(point, "regions"), j, region)
            if (series->region && same_name(json_object_get(region, "region"), series->region))
                found = region;
        if (found && out)
            extrap_line(out, series, threads, json_object_get(found, "time_ns"));
        count += found != NULL;
    }
    return count;
}

/* Its source is the list of those runs that one machine made. */
static size_t real_values(const struct extrap_series *series, json_int_t threads, FILE *out)
{
    size_t i, j, count = 0;
    json_t *run, *sample;
    json_array_foreach(series->source, i, run) {
        if (json_integer_value(json_object_get(run, "threads")) != threads || !same_name(json_object_get(run, "region"), series->region))
            continue;
        json_array_foreach(json_object_get(run, "samples_ns"), j, sample) {
            if (out)
                extrap_line(out, series, threads, sample);
            count++;
        }
    }
    return count;
}

/* If it has values everywhere. */
static size_t series_write(const struct extrap_series *series, extrap_values_fn *values, const json_t *threads, FILE *out)
{
    size_t i, lines = 0;
    json_t *count;
    json_array_foreach(threads, i, count)
        if (!values(series, json_integer_value(count), NULL))
            return 0;
    json_array_foreach(threads, i, count)
        lines += values(series, json_integer_value(count), out);
    return lines;
}

static void threads_put(json_t *list, json_t *threads)
{
    size_t i;
    json_t *known;
    json_array_foreach(list, i, known)
        if (json_equal(known, threads))
            return;
    json_array_append(list, threads);
}

/* Thread counts of a prediction, or of the runs of the whole program. */
static json_t *coordinates_of(const json_t *prediction, const json_t *runs)
{
    json_t *list = json_array(), *one;
    size_t i;
    json_array_foreach(prediction ? json_object_get(prediction, "predictions") : runs, i, one)
        if (prediction || !json_is_string(json_object_get(one, "region")))
            threads_put(list, json_object_get(one, "threads"));
    return list;
}

static bool same_value(const json_t *a, const json_t *b, const char *key)
{
    const char *own = json_string_value(json_object_get(a, key));
    return own && same_name(json_object_get(b, key), own);
}

/* Real runs of the machine and with the OpenMP settings of `source`, a prediction or a run. None ran with other compiler flags than the program's own. */
static json_t *runs_of(const json_t *document, const json_t *source)
{
    json_t *list = json_array(), *run;
    const char *flags = json_string_value(json_object_get(source, "flags"));
    size_t i;
    json_array_foreach(json_object_get(document, "runs"), i, run)
        if (same_value(run, source, "arch") && same_value(run, source, "settings") && !(flags && *flags))
            json_array_append(list, run);
    return list;
}

enum pcere_status report_write_extrap(const json_t *document, FILE *out, const char *name, struct pcere_error *error)
{
    const json_t *prediction = json_array_get(json_object_get(document, "predictions"), 0);
    const json_t *source = prediction ? prediction : json_array_get(json_object_get(document, "runs"), 0);
    const char *program = json_string_value(json_object_get(document, "program"));
    json_t *runs = runs_of(document, source), *threads = coordinates_of(prediction, runs), *region;
    struct extrap_series predicted = {prediction, program, NULL, "predicted_time"}, real = {runs, program, NULL, "time"};
    size_t lines = 0, i;
    if (program && json_array_size(threads)) {
        lines = series_write(&real, real_values, threads, out) + series_write(&predicted, predicted_values, threads, out);
        json_array_foreach(json_object_get(document, "regions"), i, region) {
            real.region = predicted.region = json_string_value(json_object_get(region, "region"));
            lines += series_write(&real, real_values, threads, out) + series_write(&predicted, predicted_values, threads, out);
        }
    }
    json_decref(runs);
    json_decref(threads);
    enum pcere_status status = written(out, name, error);
    if (status == PCERE_OK && !lines)
        status = pcere_fail(error, PCERE_DATA, 0, "run 'pcere replay --threads 1,2,4' or 'pcere predict --threads 1,2,4 --measure' first",
                            "there is no prediction and no real run to write");
    return status;
}

bool report_is_one(const char *head, size_t bytes)
{
    static const struct { const char *words; bool first; } marks[] = {
        {"<meta name=\"generator\" content=\"pcere report\">", false},
        {"\"schema\": \"pcere.report/", false},
        {TABLE_BEGINS, true},
        {"{\"params\":{\"p\":", true},
    };
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        const char *found = memmem(head, bytes, marks[i].words, strlen(marks[i].words));
        if (found && (found == head || !marks[i].first))
            return true;
    }
    return false;
}
