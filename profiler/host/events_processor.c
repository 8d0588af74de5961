/* profiler/host/events_processor.c - the names of all events that libpfm4 knows of this processor (or of the one that LIBPFM_FORCE_PMU names). */
#include "profiler/host/events.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef PCERE_LIBPFM
#include <perfmon/pfmlib.h>

struct names { char **list; size_t count, capacity; };

/* Names do without either half; without memory some are missing. */
static void name_add(struct names *names, const char *event, const char *mask, bool lower)
{
    if (names->count + 1 >= names->capacity) {
        size_t capacity = names->capacity ? 2 * names->capacity : 1024;
        char **list = realloc(names->list, capacity * sizeof *list);
        if (!list)
            return;
        names->list = list;
        names->capacity = capacity;
    }
    char text[256];
    snprintf(text, sizeof text, "%s%s%s", event, *mask ? ":" : "", mask);
    for (char *at = text; lower && *at; at++)
        *at = (char)tolower((unsigned char)*at);
    if ((names->list[names->count] = strdup(text)))
        names->list[++names->count] = NULL;
}

static void event_add(struct names *names, int number, bool lower)
{
    pfm_event_info_t event = {.size = sizeof event};
    if (pfm_get_event_info(number, PFM_OS_NONE, &event) != PFM_SUCCESS)
        return;
    name_add(names, event.name, "", lower);
    for (int i = 0; i < event.nattrs; i++) {
        pfm_event_attr_info_t attribute = {.size = sizeof attribute};
        if (pfm_get_event_attr_info(number, i, PFM_OS_NONE, &attribute) == PFM_SUCCESS && attribute.type == PFM_ATTR_UMASK)
            name_add(names, event.name, attribute.name, lower);
    }
}

char **event_processor_names(bool lower)
{
    struct names names = {0};
    if (pfm_initialize() != PFM_SUCCESS)
        return NULL;
    for (int pmu = 0; pmu < PFM_PMU_MAX; pmu++) {
        pfm_pmu_info_t facts = {.size = sizeof facts};
        if (pfm_get_pmu_info((pfm_pmu_t)pmu, &facts) != PFM_SUCCESS || !facts.is_present)
            continue;
        for (int number = facts.first_event; number != -1; number = pfm_get_event_next(number))
            event_add(&names, number, lower);
    }
    return names.list;
}
#else
char **event_processor_names(bool lower)
{
    (void)lower;
    return NULL;
}
#endif

void event_processor_names_free(char **names)
{
    for (size_t i = 0; names && names[i]; i++)
        free(names[i]);
    free(names);
}
