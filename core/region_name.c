/* core/region_name.c - see region_name.h. */
#include "core/region_name.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define FUNCTION_LEAST 16               /* letters that are left of it, however long the file's name is */

/* How many bytes at `at` are an operator's name, in which angle brackets open and close nothing; 0: none. */
static size_t operator_length(const char *at)
{
    static const char *const names[] = {"<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "<", ">"};
    const size_t word = strlen("operator");
    if (strncmp(at, "operator", word) != 0)
        return 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(at + word, names[i], strlen(names[i])) == 0)
            return word + strlen(names[i]);
    return 0;
}

/* `name` up to `end`, each outermost <...> as <*>. false: brackets do not match, or there is no room; `text` is of no use then. */
static bool arguments_fold(const char *name, const char *end, char *text, size_t room)
{
    size_t depth = 0, length = 0;
    for (const char *at = name; at < end;) {
        size_t step = operator_length(at);
        step = step ? step : 1;
        bool opens = step == 1 && *at == '<', closes = step == 1 && *at == '>';
        if (closes && !depth)
            return false;
        if (length + step + 4 > room)
            return false;
        if (opens && depth == 0) {
            memcpy(text + length, "<*>", 3);
            length += 3;
        } else if (!opens && !closes && depth == 0) {
            memcpy(text + length, at, step);
            length += step;
        }
        depth = depth + opens - closes;
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
    bool matched = arguments_fold(name, name + length - tail, folded, sizeof folded);
    const char *function = matched ? folded : name;
    size_t own = matched ? strlen(folded) : length - tail, most = tail + FUNCTION_LEAST < REGION_NAME_MOST ? REGION_NAME_MOST - tail : FUNCTION_LEAST;
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
