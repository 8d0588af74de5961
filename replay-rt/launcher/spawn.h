/* replay-rt/launcher/spawn.h - how a codelet's process is started: what it inherits, and an address space that does not meet captured addresses. */
#ifndef PCERE_REPLAY_LAUNCHER_SPAWN_H
#define PCERE_REPLAY_LAUNCHER_SPAWN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define SPAWN_DESCRIPTORS 5u

struct spawn_descriptor { int fd, number; };      /* of this process, and what it gets there; fd < 0: it does not */

struct spawn {
    const char *executable;
    char *const *arguments, *const *environment;   /* NULL-terminated */
    struct spawn_descriptor descriptors[SPAWN_DESCRIPTORS];     /* number 0: none */
    int diagnostics_fd;               /* its standard error; -1: none. It has no input and no output. */
    bool keep_layout;                 /* no address randomisation */
    int attempt;                      /* how often it met captured addresses already: with another layout, then */
};

/* 0, or an error number; EBADF: there are no descriptors left. */
int spawn_process(const struct spawn *spawn, pid_t *ret_child);

/* LLVM's OpenMP runtime leaves a shared memory object behind where a process ends without its destructors. */
void spawn_forget(pid_t child);

#endif
