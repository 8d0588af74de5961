/* core/json.h - reading and writing JSON over jansson: typed getters that say which key of which file is wrong.
 *
 * A reader remembers its first failure and then gives zeros, so that a whole structure can be read first and `status` asked
 * once. Strings of the system (paths, arguments) need not be UTF-8: what is not becomes {"hex": "..."} and comes back as it was.
 */
#ifndef PCERE_CORE_JSON_H
#define PCERE_CORE_JSON_H

#include "core/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json_reader {
    const char *where;               /* for messages: "manifest.json" */
    enum pcere_status status;        /* PCERE_OK, or PCERE_DATA or PCERE_SYSTEM at the first failure */
    struct pcere_error *error;
};

/* Parse text that is hostile. PCERE_DATA names `where`, the line and what is wrong. *ret_value is a new reference. */
enum pcere_status json_parse(const char *text, size_t bytes, const char *where, json_t **ret_value, struct pcere_error *error);

/* Value of `key` in `object`, which must be there and have the type; zero, false or NULL after a failure. */
uint64_t json_read_u64(struct json_reader *reader, const json_t *object, const char *key, uint64_t most);
int64_t json_read_i64(struct json_reader *reader, const json_t *object, const char *key, int64_t least, int64_t most);
/* Any number, whole or not, that is not below `least` nor above `most`. */
double json_read_number(struct json_reader *reader, const json_t *object, const char *key, double least, double most);
bool json_read_bool(struct json_reader *reader, const json_t *object, const char *key);
json_t *json_read_array(struct json_reader *reader, const json_t *object, const char *key);     /* borrowed */
json_t *json_read_object(struct json_reader *reader, const json_t *object, const char *key);    /* borrowed */
/* malloc'ed; JSON null gives NULL if `may_be_null`, else is a failure. */
char *json_read_string(struct json_reader *reader, const json_t *object, const char *key, bool may_be_null);
/* As json_read_string, of a value instead of a key's. */
char *json_value_string(struct json_reader *reader, const json_t *value, const char *key);
/* 16 lower-case hexadecimal digits. */
uint64_t json_read_hex64(struct json_reader *reader, const json_t *object, const char *key);

/* New references; NULL: no memory, or a number above INT64_MAX. A NULL string gives JSON null. */
json_t *json_from_u64(uint64_t value);
json_t *json_from_string(const char *string);
json_t *json_from_hex64(uint64_t value);
json_t *json_from_double(double value);     /* what is not finite gives JSON null */
/* An array of them; NULL gives JSON null. *failed becomes true if memory runs out. */
json_t *json_from_numbers(const uint64_t *numbers, size_t count, bool *failed);

/* Set a key to a new reference, which is taken. *failed becomes true if `value` is NULL or memory runs out. */
void json_put(json_t *object, const char *key, json_t *value, bool *failed);

/* Write one document and a newline, and flush. PCERE_SYSTEM: `file` did not take it all (full disk, closed pipe); `name` says
 * which. */
enum pcere_status json_write(const json_t *value, FILE *file, const char *name, struct pcere_error *error);

#endif
