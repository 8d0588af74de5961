/* store/writer.c - making a store: its first files, and how codelets and the manifest follow their pages. */
#include "core/faults.h"
#include "core/files.h"
#include "core/text.h"
#include "core/workers.h"
#include "store/directory.h"
#include "store/page_queue.h"
#include "store/staging.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

struct job {                                       /* a codelet that waits for its pages */
    struct store_codelet codelet;
    uint64_t blocks;
    store_codelet_done_fn *done;
    void *context;
    struct job *next;
};

struct store_writer {
    struct staging staging;                        /* the directory */
    int pages;                                     /* descriptor */
    uint64_t page_bytes;
    struct page_queue *queue;
    struct manifest_files files;
    char *manifest_text;                           /* as last written */
    size_t manifest_bytes;
    bool manifest_given;
    pthread_mutex_t writing;                       /* one codelet or manifest at a time; guards all above */

    pthread_t scribe;
    bool scribe_runs;
    pthread_mutex_t lock;                          /* guards all below */
    pthread_cond_t changed;
    struct job *first, **last;
    bool busy, stop;
    bool failure_told, failure_waits;              /* a failure of the background work, and whether anyone heard of it */
    struct pcere_error failure;
};

/* ---- the empty store ------------------------------------------------------------------------------------------------------ */

static enum pcere_status write_manifest(struct store_writer *writer, const struct store_manifest *manifest, bool durable,
                                        struct pcere_error *error)
{
    char *text;
    size_t bytes;
    enum pcere_status status = manifest_encode(manifest, &writer->files, &text, &bytes, error);
    if (!status)
        status = file_replace(writer->staging.directory, "manifest.json", text, bytes, durable, "manifest.write", error);
    else
        return status;
    if (status) {
        free(text);
        return status;
    }
    free(writer->manifest_text);
    writer->manifest_text = text;
    writer->manifest_bytes = bytes;
    return PCERE_OK;
}

static enum pcere_status write_pages_header(struct store_writer *writer, struct pcere_error *error)
{
    struct pages_header header = {.magic = PAGES_MAGIC, .version = STORE_SCHEMA_VERSION, .page_bytes = (uint32_t)writer->page_bytes,
                                  .store_id = writer->files.store_id};
    header.check = XXH64(&header, offsetof(struct pages_header, check), 0);
    enum pcere_status status = file_replace(writer->staging.directory, "pages", &header, sizeof header, false, "pages.create", error);
    if (status)
        return status;
    writer->files.pages_bytes = sizeof header;
    writer->pages = openat(writer->staging.directory, "pages", O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    return writer->pages < 0 ? pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot open 'pages'") : PCERE_OK;
}

static enum pcere_status make_empty(struct store_writer *writer, struct pcere_error *error)
{
    if (getrandom(&writer->files.store_id, sizeof writer->files.store_id, 0) != (ssize_t)sizeof writer->files.store_id)
        return pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot make an identity for '%s'", writer->staging.name);
    enum pcere_status status = write_pages_header(writer, error);
    if (!status)
        status = directory_make(writer->staging.directory, "codelets", error);
    if (!status)
        status = file_replace(writer->staging.directory, "samples.jsonl", "", 0, false, "samples.create", error);
    struct store_manifest empty = {.page_size = writer->page_bytes};
    return status ? status : write_manifest(writer, &empty, false, error);
}

/* ---- codelets ------------------------------------------------------------------------------------------------------------ */

static bool name_taken(const struct store_writer *writer, const char *name)
{
    for (size_t i = 0; i < writer->files.codelet_count; i++)
        if (strcmp(writer->files.codelets[i], name) == 0)
            return true;
    return false;
}

/* "conj_grad@cg.c:405", 3: "conj_grad@cg.c_405-3"; a name for files and for make rules that is not taken yet. malloc'ed. */
static char *choose_name(const struct store_writer *writer, const struct store_codelet *codelet)
{
    char stem[128];
    snprintf(stem, sizeof stem, "%s", codelet->region && *codelet->region ? codelet->region : "region");
    for (char *at = stem; *at; at++)
        if (!(*at >= '0' && *at <= '9') && !(*at >= 'A' && *at <= 'Z') && !(*at >= 'a' && *at <= 'z') && !strchr("@_-", *at) &&
            !(*at == '.' && at != stem))
            *at = '_';
    char *name = NULL;
    for (unsigned again = 0;; again++) {
        int length = again ? asprintf(&name, "%s-%llu-%u", stem, (unsigned long long)codelet->invocation, again + 1)
                           : asprintf(&name, "%s-%llu", stem, (unsigned long long)codelet->invocation);
        if (length < 0)
            return NULL;
        if (!name_taken(writer, name))
            return name;
        free(name);
    }
}

/* Remember the name for the manifest; a copy, since the manifest keeps it. */
static bool add_name(struct store_writer *writer, const char *name)
{
    char **grown = reallocarray(writer->files.codelets, writer->files.codelet_count + 1, sizeof *grown);
    if (!grown)
        return false;
    writer->files.codelets = grown;
    return (grown[writer->files.codelet_count] = strdup(name)) && ++writer->files.codelet_count;
}

/* As file_replace; the disk begins with it at once, since it has to be there when the store is complete. */
static enum pcere_status write_codelet_file(const struct store_writer *writer, const char *path, const void *data, size_t bytes, struct pcere_error *error)
{
    struct file_stage stage;
    enum pcere_status status = file_stage(writer->staging.directory, path, "codelet.write", &stage, error);
    if (status)
        return status;
    status = file_write_all(stage.descriptor, -1, data, bytes, stage.name, "codelet.write", error);
    if (!status)
        sync_file_range(stage.descriptor, 0, 0, SYNC_FILE_RANGE_WRITE);
    return file_publish(writer->staging.directory, path, &stage, false, "codelet.write", status, error);
}

static uint64_t runs_claim(struct store_writer *writer, const struct store_run *runs, size_t count)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        if (runs[i].page != STORE_PAGE_ZERO)
            bytes += page_queue_claim(writer->queue, runs[i].page, runs[i].count);
    return bytes;
}

/* What no codelet before it has of its pages. */
static uint64_t codelet_claim(struct store_writer *writer, const struct store_codelet *codelet)
{
    return runs_claim(writer, codelet->before, codelet->before_count) + runs_claim(writer, codelet->after, codelet->after_count)
           + runs_claim(writer, codelet->made, codelet->made_count) + runs_claim(writer, codelet->contents, codelet->content_count)
           + runs_claim(writer, codelet->externals, codelet->external_count);
}

/* With `writing` held: the codelet's file, once the first `blocks` blocks are in `pages`. */
static enum pcere_status write_codelet(struct store_writer *writer, const struct store_codelet *codelet, uint64_t blocks,
                                       char **ret_name, uint64_t *ret_stored_bytes, struct pcere_error *error)
{
    uint64_t pages;
    enum pcere_status status = page_queue_wait(writer->queue, blocks, &pages, error);
    if (status)
        return status;
    char *name = choose_name(writer, codelet), *path = NULL;
    void *data = NULL;
    size_t data_bytes;
    if (!name || asprintf(&path, "codelets/%s.codelet", name) < 0)
        status = pcere_fail_memory(error, "a codelet's name");
    if (!status)
        status = codelet_encode(codelet, name, writer->files.store_id, writer->page_bytes, pages, &data, &data_bytes, error);
    if (!status)
        status = write_codelet_file(writer, path, data, data_bytes, error);
    if (!status && !add_name(writer, name)) {
        unlinkat(writer->staging.directory, path, 0);
        status = pcere_fail_memory(error, "a codelet's name");
    }
    free(data);
    free(path);
    if (status) {
        free(name);
        return status;
    }
    *ret_stored_bytes = codelet_claim(writer, codelet);
    *ret_name = name;
    return PCERE_OK;
}

static void note_failure(struct store_writer *writer, const struct pcere_error *error, bool told)
{
    pthread_mutex_lock(&writer->lock);
    if (!writer->failure_waits && !writer->failure_told)
        writer->failure = *error;
    writer->failure_told |= told;
    writer->failure_waits = !writer->failure_told;
    pthread_mutex_unlock(&writer->lock);
}

static void job_do(struct store_writer *writer, struct job *job)
{
    char *name = NULL;
    uint64_t stored = 0;
    struct pcere_error error = {0};
    pthread_mutex_lock(&writer->writing);
    enum pcere_status status = write_codelet(writer, &job->codelet, job->blocks, &name, &stored, &error);
    pthread_mutex_unlock(&writer->writing);
    if (status)
        note_failure(writer, &error, job->done != NULL);
    if (job->done)
        job->done(job->context, name, stored, status ? &error : NULL);
    free(name);
    store_codelet_done(&job->codelet);
    free(job);
}

/* With `lock` held: the next job is done, if none is being done, or something has changed. One after the other, since the manifest has the names in this order. */
static void job_await(struct store_writer *writer)
{
    struct job *job = writer->first;
    if (!job || writer->busy) {
        pthread_cond_wait(&writer->changed, &writer->lock);
        return;
    }
    if (!(writer->first = job->next))
        writer->last = &writer->first;
    writer->busy = true;
    pthread_mutex_unlock(&writer->lock);
    job_do(writer, job);
    pthread_mutex_lock(&writer->lock);
    writer->busy = false;
    pthread_cond_broadcast(&writer->changed);
}

static void *scribe_main(void *argument)
{
    struct store_writer *writer = argument;
    workers_yield();
    pthread_mutex_lock(&writer->lock);
    while (writer->first || writer->busy || !writer->stop)
        job_await(writer);
    pthread_mutex_unlock(&writer->lock);
    return NULL;
}

void store_writer_settle(struct store_writer *writer)
{
    page_queue_hurry(writer->queue);
    pthread_mutex_lock(&writer->lock);
    while (writer->first || writer->busy)
        job_await(writer);
    pthread_mutex_unlock(&writer->lock);
}

enum pcere_status store_writer_codelet(struct store_writer *writer, const struct store_codelet *codelet, char **ret_name,
                                       uint64_t *ret_stored_bytes, struct pcere_error *error)
{
    uint64_t blocks;
    page_queue_seal(writer->queue, &blocks);
    store_writer_settle(writer);
    pthread_mutex_lock(&writer->writing);
    enum pcere_status status = write_codelet(writer, codelet, blocks, ret_name, ret_stored_bytes, error);
    pthread_mutex_unlock(&writer->writing);
    return status;
}

enum pcere_status store_writer_codelet_async(struct store_writer *writer, struct store_codelet *codelet, store_codelet_done_fn *done,
                                             void *context, struct pcere_error *error)
{
    struct job *job = calloc(1, sizeof *job);
    if (!job) {
        store_codelet_done(codelet);
        return pcere_fail_memory(error, "a codelet");
    }
    job->codelet = *codelet;
    *codelet = (struct store_codelet){0};
    job->done = done;
    job->context = context;
    page_queue_seal(writer->queue, &job->blocks);
    pthread_mutex_lock(&writer->lock);
    *writer->last = job;
    writer->last = &job->next;
    pthread_cond_broadcast(&writer->changed);
    pthread_mutex_unlock(&writer->lock);
    return PCERE_OK;
}

/* ---- pages, program, manifest -------------------------------------------------------------------------------------------- */

enum pcere_status store_writer_reserve(struct store_writer *writer, uint64_t bytes, const _Atomic(bool) *stop, struct pcere_error *error)
{
    return page_queue_reserve(writer->queue, bytes, stop, error);
}

void store_writer_flush(struct store_writer *writer)
{
    page_queue_flush(writer->queue);
}

void store_writer_pause(struct store_writer *writer, bool pause)
{
    page_queue_pause(writer->queue, pause);
}

enum pcere_status store_writer_pages(struct store_writer *writer, const void *data, size_t count, uint64_t *ret_pages,
                                     struct pcere_error *error)
{
    struct pcere_error own = {0};
    enum pcere_status status = page_queue_add(writer->queue, data, count, ret_pages, &own);
    if (status) {
        note_failure(writer, &own, true);
        if (error)
            *error = own;
    }
    return status;
}

enum pcere_status store_writer_program(struct store_writer *writer, const char *file, struct pcere_error *error)
{
    struct store_manifest manifest;
    struct manifest_files files;
    uint64_t hash, bytes;
    enum pcere_status status = file_copy(file, writer->staging.directory, "program", "program.write", error);
    if (!status)
        status = file_hash(writer->staging.directory, "program", &hash, &bytes, error);
    if (status)
        return status;
    pthread_mutex_lock(&writer->writing);
    writer->files.has_program = true;
    writer->files.program_bytes = bytes;
    writer->files.program_hash = hash;
    status = manifest_decode(writer->manifest_text, writer->manifest_bytes, &manifest, &files, error);
    if (!status) {
        status = write_manifest(writer, &manifest, false, error);
        store_manifest_done(&manifest);
        manifest_files_done(&files);
    }
    pthread_mutex_unlock(&writer->writing);
    return status;
}

static const struct store_library *library_called(const struct store_writer *writer, const char *name)
{
    for (size_t i = 0; i < writer->files.library_count; i++)
        if (strcmp(writer->files.libraries[i].about.name, name) == 0)
            return &writer->files.libraries[i].about;
    return NULL;
}

/* The name under which the store has, or will have, the file. */
static char *library_name(const struct store_writer *writer, const char *name, const char *file, bool *ret_known)
{
    char *own = strdup(name);
    const struct store_library *other = NULL;
    for (unsigned number = 2; own && (other = library_called(writer, own)) && strcmp(other->file, file) != 0; number++) {
        free(own);
        own = NULL;
        if (asprintf(&own, "%s-%u", name, number) < 0)
            own = NULL;
    }
    *ret_known = other != NULL;
    return own;
}

/* With `writing` held. */
static enum pcere_status add_library(struct store_writer *writer, const char *name, const char *file, const char *path,
                                     struct pcere_error *error)
{
    struct manifest_library library = {0}, *grown;
    enum pcere_status status = directory_make(writer->staging.directory, "libraries", error);
    if (!status)
        status = file_copy(file, writer->staging.directory, path, "library.write", error);
    if (!status)
        status = file_hash(writer->staging.directory, path, &library.hash, &library.bytes, error);
    if (status)
        return status;
    library.about = (struct store_library){strdup(name), strdup(file)};
    grown = reallocarray(writer->files.libraries, writer->files.library_count + 1, sizeof *grown);
    if (grown)
        writer->files.libraries = grown;
    if (!grown || !library.about.name || !library.about.file) {
        free(library.about.name);
        free(library.about.file);
        unlinkat(writer->staging.directory, path, 0);
        return pcere_fail_memory(error, "the list of libraries");
    }
    writer->files.libraries[writer->files.library_count++] = library;
    return PCERE_OK;
}

enum pcere_status store_writer_library(struct store_writer *writer, const char *name, const char *file, char **ret_name,
                                       struct pcere_error *error)
{
    char *path = NULL;
    bool known = false;
    if (!codelet_name_valid(name))
        return pcere_fail(error, PCERE_USAGE, 0, NULL, "'%.200s' is not the name of a library", name);
    pthread_mutex_lock(&writer->writing);
    char *own = library_name(writer, name, file, &known);
    enum pcere_status status = PCERE_OK;
    if (!own || !codelet_name_valid(own) || asprintf(&path, "libraries/%s", own) < 0)
        status = pcere_fail_memory(error, "a library's name");
    else if (!known && writer->files.library_count >= STORE_LIBRARIES_MOST)
        status = pcere_fail(error, PCERE_USAGE, 0, NULL, "the store has more libraries than any program");
    else if (!known)
        status = add_library(writer, own, file, path, error);
    pthread_mutex_unlock(&writer->writing);
    free(path);
    if (status == PCERE_OK && ret_name)
        *ret_name = own;
    else
        free(own);
    return status;
}

static enum pcere_status sync_name(struct store_writer *writer, const char *path, struct pcere_error *error)
{
    int errnum = fault_point("store.sync");
    int descriptor = openat(writer->staging.directory, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (!errnum && (descriptor < 0 || fsync(descriptor) != 0))
        errnum = errno;
    if (descriptor >= 0)
        close(descriptor);
    return errnum ? pcere_fail(error, PCERE_SYSTEM, errnum, NULL, "cannot sync '%s'", path) : PCERE_OK;
}

/* Files that wait for the disk: side by side, they wait together. */
struct syncing {
    struct store_writer *writer;
    atomic_size_t next;
    pthread_mutex_t mutex;
    enum pcere_status status;    /* of whoever failed first */
    struct pcere_error error;
};

/* pages, program, codelets, libraries */
static char *sync_path(const struct store_writer *writer, size_t index)
{
    char *path = NULL;
    size_t codelets = writer->files.codelet_count;
    if (index < 2)
        return strdup(index ? "program" : "pages");
    index -= 2;
    if ((index < codelets ? asprintf(&path, "codelets/%s.codelet", writer->files.codelets[index])
                          : asprintf(&path, "libraries/%s", writer->files.libraries[index - codelets].about.name)) < 0)
        return NULL;
    return path;
}

static void *files_sync(void *context)
{
    struct syncing *syncing = context;
    struct store_writer *writer = syncing->writer;
    size_t count = 2 + writer->files.codelet_count + writer->files.library_count;
    for (size_t i; (i = atomic_fetch_add(&syncing->next, 1)) < count;) {
        if (i == 1 && !writer->files.has_program)
            continue;
        struct pcere_error error = {0};
        char *path = sync_path(writer, i);
        enum pcere_status status = path ? sync_name(writer, path, &error) : pcere_fail_memory(&error, "a path");
        free(path);
        pthread_mutex_lock(&syncing->mutex);
        if (status && !syncing->status) {
            syncing->status = status;
            syncing->error = error;
            atomic_store(&syncing->next, count);
        }
        pthread_mutex_unlock(&syncing->mutex);
    }
    return NULL;
}

#define SYNC_THREADS 16u                 /* that wait for the disk, which takes one flush for all who wait at a time */

/* Once, at the end: a killed process loses nothing that was written, only a power failure does. */
static enum pcere_status sync_all(struct store_writer *writer, struct pcere_error *error)
{
    struct syncing syncing = {.writer = writer, .mutex = PTHREAD_MUTEX_INITIALIZER};
    workers_wait(files_sync, &syncing, 2 + writer->files.codelet_count + writer->files.library_count, SYNC_THREADS);
    if (syncing.status && error)
        *error = syncing.error;
    enum pcere_status status = syncing.status;
    if (!status && writer->files.library_count)
        status = directory_sync(writer->staging.directory, "libraries", error);
    return status ? status : directory_sync(writer->staging.directory, "codelets", error);
}

enum pcere_status store_writer_manifest(struct store_writer *writer, const struct store_manifest *manifest, struct pcere_error *error)
{
    uint64_t blocks, pages;
    struct pcere_error background = {0};
    page_queue_seal(writer->queue, &blocks);
    store_writer_settle(writer);
    bool page_failure = page_queue_wait(writer->queue, blocks, &pages, &background) != PCERE_OK;
    if (page_failure)
        note_failure(writer, &background, false);
    pthread_mutex_lock(&writer->lock);
    bool untold = writer->failure_waits;
    background = writer->failure;
    writer->failure_told |= untold;
    writer->failure_waits = false;
    pthread_mutex_unlock(&writer->lock);

    pthread_mutex_lock(&writer->writing);
    page_queue_written(writer->queue, &blocks, &writer->files.pages_bytes, &writer->files.page_count);
    if (page_failure && ftruncate(writer->pages, (off_t)writer->files.pages_bytes) != 0)
        untold = true;                             /* what is torn stays: only a store that is not complete may end in it */
    struct store_manifest written = *manifest;
    written.page_size = writer->page_bytes;
    written.complete = manifest->complete && !untold;
    enum pcere_status status = written.complete ? sync_all(writer, error) : PCERE_OK;
    if (!status)
        status = write_manifest(writer, &written, written.complete, error);
    if (!status) {
        writer->manifest_given = true;
        if (written.complete)
            status = staging_publish(&writer->staging, error);
    }
    pthread_mutex_unlock(&writer->writing);
    if (!status && untold) {
        status = background.status;
        if (error)
            *error = background;
    }
    return status;
}

/* ---- opening and closing ------------------------------------------------------------------------------------------------- */

static enum pcere_status scribe_start(struct store_writer *writer, struct pcere_error *error)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int errnum = pthread_create(&writer->scribe, NULL, scribe_main, writer);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    writer->scribe_runs = !errnum;
    return errnum ? pcere_fail(error, PCERE_SYSTEM, errnum, NULL, "cannot start a thread that writes codelets") : PCERE_OK;
}

static void writer_free(struct store_writer *writer)
{
    page_queue_free(writer->queue);
    if (writer->pages >= 0)
        close(writer->pages);
    pthread_mutex_destroy(&writer->writing);
    pthread_mutex_destroy(&writer->lock);
    pthread_cond_destroy(&writer->changed);
    manifest_files_done(&writer->files);
    free(writer->manifest_text);
    staging_done(&writer->staging);
    free(writer);
}

enum pcere_status store_writer_open(const char *path, bool force, uint64_t page_size, unsigned workers,
                                    struct store_writer **ret_writer, struct pcere_error *error)
{
    if (page_size < STORE_PAGE_BYTES_LEAST || page_size > STORE_PAGE_BYTES_MOST || (page_size & (page_size - 1)))
        return pcere_fail(error, PCERE_USAGE, 0, NULL, "a page size of %llu bytes is not supported", (unsigned long long)page_size);
    struct store_writer *writer = calloc(1, sizeof *writer);
    if (!writer)
        return pcere_fail_memory(error, "the store's writer");
    writer->pages = -1;
    writer->page_bytes = page_size;
    writer->last = &writer->first;
    pthread_mutex_init(&writer->writing, NULL);
    pthread_mutex_init(&writer->lock, NULL);
    pthread_cond_init(&writer->changed, NULL);
    enum pcere_status status = staging_open(path, force, &writer->staging, error);
    if (!status)
        status = make_empty(writer, error);
    if (!status)
        status = page_queue_new(writer->pages, page_size, workers, &writer->queue, error);
    if (!status && !writer->staging.replaces)
        status = staging_publish(&writer->staging, error);
    if (!status)
        status = scribe_start(writer, error);
    if (status) {
        staging_abandon(&writer->staging);
        writer_free(writer);
        return status;
    }
    *ret_writer = writer;
    return PCERE_OK;
}

void store_writer_close(struct store_writer *writer)
{
    if (!writer)
        return;
    if (writer->scribe_runs) {
        pthread_mutex_lock(&writer->lock);
        writer->stop = true;
        pthread_cond_broadcast(&writer->changed);
        pthread_mutex_unlock(&writer->lock);
        pthread_join(writer->scribe, NULL);
    }
    if (!writer->manifest_given && !writer->files.codelet_count && !(writer->files.has_program && writer->staging.published))
        staging_abandon(&writer->staging);
    else
        staging_publish(&writer->staging, NULL);
    writer_free(writer);
}
