/* replay-rt/launcher/process.c - personality, spawn, watchdog, and what each end of a codelet's process means. */
#include "replay-rt/launcher/process.h"

#include "core/faults.h"
#include "replay-rt/launcher/patience.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ATTEMPTS = 21, RUNTIME_ABORTS_MOST = 3, POLL_MS = 100, POLL_BLIND_MS = 1 };

static uint64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Neither, where only the process's end will do, or there are no descriptors left. */
static void done_pipe(const struct process *process, int *ret_ends)
{
    if (!process->ending || pipe2(ret_ends, O_CLOEXEC))
        ret_ends[0] = ret_ends[1] = -1;
}

/* By one that stands by, if that has the same environment and this is the first attempt. */
static enum pcere_status process_begin(const struct process *process, int attempt, bool *ret_stood_by, pid_t *ret_child, int *ret_done, struct pcere_error *error)
{
    int record = -1, done[2];
    struct rlimit stacks;
    if (process->watcher && process->watcher->open(process->watcher->context, &record, error) != PCERE_OK)
        return error->status;
    done_pipe(process, done);
    process->plan->plan->filler = process->filler_fd < 0 ? 0 : FILLER_DESCRIPTOR;
    process->plan->plan->parent = (uint32_t)getpid();
    process->plan->plan->stack_limit = getrlimit(RLIMIT_STACK, &stacks) ? RLIM_INFINITY : stacks.rlim_cur;
    process->plan->plan->done = done[1] < 0 ? 0 : DONE_DESCRIPTOR;
    bool emulated = process->processor && process->processor->emulator;
    char plan_path[32], pages_path[32];
    snprintf(plan_path, sizeof plan_path, "/proc/self/fd/%d", PLAN_DESCRIPTOR);
    snprintf(pages_path, sizeof pages_path, "/proc/self/fd/%d", PAGES_DESCRIPTOR);
    char *arguments[] = {(char *)"codelet", plan_path, pages_path, NULL};
    char *emulation[] = {(char *)"emulator", (char *)"-L", emulated ? process->processor->sysroot : NULL, process->build->executable, plan_path,
                         pages_path, NULL};
    const struct spawn spawn = {
        .executable = emulated ? process->processor->emulator : process->build->executable,
        .arguments = emulated ? emulation : arguments,
        .environment = process->environment,
        .descriptors = {{process->plan->fd, PLAN_DESCRIPTOR}, {process->pages_fd, PAGES_DESCRIPTOR}, {process->filler_fd, FILLER_DESCRIPTOR}, {done[1], DONE_DESCRIPTOR},
                        {record, REPLAY_WATCHER_DESCRIPTOR}},
        .diagnostics_fd = process->diagnostics_fd,
        .keep_layout = process->keep_layout,
        .attempt = attempt,
    };
    pid_t standing_by = process->standby && !attempt ? standby_take(process->standby, process->environment, spawn.descriptors) : 0;
    int failure = standing_by ? 0 : spawn_process(&spawn, ret_child);
    if (standing_by)
        *ret_child = standing_by;
    *ret_stood_by = standing_by != 0;
    if (done[1] >= 0)
        close(done[1]);
    if (failure && done[0] >= 0)
        close(done[0]);
    if (!failure)
        *ret_done = done[0];
    return failure ? pcere_fail(error, PCERE_SYSTEM, failure,
                                failure == EACCES ? "copy the store to a file system where programs may be run (it is mounted noexec?)" : NULL,
                                "cannot start the codelet of '%s'", process->region)
                   : PCERE_OK;
}

static uint64_t patience_of(const struct process *process)
{
    const struct plan_result *result = &process->plan->plan->result;
    return atomic_load(&result->sampling) ? process->sample_patience_ns : atomic_load(&result->inside) ? process->region_patience_ns : process->patience_ns;
}

enum process_end { PROCESS_ENDED, PROCESS_DONE, PROCESS_STAYS, PROCESS_HUNG, PROCESS_STOPPED };

static bool is_to_stop(const struct process *process)
{
    return process->stop && process->stop();
}

/* Wait for the end, or for the result; PROCESS_HUNG, PROCESS_STOPPED: it was killed. `done`: what the process closes when its result is there, or -1. Where pidfd_open is forbidden, what the child
 * does is looked for each millisecond. */
static enum process_end process_wait(const struct process *process, pid_t child, int done, int *ret_status)
{
    struct pollfd ends[] = {{.fd = (int)syscall(SYS_pidfd_open, child, 0), .events = POLLIN}, {.fd = done, .events = POLLIN}};
    struct patience patience = {.looked_ns = clock_ns(), .used_ns = patience_used_ns(child)};
    enum process_end how = PROCESS_ENDED;
    for (;;) {
        poll(ends, sizeof ends / sizeof *ends, ends[0].fd >= 0 ? POLL_MS : POLL_BLIND_MS);
        if (ends[1].revents && how == PROCESS_ENDED && atomic_load(&process->plan->plan->result.state) == PLAN_DONE) {
            char said;
            how = ends[1].revents & POLLIN && read(done, &said, 1) == 1 ? PROCESS_STAYS : PROCESS_DONE;
            break;
        }
        if (ends[1].revents)
            ends[1].fd = -1;          /* it ends without a result */
        pid_t got = waitpid(child, ret_status, WNOHANG);
        if (got == child || (got < 0 && errno != EINTR))
            break;
        const struct plan_result *result = &process->plan->plan->result;
        if (how == PROCESS_ENDED && is_to_stop(process)) {
            how = PROCESS_STOPPED;
            kill(child, SIGKILL);
        }
        if (how == PROCESS_ENDED && patience_ended(&patience, atomic_load(&result->progress), clock_ns(), patience_used_ns(child), patience_sleeps(child), patience_of(process))) {
            how = PROCESS_HUNG;
            patience_ask(child, process->plan->plan);
            kill(child, SIGKILL);
        }
    }
    if (ends[0].fd >= 0)
        close(ends[0].fd);
    return how;
}

void process_ending_wait(struct process_ending *ending)
{
    if (!ending->child)
        return;
    while (waitpid(ending->child, NULL, 0) < 0 && errno == EINTR)
        continue;
    spawn_forget(ending->child);
    ending->child = 0;
}

static void turn_say(struct replay_plan *plan, enum plan_turn turn)
{
    atomic_store(&plan->turn, turn);
    syscall(SYS_futex, &plan->turn, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void process_release(struct process_staying *staying, struct process_ending *ending)
{
    if (!staying->child)
        return;
    turn_say(staying->plan, PLAN_TURN_END);
    /* Closing is the last that it does with its plan. */
    for (struct pollfd done = {.fd = staying->done}; poll(&done, 1, -1) < 0 && errno == EINTR;)
        continue;
    close(staying->done);
    process_ending_wait(ending);
    ending->child = staying->child;
    *staying = (struct process_staying){0};
}

/* "/usr/lib/libc.so.6 BUILD-ID": what it exports is found wherever it lies; of the rest a codelet has what has no state, if it has the same build. */
static enum pcere_status library_explain(const struct process *process, const char *name, struct pcere_error *error)
{
    return pcere_fail(error, PCERE_NO, 0,
                      "a module that the program loaded itself (dlopen, iconv_open) is part of the codelets if it is there when the first one is captured, or with pcere capture "
                      "--capture-library NAME; of the C library they need the build of the capture",
                      "region '%s' uses code or data of %.*s, which the program had and its codelet has not", process->region, (int)strcspn(name, " "), name);
}

static enum pcere_status crash_explain(const struct process *process, const struct plan_result *result, struct pcere_error *error)
{
    const char *missing = result->fault_address ? build_missing_at(process->build, result->fault_address) : NULL;
    if (missing && process->processor && process->processor->triple)
        return pcere_fail(error, PCERE_NO, 0, "compile all its sources with the plugin",
                          "region '%s' uses '%.200s', of which the program has no bitcode, or nothing at all", process->region, missing);
    if (missing)
        return pcere_fail(error, PCERE_NO, 0, "replay with the flags of the original, or capture a program built with lower optimisation; one that was linked with --gc-sections "
                          "by the GNU linker must not be stripped",
                          "region '%s' uses '%.200s', which the original program, as it was optimised, does not have", process->region,
                          missing);
    const struct store_external *library = result->fault_address && process->externals ? external_table_library(process->externals, result->fault_address) : NULL;
    if (library)
        return library_explain(process, external_table_name(process->externals, (size_t)(library - process->externals->items)), error);
    if (result->runtime_aborted)
        return pcere_fail(error, PCERE_NO, 0, "its words are on standard error; the region may ask for what it cannot do, and LLVM's is known to fail an assertion of its own at times",
                          "the OpenMP runtime ended the codelet of '%s'", process->region);
    char where[48] = "";
    if (result->fault_address)
        snprintf(where, sizeof where, " at address 0x%llx", (unsigned long long)result->fault_address);
    return pcere_fail(error, PCERE_NO, 0, "the backtrace on standard error says where", "the codelet of '%s' crashed: %s%s",
                      process->region, strsignal(result->signal), where);
}

static enum pcere_status hang_explain(const struct process *process, const struct plan_result *result, struct pcere_error *error)
{
    char places[sizeof result->places];
    memcpy(places, result->places, sizeof places);
    places[sizeof places - 1] = '\0';
    bool crowded = result->threads > (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
    return pcere_fail(error, PCERE_NO, 0, crowded ? "more threads than cores make regions that spin very slow"
                          : "it may wait for what nothing in it does: another thread of the program, a signal, a message, or an end that its memory never brings",
                      "the codelet of '%s' made no progress for %.0f s and was stopped%s%s", process->region, (double)patience_of(process) / 1e9,
                      *places ? ": " : "", places);
}

static enum pcere_status stop_explain(const struct process *process, struct pcere_error *error)
{
    return pcere_fail(error, PCERE_NO, 0, NULL, "the codelet of '%s' was stopped", process->region);
}

static enum pcere_status end_explain(const struct process *process, bool hung, int status, struct pcere_error *error)
{
    const struct plan_result *result = &process->plan->plan->result;
    uint32_t state = atomic_load(&result->state);
    char message[sizeof result->message];
    memcpy(message, result->message, sizeof message);
    message[sizeof message - 1] = '\0';
    if (state == PLAN_DONE && WIFEXITED(status) && !WEXITSTATUS(status))
        return PCERE_OK;
    if (hung)
        return hang_explain(process, result, error);
    if (state == PLAN_COLLIDED)
        return pcere_fail(error, PCERE_REFUSED, 0, "a program with a sanitizer (-fsanitize) has its shadow memory there: capture a build without; else allow "
                          "address-space randomisation (/proc/sys/kernel/randomize_va_space)",
                          "the codelet of '%s' finds no place beside its captured memory: %s", process->region, message);
    if (state == PLAN_UNMAPPED)
        return pcere_fail(error, PCERE_REFUSED, 0, "see 'ulimit -v', vm.overcommit_memory, vm.max_map_count and vm.mmap_min_addr",
                          "the codelet of '%s' cannot have its captured memory: %s", process->region, message);
    if (state == PLAN_CRASHED)
        return crash_explain(process, result, error);
    if (state == PLAN_UNREPEATABLE)
        return pcere_fail(error, PCERE_NO, 0,
                          strstr(message, PLAN_CHANGED) ? "what the program writes itself, a second run of the capture writes again: pcere capture --one-run"
                          : strstr(message, PLAN_GONE)  ? "replays read such files where the program did: have it keep those that it removes"
                                                        : "pcere regions shows what regions read and write",
                          "region '%s' cannot be replayed: %s", process->region, message);
    if (state == PLAN_REFUSED && process->processor && process->processor->triple)
        return pcere_fail(error, PCERE_REFUSED, 0, "without --target it is replayed on the program's processor",
                          "region '%s' cannot run on another processor: %s", process->region, message);
    if (state == PLAN_REFUSED)
        return pcere_fail(error, PCERE_REFUSED, 0, "rebuild it for this processor, such as by --flags \"-O3 -march=native\"",
                          "region '%s' cannot run on this machine: %s", process->region, message);
    if (state == PLAN_FAILED)
        return pcere_fail(error, PCERE_NO, 0, NULL, "the codelet of '%s' cannot run: %s", process->region, message);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)   /* the guard's, where signals are blocked, as they are before a process is made */
        return pcere_fail(error, PCERE_NO, 0, "pcere regions shows what regions read and write",
                          "region '%s' cannot be replayed: it starts another process, or reaches out of its own while signals are blocked",
                          process->region);
    if (WIFSIGNALED(status))
        return pcere_fail(error, PCERE_NO, 0, WTERMSIG(status) == SIGKILL ? "memory may have run out" : NULL,
                          "the codelet of '%s' was ended by a signal: %s", process->region, strsignal(WTERMSIG(status)));
    if (state == PLAN_PREPARED)
        return pcere_fail(error, PCERE_NO, 0, "its libraries may be missing here: see standard error",
                          "the codelet of '%s' did not start (status %d)", process->region, WEXITSTATUS(status));
    return pcere_fail(error, PCERE_NO, 0, NULL, "region '%s' ended its process with status %d", process->region, WEXITSTATUS(status));
}

/* Other addresses may be free; and LLVM's OpenMP runtime ends a process by an assertion of its own now and then (loops with schedule(dynamic), where threads lose
 * their processors: llvm-project's issue 54422), the program no less than its codelet. */
static bool deserves_another(const struct plan_result *result, int *runtime_aborts)
{
    uint32_t state = atomic_load(&result->state);
    return state == PLAN_COLLIDED || (state == PLAN_CRASHED && result->runtime_aborted && ++*runtime_aborts < RUNTIME_ABORTS_MOST);
}

/* Wait for the result, or the end. */
static enum pcere_status outcome_take(const struct process *process, pid_t child, int done, struct pcere_error *error)
{
    struct replay_plan *plan = process->plan->plan;
    int ended = 0;
    enum process_end how = process_wait(process, child, done, &ended);
    plan->result.phases_ns[PLAN_PHASE_END] += clock_ns() - plan->result.marked_ns;
    if (how == PROCESS_STAYS) {
        *process->staying = (struct process_staying){child, done, plan};
        return PCERE_OK;
    }
    if (done >= 0)
        close(done);
    if (how == PROCESS_DONE) {
        process->ending->child = child;
        return PCERE_OK;
    }
    spawn_forget(child);
    if (how == PROCESS_STOPPED)
        return stop_explain(process, error);
    return end_explain(process, how == PROCESS_HUNG, ended, error);
}

enum pcere_status process_go_on(const struct process *process, uint64_t *ret_wall_ns, struct pcere_error *error)
{
    uint64_t start_ns = clock_ns();
    struct process_staying staying = *process->staying;
    *process->staying = (struct process_staying){0};
    plan_file_reset(process->plan);
    staying.plan->result.marked_ns = start_ns;
    turn_say(staying.plan, PLAN_TURN_ON);
    process_ending_wait(process->ending);
    enum pcere_status status = outcome_take(process, staying.child, staying.done, error);
    if (!status)
        *ret_wall_ns = clock_ns() - start_ns;
    return status;
}

enum pcere_status process_run(const struct process *process, uint64_t *ret_wall_ns, struct pcere_error *error)
{
    uint64_t start_ns = clock_ns();
    enum pcere_status status = PCERE_OK;
    struct pcere_error last = {0};        /* of an attempt: a later one may go well */
    int runtime_aborts = 0;
    if (is_to_stop(process))
        return stop_explain(process, error);
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        pid_t child = 0;
        int done = -1;
        bool stood_by = false;
        if (!attempt && fault_point("codelets.places"))       /* as if captured addresses were taken */
            continue;
        plan_file_reset(process->plan);
        struct plan_result *result = &process->plan->plan->result;
        result->marked_ns = clock_ns();
        atomic_store(&result->held, (process->ending && process->ending->child) || process->standby_next);
        status = process_begin(process, attempt, &stood_by, &child, &done, &last);
        if (status)
            break;
        if (process->ending)
            process_ending_wait(process->ending);
        if (process->standby_next) {
            standby_start(process->standby, process->standby_next, process->environment);
            standby_settle(process->standby);
        }
        atomic_store(&result->held, 0);
        status = outcome_take(process, child, done, &last);
        if (!status || !deserves_another(result, &runtime_aborts))
            break;
        if (stood_by && atomic_load(&result->state) == PLAN_COLLIDED) {
            process->standby->off = true;
            standby_end(process->standby);
        }
    }
    if (status && error)
        *error = last;
    if (!status)
        *ret_wall_ns = clock_ns() - start_ns;
    return status;
}
