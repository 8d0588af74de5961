/* capture-rt/tracer/files.h - what a program has open while a region runs, and what the region does with it.
 *
 *   before: /proc/PID/fd, fdinfo, io, and the C library's list of streams     ─┐
 *   after:  the same                                                           ├─▶ which descriptors were read, which were written
 *
 * Nothing is traced in between, so what two looks can tell is all that is known: positions that moved, what waits in pipes and sockets,
 * streams whose words changed, and how many bytes went through read(2), write(2) and their like.
 */
#ifndef PCERE_CAPTURE_TRACER_FILES_H
#define PCERE_CAPTURE_TRACER_FILES_H

#include "capture-rt/protocol.h"
#include "store/store.h"

#include <sys/types.h>

struct file_facts {
    uint64_t device, inode;
    uint64_t read_ns, written_ns;    /* times of last use, as far as the kernel keeps them */
    uint64_t waiting_bytes;          /* that can be read from a pipe, socket or terminal without waiting */
    bool shared;                     /* the same open file is the tracer's, and so others' perhaps, who move its position as well */
};

struct file_foreign {                /* a stream that no replay can have: wide, in memory, of the program's own making */
    uint64_t address;
    int32_t descriptor;              /* of a wide one, or below 0 */
    bool wide;
    unsigned char bytes[STORE_STREAM_BYTES], wide_words[64];
};

struct files {                       /* at one moment */
    struct store_descriptor *descriptors;   /* ascending, all of them */
    struct file_facts *facts;        /* one each */
    size_t count, capacity, fact_capacity;
    struct store_stream *streams;
    size_t stream_count, stream_capacity;
    struct file_foreign *foreign;
    size_t foreign_count, foreign_capacity;
    struct file_foreign used;        /* one that the region used, as files_compare finds; address 0: none */
    uint64_t read_bytes, written_bytes;     /* by the process since its start */
    bool read_elsewhere;             /* before a region: it read more than positions of files tell, as files_compare finds */
    bool read_opened;                /* the same: and nothing that was open before can have given that */
    uint64_t stamped_ns;        /* since 1970, when this was asked, by the clock that files are stamped with */
};

/* The program stands still. `own`: a descriptor of ours in the process, left out; -1: none. `log` is hostile. What cannot be seen is not there.
 * PCERE_SYSTEM: no memory. */
enum pcere_status files_read(pid_t pid, const struct capture_log *log, int own, struct files *ret_files, struct pcere_error *error);
void files_done(struct files *files);       /* accepts half-built */

/* Before the region: wait until a pipe that is read from now on has another time of use than it has now, a few milliseconds at most. */
void files_settle(const struct files *before);

/* Mark in `before` what the region read and wrote. */
void files_compare(struct files *before, const struct files *after);

/* "reads mesh.dat; writes standard output", or NULL if nothing was read or written. *ret_words is malloc'ed. PCERE_SYSTEM: no memory. */
enum pcere_status files_words(const struct files *before, const struct files *after, char **ret_words, struct pcere_error *error);

/* Why the region cannot be replayed: it reads from what no replay has, or uses such a stream. NULL if nothing says so. *ret_reason is malloc'ed. */
enum pcere_status files_obstacle(const struct files *before, char **ret_reason, struct pcere_error *error);

enum { FILES_CONTENT_BYTES_MOST = 16 << 20 };  /* of one file that is kept */

/* Keep what files hold that a replay will not find: those without a name, and those that are open for reading and writing, before the region
 * (`changing`); what the region read, behind it. Pages go to the writer. PCERE_SYSTEM, or what the store says. */
enum pcere_status files_contents(pid_t pid, struct files *files, bool changing, struct store_writer *writer, uint64_t page_bytes,
                                 struct store_run **runs, size_t *run_count, size_t *run_capacity, struct pcere_error *error);

/* Move descriptors (but standard output and error) and streams into the codelet. */
void files_move(struct files *files, struct store_codelet *codelet);

#endif
