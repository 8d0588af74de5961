/* capture-rt/tracer/session.h - a capturing run: the program goes at its own pace, and is held where it asks for it. */
#ifndef PCERE_CAPTURE_TRACER_SESSION_H
#define PCERE_CAPTURE_TRACER_SESSION_H

#include "capture-rt/tracer/ahead.h"
#include "capture-rt/tracer/callpath.h"
#include "capture-rt/tracer/codelet.h"
#include "capture-rt/tracer/externals.h"
#include "capture-rt/tracer/files.h"
#include "capture-rt/tracer/delays.h"
#include "capture-rt/tracer/hold.h"
#include "capture-rt/tracer/libraries.h"
#include "capture-rt/tracer/log.h"
#include "capture-rt/tracer/snapshot.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

struct session {
    const struct capture_options *options;
    struct capture_places places;    /* borrowed strings */
    struct capture_result *result;
    struct elf_file *elf;
    struct store_writer *writer;
    bool *unmet;                     /* of the regions that were known before the last run: it did not enter them */
    size_t unmet_count;
    struct store_manifest manifest;  /* classes' codelet, sizes and reasons are set on the writer's thread: under `mutex` */
    pthread_mutex_t mutex;
    pthread_cond_t changed;          /* under_way */
    size_t settled, settled_told;    /* codelets on disk, and those of which the manifest on disk tells */
    size_t under_way;                /* codelets handed to the writer and not settled, under `mutex` */

    struct shared_log log;
    struct shared_log old_log;       /* of the run before, while `closing` gives its memory back */
    pthread_t closing;
    bool closing_begun;
    struct child child;
    int32_t child_status;
    int socket;                      /* to the program; -1: it will not stop again */
    int far_socket;                  /* its number in the program */
    struct freeze freeze;
    struct map_facts facts;
    struct store_range *excluded;    /* of facts, its libraries at the end */
    char *maps_text;                 /* /proc/PID/maps at the last stop, and what the program told of itself then: */
    struct capture_range *ranges;
    size_t range_count;
    uint64_t heap_end;
    bool maps_current;               /* `facts` and `maps` are of that */
    bool maps_seen;                  /* so is what the libraries have, and their list */
    struct map_list maps;
    struct snapshotter snapshotter;
    struct callpath callpath;
    struct libraries libraries;
    char *library_names;             /* libraries.names, where they are more than the caller's; NULL: they are not */
    struct externals externals;
    bool replaced;                   /* the process executed another program, which is not followed */
    bool connection_lost;            /* the program could not tell of a stop */
    int tracking;                    /* the descriptor that came with an invocation that was not captured, or -1 */
    bool begun;                      /* the first stop lies behind */
    struct pcere_error trouble;      /* what ended the capture before the program's end; status OK: nothing */

    struct pending *pending;         /* captured invocations that have not ended, the oldest first; one may lie inside another */
    size_t pending_count, pending_capacity;
    uint64_t holds;                  /* captured invocations for which threads were held so far */
    unsigned differing;              /* captured invocations, of all runs, with other arguments than in the first */
    unsigned restless[CAPTURE_REGIONS_MAX];     /* invocations by region, of all runs, before which the other threads did not calm */
    bool restless_any;
    unsigned waited[CAPTURE_REGIONS_MAX];       /* invocations by region that did not end in the first run while other threads were held for them */
    struct held { size_t region; uint64_t invocation, ns; } *held;       /* invocations of this run that worked while they waited for threads that were held, and how long */
    size_t held_count, held_capacity;
    struct callpath other_callpath;  /* of threads that may have to be held */
    struct kept *kept;               /* captured invocations that have ended, of all runs */
    size_t kept_count, kept_capacity;
    size_t planned_stops;
    uint64_t served_cpu_ns;          /* this thread's CPU time when the message came that is served; */
    uint64_t served_waited_ns;       /* and how long the program's initial thread had waited for a processor */
    uint64_t earlier_stalls_ns;      /* of an earlier run */
    bool choosing;                   /* the program itself finds what is worth a stop */
    bool second;                     /* it runs again after a choosing run: whom its codelets represent is known at its end */
    struct ahead *ahead;             /* of this run's log; or NULL */
    pthread_t reserving;             /* makes room in the writer while the program runs */
    bool reserving_begun;
    bool reserving_first;            /* and goes on until the first stop is over, */
    sem_t reserving_end;             /* which wakes it */
    _Atomic(bool) reserving_done, reserving_over;       /* it has; it is not to go on, since the program has ended */
    uint64_t reserved_bytes;
    uint64_t answered_ns, gap_ns;    /* CLOCK_MONOTONIC: when the program went on last; and how long it ran before this stop */
    struct copier copier;
    uint64_t fault_ns;               /* see struct capture_run */
    bool fault_known;                /* that was asked */
    bool release_due;                /* a captured region has ended, and its end was the last stop */
};

/* A codelet whose region has not ended: what must be known of its beginning, until then. */
struct pending {
    size_t region;                   /* in the log */
    uint64_t hold;                   /* what threads are held for; 0: none are */
    uint64_t deadline_ns;            /* CLOCK_MONOTONIC: when they are let go */
    uint64_t held_ns, held_cpu_ns;   /* CLOCK_MONOTONIC, and the process's CPU time, from when on they are held; UINT64_MAX: that cannot be asked */
    bool named;                      /* its call path is */
    bool expired;                    /* they were let go before its end: its memory afterwards is not the region's alone */
    struct store_codelet codelet;
    struct run_list before;
    uint64_t begin_stops;            /* log->stops at its beginning */
    uint64_t made_low;               /* from there on lies what it allocates; 0: unknown */
    struct files files;              /* what was open when the region began */
    size_t content_capacity;         /* of codelet.contents */
    struct capture_thread threads[CAPTURE_THREADS_MAX];     /* log->stop.threads as it was */
    uint64_t end_stack_pointer;      /* of the program at the end probe, or 0 */
    uint64_t read_bytes, written_bytes;
    char *io, *reason;               /* see struct kept */
    uint32_t alarmed;
    uint64_t rewritten_pages, waited_ns, large_pages;
    bool gathered;
    struct delays delays;            /* as of its beginning */
};

struct kept {                        /* a captured invocation that has ended */
    size_t region;                   /* in the log, and in the run */
    uint64_t invocation;
    struct store_codelet codelet;    /* empty where there is a reason, and once it is stored */
    bool stored;                     /* it went to the writer */
    uint64_t memory_bytes;
    uint64_t read_bytes, written_bytes;     /* by the region */
    char *io;                        /* what it read and wrote, in words, or NULL */
    char *reason;                    /* why it cannot be replayed, or NULL */
    uint32_t alarmed;                /* handlers of timers ran in it: as in struct capture_message */
    uint64_t rewritten_pages;        /* that were there before and were written: each cost a fault, for tracking */
    uint64_t waited_ns, large_pages; /* see struct capture_invocation */
    bool gathered;                   /* likewise */
};

/* ---- pending.c ----------------------------------------------------------------------------------------------------------- */

/* A new one, the youngest. NULL: no memory. Pointers to others are stale after it, and after those below. */
struct pending *pending_add(struct session *session);
/* NULL: it is not captured. */
struct pending *pending_find(struct session *session, const struct capture_message *message);
/* Give its call path names, if it has none yet: when the program waits for nothing, while its process is there. */
void pending_name(struct session *session, struct pending *pending);
/* It is as whole as it will get. It is no longer pending, whatever is returned. */
enum pcere_status pending_keep(struct session *session, struct pending *pending, struct pcere_error *error);
void pending_drop(struct session *session, struct pending *pending);
/* CPU time of the program's process so far; UINT64_MAX: unknown. */
uint64_t pending_cpu_ns(const struct session *session);
/* Between messages: let go the threads that were held for too long. */
void pending_watch(struct session *session);

/* NULL: that invocation was not captured. */
struct kept *kept_find(const struct session *session, size_t region, uint64_t invocation);
/* Hand what represents a class of the manifest to the writer, and wait until it is on disk. */
enum pcere_status kept_store(struct session *session, struct pcere_error *error);
void kept_done(struct session *session);

/* Run the program, stopping where it finds it worth it (`choosing`: session->manifest need not be there) or at the manifest's representatives
 * that are not kept yet. The result's capture times, stops and status are set; `ret_run`, if it is not NULL, gets the invocations, as they were measured beside the stops. Failures
 * of the capture itself go to session->trouble: the program runs to its end. What is returned means that it was not started, or left no log. */
enum pcere_status session_run(struct session *session, bool choosing, const int descriptors[3], struct capture_run *ret_run, struct pcere_error *error);

/* How many bytes of pages the writer may be asked to keep room for: `bytes`, but never most of what is left beside `coming_bytes`, which the
 * program is going to take. */
uint64_t session_reserve_bytes(uint64_t bytes, uint64_t coming_bytes);

#define SESSION_RESTLESS_MOST 3          /* invocations of a region that are tried in vain */
#define SESSION_WAITS_MOST 3             /* ... in the first run; the second one, which knows how long they take, tries those that it needs */

/* Wait until the last run's log has been given back: before another one, and at the end. */
void session_log_await(struct session *session);

/* Wait until every codelet is on disk, or is known to have failed. */
void session_settle(struct session *session);

/* Add a sentence to the result's notes. */
enum pcere_status capture_note(struct capture_result *result, const char *sentence, struct pcere_error *error);

#endif
