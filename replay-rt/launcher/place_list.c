#include "replay-rt/launcher/place_list.h"

#include <ctype.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NUMBER_MOST 65536               /* of a processor, of how many, and of a step */

struct interval { long first, count, step; };

struct reader {
    const char *at;
    cpu_set_t here;
    bool found;                 /* a processor that is here */
};

static void blanks_skip(struct reader *reader)
{
    while (*reader->at == ' ' || *reader->at == '\t')
        reader->at++;
}

static bool sign_skip(struct reader *reader, char sign)
{
    blanks_skip(reader);
    if (*reader->at != sign)
        return false;
    reader->at++;
    return true;
}

static bool number_read(struct reader *reader, bool is_signed, long *ret_number)
{
    blanks_skip(reader);
    bool negative = is_signed && *reader->at == '-';
    if (is_signed && (*reader->at == '-' || *reader->at == '+'))
        reader->at++;
    if (!isdigit((unsigned char)*reader->at))
        return false;
    char *end;
    long number = strtol(reader->at, &end, 10);
    reader->at = end;
    *ret_number = negative ? -number : number;
    return number <= NUMBER_MOST;
}

/* What may follow a processor or a place: ":count" and ":step". */
static bool interval_read(struct reader *reader, struct interval *interval)
{
    interval->count = interval->step = 1;
    if (!sign_skip(reader, ':'))
        return true;
    if (!number_read(reader, false, &interval->count) || !interval->count)
        return false;
    return !sign_skip(reader, ':') || number_read(reader, true, &interval->step);
}

/* Whether one of these is here, once the place that they stand in is repeated. */
static void interval_look(struct reader *reader, const struct interval *processors, const struct interval *places)
{
    for (long i = 0; i < places->count && !reader->found; i++)
        for (long j = 0; j < processors->count && !reader->found; j++) {
            long number = processors->first + j * processors->step + i * places->step;
            if ((number < 0 && processors->step <= 0) || (number >= CPU_SETSIZE && processors->step >= 0))
                break;
            reader->found = number >= 0 && number < CPU_SETSIZE && CPU_ISSET((size_t)number, &reader->here);
        }
}

/* "{0,1}", "{0:4:2, !2}" or a processor alone, with how often it is repeated; "!" leaves it out. */
static bool place_read(struct reader *reader)
{
    enum { MOST = 64 };
    struct interval processors[MOST], places;
    size_t count = 0;
    bool left_out = sign_skip(reader, '!'), braces = sign_skip(reader, '{');
    do {
        struct interval one = {.count = 1, .step = 1};
        bool not_one = braces && sign_skip(reader, '!');
        if (!number_read(reader, false, &one.first) || (braces && !not_one && !interval_read(reader, &one)))
            return false;
        if (!not_one && count < MOST)
            processors[count++] = one;
    } while (braces && sign_skip(reader, ','));
    if (braces && !sign_skip(reader, '}'))
        return false;
    if (!interval_read(reader, &places))
        return false;
    for (size_t i = 0; i < count && !left_out; i++)
        interval_look(reader, &processors[i], &places);
    return true;
}

static bool is_name(const char *text)
{
    static const char *const names[] = {"threads", "thread", "cores", "core", "sockets", "socket", "dice", "die", "tiles", "tile", "modules", "module",
                                        "ll_caches", "ll_cache", "l1_caches", "l1_cache", "l2_caches", "l2_cache", "l3_caches", "l3_cache",
                                        "numa_domains", "numa_domain", "proc_groups", "proc_group"};
    size_t length = 0;
    while (isalnum((unsigned char)text[length]) || text[length] == '_')
        length++;
    bool known = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        known |= strlen(names[i]) == length && !strncasecmp(text, names[i], length);
    struct reader rest = {.at = text + length};
    long count;
    if (!known)
        return false;
    if (*rest.at == ':')                /* attributes of cores, which LLVM's runtime knows */
        return true;
    if (sign_skip(&rest, '(') && (!number_read(&rest, false, &count) || !count || !sign_skip(&rest, ')')))
        return false;
    blanks_skip(&rest);
    return !*rest.at;
}

enum place_list_kind place_list_read(const char *text)
{
    struct reader reader = {.at = text};
    if (is_name(text))
        return PLACE_LIST_GOOD;
    reader.found = sched_getaffinity(0, sizeof reader.here, &reader.here) != 0;        /* more processors than the set has room for: believed */
    do
        if (!place_read(&reader))
            return PLACE_LIST_WRONG;
    while (sign_skip(&reader, ','));
    blanks_skip(&reader);
    return *reader.at ? PLACE_LIST_WRONG : reader.found ? PLACE_LIST_GOOD : PLACE_LIST_ELSEWHERE;
}
