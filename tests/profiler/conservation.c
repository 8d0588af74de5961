/* tests/profiler/conservation.c - is each count of a trace in exactly one place? Prints each thread's sum over XUs and outside of them, and its total.
 *
 *   conservation TRACE EVENT...
 */
#include "profiler/host/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t event_of(const struct trace_header *header, const char *name)
{
    for (uint32_t i = 0; i < header->event_count; i++)
        if (strcmp(header->events[i].name, name) == 0)
            return i;
    fprintf(stderr, "no event %s\n", name);
    exit(2);
}

int main(int argc, char **argv)
{
    struct pcere_error error;
    struct trace_file *file;
    struct units units;
    if (argc < 3 || trace_file_open(argv[1], &file, &error) != PCERE_OK || units_collect(file, &(struct units_options){.rules = LABEL_RULES_PCERE}, &units, &error) != PCERE_OK) {
        fprintf(stderr, "%s\n", argc < 3 ? "which trace, which events?" : error.message);
        return 2;
    }
    int failed = units.mismatches || units.torn || units.unfinished;
    for (int i = 2; i < argc; i++) {
        size_t event = event_of(file->header, argv[i]);
        uint64_t in_units = 0, outside = 0, total = 0;
        for (size_t j = 0; j < units.count; j++)
            in_units += units.counts[j * units.event_count + event];
        for (size_t j = 0; j < units.thread_count; j++) {
            outside += units.outside[j].counts[event];
            total += units.outside[j].total_counts[event];
        }
        printf("%s units %" PRIu64 " outside %" PRIu64 " total %" PRIu64 "\n", argv[i], in_units, outside, total);
        failed |= in_units + outside != total;
    }
    units_done(&units);
    trace_file_close(file);
    return failed;
}
