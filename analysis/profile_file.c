/* analysis/profile_file.c - see profile.h: a profile as bytes, and back. Knows nothing of what the columns mean. */
#include "analysis/profile.h"
#include "analysis/profile_format.h"
#include "core/files.h"
#include "core/json.h"
#include "core/text.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#define HINT_DAMAGED "measure the profile again, or copy it again from where it came"

/* ---- writing ----------------------------------------------------------------------------------------------------------------- */

static void number_add(struct text *text, uint64_t number)
{
    unsigned char bytes[10];
    size_t count = 0;
    do {
        bytes[count] = (unsigned char)((number & 0x7f) | (number > 0x7f ? 0x80 : 0));
        number >>= 7;
        count++;
    } while (number);
    text_add_bytes(text, bytes, count);
}

static void labels_add(const struct profile *profile, struct text *text)
{
    if (!profile->text_at) {
        text_add_bytes(text, profile->labels, profile->count * sizeof *profile->labels);
        return;
    }
    const char *before = "";
    for (size_t i = 0; i < profile->count; i++) {
        const char *label = profile->texts + profile->text_at[i];
        size_t same = 0;
        while (label[same] && label[same] == before[same])
            same++;
        size_t rest = strlen(label + same);
        number_add(text, same);
        number_add(text, rest);
        text_add_bytes(text, label + same, rest);
        before = label;
    }
}

static void column_pack(struct text *text, size_t count, uint64_t least, uint64_t most, const void *values, size_t value_bytes)
{
    struct profile_column column = {.least = least, .width = 1};
    while (column.width < 8 && (most - least) >> (8 * column.width))
        column.width++;
    text_add_bytes(text, &column, sizeof column);
    enum { CHUNK = 4096 };
    unsigned char chunk[CHUNK * 8 + 8];
    for (size_t i = 0; i < count; i += CHUNK) {
        size_t rows = count - i < CHUNK ? count - i : CHUNK;
        for (size_t row = 0; row < rows; row++) {
            uint64_t value = value_bytes == 8   ? ((const uint64_t *)values)[i + row]
                             : value_bytes == 4 ? ((const uint32_t *)values)[i + row]
                                                : ((const uint8_t *)values)[i + row];
            value -= least;
            memcpy(chunk + row * column.width, &value, 8);
        }
        text_add_bytes(text, chunk, rows * column.width);
    }
}

#define COLUMN_ADD(suffix, type)                                                                                            \
    static void column_add_##suffix(struct text *text, const type *values, size_t count)                                    \
    {                                                                                                                        \
        type least = count ? values[0] : 0, most = least;                                                                   \
        for (size_t i = 1; i < count; i++) {                                                                                 \
            least = values[i] < least ? values[i] : least;                                                                   \
            most = values[i] > most ? values[i] : most;                                                                      \
        }                                                                                                                    \
        column_pack(text, count, least, most, values, sizeof *values);                                                       \
    }
COLUMN_ADD(u8, uint8_t)
COLUMN_ADD(u32, uint32_t)
COLUMN_ADD(u64, uint64_t)

static void columns_add(const struct profile *profile, struct text *text)
{
    size_t count = profile->count;
    const struct profile_segments *segments = &profile->segments;
    column_add_u8(text, profile->kinds, count);
    column_add_u32(text, profile->construct, count);
    column_add_u32(text, profile->thread, count);
    column_add_u32(text, profile->cpu, count);
    column_add_u64(text, profile->start_ns, count);
    column_add_u64(text, profile->active_ns, count);
    for (size_t i = 0; i < profile->event_count; i++) {
        column_add_u64(text, profile->counts[i], count);
        if (profile->low[i]) {
            column_add_u64(text, profile->low[i], count);
            column_add_u64(text, profile->high[i], count);
        }
    }
    for (size_t i = 0; profile->sources && i < profile->run_count; i++)
        column_add_u32(text, profile->sources[i], count);
    if (!segments->count)
        return;
    column_add_u32(text, segments->xu, segments->count);
    column_add_u32(text, segments->thread, segments->count);
    column_add_u64(text, segments->begin_ns, segments->count);
    column_add_u64(text, segments->active_ns, segments->count);
    for (size_t i = 0; i < profile->event_count; i++)
        column_add_u64(text, segments->counts[i], segments->count);
}

enum pcere_status profile_encode(const struct profile *profile, void **ret_data, size_t *ret_bytes, struct pcere_error *error)
{
    json_t *description;
    enum pcere_status status = profile_describe(profile, &description, error);
    if (status != PCERE_OK)
        return status;
    char *json = json_dumps(description, JSON_COMPACT);
    json_decref(description);
    if (!json)
        return pcere_fail_memory(error, "a profile's description");
    struct text text = {0};
    struct profile_header header = {
        .version = PROFILE_VERSION, .description_bytes = strlen(json), .xus = profile->count, .segments = profile->segments.count,
        .flags = (profile->text_at ? PROFILE_HAS_TEXTS : 0) | (profile->sources ? PROFILE_HAS_SOURCES : 0) |
                 (profile->in_label_order ? PROFILE_IN_LABEL_ORDER : 0),
    };
    memcpy(header.magic, PROFILE_MAGIC, sizeof header.magic);
    text_add_bytes(&text, &header, sizeof header);
    text_add(&text, json);
    free(json);
    size_t labels_at = text.length;
    labels_add(profile, &text);
    header.labels_bytes = text.length - labels_at;
    columns_add(profile, &text);
    header.file_bytes = text.length + sizeof(uint64_t);
    if (!text.failed && text.length)
        memcpy(text.data, &header, sizeof header);
    uint64_t check = text.failed ? 0 : XXH64(text.data, text.length, 0);
    text_add_bytes(&text, &check, sizeof check);
    size_t bytes = text.length;
    char *data = text_take(&text);
    if (!data)
        return pcere_fail_memory(error, "a profile's file");
    *ret_data = data;
    *ret_bytes = bytes;
    return PCERE_OK;
}

enum pcere_status profile_write(const struct profile *profile, const char *path, bool force, struct pcere_error *error)
{
    if (!force && access(path, F_OK) == 0)
        return pcere_fail(error, PCERE_USAGE, 0, "give --force to replace it, or another name", "'%.200s' exists", path);
    void *data;
    size_t bytes;
    enum pcere_status status = profile_encode(profile, &data, &bytes, error);
    if (status != PCERE_OK)
        return status;
    status = file_replace(AT_FDCWD, path, data, bytes, false, "profile.write", error);
    free(data);
    return status;
}

/* ---- reading ----------------------------------------------------------------------------------------------------------------- */

struct input {
    const unsigned char *at, *end;
    const char *where;
    struct pcere_error *error;
};

static enum pcere_status damaged(const struct input *input, const char *what)
{
    pcere_fail(input->error, PCERE_DATA, 0, HINT_DAMAGED, "%s is damaged: %s", input->where, what);
    return PCERE_DATA;
}

static enum pcere_status foreign(const struct input *input)
{
    pcere_fail(input->error, PCERE_DATA, 0, "name a file that 'pcere profile' or 'pcere combine' wrote", "%s is no profile", input->where);
    return PCERE_DATA;
}

static bool number_read(struct input *input, uint64_t *ret_number)
{
    uint64_t number = 0;
    for (unsigned shift = 0; shift < 35 && input->at < input->end; shift += 7) {
        unsigned char byte = *input->at++;
        number |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *ret_number = number;
            return true;
        }
    }
    return false;
}

/* How long the texts are in all, so that no more is allocated than there is. */
static enum pcere_status labels_measure(struct input input, uint64_t count, size_t *ret_bytes)
{
    uint64_t before = 0, all = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t same, rest;
        if (!number_read(&input, &same) || !number_read(&input, &rest) || same > before || rest > PROFILE_LABEL_BYTES_MOST ||
            same + rest > PROFILE_LABEL_BYTES_MOST || !(same + rest) || rest > (uint64_t)(input.end - input.at))
            return damaged(&input, "its labels are cut");
        input.at += rest;
        before = same + rest;
        all += before + 1;
        if (all > PROFILE_TEXTS_BYTES_MOST)
            return damaged(&input, "its labels are longer than any");
    }
    if (input.at != input.end)
        return damaged(&input, "there is something behind its labels");
    *ret_bytes = all;
    return PCERE_OK;
}

static enum pcere_status labels_read(struct input *input, struct profile *profile, size_t count)
{
    size_t bytes;
    enum pcere_status status = labels_measure(*input, count, &bytes);
    if (status != PCERE_OK)
        return status;
    if (!array_reserve(&profile->texts, &profile->texts_capacity, bytes + 1, 1))
        return pcere_fail_memory(input->error, "the labels of a profile");
    const char *before = "";
    for (size_t i = 0; i < count; i++) {
        uint64_t same = 0, rest = 0;
        number_read(input, &same);
        number_read(input, &rest);
        if (memchr(input->at, 0, rest))
            return damaged(input, "a label has a NUL");
        char *label = profile->texts + profile->texts_bytes;
        memcpy(label, before, same);
        memcpy(label + same, input->at, rest);
        label[same + rest] = 0;
        input->at += rest;
        XXH128_hash_t hash = XXH3_128bits(label, same + rest);
        profile->labels[i] = (struct profile_label){.high = hash.high64, .low = hash.low64};
        profile->text_at[i] = profile->texts_bytes;
        profile->texts_bytes += same + rest + 1;
        before = label;
    }
    return PCERE_OK;
}

static enum pcere_status column_begin(struct input *input, size_t count, uint64_t most, struct profile_column *ret_column)
{
    if ((size_t)(input->end - input->at) < sizeof *ret_column)
        return damaged(input, "a column is missing");
    memcpy(ret_column, input->at, sizeof *ret_column);
    input->at += sizeof *ret_column;
    if (ret_column->width < 1 || ret_column->width > 8 || ret_column->least > most)
        return damaged(input, "a column has no sensible width");
    if ((size_t)(input->end - input->at) / ret_column->width < count)
        return damaged(input, "a column is cut");
    return PCERE_OK;
}

static inline uint64_t value_load(const unsigned char *at, const unsigned char *end, unsigned width)
{
    uint64_t value = 0;
    if (end - at >= 8) {
        memcpy(&value, at, 8);
        return width == 8 ? value : value & (((uint64_t)1 << (8 * width)) - 1);
    }
    memcpy(&value, at, width);
    return value;
}

static enum pcere_status column_read(struct input *input, void *values, size_t value_bytes, size_t count)
{
    struct profile_column column;
    uint64_t most = value_bytes == 8 ? UINT64_MAX : value_bytes == 4 ? UINT32_MAX : UINT8_MAX;
    enum pcere_status status = column_begin(input, count, most, &column);
    if (status != PCERE_OK)
        return status;
    uint64_t room = most - column.least, largest = 0;
    const unsigned char *at = input->at;
    for (size_t i = 0; i < count; i++, at += column.width) {
        uint64_t value = value_load(at, input->end, column.width);
        largest = value > largest ? value : largest;
        value += column.least;
        if (value_bytes == 8)
            ((uint64_t *)values)[i] = value;
        else if (value_bytes == 4)
            ((uint32_t *)values)[i] = (uint32_t)value;
        else
            ((uint8_t *)values)[i] = (uint8_t)value;
    }
    if (largest > room)
        return damaged(input, "a number is too large for its column");
    input->at = at;
    return PCERE_OK;
}

static enum pcere_status column_new(struct input *input, uint64_t **ret_column, size_t count)
{
    *ret_column = malloc(count * sizeof(uint64_t) + 1);
    return *ret_column ? column_read(input, *ret_column, 8, count) : pcere_fail_memory(input->error, "a column");
}

static enum pcere_status column_new_u32(struct input *input, uint32_t **ret_column, size_t count)
{
    *ret_column = malloc(count * sizeof(uint32_t) + 1);
    return *ret_column ? column_read(input, *ret_column, 4, count) : pcere_fail_memory(input->error, "a column");
}

static enum pcere_status columns_read(struct input *input, struct profile *profile, const bool *intervals, bool sources, size_t count)
{
    enum pcere_status status = column_read(input, profile->kinds, 1, count);
    uint32_t *const narrow[] = {profile->construct, profile->thread, profile->cpu};
    for (size_t i = 0; status == PCERE_OK && i < 3; i++)
        status = column_read(input, narrow[i], 4, count);
    if (status == PCERE_OK)
        status = column_read(input, profile->start_ns, 8, count);
    if (status == PCERE_OK)
        status = column_read(input, profile->active_ns, 8, count);
    for (size_t i = 0; status == PCERE_OK && i < profile->event_count; i++) {
        if (count)
            status = column_read(input, profile->counts[i], 8, count);
        else
            status = column_begin(input, 0, UINT64_MAX, &(struct profile_column){0});
        if (status == PCERE_OK && intervals[i])
            status = column_new(input, &profile->low[i], count);
        if (status == PCERE_OK && intervals[i])
            status = column_new(input, &profile->high[i], count);
    }
    if (status == PCERE_OK && sources && !(profile->sources = calloc(profile->run_count + 1, sizeof *profile->sources)))
        status = pcere_fail_memory(input->error, "where counts came from");
    for (size_t i = 0; status == PCERE_OK && sources && i < profile->run_count; i++)
        status = column_new_u32(input, &profile->sources[i], count);
    return status;
}

static enum pcere_status segments_read(struct input *input, struct profile *profile, size_t count)
{
    struct profile_segments *segments = &profile->segments;
    segments->count = segments->capacity = count;
    enum pcere_status status = column_new_u32(input, &segments->xu, count);
    if (status == PCERE_OK)
        status = column_new_u32(input, &segments->thread, count);
    if (status == PCERE_OK)
        status = column_new(input, &segments->begin_ns, count);
    if (status == PCERE_OK)
        status = column_new(input, &segments->active_ns, count);
    for (size_t i = 0; status == PCERE_OK && i < profile->event_count; i++)
        status = column_new(input, &segments->counts[i], count);
    return status;
}

static enum pcere_status intervals_find(const struct input *input, const json_t *description, size_t events, bool **ret_intervals)
{
    bool *intervals = calloc(events + 1, 1);
    if (!intervals)
        return pcere_fail_memory(input->error, "the intervals of counts");
    const json_t *list = json_object_get(description, "events");
    for (size_t i = 0; i < events; i++)
        intervals[i] = json_is_true(json_object_get(json_array_get(list, i), "interval"));
    *ret_intervals = intervals;
    return PCERE_OK;
}

static enum pcere_status header_check(struct input *input, size_t bytes, struct profile_header *ret_header)
{
    const unsigned char *data = input->at;
    struct profile_header header;
    uint64_t check;
    if (bytes < sizeof header + sizeof check)
        return foreign(input);
    memcpy(&header, data, sizeof header);
    if (memcmp(header.magic, PROFILE_MAGIC, sizeof header.magic) != 0)
        return foreign(input);
    if (header.version != PROFILE_VERSION) {
        pcere_fail(input->error, PCERE_DATA, 0, "read it with the version of pcere that wrote it, or measure again",
                   "%s has version %u of profiles, and this pcere reads version %u", input->where, header.version, PROFILE_VERSION);
        return PCERE_DATA;
    }
    memcpy(&check, data + bytes - sizeof check, sizeof check);
    if (header.file_bytes != bytes || XXH64(data, bytes - sizeof check, 0) != check)
        return damaged(input, header.file_bytes > bytes ? "it is cut" : "its checksum does not fit");
    uint64_t room = bytes - sizeof header - sizeof check;
    if (header.flags & ~PROFILE_FLAGS || header.reserved || header.description_bytes > room || header.labels_bytes > room - header.description_bytes)
        return damaged(input, "its header does not fit");
    uint64_t least = header.flags & PROFILE_HAS_TEXTS ? 2 : sizeof(struct profile_label);
    if (header.xus > PROFILE_XUS_MOST || header.labels_bytes / least < header.xus || header.segments > room ||
        (!(header.flags & PROFILE_HAS_TEXTS) && header.labels_bytes != header.xus * least))
        return damaged(input, "it has fewer XUs than it says");
    *ret_header = header;
    return PCERE_OK;
}

static enum pcere_status description_read(struct input *input, const struct profile_header *header, struct profile *profile, bool **ret_intervals)
{
    json_t *description;
    enum pcere_status status = json_parse((const char *)input->at, header->description_bytes, input->where, &description, input->error);
    if (status != PCERE_OK)
        return status;
    input->at += header->description_bytes;
    status = profile_describe_read(profile, description, input->where, input->error);
    if (status == PCERE_OK)
        status = intervals_find(input, description, profile->event_count, ret_intervals);
    json_decref(description);
    return status;
}

static enum pcere_status body_read(struct input *input, const struct profile_header *header, struct profile *profile)
{
    bool *intervals = NULL;
    size_t count = header->xus;
    enum pcere_status status = description_read(input, header, profile, &intervals);
    /* Each column takes a byte a row at least: what does not fit is not allocated. */
    if (status == PCERE_OK && (size_t)(input->end - input->at) - header->labels_bytes < profile->event_count * (count + sizeof(struct profile_column)))
        status = damaged(input, "it has fewer columns than events");
    if (status == PCERE_OK)
        status = profile_reserve(profile, count, input->error);
    struct input labels = *input;
    labels.end = labels.at + header->labels_bytes;
    input->at += header->labels_bytes;
    if (status == PCERE_OK && header->flags & PROFILE_HAS_TEXTS) {
        status = labels_read(&labels, profile, count);
    } else if (status == PCERE_OK) {
        free(profile->text_at);
        profile->text_at = NULL;
        if (count)
            memcpy(profile->labels, labels.at, header->labels_bytes);
    }
    if (status == PCERE_OK)
        status = columns_read(input, profile, intervals, header->flags & PROFILE_HAS_SOURCES, count);
    profile->count = status == PCERE_OK ? count : 0;
    if (status == PCERE_OK && header->segments)
        status = segments_read(input, profile, header->segments);
    if (status == PCERE_OK && input->at != input->end)
        status = damaged(input, "there is something behind its columns");
    profile->in_label_order = header->flags & PROFILE_IN_LABEL_ORDER;
    free(intervals);
    return status;
}

enum pcere_status profile_decode(const void *data, size_t bytes, const char *where, struct profile **ret_profile, struct pcere_error *error)
{
    struct input input = {.at = data, .where = where, .error = error};
    struct profile_header header;
    enum pcere_status status = header_check(&input, bytes, &header);
    if (status != PCERE_OK)
        return status;
    input.end = input.at + bytes - sizeof(uint64_t);
    input.at += sizeof header;
    struct profile *profile = profile_new();
    if (!profile)
        return pcere_fail_memory(error, "a profile");
    status = body_read(&input, &header, profile);
    if (status == PCERE_OK)
        status = profile_check(profile, where, error);
    if (status != PCERE_OK) {
        profile_free(profile);
        return status;
    }
    *ret_profile = profile;
    return PCERE_OK;
}

static bool is_json(const char *data, size_t bytes)
{
    size_t at = 0;
    while (at < bytes && strchr(" \t\r\n", data[at]))
        at++;
    return at < bytes && data[at] == '{';
}

enum pcere_status profile_read(const char *path, struct profile **ret_profile, struct pcere_error *error)
{
    void *data;
    size_t bytes;
    if (access(path, F_OK) != 0)
        return pcere_fail(error, PCERE_USAGE, 0, "name files that 'pcere profile' or 'pcere combine' wrote", "there is no profile '%.200s'", path);
    enum pcere_status status = file_read(AT_FDCWD, path, PROFILE_FILE_BYTES_MOST, &data, &bytes, error);
    if (status != PCERE_OK)
        return status;
    if (is_json(data, bytes)) {
        json_t *document;
        status = json_parse(data, bytes, path, &document, error);
        if (status == PCERE_OK) {
            status = profile_json_read(document, path, ret_profile, error);
            json_decref(document);
        }
    } else {
        status = profile_decode(data, bytes, path, ret_profile, error);
    }
    free(data);
    return status;
}
