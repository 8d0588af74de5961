/* replay-rt/launcher/spawn.c - personality, descriptors, posix_spawn. */
#include "replay-rt/launcher/spawn.h"

#include "core/faults.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <unistd.h>

#define STACK_LIMIT_STEP_BYTES ((rlim_t)64 << 30)

enum { DESCRIPTORS_BEYOND = 10 };

static int streams_fill(int diagnostics_fd, posix_spawn_file_actions_t *actions)
{
    int failure = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    failure = failure ? failure : posix_spawn_file_actions_addopen(actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (!failure && diagnostics_fd < 0)
        failure = posix_spawn_file_actions_addopen(actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    else if (!failure && diagnostics_fd != STDERR_FILENO)
        failure = posix_spawn_file_actions_adddup2(actions, diagnostics_fd, STDERR_FILENO);
    return failure;
}

/* Where the layout may not be chosen, a repeated start would collide again. The kernel puts libraries below the room that the stack may need: another
 * limit moves them. The process may read it before it is as it was: plan->stack_limit says what it should have been. */
static bool stack_limit_move(int attempt, struct rlimit *ret_before)
{
    if (!attempt || getrlimit(RLIMIT_STACK, ret_before))
        return false;
    struct rlimit moved = {.rlim_cur = (rlim_t)attempt * STACK_LIMIT_STEP_BYTES, .rlim_max = ret_before->rlim_max};
    return (moved.rlim_max == RLIM_INFINITY || moved.rlim_cur <= moved.rlim_max) && !setrlimit(RLIMIT_STACK, &moved);
}

/* Whatever signals whoever started the launcher has blocked: the codelet needs its own. */
static int started(const struct spawn *spawn, const posix_spawn_file_actions_t *actions, pid_t *ret_child)
{
    posix_spawnattr_t attributes;
    sigset_t none, plain;
    int failure = posix_spawnattr_init(&attributes);
    if (failure)
        return failure;
    sigemptyset(&none);
    sigemptyset(&plain);
    sigaddset(&plain, SIGSYS);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &plain);
    failure = posix_spawn(ret_child, spawn->executable, actions, &attributes, spawn->arguments, spawn->environment);
    posix_spawnattr_destroy(&attributes);
    return failure;
}

/* Bottom-up layout with randomisation: captured processes had neither, so that the two seldom meet. */
static int layout_spawn(const struct spawn *spawn, const posix_spawn_file_actions_t *actions, pid_t *ret_child)
{
    struct rlimit limit_before;
    int before = personality(0xffffffff);
    unsigned long wanted = spawn->keep_layout ? (unsigned long)before | ADDR_COMPAT_LAYOUT | ADDR_NO_RANDOMIZE
                                              : ((unsigned long)before | ADDR_COMPAT_LAYOUT) & ~(unsigned long)ADDR_NO_RANDOMIZE;
    bool changed = before >= 0 && !fault_point("codelets.layout") && personality(wanted) >= 0;
    bool moved = (!changed || spawn->keep_layout) && stack_limit_move(spawn->attempt, &limit_before);
    int failure = started(spawn, actions, ret_child);
    if (changed)
        personality((unsigned long)before);
    if (moved) {
        setrlimit(RLIMIT_STACK, &limit_before);
        if (!failure)
            prlimit(*ret_child, RLIMIT_STACK, &limit_before, NULL);
    }
    return failure;
}

int spawn_process(const struct spawn *spawn, pid_t *ret_child)
{
    /* High numbers first: one of ours may have the number of another one there. */
    int raised[SPAWN_DESCRIPTORS], failure = 0;
    posix_spawn_file_actions_t actions;
    for (size_t i = 0; i < SPAWN_DESCRIPTORS; i++) {
        raised[i] = spawn->descriptors[i].number && spawn->descriptors[i].fd >= 0 ? fcntl(spawn->descriptors[i].fd, F_DUPFD_CLOEXEC, DESCRIPTORS_BEYOND) : -1;
        if (raised[i] < 0 && spawn->descriptors[i].number && spawn->descriptors[i].fd >= 0)
            failure = EBADF;
    }
    failure = failure ? failure : posix_spawn_file_actions_init(&actions);
    if (!failure) {
        failure = streams_fill(spawn->diagnostics_fd, &actions);
        for (size_t i = 0; !failure && i < SPAWN_DESCRIPTORS; i++)
            if (raised[i] >= 0)
                failure = posix_spawn_file_actions_adddup2(&actions, raised[i], spawn->descriptors[i].number);
        failure = failure ? failure : layout_spawn(spawn, &actions, ret_child);
        posix_spawn_file_actions_destroy(&actions);
    }
    for (size_t i = 0; i < SPAWN_DESCRIPTORS; i++)
        if (raised[i] >= 0)
            close(raised[i]);
    return failure;
}

void spawn_forget(pid_t child)
{
    char name[64];
    snprintf(name, sizeof name, "/__KMP_REGISTERED_LIB_%d_%u", (int)child, (unsigned)getuid());
    shm_unlink(name);
}
