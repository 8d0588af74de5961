/* replay-rt/launcher/filler.h - a memory file with which codelets fill caches: one for all of a session, since making memory present costs more than filling with it. */
#ifndef PCERE_REPLAY_LAUNCHER_FILLER_H
#define PCERE_REPLAY_LAUNCHER_FILLER_H

#include <pthread.h>
#include <stdbool.h>

struct filler {
    int fd;                           /* -1: none, codelets do without */
    bool asked, making;               /* making: `thread` runs, or has ended and was not waited for */
    pthread_t thread;
};
#define FILLER_NONE ((struct filler){.fd = -1})

struct filler filler_open(void);                   /* as large as the last cache; empty until its pages are made */
bool filler_is_made(const struct filler *filler);  /* in part, at least */
/* Make its pages while others work, once: else the first process that uses it does. */
void filler_make(struct filler *filler);
void filler_close(struct filler *filler);

#endif
