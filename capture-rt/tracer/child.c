#include "capture-rt/tracer/child.h"

#include "capture-rt/protocol.h"
#include "capture-rt/tracer/delays.h"
#include "core/environment.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

uint64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t thread_cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- environment ----------------------------------------------------------------------------------------------------------- */

static bool places_are_set(char *const *variables)
{
    static const char *const names[] = {"OMP_PROC_BIND", "OMP_PLACES", "KMP_AFFINITY", "GOMP_CPU_AFFINITY"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (environment_get(variables, names[i]))
            return true;
    return false;
}

bool child_sets_places(const struct capture_options *options)
{
    return !options->keep_affinity && !places_are_set(options->environment);
}

/* What libraries read while they are loaded, before a codelet can give them the captured environment: settings of the OpenMP runtime,
 * and which variant of a routine a library of mathematics takes on this processor. Not all of it: a store is given away. */
static bool is_recorded(const char *variable)
{
    static const char *const families[] = {"OMP_", "KMP_", "GOMP_", "OPENBLAS_", "GOTO_", "BLIS_", "MKL_", "NVPL_", "ARMPL_",
                                           "LIBXSMM_", "DNNL_", "ONEDNN_"};
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (strncmp(variable, families[i], strlen(families[i])) == 0)
            return true;
    return environment_names(variable, "LD_LIBRARY_PATH") || environment_names(variable, "GLIBC_TUNABLES");
}

static struct environment environment_make(const struct child_setup *setup)
{
    const struct capture_options *options = setup->options;
    struct environment result = environment_copy(options->environment);
    const char *threads = environment_get(options->environment, "OMP_NUM_THREADS");
    const char *inner = threads ? strchr(threads, ',') : NULL;      /* ",N..." for regions inside regions: stays as the user has it */
    environment_set(&result, "OMP_NUM_THREADS=%u%s", options->threads ? options->threads : 1, inner ? inner : "");
    if (child_sets_places(options)) {
        environment_set(&result, STORE_OWN_BIND);
        environment_set(&result, STORE_OWN_PLACES);
    }
    environment_preload(&result, options->library);
    environment_set(&result, CAPTURE_ENVIRONMENT "=%06d,%06d", setup->log, setup->socket);      /* as long in both runs: the stack lies above */
    return result;
}

static struct environment environment_recorded(char *const *variables)
{
    struct environment result = {0};
    for (size_t i = 0; variables && variables[i]; i++)
        if (is_recorded(variables[i]))
            environment_add(&result, variables[i]);
    return result;
}

/* ---- start ----------------------------------------------------------------------------------------------------------------- */

struct launch {                  /* all that the new process needs, prepared before it is made */
    const char *program;
    char **arguments, **environment;
    int log, socket, descriptors[3];
    bool keep_randomization;
    const struct child *child;
    volatile int exec_errno, personality_errno;     /* written by the new process: vfork shares memory */
};

/* Runs in the memory of its parent, which waits: calls only what is async-signal-safe. */
static void launch_run(struct launch *launch)
{
    program_signals_give(&launch->child->signals);
    for (int i = 0; i < 3; i++)
        if (launch->descriptors[i] != i && dup2(launch->descriptors[i], i) < 0) {
            launch->exec_errno = errno;
            return;
        }
    fcntl(launch->log, F_SETFD, 0);
    if (launch->socket >= 0)
        fcntl(launch->socket, F_SETFD, 0);
    int persona = personality(0xffffffff);
    if (launch->keep_randomization)
        launch->personality_errno = EPERM;
    else if (persona < 0 || personality((unsigned long)persona | ADDR_NO_RANDOMIZE) < 0)
        launch->personality_errno = errno;
    execve(launch->program, launch->arguments, launch->environment);
    launch->exec_errno = errno;
}

static enum pcere_status exec_failure(const char *program, int errnum, struct pcere_error *error)
{
    switch (errnum) {
    case ENOENT: case ENOTDIR:
        if (access(program, F_OK) == 0)
            return pcere_fail(error, PCERE_REFUSED, errnum, "readelf -l tells which it is: install it, or link the program again on this machine",
                              "cannot run '%s': the loader that it names is not here", program);
        return pcere_fail(error, PCERE_USAGE, errnum, "give the program's path; PATH is not searched", "cannot run '%s'", program);
    case EACCES: case EPERM: case ELOOP: case ENAMETOOLONG:
        return pcere_fail(error, PCERE_USAGE, errnum, NULL, "cannot run '%s'", program);
    case ENOEXEC:
        return pcere_fail(error, PCERE_DATA, errnum, NULL, "cannot run '%s'", program);
    default:
        return pcere_fail(error, PCERE_SYSTEM, errnum, NULL, "cannot run '%s'", program);
    }
}

static pid_t launch_fork(struct launch *launch)
{
    pid_t pid = vfork();
    if (pid == 0) {
        launch_run(launch);
        _exit(127);
    }
    return pid;
}

static char **arguments_make(const struct capture_options *options)
{
    size_t count = 0;
    while (options->arguments && options->arguments[count])
        count++;
    char **list = calloc(count + 2, sizeof *list);
    if (!list)
        return NULL;
    list[0] = (char *)(uintptr_t)options->program;
    for (size_t i = 0; i < count; i++)
        list[i + 1] = options->arguments[i];
    return list;
}

enum pcere_status child_start(const struct child_setup *setup, struct child *ret_child, struct pcere_error *error)
{
    struct child child = {.pidfd = -1};
    struct environment environment = environment_make(setup), recorded = environment_recorded(environment.list);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    struct launch launch = {.program = setup->options->program, .arguments = arguments_make(setup->options),
                            .environment = environment.list, .log = setup->log, .socket = setup->socket, .child = &child,
                            .keep_randomization = setup->options->faults & CAPTURE_FAULT_PERSONALITY};
    enum pcere_status status = PCERE_OK;
    if (environment.failed || recorded.failed || !launch.arguments)
        status = pcere_fail_memory(error, "the program's environment");
    else if (null < 0)
        status = pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot open '/dev/null'");
    if (status != PCERE_OK)
        goto done;
    for (int i = 0; i < 3; i++)
        launch.descriptors[i] = setup->descriptors[i] >= 0 ? setup->descriptors[i] : null;

    program_signals_begin(&child.signals);
    child.before_cpu_ns = thread_cpu_ns();
    child.start_ns = clock_ns();
    child.pid = launch_fork(&launch);
    if (child.pid < 0)
        status = pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot make a process for '%s'", setup->options->program);
    else if (launch.exec_errno) {
        waitpid(child.pid, NULL, 0);
        status = exec_failure(setup->options->program, launch.exec_errno, error);
    }
    if (status != PCERE_OK) {
        program_signals_end(&child.signals);
        goto done;
    }
    program_signals_to(child.pid);
    child.randomized = launch.personality_errno != 0;
    child.pidfd = (int)syscall(SYS_pidfd_open, child.pid, 0);
    child.environment = recorded.list;
    recorded = (struct environment){0};
    *ret_child = child;
done:
    if (null >= 0)
        close(null);
    environment_done(&recorded);
    environment_done(&environment);
    free(launch.arguments);
    return status;
}

/* ---- end ------------------------------------------------------------------------------------------------------------------- */

void child_note_end(struct child *child, int status, uint64_t peak_bytes)
{
    program_signals_gone();
    child->end_ns = clock_ns();
    child->ended = true;
    child->status = status;
    child->peak_bytes = peak_bytes;
}

/* What the kernel knows of it goes when it is reaped. */
static void child_waited_look(struct child *child)
{
    siginfo_t info = {0};
    uint64_t waited_ns;
    if (!child->ended && waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == child->pid && delays_waited(child->pid, child->pid, &waited_ns)) {
        /* Other threads of ours are the nicest there are, and as good as never have a processor that the program waits for. */
        uint64_t own_ns = thread_cpu_ns() - child->before_cpu_ns - child->asleep_cpu_ns;
        child->waited_ns = waited_ns > own_ns ? waited_ns - own_ns : 0;
    }
}

static bool child_reap(struct child *child, int flags)
{
    struct rusage usage;
    int status;
    child_waited_look(child);
    while (!child->ended) {
        pid_t pid = wait4(child->pid, &status, flags, &usage);
        if (pid == child->pid && (WIFEXITED(status) || WIFSIGNALED(status)))
            child_note_end(child, status, (uint64_t)usage.ru_maxrss * 1024);
        else if (pid < 0 && errno != EINTR)
            child_note_end(child, 0, 0);        /* somebody else reaped it */
        else if (pid == 0)
            return false;
    }
    return true;
}

bool child_poll(struct child *child)
{
    return child_reap(child, WNOHANG);
}

bool child_wait(struct child *child, int socket, int timeout_ms)
{
    struct pollfd polled[2] = {{.fd = socket, .events = POLLIN}, {.fd = child->pidfd, .events = POLLIN}};
    if (child->ended)
        return false;
    if (child->pidfd < 0 && (timeout_ms < 0 || timeout_ms > 10))
        timeout_ms = 10;
    if (poll(polled, 2, timeout_ms) > 0 && polled[0].revents & (POLLIN | POLLHUP | POLLERR))
        return true;
    child_poll(child);
    return false;
}

void child_stop(struct child *child, const struct capture_options *options)
{
    if (child->ended || child->stopped || !options->stop || !options->stop())
        return;
    child->stopped = true;
    kill(child->pid, SIGTERM);
}

bool child_was_interrupted(int status)
{
    return program_signals_came() || (WIFSIGNALED(status) && (WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGQUIT || WTERMSIG(status) == SIGTERM));
}

void child_done(struct child *child)
{
    if (!child || child->pid <= 0)
        return;
    child_reap(child, 0);
    if (child->pidfd >= 0)
        close(child->pidfd);
    program_signals_end(&child->signals);
    environment_list_free(child->environment);
    *child = (struct child){.pidfd = -1};
}

/* ---- standard input -------------------------------------------------------------------------------------------------------- */

int child_input_again(int descriptor, off_t position)
{
    char path[64];
    struct stat facts;
    if (fstat(descriptor, &facts) != 0 || !S_ISREG(facts.st_mode))
        return -1;
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    int again = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (again >= 0 && position > 0)
        lseek(again, position, SEEK_SET);
    return again;
}

static int file_again(int descriptor)
{
    return child_input_again(descriptor, lseek(descriptor, 0, SEEK_CUR));
}

static enum pcere_status pipe_keep(int descriptor, int *ret_file, struct pcere_error *error)
{
    const char *directory = "/tmp";
    int file = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file < 0)
        file = memfd_create("pcere-input", MFD_CLOEXEC);
    char *buffer = malloc(1 << 16);
    enum pcere_status status = PCERE_OK;
    if (file < 0 || !buffer)
        status = pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot keep standard input for two runs");
    while (status == PCERE_OK) {
        ssize_t count = read(descriptor, buffer, 1 << 16);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            status = pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot read standard input");
        if (count <= 0)
            break;
        for (ssize_t done = 0; done < count && status == PCERE_OK;) {
            ssize_t written = write(file, buffer + done, (size_t)(count - done));
            if (written < 0 && errno != EINTR)
                status = pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot keep standard input for two runs");
            done += written > 0 ? written : 0;
        }
    }
    free(buffer);
    if (status != PCERE_OK) {
        if (file >= 0)
            close(file);
        return status;
    }
    lseek(file, 0, SEEK_SET);
    *ret_file = file;
    return PCERE_OK;
}

#define INPUT_COMES_MS 500              /* who gives a program input begins within that time */

static off_t kept_start = -1;           /* of standard input, a file; -1: each run takes it as it is */

enum pcere_status capture_input_keep(struct pcere_error *error)
{
    struct stat facts;
    if (kept_start >= 0 || fstat(STDIN_FILENO, &facts) != 0)
        return PCERE_OK;
    struct pollfd waits = {.fd = STDIN_FILENO, .events = POLLIN};
    if ((S_ISFIFO(facts.st_mode) || S_ISSOCK(facts.st_mode)) && poll(&waits, 1, INPUT_COMES_MS) > 0) {
        int file = -1;
        enum pcere_status status = pipe_keep(STDIN_FILENO, &file, error);
        if (status != PCERE_OK)
            return status;
        bool there = dup2(file, STDIN_FILENO) == STDIN_FILENO;
        close(file);
        if (!there)
            return pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot keep standard input for several runs");
        kept_start = 0;
    } else if (S_ISREG(facts.st_mode)) {
        kept_start = lseek(STDIN_FILENO, 0, SEEK_CUR);
    }
    return PCERE_OK;
}

void child_input_rewind(void)
{
    if (kept_start >= 0)
        lseek(STDIN_FILENO, kept_start, SEEK_SET);
}

enum pcere_status child_input_share(int descriptor, bool keep, int both[2], bool *ret_once, struct pcere_error *error)
{
    struct stat facts;
    both[0] = both[1] = -1;
    *ret_once = false;
    if (fstat(descriptor, &facts) != 0)
        return PCERE_OK;                        /* closed: as it is */
    if (S_ISREG(facts.st_mode)) {
        both[keep ? 0 : 1] = file_again(descriptor);
        return PCERE_OK;
    }
    bool flows = S_ISFIFO(facts.st_mode) || S_ISSOCK(facts.st_mode);
    *ret_once = !keep && (flows || isatty(descriptor));
    if (!keep || !flows)
        return PCERE_OK;
    enum pcere_status status = pipe_keep(descriptor, &both[0], error);
    if (status != PCERE_OK)
        return status;
    both[1] = file_again(both[0]);
    if (both[1] < 0) {
        close(both[0]);
        both[0] = -1;
        return pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot open standard input again");
    }
    return PCERE_OK;
}
