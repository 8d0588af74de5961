/* trace/chrome.c - see chrome.h: the scanner. */
#include "trace/chrome.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { WINDOW_BYTES = 1 << 20, WINDOW_MOST = 1 << 28, PADDING = 64, DEPTH_MOST = 64 };

/* ---- JSON, from where we are to where it ends; NULL: it does not, or is none ------------------------------------------------- */

static const char *blanks_skip(const char *at)
{
    while (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r')
        at++;
    return at;
}

/* From behind the quote to the closing one. The window's padding makes reading 16 bytes at a time safe. */
static const char *string_end(const char *at, const char *end)
{
    while (at < end) {
#ifdef __SSE2__
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
        unsigned found = (unsigned)_mm_movemask_epi8(_mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')), _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'))));
        if (!found) {
            at += 16;
            continue;
        }
        at += __builtin_ctz(found);
#endif
        if (at >= end)
            return NULL;
        if (*at == '"')
            return at;
        at += *at == '\\' ? 2 : 1;
    }
    return NULL;
}

static const char *scalar_end(const char *at)
{
    const char *begin = at;
    while ((*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'z') || *at == '-' || *at == '+' || *at == '.' || *at == 'E')
        at++;
    return at > begin ? at : NULL;
}

static const char *value_end(const char *at, const char *end)
{
    unsigned depth = 0;
    for (;;) {
        at = blanks_skip(at);
        if (at >= end)
            return NULL;
        if (*at == '"') {
            if (!(at = string_end(at + 1, end)))
                return NULL;
            at++;
        } else if (*at == '{' || *at == '[') {
            if (++depth > DEPTH_MOST)
                return NULL;
            at++;
            continue;
        } else if (*at == '}' || *at == ']' || *at == ',' || *at == ':') {
            if (!depth)
                return NULL;
            depth -= *at == '}' || *at == ']';
            at++;
        } else if (!(at = scalar_end(at))) {
            return NULL;
        }
        if (!depth)
            return at;
    }
}

/* ---- numbers ------------------------------------------------------------------------------------------------------------------ */

static bool number_slow(const char *text, size_t length, double *ret_number)
{
    char copy[64], *stop;
    if (!length || length >= sizeof copy)
        return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    *ret_number = strtod(copy, &stop);
    return *stop == '\0';
}

bool chrome_microseconds(const char *text, size_t length, int64_t *ret_ns)
{
    const char *at = text, *end = text + length;
    bool negative = at < end && *at == '-';
    at += negative;
    uint64_t ns = 0;
    int digits = 0;
    for (; at < end && *at >= '0' && *at <= '9'; at++, digits++)
        ns = ns * 10 + (uint64_t)(*at - '0');
    if (digits < 1 || digits > 15)
        return false;
    int places = 0, next = 0;
    if (at < end && *at == '.')
        for (at++; at < end && *at >= '0' && *at <= '9'; at++, places++) {
            if (places < 3)
                ns = ns * 10 + (uint64_t)(*at - '0');
            else if (places == 3)
                next = *at - '0';
        }
    for (int i = places; i < 3; i++)
        ns *= 10;
    ns += next >= 5;
    if (at < end) {
        double number;
        if (!number_slow(text, length, &number) || !(number > -4e15 && number < 4e15))
            return false;
        *ret_ns = (int64_t)(number * 1000 + (number < 0 ? -0.5 : 0.5));
        return true;
    }
    *ret_ns = negative ? -(int64_t)ns : (int64_t)ns;
    return true;
}

/* A whole number, as one or as a string. */
static int64_t whole_number(struct chrome_text text)
{
    const char *at = text.data, *end = at + text.length;
    if (text.length && *at == '"') {
        at++;
        end--;
    }
    bool negative = at < end && *at == '-';
    at += negative;
    int64_t number = 0;
    if (at >= end || end - at > 18)
        return CHROME_NONE;
    for (; at < end; at++) {
        if (*at < '0' || *at > '9')
            return CHROME_NONE;
        number = number * 10 + (*at - '0');
    }
    return negative ? -number : number;
}

static struct chrome_text unquoted(struct chrome_text text)
{
    if (text.length >= 2 && *text.data == '"')
        return (struct chrome_text){text.data + 1, text.length - 2};
    return text;
}

/* ---- an event ----------------------------------------------------------------------------------------------------------------- */

#define IS(word) (key.length == sizeof word - 1 && memcmp(key.data, word, sizeof word - 1) == 0)

static void argument_take(struct chrome_event *event, struct chrome_text key, struct chrome_text value)
{
    switch (key.length) {
    case 4:
        if (IS("name"))
            event->thread_name = unquoted(value);
        break;
    case 6:
        if (IS("origin"))
            event->origin = whole_number(value);
        break;
    case 7:
        if (IS("task_id"))
            event->task = whole_number(value);
        else if (IS("mpi_tag"))
            event->tag = whole_number(value);
        break;
    case 8:
        if (IS("variable"))
            event->variable = unquoted(value);
        break;
    case 9:
        if (IS("continued"))
            event->continued = whole_number(value) == 1;
        break;
    case 11:
        if (IS("destination"))
            event->destination = whole_number(value);
        break;
    case 15:
        if (IS("source_location"))
            event->place = unquoted(value);
        break;
    default: break;
    }
}

static void member_take(struct chrome_event *event, struct chrome_text key, struct chrome_text value)
{
    int64_t ns;
    switch (key.length) {
    case 2:
        if (IS("ph"))
            event->phase = value.length == 3 ? value.data[1] : '\0';
        else if (IS("ts") && chrome_microseconds(value.data, value.length, &ns)) {
            event->ts = value;
            event->ts_ns = ns;
        } else if (IS("id"))
            event->id = unquoted(value);
        break;
    case 3:
        if (IS("dur")) {
            if (chrome_microseconds(value.data, value.length, &ns) && ns >= 0)
                event->dur_ns = ns;
        } else if (IS("pid")) {
            event->pid = value;
            event->pid_number = whole_number(value);
        } else if (IS("tid"))
            event->tid_number = whole_number(value);
        else if (IS("cat"))
            event->category = unquoted(value);
        break;
    case 4:
        if (IS("name"))
            event->name = unquoted(value);
        break;
    default: break;
    }
}

typedef void take_fn(struct chrome_event *event, struct chrome_text key, struct chrome_text value);

/* From behind the brace to behind the closing one. */
static const char *members_read(struct chrome_event *event, const char *at, const char *end, take_fn *take)
{
    at = blanks_skip(at);
    if (*at == '}')
        return at + 1;
    for (;;) {
        at = blanks_skip(at);
        if (at >= end || *at != '"')
            return NULL;
        const char *key = at + 1, *key_end = string_end(key, end);
        if (!key_end)
            return NULL;
        at = blanks_skip(key_end + 1);
        if (*at != ':')
            return NULL;
        at = blanks_skip(at + 1);
        const char *value = at;
        bool arguments = *at == '{' && take == member_take && key_end - key == 4 && memcmp(key, "args", 4) == 0;
        if (arguments)
            at = members_read(event, at + 1, end, argument_take);
        else
            at = *at == '"' ? string_end(at + 1, end) : *at == '{' || *at == '[' ? value_end(at, end) : scalar_end(at);
        if (!at || at >= end)
            return NULL;
        if (*value == '"')
            at++;
        if (!arguments)
            take(event, (struct chrome_text){key, (uint32_t)(key_end - key)}, (struct chrome_text){value, (uint32_t)(at - value)});
        at = blanks_skip(at);
        if (*at == '}')
            return at + 1;
        if (*at != ',')
            return NULL;
        at++;
    }
}

/* ---- the window --------------------------------------------------------------------------------------------------------------- */

/* Read on: what was used goes, and where nothing was used the window grows. */
static enum pcere_status window_move(struct chrome_reader *reader, struct pcere_error *error)
{
    size_t left = reader->filled - reader->at;
    if (left * 2 > reader->window_bytes) {
        if (reader->window_bytes >= WINDOW_MOST)
            return pcere_fail(error, PCERE_DATA, 0, NULL, "'%.300s': an event of more than %d MiB", reader->path, WINDOW_MOST >> 20);
        char *window = realloc(reader->window, reader->window_bytes * 2 + PADDING);
        if (!window)
            return pcere_fail_memory(error, "an event");
        reader->window = window;
        reader->window_bytes *= 2;
    }
    memmove(reader->window, reader->window + reader->at, left);
    reader->offset += reader->at;
    reader->at = 0;
    reader->filled = left;
    while (reader->filled < reader->window_bytes && !reader->ended) {
        ssize_t count = read(reader->file, reader->window + reader->filled, reader->window_bytes - reader->filled);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot read '%.300s'", reader->path);
        reader->ended = count == 0;
        reader->filled += (size_t)count;
    }
    memset(reader->window + reader->filled, 0, PADDING);
    return PCERE_OK;
}

static enum pcere_status no_trace(const struct chrome_reader *reader, struct pcere_error *error)
{
    return pcere_fail(error, PCERE_DATA, 0, "a trace is a JSON array of events, or an object with \"traceEvents\"", "'%.300s' is no trace in Chrome's format",
                      reader->path);
}

/* Members of the outer object up to "traceEvents". They must lie in the first window. */
static enum pcere_status head_skip(struct chrome_reader *reader, struct pcere_error *error)
{
    const char *at = reader->window, *end = at + reader->filled;
    if (reader->filled >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0)
        at += 3;
    at = blanks_skip(at);
    if (*at == '{') {
        reader->in_object = true;
        for (at++;;) {
            at = blanks_skip(at);
            if (*at != '"')
                return no_trace(reader, error);
            const char *key = at + 1, *key_end = string_end(key, end);
            if (!key_end || *(at = blanks_skip(key_end + 1)) != ':')
                return no_trace(reader, error);
            at = blanks_skip(at + 1);
            if (key_end - key == 11 && memcmp(key, "traceEvents", 11) == 0)
                break;
            if (!(at = value_end(at, end)) || *(at = blanks_skip(at)) != ',')
                return no_trace(reader, error);
            at++;
        }
    }
    if (*at != '[')
        return no_trace(reader, error);
    reader->at = (size_t)(at + 1 - reader->window);
    return PCERE_OK;
}

static enum pcere_status window_open(const char *path, uint64_t first, struct chrome_reader *reader, struct pcere_error *error)
{
    struct stat facts;
    *reader = (struct chrome_reader){.path = path, .window_bytes = WINDOW_BYTES, .offset = first};
    reader->file = open(path, O_RDONLY | O_CLOEXEC);
    if (reader->file < 0)
        return pcere_fail(error, errno == ENOENT ? PCERE_USAGE : PCERE_SYSTEM, errno, NULL, "cannot read '%.300s'", path);
    if (fstat(reader->file, &facts) == 0 && S_ISREG(facts.st_mode))
        reader->file_bytes = (uint64_t)facts.st_size;
    if (reader->file_bytes > first && reader->file_bytes - first < WINDOW_BYTES)
        reader->window_bytes = (size_t)(reader->file_bytes - first) + 1;      /* and a byte that shows where it ends */
    reader->window = malloc(reader->window_bytes + PADDING);
    if (!reader->window) {
        close(reader->file);
        return pcere_fail_memory(error, "a window");
    }
    if (first && lseek(reader->file, (off_t)first, SEEK_SET) != (off_t)first)
        return pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot read '%.300s'", path);
    return window_move(reader, error);
}

enum pcere_status chrome_open(const char *path, struct chrome_reader *ret_reader, struct pcere_error *error)
{
    struct chrome_reader reader;
    enum pcere_status status = window_open(path, 0, &reader, error);
    if (status == PCERE_OK)
        status = head_skip(&reader, error);
    if (status != PCERE_OK)
        chrome_close(&reader);
    else
        *ret_reader = reader;
    return status;
}

enum pcere_status chrome_open_at(const struct chrome_reader *whole, uint64_t first, struct chrome_reader *ret_reader, struct pcere_error *error)
{
    struct chrome_reader reader;
    enum pcere_status status = window_open(whole->path, first, &reader, error);
    reader.in_object = whole->in_object;
    if (status != PCERE_OK)
        chrome_close(&reader);
    else
        *ret_reader = reader;
    return status;
}

void chrome_close(struct chrome_reader *reader)
{
    if (!reader->window)
        return;
    free(reader->window);
    close(reader->file);
    reader->window = NULL;
}

static enum pcere_status event_broken(const struct chrome_reader *reader, const char *at, struct pcere_error *error)
{
    return pcere_fail(error, PCERE_DATA, 0, "the events before it were read", "'%.300s' is damaged after %llu events: no JSON at byte %llu", reader->path,
                      (unsigned long long)reader->events, (unsigned long long)(reader->offset + (uint64_t)(at - reader->window)));
}

enum pcere_status chrome_next(struct chrome_reader *reader, struct chrome_event *event, bool *ret_more, struct pcere_error *error)
{
    while (!reader->done) {
        const char *end = reader->window + reader->filled, *at = blanks_skip(reader->window + reader->at);
        if (*at == ',')
            at = blanks_skip(at + 1);
        if (reader->until && at < end && *at != ']' && reader->offset + (uint64_t)(at - reader->window) >= reader->until) {
            reader->next = reader->offset + (uint64_t)(at - reader->window);
            reader->done = true;
            break;
        }
        if (*at == '{') {
            *event = (struct chrome_event){.ts_ns = CHROME_NONE, .dur_ns = CHROME_NONE, .pid_number = CHROME_NONE, .tid_number = CHROME_NONE,
                                           .task = CHROME_NONE, .tag = CHROME_NONE, .origin = CHROME_NONE, .destination = CHROME_NONE};
            const char *stop = members_read(event, at + 1, end, member_take);
            if (stop && stop <= end) {
                event->text = (struct chrome_text){at, (uint32_t)(stop - at)};
                reader->at = (size_t)(stop - reader->window);
                reader->events++;
                *ret_more = true;
                return PCERE_OK;
            }
        } else if (*at == ']' && at < end) {
            reader->done = true;
            break;
        } else if (at < end) {
            return event_broken(reader, at, error);
        }
        if (reader->ended) {
            /* An array without its end is allowed where the last event is whole, an object is not. */
            reader->done = true;
            reader->cut = at < end || reader->in_object;
            break;
        }
        /* No whole event is left in the window, or what is there is none: one that cannot be read with 256 KiB behind it never will. */
        if (end - at > 1 << 18 && !value_end(at, end) && reader->window_bytes > WINDOW_BYTES)
            return event_broken(reader, at, error);
        enum pcere_status status = window_move(reader, error);
        if (status != PCERE_OK)
            return status;
    }
    *ret_more = false;
    return PCERE_OK;
}

uint64_t chrome_event_guess(const struct chrome_reader *whole, uint64_t from)
{
    enum { LOOK_BYTES = 1 << 20 };
    size_t look_bytes = whole->file_bytes > from && whole->file_bytes - from < LOOK_BYTES ? (size_t)(whole->file_bytes - from) : LOOK_BYTES;
    char *text = malloc(look_bytes + PADDING);
    ssize_t bytes = text ? pread(whole->file, text, look_bytes, (off_t)from) : -1;
    const char *end = text + (bytes > 0 ? bytes : 0), *at = text;
    uint64_t found = 0;
    if (bytes > 0)
        memset(text + bytes, 0, PADDING);
    while (bytes > 0 && !found && (at = memchr(at, '}', (size_t)(end - at))) != NULL) {
        const char *begin = blanks_skip(++at);
        struct chrome_event event = {.ts_ns = CHROME_NONE};
        if (*begin != ',' || *(begin = blanks_skip(begin + 1)) != '{' || begin >= end)
            continue;
        if (members_read(&event, begin + 1, end, member_take) && event.phase)
            found = from + (uint64_t)(begin - text);
    }
    free(text);
    return found;
}
