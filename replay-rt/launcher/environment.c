/* replay-rt/launcher/environment.c - OpenMP settings of a codelet's process. */
#include "replay-rt/launcher/replay_session.h"

#include "replay-rt/launcher/command.h"
#include "replay-rt/launcher/place_list.h"

#include <stdlib.h>
#include <string.h>

static bool is_one_of(const char *word, size_t length, const char *const *words)
{
    for (; *words; words++)
        if (strlen(*words) == length && !strncasecmp(word, *words, length))
            return true;
    return false;
}

enum pcere_status environment_schedule_check(const char *option, const char *schedule, struct pcere_error *error)
{
    static const char *const kinds[] = {"static", "dynamic", "guided", "auto", NULL};
    size_t length = strcspn(schedule, ",");
    const char *chunk = schedule[length] ? schedule + length + 1 : NULL;
    bool good = is_one_of(schedule, length, kinds);
    if (good && chunk)
        good = *chunk && strlen(chunk) < 10 && strspn(chunk, "0123456789") == strlen(chunk) && strtoul(chunk, NULL, 10) > 0;
    if (!good)
        return pcere_fail(error, PCERE_USAGE, 0, "static, dynamic, guided or auto, with a chunk size after a comma if wanted",
                          "%s '%s': there is no such schedule", option, schedule);
    return PCERE_OK;
}

enum pcere_status environment_bind_check(const char *option, const char *bind, struct pcere_error *error)
{
    static const char *const binds[] = {"true", "false", "close", "spread", "primary", "master", NULL};
    for (const char *at = bind; *at;) {
        size_t length = strcspn(at, ",");
        if (!is_one_of(at, length, binds))
            return pcere_fail(error, PCERE_USAGE, 0, "true, false, close, spread or primary", "%s '%s': there is no such binding", option, bind);
        at += length + (at[length] == ',');
    }
    return PCERE_OK;
}

enum pcere_status environment_check(const struct replay_options *options, struct pcere_error *error)
{
    enum pcere_status status = options->schedule ? environment_schedule_check("--schedule", options->schedule, error) : PCERE_OK;
    if (status == PCERE_OK && options->bind)
        status = environment_bind_check("--bind", options->bind, error);
    if (status != PCERE_OK)
        return status;
    enum place_list_kind places = options->places ? place_list_read(options->places) : PLACE_LIST_GOOD;
    if (places == PLACE_LIST_WRONG)
        return pcere_fail(error, PCERE_USAGE, 0, "cores, threads, sockets, or a list as in OMP_PLACES", "--places '%s': there are no such places", options->places);
    if (places == PLACE_LIST_ELSEWHERE)
        return pcere_fail(error, PCERE_REFUSED, 0, "name others: nproc tells how many there are", "--places '%s': none of these processors is here, or open to this process", options->places);
    return PCERE_OK;
}

static bool begins(const char *variable, const char *name)
{
    size_t length = strlen(name);
    return !strncmp(variable, name, length) && variable[length] == '=';
}

/* What makes the OpenMP runtime talk: the program's own runs have said it. */
static bool only_talks(const char *variable)
{
    static const char *const names[] = {"OMP_DISPLAY_ENV", "OMP_DISPLAY_AFFINITY", "KMP_SETTINGS", "KMP_VERSION", "KMP_WARNINGS"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (begins(variable, names[i]))
            return true;
    return false;
}

static bool is_affinity(const char *variable)
{
    return begins(variable, "KMP_AFFINITY") || begins(variable, "GOMP_CPU_AFFINITY");
}

bool environment_binds(const struct store_manifest *manifest, const struct replay_options *options)
{
    bool binds = options->places != NULL;
    for (char **variable = manifest->environment; variable && *variable; variable++)
        binds |= begins(*variable, "OMP_PLACES") || begins(*variable, "OMP_PROC_BIND") || is_affinity(*variable);
    return binds && !options->bind;
}

bool environment_places_ours(const struct store_manifest *manifest, const struct replay_options *options)
{
    bool theirs = false;
    for (char **variable = manifest->environment; variable && *variable; variable++)
        theirs |= is_affinity(*variable) || (begins(*variable, "OMP_PLACES") && strcmp(*variable, STORE_OWN_PLACES) != 0) ||
                  (begins(*variable, "OMP_PROC_BIND") && strcmp(*variable, STORE_OWN_BIND) != 0);
    return !theirs || options->places || options->bind;
}

enum pcere_status environment_make(const struct store_manifest *manifest, const struct replay_options *options, const char *libraries,
                                   uint32_t threads, char ***ret_environment, struct pcere_error *error)
{
    struct arguments list = {0};
    bool places = options->places, bind = options->bind;
    const char *inner = "";                   /* of the capture's OMP_NUM_THREADS: for regions inside regions */
    const char *library_path = NULL;          /* of the capture: "LD_LIBRARY_PATH=..." */
    for (char **variable = manifest->environment; variable && *variable; variable++)
        if (begins(*variable, "OMP_NUM_THREADS") && strchr(*variable, ','))
            inner = strchr(*variable, ',');
    arguments_addf(&list, "OMP_NUM_THREADS=%u%s", threads, inner);
    arguments_add(&list, "KMP_WARNINGS=false");
    arguments_add(&list, "OMP_TOOL=disabled");      /* the program's own tool would be called where it lies in captured memory, before that is there */
    for (char **variable = manifest->environment; variable && *variable; variable++) {
        bool affinity = is_affinity(*variable);
        if (begins(*variable, "LD_LIBRARY_PATH"))
            library_path = strchr(*variable, '=') + 1;
        if (only_talks(*variable) || begins(*variable, "LD_LIBRARY_PATH") || begins(*variable, "OMP_NUM_THREADS") || begins(*variable, "LD_PRELOAD")
            || begins(*variable, "OMP_TOOL") || begins(*variable, "OMP_TOOL_LIBRARIES")
            || (options->schedule && begins(*variable, "OMP_SCHEDULE")) || (options->places && begins(*variable, "OMP_PLACES"))
            || (options->bind && begins(*variable, "OMP_PROC_BIND")) || ((options->places || options->bind) && affinity))
            continue;
        places |= begins(*variable, "OMP_PLACES") || affinity;
        bind |= begins(*variable, "OMP_PROC_BIND") || affinity;
        arguments_add(&list, *variable);
    }
    if (libraries || library_path)
        arguments_addf(&list, "LD_LIBRARY_PATH=%s%s%s", libraries ? libraries : "", libraries && library_path ? ":" : "",
                       library_path ? library_path : "");
    if (options->schedule)
        arguments_addf(&list, "OMP_SCHEDULE=%s", options->schedule);
    if (options->places)
        arguments_addf(&list, "OMP_PLACES=%s", options->places);
    if (options->bind)
        arguments_addf(&list, "OMP_PROC_BIND=%s", options->bind);
    if (!places && !bind) {
        arguments_add(&list, STORE_OWN_PLACES);
        arguments_add(&list, STORE_OWN_BIND);
    }
    if (list.failed) {
        arguments_done(&list);
        return pcere_fail_memory(error, "an environment");
    }
    *ret_environment = list.items;
    return PCERE_OK;
}

/* All that have the name of `other`; how many are left. */
static size_t variable_drop(char **environment, const char *other)
{
    size_t length = strcspn(other, "=") + 1, kept = 0;
    for (size_t i = 0; environment[i]; i++)
        if (strncmp(environment[i], other, length))
            environment[kept++] = environment[i];
        else
            free(environment[i]);
    environment[kept] = NULL;
    return kept;
}

enum pcere_status environment_extend(char ***environment, char *const *more, struct pcere_error *error)
{
    size_t count = 0, added = 0;
    while ((*environment)[count])
        count++;
    while (more[added])
        added++;
    for (size_t i = 0; i < added; i++)
        count = variable_drop(*environment, more[i]);
    char **list = realloc(*environment, (count + added + 1) * sizeof *list);
    if (!list)
        return pcere_fail_memory(error, "an environment");
    *environment = list;
    for (size_t i = 0; i < added; i++) {
        list[count + i] = strdup(more[i]);
        list[count + i + 1] = NULL;
        if (!list[count + i])
            return pcere_fail_memory(error, "an environment");
    }
    return PCERE_OK;
}

void environment_free(char **environment)
{
    for (char **variable = environment; variable && *variable; variable++)
        free(*variable);
    free(environment);
}
