#include "core/units.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* `value` of `unit`, where it has at most four digits before the point after choosing the unit. */
static const char *format_scaled(double value, const char *unit, char out[UNITS_TEXT_BYTES])
{
    int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    snprintf(out, UNITS_TEXT_BYTES, "%.*f %s", decimals, value, unit);
    return out;
}

const char *units_format_ns(uint64_t ns, char out[UNITS_TEXT_BYTES])
{
    static const struct { double scale; const char *unit; } steps[] = {{1e3, "us"}, {1e6, "ms"}, {1e9, "s"}};
    if (ns < 1000) {
        snprintf(out, UNITS_TEXT_BYTES, "%u ns", (unsigned)ns);
        return out;
    }
    size_t step = 0;
    /* 999.5 of one unit would be written as 1000: it is 1.00 of the next. */
    while (step < 2 && (double)ns / steps[step].scale >= 999.5)
        step++;
    return format_scaled((double)ns / steps[step].scale, steps[step].unit, out);
}

const char *units_format_bytes(uint64_t bytes, char out[UNITS_TEXT_BYTES])
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    if (bytes < 1024) {
        snprintf(out, UNITS_TEXT_BYTES, "%u B", (unsigned)bytes);
        return out;
    }
    double value = (double)bytes / 1024;
    size_t unit = 0;
    while (unit < 5 && value >= 1023.5) {
        value /= 1024;
        unit++;
    }
    return format_scaled(value, units[unit], out);
}

/* Decimal digits only, no overflow beyond `most`. */
static bool parse_digits(const char *text, size_t length, uint64_t most, uint64_t *ret_value, bool *ret_overflow)
{
    uint64_t value = 0;
    *ret_overflow = false;
    if (!length)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        uint64_t digit = (uint64_t)(text[i] - '0');
        if (*ret_overflow || value > (most - digit) / 10)
            *ret_overflow = true;
        else
            value = value * 10 + digit;
    }
    *ret_value = value;
    return !*ret_overflow;
}

enum pcere_status units_parse_count(const char *option, const char *text, uint64_t least, uint64_t most, uint64_t *ret_count,
                                    struct pcere_error *error)
{
    uint64_t value;
    bool overflow;
    if (!parse_digits(text, strlen(text), most, &value, &overflow) || value < least)
        return pcere_fail(error, PCERE_USAGE, 0, NULL, "%s: '%s' is not a whole number from %llu to %llu", option, text,
                          (unsigned long long)least, (unsigned long long)most);
    *ret_count = value;
    return PCERE_OK;
}

/* Digits with at most one point, whatever the locale; *ret_rest is what follows. */
static bool parse_decimal(const char *text, double *ret_value, const char **ret_rest)
{
    size_t whole = strspn(text, "0123456789"), point = whole + (text[whole] == '.'), part = strspn(text + point, "0123456789");
    double value = 0, unit = 1;
    if (whole + (point > whole ? part : 0) == 0 || whole + part > 15)
        return false;
    for (size_t i = 0; i < whole; i++)
        value = value * 10 + (text[i] - '0');
    for (size_t i = 0; point > whole && i < part; i++)
        value += (text[point + i] - '0') * (unit /= 10);
    *ret_value = value;
    *ret_rest = text + (point > whole ? point + part : whole);
    return true;
}

enum pcere_status units_parse_ratio(const char *option, const char *text, double *ret_ratio, struct pcere_error *error)
{
    double value;
    const char *rest;
    bool read = parse_decimal(text, &value, &rest);
    if (read && strcmp(rest, "%") == 0) {
        value /= 100;
        rest = "";
    }
    if (!read || *rest || !(value > 0 && value < 1))
        return pcere_fail(error, PCERE_USAGE, 0, "write it as 1% or 0.01", "%s: '%.40s' is not a ratio above 0 and below 1", option, text);
    *ret_ratio = value;
    return PCERE_OK;
}

enum pcere_status units_parse_time(const char *option, const char *text, uint64_t *ret_ns, struct pcere_error *error)
{
    static const struct { const char *unit; double ns; } units[] = {{"", 1e9}, {"s", 1e9}, {"ms", 1e6}, {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}};
    double value, scale = 0;
    const char *rest;
    if (parse_decimal(text, &value, &rest))
        for (size_t i = 0; i < sizeof units / sizeof *units; i++)
            if (strcmp(rest, units[i].unit) == 0)
                scale = units[i].ns;
    if (!(scale > 0) || value * scale < 1e6 || value * scale > 365 * 86400e9)
        return pcere_fail(error, PCERE_USAGE, 0, "write it as 10s, 500ms or 2m", "%s: '%.40s' is not a time", option, text);
    *ret_ns = (uint64_t)(value * scale + 0.5);
    return PCERE_OK;
}

enum pcere_status units_parse_threads(const char *option, const char *text, unsigned **ret_threads, size_t *ret_count,
                                      struct pcere_error *error)
{
    static const char hint[] = "write a list of thread counts such as 1,2,4,8";
    if (!*text)
        return pcere_fail(error, PCERE_USAGE, 0, hint, "%s: the list of thread counts is empty", option);
    unsigned *threads = calloc(strlen(text) / 2 + 1, sizeof *threads);
    if (!threads)
        return pcere_fail_memory(error, "a list of thread counts");
    enum pcere_status status = PCERE_OK;
    size_t count = 0;
    for (const char *item = text; item && !status;) {
        size_t length = strcspn(item, ",");
        int shown = length > 40 ? 40 : (int)length;
        uint64_t value = 0;
        bool overflow;
        if (!length)
            status = pcere_fail(error, PCERE_USAGE, 0, hint, "%s: '%s' has an empty item", option, text);
        else if (parse_digits(item, length, UNITS_THREADS_MOST, &value, &overflow)) {
            if (!value)
                status = pcere_fail(error, PCERE_USAGE, 0, hint, "%s: 0 in '%s' is not a number of threads", option, text);
        } else if (overflow)
            status = pcere_fail(error, PCERE_USAGE, 0, hint, "%s: %.*s is more than %u threads", option, shown, item,
                                UNITS_THREADS_MOST);
        else
            status = pcere_fail(error, PCERE_USAGE, 0, hint, "%s: '%.*s' is not a number of threads", option, shown, item);
        bool known = false;
        for (size_t i = 0; i < count; i++)
            known |= threads[i] == value;
        if (!known)
            threads[count++] = (unsigned)value;
        item = item[length] ? item + length + 1 : NULL;
    }
    if (status) {
        free(threads);
        return status;
    }
    *ret_threads = threads;
    *ret_count = count;
    return PCERE_OK;
}
