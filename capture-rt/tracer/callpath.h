/* capture-rt/tracer/callpath.h - how the program came to a region: its own frames above the probe, by libunwind.
 *
 * What libunwind learns of the program's unwinding tables, and the names of addresses, are kept from one stop to the next: it takes it 1.4 ms to
 * begin anew.
 */
#ifndef PCERE_CAPTURE_TRACER_CALLPATH_H
#define PCERE_CAPTURE_TRACER_CALLPATH_H

#include "capture-rt/protocol.h"
#include "capture-rt/tracer/child.h"
#include "capture-rt/tracer/maps.h"
#include "core/elf_code.h"
#include "store/store.h"

struct callpath {                /* of one process; zero is empty */
    void *space, *process;       /* libunwind's */
    pid_t tid;                   /* that `process` is for */
    struct callpath_memory *memory;      /* what was read of it in the walk that is under way */
    struct elf_code *code;       /* the program's functions, whose names its file tells sooner than the process does; NULL: it tells of none */
    uint64_t low, high, bias;    /* where it lies, and how far above its link-time addresses */
    struct store_frame *names;   /* known ones */
    size_t name_count, name_capacity;
};

/* Once, of the run's process: its executable lies there, `bias` above its link-time addresses. */
void callpath_program(struct callpath *callpath, const char *path, const struct map_facts *facts, uint64_t bias);
/* The thread `tid` waits for us, and told its registers. *ret_frames (malloc) holds addresses inside the program and the user's libraries, innermost first, without names; none is no failure. */
enum pcere_status callpath_read(struct callpath *callpath, pid_t tid, const uint64_t registers[CAPTURE_REGISTERS], const struct map_facts *facts,
                                struct store_frame **ret_frames, size_t *ret_count, struct pcere_error *error);
/* Does the stopped thread have a frame outside all of these ranges? Not, where nothing is known of its frames. */
bool callpath_leaves(struct callpath *callpath, pid_t tid, const struct store_range *ranges, size_t count);
/* Put "function+0x12" beside each address and drop what lies outside main. The process must still be there, but need not be stopped. */
void callpath_name(struct callpath *callpath, pid_t pid, struct store_frame *frames, size_t *count);
void callpath_done(struct callpath *callpath);

#endif
