/* core/region_name.c - see region_name.h. */
#include "core/region_name.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define FUNCTION_LEAST 16               /* letters that are left of it, however long the file's name is */

/* How many bytes at `at` are a name in which brackets open and close nothing; 0: none. */
static size_t plain_length(const char *at)
{
    static const char *const names[] = {"<=>", "<<=", ">>=", "->*", "()", "<<", ">>", "<=", ">=", "->", "<", ">"}, anonymous[] = "(anonymous namespace)";
    const size_t word = strlen("operator");
    if (strncmp(at, anonymous, strlen(anonymous)) == 0)
        return strlen(anonymous);
    if (strncmp(at, "operator", word) != 0)
        return 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(at + word, names[i], strlen(names[i])) == 0)
            return word + strlen(names[i]);
    return 0;
}

/* Is a list of arguments begun (1) or ended (-1) at `at`? `lists`: of parameters, too. */
static int bracket(const char *at, bool lists)
{
    return *at == '<' || (lists && *at == '(') ? 1 : *at == '>' || (lists && *at == ')') ? -1 : 0;
}

enum { CUT_DIGITS = 16 };

/* Bytes of "~b2513dc3e2bf26b5~" at `at`, which stands for the middle of a name that was longer than the plugin's names are; 0: there is none. */
static size_t cut_length(const char *at)
{
    return *at == '~' && strspn(at + 1, "0123456789abcdef") == CUT_DIGITS && at[1 + CUT_DIGITS] == '~' ? CUT_DIGITS + 2 : 0;
}

/* How many brackets are closed between `at` and `end` that were opened before. */
static size_t depth_left(const char *at, const char *end, bool lists)
{
    size_t before = 0, depth = 0;
    while (at < end) {
        size_t plain = plain_length(at);
        int turn = plain ? 0 : bracket(at, lists);
        before += turn < 0 && !depth;
        depth = turn > 0 ? depth + 1 : turn < 0 && depth ? depth - 1 : depth;
        at += plain ? plain : 1;
    }
    return before;
}

/* `name` up to `end`, each outermost <...> as <*>, and with `lists` each (...) as (*). false: brackets do not match, or there is no room; `text` is of no use then. */
static bool arguments_fold(const char *name, const char *end, bool lists, char *text, size_t room)
{
    size_t depth = 0, length = 0;
    for (const char *at = name; at < end;) {
        size_t cut = depth ? cut_length(at) : 0, plain = plain_length(at), step = plain ? plain : 1;
        int turn = plain ? 0 : bracket(at, lists);
        if (cut && (depth = depth_left(at + cut, end, lists)) > 0) {
            at += cut;
            continue;
        }
        if ((turn < 0 && !depth) || length + step + 4 > room)
            return false;
        if (turn > 0 && depth == 0 && at[1] != ')') {
            text[length++] = *at;
            text[length++] = '*';
        } else if (depth == 0 || (turn < 0 && depth == 1)) {
            memcpy(text + length, at, step);
            length += step;
        }
        depth = turn > 0 ? depth + 1 : turn < 0 ? depth - 1 : depth;
        at += step;
    }
    text[length] = '\0';
    return depth == 0;
}

/* At most `most`, and not within a letter of UTF-8. */
static size_t letters_before(const char *text, size_t most)
{
    while (most && ((unsigned char)text[most] & 0xc0) == 0x80)
        most--;
    return most;
}

char *region_name_shorten(const char *name, char text[static REGION_NAME_BYTES])
{
    const char *place = strrchr(name, '@');
    size_t length = strlen(name), tail = place ? strlen(place) : 0;
    if (length <= REGION_NAME_MOST) {
        snprintf(text, REGION_NAME_BYTES, "%s", name);
        return text;
    }
    char folded[4096];
    const char *function = name;
    size_t own = length - tail, most = tail + FUNCTION_LEAST < REGION_NAME_MOST ? REGION_NAME_MOST - tail : FUNCTION_LEAST;
    for (int lists = 0; lists <= 1 && own > most; lists++)
        if (arguments_fold(name, name + length - tail, lists, folded, sizeof folded)) {
            function = folded;
            own = strlen(folded);
        }
    const char *star = "";
    for (const char *scope; own + strlen(star) > most && (scope = memmem(function + 2, own > 2 ? own - 2 : 0, "::", 2)); star = "*") {
        own -= (size_t)(scope - function);
        function = scope;
    }
    if (own + strlen(star) <= most)
        snprintf(text, REGION_NAME_BYTES, "%s%.*s%s", star, (int)own, function, place ? place : "");
    else {
        size_t first = letters_before(function, most / 3), last = letters_before(function, own - most / 2);
        snprintf(text, REGION_NAME_BYTES, "%s%.*s*%.*s%s", star, (int)first, function, (int)(own - last), function + last, place ? place : "");
    }
    return text;
}

/* Bytes of the name alone, without " #7" behind it. */
static size_t base_length(const char *name)
{
    const char *place = strrchr(name, '@'), *number = strstr(place ? place : name, " #");
    return number ? (size_t)(number - name) : strlen(name);
}

static bool matches(const char *pattern, const char *name)
{
    char base[4096];
    size_t length = base_length(name);
    snprintf(base, sizeof base, "%.*s", (int)length, name);
    return length < sizeof base && fnmatch(pattern, base, 0) == 0;
}

static bool one_region(const char *name, const char *other)
{
    size_t length = base_length(name);
    return base_length(other) == length && strncmp(name, other, length) == 0;
}

/* Does `text` stand for `name`, and for no other region of `names`? */
static bool stands_for(const char *text, const char *name, const char *const *names, size_t count)
{
    char pattern[REGION_NAME_BYTES];
    snprintf(pattern, sizeof pattern, "%.*s", (int)base_length(text), text);
    for (size_t i = 0; i < count; i++)
        if (names[i] && !one_region(name, names[i]) && matches(pattern, names[i]))
            return false;
    return matches(pattern, name);
}

static size_t word_length(const char *at)
{
    size_t length = 0;
    while (at[length] && (isalnum((unsigned char)at[length]) || strchr("_$'", at[length])))
        length++;
    return length;
}

/* `short_name` with a passage of the name beside one of its stars, the leftmost that will do; NULL: it is too long, or does not stand for the name alone. */
static char *passage_add(const char *short_name, const char *passage, size_t length, const char *name, const char *const *names, size_t count, char text[static REGION_NAME_BYTES])
{
    for (const char *star = strchr(short_name, '*'); star; star = strchr(star + 1, '*'))
        if (snprintf(text, REGION_NAME_BYTES, "%.*s%.*s%s", (int)(star + 1 - short_name), short_name, (int)length, passage, star) < REGION_NAME_BYTES && stands_for(text, name, names, count))
            return text;
    return NULL;
}

/* The most letters with which `at` goes on as `other` does somewhere. */
static size_t run_length(const char *at, const char *other)
{
    size_t longest = 0;
    for (const char *there = other; *there; there++) {
        size_t run = 0;
        while (at[run] && at[run] == there[run])
            run++;
        longest = run > longest ? run : longest;
    }
    return longest;
}

/* The shortest passage, from the begin of a word to the end of one, that none of those has which look alike. */
static char *passage_find(const char *short_name, const char *name, const char *end, const char *const *names, size_t count, char text[static REGION_NAME_BYTES])
{
    char pattern[REGION_NAME_BYTES], trial[REGION_NAME_BYTES];
    char *found = NULL;
    size_t shortest = REGION_NAME_BYTES;
    snprintf(pattern, sizeof pattern, "%.*s", (int)base_length(short_name), short_name);
    for (const char *at = name; at < end;) {
        size_t word = word_length(at), length = 0;
        for (size_t i = 0; word && i < count && length < shortest; i++)
            if (names[i] && !one_region(name, names[i]) && matches(pattern, names[i])) {
                size_t run = run_length(at, names[i]) + 1;
                length = run > length ? run : length;
            }
        length += length && length < shortest && word_length(at + length - 1) ? word_length(at + length) : 0;
        size_t hash = at > name && at[-1] == '~' ? REGION_NAME_MOST : 0;            /* tells names apart, and people nothing */
        if (length && length + hash < shortest && at + length <= end && passage_add(short_name, at, length, name, names, count, trial)) {
            found = strcpy(text, trial);
            shortest = length + hash;
        }
        at += word ? word : 1;
    }
    return found;
}

char *region_name_among(const char *name, const char *const *names, size_t count, char text[static REGION_NAME_BYTES])
{
    char plain[REGION_NAME_BYTES];
    region_name_shorten(name, plain);
    if (strlen(name) <= REGION_NAME_MOST || stands_for(plain, name, names, count))
        return strcpy(text, plain);
    const char *place = strrchr(name, '@'), *end = place ? place : name + strlen(name);
    for (const char *open = strpbrk(plain, "<("); open; open = strpbrk(open + 1, "<("))
        for (const char *at = strpbrk(name, "<("); open[1] == '*' && at && at < end;) {
            size_t word = word_length(at);
            bool fits = snprintf(text, REGION_NAME_BYTES, "%.*s*%.*s%s", (int)(open + 1 - plain), plain, (int)word, at, open + 1) < REGION_NAME_BYTES;
            if (word && at[-1] != '~' && fits && stands_for(text, name, names, count))
                return text;
            at += word ? word : 1;
        }
    return passage_find(plain, name, end, names, count, text);
}
