/* platform/discover.h - finding out a machine's signature by experiment: which probes to run, for how long, and what their numbers say.
 *
 * Probes are processes (platform/probe/); the caller runs them, so that recorded answers can take their place. Rounds go over all experiments one
 * after another, a process each time, since a process has an offset of its own; when time is up the rounds that are left are not begun. A quick discovery has
 * one round, and more only while what it found cannot be true.
 */
#ifndef PCERE_PLATFORM_DISCOVER_H
#define PCERE_PLATFORM_DISCOVER_H

#include "core/error.h"
#include "platform/signature.h"
#include "platform/topology.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Run `words` (NULL-terminated: a task and KEY=VALUE...) as a probe with `environment` (NULL-terminated "NAME=value", added to what there is). Its output
 * is malloc'ed and belongs to the caller. *ret_exit is its exit status, or -1 if it was killed or ran out of time. A failure ends the discovery. */
typedef enum pcere_status discover_run_fn(void *context, const char *const *words, const char *const *environment, char **ret_output, int *ret_exit,
                                          struct pcere_error *error);
/* What is being done, for people; may be NULL. */
typedef void discover_progress_fn(void *context, const char *text);

struct discover_options {
    const struct topology *topology;
    const char *name, *title, *isa, *source;      /* copied into the signature; source: date and program */
    const char *clock_source;                     /* what the kernel says of the clock; NULL: nothing */
    unsigned load_ms;                             /* how long processors work before their clock counts as sustained */
    uint64_t page_bytes;
    bool quick;                                   /* one round, fewer sizes */
    uint64_t budget_ns;                           /* no round is begun after this; 0: none */
    discover_run_fn *run;
    discover_progress_fn *progress;
    void *context;                                /* of both */
};

struct discover_summary { size_t experiments, rounds, refused; };      /* refused: that this machine cannot do */

/* Intervals are the 95 % of a median by order statistics; where threads could not be pinned (signature.pinned false) they are the whole range of what
 * was measured and a quarter more on either side. PCERE_REFUSED: no probe of memory gives numbers. */
enum pcere_status platform_discover(const struct discover_options *options, struct platform_signature *ret_signature, struct discover_summary *ret_summary,
                                    struct pcere_error *error);

#endif
