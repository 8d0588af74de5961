/* capture-rt/tracer/log.h - the shared log as the tracer makes and reads it: the program can write to it, so all of it is checked. */
#ifndef PCERE_CAPTURE_TRACER_LOG_H
#define PCERE_CAPTURE_TRACER_LOG_H

#include "capture-rt/protocol.h"
#include "capture-rt/tracer/child.h"

struct shared_log {
    int descriptor;              /* high, so that the program's own numbers stay as they are */
    struct capture_log *log;
    size_t bytes;
    struct capture_invocation *room;     /* for what shared_log_read makes of the records, touched already; or NULL */
    size_t room_count;
};

enum pcere_status shared_log_open(const struct capture_options *options, enum capture_mode mode, struct shared_log *ret_log,
                                  struct pcere_error *error);
void shared_log_close(struct shared_log *log);

/* A duplicate of `descriptor` with a high number and O_CLOEXEC, or -1. */
int descriptor_raise(int descriptor);
/* Before there are threads: the first high number then waits 10 ms for the kernel to be sure that no thread looks at the old table. */
void descriptors_make_room(void);

/* What the program left in the log and how it ended, as a run. */
enum pcere_status shared_log_read(struct shared_log *log, struct child *child, const struct capture_options *options,
                                  struct capture_run *ret_run, struct pcere_error *error);

/* Check the program before it is started (capture_measure's errors). */
enum pcere_status program_check(const struct capture_options *options, struct pcere_error *error);

#endif
