/* analysis/profile_check.c - see profile.h: what must hold in a profile, and which profiles belong together. */
#include "analysis/profile.h"

#include "core/text.h"

#include <stdlib.h>
#include <string.h>

static enum pcere_status broken(const char *where, const char *what, struct pcere_error *error)
{
    return pcere_fail(error, PCERE_DATA, 0, "measure the profile again, or copy it again from where it came", "%s is damaged: %s", where, what);
}

static enum pcere_status tables_check(const struct profile *profile, const char *where, struct pcere_error *error)
{
    if (!profile->run_count || profile->run_count > PROFILE_RUNS_MOST)
        return broken(where, "it names no run", error);
    for (size_t i = 0; i < profile->event_count; i++) {
        if (profile->events[i].run >= profile->run_count)
            return broken(where, "an event is of a run that is not there", error);
        if (!profile->low[i] != !profile->high[i])
            return broken(where, "an interval has one end", error);
    }
    for (size_t i = 0; i < profile->dropped_count; i++)
        if (profile->dropped[i].run >= profile->run_count || profile->dropped[i].construct >= profile->construct_count ||
            (unsigned)profile->dropped[i].kind >= PROFILE_KIND_COUNT)
            return broken(where, "what was dropped is of no type or run", error);
    return PCERE_OK;
}

static enum pcere_status segments_check(const struct profile *profile, const char *where, struct pcere_error *error)
{
    for (size_t i = 0; i < profile->segments.count; i++) {
        if (profile->segments.xu[i] >= profile->count)
            return broken(where, "a segment is of an XU that is not there", error);
        if (profile->segments.begin_ns[i] > UINT64_MAX - profile->segments.active_ns[i])
            return broken(where, "a segment ends after all time", error);
    }
    return PCERE_OK;
}

enum pcere_status profile_check(const struct profile *profile, const char *where, struct pcere_error *error)
{
    enum pcere_status status = tables_check(profile, where, error);
    if (status != PCERE_OK)
        return status;
    for (size_t i = 0; i < profile->count; i++) {
        if (profile->construct[i] >= profile->construct_count || profile->kinds[i] >= PROFILE_KIND_COUNT)
            return broken(where, "an XU is of a construct or kind that is not there", error);
        if (profile->start_ns[i] > UINT64_MAX - profile->active_ns[i])
            return broken(where, "an XU ends after all time", error);
        if (profile->text_at && profile->text_at[i] >= profile->texts_bytes)
            return broken(where, "a label lies outside of the labels", error);
        if (profile->in_label_order && i && profile_row_compare(profile, i - 1, i) > 0)
            return broken(where, "labels are not in order", error);
    }
    for (size_t event = 0; event < profile->event_count; event++)
        for (size_t i = 0; profile->low[event] && i < profile->count; i++)
            if (profile->low[event][i] > profile->counts[event][i] || profile->high[event][i] < profile->counts[event][i])
                return broken(where, "a count lies outside of its interval", error);
    return segments_check(profile, where, error);
}

#define HINT_SAME "combine profiles of the same program, arguments, threads and OMP_ and KMP_ settings; profile it again where one differs"

static enum pcere_status lists_same(char *const *a, size_t a_count, const char *a_name, char *const *b, size_t b_count, const char *b_name,
                                    const char *what, struct pcere_error *error)
{
    for (size_t i = 0; i < a_count || i < b_count; i++) {
        const char *x = i < a_count ? a[i] : NULL, *y = i < b_count ? b[i] : NULL;
        if (!x || !y || strcmp(x, y) != 0)
            return pcere_fail(error, PCERE_DATA, 0, HINT_SAME, "%.80s and %.80s differ in their %s: %s%.60s%s and %s%.60s%s", a_name, b_name, what,
                              x ? "'" : "", x ? x : "none", x ? "'" : "", y ? "'" : "", y ? y : "none", y ? "'" : "");
    }
    return PCERE_OK;
}

/* What iteration-exact labels do not depend on. */
static bool is_of_schedule(const char *setting)
{
    static const char *const names[] = {"OMP_NUM_THREADS=", "OMP_SCHEDULE=", "OMP_NUM_TEAMS=", "OMP_TEAMS_THREAD_LIMIT=", "OMP_THREAD_LIMIT="};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(setting, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static enum pcere_status settings_same(const struct profile_run *a, const char *a_name, const struct profile_run *b, const char *b_name, struct pcere_error *error)
{
    if (!a->iterations)
        return lists_same(a->settings, a->setting_count, a_name, b->settings, b->setting_count, b_name, "settings", error);
    char **kept[2] = {calloc(a->setting_count + 1, sizeof(char *)), calloc(b->setting_count + 1, sizeof(char *))};
    size_t counts[2] = {0, 0};
    const struct profile_run *const runs[2] = {a, b};
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; kept[side] && i < runs[side]->setting_count; i++)
            if (!is_of_schedule(runs[side]->settings[i]))
                kept[side][counts[side]++] = runs[side]->settings[i];
    enum pcere_status status = kept[0] && kept[1] ? lists_same(kept[0], counts[0], a_name, kept[1], counts[1], b_name, "settings", error)
                                                  : pcere_fail_memory(error, "the settings");
    free(kept[0]);
    free(kept[1]);
    return status;
}

enum pcere_status profile_same_run(const struct profile_run *a, const char *a_name, const struct profile_run *b, const char *b_name,
                                   struct pcere_error *error)
{
    bool ids = *a->build_id && *b->build_id;
    if (ids && strcmp(a->build_id, b->build_id) != 0)
        return pcere_fail(error, PCERE_DATA, 0, HINT_SAME, "%.80s and %.80s are of different programs: '%.60s' and '%.60s' have other build ids", a_name,
                          b_name, base_name(a->program), base_name(b->program));
    if (!ids && strcmp(base_name(a->program), base_name(b->program)) != 0)
        return pcere_fail(error, PCERE_DATA, 0, HINT_SAME, "%.80s and %.80s are of different programs: '%.60s' and '%.60s'", a_name, b_name,
                          base_name(a->program), base_name(b->program));
    if (strcmp(a->region ? a->region : "", b->region ? b->region : "") != 0)
        return pcere_fail(error, PCERE_DATA, 0, HINT_SAME, "%.80s and %.80s are not of the same code: '%.80s' and '%.80s'", a_name, b_name,
                          a->region ? a->region : "the whole program", b->region ? b->region : "the whole program");
    if (a->iterations != b->iterations)
        return pcere_fail(error, PCERE_DATA, 0, "profile all of them with --iterations, or none", "%.80s has an XU for each iteration, %.80s one for each range",
                          a->iterations ? a_name : b_name, a->iterations ? b_name : a_name);
    if (!a->iterations && a->threads != b->threads)
        return pcere_fail(error, PCERE_DATA, 0, HINT_SAME, "%.80s and %.80s ran with %u and %u threads", a_name, b_name, a->threads, b->threads);
    enum pcere_status status = lists_same(a->arguments, a->argument_count, a_name, b->arguments, b->argument_count, b_name, "arguments", error);
    if (status == PCERE_OK)
        status = settings_same(a, a_name, b, b_name, error);
    return status;
}

enum pcere_status profile_same_events(const struct profile *a, const char *a_name, const struct profile *b, const char *b_name, struct pcere_error *error)
{
    for (size_t i = 0; i < a->event_count; i++) {
        size_t at = profile_event_find(b, a->events[i].name);
        if (at < b->event_count && strcmp(a->events[i].backend, b->events[at].backend) != 0)
            return pcere_fail(error, PCERE_DATA, 0, "profile both with the same --caches", "%.80s and %.80s counted %.40s in other ways: '%.60s' and '%.60s'", a_name, b_name,
                              a->events[i].name, a->events[i].backend, b->events[at].backend);
    }
    return PCERE_OK;
}
