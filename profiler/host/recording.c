/* profiler/host/recording.c - starting the user's program with the library and its trace file, and waiting for its end. */
#include "profiler/host/recording.h"

#include "core/elf_file.h"
#include "core/environment.h"
#include "core/program_signals.h"
#include "profiler/host/trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- which program ------------------------------------------------------------------------------------------------------------ */

static bool needs(const struct elf_file *file, const char *beginning)
{
    const char *const *names;
    size_t count = elf_file_needed(file, &names);
    for (size_t i = 0; i < count; i++)
        if (strncmp(names[i], beginning, strlen(beginning)) == 0)
            return true;
    return false;
}

/* *ret_static: it has the library in itself, which its symbols tell. */
static enum pcere_status program_check(const char *program, bool *ret_static, struct pcere_error *error)
{
    struct elf_file *file;
    enum pcere_status status = elf_file_open(program, &file, error);
    if (status != PCERE_OK)
        return status;
    struct stat facts;
    *ret_static = elf_file_is_static(file);
    if (*ret_static && !elf_file_symbol(file, TRACE_MARK_FUNCTION))
        status = pcere_fail(error, PCERE_REFUSED, 0, "end the command that links it with $(pcere version --static) and do not strip it, or link it without -static",
                            "'%s' is statically linked: the profiler's library cannot be brought in, and it does not have it in itself", program);
    else if (needs(file, "libgomp.so") && !needs(file, "libomp.so"))
        status = pcere_fail(error, PCERE_DATA, 0, "build it with clang -fopenmp, or link it with -lomp in place of -lgomp",
                            "'%s' uses gcc's OpenMP runtime (libgomp), which has no tool interface", program);
    else if (stat(program, &facts) == 0 && facts.st_mode & (S_ISUID | S_ISGID) && geteuid() != 0)
        status = pcere_fail(error, PCERE_REFUSED, 0, "profile a copy without these rights", "'%s' runs with the rights of another user: no library can be brought in", program);
    elf_file_close(file);
    return status;
}

/* ---- environment -------------------------------------------------------------------------------------------------------------- */

static struct environment environment_make(const struct recording_options *options, int trace)
{
    struct environment result = environment_copy(options->environment);
    environment_unset(&result, "OMP_TOOL");         /* a tool that is disabled or chosen there would keep ours out */
    if (options->threads)
        environment_set(&result, "OMP_NUM_THREADS=%u", options->threads);
    environment_set(&result, TRACE_ENVIRONMENT "=%d", trace);
    if (*options->library)
        environment_preload(&result, options->library);
    return result;
}

/* ---- the run ------------------------------------------------------------------------------------------------------------------ */

static enum pcere_status start_failure(const char *program, int errnum, struct pcere_error *error)
{
    bool system = errnum == ENOMEM || errnum == EAGAIN || errnum == EMFILE || errnum == ENFILE || errnum == EIO;
    enum pcere_status status = system ? PCERE_SYSTEM : errnum == ENOEXEC ? PCERE_DATA : PCERE_USAGE;
    return pcere_fail(error, status, errnum, NULL, "cannot run '%s'", program);
}

static enum pcere_status process_start(const struct recording_options *options, int trace, const struct program_signals *before, pid_t *ret_pid,
                                       struct pcere_error *error)
{
    struct environment environment = environment_make(options, trace);
    size_t count = 0;
    while (options->arguments && options->arguments[count])
        count++;
    char **arguments = calloc(count + 2, sizeof *arguments);
    if (environment.failed || !arguments) {
        environment_done(&environment);
        free(arguments);
        return pcere_fail_memory(error, "the program's environment");
    }
    arguments[0] = (char *)(uintptr_t)options->program;
    for (size_t i = 0; i < count; i++)
        arguments[i + 1] = options->arguments[i];
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t plain;
    program_signals_plain(before, &plain);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, trace, trace);       /* to itself: it stays open in the program */
    if (options->stdout_descriptor >= 0)
        posix_spawn_file_actions_adddup2(&actions, options->stdout_descriptor, STDOUT_FILENO);
    posix_spawnattr_setsigdefault(&attributes, &plain);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    int errnum = posix_spawn(ret_pid, options->program, &actions, &attributes, arguments, environment.list);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    environment_done(&environment);
    free(arguments);
    return errnum ? start_failure(options->program, errnum, error) : PCERE_OK;
}

enum pcere_status recording_trace_make(const struct recording_options *options, int *ret_trace, struct pcere_error *error)
{
    struct trace_header *header = calloc(1, sizeof *header);
    if (!header)
        return pcere_fail_memory(error, "a trace file's header");
    header->clock_wanted = (uint32_t)options->clock;
    header->event_count = (uint32_t)options->event_count;
    header->wanted = options->wanted;
    memcpy(header->caches, options->caches, sizeof header->caches);
    header->bytes_most = options->bytes_most ? options->bytes_most : (uint64_t)16 << 30;
    for (size_t i = 0; i < options->event_count; i++)
        header->events[i] = options->events[i];
    enum pcere_status status = PCERE_OK;
    if (strlen(options->library) >= sizeof header->library)
        status = pcere_fail(error, PCERE_SYSTEM, ENAMETOOLONG, NULL, "cannot name '%s'", options->library);
    else
        memcpy(header->library, options->library, strlen(options->library) + 1);
    if (status == PCERE_OK)
        status = trace_file_make(options->trace, header, ret_trace, error);
    free(header);
    return status;
}

enum pcere_status recording_make(const struct recording_options *options, struct recording *ret_recording, struct pcere_error *error)
{
    int trace;
    bool is_static = false;
    enum pcere_status status = program_check(options->program, &is_static, error);
    struct recording_options inside = *options;
    if (is_static)
        inside.library = "";
    options = &inside;
    if (status == PCERE_OK && options->event_count > TRACE_EVENTS_MOST)
        status = pcere_fail(error, PCERE_USAGE, 0, "ask for fewer, in several runs", "more than %u events", TRACE_EVENTS_MOST);
    if (status == PCERE_OK)
        status = recording_trace_make(options, &trace, error);
    if (status != PCERE_OK)
        return status;
    struct program_signals before;
    struct recording recording = {0};
    pid_t pid;
    program_signals_begin(&before);
    uint64_t start_ns = now_ns();
    status = process_start(options, trace, &before, &pid, error);
    if (status == PCERE_OK) {
        program_signals_to(pid);
        int program_status = 0;
        while (waitpid(pid, &program_status, 0) < 0 && errno == EINTR)
            continue;
        program_signals_gone();
        recording.wall_ns = now_ns() - start_ns;
        recording.program_status = program_status;
        status = trace_file_seal(trace, options->kept, program_status, recording.wall_ns, error);
    }
    program_signals_end(&before);
    close(trace);
    if (status != PCERE_OK) {
        unlink(options->trace);
        return status;
    }
    *ret_recording = recording;
    return PCERE_OK;
}

enum pcere_status recording_judge(const struct trace_header *header, const char *to_do, struct pcere_error *error)
{
    if (header->attached != TRACE_VERSION && !header->library[0])
        return pcere_fail(error, PCERE_REFUSED, 0, "link it again: the command ends with $(pcere version --static)", "the profiler in the program is another version's");
    if (header->attached != TRACE_VERSION)
        return pcere_fail(error, PCERE_REFUSED, 0, "LD_PRELOAD must be honoured: no setuid program, no script", "the profiler's library did not come into the program");
    if (!header->tool_started && header->foreign_runtime)
        return pcere_fail(error, PCERE_DATA, 0, "build it with clang -fopenmp, or link it with -lomp in place of -lgomp",
                          "the program uses gcc's OpenMP runtime (libgomp), which has no tool interface");
    if (!header->tool_started)
        return pcere_fail(error, PCERE_NO, 0, "an OpenMP program links with libomp (clang -fopenmp)", "the program started no OpenMP runtime: there is nothing to %s", to_do);
    return PCERE_OK;
}
