/* trace/merge.h - traces of several processes in Chrome's format become one file of one clock, without being held in memory.
 *
 * Each file is read twice: for the messages between it and the reference (the head's file, or the first), and to be written with its times moved. A message is an operation that both sides call by one tag, as OMPC writes it: the side
 * that asked for it begins before the other side does, and ends after it; or an arrow ("s" in one file, "f" in the other). Without messages the earliest events are
 * laid on each other, as the paper does. Two threads do both; what is written does not depend on which of them is faster.
 */
#ifndef PCERE_TRACE_MERGE_H
#define PCERE_TRACE_MERGE_H

#include "trace/clock.h"

#include <stddef.h>
#include <stdio.h>

struct merge_file {
    const char *path;            /* the caller's */
    struct clock_line line;
    uint64_t events, messages, bytes;
    bool reference, cut;         /* cut: it lacks its end, or is damaged further on; what is whole is there */
};

/* `files` have their paths; the rest is filled in. PCERE_USAGE, PCERE_DATA: a file that is none or is foreign. PCERE_SYSTEM: also a full disk; `name` says of what. */
enum pcere_status merge_write(struct merge_file *files, size_t count, bool minima_only, FILE *output, const char *name, struct pcere_error *error);

#endif
