/* capture-rt/tracer/capture.c - the whole capture: store, run, classes, a second run where one was not enough, manifest. */
#include "capture-rt/tracer/again.h"
#include "capture-rt/tracer/session.h"

#include "capture-rt/tracer/codelet.h"
#include "capture-rt/tracer/manifest.h"
#include "capture-rt/tracer/plain.h"
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
#include <sys/wait.h>
#include <unistd.h>

static enum pcere_status note(struct capture_result *result, char *sentence, struct pcere_error *error)
{
    size_t count = 0;
    while (result->notes && result->notes[count]) {
        if (sentence && strcmp(result->notes[count], sentence) == 0) {     /* of an earlier run */
            free(sentence);
            return PCERE_OK;
        }
        count++;
    }
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

/* Shadow memory may take the addresses that codelets need, and what the sanitizer's runtime keeps is not told from the program's memory. */
static enum pcere_status sanitizer_note(struct session *session, struct pcere_error *error)
{
    static const struct { const char *symbol, *name; } sanitizers[] = {{"__asan_init", "address"}, {"__tsan_init", "thread"}, {"__msan_init", "memory"}};
    const struct elf_symbol *symbols;
    size_t count = elf_file_symbols(session->elf, &symbols);
    for (size_t i = 0; i < sizeof sanitizers / sizeof *sanitizers; i++)
        for (size_t j = 0; j < count; j++) {
            struct text text = {0};
            if (strcmp(symbols[j].name, sanitizers[i].symbol) != 0)
                continue;
            text_addf(&text, "the program was built with -fsanitize=%s: its codelets run only where the sanitizer's shadow memory leaves them room, with its checks, and what it keeps for "
                      "itself is compared like the program's memory, so that verification finds differences; capture a build without it", sanitizers[i].name);
            return note(session->result, text_take(&text), error);
        }
    return PCERE_OK;
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
    if (status == PCERE_OK && session->replaced)
        status = capture_note(session->result, "the program executed another one, or itself, in its place: regions after that are not seen; capture what it executes, "
                              "with the words and the environment that it gives", error);
    if (status == PCERE_OK && run->forked_regions)
        status = capture_note(session->result, "regions that processes entered which the program forked off are not captured, nor their times known: capture a run that does the "
                              "work in the process that is started", error);
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
    if (status == PCERE_OK && codelet_counts_executions(session->elf))
        status = capture_note(session->result, "the compiler counts executions in the program, for coverage or a profile: its counters are not compared, and "
                              "replays do not count where the compiler does so only after the plugin's work; times are those of a program that counts", error);
    if (status == PCERE_OK)
        status = sanitizer_note(session, error);
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
    text_addf(&text, "%zu region%s take%s less than 2 us: from each of the %" PRIu64 " times, %" PRIu64 " ns for reading the clock are taken off, and off "
              "the serial time what the rest of their probes takes, as told from one in 64", regions, regions == 1 ? "" : "s", regions == 1 ? "s" : "", invocations,
              session->result->timing.probe_ns);
    return note(session->result, text_take(&text), error);
}

static enum pcere_status notes_of_run(struct session *session, struct pcere_error *error)
{
    enum pcere_status status = notes_before(session, error);
    return status == PCERE_OK ? short_note(session, error) : status;
}

static enum pcere_status store_begin(struct session *session, uint64_t dump_bytes, struct pcere_error *error)
{
    enum pcere_status status = store_writer_open(session->options->store, session->options->force, session->manifest.page_size, workers_of(session->options),
                                                 &session->writer, error);
    if (status == PCERE_OK)
        status = store_writer_program(session->writer, session->options->program, error);
    if (status == PCERE_OK)
        status = store_writer_reserve(session->writer, session_reserve_bytes(dump_bytes, dump_bytes), NULL, error);
    return status;
}

/* ---- after it -------------------------------------------------------------------------------------------------------------- */

#define UNMET "the program did not enter it in the run that was to capture it; --regions NAME captures it when it is first met"

static const char *missing_reason(const struct session *session)
{
    if (session->trouble.status != PCERE_OK)
        return session->trouble.message;
    if (session->connection_lost)
        return "the program closed the capture's connection before it came to this invocation";
    if (session->choosing)
        return "none of its kind was captured, and the program was not run again";
    if (session->second && session->child_status == session->result->timing.program_status)
        return session->result->runs > 2 ? "none of its kind was captured in any run" : "none of its kind was captured in either run";
    if (session->child_status != session->result->timing.program_status)
        return session->result->runs > 2 ? "the last run ended differently from the first, before it came to this invocation"
                                         : "the second run ended differently from the first, before it came to this invocation";
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

/* Of each region, its codelets in which a timer's handler ran. */
static enum pcere_status alarms_tell(struct session *session, struct pcere_error *error)
{
#define TIMER_NAME(name, text) text,
    static const char *const names[] = {CAPTURE_TIMERS(TIMER_NAME)};
    enum pcere_status status = PCERE_OK;
    for (size_t i = 0; i < session->manifest.region_count && status == PCERE_OK; i++) {
        struct text text = {0}, invocations = {0};
        unsigned kinds = 0, count = 0;
        for (size_t j = 0; j < session->kept_count; j++) {
            const struct kept *kept = &session->kept[j];
            if (kept->region != i || !kept->stored || !kept->alarmed)
                continue;
            text_addf(&invocations, "%s%" PRIu64, count++ ? ", " : "", kept->invocation);
            kinds |= kept->alarmed;
        }
        if (count) {
            text_addf(&text, "%s, invocation%s %s: a handler of the program's timer (", session->manifest.regions[i].name, count == 1 ? "" : "s",
                      invocations.data ? invocations.data : "");
            for (unsigned kind = 0, many = 0; kind < CAPTURE_TIMER_KINDS; kind++)
                if (kinds >> kind & 1)
                    text_addf(&text, "%s%s", many++ ? ", " : "", names[kind]);
            text_addf(&text, ") ran in %s when %s captured; what it wrote is in the memory behind the region, and no replay writes it", count == 1 ? "it" : "them",
                      count == 1 ? "it was" : "they were");
            status = note(session->result, text_take(&text), error);
        }
        text_done(&invocations);
    }
    return status;
}

#define LIGHT_TOLD_RATIO 0.01            /* of the regions' time: where light classes without a codelet, or what lies between captured ones, take more together, that is said */

/* What regions take that are in no other. */
static uint64_t classes_ns(const struct store_manifest *manifest)
{
    uint64_t all_ns = 0;
    for (size_t i = 0; i < manifest->region_count; i++)
        for (size_t j = 0; j < manifest->regions[i].class_count; j++)
            all_ns += manifest->regions[i].classes[j].nested ? 0 : manifest->regions[i].classes[j].time_ns;
    return all_ns;
}

/* In a program of many light regions, stops for all that weigh something together would cost more than a capture may. */
static enum pcere_status light_tell(struct session *session, struct pcere_error *error)
{
    const struct store_manifest *manifest = &session->manifest;
    uint64_t all_ns = classes_ns(manifest), light_ns = 0;
    size_t lights = 0;
    for (size_t i = 0; i < manifest->region_count; i++)
        for (size_t j = 0; j < manifest->regions[i].class_count; j++) {
            const struct store_class *class = &manifest->regions[i].classes[j];
            bool light = !class->nested && !class->captured && !class->by_chance &&
                         (double)class->time_ns < session->options->light_ratio * (double)session->result->timing.wall_ns;
            light_ns += light ? class->time_ns : 0;
            lights += light;
        }
    if (!light_ns || (double)light_ns < LIGHT_TOLD_RATIO * (double)all_ns)
        return PCERE_OK;
    struct text text = {0};
    text_addf(&text, "%.2g %% of the regions' time has no codelet, since each of the %zu classes of invocations that it is made of takes less than %.2g %% of the run, and "
              "stops for all of them would have made it much longer: their in-vivo times count; --all-classes captures them as well", 100 * (double)light_ns / (double)all_ns,
              lights, 100 * session->options->light_ratio);
    return note(session->result, text_take(&text), error);
}

/* Kinds of which none was captured, and that need none. */
static enum pcere_status between_tell(struct session *session, struct pcere_error *error)
{
    const struct store_manifest *manifest = &session->manifest;
    uint64_t all_ns = classes_ns(manifest), between_ns = 0, members = 0;
    for (size_t i = 0; i < manifest->region_count; i++)
        for (size_t j = 0; j < manifest->regions[i].class_count; j++) {
            const struct store_class *class = &manifest->regions[i].classes[j];
            between_ns += class->nested || !class->captured ? 0 : class->between_ns;
            members += class->nested || !class->captured ? 0 : class->between_members;
        }
    if (!between_ns || (double)between_ns < LIGHT_TOLD_RATIO * (double)all_ns)
        return PCERE_OK;
    struct text text = {0};
    const char *const words = members == 1 ? " invocation that takes %.2g %% of the regions' time is like no captured one: it lies between captured ones of its region, of which the nearer "
                                             "stands for it, scaled by its time (between_members in the document); --all-classes captures more of them"
                                           : " invocations that take %.2g %% of the regions' time are like no captured one: they lie between captured ones of their regions, of which the nearer "
                                             "stands for each, scaled by their times (between_members in the document); --all-classes captures more of them";
    text_addf(&text, "%" PRIu64, members);
    text_addf(&text, words, 100 * (double)between_ns / (double)all_ns);
    return note(session->result, text_take(&text), error);
}

/* Of regions that the last run was to capture, and did not enter: what a program writes may change its course. */
static enum pcere_status unmet_tell(struct session *session, struct pcere_error *error)
{
    for (size_t i = 0; i < session->unmet_count && i < session->manifest.region_count; i++) {
        struct store_region *region = &session->manifest.regions[i];
        if (!session->unmet[i])
            continue;
        for (size_t j = 0; j < region->class_count; j++) {
            struct store_class *class = &region->classes[j];
            if (class->captured && !class->codelet && !class->reason && !(class->reason = strdup(UNMET)))
                return pcere_fail_memory(error, "the manifest");
        }
    }
    return PCERE_OK;
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
    char *const remarks[] = {libraries_tell_unseen(&session->libraries), libraries_tell_late(&session->libraries, false)};
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
    if (again_restless_tell(session, error) != PCERE_OK || alarms_tell(session, error) != PCERE_OK)
        return PCERE_SYSTEM;
    if (light_tell(session, error) != PCERE_OK || between_tell(session, error) != PCERE_OK || unmet_tell(session, error) != PCERE_OK)
        return PCERE_SYSTEM;
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
    session_log_await(session);
    result->writing_ns = clock_ns() - ended_ns;
    if (session->trouble.status != PCERE_OK)
        return trouble_tell(session, error);
    return status;
}

/* ---- runs and classes ------------------------------------------------------------------------------------------------------ */

static enum pcere_status one_run(struct session *session, const struct again_input *input, bool *ret_store_made, struct pcere_error *error)
{
    struct capture_result *result = session->result;
    const int own[3] = {input->source, STDOUT_FILENO, STDERR_FILENO};
    session->manifest.page_size = (uint64_t)sysconf(_SC_PAGESIZE);
    enum pcere_status status = store_begin(session, 0, error);
    *ret_store_made = session->writer != NULL;
    if (status == PCERE_OK)
        status = session_run(session, true, own, &result->timing, error);
    result->program_status = session->child_status;
    if (status != PCERE_OK)
        return status;
    result->runs = 1;
    store_writer_flush(session->writer);
    status = again_libraries(session, input, error);
    if (status != PCERE_OK)
        return status;
    again_times(session, &result->timing);
    status = again_classes(session, error);
    if (status == PCERE_OK)
        status = again_mend(session, input, error);
    if (status == PCERE_OK)
        status = notes_of_run(session, error);
    return status == PCERE_OK ? finish(session, error) : status;
}

static enum pcere_status two_runs(struct session *session, const int input[2], bool *ret_store_made, struct pcere_error *error)
{
    struct capture_result *result = session->result;
    const int quiet[3] = {input[0] >= 0 ? input[0] : STDIN_FILENO, -1, -1};
    const bool silent = session->options->silent;
    const int own[3] = {input[1] >= 0 ? input[1] : STDIN_FILENO, silent ? -1 : STDOUT_FILENO, silent ? -1 : STDERR_FILENO};
    enum pcere_status status = measure_run(session->options, quiet, false, &result->timing, error);
    if (status != PCERE_OK)
        return status;
    result->runs_wall_ns = result->timing.wall_ns;
    result->program_status = result->timing.program_status;
    if (child_was_interrupted(result->program_status))
        return pcere_fail(error, PCERE_NO, 0, NULL, "interrupted in the timing run: nothing was captured");
    status = again_classes(session, error);
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
    const struct again_input again = {.second = input[1], .source = source, .start = start, .once = input_once};
    enum pcere_status status = options->two_runs ? two_runs(session, input, &store_made, error)
                                                 : one_run(session, &again, &store_made, error);
    store_writer_close(session->writer);
    session->writer = NULL;
    if (store_made && !options->force && status != PCERE_OK && session->result->captured == 0)
        tree_remove(AT_FDCWD, options->store, NULL);        /* made by us a moment ago, and of no use to anybody */
    if (status == PCERE_OK && options->more_runs && session->result->program_status == 0)
        status = more_runs(session, source, start, error);
    return status;
}

/* Before the program runs: both may be gone when it has ended. */
static enum pcere_status places_find(const struct capture_options *options, struct capture_places *ret_places, struct pcere_error *error)
{
    ret_places->working_directory = getcwd(NULL, 0);
    if (!ret_places->working_directory)
        return pcere_fail(error, PCERE_SYSTEM, errno, "go to a directory that exists and that you may enter", "cannot tell the current directory");
    enum pcere_status status = program_check(options, error);
    if (status != PCERE_OK)
        return status;
    ret_places->program_file = realpath(options->program, NULL);
    return ret_places->program_file ? PCERE_OK : pcere_fail(error, PCERE_USAGE, errno, NULL, "cannot find '%s'", options->program);
}

static enum pcere_status placed_capture(const struct capture_options *options, const struct capture_places *places, struct capture_result *ret_result, struct pcere_error *error)
{
    int input[2];
    bool input_once;
    struct session session = {.options = options, .result = ret_result, .mutex = PTHREAD_MUTEX_INITIALIZER,
                              .changed = PTHREAD_COND_INITIALIZER, .socket = -1, .places = *places};
    session.libraries.names = options->libraries;
    if (!options->force && faccessat(AT_FDCWD, options->store, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return pcere_fail(error, PCERE_USAGE, 0, "choose another name with -o, or replace it with --force", "'%s' exists already",
                          options->store);
    enum pcere_status status = elf_file_open(options->program, &session.elf, error);
    session.libraries.program = session.elf;
    if (status != PCERE_OK)
        return status;
    child_input_rewind();
    status = child_input_share(STDIN_FILENO, !options->one_run || options->more_runs, input, &input_once, error);
    if (status == PCERE_OK) {
        status = with_input(&session, input, input_once, error);
        for (int i = 0; i < 2; i++)
            if (input[i] >= 0)
                close(input[i]);
    }
    session_log_await(&session);
    kept_done(&session);
    free(session.held);
    libraries_done(&session.libraries);
    free(session.library_names);
    externals_done(&session.externals);
    store_manifest_done(&session.manifest);
    free(session.unmet);
    elf_file_close(session.elf);
    return status;
}

enum pcere_status capture_program(const struct capture_options *options, struct capture_result *ret_result, struct pcere_error *error)
{
    struct capture_places places = {0};
    *ret_result = (struct capture_result){0};
    descriptors_make_room();
    enum pcere_status status = libraries_names_check(options->libraries, error);
    if (status == PCERE_OK)
        status = places_find(options, &places, error);
    if (status == PCERE_OK)
        status = placed_capture(options, &places, ret_result, error);
    free(places.program_file);
    free(places.working_directory);
    return status;
}
