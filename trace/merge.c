/* trace/merge.c - see merge.h. */
#include "trace/merge.h"
#include "core/text.h"
#include "trace/chrome.h"
#include "trace/view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <xxhash.h>

/* ---- what the reference says of its messages ---------------------------------------------------------------------------------- */

struct message { uint64_t key; int64_t begin_ns, end_ns; };      /* key 0: free. INT64_MAX, INT64_MIN: not seen */

struct messages { struct message *slots; size_t count, used; };

static struct message *message_slot(const struct messages *messages, uint64_t key)
{
    size_t place = (size_t)(key >> 7) & (messages->count - 1);
    while (messages->slots[place].key && messages->slots[place].key != key)
        place = (place + 1) & (messages->count - 1);
    return &messages->slots[place];
}

static struct message *message_make(struct messages *messages, uint64_t key)
{
    if (messages->used * 2 >= messages->count) {
        struct messages larger = {.count = messages->count ? messages->count * 2 : 1024, .used = messages->used};
        larger.slots = calloc(larger.count, sizeof *larger.slots);
        if (!larger.slots)
            return NULL;
        for (size_t i = 0; i < messages->count; i++)
            if (messages->slots[i].key)
                *message_slot(&larger, messages->slots[i].key) = messages->slots[i];
        free(messages->slots);
        *messages = larger;
    }
    struct message *message = message_slot(messages, key);
    if (!message->key) {
        *message = (struct message){key, INT64_MAX, INT64_MIN};
        messages->used++;
    }
    return message;
}

/* What both sides call by one key; 0: no message. *ret_arrow: 's' or 'f'. */
static uint64_t message_key(const struct chrome_event *event, char *ret_arrow)
{
    *ret_arrow = '\0';
    if (event->ts_ns == CHROME_NONE)
        return 0;
    if ((event->phase == 's' || event->phase == 'f') && event->id.length) {
        *ret_arrow = event->phase;
        return XXH3_64bits_withSeed(event->id.data, event->id.length, XXH3_64bits(event->category.data ? event->category.data : "", event->category.length)) | 1;
    }
    if (event->phase != 'X' || event->dur_ns == CHROME_NONE || event->tag == CHROME_NONE || event->name.length == 0)
        return 0;
    struct span_name name = span_name_read(event->name.data, event->name.length);
    if (name.kind == SPAN_TASK)
        name.kind = SPAN_EXECUTE;
    if (name.kind != SPAN_EXECUTE && !span_is_data(name.kind))
        return 0;
    return (((uint64_t)event->tag << 8 ^ (uint64_t)name.kind) * 0x9e3779b97f4a7c15u) | 1;
}

static bool reference_take(struct messages *messages, const struct chrome_event *event)
{
    char arrow;
    uint64_t key = message_key(event, &arrow);
    if (!key)
        return true;
    struct message *message = message_make(messages, key);
    if (!message)
        return false;
    int64_t end_ns = event->ts_ns + (arrow ? 0 : event->dur_ns);
    if (arrow != 'f' && event->ts_ns < message->begin_ns)
        message->begin_ns = event->ts_ns;
    if (arrow != 's' && end_ns > message->end_ns)
        message->end_ns = end_ns;
    return true;
}

/* The reference asked for it: it began before this side did, and ended after it. */
static void other_take(struct clock_bounds *bounds, const struct messages *messages, const struct chrome_event *event)
{
    char arrow;
    uint64_t key = messages->used ? message_key(event, &arrow) : 0;
    const struct message *message = key ? message_slot(messages, key) : NULL;
    if (!message || !message->key)
        return;
    int64_t begin_ns = event->ts_ns, end_ns = event->ts_ns + (arrow ? 0 : event->dur_ns);
    if (arrow == 'f' && message->begin_ns != INT64_MAX)
        clock_at_least(bounds, begin_ns, message->begin_ns - begin_ns);
    else if (arrow == 's' && message->end_ns != INT64_MIN)
        clock_at_most(bounds, begin_ns, message->end_ns - begin_ns);
    else if (!arrow && message->begin_ns != INT64_MAX && message->end_ns != INT64_MIN) {
        clock_at_least(bounds, begin_ns, message->begin_ns - begin_ns);
        clock_at_most(bounds, end_ns, message->end_ns - end_ns);
    }
}

/* ---- reading ------------------------------------------------------------------------------------------------------------------ */

struct extent { int64_t first_ns, last_ns; bool any, head; };

typedef bool event_fn(void *context, const struct chrome_event *event);

static enum pcere_status file_walk(struct merge_file *file, event_fn *take, void *context, struct pcere_error *error)
{
    struct chrome_reader reader = {0};
    struct chrome_event event;
    bool more = true, memory = true;
    enum pcere_status status = chrome_open(file->path, &reader, error);
    if (status != PCERE_OK)
        return status;
    while (memory && (status = chrome_next(&reader, &event, &more, error)) == PCERE_OK && more)
        memory = take(context, &event);
    if (status == PCERE_DATA && reader.events) {
        file->cut = true;
        status = PCERE_OK;
    }
    file->cut |= reader.cut;
    file->events = reader.events;
    file->bytes = reader.file_bytes;
    if (status == PCERE_OK && !reader.events)
        status = pcere_fail(error, PCERE_DATA, 0, NULL, "'%.300s' has no event", file->path);
    chrome_close(&reader);
    return memory ? status : pcere_fail_memory(error, "the messages");
}

struct looking { struct messages *messages; struct clock_bounds *bounds; struct extent extent; };

static void extent_take(struct extent *extent, const struct chrome_event *event)
{
    if (event->phase == 'M' && event->name.length == 12 && memcmp(event->name.data, "process_name", 12) == 0 && event->thread_name.length >= 4 &&
        strncasecmp(event->thread_name.data, "head", 4) == 0)
        extent->head = true;
    if (event->ts_ns == CHROME_NONE || event->phase == 'M')
        return;
    if (!extent->any || event->ts_ns < extent->first_ns)
        extent->first_ns = event->ts_ns;
    if (!extent->any || event->ts_ns > extent->last_ns)
        extent->last_ns = event->ts_ns;
    extent->any = true;
}

static bool extent_look(void *raw, const struct chrome_event *event)
{
    struct looking *looking = raw;
    extent_take(&looking->extent, event);
    return !looking->messages || reference_take(looking->messages, event);
}

static bool bounds_look(void *raw, const struct chrome_event *event)
{
    struct looking *looking = raw;
    extent_take(&looking->extent, event);
    other_take(looking->bounds, looking->messages, event);
    return true;
}

/* The head is called so in its name or at its begin; else the first file is the reference. */
static bool is_head(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (strcasestr(slash ? slash + 1 : path, "head"))
        return true;
    struct chrome_reader reader = {0};
    struct chrome_event event;
    struct pcere_error error;
    struct extent extent = {0};
    bool more = true;
    if (chrome_open(path, &reader, &error) != PCERE_OK)
        return false;
    for (int i = 0; i < 1000 && !extent.head && chrome_next(&reader, &event, &more, &error) == PCERE_OK && more; i++)
        extent_take(&extent, &event);
    chrome_close(&reader);
    return extent.head;
}

static enum pcere_status lines_find(struct merge_file *files, size_t count, bool minima_only, struct pcere_error *error)
{
    struct messages messages = {0};
    struct looking looking = {.messages = minima_only || count < 2 ? NULL : &messages};
    size_t reference = 0;
    while (reference < count && !is_head(files[reference].path))
        reference++;
    if (reference == count)
        reference = 0;
    files[reference].reference = true;
    enum pcere_status status = file_walk(&files[reference], extent_look, &looking, error);
    struct extent all = looking.extent;
    struct clock_bounds *bounds = calloc(1, sizeof *bounds);
    if (!bounds && status == PCERE_OK)
        status = pcere_fail_memory(error, "the messages");
    for (size_t i = 0; i < count && status == PCERE_OK; i++) {
        if (i == reference)
            continue;
        *bounds = (struct clock_bounds){.first_ns = all.first_ns, .last_ns = all.last_ns};
        looking = (struct looking){.messages = &messages, .bounds = bounds};
        status = file_walk(&files[i], bounds_look, &looking, error);
        files[i].messages = bounds->messages;
        if (status == PCERE_OK && clock_fit(bounds, &files[i].line, NULL) != PCERE_OK)
            files[i].line = (struct clock_line){.basis = CLOCK_MINIMA, .offset_ns = all.first_ns - looking.extent.first_ns};
    }
    free(bounds);
    free(messages.slots);
    return status;
}

/* ---- writing ------------------------------------------------------------------------------------------------------------------ */

struct known_pid { int64_t pid; size_t file; int64_t written; };

struct writing {
    struct view_output output;
    const struct merge_file *file;
    size_t number;
    struct known_pid *pids;
    size_t pid_count, pid_capacity;
    int64_t pid_most;
    bool any;
};

/* The same process number in two files is two processes. */
static bool pid_of(struct writing *writing, int64_t pid, int64_t *ret_written)
{
    bool taken = false;
    for (size_t i = writing->pid_count; i-- > 0;) {
        if (writing->pids[i].pid == pid && writing->pids[i].file == writing->number) {
            *ret_written = writing->pids[i].written;
            return true;
        }
        taken |= writing->pids[i].written == pid;
    }
    if (!array_reserve(&writing->pids, &writing->pid_capacity, writing->pid_count + 1, sizeof *writing->pids))
        return false;
    if (pid > writing->pid_most && pid < INT64_MAX / 2)
        writing->pid_most = pid;
    *ret_written = taken ? ++writing->pid_most : pid;
    writing->pids[writing->pid_count++] = (struct known_pid){pid, writing->number, *ret_written};
    return true;
}

static void bytes_put(struct writing *writing, const char *data, size_t bytes)
{
    while (bytes) {
        size_t piece = bytes < VIEW_PIECE_MOST ? bytes : VIEW_PIECE_MOST;
        memcpy(view_room(&writing->output), data, piece);
        writing->output.used += piece;
        data += piece;
        bytes -= piece;
    }
}

static void time_put(struct writing *writing, int64_t ns)
{
    char digits[32], *at = digits + sizeof digits;
    uint64_t size = ns < 0 ? (uint64_t)-ns : (uint64_t)ns;
    for (int i = 0; i < 4 || size; i++) {
        if (i == 3)
            *--at = '.';
        *--at = (char)('0' + size % 10);
        size /= 10;
    }
    if (ns < 0)
        *--at = '-';
    bytes_put(writing, at, (size_t)(digits + sizeof digits - at));
}

static bool event_put(void *raw, const struct chrome_event *event)
{
    struct writing *writing = raw;
    const char *at = event->text.data, *end = at + event->text.length;
    int64_t pid = event->pid_number;
    if (pid != CHROME_NONE && !pid_of(writing, pid, &pid))
        return false;
    bytes_put(writing, ",\n", writing->any ? 2 : 0);
    writing->any = true;
    bool pid_first = event->pid.data < event->ts.data;
    for (int i = 0; i < 2; i++) {
        bool is_pid = (i == 0) == pid_first;
        const struct chrome_text *piece = is_pid ? &event->pid : &event->ts;
        if (!piece->data || (is_pid && pid == event->pid_number))
            continue;
        bytes_put(writing, at, (size_t)(piece->data - at));
        if (is_pid) {
            char digits[24];
            bytes_put(writing, digits, (size_t)snprintf(digits, sizeof digits, "%lld", (long long)pid));
        } else {
            time_put(writing, clock_apply(&writing->file->line, event->ts_ns));
        }
        at = piece->data + piece->length;
    }
    bytes_put(writing, at, (size_t)(end - at));
    return true;
}

enum pcere_status merge_write(struct merge_file *files, size_t count, bool minima_only, FILE *output, const char *name, struct pcere_error *error)
{
    enum pcere_status status = lines_find(files, count, minima_only, error);
    struct writing writing = {.output = {.file = output, .buffer = malloc(VIEW_BUFFER_BYTES)}};
    if (!writing.output.buffer && status == PCERE_OK)
        status = pcere_fail_memory(error, "a buffer");
    static const char begin[] = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n", end[] = "\n]}\n";
    if (status == PCERE_OK)
        bytes_put(&writing, begin, sizeof begin - 1);
    errno = 0;
    for (size_t i = 0; i < count && status == PCERE_OK; i++) {
        writing.file = &files[i];
        writing.number = i;
        status = file_walk(&files[i], event_put, &writing, error);
        if (status == PCERE_OK && writing.output.failed)
            status = pcere_fail(error, PCERE_SYSTEM, errno, "free some space", "cannot write '%.300s'", name);
    }
    if (status == PCERE_OK) {
        bytes_put(&writing, end, sizeof end - 1);
        view_flush(&writing.output);
        if (writing.output.failed || fflush(output) != 0)
            status = pcere_fail(error, PCERE_SYSTEM, errno, "free some space", "cannot write '%.300s'", name);
    }
    free(writing.output.buffer);
    free(writing.pids);
    return status;
}
