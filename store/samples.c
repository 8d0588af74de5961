/* store/samples.c - samples.jsonl: lines that are whole and checked each for itself, appended by many processes. */
#include "core/faults.h"
#include "core/files.h"
#include "core/json.h"
#include "core/text.h"
#include "store/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define SAMPLES_FILE "samples.jsonl"

void store_sample_done(struct store_sample *sample)
{
    if (!sample)
        return;
    free(sample->kind);
    free(sample->host_name);
    free(sample->host);
    free(sample->region);
    free(sample->warmup);
    free(sample->warmup_policy);
    free(sample->warmup_reason);
    free(sample->flags);
    free(sample->settings);
    free(sample->samples_ns);
    free(sample->cpu_ns);
    free(sample->switches);
    free(sample->waits_ns);
    free(sample->process_counts);
    *sample = (struct store_sample){0};
}

void store_samples_free(struct store_sample *samples, size_t count)
{
    for (size_t i = 0; samples && i < count; i++)
        store_sample_done(&samples[i]);
    free(samples);
}

/* ---- writing ------------------------------------------------------------------------------------------------------------- */

static const char *or_empty(const char *string)
{
    return string ? string : "";
}

static enum pcere_status sample_encode(const struct store_sample *sample, struct text *line, struct pcere_error *error)
{
    json_t *host = json_loads(sample->host && *sample->host ? sample->host : "{}", JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(host)) {
        json_decref(host);
        return pcere_fail(error, PCERE_USAGE, 0, NULL, "a sample's host is not a JSON object");
    }
    bool failed = false;
    json_t *object = json_object();
    json_put(object, "kind", json_from_string(or_empty(sample->kind)), &failed);
    json_put(object, "host_name", json_from_string(or_empty(sample->host_name)), &failed);
    json_put(object, "region", json_from_string(sample->region), &failed);
    json_put(object, "representative", json_from_u64(sample->representative), &failed);
    json_put(object, "threads", json_from_u64(sample->threads), &failed);
    if (sample->processors)
        json_put(object, "processors", json_from_u64(sample->processors), &failed);
    if (sample->team)
        json_put(object, "team", json_from_u64(sample->team), &failed);
    json_put(object, "warmups", json_from_u64(sample->warmups), &failed);
    json_put(object, "warmup", json_from_string(or_empty(sample->warmup)), &failed);
    if (sample->warmup_policy)
        json_put(object, "warmup_policy", json_from_string(sample->warmup_policy), &failed);
    if (sample->warmup_reason)
        json_put(object, "warmup_reason", json_from_string(sample->warmup_reason), &failed);
    if (sample->has_residual)
        json_put(object, "residual_ratio", json_real(sample->residual_ratio), &failed);
    if (sample->fork_ns)
        json_put(object, "fork_ns", json_from_u64(sample->fork_ns), &failed);
    if (sample->start_ns)
        json_put(object, "start_ns", json_from_u64(sample->start_ns), &failed);
    if (sample->line_ns)
        json_put(object, "line_ns", json_from_u64(sample->line_ns), &failed);
    json_put(object, "flags", json_from_string(or_empty(sample->flags)), &failed);
    json_put(object, "settings", json_from_string(or_empty(sample->settings)), &failed);
    json_put(object, "samples_ns", sample->sample_count ? json_from_numbers(sample->samples_ns, sample->sample_count, &failed) : json_array(), &failed);
    json_put(object, "cpu_ns", json_from_numbers(sample->cpu_ns, sample->sample_count, &failed), &failed);
    json_put(object, "process_counts", json_from_numbers(sample->process_counts, sample->process_count, &failed), &failed);
    json_put(object, "switches", json_from_numbers(sample->switches, sample->sample_count, &failed), &failed);
    if (sample->waits_ns)
        json_put(object, "waits_ns", json_from_numbers(sample->waits_ns, sample->sample_count, &failed), &failed);
    if (sample->slow_ratio > 0)
        json_put(object, "slow_ratio", json_real(sample->slow_ratio), &failed);
    if (sample->loud_ratio > 0)
        json_put(object, "loud_ratio", json_real(sample->loud_ratio), &failed);
    if (sample->sampled_ratio > 0)
        json_put(object, "sampled_ratio", json_real(sample->sampled_ratio), &failed);
    json_put(object, "cost_ns", json_from_u64(sample->cost_ns), &failed);
    json_put(object, "wall_ns", json_from_u64(sample->wall_ns), &failed);
    json_put(object, "serial_ns", json_from_u64(sample->serial_ns), &failed);
    json_put(object, "when_s", json_from_u64(sample->when_s), &failed);
    json_put(object, "host", host, &failed);
    char *body = failed ? NULL : json_dumps(object, JSON_COMPACT);
    json_decref(object);
    if (failed)
        return pcere_fail(error, PCERE_USAGE, 0, NULL, "a sample cannot be written: a number is too large, or memory ran out");
    if (body)
        text_add_bytes(line, body, strlen(body) - 1);
    else
        line->failed = true;
    free(body);
    check_add(line, ",", "}\n");
    return line->failed ? pcere_fail_memory(error, "a sample") : PCERE_OK;
}

/* Where the next line belongs: behind the last newline. A killed writer may have left the start of a line, which is dropped. */
static enum pcere_status torn_line_drop(int descriptor, int64_t *ret_end, struct pcere_error *error)
{
    char tail[4096];
    off_t end = lseek(descriptor, 0, SEEK_END), at = end;
    while (at > 0) {
        size_t want = at < (off_t)sizeof tail ? (size_t)at : sizeof tail;
        ssize_t got = pread(descriptor, tail, want, at - (off_t)want);
        if (got != (ssize_t)want)
            return pcere_fail(error, PCERE_SYSTEM, got < 0 ? errno : EIO, NULL, "cannot read '" SAMPLES_FILE "'");
        const char *newline = memrchr(tail, '\n', want);
        if (newline) {
            at = at - (off_t)want + (newline - tail) + 1;
            break;
        }
        at -= (off_t)want;
    }
    if (end < 0 || (at < end && ftruncate(descriptor, at) != 0))
        return pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot write '" SAMPLES_FILE "'");
    *ret_end = at;
    return PCERE_OK;
}

static enum pcere_status line_append(int descriptor, const struct text *line, struct pcere_error *error)
{
    int64_t end;
    while (flock(descriptor, LOCK_EX) != 0)
        if (errno != EINTR)
            return pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot lock '" SAMPLES_FILE "'");
    enum pcere_status status = torn_line_drop(descriptor, &end, error);
    if (status)
        return status;
    status = file_write_all(descriptor, -1, line->data, line->length, SAMPLES_FILE, "samples.write", error);
    if (status && ftruncate(descriptor, end) != 0) {
        /* The torn line stays for the next writer to drop. */
    }
    return status;
}

enum pcere_status store_sample_append(const struct store *store, const struct store_sample *sample, struct pcere_error *error)
{
    struct text line = {0};
    enum pcere_status status = sample_encode(sample, &line, error);
    int descriptor = -1;
    if (!status) {
        descriptor = openat(store_directory(store), SAMPLES_FILE, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        status = descriptor < 0 ? store_unwritable_tell(store, pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot write '" SAMPLES_FILE "'"), error)
                                : line_append(descriptor, &line, error);
    }
    if (descriptor >= 0)
        close(descriptor);
    text_done(&line);
    return status;
}

/* ---- reading ------------------------------------------------------------------------------------------------------------- */

/* `count` numbers of that key; none (NULL) where it is null or, in stores of before, absent. */
static uint64_t *numbers_decode(struct json_reader *reader, const json_t *object, const char *key, size_t count)
{
    const json_t *list = json_object_get(object, key);
    if (!list || json_is_null(list))
        return NULL;
    uint64_t *numbers = calloc(count + 1, sizeof *numbers);
    if (!numbers && !reader->status)
        reader->status = pcere_fail_memory(reader->error, "a sample");
    if (!reader->status && (!json_is_array(list) || json_array_size(list) != count))
        reader->status = pcere_fail(reader->error, PCERE_DATA, 0, NULL, "%s: \"%s\" is no list of %zu numbers", reader->where, key, count);
    for (size_t i = 0; i < count && !reader->status; i++) {
        const json_t *value = json_array_get(list, i);
        if (!json_is_integer(value) || json_integer_value(value) < 0)
            reader->status = pcere_fail(reader->error, PCERE_DATA, 0, NULL, "%s: \"%s\" holds what is not a number", reader->where, key);
        else
            numbers[i] = (uint64_t)json_integer_value(value);
    }
    return numbers;
}

static void process_counts_check(struct json_reader *reader, const struct store_sample *sample)
{
    uint64_t left = sample->sample_count;
    bool fits = true;
    for (size_t i = 0; sample->process_counts && i < sample->process_count && fits; i++) {
        fits = sample->process_counts[i] > 0 && sample->process_counts[i] <= left;
        left -= fits ? sample->process_counts[i] : 0;
    }
    if (!reader->status && sample->process_counts && (!fits || left))
        reader->status = pcere_fail(reader->error, PCERE_DATA, 0, NULL, "%s: \"process_counts\" does not add up", reader->where);
}

/* Only samples of a part of the iterations have it. */
static double sampled_ratio_read(struct json_reader *reader, const json_t *object)
{
    const json_t *value = json_object_get(object, "sampled_ratio");
    double ratio = value ? json_number_value(value) : 0;
    if (value && !reader->status && !(json_is_number(value) && ratio > 0 && ratio <= 1))
        reader->status = pcere_fail(reader->error, PCERE_DATA, 0, STORE_HINT_DAMAGED, "%s: \"sampled_ratio\" is no share", reader->where);
    return ratio;
}

/* Only samples that were made on slow processors have it. */
static double slower_read(struct json_reader *reader, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    double ratio = value ? json_number_value(value) : 0;
    if (value && !reader->status && !(json_is_number(value) && isfinite(ratio) && ratio > 0))
        reader->status = pcere_fail(reader->error, PCERE_DATA, 0, STORE_HINT_DAMAGED, "%s: \"%s\" is no such ratio", reader->where, key);
    return ratio;
}

/* Only samples of stores of today have these. */
static void warmup_read(struct json_reader *reader, const json_t *object, struct store_sample *sample)
{
    const json_t *residual = json_object_get(object, "residual_ratio");
    if (json_object_get(object, "warmup_policy"))
        sample->warmup_policy = json_read_string(reader, object, "warmup_policy", true);
    if (json_object_get(object, "warmup_reason"))
        sample->warmup_reason = json_read_string(reader, object, "warmup_reason", true);
    if (residual && !reader->status && !(json_is_number(residual) && isfinite(json_number_value(residual)) && json_number_value(residual) >= -1))
        reader->status = pcere_fail(reader->error, PCERE_DATA, 0, STORE_HINT_DAMAGED, "%s: \"residual_ratio\" is no such ratio", reader->where);
    if (json_object_get(object, "fork_ns"))
        sample->fork_ns = json_read_u64(reader, object, "fork_ns", UINT64_MAX);
    if (json_object_get(object, "start_ns"))
        sample->start_ns = json_read_u64(reader, object, "start_ns", UINT64_MAX);
    if (json_object_get(object, "processors"))
        sample->processors = (uint32_t)json_read_u64(reader, object, "processors", UINT32_MAX);
    if (json_object_get(object, "team"))
        sample->team = (uint32_t)json_read_u64(reader, object, "team", UINT32_MAX);
    if (json_object_get(object, "line_ns"))
        sample->line_ns = json_read_u64(reader, object, "line_ns", UINT64_MAX);
    sample->has_residual = residual != NULL;
    sample->residual_ratio = residual ? json_number_value(residual) : 0;
}

static enum pcere_status sample_decode(const char *line, size_t bytes, const char *where, struct store_sample *ret_sample,
                                       struct pcere_error *error)
{
    json_t *object;
    enum pcere_status status = check_verify(line, bytes, "}\n", where, error);
    if (!status)
        status = json_parse(line, bytes, where, &object, error);
    if (status)
        return status;
    struct json_reader reader = {.where = where, .error = error};
    struct store_sample sample = {
        .kind = json_read_string(&reader, object, "kind", false),
        .host_name = json_read_string(&reader, object, "host_name", false),
        .region = json_read_string(&reader, object, "region", true),
        .representative = json_read_u64(&reader, object, "representative", INT64_MAX),
        .threads = (uint32_t)json_read_u64(&reader, object, "threads", UINT32_MAX),
        .warmups = (uint32_t)json_read_u64(&reader, object, "warmups", UINT32_MAX),
        .warmup = json_read_string(&reader, object, "warmup", false),
        .flags = json_read_string(&reader, object, "flags", false),
        .settings = json_read_string(&reader, object, "settings", false),
        .cost_ns = json_read_u64(&reader, object, "cost_ns", INT64_MAX),
        .wall_ns = json_read_u64(&reader, object, "wall_ns", INT64_MAX),
        .serial_ns = json_read_u64(&reader, object, "serial_ns", INT64_MAX),
        .when_s = json_read_u64(&reader, object, "when_s", INT64_MAX),
    };
    const json_t *values = json_read_array(&reader, object, "samples_ns"), *host = json_read_object(&reader, object, "host");
    sample.sampled_ratio = sampled_ratio_read(&reader, object);
    sample.slow_ratio = slower_read(&reader, object, "slow_ratio");
    sample.loud_ratio = slower_read(&reader, object, "loud_ratio");
    warmup_read(&reader, object, &sample);
    sample.sample_count = json_array_size(values);
    sample.samples_ns = numbers_decode(&reader, object, "samples_ns", sample.sample_count);
    sample.cpu_ns = numbers_decode(&reader, object, "cpu_ns", sample.sample_count);
    sample.switches = numbers_decode(&reader, object, "switches", sample.sample_count);
    sample.waits_ns = numbers_decode(&reader, object, "waits_ns", sample.sample_count);
    sample.process_count = json_array_size(json_object_get(object, "process_counts"));
    sample.process_counts = numbers_decode(&reader, object, "process_counts", sample.process_count);
    process_counts_check(&reader, &sample);
    sample.host = host ? json_dumps(host, JSON_COMPACT) : NULL;
    if (!reader.status && (!sample.samples_ns || !sample.host))
        reader.status = pcere_fail_memory(error, "a sample");
    json_decref(object);
    if (reader.status) {
        store_sample_done(&sample);
        return reader.status;
    }
    *ret_sample = sample;
    return PCERE_OK;
}

/* A line that is whole but for its newline was not torn by a kill if something else stands there: that byte is damaged. */
static enum pcere_status check_torn_line(const char *line, size_t bytes, const char *where, struct pcere_error *error)
{
    if (check_verify(line, bytes - 1, "}", "", NULL))
        return PCERE_OK;
    return pcere_fail(error, PCERE_DATA, 0, STORE_HINT_DAMAGED, "%s is damaged: it has no end", where);
}

static void damage_note(struct samples_damage *damage, const struct pcere_error *error)
{
    if (!damage->lines++)
        damage->first = *error;
}

enum pcere_status store_samples_load(struct store *store, struct store_sample **ret_samples, size_t *ret_count,
                                     struct pcere_error *error)
{
    void *data;
    struct pcere_error wrong;
    struct samples_damage *damage = store_samples_damage(store);
    *damage = (struct samples_damage){0};
    size_t bytes, count = 0, capacity = 0, number = 0;
    struct store_sample *samples = NULL;
    enum pcere_status status = file_read(store_directory(store), SAMPLES_FILE, STORE_SAMPLES_BYTES_MOST, &data, &bytes, error);
    if (status)
        return status;
    const char *at = data, *end = at + bytes;
    while (at < end && !status) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        char where[64];
        snprintf(where, sizeof where, "line %zu of '" SAMPLES_FILE "'", ++number);
        if (!array_reserve(&samples, &capacity, count + 1, sizeof *samples))
            status = pcere_fail_memory(error, "the samples");
        else if (!newline)
            status = check_torn_line(at, (size_t)(end - at), where, &wrong);
        else
            status = sample_decode(at, (size_t)(newline + 1 - at), where, &samples[count], &wrong);
        count += newline && !status;
        if (status == PCERE_DATA) {
            damage_note(damage, &wrong);
            status = PCERE_OK;
        } else if (status) {
            pcere_fail_memory(error, "the samples");
        }
        at = newline ? newline + 1 : end;
    }
    free(data);
    if (status) {
        store_samples_free(samples, count);
        return status;
    }
    *ret_samples = samples;
    *ret_count = count;
    return PCERE_OK;
}
