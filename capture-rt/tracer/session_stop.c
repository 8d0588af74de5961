/* capture-rt/tracer/session_stop.c - one stop of the program: what is read at an invocation's beginning and at its end, and what is made of it when
 * the program runs again. */
#include "capture-rt/tracer/session_private.h"

#include "capture-rt/tracer/tracking_cost.h"
#include "core/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* True: everything lies where it lay at the stop before, and what was found out of that holds. The session takes the text. */
static bool places_hold(struct session *session, char *text, const struct capture_stop *stop, uint32_t count)
{
    bool same = session->maps_current && strcmp(session->maps_text, text) == 0 && session->heap_end == stop->heap_end &&
                session->range_count == count && memcmp(session->ranges, stop->ranges, count * sizeof *stop->ranges) == 0;
    free(session->maps_text);
    session->maps_text = text;
    session->heap_end = stop->heap_end;
    session->range_count = count;
    memcpy(session->ranges, stop->ranges, count * sizeof *stop->ranges);
    session->maps_current = same;
    session->maps_seen &= same;
    return same;
}

static enum pcere_status facts_update(struct session *session, struct pcere_error *error)
{
    const struct capture_log *log = session->log.log;
    uint32_t count = log->stop.range_count;
    char *text = NULL;
    if (count > CAPTURE_RANGES_MAX)
        return pcere_fail(error, PCERE_DATA, 0, NULL, "the log of the program is damaged");
    if ((!session->excluded && !(session->excluded = calloc(CAPTURE_RANGES_MAX, sizeof *session->excluded))) ||
        (!session->ranges && !(session->ranges = calloc(CAPTURE_RANGES_MAX, sizeof *session->ranges))))
        return pcere_fail_memory(error, "the ranges that are left out");
    enum pcere_status status = maps_text(session->child.pid, &text, error);
    if (status == PCERE_OK && places_hold(session, text, &log->stop, count))
        return PCERE_OK;
    if (status == PCERE_OK)
        status = libraries_look(&session->libraries, session->maps_text, &log->stop, error);
    if (status != PCERE_OK)
        return status;
    /* The ranges that are left out from the front, the user's libraries from the back. */
    session->facts.excluded = session->excluded;
    session->facts.excluded_count = session->facts.library_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct capture_range range = log->stop.ranges[i];
        bool users = range.kind == CAPTURE_RANGE_OBJECT && libraries_image_at(&session->libraries, range.start);
        session->excluded[users ? CAPTURE_RANGES_MAX - ++session->facts.library_count : session->facts.excluded_count++] =
            (struct store_range){range.start, range.end > range.start ? range.end - range.start : 0};
    }
    session->facts.libraries = session->excluded + CAPTURE_RANGES_MAX - session->facts.library_count;
    session->facts.heap_high = log->stop.heap_end;
    if (session->begun)
        return PCERE_OK;
    session->manifest.foreign_allocator = log->foreign_allocator;
    session->manifest.image_bias = log->image_bias;     /* where addresses are random, not that of the timing run */
    session->facts.page_bytes = session->manifest.page_size;
    elf_file_span(session->elf, &session->facts.image_low, &session->facts.image_high);
    session->facts.image_low += log->image_bias;
    session->facts.image_high += log->image_bias;
    callpath_program(&session->callpath, session->options->program, &session->facts, log->image_bias);
    session->facts.runtimes = (struct store_range){log->linked.text_low + log->image_bias, log->linked.text_high - log->linked.text_low};
    return maps_process_facts(session->child.pid, &session->facts, error);
}

#define HOLD_IMPOSSIBLE UINT64_MAX
#define NOT_ALONE "it did not come to its end while the program's other threads were held: it waits for what they do, and a replay has none of them"
#define SMALL_BYTES ((uint64_t)8 << 20)  /* to read so much takes less than the faults that tracking it costs */
#define LEARN_NS 2000000u                /* from one stop to the next: what was written in less time says little about what usually is */

/* The invocation as the timing run saw it, or NULL. */
static const struct capture_invocation *timed(const struct session *session, size_t region, uint64_t invocation)
{
    if (region >= session->result->timing.region_count)
        return NULL;
    const struct capture_region *measured = &session->result->timing.regions[region];
    bool known = invocation > 0 && invocation <= measured->list_count && measured->list[invocation - 1].number == invocation;
    return known && !session->choosing ? &measured->list[invocation - 1] : NULL;
}

static enum pcere_status followed(struct session *session, const struct capture_message *message, bool *ret_more, struct pcere_error *error)
{
    bool first = !session->pending_count && !session->kept_count;    /* a replay has the same libraries for all codelets */
    *ret_more = first && message->type == CAPTURE_MESSAGE_BEGIN && libraries_follow(&session->libraries);
    session->maps_current &= !*ret_more;
    return *ret_more ? facts_update(session, error) : PCERE_OK;
}

/* The program's memory as it is now. Where it leads into a library of the system at the first capture, or such a library keeps something, that
 * library's is read, too; it may lead on into others. */
static enum pcere_status memory_take(struct session *session, const struct capture_message *message, bool all, struct pcere_error *error)
{
    bool more = message->type == CAPTURE_MESSAGE_BEGIN;
    enum pcere_status status = PCERE_OK;
    session->copier.tid = (pid_t)message->tid;
    session->snapshotter.copier = session->options->faults & CAPTURE_FAULT_COPYING ? NULL : &session->copier;
    session->snapshotter.leads = &session->libraries.leads;
    if (more) {
        libraries_leave_threads(&session->libraries, &session->log.log->stop);
        leads_look(&session->libraries.leads, session->child.pid, session->maps_text);
        status = followed(session, message, &more, error);
    }
    do {
        if (status == PCERE_OK && !session->maps_current)
            status = maps_read(session->maps_text, &session->facts, &session->maps, error);
        session->maps_current = status == PCERE_OK;
        leads_place(&session->libraries.leads, &session->facts, &session->maps);
        if (status == PCERE_OK)
            status = snapshotter_take(&session->snapshotter, &session->maps, all, error);
        if (status == PCERE_OK)
            status = followed(session, message, &more, error);
    } while (status == PCERE_OK && more);
    return status;
}

#define WRITING_NS 800u                  /* a page of 4 KiB, by a region that does nothing else */
#define RELEASING_NS 500u                /* to give up tracking a page, where faults are dear, */
#define RELEASE_MOST_NS 8000000u         /* and for so long, while the program runs, where no other stop follows soon */

/* How long it takes, for all that is known before it begins; UINT64_MAX: nothing is. */
static uint64_t expected_ns(const struct session *session, const struct capture_message *message)
{
    const struct capture_invocation *known = timed(session, message->region, message->invocation);
    const struct capture_counts *counts = &session->log.log->counts[message->region];
    uint64_t before = message->invocation > 1 ? message->invocation - 1 : 0, mean_ns = before ? counts->time_ns / before : 0;
    if (known)
        return known->time_ns;
    return !counts->last_ns ? UINT64_MAX : mean_ns > counts->last_ns ? mean_ns : counts->last_ns;
}

static bool is_small(const struct session *session)
{
    return run_list_pages(&session->snapshotter.last) * session->manifest.page_size <= SMALL_BYTES;
}

/* Is all that the program writes from this stop to the next one worth tracking? At a beginning that is what the region writes, at an end what is written until the next
 * stop, if it follows soon: else it is released. */
static bool is_worth_tracking(const struct session *session, const struct capture_message *message)
{
    const struct snapshotter *snapshotter = &session->snapshotter;
    if (!snapshotter_spares_faults(snapshotter) || is_small(session))
        return true;
    uint64_t pages = snapshotter_restless_bytes(snapshotter) / session->manifest.page_size;
    if (message->type == CAPTURE_MESSAGE_END)
        return pages * RELEASING_NS <= RELEASE_MOST_NS;
    uint64_t written = expected_ns(session, message) / WRITING_NS;
    return (written < pages ? written : pages) * snapshotter->fault_ns < pages * TRACKING_READ_NS;
}

static enum pcere_status snapshot(struct session *session, const struct capture_message *message, int tracking,
                                  struct pcere_error *error)
{
    bool at_end = message->type == CAPTURE_MESSAGE_END;
    session->release_due = false;
    session->gap_ns = clock_ns() - session->answered_ns;
    bool scan = !(session->options->faults & CAPTURE_FAULT_PAGEMAP_SCAN);
    enum pcere_status status = facts_update(session, error);
    if (!session->begun) {
        if (status == PCERE_OK)
            status = snapshotter_track(&session->snapshotter, tracking, scan, error);
        else if (tracking >= 0)
            close(tracking);
        session->begun = true;
        session->result->tracking = session->snapshotter.pagemap.tracking >= 0;
    } else if (tracking >= 0)
        close(tracking);
    bool all = is_worth_tracking(session, message);
    if (status == PCERE_OK)
        status = memory_take(session, message, all, error);
    bool released = at_end && is_small(session);
    if (released || !all)
        snapshotter_release(&session->snapshotter, &session->maps, released);
    session->release_due = at_end && !released && all;
    return status;
}

/* What is open, and what a replay will not find where it is. `now`: filled in; that of the pending codelet, or what is there at its end. */
static enum pcere_status files_look(struct session *session, struct pending *pending, struct files *now, struct pcere_error *error)
{
    struct store_codelet *codelet = &pending->codelet;
    bool at_end = now != &pending->files;
    enum pcere_status status = files_read(session->child.pid, session->log.log, session->far_socket, now, error);
    if (status == PCERE_OK && at_end)
        files_compare(&pending->files, now);
    else if (status == PCERE_OK)
        files_settle(now);
    if (status == PCERE_OK)
        status = files_contents(session->child.pid, &pending->files, !at_end, session->writer, session->manifest.page_size, &codelet->contents,
                                &codelet->content_count, &pending->content_capacity, error);
    return status;
}

static enum pcere_status begin_read(struct session *session, const struct capture_message *message, int tracking, struct pcere_error *error)
{
    enum pcere_status status = snapshot(session, message, tracking, error);
    if (status != PCERE_OK)
        return status;
    struct pending *pending = pending_add(session);
    if (!pending)
        return pcere_fail_memory(error, "a codelet");
    pending->region = message->region;
    pending->made_low = session->log.log->stop.fresh_next;
    pending->begin_stops = session->log.log->stops;
    const struct capture_invocation *known = timed(session, message->region, message->invocation);
    pending->codelet = (struct store_codelet){.region = session_region_name(session, message->region), .in_vivo_ns = known ? known->time_ns : 0};
    memcpy(pending->threads, session->log.log->stop.threads, sizeof pending->threads);
    if (!pending->codelet.region)
        return pcere_fail_memory(error, "a codelet");
    status = codelet_begin(session->log.log, message, session->elf, &session->libraries, &session->maps, session->child.pid, &pending->codelet, error);
    externals_note(&session->externals, &session->log.log->stop);
    if (status == PCERE_OK)
        status = callpath_read(&session->callpath, (pid_t)message->tid, session->log.log->stop.registers, &session->facts,
                               &pending->codelet.frames, &pending->codelet.frame_count, error);
    if (status == PCERE_OK)
        status = files_look(session, pending, &pending->files, error);
    return status;
}

static bool stop_note(struct session *session, const struct capture_message *message)
{
    struct capture_result *result = session->result;
    struct capture_stop_cost *stops = realloc(result->stops, (result->stop_count + 1) * sizeof *stops);
    if (!stops)
        return false;
    result->stops = stops;
    stops[result->stop_count++] = (struct capture_stop_cost){
        .region = message->region, .invocation = message->invocation,
        .at_end = message->type == CAPTURE_MESSAGE_END,
        .present_bytes = run_list_pages(&session->snapshotter.last) * session->manifest.page_size,
        .read_bytes = session->snapshotter.read_bytes, .copied_bytes = session->snapshotter.copied_bytes};
    return true;
}

/* What passes from now until the program goes on, it waits for a processor. */
static void released_note(const struct session *session)
{
    __atomic_store_n(&session->log.log->released_ns, clock_ns(), __ATOMIC_RELAXED);
}

void session_answer(struct session *session, enum capture_answer_type type)
{
    uint64_t cpu_ns = thread_cpu_ns() - session->served_cpu_ns;
    struct capture_answer answer = {.type = type, .cpu_us = (uint32_t)(cpu_ns / 1000)};
    uint64_t waited_ns;
    session->child.asleep_cpu_ns += cpu_ns;
    if (delays_waited(session->child.pid, session->child.pid, &waited_ns) && waited_ns > session->served_waited_ns)
        __atomic_fetch_add(&session->log.log->stall_waited_ns, waited_ns - session->served_waited_ns, __ATOMIC_RELAXED);
    released_note(session);
    while (send(session->socket, &answer, sizeof answer, MSG_NOSIGNAL) < 0 && errno == EINTR)
        ;
    session->answered_ns = clock_ns();
    if (type == CAPTURE_ANSWER_NO_MORE) {
        close(session->socket);
        session->socket = -1;
    }
}

#define DIFFERING_NAMED 2u

static enum pcere_status differing_note(struct session *session, const char *region, uint64_t invocation, struct pcere_error *error)
{
    struct text text = {0};
    if (session->differing++ > DIFFERING_NAMED)
        return PCERE_OK;
    if (session->differing <= DIFFERING_NAMED)
        text_addf(&text, "%s, invocation %" PRIu64 ": its arguments differ between the timing run and the capturing run", region, invocation);
    else
        text_add(&text, "further invocations have other arguments in the capturing run: what they point to lies elsewhere there, or the program took another course");
    char *sentence = text_take(&text);
    enum pcere_status status = sentence ? capture_note(session->result, sentence, error) : PCERE_OK;
    free(sentence);
    return status;
}

/* What can be done when the program runs again. */
static enum pcere_status after_begin(struct session *session, const struct capture_message *message, struct pcere_error *error)
{
    struct pending *pending = &session->pending[session->pending_count - 1];
    if (!session->maps_seen)
        libraries_see(&session->libraries, session->maps_text, &session->facts);
    if (!session->options->no_after && (!session->snapshotter.learnt || session->gap_ns >= LEARN_NS))
        snapshotter_learn(&session->snapshotter);
    if (!run_list_copy(&session->snapshotter.last, &pending->before))
        return pcere_fail_memory(error, "the list of pages");
    enum pcere_status known = externals_see(&session->externals, session->maps_seen ? NULL : session->maps_text, &session->facts, session->writer,
                                            &pending->codelet, error);
    session->maps_seen = known == PCERE_OK;
    if (known != PCERE_OK)
        return known;
    const struct capture_invocation *measured = timed(session, message->region, message->invocation);
    if (measured && measured->words_hash != message->words_hash && !capture_is_numbered(session->log.log, message->region)) {
        enum pcere_status status = differing_note(session, pending->codelet.region, message->invocation, error);
        if (status != PCERE_OK)
            return status;
    }
    return session->options->no_after ? pending_keep(session, pending, error) : PCERE_OK;
}

/* What the region read and wrote. A reason that is found means that there is no use in its codelet. */
static enum pcere_status io_judge(struct pending *pending, const struct files *after, struct pcere_error *error)
{
    enum pcere_status status = files_words(&pending->files, after, &pending->io, error);
    if (status == PCERE_OK)
        status = files_obstacle(&pending->files, &pending->reason, error);
    pending->read_bytes = after->read_bytes - pending->files.read_bytes;
    pending->written_bytes = after->written_bytes - pending->files.written_bytes;
    pending->codelet.does_io = pending->io != NULL;
    pending->codelet.reads_opened = pending->files.read_opened;
    pending->codelet.ended_ns = after->stamped_ns;
    return status;
}

/* Pages that were there before and were written, whatever they hold now: each cost a fault, if writing is tracked. */
static uint64_t rewritten(const struct session *session, const struct pending *pending)
{
    uint64_t now = run_list_pages(&session->snapshotter.last), before = run_list_pages(&pending->before);
    uint64_t new = now > before ? now - before : 0;
    uint64_t read_bytes = session->snapshotter.read_bytes, untracked_bytes = session->snapshotter.untracked_bytes;
    uint64_t pages = read_bytes > untracked_bytes ? (read_bytes - untracked_bytes) / session->manifest.page_size : 0;
    return session->snapshotter.pagemap.tracking >= 0 && pages > new ? pages - new : 0;
}

/* What has other content than before, and what was written although it has the same: a replay makes both its own beforehand. */
static bool changed_find(const struct session *session, const struct pending *pending, struct run_list *ret_changed)
{
    struct run_list differing = {0}, written = {0};
    uint64_t page_bytes = session->manifest.page_size;
    bool enough = run_list_difference(&pending->before, &session->snapshotter.last, page_bytes, &differing) &&
                  snapshotter_written(&session->snapshotter, &written) && run_list_union(&differing, &written, page_bytes, ret_changed);
    run_list_done(&differing);
    run_list_done(&written);
    return enough;
}

/* `made_high`: what the region allocated lies below. */
static enum pcere_status after_end(struct session *session, struct pending *pending, const struct files *files, uint64_t made_high, struct pcere_error *error)
{
    enum pcere_status status = io_judge(pending, files, error);
    if (status != PCERE_OK)
        return status;
    pending_name(session, pending);
    struct run_list changed, after = {0}, made = {0};
    uint64_t page_bytes = session->manifest.page_size;
    if (!changed_find(session, pending, &changed))
        return pcere_fail_memory(error, "the list of pages");
    pending->rewritten_pages = rewritten(session, pending);
    /* What the region mapped itself, a replay maps elsewhere; where that lies, nobody can tell but for what it allocated. */
    const struct store_mapping room = {.start = pending->made_low, .end = made_high};
    bool enough = run_list_inside(&changed, pending->codelet.mappings, pending->codelet.mapping_count, page_bytes, &after) &&
                  run_list_inside(&changed, &room, room.start && room.start < room.end, page_bytes, &made);
    run_list_done(&changed);
    pending->codelet.after = after.runs;
    pending->codelet.after_count = after.count;
    pending->codelet.made = made.runs;
    pending->codelet.made_count = made.count;
    pending->codelet.has_after = true;
    return enough ? pending_keep(session, pending, error) : pcere_fail_memory(error, "the list of pages");
}

static bool is_refused_calm(const struct session *session, const struct capture_message *message)
{
    unsigned faults = session->options->faults;
    return faults & CAPTURE_FAULT_CALM || (faults & CAPTURE_FAULT_FIRST_CALM && !session->restless[message->region]);
}

/* Threads of ours that work beside the program, and hold what a stop may wait for. */
static void others_pause(struct session *session, bool pause)
{
    store_writer_pause(session->writer, pause);
    ahead_pause(session->ahead, pause);
}

#define LOOKS_AGAIN 30u                  /* where they did not calm before another invocation */

/* At a beginning, `ret_hold` is what threads are to be held for, or 0, or HOLD_IMPOSSIBLE: it cannot be captured; it is NULL at an end. */
static enum pcere_status frozen(struct session *session, const struct capture_message *message, uint64_t *ret_hold, struct pcere_error *error)
{
    if (session->options->faults & CAPTURE_FAULT_PTRACE)
        return pcere_fail(error, PCERE_REFUSED, EPERM, "allow ptrace: 'pcere check' tells more", "cannot trace the program");
    enum hold_found found = HOLD_NOBODY;
    bool choose = ret_hold && !session->options->no_after;
    others_pause(session, true);
    if (choose && is_refused_calm(session, message))
        *ret_hold = HOLD_IMPOSSIBLE;
    enum pcere_status status = choose && *ret_hold != HOLD_IMPOSSIBLE ? hold_freeze(&session->child, session->log.log, &session->other_callpath, message, session->holds + 1,
                                                    session->restless_any ? LOOKS_AGAIN : HOLD_LOOKS_MOST, &session->freeze, &found, error)
                                      : freeze_all(&session->child, (pid_t)message->tid, &session->freeze, error);
    if (status != PCERE_OK)
        others_pause(session, false);
    if (status == PCERE_OK && ret_hold && *ret_hold != HOLD_IMPOSSIBLE)
        *ret_hold = found == HOLD_RESTLESS ? HOLD_IMPOSSIBLE : found == HOLD_SOME ? ++session->holds : 0;
    return status;
}

static void thawed(struct session *session)
{
    others_pause(session, false);
    released_note(session);
    freeze_release(&session->freeze);
}

#define HOLD_NS 1000000000u              /* threads are held so long, and this many times what the invocation took in vivo */
#define HOLD_RUNS 10u

static void hold_begin(const struct session *session, struct pending *pending, uint64_t hold)
{
    uint64_t in_vivo_ns = pending->codelet.in_vivo_ns < UINT64_MAX / (4 * HOLD_RUNS) ? pending->codelet.in_vivo_ns : 0;
    uint64_t waited_ns = session->waited[pending->region] ? HOLD_NS : 0;      /* for threads that were held in the first run: it does not take that by itself */
    in_vivo_ns -= waited_ns < in_vivo_ns ? waited_ns : in_vivo_ns;
    pending->hold = hold;
    pending->held_ns = clock_ns();
    pending->held_cpu_ns = pending_cpu_ns(session);
    pending->deadline_ns = pending->held_ns + HOLD_NS + HOLD_RUNS * in_vivo_ns;
}

/* Time that the program stood still is none that it had. */
void session_holds_extend(struct session *session, uint64_t stopped_ns)
{
    for (size_t i = 0; i < session->pending_count; i++) {
        session->pending[i].deadline_ns += stopped_ns;
        session->pending[i].held_ns += stopped_ns;
    }
}

/* The end of an invocation that did not come to it while other threads stood still. */
static enum pcere_status expired_serve(struct session *session, struct pending *pending, int tracking, struct pcere_error *error)
{
    if (tracking >= 0)
        close(tracking);
    session_answer(session, CAPTURE_ANSWER_GO);
    if (session->choosing) {        /* perhaps it takes long by itself: a second run knows how long to wait */
        if (++session->waited[pending->region] >= SESSION_WAITS_MOST)
            session->log.log->histories[pending->region].unwanted = true;
        pending_drop(session, pending);
        return PCERE_OK;
    }
    free(pending->reason);
    pending->reason = strdup(NOT_ALONE);
    return pending->reason ? pending_keep(session, pending, error) : pcere_fail_memory(error, "the classes");
}

/* It comes once, whatever becomes of the invocation that it comes with. */
static void tracking_keep(struct session *session, int tracking)
{
    if (tracking >= 0 && session->tracking < 0)
        session->tracking = tracking;
    else if (tracking >= 0)
        close(tracking);
}

static int tracking_take(struct session *session, int tracking)
{
    if (tracking >= 0)
        return tracking;
    int kept = session->tracking;
    session->tracking = -1;
    return kept;
}

/* Other threads may be at work that would write beside the region. The program stands still. */
static void restless_note(struct session *session, const struct capture_message *message)
{
    session->restless_any = true;
    session->restless[message->region]++;
    if (session->choosing)
        session->log.log->histories[message->region].unwanted = session->restless[message->region] >= SESSION_RESTLESS_MOST;
    else
        session_plan_replace(session, message);
}

static enum pcere_status begin_serve(struct session *session, const struct capture_message *message, int tracking, struct pcere_error *error)
{
    bool wanted;
    uint64_t hold = 0;
    enum pcere_status status = session_wants(session, message, &wanted, error);
    if (status == PCERE_OK && wanted)
        status = frozen(session, message, &hold, error);
    if (status == PCERE_OK && wanted && hold == HOLD_IMPOSSIBLE) {
        restless_note(session, message);
        thawed(session);
        wanted = false;
    }
    if (status != PCERE_OK || !wanted) {
        tracking_keep(session, tracking);
        if (status == PCERE_OK)
            session_answer(session, CAPTURE_ANSWER_DECLINED);
        return status;
    }
    status = begin_read(session, message, tracking_take(session, tracking), error);
    if (status == PCERE_OK) {
        hold_begin(session, &session->pending[session->pending_count - 1], hold);
        delays_look(session->child.pid, &session->freeze, &session->pending[session->pending_count - 1].delays);
        session_answer(session, CAPTURE_ANSWER_GO);     /* before it can run: so it wakes up once */
    }
    thawed(session);
    if (status != PCERE_OK) {
        freeze_let_go(&session->freeze, hold);
        return status;
    }
    return stop_note(session, message) ? after_begin(session, message, error) : pcere_fail_memory(error, "the list of stops");
}

/* Another invocation of its class may have been without. The program stands still. */
static bool is_given_up(struct session *session, const struct capture_message *message)
{
    uint32_t *alarmed = &session->log.log->histories[message->region].alarmed;
    if (session->choosing || !message->alarmed || !message->alarmed_rarely || *alarmed >= CAPTURE_ALARMED_MOST || !session_plan_replace(session, message))
        return false;
    ++*alarmed;
    return true;
}

static enum pcere_status end_serve(struct session *session, const struct capture_message *message, int tracking, struct pcere_error *error)
{
    struct files files = {0};
    struct pending *pending = pending_find(session, message);
    if (pending && pending->expired)
        return expired_serve(session, pending, tracking, error);
    enum pcere_status status = pending ? frozen(session, message, NULL, error) : PCERE_OK;
    if (status != PCERE_OK || !pending) {
        if (tracking >= 0)
            close(tracking);
        if (status == PCERE_OK)
            session_answer(session, CAPTURE_ANSWER_GO);
        return status;
    }
    if (is_given_up(session, message)) {
        tracking_keep(session, tracking);
        thawed(session);
        session_answer(session, CAPTURE_ANSWER_GO);
        pending_drop(session, pending);
        return PCERE_OK;
    }
    struct delays delays;
    delays_look(session->child.pid, &session->freeze, &delays);
    pending->waited_ns = delays_between(&pending->delays, &delays);
    pending->gathered = pending->delays.count > 1;
    status = snapshot(session, message, tracking, error);
    uint64_t made_high = session->log.log->stop.fresh_next;      /* before the program goes on */
    pending->large_pages = session->log.log->stop.fresh_large_pages;
    if (status == PCERE_OK)
        status = codelet_end(session->log.log, pending->begin_stops, &pending->codelet, error);
    if (status == PCERE_OK)
        status = files_look(session, pending, &files, error);
    if (status == PCERE_OK)
        session_answer(session, CAPTURE_ANSWER_GO);
    thawed(session);
    if (status == PCERE_OK) {
        pending->end_stack_pointer = message->stack_pointer;
        pending->alarmed = message->alarmed;
        status = stop_note(session, message) ? after_end(session, pending, &files, made_high, error) : pcere_fail_memory(error, "the list of stops");
    }
    files_done(&files);
    return status;
}

enum pcere_status session_serve(struct session *session, const struct capture_message *message, int tracking, struct pcere_error *error)
{
    if (message->type == CAPTURE_MESSAGE_BEGIN)
        return begin_serve(session, message, tracking, error);
    if (message->type == CAPTURE_MESSAGE_END)
        return end_serve(session, message, tracking, error);
    if (tracking >= 0)
        close(tracking);
    session_answer(session, CAPTURE_ANSWER_GO);
    struct pending *pending = pending_find(session, message);
    if (pending && message->type == CAPTURE_MESSAGE_FORGET)
        pending_drop(session, pending);
    else if (pending)
        return pending_keep(session, pending, error);
    return PCERE_OK;
}
