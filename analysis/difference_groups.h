/* analysis/difference_groups.h - sums over XUs by construct, thread, processor or NUMA node. Private to analysis/.
 */
#ifndef PCERE_ANALYSIS_DIFFERENCE_GROUPS_H
#define PCERE_ANALYSIS_DIFFERENCE_GROUPS_H

#include "analysis/difference.h"

/* Fill difference->groups for difference->events. PCERE_SYSTEM: no memory; what was made is freed with the difference. */
enum pcere_status difference_groups_make(const struct difference_side *a, const struct difference_side *b, enum difference_by by,
                                         struct difference *difference, struct pcere_error *error);

#endif
