#include "capture-rt/tracer/freeze.h"

#include "core/text.h"

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define HINT_PTRACE \
    "allow ptrace: 'sysctl kernel.yama.ptrace_scope=1' (or 0), in a container --cap-add=SYS_PTRACE; 'pcere check' tells more"

static bool is_held(const struct freeze *freeze, pid_t tid)
{
    for (size_t i = 0; i < freeze->count; i++)
        if (freeze->threads[i].tid == tid)
            return true;
    return false;
}

/* Wait until a thread that was interrupted stops, or is found to have ended. */
static void stop_await(struct child *child, struct freeze_thread *thread)
{
    struct rusage usage;
    int status;
    pid_t pid;
    do
        pid = wait4(thread->tid, &status, __WALL, &usage);
    while (pid < 0 && errno == EINTR);
    if (pid < 0 || !WIFSTOPPED(status)) {
        thread->gone = true;
        if (pid == child->pid)
            child_note_end(child, status, (uint64_t)usage.ru_maxrss * 1024);
        return;
    }
    /* An event stop carries no signal of the program's; any other stop is a signal about to be delivered. */
    if (status >> 16 == 0)
        thread->signal = WSTOPSIG(status);
}

/* errno of a refusal, or 0. */
static int thread_stop(struct child *child, pid_t tid, struct freeze *freeze)
{
    if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0)
        return errno;
    struct freeze_thread *thread = &freeze->threads[freeze->count++];
    *thread = (struct freeze_thread){.tid = tid};
    if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) == 0)
        stop_await(child, thread);
    else
        thread->gone = thread->ending = true;
    return 0;
}

/* What was killed meanwhile (another thread ended the program) stays ours until it was waited for. */
static void thread_let_go(struct freeze_thread *thread)
{
    if (!thread->gone && ptrace(PTRACE_DETACH, thread->tid, NULL, (void *)(intptr_t)thread->signal) != 0)
        thread->gone = thread->ending = true;
}

/* 0: unknown. A folder's links are those of its folders, and two. */
static size_t threads_count(const struct child *child)
{
    char path[64];
    struct stat facts;
    snprintf(path, sizeof path, "/proc/%d/task", (int)child->pid);
    return stat(path, &facts) == 0 && facts.st_nlink > 2 ? facts.st_nlink - 2 : 0;
}

static bool are_all_held(const struct child *child, const struct freeze *freeze)
{
    for (size_t i = 0; i < freeze->count; i++)
        if (freeze->threads[i].gone)
            return false;
    return threads_count(child) == freeze->count;
}

/* One pass over the threads. *ret_new counts those that were not held before. */
static enum pcere_status threads_stop(struct child *child, struct freeze *freeze, size_t *ret_new, struct pcere_error *error)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)child->pid);
    DIR *tasks = opendir(path);
    if (!tasks)
        return pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot list the program's threads");
    *ret_new = 0;
    for (struct dirent *entry; (entry = readdir(tasks));) {
        pid_t tid = (pid_t)atoi(entry->d_name);
        if (tid <= 0 || is_held(freeze, tid))
            continue;
        if (!array_reserve(&freeze->threads, &freeze->capacity, freeze->count + 1, sizeof *freeze->threads)) {
            closedir(tasks);
            return pcere_fail_memory(error, "the list of threads");
        }
        if (thread_stop(child, tid, freeze) == 0)
            (*ret_new)++;           /* refused: it is ending, since the initial thread could be seized */
    }
    closedir(tasks);
    return PCERE_OK;
}

/* What is killed may not be traced any more: a letter of its state, and of its flags PF_EXITING. */
static bool is_ending(pid_t tid)
{
    char path[64], line[512];
    unsigned flags = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)tid);
    FILE *file = fopen(path, "re");
    size_t length = file ? fread(line, 1, sizeof line - 1, file) : 0;
    if (file)
        fclose(file);
    line[length] = 0;
    const char *name_end = strrchr(line, ')');
    char state = 'X';
    return !name_end || sscanf(name_end + 1, " %c %*d %*d %*d %*d %*d %u", &state, &flags) != 2 || state == 'Z' || state == 'X' || (flags & 4);
}

enum pcere_status freeze_one(struct child *child, pid_t tid, struct freeze *freeze, struct pcere_error *error)
{
    if (!array_reserve(&freeze->threads, &freeze->capacity, freeze->count + 1, sizeof *freeze->threads))
        return pcere_fail_memory(error, "the list of threads");
    int refusal = thread_stop(child, tid, freeze);
    if (refusal == ESRCH || (refusal == EPERM && is_ending(tid)))
        return pcere_fail(error, PCERE_NO, 0, NULL, "the program ended while it was about to be stopped");
    return refusal ? pcere_fail(error, PCERE_REFUSED, refusal, HINT_PTRACE, "cannot trace the program") : PCERE_OK;
}

void freeze_one_release(struct freeze *freeze, pid_t tid)
{
    for (size_t i = 0; i < freeze->count; i++)
        if (freeze->threads[i].tid == tid) {
            thread_let_go(&freeze->threads[i]);
            if (!freeze->threads[i].ending)
                freeze->threads[i] = freeze->threads[--freeze->count];
            return;
        }
}

enum pcere_status freeze_all(struct child *child, pid_t first, struct freeze *freeze, struct pcere_error *error)
{
    size_t held = freeze->count;
    if (is_held(freeze, first))
        return pcere_fail(error, PCERE_DATA, 0, NULL, "a thread of the program that is held sends a message");
    if (freeze->permitted && first == child->pid && !held && threads_count(child) == 1)
        return PCERE_OK;
    enum pcere_status status = freeze_one(child, first, freeze, error);
    if (status != PCERE_OK)
        return status;
    for (size_t found = 1; status == PCERE_OK && found > 0 && !are_all_held(child, freeze);)
        status = threads_stop(child, freeze, &found, error);
    if (status == PCERE_OK && (child->ended || freeze->threads[held].gone))
        status = pcere_fail(error, PCERE_NO, 0, NULL, "the program ended while it was being stopped");
    freeze->permitted |= status == PCERE_OK;
    if (status != PCERE_OK)
        freeze_release(freeze);
    return status;
}

void freeze_release(struct freeze *freeze)
{
    size_t kept = 0;
    for (size_t i = 0; i < freeze->count; i++) {
        struct freeze_thread *thread = &freeze->threads[i];
        if (!thread->held_for)
            thread_let_go(thread);
        if (thread->ending || (thread->held_for && !thread->gone))
            freeze->threads[kept++] = *thread;
    }
    freeze->count = kept;
}

bool freeze_let_go(struct freeze *freeze, uint64_t held_for)
{
    bool any = false;
    for (size_t i = 0; i < freeze->count; i++)
        if (freeze->threads[i].held_for == held_for) {
            freeze->threads[i].held_for = 0;
            any = true;
        }
    freeze_release(freeze);
    return any;
}

void freeze_reap(struct child *child, struct freeze *freeze)
{
    for (size_t i = 0; i < freeze->count; i++) {
        struct freeze_thread *thread = &freeze->threads[i];
        struct rusage usage;
        int status;
        pid_t pid = thread->gone && !thread->ending ? 0 : wait4(thread->tid, &status, __WALL | WNOHANG, &usage);
        bool ended = pid == thread->tid && !WIFSTOPPED(status);
        if (ended && pid == child->pid)
            child_note_end(child, status, (uint64_t)usage.ru_maxrss * 1024);
        ended |= pid < 0 && errno == ECHILD;
        thread->gone |= ended;
        thread->ending &= !ended;
    }
    freeze_release(freeze);
}

void freeze_done(struct freeze *freeze)
{
    for (size_t i = 0; i < freeze->count; i++)
        freeze->threads[i].held_for = 0;
    freeze_release(freeze);
    free(freeze->threads);
    *freeze = (struct freeze){0};
}
