/* replay-rt/launcher/select.c - which captured regions a user means. */
#include "replay-rt/launcher/replay.h"

#include "core/text.h"
#include "predictor/measured.h"
#include "replay-rt/launcher/policy.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

static enum pcere_status fail_ambiguous(const struct store_manifest *manifest, const char *pattern, struct pcere_error *error)
{
    struct text names = {0};
    for (size_t i = 0; i < manifest->region_count; i++)
        if (strstr(manifest->regions[i].name, pattern))
            text_addf(&names, "%s%s", names.length ? ", " : "", manifest->regions[i].name);
    pcere_fail(error, PCERE_USAGE, 0, "give more of the name, or a pattern such as '*'", "'%.80s' may be any of %.400s", pattern,
               names.data ? names.data : "");
    text_done(&names);
    return PCERE_USAGE;
}

/* FUNCTION of "FUNCTION@FILE:LINE" */
static bool is_function_of(const char *pattern, const char *name)
{
    size_t length = strlen(pattern);
    return !strncmp(name, pattern, length) && name[length] == '@';
}

/* Mark the regions that one pattern names: a whole name, else what is like it, else a function that has but one region, else part of one name. */
static enum pcere_status pattern_mark(const struct store_manifest *manifest, const char *pattern, bool *marks,
                                      struct pcere_error *error)
{
    size_t found = 0, last = 0, parts = 0, function = 0, functions = 0;
    for (size_t i = 0; i < manifest->region_count; i++) {
        const char *name = manifest->regions[i].name;
        if (!strcmp(name, pattern)) {
            marks[i] = true;
            return PCERE_OK;
        }
        if (strpbrk(pattern, "*?[") && !fnmatch(pattern, name, 0)) {
            marks[i] = true;
            found++;
        } else if (strstr(name, pattern)) {
            last = i;
            parts++;
            if (is_function_of(pattern, name)) {
                function = i;
                functions++;
            }
        }
    }
    if (found)
        return PCERE_OK;
    if (parts > 1 && functions != 1)
        return fail_ambiguous(manifest, pattern, error);
    if (!parts)
        return pcere_fail(error, PCERE_USAGE, 0, "pcere regions lists them", "the store has no region '%s'", pattern);
    marks[functions == 1 ? function : last] = true;
    return PCERE_OK;
}

static enum pcere_status fail_nothing(const struct store_manifest *manifest, const bool *marks, struct pcere_error *error)
{
    for (size_t i = 0; i < manifest->region_count; i++) {
        const struct store_region *region = &manifest->regions[i];
        const char *reason = region->reason;
        for (size_t j = 0; !reason && j < region->class_count; j++)
            reason = region->classes[j].reason;
        if (marks[i] && reason)
            return pcere_fail(error, PCERE_DATA, 0, "pcere regions lists what was captured", "region '%s' has not been captured: %s",
                              region->name, reason);
    }
    return pcere_fail(error, PCERE_DATA, 0, "pcere regions lists what was captured", "no region has been captured");
}

enum pcere_status replay_select(const struct store *store, const char *const *patterns, size_t pattern_count,
                                struct replay_target **ret_targets, size_t *ret_count, struct pcere_error *error)
{
    const struct store_manifest *manifest = store_manifest(store);
    size_t count = 0, capacity = 0;
    struct replay_target *targets = NULL;
    bool *marks = calloc(manifest->region_count ? manifest->region_count : 1, sizeof *marks);
    enum pcere_status status = marks ? PCERE_OK : pcere_fail_memory(error, "the list of regions");
    for (size_t i = 0; !status && i < pattern_count; i++)
        status = pattern_mark(manifest, patterns[i], marks, error);
    for (size_t i = 0; !status && !pattern_count && i < manifest->region_count; i++)
        marks[i] = true;
    for (size_t i = 0; !status && i < manifest->region_count; i++)
        for (size_t j = 0; !status && marks[i] && j < manifest->regions[i].class_count; j++) {
            const struct store_class *class = &manifest->regions[i].classes[j];
            if (!class->captured || !class->codelet)
                continue;
            if (array_reserve(&targets, &capacity, count + 1, sizeof *targets))
                targets[count++] = (struct replay_target){&manifest->regions[i], class};
            else
                status = pcere_fail_memory(error, "the list of regions");
        }
    if (!status && !count)
        status = fail_nothing(manifest, marks, error);
    free(marks);
    if (status) {
        free(targets);
        return status;
    }
    *ret_targets = targets;
    *ret_count = count;
    return PCERE_OK;
}

enum pcere_status replay_check_warmup(const char *warmup, struct pcere_error *error)
{
    struct policy policy;
    return policy_choose(warmup, 0, &(struct policy_subject){1, 1, 1}, &policy, error);
}

size_t replay_split_light(const struct store *store, struct replay_target *targets, size_t count)
{
    struct replay_target *light = calloc(count + 1, sizeof *light);
    size_t kept = 0, light_count = 0;
    for (size_t i = 0; light && i < count; i++)
        if (measured_is_light(store_manifest(store), targets[i].class))
            light[light_count++] = targets[i];
        else
            targets[kept++] = targets[i];
    for (size_t i = 0; light && i < light_count; i++)
        targets[kept + i] = light[i];
    free(light);
    return kept ? kept : count;
}
