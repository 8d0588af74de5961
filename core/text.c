#include "core/text.h"
#include "include/pcere/bisect.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool text_reserve(struct text *text, size_t more)
{
    if (text->failed || more >= SIZE_MAX - text->length) {
        text->failed = true;
        return false;
    }
    if (!array_reserve(&text->data, &text->capacity, text->length + more + 1, 1))
        text->failed = true;
    return !text->failed;
}

void text_add_bytes(struct text *text, const void *bytes, size_t count)
{
    if (!text_reserve(text, count))
        return;
    if (count)
        memcpy(text->data + text->length, bytes, count);
    text->length += count;
    text->data[text->length] = 0;
}

void text_add(struct text *text, const char *string)
{
    text_add_bytes(text, string, strlen(string));
}

void text_addf(struct text *text, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    if (length < 0)
        text->failed = true;
    else if (text_reserve(text, (size_t)length)) {
        vsnprintf(text->data + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    va_end(again);
    va_end(arguments);
}

void text_add_word(struct text *text, const char *word)
{
    const char *plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+:,@%=";
    if (*word && !word[strspn(word, plain)]) {
        text_add(text, word);
        return;
    }
    text_add(text, "'");
    for (const char *rest = word, *quote; rest; rest = quote ? quote + 1 : NULL) {
        quote = strchr(rest, '\'');
        text_addf(text, "%.*s%s", quote ? (int)(quote - rest) : (int)strlen(rest), rest, quote ? "'\\''" : "'");
    }
}

char *text_take(struct text *text)
{
    if (!text->data)
        text_add(text, "");
    char *data = text->failed ? NULL : text->data;
    if (data)
        text->data = NULL;
    text_done(text);
    return data;
}

void text_done(struct text *text)
{
    if (!text)
        return;
    free(text->data);
    *text = (struct text){0};
}

bool array_reserve(void *array, size_t *capacity, size_t need, size_t item_bytes)
{
    if (need <= *capacity)
        return true;
    size_t wanted = *capacity + *capacity / 2;
    if (wanted < need)
        wanted = need;
    if (wanted < 16)
        wanted = 16;
    void *old;
    memcpy(&old, array, sizeof old);
    void *grown = reallocarray(old, wanted, item_bytes);
    if (!grown)
        return false;
    memcpy(array, &grown, sizeof grown);
    *capacity = wanted;
    return true;
}

const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool text_equal(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

const char *names_first(const char *names)
{
    return names && *names ? names : NULL;
}

size_t names_length(const char *name)
{
    return strcspn(name, ",");
}

const char *names_next(const char *name)
{
    name += names_length(name);
    return *name && name[1] ? name + 1 : NULL;
}

size_t array_lower_bound(const uint64_t *values, size_t count, uint64_t value)
{
    BISECT(low, 0, count, i, values[i] < value);
    return low;
}
