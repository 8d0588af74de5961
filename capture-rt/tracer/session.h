/* capture-rt/tracer/session.h - the capturing run: the program goes at its own pace, and is held at the planned invocations. */
#ifndef PCERE_CAPTURE_TRACER_SESSION_H
#define PCERE_CAPTURE_TRACER_SESSION_H

#include "capture-rt/tracer/callpath.h"
#include "capture-rt/tracer/codelet.h"
#include "capture-rt/tracer/externals.h"
#include "capture-rt/tracer/files.h"
#include "capture-rt/tracer/freeze.h"
#include "capture-rt/tracer/hold.h"
#include "capture-rt/tracer/libraries.h"
#include "capture-rt/tracer/log.h"
#include "capture-rt/tracer/snapshot.h"

#include <pthread.h>

struct session {
    const struct capture_options *options;
    struct capture_result *result;
    struct elf_file *elf;
    struct store_writer *writer;
    struct store_manifest manifest;  /* classes' codelet, sizes and reasons are set on the writer's thread: under `mutex` */
    pthread_mutex_t mutex;
    pthread_cond_t changed;          /* under_way */
    size_t under_way;                /* codelets handed to the writer and not settled, under `mutex` */
    size_t settled_told;             /* settled codelets that the manifest on disk tells of */
    size_t settled;                  /* under `mutex` */

    struct shared_log log;
    struct child child;
    int32_t child_status;
    int socket;                      /* to the program; -1: it will not stop again */
    int far_socket;                  /* its number in the program */
    struct freeze freeze;
    struct map_facts facts;
    struct store_range *excluded;    /* of facts, its libraries at the end */
    struct map_list maps;
    struct snapshotter snapshotter;
    struct callpath callpath;
    struct libraries libraries;
    struct externals externals;
    bool connection_lost;            /* the program could not tell of a stop */
    bool begun;                      /* the first stop lies behind */
    struct pcere_error trouble;      /* what ended the capture before the program's end; status OK: nothing */

    struct pending *pending;         /* captured invocations that have not ended, the oldest first; one may lie inside another */
    size_t pending_count, pending_capacity;
    uint64_t holds;                  /* captured invocations for which threads were held so far */
    struct callpath other_callpath;  /* of threads that may have to be held */
    bool near;                       /* the end that was read last was to be followed by another stop at once */
};

/* A codelet whose region has not ended: what must be known of its beginning, until then. */
struct pending {
    size_t region, class;            /* in the manifest */
    uint64_t hold;                   /* what threads are held for; 0: none are */
    uint64_t deadline_ns;            /* CLOCK_MONOTONIC: when they are let go */
    bool expired;                    /* they were let go before its end: its memory afterwards is not the region's alone */
    struct store_codelet codelet;
    struct run_list before;
    struct files files;              /* what was open when the region began */
    size_t content_capacity;         /* of codelet.contents */
    struct capture_thread threads[CAPTURE_THREADS_MAX];     /* log->stop.threads as it was */
    uint64_t end_stack_pointer;      /* of the program at the end probe, or 0 */
};

/* ---- pending.c ----------------------------------------------------------------------------------------------------------- */

/* A new one, the youngest. NULL: no memory. Pointers to others are stale after it, and after those below. */
struct pending *pending_add(struct session *session);
/* NULL: it is not captured. */
struct pending *pending_find(struct session *session, const struct capture_message *message);
/* It is as whole as it will get: hand it to the writer. It is no longer pending, whatever is returned. */
enum pcere_status pending_send(struct session *session, struct pending *pending, struct pcere_error *error);
void pending_drop(struct session *session, struct pending *pending);
/* Between messages: let go the threads that were held for too long. */
void pending_watch(struct session *session);

/* Run the program; result's capture times, stops and status are set. Failures of the capture itself go to session->trouble: the
 * program runs to its end. Anything else that is returned means that it was not started. */
enum pcere_status session_run(struct session *session, const int descriptors[3], struct pcere_error *error);

/* Wait until every codelet is on disk, or is known to have failed. */
void session_settle(struct session *session);

/* Add a sentence to the result's notes. */
enum pcere_status capture_note(struct capture_result *result, const char *sentence, struct pcere_error *error);

#endif
