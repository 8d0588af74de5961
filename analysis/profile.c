/* analysis/profile.c - see profile.h: tables, columns, labels and their order. */
#include "analysis/profile.h"
#include "core/text.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static const char *const kind_names[PROFILE_KIND_COUNT] = {
    "task", "static range", "dynamic chunk", "section", "single", "masked", "taskloop chunk", "region", "other", "iteration",
};

const char *profile_kind_name(enum profile_kind kind)
{
    return (unsigned)kind < PROFILE_KIND_COUNT ? kind_names[kind] : "other";
}

enum profile_kind profile_kind_find(const char *name)
{
    int kind = 0;
    while (kind < PROFILE_KIND_COUNT && strcmp(kind_names[kind], name) != 0)
        kind++;
    return (enum profile_kind)kind;
}

struct profile *profile_new(void)
{
    return calloc(1, sizeof(struct profile));
}

static void strings_free(char **strings, size_t count)
{
    for (size_t i = 0; strings && i < count; i++)
        free(strings[i]);
    free(strings);
}

static void run_done(struct profile_run *run)
{
    free(run->program);
    free(run->build_id);
    free(run->region);
    free(run->host);
    strings_free(run->arguments, run->argument_count);
    strings_free(run->settings, run->setting_count);
    strings_free(run->blind, run->blind_count);
}

static void event_done(struct profile_event *event)
{
    free(event->name);
    free(event->unit);
    free(event->backend);
}

static void columns_free(uint64_t **columns, size_t count)
{
    for (size_t i = 0; columns && i < count; i++)
        free(columns[i]);
    free(columns);
}

void profile_free(struct profile *profile)
{
    if (!profile)
        return;
    for (size_t i = 0; i < profile->event_count; i++)
        event_done(&profile->events[i]);
    for (size_t i = 0; i < profile->construct_count; i++)
        free(profile->constructs[i].name);
    for (size_t i = 0; i < profile->name_count; i++)
        free(profile->names[i].name);
    for (size_t i = 0; profile->sources && i < profile->run_count; i++)
        free(profile->sources[i]);
    for (size_t i = 0; i < profile->run_count; i++)
        run_done(&profile->runs[i]);
    columns_free(profile->counts, profile->event_count);
    columns_free(profile->low, profile->event_count);
    columns_free(profile->high, profile->event_count);
    columns_free(profile->segments.counts, profile->event_count);
    void *const columns[] = {
        profile->runs, profile->events, profile->constructs, profile->names, profile->nodes, profile->strategy, profile->dropped, profile->labels, profile->text_at,
        profile->texts, profile->kinds, profile->construct, profile->thread, profile->cpu, profile->start_ns, profile->active_ns, profile->sources,
        profile->segments.xu, profile->segments.thread, profile->segments.begin_ns, profile->segments.active_ns, profile,
    };
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        free(columns[i]);
}

/* Room for one more in a table that is not added to often. */
static void *table_grow(void *table, size_t count, size_t item_bytes)
{
    return realloc(table, (count + 1) * item_bytes);
}

static char **strings_copy(char *const *strings, size_t count, bool *failed)
{
    char **copy = calloc(count + 1, sizeof *copy);
    for (size_t i = 0; copy && i < count; i++)
        if (!(copy[i] = strdup(strings[i])))
            *failed = true;
    *failed = *failed || !copy;
    return copy;
}

static char *string_copy(const char *string, bool *failed)
{
    char *copy = strdup(string ? string : "");
    *failed = *failed || !copy;
    return copy;
}

enum pcere_status profile_add_run(struct profile *profile, const struct profile_run *run, uint32_t *ret_index, struct pcere_error *error)
{
    if (profile->run_count >= PROFILE_RUNS_MOST)
        return pcere_fail(error, PCERE_USAGE, 0, NULL, "a profile holds at most %u runs", PROFILE_RUNS_MOST);
    struct profile_run *runs = table_grow(profile->runs, profile->run_count, sizeof *runs);
    if (!runs)
        return pcere_fail_memory(error, "the runs of a profile");
    profile->runs = runs;
    bool failed = false;
    struct profile_run copy = *run;
    copy.program = string_copy(run->program, &failed);
    copy.build_id = string_copy(run->build_id, &failed);
    copy.region = run->region ? string_copy(run->region, &failed) : NULL;
    copy.host = string_copy(run->host, &failed);
    copy.arguments = strings_copy(run->arguments, run->argument_count, &failed);
    copy.settings = strings_copy(run->settings, run->setting_count, &failed);
    copy.blind = strings_copy(run->blind, run->blind_count, &failed);
    if (failed) {
        run_done(&copy);
        return pcere_fail_memory(error, "the runs of a profile");
    }
    runs[profile->run_count] = copy;
    if (ret_index)
        *ret_index = (uint32_t)profile->run_count;
    profile->run_count++;
    return PCERE_OK;
}

size_t profile_event_find(const struct profile *profile, const char *name)
{
    size_t event = 0;
    while (event < profile->event_count && strcmp(profile->events[event].name, name) != 0)
        event++;
    return event;
}

enum pcere_status profile_add_event(struct profile *profile, const struct profile_event *event, uint32_t *ret_index, struct pcere_error *error)
{
    size_t count = profile->event_count;
    if (count >= PROFILE_EVENTS_MOST || profile->capacity)
        return pcere_fail(error, PCERE_USAGE, 0, NULL, "a profile holds at most %u events, known before its XUs", PROFILE_EVENTS_MOST);
    if (profile_event_find(profile, event->name) < count)
        return pcere_fail(error, PCERE_USAGE, 0, "name each event once", "the event '%.100s' is there twice", event->name);
    struct profile_event *events = table_grow(profile->events, count, sizeof *events);
    profile->events = events ? events : profile->events;
    uint64_t ***const lists[] = {&profile->counts, &profile->low, &profile->high, &profile->segments.counts};
    bool failed = !events;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        uint64_t **list = table_grow(*lists[i], count, sizeof *list);
        failed = failed || !list;
        if (list) {
            list[count] = NULL;
            *lists[i] = list;
        }
    }
    struct profile_event copy = *event;
    copy.name = string_copy(event->name, &failed);
    copy.unit = string_copy(event->unit, &failed);
    copy.backend = string_copy(event->backend, &failed);
    if (failed) {
        event_done(&copy);
        return pcere_fail_memory(error, "the events of a profile");
    }
    profile->events[count] = copy;
    if (ret_index)
        *ret_index = (uint32_t)count;
    profile->event_count++;
    return PCERE_OK;
}

enum pcere_status profile_add_construct(struct profile *profile, uint64_t id, const char *name, uint32_t *ret_index, struct pcere_error *error)
{
    if (profile->construct_count >= PROFILE_CONSTRUCTS_MOST)
        return pcere_fail(error, PCERE_USAGE, 0, NULL, "a profile holds at most %zu constructs", PROFILE_CONSTRUCTS_MOST);
    struct profile_construct *constructs = table_grow(profile->constructs, profile->construct_count, sizeof *constructs);
    profile->constructs = constructs ? constructs : profile->constructs;
    char *copy = constructs ? strdup(name) : NULL;
    if (!copy)
        return pcere_fail_memory(error, "the constructs of a profile");
    constructs[profile->construct_count] = (struct profile_construct){.id = id, .name = copy};
    if (ret_index)
        *ret_index = (uint32_t)profile->construct_count;
    profile->construct_count++;
    return PCERE_OK;
}

enum pcere_status profile_add_blind(struct profile *profile, uint32_t number, const char *sentence, struct pcere_error *error)
{
    struct profile_run *run = &profile->runs[number];
    char **list = realloc(run->blind, (run->blind_count + 1) * sizeof *list), *copy = strdup(sentence);
    if (list)
        run->blind = list;
    if (!list || !copy) {
        free(copy);
        return pcere_fail_memory(error, "a profile");
    }
    run->blind[run->blind_count++] = copy;
    return PCERE_OK;
}

enum pcere_status profile_add_dropped(struct profile *profile, const struct profile_dropped *dropped, struct pcere_error *error)
{
    struct profile_dropped *list = table_grow(profile->dropped, profile->dropped_count, sizeof *list);
    if (!list)
        return pcere_fail_memory(error, "what was dropped");
    profile->dropped = list;
    list[profile->dropped_count++] = *dropped;
    return PCERE_OK;
}

static bool column_resize(void *column, size_t count, size_t item_bytes)
{
    void *grown = realloc(*(void **)column, count * item_bytes);
    if (grown)
        *(void **)column = grown;
    return grown != NULL;
}

enum pcere_status profile_reserve(struct profile *profile, size_t count, struct pcere_error *error)
{
    if (count > PROFILE_XUS_MOST)
        return pcere_fail(error, PCERE_USAGE, 0, NULL, "a profile holds at most %zu XUs", PROFILE_XUS_MOST);
    if (count <= profile->capacity)
        return PCERE_OK;
    bool whole = column_resize(&profile->labels, count, sizeof *profile->labels) && column_resize(&profile->kinds, count, sizeof *profile->kinds) &&
                 column_resize(&profile->construct, count, sizeof(uint32_t)) && column_resize(&profile->thread, count, sizeof(uint32_t)) &&
                 column_resize(&profile->cpu, count, sizeof(uint32_t)) && column_resize(&profile->start_ns, count, sizeof(uint64_t)) &&
                 column_resize(&profile->active_ns, count, sizeof(uint64_t));
    if (whole && (profile->text_at || !profile->count))
        whole = column_resize(&profile->text_at, count, sizeof(uint64_t));
    for (size_t i = 0; whole && i < profile->event_count; i++)
        whole = column_resize(&profile->counts[i], count, sizeof(uint64_t));
    if (!whole)
        return pcere_fail_memory(error, "the XUs of a profile");
    profile->capacity = count;
    return PCERE_OK;
}

static enum pcere_status text_keep(struct profile *profile, const char *label, struct pcere_error *error)
{
    size_t length = strlen(label);
    if (!length || length > PROFILE_LABEL_BYTES_MOST)
        return pcere_fail(error, PCERE_USAGE, 0, NULL, "a label has 1 to %u bytes, not %zu", PROFILE_LABEL_BYTES_MOST, length);
    if (!array_reserve(&profile->texts, &profile->texts_capacity, profile->texts_bytes + length + 1, 1))
        return pcere_fail_memory(error, "the labels of a profile");
    memcpy(profile->texts + profile->texts_bytes, label, length + 1);
    profile->text_at[profile->count] = profile->texts_bytes;
    profile->labels[profile->count] = profile_label_hash(label);
    profile->texts_bytes += length + 1;
    return PCERE_OK;
}

enum pcere_status profile_add_xu(struct profile *profile, const struct profile_xu *xu, struct pcere_error *error)
{
    if (xu->construct >= profile->construct_count || (unsigned)xu->kind >= PROFILE_KIND_COUNT)
        return pcere_fail(error, PCERE_USAGE, 0, NULL, "an XU of a construct or kind that the profile does not have");
    if (profile->count && !xu->label != !profile->text_at)
        return pcere_fail(error, PCERE_USAGE, 0, NULL, "labels of a profile all have their text, or none has");
    size_t row = profile->count;
    if (row == profile->capacity) {
        enum pcere_status status = profile_reserve(profile, row < 64 ? 64 : row + row / 2, error);
        if (status != PCERE_OK && row + 1 <= PROFILE_XUS_MOST)
            status = profile_reserve(profile, row + 1, error);
        if (status != PCERE_OK)
            return status;
    }
    if (xu->label) {
        enum pcere_status status = text_keep(profile, xu->label, error);
        if (status != PCERE_OK)
            return status;
    } else {
        free(profile->text_at);
        profile->text_at = NULL;
        profile->labels[row] = xu->hash;
    }
    profile->kinds[row] = (uint8_t)xu->kind;
    profile->construct[row] = xu->construct;
    profile->thread[row] = xu->thread;
    profile->cpu[row] = xu->cpu;
    profile->start_ns[row] = xu->start_ns;
    profile->active_ns[row] = xu->active_ns;
    for (size_t i = 0; i < profile->event_count; i++)
        profile->counts[i][row] = xu->counts ? xu->counts[i] : 0;
    profile->count++;
    profile->in_label_order = row == 0 || (profile->in_label_order && profile_row_compare(profile, row - 1, row) <= 0);
    return PCERE_OK;
}

enum pcere_status profile_add_segment(struct profile *profile, const struct profile_segment *segment, struct pcere_error *error)
{
    struct profile_segments *segments = &profile->segments;
    if (segment->xu >= profile->count)
        return pcere_fail(error, PCERE_USAGE, 0, NULL, "a segment of an XU that the profile does not have");
    if (segments->count == segments->capacity) {
        size_t capacity = segments->capacity < 64 ? 64 : segments->capacity + segments->capacity / 2;
        bool whole = column_resize(&segments->xu, capacity, sizeof(uint32_t)) && column_resize(&segments->thread, capacity, sizeof(uint32_t)) &&
                     column_resize(&segments->begin_ns, capacity, sizeof(uint64_t)) && column_resize(&segments->active_ns, capacity, sizeof(uint64_t));
        for (size_t i = 0; whole && i < profile->event_count; i++)
            whole = column_resize(&segments->counts[i], capacity, sizeof(uint64_t));
        if (!whole)
            return pcere_fail_memory(error, "the segments of a profile");
        segments->capacity = capacity;
    }
    size_t at = segments->count++;
    segments->xu[at] = segment->xu;
    segments->thread[at] = segment->thread;
    segments->begin_ns[at] = segment->begin_ns;
    segments->active_ns[at] = segment->active_ns;
    for (size_t i = 0; i < profile->event_count; i++)
        segments->counts[i][at] = segment->counts ? segment->counts[i] : 0;
    return PCERE_OK;
}

enum pcere_status profile_add_interval(struct profile *profile, uint32_t event, struct pcere_error *error)
{
    size_t bytes = profile->count * sizeof(uint64_t);
    uint64_t *low = malloc(bytes + 1), *high = malloc(bytes + 1);
    if (!low || !high) {
        free(low);
        free(high);
        return pcere_fail_memory(error, "the intervals of counts");
    }
    if (bytes) {
        memcpy(low, profile->counts[event], bytes);
        memcpy(high, profile->counts[event], bytes);
    }
    free(profile->low[event]);
    free(profile->high[event]);
    profile->low[event] = low;
    profile->high[event] = high;
    return PCERE_OK;
}

enum pcere_status profile_add_sources(struct profile *profile, struct pcere_error *error)
{
    profile->sources = calloc(profile->run_count + 1, sizeof *profile->sources);
    for (size_t i = 0; profile->sources && i < profile->run_count; i++)
        if (!(profile->sources[i] = calloc(profile->count + 1, sizeof(uint32_t))))
            return pcere_fail_memory(error, "where counts came from");
    return profile->sources ? PCERE_OK : pcere_fail_memory(error, "where counts came from");
}

struct profile_label profile_label_hash(const char *text)
{
    XXH128_hash_t hash = XXH3_128bits(text, strlen(text));
    return (struct profile_label){.high = hash.high64, .low = hash.low64};
}

const char *profile_label_text(const struct profile *profile, size_t row, char digits[33])
{
    if (profile->text_at)
        return profile->texts + profile->text_at[row];
    snprintf(digits, 33, "%016llx%016llx", (unsigned long long)profile->labels[row].high, (unsigned long long)profile->labels[row].low);
    return digits;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

int profile_label_compare(const char *a, const char *b)
{
    const char *a_start = a, *b_start = b;
    while (*a && *b) {
        if (!is_digit(*a) || !is_digit(*b)) {
            if (*a != *b)
                return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
            a++;
            b++;
            continue;
        }
        while (*a == '0')
            a++;
        while (*b == '0')
            b++;
        size_t a_digits = 0, b_digits = 0;
        while (is_digit(a[a_digits]))
            a_digits++;
        while (is_digit(b[b_digits]))
            b_digits++;
        int order = a_digits == b_digits ? memcmp(a, b, a_digits) : a_digits < b_digits ? -1 : 1;
        if (order)
            return order;
        a += a_digits;
        b += b_digits;
    }
    return *a ? 1 : *b ? -1 : strcmp(a_start, b_start);
}

int profile_row_compare(const struct profile *profile, size_t a, size_t b)
{
    const struct profile_label *x = &profile->labels[a], *y = &profile->labels[b];
    bool equal = x->high == y->high && x->low == y->low;
    int order = equal             ? 0
                : profile->text_at ? profile_label_compare(profile->texts + profile->text_at[a], profile->texts + profile->text_at[b])
                : x->high != y->high ? (x->high < y->high ? -1 : 1)
                                     : (x->low < y->low ? -1 : 1);
    if (order)
        return order;
    return profile->start_ns[a] < profile->start_ns[b] ? -1 : profile->start_ns[a] > profile->start_ns[b];
}

static int rows_compare(const void *a, const void *b, void *profile)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int order = profile_row_compare(profile, x, y);
    return order ? order : x < y ? -1 : x > y;
}

static void permute(void *column, size_t item_bytes, const uint32_t *order, size_t count, char *scratch)
{
    if (!column)
        return;
    for (size_t i = 0; i < count; i++)
        memcpy(scratch + i * item_bytes, (char *)column + order[i] * item_bytes, item_bytes);
    memcpy(column, scratch, count * item_bytes);
}

enum pcere_status profile_sort(struct profile *profile, struct pcere_error *error)
{
    size_t count = profile->count;
    if (profile->in_label_order || !count) {
        profile->in_label_order = true;
        return PCERE_OK;
    }
    uint32_t *order = malloc(count * sizeof *order);
    char *scratch = malloc(count * sizeof(struct profile_label));
    uint32_t *place = profile->segments.count ? malloc(count * sizeof *place) : NULL;
    if (!order || !scratch || (profile->segments.count && !place)) {
        free(order);
        free(scratch);
        free(place);
        return pcere_fail_memory(error, "the order of labels");
    }
    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    qsort_r(order, count, sizeof *order, rows_compare, profile);
    permute(profile->labels, sizeof *profile->labels, order, count, scratch);
    permute(profile->text_at, sizeof(uint64_t), order, count, scratch);
    permute(profile->kinds, 1, order, count, scratch);
    permute(profile->construct, sizeof(uint32_t), order, count, scratch);
    permute(profile->thread, sizeof(uint32_t), order, count, scratch);
    permute(profile->cpu, sizeof(uint32_t), order, count, scratch);
    permute(profile->start_ns, sizeof(uint64_t), order, count, scratch);
    permute(profile->active_ns, sizeof(uint64_t), order, count, scratch);
    for (size_t i = 0; i < profile->event_count; i++) {
        permute(profile->counts[i], sizeof(uint64_t), order, count, scratch);
        permute(profile->low[i], sizeof(uint64_t), order, count, scratch);
        permute(profile->high[i], sizeof(uint64_t), order, count, scratch);
    }
    for (size_t i = 0; profile->sources && i < profile->run_count; i++)
        permute(profile->sources[i], sizeof(uint32_t), order, count, scratch);
    for (size_t i = 0; place && i < count; i++)
        place[order[i]] = (uint32_t)i;
    for (size_t i = 0; i < profile->segments.count; i++)
        profile->segments.xu[i] = place[profile->segments.xu[i]];
    profile->in_label_order = true;
    free(order);
    free(scratch);
    free(place);
    return PCERE_OK;
}
