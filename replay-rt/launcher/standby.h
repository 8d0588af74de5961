/* replay-rt/launcher/standby.h - a process of the codelets' executable that begins before it is known what it will replay, on a processor that has nothing else to do: loaded, linked, with its
 * OpenMP runtime awake, which takes longer than many regions. replay-rt/target/standby.c is its side.
 */
#ifndef PCERE_REPLAY_LAUNCHER_STANDBY_H
#define PCERE_REPLAY_LAUNCHER_STANDBY_H

#include "replay-rt/launcher/spawn.h"

struct standby {
    pid_t child;                      /* 0: there is none */
    int channel, ready;               /* a socket to it; a pipe that it closes when it sleeps */
    char **environment;               /* that it has */
    bool off;                         /* one met captured addresses: there will be none any more */
};

struct standby_kind {
    const char *executable;
    int diagnostics_fd;
    bool runtime;                     /* nobody's thread-specific keys have numbers that the runtime's own could take */
    bool places_ours;                 /* as plan->places_ours */
};

/* Starts one if there is none, with a copy of the environment. What fails is left alone: without one, processes start when they are needed. */
void standby_start(struct standby *standby, const struct standby_kind *kind, char *const *environment);
/* Until it sleeps, or has ended; not for ever. */
void standby_settle(const struct standby *standby);
/* Give it these, SPAWN_DESCRIPTORS at most as spawn.h has them: it is the caller's child from now on. 0: there is none that has this environment, or it is gone. */
pid_t standby_take(struct standby *standby, char *const *environment, const struct spawn_descriptor *descriptors);
void standby_end(struct standby *standby);

#endif
