/* analysis/profile_part.h - the part of a profile that lies under one label: one instance of a construct, and all that is in it. */
#ifndef PCERE_ANALYSIS_PROFILE_PART_H
#define PCERE_ANALYSIS_PROFILE_PART_H

#include "analysis/profile.h"

#define PROFILE_ACTIVE_TIME "active-time"      /* an event that can be made of any profile: the time that each XU was active, in ns */

/* Give a profile that event, last of all; one that has it stays as it is. Segments have theirs, too. PCERE_USAGE: it has as many events as there can be. PCERE_SYSTEM. */
enum pcere_status profile_active_time_add(struct profile *profile, struct pcere_error *error);

struct profile_instances { char **labels; size_t count; };     /* in the order of labels */

/* The instances of the construct at `place` ("cg.c:405") that XUs lie in: labels that end in "@cg.c:405". A label that lies in several is counted for the
 * outermost. PCERE_DATA: labels have no texts. PCERE_SYSTEM. */
enum pcere_status profile_instances_find(const struct profile *profile, const char *place, struct profile_instances *ret_instances, struct pcere_error *error);
void profile_instances_done(struct profile_instances *instances);

/* The XUs whose label is `label` or lies under it, as a profile of the run `as` (NULL: as it was), with PROFILE_ACTIVE_TIME. Segments and sources are left out.
 * PCERE_DATA: labels have no texts. PCERE_SYSTEM. */
enum pcere_status profile_part(const struct profile *profile, const char *label, const struct profile_run *as, struct profile **ret_part,
                               struct pcere_error *error);

#endif
