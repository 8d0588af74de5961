/* replay-rt/launcher/filler.h - memory that only fills caches, and threads that go through it where a codelet's thread asks for it, in its place.
 *
 * A codelet's process that had such memory would map it page by page, and give it back when it ends: 1 us a page together, as much as all else of a small codelet costs. So it
 * is the launcher's, for all of a session, and what the processes share is a page of requests (struct plan_filler in protocol.h).
 */
#ifndef PCERE_REPLAY_LAUNCHER_FILLER_H
#define PCERE_REPLAY_LAUNCHER_FILLER_H

#include <stdbool.h>
#include <stdint.h>

struct filling;
struct filler {
    int fd;                           /* of the requests; -1: none, codelets do without */
    struct filling *filling;
};
#define FILLER_NONE ((struct filler){.fd = -1})

struct filler filler_open(void);                   /* as large as the last cache; nothing of it is there yet */
bool filler_is_made(const struct filler *filler);  /* in part, at least */
/* Make its pages while others work: else who asks first does. */
void filler_make(struct filler *filler);
/* A team of so many threads may ask from now on: those whose requests say that they are served. */
void filler_serve(struct filler *filler, uint32_t threads);
void filler_close(struct filler *filler);

#endif
