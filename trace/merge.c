/* trace/merge.c - see merge.h. */
#include "trace/merge.h"
#include "core/text.h"
#include "trace/chrome.h"
#include "trace/view.h"

#include <errno.h>
#include <pthread.h>
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

struct known_pid { int64_t pid, written; };      /* as the file has it, and as the merged one has */

struct pids { struct known_pid *list; size_t count, capacity, last; };

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

struct looking { struct messages *messages; struct clock_bounds *bounds; struct extent extent; struct pids *pids; };

/* NULL: it is not among them. */
static struct known_pid *pid_find(struct pids *pids, int64_t pid)
{
    if (pids->last < pids->count && pids->list[pids->last].pid == pid)
        return &pids->list[pids->last];
    for (pids->last = 0; pids->last < pids->count; pids->last++)
        if (pids->list[pids->last].pid == pid)
            return &pids->list[pids->last];
    return NULL;
}

static bool pid_take(struct pids *pids, const struct chrome_event *event)
{
    if (event->pid_number == CHROME_NONE || pid_find(pids, event->pid_number))
        return true;
    if (!array_reserve(&pids->list, &pids->capacity, pids->count + 1, sizeof *pids->list))
        return false;
    pids->list[pids->count++] = (struct known_pid){event->pid_number, event->pid_number};
    return true;
}

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
    return pid_take(looking->pids, event) && (!looking->messages || reference_take(looking->messages, event));
}

static bool bounds_look(void *raw, const struct chrome_event *event)
{
    struct looking *looking = raw;
    extent_take(&looking->extent, event);
    other_take(looking->bounds, looking->messages, event);
    return pid_take(looking->pids, event);
}

/* The head is called so in its name or at its begin; else the first file is the reference. */
static bool is_head(const char *path)
{
    if (strcasestr(base_name(path), "head"))
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

struct lines {                   /* of the files but the reference, found side by side */
    struct merge_file *files;
    struct pids *pids;
    size_t count, reference;
    struct messages *messages;
    struct extent all;           /* of the reference */
    pthread_mutex_t lock;
    size_t next;                 /* file that nobody looks at yet */
    enum pcere_status status;
    struct pcere_error error;    /* of the first file that failed, by its number */
    size_t failed;
};

static enum pcere_status line_find(const struct lines *lines, size_t number, struct clock_bounds *bounds, struct pcere_error *error)
{
    struct merge_file *file = &lines->files[number];
    *bounds = (struct clock_bounds){.first_ns = lines->all.first_ns, .last_ns = lines->all.last_ns};
    struct looking looking = {.messages = lines->messages, .bounds = bounds, .pids = &lines->pids[number]};
    enum pcere_status status = file_walk(file, bounds_look, &looking, error);
    file->messages = bounds->messages;
    if (status == PCERE_OK && clock_fit(bounds, &file->line, NULL) != PCERE_OK)
        file->line = (struct clock_line){.basis = CLOCK_MINIMA, .offset_ns = lines->all.first_ns - looking.extent.first_ns};
    return status;
}

static void *lines_main(void *raw)
{
    struct lines *lines = raw;
    struct clock_bounds *bounds = calloc(1, sizeof *bounds);
    for (;;) {
        struct pcere_error error;
        pthread_mutex_lock(&lines->lock);
        size_t number = lines->next++;
        number += number >= lines->reference;
        pthread_mutex_unlock(&lines->lock);
        if (number >= lines->count)
            break;
        enum pcere_status status = bounds ? line_find(lines, number, bounds, &error) : pcere_fail_memory(&error, "the messages");
        pthread_mutex_lock(&lines->lock);
        if (status != PCERE_OK && (lines->status == PCERE_OK || number < lines->failed)) {
            lines->status = status;
            lines->error = error;
            lines->failed = number;
        }
        pthread_mutex_unlock(&lines->lock);
    }
    free(bounds);
    return NULL;
}

static enum pcere_status lines_find(struct merge_file *files, struct pids *pids, size_t count, bool minima_only, struct pcere_error *error)
{
    struct messages messages = {0};
    size_t reference = 0;
    while (reference < count && !is_head(files[reference].path))
        reference++;
    if (reference == count)
        reference = 0;
    files[reference].reference = true;
    struct looking looking = {.messages = minima_only || count < 2 ? NULL : &messages, .pids = &pids[reference]};
    enum pcere_status status = file_walk(&files[reference], extent_look, &looking, error);
    if (status == PCERE_OK) {
        struct lines lines = {.files = files, .pids = pids, .count = count, .reference = reference, .messages = &messages, .all = looking.extent};
        pthread_t helper;
        pthread_mutex_init(&lines.lock, NULL);
        bool helped = count > 2 && pthread_create(&helper, NULL, lines_main, &lines) == 0;
        lines_main(&lines);
        if (helped)
            pthread_join(helper, NULL);
        pthread_mutex_destroy(&lines.lock);
        status = lines.status;
        if (status != PCERE_OK)
            *error = lines.error;
    }
    free(messages.slots);
    return status;
}

/* ---- writing ------------------------------------------------------------------------------------------------------------------ */

struct writing {                 /* some of the files, by one thread */
    struct view_output output;
    const struct merge_file *file;
    struct pids *pids;           /* of that file */
    struct merge_file *files;
    struct pids *all_pids;
    const unsigned *writers;     /* [file] */
    size_t count;
    size_t capacity;
    bool any;
    enum pcere_status status;
    struct pcere_error error;
};

enum { EVENT_MORE = 128 };       /* bytes by which an event may grow: its numbers, what is between two */

/* The same process number in two files is two processes. */
static void pids_tell_apart(struct pids *pids, size_t count)
{
    int64_t most = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < pids[i].count; k++) {
            struct known_pid *known = &pids[i].list[k];
            bool taken = false;
            for (size_t j = 0; j < i && !taken; j++)
                for (size_t n = 0; n < pids[j].count && !taken; n++)
                    taken = pids[j].list[n].written == known->pid;
            if (known->pid > most && known->pid < INT64_MAX / 2)
                most = known->pid;
            if (taken)
                known->written = ++most;
        }
}

/* Pieces of several writers follow each other: an event lies in one. */
static bool event_room(struct writing *writing, size_t bytes)
{
    if (writing->output.used + bytes > writing->capacity)
        view_flush(&writing->output);
    if (bytes > writing->capacity) {
        char *larger = realloc(writing->output.buffer, bytes);
        if (!larger)
            return false;
        writing->output.buffer = larger;
        writing->capacity = bytes;
    }
    return true;
}

static void bytes_put(struct writing *writing, const char *data, size_t bytes)
{
    memcpy(writing->output.buffer + writing->output.used, data, bytes);
    writing->output.used += bytes;
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
    const struct known_pid *known = event->pid_number != CHROME_NONE ? pid_find(writing->pids, event->pid_number) : NULL;
    int64_t pid = known ? known->written : event->pid_number;
    if (!event_room(writing, event->text.length + EVENT_MORE))
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

static void *writing_main(void *raw)
{
    struct writing *writing = raw;
    for (size_t i = 0; i < writing->count && writing->status == PCERE_OK && !writing->output.failed; i++) {
        if (writing->writers[i] != writing->output.writer)
            continue;
        writing->file = &writing->files[i];
        writing->pids = &writing->all_pids[i];
        writing->status = file_walk(&writing->files[i], event_put, writing, &writing->error);
    }
    view_turns_leave(&writing->output);
    return NULL;
}

/* Files go to the writer that has the fewest bytes so far. */
static unsigned *writers_choose(const struct merge_file *files, size_t count)
{
    uint64_t bytes[VIEW_WRITERS] = {0};
    unsigned *writers = calloc(count + 1, sizeof *writers);
    for (size_t i = 0; writers && i < count; i++) {
        unsigned least = 0;
        for (unsigned k = 1; k < VIEW_WRITERS; k++)
            least = bytes[k] < bytes[least] ? k : least;
        writers[i] = least;
        bytes[least] += files[i].bytes;
    }
    return writers;
}

static enum pcere_status files_write(struct merge_file *files, struct pids *pids, size_t count, FILE *output, const char *name, struct pcere_error *error)
{
    static const char begin[] = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n", end[] = "\n]}\n";
    struct view_turns turns;
    struct writing parts[VIEW_WRITERS];
    unsigned *writers = writers_choose(files, count), part_count = count < VIEW_WRITERS ? (unsigned)count : VIEW_WRITERS;
    bool memory = writers != NULL;
    enum pcere_status status = PCERE_OK;
    errno = 0;
    bool written = fwrite(begin, 1, sizeof begin - 1, output) == sizeof begin - 1 && fflush(output) == 0;
    int errnum = errno;
    view_turns_init(&turns, output, part_count);
    for (unsigned i = 0; i < part_count; i++) {
        parts[i] = (struct writing){.output = {.file = output, .buffer = malloc(VIEW_BUFFER_BYTES), .turns = &turns, .writer = i}, .files = files, .all_pids = pids, .writers = writers, .count = count,
                                     .capacity = VIEW_BUFFER_BYTES, .any = i > 0};
        memory = memory && parts[i].output.buffer;
    }
    if (memory && written) {
        pthread_t helper;
        bool helped = part_count == 2 && pthread_create(&helper, NULL, writing_main, &parts[1]) == 0;
        turns.count = helped ? 2 : 1;
        writing_main(&parts[0]);
        if (helped)
            pthread_join(helper, NULL);
        else if (part_count == 2) {
            turns.turn = 1;
            writing_main(&parts[1]);
        }
        errnum = turns.failed_errno;
    }
    view_turns_done(&turns, output);
    for (unsigned i = 0; i < part_count; i++) {
        free(parts[i].output.buffer);
        written &= !parts[i].output.failed;
        if (status == PCERE_OK && parts[i].status != PCERE_OK) {
            status = parts[i].status;
            *error = parts[i].error;
        }
    }
    free(writers);
    if (!memory)
        return pcere_fail_memory(error, "a buffer");
    errno = written ? 0 : errnum;
    if (status == PCERE_OK && (!written || fwrite(end, 1, sizeof end - 1, output) != sizeof end - 1 || fflush(output) != 0))
        status = pcere_fail(error, PCERE_SYSTEM, errno, "free some space", "cannot write '%.300s'", name);
    return status;
}

enum pcere_status merge_write(struct merge_file *files, size_t count, bool minima_only, FILE *output, const char *name, struct pcere_error *error)
{
    struct pids *pids = calloc(count + 1, sizeof *pids);
    if (!pids)
        return pcere_fail_memory(error, "the processes");
    enum pcere_status status = lines_find(files, pids, count, minima_only, error);
    if (status == PCERE_OK) {
        pids_tell_apart(pids, count);
        status = files_write(files, pids, count, output, name, error);
    }
    for (size_t i = 0; i < count; i++)
        free(pids[i].list);
    free(pids);
    return status;
}
