#include "capture-rt/tracer/session.h"

#include "capture-rt/tracer/session_private.h"
#include "capture-rt/tracer/tracking_cost.h"
#include "core/host.h"
#include "core/workers.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* The program saw the end of the last stop by the time that it sends the next message, or ends. */
static void stall_note(struct session *session)
{
    struct capture_result *result = session->result;
    const struct capture_log *log = session->log.log;
    if (result->stop_count > 0 && result->stops[result->stop_count - 1].stall_ns == 0)
        result->stops[result->stop_count - 1].stall_ns = log->stall_ns_last;
    result->stall_ns = session->earlier_stalls_ns + log->stall_ns;
}

/* ---- room for dumps -------------------------------------------------------------------------------------------------------- */

/* Room for what the stops bring faster than it can be compressed and written: about one dump of what is known or guessed to be there, since
 * memory that is touched for the first time is dear in virtual machines. Never most of what there is left, nor what the program is going to take. */
uint64_t session_reserve_bytes(uint64_t bytes, uint64_t coming_bytes)
{
    uint64_t available = host_memory_available_bytes(), most = available > coming_bytes ? (available - coming_bytes) / 3 : 0;
    return bytes < most ? bytes : most;
}

static void *reserve_main(void *context)
{
    struct session *session = context;
    struct pcere_error ignored;          /* without room, stops wait for what is compressed */
    workers_yield();
    store_writer_reserve(session->writer, session->reserved_bytes, &session->reserving_over, &ignored);
    session->reserving_done = true;
    return NULL;
}

static void reserve_begin(struct session *session, uint64_t bytes, uint64_t coming_bytes)
{
    session->reserved_bytes = session_reserve_bytes(bytes, coming_bytes);
    session->reserving_done = session->reserving_over = false;
    session->reserving_begun = pthread_create(&session->reserving, NULL, reserve_main, session) == 0;
}

static void reserve_end(struct session *session)
{
    if (session->reserving_first)
        sem_post(&session->reserving_end);
    if (session->reserving_begun)
        pthread_join(session->reserving, NULL);
    session->reserving_begun = session->reserving_first = false;
}

#define RESERVE_LEAST ((uint64_t)32 << 20)      /* less room is there anyway */
#define RESERVE_WORTH ((uint64_t)64 << 20)      /* for a program that has less, room costs as much as it saves */
#define RESERVE_SLEEP_NS 50000000u              /* each look takes a processor from the program */

/* Of the program in memory, or 0. */
static uint64_t resident_bytes(const struct session *session)
{
    char path[64];
    uint64_t pages = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)session->child.pid);
    FILE *file = fopen(path, "re");
    if (file && fscanf(file, "%*u %" SCNu64, &pages) != 1)
        pages = 0;
    if (file)
        fclose(file);
    return pages * session->manifest.page_size;
}

/* The first stop of a large program reads all that it has by then: room for it is made while the program comes there, where a processor has nothing else to do. */
static void *reserve_first_main(void *context)
{
    struct session *session = context;
    struct pcere_error ignored;
    uint64_t done_bytes = 0;
    workers_yield();
    while (!session->reserving_over) {
        uint64_t bytes = resident_bytes(session);
        if (bytes >= RESERVE_WORTH && bytes > done_bytes) {
            done_bytes = session_reserve_bytes(bytes + bytes / 4, 0);
            store_writer_reserve(session->writer, done_bytes, &session->reserving_over, &ignored);
        } else {
            uint64_t until_ns = clock_ns() + RESERVE_SLEEP_NS;
            sem_clockwait(&session->reserving_end, CLOCK_MONOTONIC, &(struct timespec){(time_t)(until_ns / 1000000000u), (long)(until_ns % 1000000000u)});
        }
    }
    session->reserving_done = true;
    return NULL;
}

static void reserve_first_begin(struct session *session)
{
    session->reserved_bytes = 0;
    session->reserving_done = session->reserving_over = false;
    sem_init(&session->reserving_end, 0, 0);
    session->reserving_begun = session->reserving_first = pthread_create(&session->reserving, NULL, reserve_first_main, session) == 0;
}

/* What the program has may all have to be read at the next stop, and more if it grows. */
static void reserve_more(struct session *session)
{
    uint64_t present = run_list_pages(&session->snapshotter.last) * session->manifest.page_size;
    if (session->reserving_first) {
        session->reserving_over = true;
        reserve_end(session);
    }
    if (!session->choosing || present < RESERVE_WORTH || (session->reserving_begun && !session->reserving_done) || present + RESERVE_LEAST / 2 <= session->reserved_bytes)
        return;
    reserve_end(session);
    reserve_begin(session, present + present / 2 + RESERVE_LEAST, 0);
}

/* ---- messages -------------------------------------------------------------------------------------------------------------- */

static bool message_receive(struct session *session, struct capture_message *message, int *ret_tracking)
{
    struct iovec part = {message, sizeof *message};
    union { struct cmsghdr header; char bytes[CMSG_SPACE(sizeof(int))]; } control;
    struct msghdr envelope = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    ssize_t bytes;
    do
        bytes = recvmsg(session->socket, &envelope, MSG_CMSG_CLOEXEC);
    while (bytes < 0 && errno == EINTR);
    *ret_tracking = -1;
    const struct cmsghdr *header = bytes > 0 ? CMSG_FIRSTHDR(&envelope) : NULL;
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS && header->cmsg_len == CMSG_LEN(sizeof(int)))
        memcpy(ret_tracking, CMSG_DATA(header), sizeof(int));
    bool whole = bytes == (ssize_t)sizeof *message &&
                 message->type >= CAPTURE_MESSAGE_BEGIN && message->type <= CAPTURE_MESSAGE_FORGET;
    if (!whole && *ret_tracking >= 0)
        close(*ret_tracking);
    return whole;
}

static void trouble_note(struct session *session, enum pcere_status status, const struct pcere_error *error)
{
    if (status != PCERE_NO) {                   /* that it ended is no trouble: its status tells */
        pthread_mutex_lock(&session->mutex);
        if (session->trouble.status == PCERE_OK)
            session->trouble = *error;
        pthread_mutex_unlock(&session->mutex);
    }
    while (session->pending_count)
        pending_drop(session, &session->pending[0]);
    if (session->socket >= 0)
        session_answer(session, CAPTURE_ANSWER_NO_MORE);
}

/* While nothing else is to be done: let the manifest on disk tell of the codelets that are there. (A store that replaces another is not
 * seen before it is complete.) */
static void manifest_refresh(struct session *session)
{
    struct pcere_error ignored;
    pthread_mutex_lock(&session->mutex);
    bool due = !session->options->force && session->under_way == 0 && session->settled > session->settled_told;
    pthread_mutex_unlock(&session->mutex);
    if (due && store_writer_manifest(session->writer, &session->manifest, &ignored) == PCERE_OK)
        session->settled_told = session->settled;
}

#define RELEASE_MS 2

/* Has the process another program's memory by now, without our library? Not of one that ended, which has none. */
static bool is_replaced(pid_t pid)
{
    char *maps = NULL;
    bool replaced = maps_text(pid, &maps, NULL) == PCERE_OK && *maps && !strstr(maps, "libpcere-capture");
    free(maps);
    return replaced;
}

static void session_watch(struct session *session)
{
    const struct capture_options *options = session->options;
    while (!session->child.ended) {
        int most_ms = session->release_due ? RELEASE_MS : session->freeze.count ? 10 : CHILD_STOP_MS;
        child_stop(&session->child, options);
        uint64_t from_ns = clock_ns();
        bool message_there = child_wait(&session->child, session->socket, most_ms);
        uint64_t waited_ns = clock_ns() - from_ns, most_ns = (uint64_t)most_ms * 1000000u;
        session_holds_extend(session, waited_ns > most_ns ? waited_ns - most_ns : 0);     /* the machine stood still, or was about something else */
        freeze_reap(&session->child, &session->freeze);
        pending_watch(session);
        if (!message_there && session->release_due) {   /* no other stop followed soon */
            session->release_due = false;
            snapshotter_release(&session->snapshotter, &session->maps, false);
        }
        if (!message_there) {
            if (session->child.ended)
                break;
            for (size_t i = 0; i < session->pending_count; i++)
                pending_name(session, &session->pending[i]);
            manifest_refresh(session);
            if (options->progress)
                options->progress(options->progress_context, CAPTURE_PHASE_CAPTURING, clock_ns() - session->child.start_ns,
                                  session->result->stop_count, session->choosing ? 0 : session->planned_stops);
            continue;
        }
        struct capture_message message;
        struct pcere_error error = {0};
        int tracking;
        if (!message_receive(session, &message, &tracking)) {
            session->replaced |= is_replaced(session->child.pid);
            close(session->socket);             /* the program ended, became another, or closed what it does not know */
            session->socket = -1;
            continue;
        }
        stall_note(session);
        uint64_t begin_ns = clock_ns();
        session->served_cpu_ns = thread_cpu_ns();
        if (!delays_waited(session->child.pid, session->child.pid, &session->served_waited_ns))
            session->served_waited_ns = UINT64_MAX;
        enum pcere_status status = session_serve(session, &message, tracking, &error);
        session_holds_extend(session, clock_ns() - begin_ns);
        if (status != PCERE_OK)
            trouble_note(session, status, &error);
        else
            reserve_more(session);
    }
    stall_note(session);
}

static enum pcere_status sockets_make(int both[2], struct pcere_error *error)
{
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, both) != 0)
        return pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot make a socket pair");
    int high = descriptor_raise(both[1]);
    close(both[1]);
    both[1] = high;
    if (high >= 0)
        return PCERE_OK;
    close(both[0]);
    return pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot make a socket pair");
}

static void notes_after(struct session *session)
{
    const struct capture_log *log = session->log.log;
    struct pcere_error ignored;
    if (session->begun && !session->result->tracking)
        capture_note(session->result, "the kernel does not tell which pages were written: every stop reads all memory", &ignored);
    if (log->locks_dropped)
        capture_note(session->result, "there were more OpenMP locks than can be recorded: some are missing in the codelets", &ignored);
    if (session->maps.shared_writable)
        capture_note(session->result, "the program shares writable memory with others: it is captured like its own", &ignored);
}

static void *log_close_main(void *context)
{
    struct session *session = context;
    /* Its pages go now: while they are unmapped, nobody else could map anything. It keeps its length, for processes that the program forked off have it, too, and write into it. */
    (void)!fallocate(session->old_log.descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)session->old_log.bytes);
    shared_log_close(&session->old_log);
    return NULL;
}

/* That takes milliseconds, in which the run can be looked at. */
static void log_close(struct session *session)
{
    session->old_log = session->log;
    session->log = (struct shared_log){.descriptor = -1};
    session->closing_begun = pthread_create(&session->closing, NULL, log_close_main, session) == 0;
    if (!session->closing_begun)
        log_close_main(session);
}

void session_log_await(struct session *session)
{
    if (session->closing_begun)
        pthread_join(session->closing, NULL);
    session->closing_begun = false;
}

static bool was_entered(const struct capture_log *log, const char *name)
{
    for (size_t i = 0; i < log->region_count && i < CAPTURE_REGIONS_MAX; i++)
        if (log->counts[i].invocations > 0 && strncmp(log->regions[i].name, name, sizeof log->regions[i].name) == 0)
            return true;
    return false;
}

/* Of the regions that were known before this run. */
static void unmet_find(struct session *session)
{
    free(session->unmet);
    session->unmet = session->log.log ? calloc(session->manifest.region_count + 1, sizeof *session->unmet) : NULL;
    session->unmet_count = session->unmet ? session->manifest.region_count : 0;
    for (size_t i = 0; i < session->unmet_count; i++)
        session->unmet[i] = !was_entered(session->log.log, session->manifest.regions[i].name);
}

static void session_close(struct session *session)
{
    session->reserving_over = true;
    reserve_end(session);
    if (session->socket >= 0)
        close(session->socket);
    if (session->tracking >= 0)
        close(session->tracking);
    freeze_done(&session->freeze);
    callpath_done(&session->callpath);
    callpath_done(&session->other_callpath);
    snapshotter_close(&session->snapshotter);
    maps_done(&session->maps);
    free(session->maps_text);
    free(session->ranges);
    free(session->excluded);
    free(session->pending);
    child_done(&session->child);
    unmet_find(session);
    log_close(session);
}

/* As for a run of its own: what the run before learnt of another process is of no use. */
static void session_reset(struct session *session)
{
    session->begun = session->release_due = session->connection_lost = false;
    session->tracking = -1;
    session->excluded = NULL;
    session->maps_text = NULL;
    session->ranges = NULL;
    session->maps_current = session->maps_seen = false;
    session->gap_ns = session->answered_ns = 0;
    session->pending = NULL;
    session->pending_count = session->pending_capacity = 0;
    session->held_count = 0;
    session->facts = (struct map_facts){0};
    session->earlier_stalls_ns = session->result->stall_ns;
}

/* Before the program starts, once for all runs. */
static void fault_cost_ask(struct session *session)
{
    if (!session->fault_known)
        session->fault_ns = session->options->fault_ns ? session->options->fault_ns : tracking_fault_ns(session->manifest.page_size);
    session->fault_known = true;
    session->result->fault_ns = session->fault_ns;
}

enum pcere_status session_run(struct session *session, bool choosing, const int descriptors[3], struct capture_run *ret_run, struct pcere_error *error)
{
    int sockets[2];
    const struct capture_options *options = session->options;
    session_reset(session);
    session->choosing = choosing;
    fault_cost_ask(session);
    enum pcere_status status = shared_log_open(options, choosing ? CAPTURE_MODE_CHOOSING : CAPTURE_MODE_PLANNED, &session->log, error);
    if (status != PCERE_OK)
        return status;
    struct capture_log *log = session->log.log;
    log->after = !options->no_after;
    log->tracking = !(options->faults & (CAPTURE_FAULT_TRACKING | CAPTURE_FAULT_PAGEMAP_SCAN));
    log->policy = session_policy(session);
    if (!choosing)
        session_plan_fill(session);
    session->planned_stops = log->plan_count * (options->no_after ? 1 : 2);
    status = sockets_make(sockets, error);
    if (status != PCERE_OK) {
        shared_log_close(&session->log);
        return status;
    }
    session->socket = sockets[0];
    session->copier = (struct copier){.child = &session->child, .freeze = &session->freeze, .log = log, .socket = sockets[0]};
    session->far_socket = sockets[1];
    struct child_setup setup = {.options = options, .log = session->log.descriptor, .socket = sockets[1],
                                .descriptors = {descriptors[0], descriptors[1], descriptors[2]}};
    status = child_start(&setup, &session->child, error);
    close(sockets[1]);
    if (status == PCERE_OK) {
        struct pcere_error trouble = {0};
        session->ahead = ahead_begin(&session->log);
        copier_prepare(&session->copier);
        if (snapshotter_open(session->child.pid, session->writer, session->manifest.page_size, session->fault_ns, &session->snapshotter, &trouble) ==
            PCERE_OK) {
            if (session->second)        /* meanwhile what the first run left is written */
                reserve_begin(session, session->result->timing.peak_bytes, session->result->timing.peak_bytes);
            else if (choosing)
                reserve_first_begin(session);
            session_watch(session);
        } else {
            trouble_note(session, trouble.status, &trouble);
            while (!session->child.ended) {
                child_wait(&session->child, -1, options->stop ? CHILD_STOP_MS : -1);
                child_stop(&session->child, options);
            }
        }
        ahead_end(session->ahead);
        session->ahead = NULL;
        struct pcere_error keeping = {0};
        while (session->pending_count)
            if (pending_keep(session, &session->pending[0], &keeping) != PCERE_OK)
                trouble_note(session, keeping.status, &keeping);
        session->result->capture_wall_ns = session->child.end_ns - session->child.start_ns;
        session->result->runs_wall_ns += session->result->capture_wall_ns;
        session->child_status = session->child.status;
        notes_after(session);
        if (ret_run)
            status = shared_log_read(&session->log, &session->child, options, ret_run, error);
    }
    session->connection_lost = log->stops_lost > 0;
    session_close(session);
    return status;
}
