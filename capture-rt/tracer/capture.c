/* capture-rt/tracer/capture.c - the whole capture: store, run, classes, a second run where one was not enough, manifest. */
#include "capture-rt/tracer/session.h"

#include "capture-rt/tracer/manifest.h"
#include "capture-rt/tracer/plain.h"
#include "capture-rt/tracer/measure.h"
#include "capture-rt/tracer/undisturbed.h"
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
    free(result->second_reason);
    for (size_t i = 0; i < result->more_count; i++)
        capture_run_done(&result->more[i]);
    free(result->more);
    *result = (struct capture_result){0};
}

/* ---- before the capturing run ---------------------------------------------------------------------------------------------- */

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
        status = capture_note(session->result, "address-space randomisation could not be turned off: a replay may have to try several "
                              "times", error);
    if (status == PCERE_OK && run->region_count > 0 && !run->runtime_separate)
        status = capture_note(session->result, "the OpenMP runtime is part of the program, or shares an allocator with it that is: its own words are "
                              "captured and compared like the program's, and what is in its threads' own variables may be missed; link it with "
                              "the shared libomp.so", error);
    if (status == PCERE_OK && run->dropped > 0) {
        struct text text = {0};
        text_addf(&text, "%" PRIu64 " invocations have no record of their own: representatives come from those before", run->dropped);
        status = note(session->result, text_take(&text), error);
    }
    const struct elf_symbol *symbols;
    const struct elf_unit *units;
    if (status == PCERE_OK && elf_file_units(session->elf, &units) > 0 && elf_file_tables(session->elf, &symbols) == 0)
        status = capture_note(session->result, "nothing tells where the program's own variables lie, since the GNU linker linked it with --gc-sections and it was "
                              "stripped: regions that use such variables cannot be replayed; link it with -fuse-ld=lld, or without -s, or strip it with "
                              "--keep-section=.debug_pcere", error);
    char *plain = status == PCERE_OK ? plain_note(run) : NULL;
    return plain ? note(session->result, plain, error) : status;
}

#define SHORT_MANY 1000u                 /* fewer invocations are not worth a word */

/* Regions that take about as long as looking at them. */
static enum pcere_status short_note(struct session *session, struct pcere_error *error)
{
    size_t regions = 0;
    uint64_t invocations = 0;
    for (size_t i = 0; i < session->manifest.region_count; i++)
        if (store_region_is_short(&session->manifest.regions[i])) {
            regions++;
            invocations += session->manifest.regions[i].invocations;
        }
    if (invocations < SHORT_MANY)
        return PCERE_OK;
    struct text text = {0};
    text_addf(&text, "%zu region%s take%s less than 2 us: from each of the %" PRIu64 " times, %" PRIu64 " ns for reading the clock are taken off; the rest "
              "of a probe, about 150 ns, counts as serial time", regions, regions == 1 ? "" : "s", regions == 1 ? "s" : "", invocations,
              session->result->timing.probe_ns);
    return note(session->result, text_take(&text), error);
}

static enum pcere_status notes_of_run(struct session *session, struct pcere_error *error)
{
    enum pcere_status status = notes_before(session, error);
    return status == PCERE_OK ? short_note(session, error) : status;
}

struct opening { struct session *session; enum pcere_status status; struct pcere_error error; };

/* The writer's threads yield to the program: on Linux niceness is a thread's own, and inherited by the threads that it makes. */
static void *writer_open(void *context)
{
    struct opening *opening = context;
    struct session *session = opening->session;
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), SESSION_NICE);
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

static enum pcere_status store_begin(struct session *session, uint64_t dump_bytes, struct pcere_error *error)
{
    enum pcere_status status = writer_open_nice(session, error);
    if (status == PCERE_OK)
        status = store_writer_program(session->writer, session->options->program, error);
    if (status == PCERE_OK)
        status = store_writer_reserve(session->writer, session_reserve_bytes(dump_bytes), NULL, error);
    return status;
}

/* ---- after it -------------------------------------------------------------------------------------------------------------- */

#define RESTLESS "what the program's other threads did was not to be told from work whenever it was about to be captured: they might have written beside it"

static bool is_restless(const struct session *session, size_t region)
{
    return region < CAPTURE_REGIONS_MAX && session->restless[region] > 0;
}

/* Another run would not find them calm, either. */
static bool is_given_up(const struct session *session, size_t region)
{
    return region < CAPTURE_REGIONS_MAX && session->restless[region] >= SESSION_RESTLESS_MOST;
}

static const char *missing_reason(const struct session *session)
{
    if (session->trouble.status != PCERE_OK)
        return session->trouble.message;
    if (session->connection_lost)
        return "the program closed the capture's connection before it came to this invocation";
    if (session->choosing)
        return "none of its kind was captured, and the program was not run again";
    if (session->second && session->child_status == session->result->timing.program_status)
        return "none of its kind was captured in either run";
    if (session->child_status != session->result->timing.program_status)
        return "the second run ended differently from the first, before it came to this invocation";
    return "the second run did not come to this invocation";
}

static size_t captured_count(const struct store_manifest *manifest)
{
    size_t captured = 0;
    for (size_t i = 0; i < manifest->region_count; i++)
        for (size_t j = 0; j < manifest->regions[i].class_count; j++)
            captured += manifest->regions[i].classes[j].codelet != NULL;
    return captured;
}

static bool restless_tell(struct session *session)
{
    bool enough = true;
    for (size_t i = 0; i < session->manifest.region_count; i++)
        for (size_t j = 0; j < session->manifest.regions[i].class_count && is_restless(session, i); j++) {
            struct store_class *class = &session->manifest.regions[i].classes[j];
            if (class->captured && !class->codelet && !class->reason)
                enough &= (class->reason = strdup(RESTLESS)) != NULL;
        }
    return enough;
}

static enum pcere_status store_end(struct session *session, struct pcere_error *error)
{
    struct capture_result *result = session->result;
    enum pcere_status stored = kept_store(session, error);
    if (stored != PCERE_OK && session->trouble.status == PCERE_OK)
        return stored;
    result->captured = captured_count(&session->manifest);
    if (session->trouble.status != PCERE_OK && result->captured == 0)
        return PCERE_OK;                        /* nothing worth keeping */
    char *const remarks[] = {libraries_tell_unseen(&session->libraries), libraries_tell_late(&session->libraries)};
    for (size_t i = 0; i < sizeof remarks / sizeof *remarks; i++) {
        enum pcere_status noted = remarks[i] ? note(result, remarks[i], error) : PCERE_OK;
        if (noted != PCERE_OK)
            return noted;
    }
    if (!libraries_store(&session->libraries, session->elf, session->writer, &session->manifest)) {
        enum pcere_status noted = capture_note(result, "a shared library could not be copied into the store: a replay needs it where it is", error);
        if (noted != PCERE_OK)
            return noted;
    }
    if (!restless_tell(session))
        return pcere_fail_memory(error, "the classes");
    session->manifest.complete = true;
    session->manifest.capture_wall_ns = result->capture_wall_ns;
    session->manifest.program_status = result->program_status;
    enum pcere_status status = manifest_settle(session->options, &result->timing, missing_reason(session), &session->manifest, error);
    return status == PCERE_OK ? store_writer_manifest(session->writer, &session->manifest, error) : status;
}

static enum pcere_status trouble_tell(const struct session *session, struct pcere_error *error)
{
    if (error)
        *error = session->trouble;
    return session->trouble.status;
}

static enum pcere_status finish(struct session *session, struct pcere_error *error)
{
    struct capture_result *result = session->result;
    uint64_t ended_ns = clock_ns();
    if (session->options->progress)
        session->options->progress(session->options->progress_context, CAPTURE_PHASE_WRITING, 0, result->stop_count, 0);
    enum pcere_status status = store_end(session, error);
    result->writing_ns = clock_ns() - ended_ns;
    if (session->trouble.status != PCERE_OK)
        return trouble_tell(session, error);
    return status;
}

/* ---- runs and classes ------------------------------------------------------------------------------------------------------ */

static bool was_interrupted(int32_t ended)
{
    return WIFSIGNALED(ended) && (WTERMSIG(ended) == SIGINT || WTERMSIG(ended) == SIGQUIT || WTERMSIG(ended) == SIGTERM);
}

static uint64_t kept_pages(const void *context, size_t region, uint64_t invocation)
{
    const struct kept *kept = kept_find(context, region, invocation);
    return kept ? kept->rewritten_pages : 0;
}

static void captured_mark(const struct session *session, struct capture_run *run)
{
    for (size_t i = 0; i < session->kept_count; i++) {
        const struct kept *kept = &session->kept[i];
        struct capture_region *region = kept->region < run->region_count ? &run->regions[kept->region] : NULL;
        for (size_t j = 0; region && j < region->list_count; j++)
            if (region->list[j].number == kept->invocation)
                region->list[j].captured = true;
    }
}

static enum pcere_status classes_make(struct session *session, struct pcere_error *error)
{
    const struct capture_options *options = session->options;
    struct capture_result *result = session->result;
    uint64_t image_bias = session->manifest.image_bias;
    bool foreign_allocator = session->manifest.foreign_allocator;
    captured_mark(session, &result->timing);
    store_manifest_done(&session->manifest);
    session->manifest = (struct store_manifest){0};
    enum pcere_status status = manifest_begin(options, &result->timing, session->elf, &session->manifest, error);
    if (status != PCERE_OK)
        return status;
    if (image_bias)
        session->manifest.image_bias = image_bias;
    session->manifest.foreign_allocator = foreign_allocator;
    if (options->progress)
        options->progress(options->progress_context, CAPTURE_PHASE_CHOOSING, 0, 0, 0);
    status = manifest_choose(options, &result->timing, &session->manifest, error);
    result->wanted = wanted_count(&session->manifest);
    return status;
}

/* What one run left open. */
struct lack {
    size_t missing, region;      /* classes that are wanted and have no captured member; where the first of them is */
    uint64_t missing_ns;
    bool worth_codelets, worth_times;
};

#define LACK_RATIO 0.02                  /* of the run: less without a codelet is not worth another run (light classes left out), */
#define LACK_SHORT_RATIO 0.005           /* of the regions' time, where another run takes no longer than people notice, */
#define SHORT_NS 1000000000u
#define UNCERTAIN_RATIO 0.01             /* nor is less of uncertain times, */
#define LACK_NS 1000000u                 /* nor is what one run and the next differ by anyway */

static bool is_much(uint64_t all_ns, uint64_t time_ns, double ratio)
{
    return time_ns >= LACK_NS && (double)time_ns >= ratio * (double)all_ns;
}

static struct lack lack_find(const struct session *session)
{
    const struct capture_run *run = &session->result->timing;
    struct lack lack = {0};
    uint64_t regions_ns = 0, heavy_ns = 0;
    for (size_t i = 0; i < session->manifest.region_count; i++)
        for (size_t j = 0; j < session->manifest.regions[i].class_count; j++) {
            const struct store_class *class = &session->manifest.regions[i].classes[j];
            regions_ns += class->nested ? 0 : class->time_ns;
            if (!class->captured || kept_find(session, i, class->representative) || is_given_up(session, i))
                continue;
            lack.region = lack.missing++ ? lack.region : i;
            lack.missing_ns += class->time_ns;
            heavy_ns += (double)class->time_ns < session->options->light_ratio * (double)run->wall_ns ? 0 : class->time_ns;
        }
    bool is_much_of_it = is_much(run->wall_ns, heavy_ns, LACK_RATIO) ||
                         (run->wall_ns < SHORT_NS && is_much(regions_ns, lack.missing_ns, LACK_SHORT_RATIO));
    lack.worth_codelets = lack.missing && (session->options->every_class || is_much_of_it);
    lack.worth_times = is_much(run->wall_ns, run->uncertain_ns, UNCERTAIN_RATIO);
    return lack;
}

#define AGAIN_ASKED ", and --one-run was asked for"
#define AGAIN_IMPOSSIBLE ", and its input cannot be had again: give it as a file"

/* Why one run was not enough; `obstacle`: NULL, or why it does not run again. */
static enum pcere_status lack_tell(struct session *session, const struct lack *lack, const char *obstacle, struct pcere_error *error)
{
    struct capture_result *result = session->result;
    const struct capture_run *run = &result->timing;
    double percent = 100 / (double)(run->wall_ns ? run->wall_ns : 1);
    struct text text = {0};
    if (lack->worth_codelets)
        text_addf(&text, "%zu class%s of invocations (%.*g %% of the run, the first in %s) had no captured member when the program ended: how long an "
                  "invocation takes was not to be foretold there, or stops cost too much", lack->missing, lack->missing == 1 ? "" : "es",
                  percent * (double)lack->missing_ns < 99.5 ? 2 : 4, percent * (double)lack->missing_ns, session->manifest.regions[lack->region].name);
    if (lack->worth_times)
        text_addf(&text, "%sstops may have changed times by %.2g %% of the run", text.length ? "; " : "", percent * (double)run->uncertain_ns);
    text_add(&text, obstacle ? obstacle : "; it runs a second time for that");
    char *sentence = text_take(&text);
    if (!sentence)
        return pcere_fail_memory(error, "the notes");
    enum pcere_status status = capture_note(result, sentence, error);
    if (obstacle)
        free(sentence);
    else
        result->second_reason = sentence;
    return status;
}

/* What neither run has, or what is not worth another one. */
static enum pcere_status missing_forgo(struct session *session, const char *reason, struct pcere_error *error)
{
    for (size_t i = 0; i < session->manifest.region_count; i++)
        for (size_t j = 0; j < session->manifest.regions[i].class_count; j++) {
            struct store_class *class = &session->manifest.regions[i].classes[j];
            if (!class->captured || kept_find(session, i, class->representative))
                continue;
            class->captured = false;
            free(class->reason);
            if (!(class->reason = strdup(is_restless(session, i) ? RESTLESS : reason)))
                return pcere_fail_memory(error, "the classes");
        }
    session->result->wanted = wanted_count(&session->manifest);
    return PCERE_OK;
}

/* Codelets of both runs go into one store: the program must lie where it lay. */
static void scattered_forget(struct session *session)
{
    if (session->result->timing.randomized)
        kept_done(session);
}

/* Times that stops disturbed in one run and not in the other are those of the other, and classes are made anew of them. */
static enum pcere_status runs_join(struct session *session, struct capture_run *second, struct pcere_error *error)
{
    struct capture_result *result = session->result;
    if (second->program_status != result->timing.program_status || session->trouble.status != PCERE_OK || session->connection_lost)
        return PCERE_OK;
    undisturbed_take(&result->timing, second);
    return classes_make(session, error);
}

/* Stopped where the plan says so, or, if nothing is missing, not at all. */
static enum pcere_status second_run(struct session *session, int input, bool codelets, struct pcere_error *error)
{
    const int quiet[3] = {input >= 0 ? input : STDIN_FILENO, -1, -1};
    struct capture_run second = {0};
    if (codelets)
        scattered_forget(session);
    session->result->runs = 2;
    session->second = true;
    enum pcere_status status = codelets ? session_run(session, false, quiet, &second, error) : measure_run(session->options, quiet, false, &second, error);
    if (status == PCERE_OK && !codelets)
        session->result->runs_wall_ns += second.wall_ns;
    if (status == PCERE_OK && codelets) {
        second.stopped = true;
        undisturbed_fill(&second, kept_pages, session);
    }
    if (status == PCERE_OK)
        status = runs_join(session, &second, error);
    capture_run_done(&second);
    return status;
}

static enum pcere_status lack_mend(struct session *session, int input, bool input_once, struct pcere_error *error)
{
    const struct capture_options *options = session->options;
    struct lack lack = lack_find(session);
    if (session->trouble.status != PCERE_OK || session->connection_lost || WIFSIGNALED(session->result->program_status))
        return PCERE_OK;
    const char *obstacle = options->one_run ? AGAIN_ASKED : input_once ? AGAIN_IMPOSSIBLE : NULL;
    bool again = lack.worth_codelets || lack.worth_times;
    enum pcere_status status = again ? lack_tell(session, &lack, obstacle, error) : PCERE_OK;
    if (status == PCERE_OK && again && !obstacle)
        status = second_run(session, input, lack.worth_codelets, error);
    if (status == PCERE_OK && !lack_find(session).worth_codelets)
        status = missing_forgo(session, "none of its members was captured, and it weighs too little for another run: in-vivo time is kept", error);
    return status;
}

static enum pcere_status one_run(struct session *session, const int input[2], bool input_once, bool *ret_store_made, struct pcere_error *error)
{
    struct capture_result *result = session->result;
    const int own[3] = {input[0] >= 0 ? input[0] : STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
    session->manifest.page_size = (uint64_t)sysconf(_SC_PAGESIZE);
    enum pcere_status status = store_begin(session, 0, error);
    *ret_store_made = session->writer != NULL;
    if (status == PCERE_OK)
        status = session_run(session, true, own, &result->timing, error);
    result->program_status = session->child_status;
    if (status != PCERE_OK)
        return status;
    result->runs = 1;
    result->timing.stopped = true;
    undisturbed_fill(&result->timing, kept_pages, session);
    status = classes_make(session, error);
    if (status == PCERE_OK)
        status = lack_mend(session, input[1], input_once, error);
    if (status == PCERE_OK)
        status = notes_of_run(session, error);
    return status == PCERE_OK ? finish(session, error) : status;
}

/* Whoever ends the timing run from outside does not want the next run. */
static enum pcere_status two_runs(struct session *session, const int input[2], bool *ret_store_made, struct pcere_error *error)
{
    struct capture_result *result = session->result;
    const int quiet[3] = {input[0] >= 0 ? input[0] : STDIN_FILENO, -1, -1};
    const int own[3] = {input[1] >= 0 ? input[1] : STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
    enum pcere_status status = measure_run(session->options, quiet, false, &result->timing, error);
    if (status != PCERE_OK)
        return status;
    result->runs_wall_ns = result->timing.wall_ns;
    result->program_status = result->timing.program_status;
    if (was_interrupted(result->program_status))
        return pcere_fail(error, PCERE_NO, 0, NULL, "interrupted in the timing run: nothing was captured");
    status = classes_make(session, error);
    if (status == PCERE_OK) {
        status = store_begin(session, result->wanted ? result->timing.peak_bytes : 0, error);
        *ret_store_made = session->writer != NULL;
    }
    if (status == PCERE_OK)
        status = notes_of_run(session, error);
    if (status == PCERE_OK)
        status = session_run(session, false, own, NULL, error);
    if (status != PCERE_OK)
        return status;
    result->runs = 2;
    result->program_status = session->child_status;
    return finish(session, error);
}

/* How long the program takes when nobody stops it, several times. The store is complete already. */
static enum pcere_status more_runs(struct session *session, int input, off_t input_start, struct pcere_error *error)
{
    struct capture_result *result = session->result;
    enum pcere_status status = PCERE_OK;
    result->more = calloc(session->options->more_runs + 1, sizeof *result->more);
    if (!result->more)
        return pcere_fail_memory(error, "the runs");
    while (status == PCERE_OK && result->more_count < session->options->more_runs && result->more_status == 0) {
        struct capture_run *run = &result->more[result->more_count];
        int again = child_input_again(input, input_start);
        const int quiet[3] = {again >= 0 ? again : STDIN_FILENO, -1, -1};
        status = measure_run(session->options, quiet, true, run, error);
        if (again >= 0)
            close(again);
        if (status != PCERE_OK)
            break;
        result->more_status = run->program_status;
        if (run->program_status != 0) {
            capture_run_done(run);
            break;
        }
        free(run->invocations);
        run->invocations = NULL;
        run->invocation_count = 0;
        for (size_t i = 0; i < run->region_count; i++) {
            run->regions[i].list = NULL;
            run->regions[i].list_count = 0;
        }
        result->more_count++;
    }
    return status;
}

static enum pcere_status with_input(struct session *session, const int input[2], bool input_once, struct pcere_error *error)
{
    const struct capture_options *options = session->options;
    bool store_made = false;
    int source = input[0] >= 0 ? input[0] : STDIN_FILENO;
    off_t start = lseek(source, 0, SEEK_CUR);
    enum pcere_status status = options->two_runs ? two_runs(session, input, &store_made, error)
                                                 : one_run(session, input, input_once, &store_made, error);
    store_writer_close(session->writer);
    session->writer = NULL;
    if (store_made && !options->force && status != PCERE_OK && session->result->captured == 0)
        tree_remove(AT_FDCWD, options->store, NULL);        /* made by us a moment ago, and of no use to anybody */
    if (status == PCERE_OK && options->more_runs && session->result->program_status == 0)
        status = more_runs(session, source, start, error);
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
    bool input_once;
    struct session session = {.options = options, .result = ret_result, .mutex = PTHREAD_MUTEX_INITIALIZER,
                              .changed = PTHREAD_COND_INITIALIZER, .socket = -1};
    *ret_result = (struct capture_result){0};
    descriptors_make_room();
    enum pcere_status status = libraries_names_check(options->libraries, error);
    session.libraries.names = options->libraries;
    if (status == PCERE_OK)
        status = directory_check(error);
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
    status = child_input_share(STDIN_FILENO, !options->one_run || options->more_runs, input, &input_once, error);
    if (status == PCERE_OK) {
        status = with_input(&session, input, input_once, error);
        for (int i = 0; i < 2; i++)
            if (input[i] >= 0)
                close(input[i]);
    }
    kept_done(&session);
    libraries_done(&session.libraries);
    externals_done(&session.externals);
    store_manifest_done(&session.manifest);
    elf_file_close(session.elf);
    return status;
}
