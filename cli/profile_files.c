/* cli/profile_files.c - see profile_files.h. */
#include "cli/profile_files.h"
#include "core/workers.h"
#include "cli/cli.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void profile_files_done(struct profile_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        profile_free(files->profiles[i]);
        free(files->names[i]);
    }
    free(files->profiles);
    free(files->names);
    *files = (struct profile_files){0};
}

struct reading {
    const struct profile_files *files;
    enum pcere_status *statuses;
    struct pcere_error *errors;
    atomic_size_t next;
};

static void *files_read(void *raw)
{
    struct reading *reading = raw;
    for (size_t i; (i = atomic_fetch_add(&reading->next, 1)) < reading->files->count;)
        reading->statuses[i] = profile_read(reading->files->names[i], &reading->files->profiles[i], &reading->errors[i]);
    return NULL;
}

/* Of several files that cannot be read, the first one is told. */
static enum pcere_status reading_run(const struct profile_files *files, struct pcere_error *error)
{
    struct reading reading = {
        .files = files, .statuses = calloc(files->count + 1, sizeof *reading.statuses), .errors = calloc(files->count + 1, sizeof *reading.errors),
    };
    enum pcere_status status = reading.statuses && reading.errors ? PCERE_OK : pcere_fail_memory(error, "profiles");
    if (status == PCERE_OK) {
        workers_run(files_read, &reading, files->count);
        size_t failed = 0;
        while (failed < files->count && reading.statuses[failed] == PCERE_OK)
            failed++;
        if (failed < files->count) {
            status = reading.statuses[failed];
            *error = reading.errors[failed];
        }
    }
    free(reading.statuses);
    free(reading.errors);
    return status;
}

enum pcere_status profile_files_read(char *const *names, size_t count, struct profile_files *ret_files, struct pcere_error *error)
{
    struct profile_files files = {.profiles = calloc(count + 1, sizeof *files.profiles), .names = calloc(count + 1, sizeof *files.names)};
    enum pcere_status status = files.profiles && files.names ? PCERE_OK : pcere_fail_memory(error, "the names of profiles");
    for (size_t i = 0; i < count && status == PCERE_OK; i++) {
        files.count = i + 1;
        files.names[i] = strdup(names[i]);
        status = files.names[i] ? PCERE_OK : pcere_fail_memory(error, "the names of profiles");
    }
    if (status == PCERE_OK)
        status = reading_run(&files, error);
    if (status != PCERE_OK) {
        profile_files_done(&files);
        return status;
    }
    *ret_files = files;
    return PCERE_OK;
}

enum pcere_status profile_files_read_list(const char *list, struct profile_files *ret_files, struct pcere_error *error)
{
    char *words = strdup(list), **names = calloc(strlen(list) + 2, sizeof *names);
    size_t count = 0;
    enum pcere_status status = words && names ? PCERE_OK : pcere_fail_memory(error, "the names of profiles");
    if (status == PCERE_OK && access(list, F_OK) == 0)
        names[count++] = words;
    else
        for (char *rest = words, *name; status == PCERE_OK && (name = strsep(&rest, ","));)
            names[count++] = name;
    if (status == PCERE_OK)
        status = profile_files_read(names, count, ret_files, error);
    free(names);
    free(words);
    return status;
}

enum pcere_status profile_event_require(const struct profile *profile, const char *name, size_t *ret_event, struct pcere_error *error)
{
    size_t event = profile_event_find(profile, name);
    if (event < profile->event_count) {
        *ret_event = event;
        return PCERE_OK;
    }
    const char **names = calloc(profile->event_count + 1, sizeof *names);
    for (size_t i = 0; names && i < profile->event_count; i++)
        names[i] = profile->events[i].name;
    const char *nearest = names ? cli_nearest(name, names, profile->event_count) : NULL;
    char hint[160] = "";
    if (nearest)
        snprintf(hint, sizeof hint, "did you mean %.100s?", nearest);
    else if (profile->event_count)
        snprintf(hint, sizeof hint, "'%.100s' is one that was", profile->events[0].name);
    free(names);
    return pcere_fail(error, PCERE_USAGE, 0, hint[0] ? hint : "it has no events at all", "the event '%.100s' was not measured", name);
}
