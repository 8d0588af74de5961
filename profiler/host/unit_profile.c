/* profiler/host/unit_profile.c - execution units as rows of a profile, and in words what the run could not see. */
#include "profiler/host/unit_profile.h"
#include "profiler/host/events.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- the run ------------------------------------------------------------------------------------------------------------------ */

struct list { char **items; size_t count, capacity; bool failed; };

static void list_add(struct list *list, char *item)
{
    if (!item || !array_reserve(&list->items, &list->capacity, list->count + 1, sizeof *list->items)) {
        free(item);
        list->failed = true;
        return;
    }
    list->items[list->count++] = item;
}

static void list_done(struct list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i]);
    free(list->items);
}

static int by_bytes(const void *a, const void *b)
{
    const char *const *left = a, *const *right = b;
    return strcmp(*left, *right);
}

static void settings_take(struct list *list, char *const *environment)
{
    for (size_t i = 0; environment && environment[i]; i++)
        if (strncmp(environment[i], "OMP_", 4) == 0 || strncmp(environment[i], "KMP_", 4) == 0)
            list_add(list, strdup(environment[i]));
    if (list->count)
        qsort(list->items, list->count, sizeof *list->items, by_bytes);
}

__attribute__((format(printf, 2, 3))) static void say(struct list *list, const char *format, ...)
{
    struct text text = {0};
    va_list arguments;
    va_start(arguments, format);
    char line[512];
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    text_add(&text, line);
    list_add(list, text_take(&text));
}

struct constructs_seen { size_t by_id, by_source, by_address, sections; };

/* Those that labels of XUs are made of. */
static bool *constructs_used(const struct units *units)
{
    const struct label_table *labels = &units->labels;
    bool *used = calloc(labels->file->construct_count + 1, sizeof *used), *met = calloc(labels->count + 1, sizeof *met);
    for (size_t i = 0; used && met && i < units->count; i++)
        for (uint32_t node = units->list[i].node; !met[node]; node = labels->nodes[node].parent) {
            met[node] = true;
            if (labels->nodes[node].construct < labels->file->construct_count)
                used[labels->nodes[node].construct] = true;
        }
    bool failed = !met;
    free(met);
    if (!failed)
        return used;
    free(used);
    return NULL;
}

static struct constructs_seen constructs_look(const struct units *units, const bool *used)
{
    struct constructs_seen seen = {0};
    const struct trace_file *file = units->labels.file;
    for (size_t i = 1; i < file->construct_count; i++) {
        const struct trace_construct *construct = &file->constructs[i];
        bool named = construct->kind && used[i];
        seen.by_id += named && construct->basis == TRACE_BY_ID;
        seen.by_source += named && construct->basis == TRACE_BY_SOURCE;
        seen.by_address += named && construct->basis == TRACE_BY_ADDRESS;
        seen.sections += used[i] && construct->kind == TRACE_SECTIONS;
    }
    return seen;
}

/* Ranges of worksharing loops, and sections, that were not told one by one though they are several. */
static size_t ranges_whole(const struct units *units)
{
    size_t whole = 0;
    for (size_t i = 0; i < units->count; i++)
        whole += units->list[i].kind == UNIT_STATIC_RANGE || units->list[i].kind == UNIT_DYNAMIC_CHUNK || (units->list[i].kind == UNIT_SECTION && units->list[i].iterations > 1);
    return whole;
}

static bool below_zero(const struct trace_event *event, uint64_t count)
{
    return event->flags & TRACE_EVENT_TURNS && count >> 63;
}

/* Of events that took turns: how much of the time their counts rest on, and what extrapolating made of XUs. */
static void turns_say(struct list *list, const struct units *units)
{
    const struct trace_header *header = units->labels.file->header;
    unsigned long long negative = 0;
    for (uint32_t i = 0; i < header->event_count; i++) {
        const struct trace_turns *turns = &header->turns[i];
        if (!(header->events[i].flags & TRACE_EVENT_TURNS) || header->events[i].failed_errno)
            continue;
        if (!turns->running_ns)
            say(list, "event %s never had a counter: its counts are 0", header->events[i].name);
        else if (turns->running_ns < turns->enabled_ns)
            say(list, "event %s was counted %.3g %% of the time, and extrapolated from that", header->events[i].name, 100 * (double)turns->running_ns / (double)turns->enabled_ns);
        for (size_t row = 0; row < units->count; row++)
            negative += below_zero(&header->events[i], units->counts[row * units->event_count + i]);
    }
    if (negative)
        say(list, "%llu counts of XUs came out below zero when they were extrapolated, and are 0", negative);
}

static void blind_say(struct list *list, const struct units *units, enum label_rules rules, const struct constructs_seen *seen)
{
    const struct trace_header *header = units->labels.file->header;
    if (seen->by_address)
        say(list, "%zu constructs are named by where their calls lie in the code (built without -g and without the plugin): other builds have other labels", seen->by_address);
    if (seen->by_source)
        say(list, "%zu constructs are named by their place in the source: two on one line and column would be one", seen->by_source);
    if (header->unmatched)
        say(list, "%llu constructs' calls were not seen, only what the tool interface tells of them", (unsigned long long)header->unmatched);
    bool exact = header->wanted & TRACE_WANT_ITERATIONS;
    size_t whole = exact ? ranges_whole(units) : 0;
    if (whole)
        say(list, "%zu ranges are one XU each, since their loops do not tell their iterations: other schedules and numbers of threads have other labels there", whole);
    if (!exact && units->chunked)
        say(list, "the chunks of schedule(static,N) that one thread executes are one XU");
    if (!exact && seen->sections)
        say(list, "sections that one thread executes one after the other are one XU");
    if (rules == LABEL_RULES_PAPER)
        say(list, "by the rules of the paper, what single and sections make is named after the thread that came to them, which differs from run to run");
    if (header->forks)
        say(list, "the program forked %llu time%s: what the new processes did is not here", (unsigned long long)header->forks, header->forks == 1 ? "" : "s");
    if (header->dropped)
        say(list, "%llu records found no room", (unsigned long long)header->dropped);
    if (units->torn || units->mismatches)
        say(list, "%llu records did not fit what was open", (unsigned long long)(units->torn + units->mismatches));
    if (units->unfinished)
        say(list, "%llu XU%s had not ended when the program did", (unsigned long long)units->unfinished, units->unfinished == 1 ? "" : "s");
    if (units->duplicates)
        say(list, "%llu XU%s a label that another one has", (unsigned long long)units->duplicates, units->duplicates == 1 ? " has" : "s have");
    if (header->counters_lost)
        say(list, "%llu readings of counters told nothing: the kernel had given the counters to others", (unsigned long long)header->counters_lost);
    if (header->counters_shared)
        say(list, "%llu readings of counters covered a part of the time only", (unsigned long long)header->counters_shared);
    turns_say(list, units);
    const char *hint;
    for (uint32_t i = 0; i < header->event_count; i++) {
        if (header->events[i].failed_errno)
            say(list, "event %s could not be counted on every thread: %s", header->events[i].name, event_refusal((int)header->events[i].failed_errno, &hint));
        else if (header->events[i].source == TRACE_SOURCE_USAGE)
            say(list, "event %s was taken from the threads' resource usage, since perf events are forbidden here", header->events[i].name);
    }
}

static uint32_t level_of(const struct trace_header *header, bool identified)
{
    uint32_t level = identified;
    for (uint32_t i = 0; identified && i < header->event_count; i++) {
        uint32_t counted = header->events[i].backend == TRACE_BACKEND_CACHE ? 3 : header->events[i].backend == TRACE_BACKEND_IR ? 2 : 1;
        level = counted > level ? counted : level;
    }
    return level;
}

static enum pcere_status run_add(struct profile *profile, const struct units *units, enum label_rules rules, const struct unit_profile_run *run,
                                 struct pcere_error *error)
{
    const struct trace_file *file = units->labels.file;
    const struct trace_header *header = file->header;
    bool *used = constructs_used(units);
    if (!used)
        return pcere_fail_memory(error, "the profile");
    struct constructs_seen seen = constructs_look(units, used);
    free(used);
    struct list settings = {0}, blind = {0};
    settings_take(&settings, run->environment);
    blind_say(&blind, units, rules, &seen);
    const char *build_id = run->build_id ? run->build_id : "";
    for (size_t i = 1; !run->build_id && i < file->module_count; i++)
        if (file->modules[i].path && !file->modules[i].path[0])
            build_id = file->modules[i].build_id;
    bool identified = seen.by_id && !seen.by_source && !seen.by_address;
    size_t arguments = 0;
    while (run->arguments && run->arguments[arguments])
        arguments++;
    struct profile_run entry = {
        .program = (char *)(uintptr_t)run->program, .build_id = (char *)(uintptr_t)build_id, .region = (char *)(uintptr_t)run->region, .arguments = (char **)(uintptr_t)run->arguments,
        .argument_count = arguments, .settings = settings.items, .setting_count = settings.count, .host = (char *)(uintptr_t)run->host,
        .threads = units->team_most ? units->team_most : 1, .iterations = header->wanted & TRACE_WANT_ITERATIONS, .level = level_of(header, identified), .blind = blind.items,
        .blind_count = blind.count, .wall_ns = header->wall_ns, .xus = units->count,
    };
    enum pcere_status status = settings.failed || blind.failed ? pcere_fail_memory(error, "the profile") : profile_add_run(profile, &entry, NULL, error);
    list_done(&settings);
    list_done(&blind);
    return status;
}

static enum pcere_status events_add(struct profile *profile, const struct trace_header *header, struct pcere_error *error)
{
    static const char *const backends[] = {[0] = "time", [TRACE_BACKEND_SW] = "sw", [TRACE_BACKEND_IR] = "ir", [TRACE_BACKEND_PMU] = "pmu", [TRACE_BACKEND_CACHE] = "cache"};
    const struct trace_cache *caches = header->caches;
    char modelled[128];
    snprintf(modelled, sizeof modelled, "cache %llu/%u/%u %llu/%u/%u", (unsigned long long)caches[0].bytes, caches[0].ways, caches[0].line_bytes,
             (unsigned long long)caches[1].bytes, caches[1].ways, caches[1].line_bytes);
    enum pcere_status status = PCERE_OK;
    for (uint32_t i = 0; status == PCERE_OK && i < header->event_count; i++) {
        const struct trace_event *event = &header->events[i];
        bool counted = event->backend == TRACE_BACKEND_IR, told = event->backend == TRACE_BACKEND_CACHE;
        if ((counted && event->failed_errno) || (told && event->failed_errno == ENODATA))
            return pcere_fail(error, PCERE_DATA, 0, told ? "compile it with PCERE_COUNT=cache in the environment, and -fpass-plugin=$(pcere version --plugin)"
                                                         : "compile it with PCERE_COUNT=ir in the environment, and -fpass-plugin=$(pcere version --plugin)",
                              "the program was not compiled to count %.40s", event->name);
        size_t length = strlen(event->name);
        const char *unit = length > 6 && strcmp(event->name + length - 6, "-bytes") == 0 ? "bytes" : strstr(event->name, "clock") ? "ns" : "1";
        struct profile_event entry = {.name = (char *)(uintptr_t)event->name, .unit = (char *)(uintptr_t)unit,
                                      .backend = told ? modelled : (char *)(uintptr_t)backends[event->backend <= TRACE_BACKEND_CACHE ? event->backend : 0],
                                      .run = 0, .exact = counted};
        status = profile_add_event(profile, &entry, NULL, error);
    }
    return status;
}

/* ---- constructs --------------------------------------------------------------------------------------------------------------- */

struct constructs { const struct trace_file *file; uint32_t *order, *entries; size_t count; };

static int by_place(const void *a, const void *b, void *context)
{
    const struct constructs *constructs = context;
    const struct trace_construct *left = &constructs->file->constructs[*(const uint32_t *)a], *right = &constructs->file->constructs[*(const uint32_t *)b];
    if (left->line != right->line)
        return left->line < right->line ? -1 : 1;
    if (left->column != right->column)
        return left->column < right->column ? -1 : 1;
    return left->id < right->id ? -1 : left->id > right->id;
}

static enum pcere_status construct_add(struct profile *profile, const struct trace_construct *construct, uint32_t *ret_entry, struct pcere_error *error)
{
    for (size_t i = 0; i < profile->construct_count; i++)
        if (profile->constructs[i].id == construct->id) {
            *ret_entry = (uint32_t)i;
            return PCERE_OK;
        }
    struct text name = {0};
    text_addf(&name, "%s%s%s", construct->function ? construct->function : "", construct->function ? "@" : "", construct->place);
    size_t plain = name.length;
    for (size_t i = 0, again = 1; !name.failed && i < profile->construct_count; i++)
        if (strcmp(profile->constructs[i].name, name.data) == 0) {
            name.length = plain;
            text_addf(&name, "#%zu", ++again);
            i = SIZE_MAX;                        /* from the first again */
        }
    char *words = text_take(&name);
    enum pcere_status status = words ? profile_add_construct(profile, construct->id, words, ret_entry, error) : pcere_fail_memory(error, "a construct's name");
    free(words);
    return status;
}

/* Those that have XUs, in the order of the source, so that names with a number are the same in each run. */
static enum pcere_status constructs_add(struct profile *profile, const struct units *units, struct constructs *constructs, struct pcere_error *error)
{
    constructs->file = units->labels.file;
    size_t all = constructs->file->construct_count;
    constructs->order = calloc(all, sizeof *constructs->order);
    constructs->entries = calloc(all, sizeof *constructs->entries);
    bool *used = calloc(all, sizeof *used);
    if (!constructs->order || !constructs->entries || !used) {
        free(used);
        return pcere_fail_memory(error, "the profile's constructs");
    }
    for (size_t i = 0; i < units->count; i++) {
        uint32_t construct = units->labels.nodes[units->list[i].node].construct;
        used[construct < all ? construct : 0] = true;
    }
    for (uint32_t i = 0; i < all; i++)
        if (used[i])
            constructs->order[constructs->count++] = i;
    free(used);
    qsort_r(constructs->order, constructs->count, sizeof *constructs->order, by_place, constructs);
    enum pcere_status status = PCERE_OK;
    for (size_t i = 0; status == PCERE_OK && i < constructs->count; i++)
        status = construct_add(profile, &constructs->file->constructs[constructs->order[i]], &constructs->entries[constructs->order[i]], error);
    return status;
}

static int by_name(const void *a, const void *b)
{
    const struct profile_name *left = a, *right = b;
    int order = strcmp(left->name, right->name);
    return order ? order : left->id < right->id ? -1 : left->id > right->id;
}

/* What labels call constructs, and the ids that other builds know them by: the plugin's, not those of lines or addresses. */
static enum pcere_status names_add(struct profile *profile, const struct units *units, struct pcere_error *error)
{
    const struct trace_file *file = units->labels.file;
    bool *used = constructs_used(units);
    struct profile_name *names = calloc(file->construct_count + 1, sizeof *names);
    size_t count = 0;
    for (size_t i = 1; used && names && i < file->construct_count; i++)
        if (used[i] && file->constructs[i].kind)
            names[count++] = (struct profile_name){file->constructs[i].place, file->constructs[i].basis == TRACE_BY_ID ? file->constructs[i].id : 0};
    enum pcere_status status = used && names ? PCERE_OK : pcere_fail_memory(error, "the names in labels");
    if (count)
        qsort(names, count, sizeof *names, by_name);
    for (size_t i = 0; i < count && status == PCERE_OK; i++)
        if (!i || by_name(&names[i - 1], &names[i]) != 0)
            status = profile_add_name(profile, names[i].name, names[i].id, error);
    free(used);
    free(names);
    return status;
}

static enum pcere_status nodes_add(struct profile *profile, const struct unit_profile_run *run, struct pcere_error *error)
{
    if (!run->nodes)
        return PCERE_OK;
    profile->nodes = malloc(run->node_count * sizeof *profile->nodes + 1);
    if (!profile->nodes)
        return pcere_fail_memory(error, "the nodes");
    memcpy(profile->nodes, run->nodes, run->node_count * sizeof *profile->nodes);
    profile->node_count = run->node_count;
    return PCERE_OK;
}

/* ---- rows --------------------------------------------------------------------------------------------------------------------- */

static enum pcere_status row_add(struct profile *profile, const struct units *units, size_t number, const struct constructs *constructs, struct text *label,
                                 struct pcere_error *error)
{
    static const enum profile_kind kinds[] = {
        [UNIT_TASK] = PROFILE_TASK, [UNIT_STATIC_RANGE] = PROFILE_STATIC_RANGE, [UNIT_DYNAMIC_CHUNK] = PROFILE_DYNAMIC_CHUNK,
        [UNIT_SECTION] = PROFILE_SECTION, [UNIT_TASKLOOP_CHUNK] = PROFILE_TASKLOOP_CHUNK,
        [UNIT_ITERATION] = PROFILE_ITERATION,
    };
    const struct unit *unit = &units->list[number];
    const struct trace_file *file = units->labels.file;
    uint64_t counts[TRACE_EVENTS_MOST];
    for (size_t i = 0; i < units->event_count; i++) {
        counts[i] = units->counts[number * units->event_count + i];
        counts[i] = below_zero(&file->header->events[i], counts[i]) ? 0 : counts[i];
    }
    uint32_t construct = units->labels.nodes[unit->node].construct;
    label->length = 0;
    label_text(&units->labels, unit->node, label);
    if (label->failed)
        return pcere_fail_memory(error, "a label");
    struct profile_xu row = {
        .label = label->data, .kind = kinds[unit->kind], .construct = constructs->entries[construct < file->construct_count ? construct : 0],
        .thread = unit->thread, .cpu = unit->cpu, .start_ns = trace_ns(file, unit->start_ticks),
        .active_ns = trace_span_ns(file, unit->active_ticks), .counts = units->event_count ? counts : NULL,
    };
    return profile_add_xu(profile, &row, error);
}

enum pcere_status unit_profile_make(const struct units *units, enum label_rules rules, const struct unit_profile_run *run, struct profile **ret_profile,
                                    struct pcere_error *error)
{
    struct profile *profile = profile_new();
    struct constructs constructs = {0};
    struct text label = {0};
    if (!profile)
        return pcere_fail_memory(error, "a profile");
    enum pcere_status status = run_add(profile, units, rules, run, error);
    if (status == PCERE_OK)
        status = events_add(profile, units->labels.file->header, error);
    if (status == PCERE_OK)
        status = constructs_add(profile, units, &constructs, error);
    if (status == PCERE_OK)
        status = names_add(profile, units, error);
    if (status == PCERE_OK)
        status = nodes_add(profile, run, error);
    if (status == PCERE_OK)
        status = profile_reserve(profile, units->count, error);
    for (size_t i = 0; status == PCERE_OK && i < units->count; i++)
        status = row_add(profile, units, i, &constructs, &label, error);
    if (status == PCERE_OK)
        status = profile_sort(profile, error);
    text_done(&label);
    free(constructs.order);
    free(constructs.entries);
    if (status != PCERE_OK) {
        profile_free(profile);
        return status;
    }
    *ret_profile = profile;
    return PCERE_OK;
}
