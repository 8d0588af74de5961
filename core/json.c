#include "core/json.h"

#include "core/text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void reader_fail(struct json_reader *reader, const char *key, const char *wanted)
{
    if (!reader->status)
        reader->status = pcere_fail(reader->error, PCERE_DATA, 0, NULL, "%s: \"%s\" is not %s", reader->where, key, wanted);
}

static void reader_fail_memory(struct json_reader *reader)
{
    if (!reader->status)
        reader->status = pcere_fail_memory(reader->error, reader->where);
}

enum pcere_status json_parse(const char *text, size_t bytes, const char *where, json_t **ret_value, struct pcere_error *error)
{
    json_error_t problem;
    json_t *value = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &problem);
    if (!value)
        return pcere_fail(error, PCERE_DATA, 0, NULL, "%s is not valid JSON: line %d: %s", where, problem.line, problem.text);
    *ret_value = value;
    return PCERE_OK;
}

uint64_t json_read_u64(struct json_reader *reader, const json_t *object, const char *key, uint64_t most)
{
    const json_t *value = json_object_get(object, key);
    json_int_t number = json_integer_value(value);
    if (reader->status || !json_is_integer(value) || number < 0 || (uint64_t)number > most) {
        reader_fail(reader, key, "a whole number in its range");
        return 0;
    }
    return (uint64_t)number;
}

int64_t json_read_i64(struct json_reader *reader, const json_t *object, const char *key, int64_t least, int64_t most)
{
    const json_t *value = json_object_get(object, key);
    json_int_t number = json_integer_value(value);
    if (reader->status || !json_is_integer(value) || number < least || number > most) {
        reader_fail(reader, key, "a whole number in its range");
        return 0;
    }
    return number;
}

double json_read_number(struct json_reader *reader, const json_t *object, const char *key, double least, double most)
{
    const json_t *value = json_object_get(object, key);
    double number = json_number_value(value);
    if (reader->status || !json_is_number(value) || !(number >= least && number <= most)) {
        reader_fail(reader, key, "a number in its range");
        return 0;
    }
    return number;
}

bool json_read_bool(struct json_reader *reader, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_boolean(value))
        reader_fail(reader, key, "true or false");
    return !reader->status && json_is_true(value);
}

json_t *json_read_array(struct json_reader *reader, const json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);
    if (!json_is_array(value))
        reader_fail(reader, key, "an array");
    return reader->status ? NULL : value;
}

json_t *json_read_object(struct json_reader *reader, const json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);
    if (!json_is_object(value))
        reader_fail(reader, key, "an object");
    return reader->status ? NULL : value;
}

static int hex_digit(char digit)
{
    return digit >= '0' && digit <= '9' ? digit - '0' : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* NULL with errno EINVAL: not such a string, or one that holds a NUL. */
static char *hex_decode(const char *hex)
{
    size_t length = strlen(hex);
    char *bytes = length % 2 ? NULL : malloc(length / 2 + 1);
    if (!bytes) {
        errno = length % 2 ? EINVAL : ENOMEM;
        return NULL;
    }
    for (size_t i = 0; i < length / 2; i++) {
        int high = hex_digit(hex[2 * i]), low = hex_digit(hex[2 * i + 1]);
        if (high < 0 || low < 0 || high + low == 0) {
            free(bytes);
            errno = EINVAL;
            return NULL;
        }
        bytes[i] = (char)(high * 16 + low);
    }
    bytes[length / 2] = 0;
    return bytes;
}

char *json_value_string(struct json_reader *reader, const json_t *value, const char *key)
{
    const json_t *hex = json_object_get(value, "hex");
    if (reader->status)
        return NULL;
    if (!json_is_string(value) && !json_is_string(hex)) {
        reader_fail(reader, key, "a string");
        return NULL;
    }
    char *copy = json_is_string(value) ? strdup(json_string_value(value)) : hex_decode(json_string_value(hex));
    if (!copy && hex && errno == EINVAL)
        reader_fail(reader, key, "a string");
    else if (!copy)
        reader_fail_memory(reader);
    return copy;
}

char *json_read_string(struct json_reader *reader, const json_t *object, const char *key, bool may_be_null)
{
    const json_t *value = json_object_get(object, key);
    if (may_be_null && json_is_null(value))
        return NULL;
    return json_value_string(reader, value, key);
}

uint64_t json_read_hex64(struct json_reader *reader, const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    uint64_t value = 0;
    bool good = text && strlen(text) == 16;
    for (int i = 0; good && i < 16; i++) {
        good = hex_digit(text[i]) >= 0;
        value = value << 4 | (uint64_t)(hex_digit(text[i]) & 15);
    }
    if (!good)
        reader_fail(reader, key, "16 hexadecimal digits");
    return reader->status ? 0 : value;
}

json_t *json_from_u64(uint64_t value)
{
    return value > INT64_MAX ? NULL : json_integer((json_int_t)value);
}

json_t *json_from_double(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *json_from_string(const char *string)
{
    if (!string)
        return json_null();
    json_t *value = json_string(string);
    if (value)
        return value;
    struct text hex = {0};
    for (const unsigned char *at = (const unsigned char *)string; *at; at++)
        text_addf(&hex, "%02x", *at);
    char *digits = text_take(&hex);
    value = digits ? json_pack("{s:s}", "hex", digits) : NULL;
    free(digits);
    return value;
}

json_t *json_from_hex64(uint64_t value)
{
    return json_sprintf("%016llx", (unsigned long long)value);
}

void json_put(json_t *object, const char *key, json_t *value, bool *failed)
{
    if (!value || json_object_set_new(object, key, value) != 0)
        *failed = true;
}

enum pcere_status json_write(const json_t *value, FILE *file, const char *name, struct pcere_error *error)
{
    errno = 0;
    if (json_dumpf(value, file, JSON_INDENT(2)) != 0 || fputc('\n', file) == EOF || fflush(file) != 0 || ferror(file))
        return pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot write the JSON document to %s", name);
    return PCERE_OK;
}

json_t *json_from_numbers(const uint64_t *numbers, size_t count, bool *failed)
{
    json_t *list = numbers ? json_array() : json_null();
    for (size_t i = 0; numbers && i < count; i++)
        if (json_array_append_new(list, json_from_u64(numbers[i])) != 0)
            *failed = true;
    return list;
}
