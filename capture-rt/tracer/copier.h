/* capture-rt/tracer/copier.h - a stopped program's thread that waits for an answer, at work for us: it copies its own memory into the log.
 *
 *   tracer                                   entering thread (all others stand still)
 *     copier_begin: it is let go               waits for an answer
 *     copier_ask   ──── up to eight ahead ───▶ copies into a slot of the log
 *     copier_take  ◀── a count in the log ───  waits again
 *     copier_end: it is stopped again
 *
 * A process copies its own memory several times as fast as another one reads it: no page has to be found and pinned first.
 */
#ifndef PCERE_CAPTURE_TRACER_COPIER_H
#define PCERE_CAPTURE_TRACER_COPIER_H

#include "capture-rt/protocol.h"
#include "capture-rt/tracer/freeze.h"

#include <stdbool.h>

struct copier {                  /* all borrowed; filled by whoever has them, `asked` and `taken` 0 for a new log */
    struct child *child;
    struct freeze *freeze;
    struct capture_log *log;
    int socket;
    pid_t tid;                   /* of the thread that waits for an answer */
    uint64_t asked, taken;
    bool lost;                   /* it is gone, or nobody listens */
};

/* Touch the slots, so that no stop has to. */
void copier_prepare(const struct copier *copier);
/* All of the program stands still: let that thread go. */
void copier_begin(struct copier *copier);
/* At most CAPTURE_COPY_BYTES, while fewer than CAPTURE_COPY_SLOTS are asked for and not taken. False: nobody copies any more. */
bool copier_ask(struct copier *copier, uint64_t address, uint64_t bytes);
/* Is the oldest one that was asked for there? */
bool copier_is_ready(const struct copier *copier);
/* Wait for it. Valid until CAPTURE_COPY_SLOTS more are asked for. NULL: it could not be copied. */
const void *copier_take(struct copier *copier);
/* What was asked for and not taken is given up, and the thread stopped again. PCERE_NO: the program ended meanwhile. */
enum pcere_status copier_end(struct copier *copier, struct pcere_error *error);

#endif
