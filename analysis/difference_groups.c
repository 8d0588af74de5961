/* analysis/difference_groups.c - see difference_groups.h. */
#include "analysis/difference_groups.h"

#include <stdlib.h>
#include <string.h>

#define UNKNOWN UINT32_MAX

static uint32_t key_of(const struct profile *profile, size_t row, enum difference_by by)
{
    uint32_t cpu = profile->cpu[row];
    switch (by) {
    case DIFFERENCE_BY_CONSTRUCT: return profile->construct[row];
    case DIFFERENCE_BY_THREAD: return profile->thread[row];
    case DIFFERENCE_BY_CPU: return cpu;
    default: return profile->nodes && cpu < profile->node_count ? profile->nodes[cpu] : UNKNOWN;
    }
}

static const struct profile_construct *construct_of(const struct profile *profile, uint64_t id)
{
    for (size_t i = 0; i < profile->construct_count; i++)
        if (profile->constructs[i].id == id)
            return &profile->constructs[i];
    return NULL;
}

/* What A calls B's construct; a name that is another one's in A, which B has, too, is marked. */
static char *name_in_a(const struct profile *a, const struct profile *b, const struct profile_construct *construct)
{
    const struct profile_construct *same = construct_of(a, construct->id);
    char *name = NULL;
    if (same)
        return strdup(same->name);
    for (size_t i = 0; i < a->construct_count; i++)
        if (strcmp(a->constructs[i].name, construct->name) == 0 && construct_of(b, a->constructs[i].id))
            return asprintf(&name, "%s (B)", construct->name) < 0 ? NULL : name;
    return strdup(construct->name);
}

/* `names`: whose names constructs have, or NULL: the profile's own. */
static char *key_name(const struct profile *profile, const struct profile *names, uint32_t key, enum difference_by by)
{
    static const char *const words[] = {"", "thread", "processor", "node"};
    char *name = NULL;
    if (key == UNKNOWN)
        return strdup("unknown");
    if (by == DIFFERENCE_BY_CONSTRUCT && names)
        return name_in_a(names, profile, &profile->constructs[key]);
    if (by == DIFFERENCE_BY_CONSTRUCT)
        return strdup(profile->constructs[key].name);
    return asprintf(&name, "%s %u", words[by], key) < 0 ? NULL : name;
}

static struct difference_group *group_find(struct difference *difference, const char *name, size_t near)
{
    if (near < difference->group_count && strcmp(difference->groups[near].name, name) == 0)
        return &difference->groups[near];
    for (size_t i = 0; i < difference->group_count; i++)
        if (strcmp(difference->groups[i].name, name) == 0)
            return &difference->groups[i];
    return NULL;
}

/* The group's index in *ret_group. `name` becomes the group's or is freed. */
static enum pcere_status group_get(struct difference *difference, char *name, size_t *ret_group, struct pcere_error *error)
{
    struct difference_group *group = name ? group_find(difference, name, SIZE_MAX) : NULL;
    if (group) {
        free(name);
        *ret_group = (size_t)(group - difference->groups);
        return PCERE_OK;
    }
    struct difference_group *groups = name ? realloc(difference->groups, (difference->group_count + 1) * sizeof *groups) : NULL;
    if (!groups) {
        free(name);
        return pcere_fail_memory(error, "the groups");
    }
    difference->groups = groups;
    group = &groups[difference->group_count];
    *group = (struct difference_group){
        .name = name, .a_sums = calloc(difference->event_count + 1, sizeof(double)), .b_sums = calloc(difference->event_count + 1, sizeof(double)),
    };
    *ret_group = difference->group_count++;
    return group->a_sums && group->b_sums ? PCERE_OK : pcere_fail_memory(error, "the groups");
}

struct key_map { uint32_t key; size_t group; };

static enum pcere_status map_get(struct key_map **map, size_t *count, const struct profile *profile, const struct profile *names, uint32_t key,
                                 enum difference_by by, struct difference *difference, size_t *ret_group, struct pcere_error *error)
{
    for (size_t i = *count; i-- > 0;)
        if ((*map)[i].key == key) {
            *ret_group = (*map)[i].group;
            return PCERE_OK;
        }
    struct key_map *grown = realloc(*map, (*count + 1) * sizeof *grown);
    if (!grown)
        return pcere_fail_memory(error, "the groups");
    *map = grown;
    enum pcere_status status = group_get(difference, key_name(profile, names, key, by), ret_group, error);
    grown[(*count)++] = (struct key_map){key, *ret_group};
    return status;
}

static enum pcere_status profile_add(const struct profile *profile, const struct profile *names, bool is_a, double share, enum difference_by by, struct difference *difference,
                                     struct pcere_error *error)
{
    struct key_map *map = NULL;
    size_t count = 0, group = 0;
    uint32_t before = 0;
    enum pcere_status status = PCERE_OK;
    size_t *own = calloc(difference->event_count + 1, sizeof *own);
    if (!own)
        return pcere_fail_memory(error, "the groups");
    for (size_t i = 0; i < difference->event_count; i++)
        own[i] = profile_event_find(profile, difference->events[i].name);
    for (size_t row = 0; row < profile->count && status == PCERE_OK; row++) {
        uint32_t key = key_of(profile, row, by);
        if (!row || key != before)
            status = map_get(&map, &count, profile, names, key, by, difference, &group, error);
        before = key;
        if (status != PCERE_OK)
            break;
        struct difference_group *to = &difference->groups[group];
        *(is_a ? &to->a_xus : &to->b_xus) += share;
        for (size_t i = 0; i < difference->event_count; i++)
            (is_a ? to->a_sums : to->b_sums)[i] += share * (double)profile->counts[own[i]][row];
    }
    free(own);
    free(map);
    return status;
}

static int by_size(const void *a, const void *b)
{
    const struct difference_group *x = a, *y = b;
    double left = x->a_sums[0] > x->b_sums[0] ? x->a_sums[0] : x->b_sums[0], right = y->a_sums[0] > y->b_sums[0] ? y->a_sums[0] : y->b_sums[0];
    return left > right ? -1 : left < right ? 1 : strcmp(x->name, y->name);
}

enum pcere_status difference_groups_make(const struct difference_side *a, const struct difference_side *b, enum difference_by by,
                                         struct difference *difference, struct pcere_error *error)
{
    enum pcere_status status = PCERE_OK;
    for (size_t i = 0; i < a->count && status == PCERE_OK; i++)
        status = profile_add(a->profiles[i], NULL, true, 1.0 / (double)a->count, by, difference, error);
    for (size_t i = 0; i < b->count && status == PCERE_OK; i++)
        status = profile_add(b->profiles[i], difference->by_ids ? a->profiles[0] : NULL, false, 1.0 / (double)b->count, by, difference, error);
    if (status == PCERE_OK && difference->group_count)
        qsort(difference->groups, difference->group_count, sizeof *difference->groups, by_size);
    return status;
}
