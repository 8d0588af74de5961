/* core/text.h - a string or byte buffer that grows.
 *
 * Out of memory is remembered instead of reported by each call: add as much as you like, then ask `failed` once, or let
 * text_take say NULL. `data` is NUL-terminated once anything was added. Start from a zeroed struct.
 */
#ifndef PCERE_CORE_TEXT_H
#define PCERE_CORE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text {
    char *data;          /* `length` bytes and a NUL; NULL while nothing was added */
    size_t length;       /* bytes, without the NUL */
    size_t capacity;     /* bytes allocated */
    bool failed;         /* memory ran out: the content is incomplete, later additions are ignored */
};

void text_add(struct text *text, const char *string);
void text_add_bytes(struct text *text, const void *bytes, size_t count);
void text_addf(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A word as a shell reads it: in quotes where it needs them. */
void text_add_word(struct text *text, const char *word);

/* The content, which the caller frees; NULL if memory ran out. The text is empty afterwards. An empty text gives "". */
char *text_take(struct text *text);

/* Free what it holds. Accepts NULL. */
void text_done(struct text *text);

/* Make room for `need` items of `item_bytes` in *array (malloc'ed or NULL), growing at least by half. False: no memory, nothing
 * changed. For arrays that grow by one: if (!array_reserve(&a, &capacity, count + 1, sizeof *a)) ... */
bool array_reserve(void *array, size_t *capacity, size_t need, size_t item_bytes);

/* Whether two strings are the same; NULL is as "". */
bool text_equal(const char *a, const char *b);

/* What stands behind a path's last slash; the whole path where it has none. */
const char *base_name(const char *path);

/* A walk through names with commas between them: the first one, and the one behind `name`; NULL: there is none. A name ends at a comma (names_length). NULL has none. */
const char *names_first(const char *names);
const char *names_next(const char *name);
size_t names_length(const char *name);

/* Of values that ascend: where the first one stands that is not less than `value`; `count`: there is none. */
size_t array_lower_bound(const uint64_t *values, size_t count, uint64_t value);

#endif
