/* capture-rt/tracer/holes.h - which pages of a shared mapping of a file the file itself does not have yet.
 *
 *   file       [data][--------][data][--- end of the file
 *   mapping    [data][--------][data]     a first write to what lies between makes pages, in the file as in memory, and costs as much
 *
 * They read as zeros, like absent pages of anonymous memory, which they are in a replay. Reading them through the program would make them, so that the region would find them.
 */
#ifndef PCERE_CAPTURE_TRACER_HOLES_H
#define PCERE_CAPTURE_TRACER_HOLES_H

#include "capture-rt/tracer/maps.h"

/* May it have any? Not memory that is seen at two addresses: a page that is made absent again at one of them stays at the other. */
bool holes_may_be(const struct map_list *maps, const struct map_entry *entry);
/* The file that is mapped there, opened anew: by the kernel's list of mapped files, or one of the process's descriptors. -1: it cannot be had. */
int holes_open(pid_t pid, const struct map_entry *entry);
/* Is `at` in a hole? *ret_end: until where that is so, whole pages, at most `end`, both in the mapping. False as well where the filesystem does not tell, and behind the file's end. */
bool holes_at(int descriptor, const struct map_entry *entry, uint64_t page_bytes, uint64_t at, uint64_t end, uint64_t *ret_end);

#endif
