/* time_in_block.c - a region writes the time of day into what it allocates itself: that is told, too, by its name. */
#include "check.h"
#include <omp.h>

static struct entry { double *seconds; struct entry *next; } *entries;

int main(void)
{
    for (int step = 0; step < 2; step++) {
#pragma omp parallel
#pragma omp single
        {
            struct entry *entry = malloc(sizeof *entry);
            entry->seconds = calloc(10, sizeof *entry->seconds);
            entry->seconds[3] = omp_get_wtime();
            entry->next = entries;
            entries = entry;
        }
    }
    CHECK(entries->seconds[3] >= entries->next->seconds[3] && !entries->next->next);
    return 0;
}
