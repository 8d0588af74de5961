/* analysis/profile_part.c - selecting rows by how their labels begin. */
#include "analysis/profile_part.h"

#include "core/text.h"

#include <stdlib.h>
#include <string.h>

/* Length of the label's beginning that ends in an element of `place`, or 0. */
static size_t instance_length(const char *label, const char *place)
{
    size_t length = strlen(place);
    for (const char *at = strchr(label, '@'); at; at = strchr(at + 1, '@'))
        if (strncmp(at + 1, place, length) == 0 && (at[1 + length] == '.' || at[1 + length] == '\0'))
            return (size_t)(at + 1 - label) + length;
    return 0;
}

/* A place may have a dot itself: "cg.c:405". What follows an instance is an element, which begins with a dot and a number. */
static bool lies_under(const char *text, const char *label, size_t length)
{
    return strncmp(text, label, length) == 0 && (text[length] == '\0' || text[length] == '.');
}

static enum pcere_status texts_require(const struct profile *profile, struct pcere_error *error)
{
    return profile->text_at || !profile->count
               ? PCERE_OK
               : pcere_fail(error, PCERE_DATA, 0, "a profile that pcere wrote has the texts of labels", "the profile has hashes of labels only");
}

static int by_label(const void *a, const void *b)
{
    const char *const *left = a, *const *right = b;
    return profile_label_compare(*left, *right);
}

static bool instance_add(struct profile_instances *instances, size_t *capacity, const char *label, size_t length)
{
    if (instances->count && strncmp(instances->labels[instances->count - 1], label, length) == 0 && !instances->labels[instances->count - 1][length])
        return true;
    if (!array_reserve(&instances->labels, capacity, instances->count + 1, sizeof *instances->labels))
        return false;
    char *copy = strndup(label, length);
    if (copy)
        instances->labels[instances->count++] = copy;
    return copy != NULL;
}

enum pcere_status profile_instances_find(const struct profile *profile, const char *place, struct profile_instances *ret_instances, struct pcere_error *error)
{
    struct profile_instances instances = {0};
    size_t capacity = 0;
    enum pcere_status status = texts_require(profile, error);
    for (size_t row = 0; status == PCERE_OK && row < profile->count; row++) {
        char digits[33];
        const char *text = profile_label_text(profile, row, digits);
        size_t length = instance_length(text, place);
        if (length && !instance_add(&instances, &capacity, text, length))
            status = pcere_fail_memory(error, "labels");
    }
    if (status != PCERE_OK) {
        profile_instances_done(&instances);
        return status;
    }
    if (instances.count)
        qsort(instances.labels, instances.count, sizeof *instances.labels, by_label);
    size_t kept = 0;
    for (size_t i = 0; i < instances.count; i++)
        if (kept && strcmp(instances.labels[kept - 1], instances.labels[i]) == 0)
            free(instances.labels[i]);
        else
            instances.labels[kept++] = instances.labels[i];
    instances.count = kept;
    *ret_instances = instances;
    return PCERE_OK;
}

void profile_instances_done(struct profile_instances *instances)
{
    for (size_t i = 0; i < instances->count; i++)
        free(instances->labels[i]);
    free(instances->labels);
    *instances = (struct profile_instances){0};
}

static const struct profile_event active_time = {
    .name = (char *)(uintptr_t)PROFILE_ACTIVE_TIME, .unit = (char *)(uintptr_t)"ns", .backend = (char *)(uintptr_t)"time",
};

enum pcere_status profile_active_time_add(struct profile *profile, struct pcere_error *error)
{
    uint32_t event;
    size_t capacity = profile->capacity, segments = profile->segments.capacity;
    if (profile_event_find(profile, PROFILE_ACTIVE_TIME) < profile->event_count)
        return PCERE_OK;
    profile->capacity = 0;                           /* events come before XUs, but for this one */
    enum pcere_status status = profile_add_event(profile, &active_time, &event, error);
    profile->capacity = capacity;
    if (status != PCERE_OK)
        return status;
    uint64_t *counts = profile->counts[event] = malloc(capacity * sizeof *counts + 1);
    uint64_t *parts = profile->segments.counts[event] = malloc(segments * sizeof *parts + 1);
    if (!counts || !parts)
        return pcere_fail_memory(error, "the active times");
    if (profile->count)
        memcpy(counts, profile->active_ns, profile->count * sizeof *counts);
    if (profile->segments.count)
        memcpy(parts, profile->segments.active_ns, profile->segments.count * sizeof *parts);
    return PCERE_OK;
}

static enum pcere_status tables_copy(struct profile *part, const struct profile *profile, const struct profile_run *as, uint64_t count,
                                     struct pcere_error *error)
{
    enum pcere_status status = PCERE_OK;
    for (size_t i = 0; status == PCERE_OK && i < (as ? 1 : profile->run_count); i++) {
        struct profile_run run = as ? *as : profile->runs[i];
        run.xus = count;
        status = profile_add_run(part, &run, NULL, error);
    }
    for (size_t i = 0; status == PCERE_OK && i < profile->event_count; i++) {
        struct profile_event event = profile->events[i];
        event.run = as ? 0 : event.run;
        status = profile_add_event(part, &event, NULL, error);
    }
    if (status == PCERE_OK)
        status = profile_add_event(part, &active_time, NULL, error);
    for (size_t i = 0; status == PCERE_OK && i < profile->construct_count; i++)
        status = profile_add_construct(part, profile->constructs[i].id, profile->constructs[i].name, NULL, error);
    return status == PCERE_OK ? profile_names_copy(part, profile, error) : status;
}

static enum pcere_status row_copy(struct profile *part, const struct profile *profile, size_t row, uint64_t *counts, struct pcere_error *error)
{
    char digits[33];
    for (size_t i = 0; i < profile->event_count; i++)
        counts[i] = profile->counts[i][row];
    counts[profile->event_count] = profile->active_ns[row];
    const struct profile_xu xu = {
        .label = profile_label_text(profile, row, digits), .kind = profile->kinds[row], .construct = profile->construct[row], .thread = profile->thread[row],
        .cpu = profile->cpu[row], .start_ns = profile->start_ns[row], .active_ns = profile->active_ns[row], .counts = counts,
    };
    return profile_add_xu(part, &xu, error);
}

enum pcere_status profile_part(const struct profile *profile, const char *label, const struct profile_run *as, struct profile **ret_part,
                               struct pcere_error *error)
{
    enum pcere_status status = texts_require(profile, error);
    if (status != PCERE_OK)
        return status;
    struct profile *part = profile_new();
    uint64_t *counts = calloc(profile->event_count + 1, sizeof *counts);
    bool *chosen = calloc(profile->count + 1, sizeof *chosen);
    size_t length = strlen(label);
    uint64_t count = 0;
    if (!part || !counts || !chosen)
        status = pcere_fail_memory(error, "a part of a profile");
    for (size_t row = 0; status == PCERE_OK && row < profile->count; row++) {
        char digits[33];
        chosen[row] = lies_under(profile_label_text(profile, row, digits), label, length);
        count += chosen[row];
    }
    if (status == PCERE_OK)
        status = tables_copy(part, profile, as, count, error);
    for (size_t row = 0; status == PCERE_OK && row < profile->count; row++)
        if (chosen[row])
            status = row_copy(part, profile, row, counts, error);
    if (status == PCERE_OK)
        status = profile_sort(part, error);
    free(counts);
    free(chosen);
    if (status != PCERE_OK)
        profile_free(part);
    else
        *ret_part = part;
    return status;
}
