/* store/invocations.c - invocations.json: when each region ran in the timing run, how long, and in which class. */
#include "core/files.h"
#include "core/json.h"
#include "core/text.h"
#include "core/workers.h"
#include "store/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INVOCATIONS_FILE "invocations.json"
#define INVOCATIONS_SCHEMA "pcere.invocations/1"
#define WHERE "'" INVOCATIONS_FILE "'"

void store_series_done(struct store_series *series)
{
    if (!series)
        return;
    free(series->region);
    free(series->number);
    free(series->begin_ns);
    free(series->time_ns);
    free(series->representative);
    *series = (struct store_series){0};
}

void store_series_free(struct store_series *series, size_t count)
{
    for (size_t i = 0; series && i < count; i++)
        store_series_done(&series[i]);
    free(series);
}

/* ---- writing ------------------------------------------------------------------------------------------------------------- */

enum { DIGITS_MOST = 20 };

/* Returns how many digits it has. */
static size_t number_put(char *to, uint64_t number)
{
    size_t length = 1;
    for (uint64_t limit = 10; length < DIGITS_MOST && number >= limit; limit *= 10)
        length++;
    for (size_t i = length; i-- > 0; number /= 10)
        to[i] = (char)('0' + number % 10);
    return length;
}

/* There can be a hundred thousand: as text at once, since objects for each take fifty times as long. */
static void numbers_encode(struct text *file, const char *key, const uint64_t *numbers, size_t count)
{
    char part[4096];
    size_t used = 0;
    text_addf(file, ",\"%s\":[", key);
    for (size_t i = 0; i < count; i++) {
        if (i)
            part[used++] = ',';
        used += number_put(part + used, numbers[i]);
        if (used >= sizeof part - DIGITS_MOST) {
            text_add_bytes(file, part, used);
            used = 0;
        }
    }
    text_add_bytes(file, part, used);
    text_add(file, "]");
}

static void series_encode(struct text *file, const struct store_series *series, bool *failed)
{
    json_t *string = json_from_string(series->region);
    char *name = string ? json_dumps(string, JSON_ENCODE_ANY) : NULL;
    json_decref(string);
    *failed |= !name || series->invocations > INT64_MAX;
    text_addf(file, "{\"region\":%s,\"invocations\":%" PRIu64, name ? name : "", series->invocations);
    free(name);
    numbers_encode(file, "number", series->number, series->count);
    numbers_encode(file, "begin_ns", series->begin_ns, series->count);
    numbers_encode(file, "time_ns", series->time_ns, series->count);
    numbers_encode(file, "representative", series->representative, series->count);
    text_add(file, "}");
}

struct encoding {                        /* of all regions, side by side */
    const struct store_series *series;
    struct text *texts;
    size_t count;
    atomic_size_t next;
    atomic_bool failed;
};

static void *regions_encode(void *context)
{
    struct encoding *encoding = context;
    for (size_t i; (i = atomic_fetch_add(&encoding->next, 1)) < encoding->count;) {
        bool failed = false;
        series_encode(&encoding->texts[i], &encoding->series[i], &failed);
        if (failed || encoding->texts[i].failed)
            atomic_store(&encoding->failed, true);
    }
    return NULL;
}

/* False: no memory, or what cannot be said. */
static bool file_encode(const struct store_series *series, size_t count, struct text *file)
{
    struct encoding encoding = {.series = series, .texts = calloc(count + 1, sizeof *encoding.texts), .count = count};
    if (!encoding.texts)
        return false;
    workers_run(regions_encode, &encoding, count);
    text_add(file, "{\"schema\":\"" INVOCATIONS_SCHEMA "\",\"regions\":[");
    for (size_t i = 0; i < count; i++) {
        if (i)
            text_add(file, ",");
        text_add_bytes(file, encoding.texts[i].data, encoding.texts[i].length);
        text_done(&encoding.texts[i]);
    }
    free(encoding.texts);
    text_add(file, "]");
    check_add(file, ",", "}\n");
    return !encoding.failed && !file->failed;
}

enum pcere_status store_invocations_write(const struct store *store, const struct store_series *series, size_t count,
                                          struct pcere_error *error)
{
    struct text file = {0};
    enum pcere_status status = PCERE_OK;
    if (!file_encode(series, count, &file))
        status = pcere_fail_memory(error, "the invocations");
    else if (file.length > STORE_INVOCATIONS_BYTES_MOST)
        status = pcere_fail(error, PCERE_USAGE, 0, NULL, "too many invocations for " WHERE);
    else
        status = file_replace(store_directory(store), INVOCATIONS_FILE, file.data, file.length, false, "invocations.write", error);
    text_done(&file);
    return status;
}

/* ---- reading ------------------------------------------------------------------------------------------------------------- */

static uint64_t *numbers_decode(struct json_reader *reader, const json_t *object, const char *key, size_t count)
{
    const json_t *list = json_read_array(reader, object, key);
    uint64_t *numbers = calloc(count + 1, sizeof *numbers);
    if (!numbers && !reader->status)
        reader->status = pcere_fail_memory(reader->error, "the invocations");
    if (!reader->status && json_array_size(list) != count)
        reader->status = pcere_fail(reader->error, PCERE_DATA, 0, STORE_HINT_DAMAGED, "%s: \"%s\" has another length", reader->where, key);
    for (size_t i = 0; i < count && !reader->status; i++) {
        const json_t *value = json_array_get(list, i);
        if (!json_is_integer(value) || json_integer_value(value) < 0)
            reader->status = pcere_fail(reader->error, PCERE_DATA, 0, STORE_HINT_DAMAGED, "%s: \"%s\" holds what is no number", reader->where, key);
        else
            numbers[i] = (uint64_t)json_integer_value(value);
    }
    return numbers;
}

static void series_decode(struct json_reader *reader, const json_t *object, struct store_series *series)
{
    series->region = json_read_string(reader, object, "region", false);
    series->invocations = json_read_u64(reader, object, "invocations", INT64_MAX);
    series->count = json_array_size(json_object_get(object, "number"));
    series->number = numbers_decode(reader, object, "number", series->count);
    series->begin_ns = numbers_decode(reader, object, "begin_ns", series->count);
    series->time_ns = numbers_decode(reader, object, "time_ns", series->count);
    series->representative = numbers_decode(reader, object, "representative", series->count);
}

static enum pcere_status file_decode(const char *data, size_t bytes, struct store_series **ret_series, size_t *ret_count, struct pcere_error *error)
{
    json_t *object = NULL;
    enum pcere_status status = check_verify(data, bytes, "}\n", WHERE, error);
    if (!status)
        status = json_parse(data, bytes, WHERE, &object, error);
    if (status)
        return status;
    struct json_reader reader = {.where = WHERE, .error = error};
    char *schema = json_read_string(&reader, object, "schema", false);
    const json_t *list = json_read_array(&reader, object, "regions");
    if (schema && strcmp(schema, INVOCATIONS_SCHEMA) != 0)
        reader.status = pcere_fail(error, PCERE_DATA, 0, "capture the program again with this version of PCERE", WHERE " is of schema '%.40s'", schema);
    free(schema);
    size_t count = json_array_size(list);
    struct store_series *series = calloc(count + 1, sizeof *series);
    if (!series && !reader.status)
        reader.status = pcere_fail_memory(error, "the invocations");
    for (size_t i = 0; i < count && !reader.status; i++)
        series_decode(&reader, json_array_get(list, i), &series[i]);
    json_decref(object);
    if (reader.status) {
        store_series_free(series, count);
        return reader.status;
    }
    *ret_series = series;
    *ret_count = count;
    return PCERE_OK;
}

bool store_has_invocations(const struct store *store)
{
    return faccessat(store_directory(store), INVOCATIONS_FILE, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

enum pcere_status store_invocations_load(const struct store *store, struct store_series **ret_series, size_t *ret_count, struct pcere_error *error)
{
    void *data;
    size_t bytes;
    if (!store_has_invocations(store)) {
        *ret_series = NULL;
        *ret_count = 0;
        return PCERE_OK;
    }
    enum pcere_status status = file_read(store_directory(store), INVOCATIONS_FILE, STORE_INVOCATIONS_BYTES_MOST, &data, &bytes, error);
    if (status)
        return status;
    status = file_decode(data, bytes, ret_series, ret_count, error);
    free(data);
    return status;
}
