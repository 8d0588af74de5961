/* capture-rt/tracer/pending.c - codelets between the beginning of their region and the disk. */
#include "capture-rt/tracer/session.h"

#include "core/text.h"

#include <stdlib.h>
#include <string.h>

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
        session->settled++;
    } else if (failed) {
        class->reason = class->reason ? class->reason : strdup(error->message);
        if (session->trouble.status == PCERE_OK)
            session->trouble = *error;
    }
    session->under_way--;
    pthread_cond_broadcast(&session->changed);
    pthread_mutex_unlock(&session->mutex);
    free(settling);
}

void session_settle(struct session *session)
{
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

void pending_watch(struct session *session)
{
    uint64_t now_ns = clock_ns();
    for (size_t i = 0; i < session->pending_count; i++) {
        struct pending *pending = &session->pending[i];
        if (!pending->hold || now_ns < pending->deadline_ns)
            continue;
        pending->expired = true;
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
    pending_remove(session, pending);
}

enum pcere_status pending_send(struct session *session, struct pending *pending, struct pcere_error *error)
{
    struct settling *settling = malloc(sizeof *settling);
    enum pcere_status status = settling ? codelet_finish(session->log.log, pending->threads, session->elf, &session->libraries, pending->end_stack_pointer,
                                                         &pending->codelet, error)
                                        : pcere_fail_memory(error, "a codelet");
    if (status != PCERE_OK) {
        free(settling);
        pending_drop(session, pending);
        return status;
    }
    struct store_codelet codelet = pending->codelet;
    codelet.before = pending->before.runs;
    codelet.before_count = pending->before.count;
    codelet.does_io |= !codelet.has_after;
    files_move(&pending->files, &codelet);
    *settling = (struct settling){session, pending->region, pending->class,
                                  run_list_pages(&pending->before) * session->manifest.page_size};
    pending_remove(session, pending);
    pthread_mutex_lock(&session->mutex);
    session->under_way++;
    pthread_mutex_unlock(&session->mutex);
    status = store_writer_codelet_async(session->writer, &codelet, codelet_settled, settling, error);
    if (status != PCERE_OK) {
        pthread_mutex_lock(&session->mutex);
        session->under_way--;
        pthread_mutex_unlock(&session->mutex);
        free(settling);
    }
    return status;
}
