/* capture-rt/tracer/pending.c - codelets between the beginning of their region and the disk.
 *
 * Pages are written while the program runs; codelets, which say which pages lie where, wait in memory until it is known whom they represent: in the
 * only run of a capture to its end, else not at all. */
#include "capture-rt/tracer/session.h"

#include "core/text.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- codelets on their way to disk ----------------------------------------------------------------------------------------- */

struct settling { struct session *session; size_t region, class; uint64_t memory_bytes; };

static void codelet_settled(void *context, const char *name, uint64_t stored_bytes, const struct pcere_error *error)
{
    struct settling *settling = context;
    struct session *session = settling->session;
    pthread_mutex_lock(&session->mutex);
    struct store_class *class = &session->manifest.regions[settling->region].classes[settling->class];
    bool failed = error && error->status != PCERE_OK;
    if (!failed && name && (class->codelet = strdup(name))) {
        class->memory_bytes = settling->memory_bytes;
        class->stored_bytes = stored_bytes;
    } else if (failed) {
        class->reason = class->reason ? class->reason : strdup(error->message);
        if (session->trouble.status == PCERE_OK)
            session->trouble = *error;
    }
    session->under_way--;
    session->settled++;
    pthread_cond_broadcast(&session->changed);
    pthread_mutex_unlock(&session->mutex);
    free(settling);
}

void session_settle(struct session *session)
{
    store_writer_settle(session->writer);
    pthread_mutex_lock(&session->mutex);
    while (session->under_way > 0)
        pthread_cond_wait(&session->changed, &session->mutex);
    pthread_mutex_unlock(&session->mutex);
}

/* ---- pending ones ---------------------------------------------------------------------------------------------------------- */

struct pending *pending_add(struct session *session)
{
    if (!array_reserve(&session->pending, &session->pending_capacity, session->pending_count + 1, sizeof *session->pending))
        return NULL;
    struct pending *pending = &session->pending[session->pending_count++];
    memset(pending, 0, sizeof *pending);
    return pending;
}

struct pending *pending_find(struct session *session, const struct capture_message *message)
{
    for (size_t i = session->pending_count; i > 0; i--) {
        struct pending *pending = &session->pending[i - 1];
        if (pending->region == message->region && pending->codelet.invocation == message->invocation)
            return pending;
    }
    return NULL;
}

static void expired_tell(struct session *session)
{
    bool any = false;
    for (size_t i = 0; i < session->pending_count; i++)
        any |= session->pending[i].expired;
    __atomic_store_n(&session->log.log->hold_expired, any, __ATOMIC_RELEASE);
}

uint64_t pending_cpu_ns(const struct session *session)
{
    clockid_t clock;
    struct timespec time;
    if (clock_getcpuclockid(session->child.pid, &clock) || clock_gettime(clock, &time))
        return UINT64_MAX;
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* So long the invocation waited for threads that were held, and nobody worked: time that is none of its own. Returns it. */
static uint64_t idle_take(struct session *session, const struct pending *pending, uint64_t held_ns)
{
    uint64_t cpu_ns = pending_cpu_ns(session);
    if (cpu_ns == UINT64_MAX || pending->held_cpu_ns == UINT64_MAX || cpu_ns < pending->held_cpu_ns || cpu_ns - pending->held_cpu_ns > held_ns)
        return 0;
    uint64_t idle_ns = held_ns - (cpu_ns - pending->held_cpu_ns);
    __atomic_fetch_add(&session->log.log->stall_ns, idle_ns, __ATOMIC_RELAXED);
    return idle_ns;
}

/* What is left is its work and a wait that works (polling), which cannot be told apart. */
static void held_note(struct session *session, const struct pending *pending, uint64_t busy_ns)
{
    if (array_reserve(&session->held, &session->held_capacity, session->held_count + 1, sizeof *session->held))
        session->held[session->held_count++] = (struct held){pending->region, pending->codelet.invocation, busy_ns};
}

void pending_watch(struct session *session)
{
    uint64_t now_ns = clock_ns();
    for (size_t i = 0; i < session->pending_count; i++) {
        struct pending *pending = &session->pending[i];
        if (!pending->hold || now_ns < pending->deadline_ns)
            continue;
        pending->expired = true;
        held_note(session, pending, now_ns - pending->held_ns - idle_take(session, pending, now_ns - pending->held_ns));
        expired_tell(session);
        freeze_let_go(&session->freeze, pending->hold);
        pending->hold = 0;
    }
}

static void pending_remove(struct session *session, struct pending *pending)
{
    size_t at = (size_t)(pending - session->pending);
    uint64_t hold = pending->hold;
    session->pending_count--;
    memmove(pending, pending + 1, (session->pending_count - at) * sizeof *pending);
    expired_tell(session);
    if (hold)
        freeze_let_go(&session->freeze, hold);
}

void pending_drop(struct session *session, struct pending *pending)
{
    store_codelet_done(&pending->codelet);
    run_list_done(&pending->before);
    files_done(&pending->files);
    free(pending->io);
    free(pending->reason);
    pending_remove(session, pending);
}

static enum pcere_status class_store(struct session *session, size_t region, size_t index, struct kept *kept, struct pcere_error *error);

/* Where it is known whom it represents, a codelet goes to disk at once: a capture that is killed keeps it. */
static enum pcere_status planned_store(struct session *session, struct kept *kept, struct pcere_error *error)
{
    const struct store_region *region = kept->region < session->manifest.region_count ? &session->manifest.regions[kept->region] : NULL;
    for (size_t i = 0; region && !session->choosing && !session->second && i < region->class_count; i++)
        if (region->classes[i].captured && region->classes[i].representative == kept->invocation)
            return class_store(session, kept->region, i, kept, error);
    return PCERE_OK;
}

static struct kept *kept_add(struct session *session)
{
    if (!array_reserve(&session->kept, &session->kept_capacity, session->kept_count + 1, sizeof *session->kept))
        return NULL;
    struct kept *kept = &session->kept[session->kept_count++];
    *kept = (struct kept){0};
    return kept;
}

/* Runs of pages without those that are seen at another address as well. */
static bool aliases_leave(const struct store_codelet *codelet, uint64_t page_bytes, struct run_list *runs)
{
    struct run_list kept;
    if (!codelet->alias_count)
        return true;
    if (!run_list_outside(runs, codelet->aliases, codelet->alias_count, page_bytes, &kept))
        return false;
    run_list_done(runs);
    *runs = kept;
    return true;
}

/* Of memory that has several addresses, what is at one of them stands for all. */
static enum pcere_status memory_settle(struct pending *pending, uint64_t page_bytes, struct pcere_error *error)
{
    struct store_codelet *codelet = &pending->codelet;
    struct run_list after = {codelet->after, codelet->after_count, codelet->after_count};
    bool enough = aliases_leave(codelet, page_bytes, &pending->before) && aliases_leave(codelet, page_bytes, &after);
    codelet->after = after.runs;
    codelet->after_count = after.count;
    return enough ? PCERE_OK : pcere_fail_memory(error, "the list of pages");
}

void pending_name(struct session *session, struct pending *pending)
{
    if (!pending->named)
        callpath_name(&session->callpath, session->child.pid, pending->codelet.frames, &pending->codelet.frame_count);
    pending->named = true;
}

enum pcere_status pending_keep(struct session *session, struct pending *pending, struct pcere_error *error)
{
    pending_name(session, pending);
    struct kept *kept = kept_add(session);
    enum pcere_status status = kept ? codelet_finish(session->log.log, pending->threads, session->elf, &session->libraries, pending->end_stack_pointer,
                                                     &pending->codelet, error)
                                    : pcere_fail_memory(error, "a codelet");
    if (status == PCERE_OK)
        status = memory_settle(pending, session->manifest.page_size, error);
    if (status != PCERE_OK) {
        session->kept_count -= kept != NULL;
        pending_drop(session, pending);
        return status;
    }
    *kept = (struct kept){.region = pending->region, .invocation = pending->codelet.invocation, .codelet = pending->codelet,
                          .read_bytes = pending->read_bytes, .written_bytes = pending->written_bytes, .io = pending->io,
                          .reason = pending->reason, .alarmed = pending->alarmed, .rewritten_pages = pending->rewritten_pages,
                          .waited_ns = pending->waited_ns, .large_pages = pending->large_pages, .gathered = pending->gathered};
    if (kept->reason) {
        store_codelet_done(&kept->codelet);
        kept->codelet = (struct store_codelet){0};
        run_list_done(&pending->before);
        files_done(&pending->files);
    } else {
        kept->codelet.before = pending->before.runs;
        kept->codelet.before_count = pending->before.count;
        kept->codelet.does_io |= !kept->codelet.has_after;
        files_move(&pending->files, &kept->codelet);
        kept->memory_bytes = run_list_pages(&pending->before) * session->manifest.page_size;
    }
    pending_remove(session, pending);
    return planned_store(session, kept, error);
}

/* ---- kept ones ------------------------------------------------------------------------------------------------------------- */

struct kept *kept_find(const struct session *session, size_t region, uint64_t invocation)
{
    for (size_t i = 0; i < session->kept_count; i++)
        if (session->kept[i].region == region && session->kept[i].invocation == invocation)
            return &session->kept[i];
    return NULL;
}

static void kept_free(struct kept *kept)
{
    store_codelet_done(&kept->codelet);
    free(kept->io);
    free(kept->reason);
    *kept = (struct kept){0};
}

void kept_done(struct session *session)
{
    for (size_t i = 0; i < session->kept_count; i++)
        kept_free(&session->kept[i]);
    free(session->kept);
    session->kept = NULL;
    session->kept_count = session->kept_capacity = 0;
}

/* Pages that are there after the region, and were not before it. */
static uint64_t made_count(const struct store_codelet *codelet, uint64_t page_bytes)
{
    uint64_t made = 0;
    size_t at = 0;
    for (size_t i = 0; i < codelet->after_count; i++) {
        uint64_t start = codelet->after[i].address, end = start + codelet->after[i].count * page_bytes;
        made += codelet->after[i].count;
        while (at < codelet->before_count && codelet->before[at].address + codelet->before[at].count * page_bytes <= start)
            at++;
        for (size_t j = at; j < codelet->before_count && codelet->before[j].address < end; j++) {
            uint64_t low = codelet->before[j].address > start ? codelet->before[j].address : start;
            uint64_t high = codelet->before[j].address + codelet->before[j].count * page_bytes;
            made -= ((high < end ? high : end) - low) / page_bytes;
        }
    }
    return made;
}

/* What is known of the class's representative goes into it, and its codelet to the writer. */
static enum pcere_status class_store(struct session *session, size_t region, size_t index, struct kept *kept, struct pcere_error *error)
{
    struct store_class *class = &session->manifest.regions[region].classes[index];
    kept->stored = true;
    class->read_bytes = kept->read_bytes;
    class->written_bytes = kept->written_bytes;
    class->io = kept->io;
    kept->io = NULL;
    if (kept->reason) {
        class->reason = kept->reason;
        kept->reason = NULL;
        return PCERE_OK;
    }
    struct settling *settling = malloc(sizeof *settling);
    if (!settling)
        return pcere_fail_memory(error, "a codelet");
    *settling = (struct settling){session, region, index, kept->memory_bytes};
    kept->codelet.members = class->members;
    kept->codelet.in_vivo_ns = class->representative_ns;
    class->made_pages = made_count(&kept->codelet, session->manifest.page_size);
    class->team = store_codelet_team(&kept->codelet, session->manifest.threads);
    pthread_mutex_lock(&session->mutex);
    session->under_way++;
    pthread_mutex_unlock(&session->mutex);
    enum pcere_status status = store_writer_codelet_async(session->writer, &kept->codelet, codelet_settled, settling, error);
    if (status != PCERE_OK) {
        pthread_mutex_lock(&session->mutex);
        session->under_way--;
        pthread_mutex_unlock(&session->mutex);
        free(settling);
    }
    return status;
}

enum pcere_status kept_store(struct session *session, struct pcere_error *error)
{
    enum pcere_status status = PCERE_OK;
    for (size_t i = 0; i < session->manifest.region_count; i++)
        for (size_t j = 0; j < session->manifest.regions[i].class_count && status == PCERE_OK; j++) {
            const struct store_class *class = &session->manifest.regions[i].classes[j];
            struct kept *kept = class->captured ? kept_find(session, i, class->representative) : NULL;
            if (kept && !kept->stored)
                status = class_store(session, i, j, kept, error);
        }
    session_settle(session);
    return status;
}
