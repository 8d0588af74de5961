/* capture-rt/tracer/snapshot.h - the memory of a stopped program as runs of stored pages, each stop reading only what changed since the last.
 *
 *   mappings  ──pagemap──▶ pieces: known and unchanged ──▶ numbers of the snapshot before
 *                                  zero                ──▶ STORE_PAGE_ZERO
 *                                  anything else       ──▶ copied by the program in 512 KiB chunks, or read by two threads ──▶ store_writer_pages ──▶ numbers
 */
#ifndef PCERE_CAPTURE_TRACER_SNAPSHOT_H
#define PCERE_CAPTURE_TRACER_SNAPSHOT_H

#include "capture-rt/tracer/copier.h"
#include "capture-rt/tracer/leads.h"
#include "capture-rt/tracer/maps.h"
#include "capture-rt/tracer/pagemap.h"

struct run_list { struct store_run *runs; size_t count, capacity; };    /* ascending, not overlapping, as long as can be */

/* Append a run that lies above all others; adjacent ones become one. False: no memory. */
bool run_list_add(struct run_list *list, struct store_run run, uint64_t page_bytes);
/* Append runs as another list has them one after the other, above all that are there; the first does not continue the last of these. False: no memory. */
bool run_list_append(struct run_list *list, const struct store_run *runs, size_t count);
/* Pages of `after` whose number differs from that in `before`, or that `before` lacks. False: no memory. */
bool run_list_difference(const struct run_list *before, const struct run_list *after, uint64_t page_bytes, struct run_list *ret_list);
/* The pages of both, which agree where they have the same ones. False: no memory. */
bool run_list_union(const struct run_list *left, const struct run_list *right, uint64_t page_bytes, struct run_list *ret_list);
/* The pages of `list` that lie in one of the mappings (ascending). False: no memory. */
bool run_list_inside(const struct run_list *list, const struct store_mapping *mappings, size_t count, uint64_t page_bytes,
                     struct run_list *ret_list);
/* The pages of `list` that do not lie in one of the aliases (ascending). False: no memory. */
bool run_list_outside(const struct run_list *list, const struct store_alias *aliases, size_t count, uint64_t page_bytes, struct run_list *ret_list);
uint64_t run_list_pages(const struct run_list *list);
bool run_list_copy(const struct run_list *list, struct run_list *ret_list);
void run_list_done(struct run_list *list);

struct snapshot_span { uint64_t address, pages, first; bool copied; };     /* to be read; `first`: its place among the numbers; copied: by the program */

#define SNAPSHOT_CHUNK_BYTES ((uint64_t)2 << 20)

struct snapshot_chunk {              /* of SNAPSHOT_CHUNK_BYTES, as its address tells */
    uint64_t address;
    unsigned calm;                   /* so many looks in a row found it hardly rewritten, up to snapshotter->calm_least */
    bool tracked, was_tracked;       /* what is written to it is noted since the newest snapshot; was between that and the one before */
};

struct snapshotter {
    pid_t pid;
    int memory;                  /* /proc/PID/mem */
    uint64_t page_bytes;
    struct pagemap pagemap;
    struct store_writer *writer;
    struct copier *copier;       /* who copies much memory; borrowed; NULL: nobody does */
    struct leads *leads;         /* told of all that is read; borrowed; NULL: nobody is */
    struct run_list last;        /* the newest snapshot */
    struct run_list spare;       /* room for the next one: that of the one before */
    uint64_t fault_ns;           /* what the first write to a page costs that tracking has protected */
    unsigned calm_least;         /* a chunk is left to its writers, not tracked, until it was calm so often; one that is new */
    unsigned calm_first;         /* counts as if it had been so often */
    struct snapshot_chunk *chunks;   /* ascending */
    size_t chunk_count;
    bool tracked_all;            /* chunks that are not there may be tracked, too */
    bool learnt;                 /* something is known of them */
    bool repeated;               /* it was not the first */
    uint64_t read_bytes;         /* by the newest snapshot, */
    uint64_t untracked_bytes;    /* of which these are read each time, whoever wrote them: memory that is shared with others, pages of files that nothing wrote, chunks that are not tracked */
    uint64_t copied_bytes;       /* of which the program copied these */
    struct snapshot_span *spans;
    size_t span_count, span_capacity;
    uint64_t *numbers;           /* of the pages read */
    size_t number_capacity;
    unsigned char *buffers[2];
};

/* Prepare before the program is stopped for the first time. `writer` is borrowed; `fault_ns` as tracking_fault_ns tells it, 0: unknown. PCERE_SYSTEM. */
enum pcere_status snapshotter_open(pid_t pid, struct store_writer *writer, uint64_t page_bytes, uint64_t fault_ns, struct snapshotter *ret_snapshotter,
                                   struct pcere_error *error);
/* At the first stop: how to tell what was written. `tracking` is taken over. */
enum pcere_status snapshotter_track(struct snapshotter *snapshotter, int tracking, bool scan, struct pcere_error *error);
/* Do faults of tracking cost so much here that most of what is written is better read again at each stop? */
bool snapshotter_spares_faults(const struct snapshotter *snapshotter);
/* Bytes of the newest snapshot that are in chunks which are not calm. */
uint64_t snapshotter_restless_bytes(const struct snapshotter *snapshotter);
/* Pages of the newest snapshot that were written since the one before, whatever they hold now, as far as that was tracked. False: no memory. */
bool snapshotter_written(const struct snapshotter *snapshotter, struct run_list *ret_list);
/* The program stands still: bring snapshotter->last up to date, and track what is written from now on: to all of it, or, where faults are spared and `all` is false, to
 * what is calm, and to what was tracked and has not been released. What is not tracked is read at the next stop, whoever wrote it. PCERE_NO: the
 * program is gone. PCERE_SYSTEM, or what the store says. On failure no later snapshot can be trusted. */
enum pcere_status snapshotter_take(struct snapshotter *snapshotter, const struct map_list *maps, bool all, struct pcere_error *error);
/* No longer track chunks that the program usually rewrites. They are read once more at the next stop, which costs less than a fault for each page, and is no part of any
 * time. `maps` as in the newest snapshot. `all`: whatever it rewrites. */
void snapshotter_release(struct snapshotter *snapshotter, const struct map_list *maps, bool all);
/* The program ran for a while between the last two snapshots, and runs again: which chunks did it rewrite? They are not calm for a while. Only a guess about cost; whatever
 * comes of it, snapshots are right. */
void snapshotter_learn(struct snapshotter *snapshotter);
void snapshotter_close(struct snapshotter *snapshotter);

#endif
