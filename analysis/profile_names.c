/* analysis/profile_names.c - see profile.h: the names of constructs that occur in labels, and the ids that other builds know them by. */
#include "analysis/profile.h"

#include <stdlib.h>
#include <string.h>

/* In the order of names, those without an id first. */
static bool is_behind(const struct profile_name *before, const char *name, uint64_t id)
{
    int order = strcmp(before->name, name);
    return order < 0 || (order == 0 && before->id < id);
}

enum pcere_status profile_add_name(struct profile *profile, const char *name, uint64_t id, struct pcere_error *error)
{
    if (!*name || strchr(name, '@'))
        return pcere_fail(error, PCERE_USAGE, 0, NULL, "a construct has no such name in labels: '%.80s'", name);
    if (profile->name_count >= PROFILE_CONSTRUCTS_MOST)
        return pcere_fail(error, PCERE_USAGE, 0, NULL, "labels have at most %zu constructs", PROFILE_CONSTRUCTS_MOST);
    if (profile->name_count && !is_behind(&profile->names[profile->name_count - 1], name, id))
        return pcere_fail(error, PCERE_USAGE, 0, NULL, "the names in labels are not in order: '%.80s' comes behind '%.80s'", name,
                          profile->names[profile->name_count - 1].name);
    struct profile_name *names = realloc(profile->names, (profile->name_count + 1) * sizeof *names);
    profile->names = names ? names : profile->names;
    char *copy = names ? strdup(name) : NULL;
    if (!copy)
        return pcere_fail_memory(error, "the names in labels");
    names[profile->name_count++] = (struct profile_name){.name = copy, .id = id};
    return PCERE_OK;
}

enum pcere_status profile_names_copy(struct profile *profile, const struct profile *from, struct pcere_error *error)
{
    enum pcere_status status = PCERE_OK;
    for (size_t i = 0; i < from->name_count && status == PCERE_OK; i++)
        status = profile_add_name(profile, from->names[i].name, from->names[i].id, error);
    return status;
}
