/* capture-rt/tracer/capture.c - the whole capture: timing run, classes, store, capturing run, manifest. */
#include "capture-rt/tracer/session.h"

#include "capture-rt/tracer/manifest.h"
#include "capture-rt/tracer/measure.h"
#include "core/files.h"
#include "core/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define DUMPS_RESERVED 2u
#define WORKER_NICE 19

static enum pcere_status note(struct capture_result *result, char *sentence, struct pcere_error *error)
{
    size_t count = 0;
    while (result->notes && result->notes[count])
        count++;
    char **notes = sentence ? realloc(result->notes, (count + 2) * sizeof *notes) : NULL;
    if (!notes) {
        free(sentence);
        return pcere_fail_memory(error, "the notes");
    }
    notes[count] = sentence;
    notes[count + 1] = NULL;
    result->notes = notes;
    return PCERE_OK;
}

enum pcere_status capture_note(struct capture_result *result, const char *sentence, struct pcere_error *error)
{
    return note(result, strdup(sentence), error);
}

void capture_result_done(struct capture_result *result)
{
    capture_run_done(&result->timing);
    for (size_t i = 0; result->notes && result->notes[i]; i++)
        free(result->notes[i]);
    free(result->notes);
    free(result->stops);
    *result = (struct capture_result){0};
}

/* ---- before the capturing run ---------------------------------------------------------------------------------------------- */

static uint64_t memory_available(void)
{
    char line[256];
    uint64_t kib = 0;
    FILE *file = fopen("/proc/meminfo", "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %" SCNu64, &kib) == 1)
            break;
    if (file)
        fclose(file);
    return kib * 1024;
}

/* Room for what the stops bring faster than it can be compressed and written. Never most of what the machine has left; and not much more than
 * one dump, since memory that is touched for the first time is dear in virtual machines. */
static uint64_t reserve_bytes(const struct capture_run *run, size_t wanted)
{
    uint64_t most = memory_available() / 3, dumps = wanted < DUMPS_RESERVED ? wanted : DUMPS_RESERVED;
    return dumps == 0 ? 0 : run->peak_bytes < most / dumps ? run->peak_bytes * dumps : most;
}

static unsigned workers_of(const struct capture_options *options)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (options->workers)
        return options->workers;
    return cores < 1 ? 1 : cores > 8 ? 8 : (unsigned)cores;
}

static size_t wanted_count(const struct store_manifest *manifest)
{
    size_t wanted = 0;
    for (size_t i = 0; i < manifest->region_count; i++)
        for (size_t j = 0; j < manifest->regions[i].class_count; j++)
            wanted += manifest->regions[i].classes[j].captured;
    return wanted;
}

static enum pcere_status notes_before(struct session *session, struct pcere_error *error)
{
    const struct capture_run *run = &session->result->timing;
    enum pcere_status status = PCERE_OK;
    if (run->randomized)
        status = capture_note(session->result, "address-space randomisation could not be turned off: addresses differ between the two "
                              "runs, and a replay may have to try several times", error);
    if (status == PCERE_OK && run->region_count > 0 && !run->runtime_separate)
        status = capture_note(session->result, "the OpenMP runtime is part of the program, or shares an allocator with it that is: its own words are "
                              "captured and compared like the program's", error);
    if (status == PCERE_OK && run->dropped > 0) {
        struct text text = {0};
        text_addf(&text, "%" PRIu64 " invocations have no record of their own: representatives come from those before", run->dropped);
        status = note(session->result, text_take(&text), error);
    }
    return status;
}

struct opening { struct session *session; enum pcere_status status; struct pcere_error error; };

/* The writer's threads yield to the program: on Linux niceness is a thread's own, and inherited by the threads that it makes. */
static void *writer_open(void *context)
{
    struct opening *opening = context;
    struct session *session = opening->session;
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), WORKER_NICE);
    opening->status = store_writer_open(session->options->store, session->options->force, session->manifest.page_size,
                                        workers_of(session->options), &session->writer, &opening->error);
    return NULL;
}

static enum pcere_status writer_open_nice(struct session *session, struct pcere_error *error)
{
    struct opening opening = {.session = session};
    pthread_t thread;
    int errnum = pthread_create(&thread, NULL, writer_open, &opening);
    if (errnum)
        return pcere_fail(error, PCERE_SYSTEM, errnum, NULL, "cannot start a thread");
    pthread_join(thread, NULL);
    if (opening.status != PCERE_OK && error)
        *error = opening.error;
    return opening.status;
}

static enum pcere_status store_begin(struct session *session, struct pcere_error *error)
{
    const struct capture_options *options = session->options;
    enum pcere_status status = writer_open_nice(session, error);
    if (status != PCERE_OK)
        return status;
    status = store_writer_program(session->writer, options->program, error);
    if (status == PCERE_OK && session->result->wanted > 0)
        status = store_writer_reserve(session->writer, reserve_bytes(&session->result->timing, session->result->wanted), error);
    if (status == PCERE_OK && !options->force)          /* a store that is to be replaced stands until the new one is complete */
        status = store_writer_manifest(session->writer, &session->manifest, error);
    return status;
}

/* ---- after it -------------------------------------------------------------------------------------------------------------- */

static const char *missing_reason(const struct session *session)
{
    if (session->trouble.status != PCERE_OK)
        return session->trouble.message;
    if (session->connection_lost)
        return "the program closed the capture's connection before it came to this invocation";
    if (session->child_status != session->result->timing.program_status)
        return "the capturing run ended differently from the timing run, before it came to this invocation";
    return "the capturing run did not come to this invocation";
}

static size_t captured_count(const struct store_manifest *manifest)
{
    size_t captured = 0;
    for (size_t i = 0; i < manifest->region_count; i++)
        for (size_t j = 0; j < manifest->regions[i].class_count; j++)
            captured += manifest->regions[i].classes[j].codelet != NULL;
    return captured;
}

static enum pcere_status store_end(struct session *session, struct pcere_error *error)
{
    struct capture_result *result = session->result;
    session_settle(session);
    result->captured = captured_count(&session->manifest);
    if (session->trouble.status != PCERE_OK && result->captured == 0)
        return PCERE_OK;                        /* nothing worth keeping */
    if (!libraries_store(&session->libraries, session->elf, session->writer, &session->manifest)) {
        enum pcere_status noted = capture_note(result, "a shared library could not be copied into the store: a replay needs it where it is", error);
        if (noted != PCERE_OK)
            return noted;
    }
    session->manifest.complete = true;
    session->manifest.capture_wall_ns = result->capture_wall_ns;
    session->manifest.program_status = session->child_status;
    enum pcere_status status = manifest_settle(session->options, &result->timing, missing_reason(session), &session->manifest, error);
    return status == PCERE_OK ? store_writer_manifest(session->writer, &session->manifest, error) : status;
}

static enum pcere_status trouble_tell(const struct session *session, struct pcere_error *error)
{
    if (error)
        *error = session->trouble;
    return session->trouble.status;
}

static enum pcere_status run_and_finish(struct session *session, const int descriptors[3], struct pcere_error *error)
{
    struct capture_result *result = session->result;
    enum pcere_status status = session_run(session, descriptors, error);
    if (status != PCERE_OK)
        return status;
    uint64_t ended_ns = clock_ns();
    if (session->options->progress)
        session->options->progress(session->options->progress_context, CAPTURE_PHASE_WRITING, 0, result->stop_count, result->wanted);
    status = store_end(session, error);
    result->writing_ns = clock_ns() - ended_ns;
    if (session->trouble.status != PCERE_OK)
        return trouble_tell(session, error);
    return status;
}

/* Whoever ends the timing run from outside does not want the next run. */
static enum pcere_status interruption_check(struct capture_result *result, struct pcere_error *error)
{
    int32_t ended = result->timing.program_status;
    if (!WIFSIGNALED(ended) || (WTERMSIG(ended) != SIGINT && WTERMSIG(ended) != SIGQUIT && WTERMSIG(ended) != SIGTERM))
        return PCERE_OK;
    result->program_status = ended;
    return pcere_fail(error, PCERE_NO, 0, NULL, "interrupted in the timing run: nothing was captured");
}

static enum pcere_status with_input(struct session *session, const int input[2], struct pcere_error *error)
{
    const struct capture_options *options = session->options;
    struct capture_result *result = session->result;
    const int quiet[3] = {input[0] >= 0 ? input[0] : STDIN_FILENO, -1, -1};
    const int own[3] = {input[1] >= 0 ? input[1] : STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
    bool store_made = false;
    enum pcere_status status = measure_run(options, quiet, &result->timing, error);
    if (status == PCERE_OK)
        status = interruption_check(result, error);
    if (status == PCERE_OK)
        status = manifest_begin(options, &result->timing, session->elf, &session->manifest, error);
    if (status == PCERE_OK && options->progress)
        options->progress(options->progress_context, CAPTURE_PHASE_CHOOSING, 0, 0, 0);
    if (status == PCERE_OK)
        status = manifest_choose(options, &result->timing, &session->manifest, error);
    if (status == PCERE_OK)
        status = notes_before(session, error);
    if (status == PCERE_OK) {
        result->wanted = wanted_count(&session->manifest);
        status = store_begin(session, error);
        store_made = session->writer != NULL;
    }
    if (status == PCERE_OK)
        status = run_and_finish(session, own, error);
    store_writer_close(session->writer);
    session->writer = NULL;
    if (store_made && !options->force && status != PCERE_OK && result->captured == 0)
        tree_remove(AT_FDCWD, options->store, NULL);        /* made by us a moment ago, and of no use to anybody */
    return status;
}

/* Replays start where the program did. */
static enum pcere_status directory_check(struct pcere_error *error)
{
    char *path = getcwd(NULL, 0);
    if (!path)
        return pcere_fail(error, PCERE_SYSTEM, errno, "go to a directory that exists and that you may enter", "cannot tell the current directory");
    free(path);
    return PCERE_OK;
}

enum pcere_status capture_program(const struct capture_options *options, struct capture_result *ret_result, struct pcere_error *error)
{
    int input[2];
    struct session session = {.options = options, .result = ret_result, .mutex = PTHREAD_MUTEX_INITIALIZER,
                              .changed = PTHREAD_COND_INITIALIZER, .socket = -1};
    *ret_result = (struct capture_result){0};
    enum pcere_status status = directory_check(error);
    if (status == PCERE_OK)
        status = program_check(options, error);
    if (status != PCERE_OK)
        return status;
    if (!options->force && faccessat(AT_FDCWD, options->store, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return pcere_fail(error, PCERE_USAGE, 0, "choose another name with -o, or replace it with --force", "'%s' exists already",
                          options->store);
    status = elf_file_open(options->program, &session.elf, error);
    if (status != PCERE_OK)
        return status;
    status = child_input_share(STDIN_FILENO, input, error);
    if (status == PCERE_OK) {
        status = with_input(&session, input, error);
        for (int i = 0; i < 2; i++)
            if (input[i] >= 0)
                close(input[i]);
    }
    libraries_done(&session.libraries);
    externals_done(&session.externals);
    store_manifest_done(&session.manifest);
    elf_file_close(session.elf);
    return status;
}
