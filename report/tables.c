/* report/tables.c - the document as comma-separated values and as Extra-P's JSON lines. */
#include "report/report.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static enum pcere_status written(FILE *out, const char *name, struct pcere_error *error)
{
    if (fflush(out) != 0 || ferror(out))
        return pcere_fail(error, PCERE_SYSTEM, errno, "is the disk full?", "cannot write %s", name);
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
    fputs("\r\n", out);
}

static void point_lines(FILE *out, const json_t *document, const json_t *prediction, const json_t *point)
{
    size_t i;
    json_t *predicted;
    json_array_foreach(json_object_get(point, "regions"), i, predicted)
        region_line(out, region_of(document, json_string_value(json_object_get(predicted, "region"))), prediction, point, predicted);
    json_t *whole = json_pack("{s:o, s:o}", "status", json_null(), "time_ns", json_incref(json_object_get(document, "wall_ns")));
    json_t *basis = json_copy((json_t *)(uintptr_t)point);
    if (whole && basis && json_object_set(basis, "basis", json_object_get(prediction, "basis")) == 0)
        region_line(out, whole, prediction, point, basis);
    json_decref(whole);
    json_decref(basis);
}

enum pcere_status report_write_csv(const json_t *document, FILE *out, const char *name, struct pcere_error *error)
{
    fputs("region,file,line,status,reason,invocations,classes,in_vivo_ns,share_ratio,arch,flags,settings,threads,basis,predicted_ns,low_ns,high_ns,"
          "real_ns\r\n", out);
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

static bool extrap_line(FILE *out, const char *program, const char *region, json_int_t threads, const char *metric, double seconds)
{
    char path[1024];
    snprintf(path, sizeof path, "%s%s%s", program, region ? "->" : "", region ? region : "");
    json_t *line = json_pack("{s:{s:I}, s:s, s:s, s:f}", "params", "p", threads, "callpath", path, "metric", metric, "value", seconds);
    bool fine = line && json_dumpf(line, out, JSON_COMPACT | JSON_PRESERVE_ORDER) == 0 && putc('\n', out) != EOF;
    json_decref(line);
    return fine;
}

static double seconds_of(const json_t *value)
{
    return json_number_value(value) / 1e9;
}

static size_t predicted_lines(FILE *out, const json_t *prediction, const char *program)
{
    size_t i, j, lines = 0;
    json_t *point, *region;
    json_array_foreach(json_object_get(prediction, "predictions"), i, point) {
        json_int_t threads = json_integer_value(json_object_get(point, "threads"));
        lines += extrap_line(out, program, NULL, threads, "predicted_time", seconds_of(json_object_get(point, "time_ns")));
        json_array_foreach(json_object_get(point, "regions"), j, region)
            lines += extrap_line(out, program, json_string_value(json_object_get(region, "region")), threads, "predicted_time",
                                 seconds_of(json_object_get(region, "time_ns")));
    }
    return lines;
}

static size_t real_lines(FILE *out, const json_t *document, const char *arch, const char *program)
{
    size_t i, j, lines = 0;
    json_t *run, *sample;
    json_array_foreach(json_object_get(document, "runs"), i, run) {
        const char *own = json_string_value(json_object_get(run, "arch"));
        if (!own || strcmp(own, arch) != 0)
            continue;
        json_array_foreach(json_object_get(run, "samples_ns"), j, sample)
            lines += extrap_line(out, program, json_string_value(json_object_get(run, "region")), json_integer_value(json_object_get(run, "threads")),
                                 "time", seconds_of(sample));
    }
    return lines;
}

enum pcere_status report_write_extrap(const json_t *document, FILE *out, const char *name, struct pcere_error *error)
{
    const json_t *prediction = json_array_get(json_object_get(document, "predictions"), 0);
    const json_t *source = prediction ? prediction : json_array_get(json_object_get(document, "runs"), 0);
    const char *arch = json_string_value(json_object_get(source, "arch")), *program = json_string_value(json_object_get(document, "program"));
    size_t lines = 0;
    if (arch && program) {
        lines = real_lines(out, document, arch, program);
        lines += prediction ? predicted_lines(out, prediction, program) : 0;
    }
    enum pcere_status status = written(out, name, error);
    if (status == PCERE_OK && !lines)
        status = pcere_fail(error, PCERE_DATA, 0, "run 'pcere replay --threads 1,2,4' or 'pcere predict --threads 1,2,4 --measure' first",
                            "there is no prediction and no real run to write");
    return status;
}
