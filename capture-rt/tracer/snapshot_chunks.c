#include "capture-rt/tracer/snapshot_chunks.h"

#include "capture-rt/tracer/tracking_cost.h"
#include "core/text.h"
#include "include/pcere/bisect.h"

#include <stdlib.h>

#define FAULT_USUAL_NS 900u          /* a chunk of which half is rewritten costs more in such faults than in being read again */
#define CALM_LOOKS_MOST 16u

/* Where faults are dear a chunk is read again at each stop, whoever wrote it, until that took half of what tracking all of its pages may cost. */
void chunks_begin(struct snapshotter *snapshotter)
{
    bool spares = tracking_is_dear(snapshotter->fault_ns);
    uint64_t looks = snapshotter->fault_ns / (2 * TRACKING_READ_NS);
    snapshotter->calm_least = !spares ? 2 : looks < CALM_LOOKS_MOST ? (unsigned)looks : CALM_LOOKS_MOST;
    snapshotter->calm_first = spares ? 0 : snapshotter->calm_least;
}

bool snapshotter_spares_faults(const struct snapshotter *snapshotter)
{
    return snapshotter->calm_first < snapshotter->calm_least;
}

static size_t chunk_after(const struct snapshotter *snapshotter, uint64_t address)
{
    BISECT(low, 0, snapshotter->chunk_count, i, snapshotter->chunks[i].address + SNAPSHOT_CHUNK_BYTES <= address);
    return low;
}

/* NULL: it is not known. */
static struct snapshot_chunk *chunk_find(const struct snapshotter *snapshotter, uint64_t address)
{
    size_t at = chunk_after(snapshotter, address);
    return at < snapshotter->chunk_count && snapshotter->chunks[at].address <= address ? &snapshotter->chunks[at] : NULL;
}

typedef bool chunk_test(const struct snapshotter *snapshotter, const struct snapshot_chunk *chunk);     /* NULL: it is not known */

static bool chunk_is_calm(const struct snapshotter *snapshotter, const struct snapshot_chunk *chunk)
{
    return (chunk ? chunk->calm : snapshotter->calm_first) >= snapshotter->calm_least;
}

static bool chunk_is_tracked(const struct snapshotter *snapshotter, const struct snapshot_chunk *chunk)
{
    return chunk ? chunk->tracked : snapshotter->tracked_all;
}

/* What is tracked already costs nothing to go on with. */
static bool chunk_is_due(const struct snapshotter *snapshotter, const struct snapshot_chunk *chunk)
{
    return chunk_is_calm(snapshotter, chunk) || chunk_is_tracked(snapshotter, chunk);
}

static bool chunk_is_spare(const struct snapshotter *snapshotter, const struct snapshot_chunk *chunk)
{
    return !chunk_is_calm(snapshotter, chunk) && chunk_is_due(snapshotter, chunk);
}

/* From `start` on as far as chunks pass a test alike, at most to `end`. */
static uint64_t stretch_end(const struct snapshotter *snapshotter, uint64_t start, uint64_t end, chunk_test *test, bool *ret_passed)
{
    size_t next = chunk_after(snapshotter, start);
    for (uint64_t at = start; at < end;) {
        const struct snapshot_chunk *chunk = next < snapshotter->chunk_count ? &snapshotter->chunks[next] : NULL;
        bool known = chunk && chunk->address <= at, passed = test(snapshotter, known ? chunk : NULL);
        if (at == start)
            *ret_passed = passed;
        else if (passed != *ret_passed)
            return at;
        at = known ? chunk->address + SNAPSHOT_CHUNK_BYTES : chunk ? chunk->address : end;
        next += known;
    }
    return end;
}

uint64_t chunks_due_until(const struct snapshotter *snapshotter, uint64_t start, uint64_t end, bool *ret_due)
{
    return stretch_end(snapshotter, start, end, chunk_is_due, ret_due);
}

uint64_t chunks_tracked_until(const struct snapshotter *snapshotter, uint64_t start, uint64_t end, bool *ret_tracked)
{
    return stretch_end(snapshotter, start, end, chunk_is_tracked, ret_tracked);
}

void chunks_taken(struct snapshotter *snapshotter, bool all)
{
    for (size_t i = 0; i < snapshotter->chunk_count; i++) {
        struct snapshot_chunk *chunk = &snapshotter->chunks[i];
        chunk->was_tracked = chunk->tracked;
        chunk->tracked = all || chunk_is_due(snapshotter, chunk);
    }
    snapshotter->tracked_all |= all;
}

/* How much of each chunk lies in stretches of pages that ascend. */
struct chunk_bytes { uint64_t address, bytes; };
struct chunk_list { struct chunk_bytes *chunks; size_t count, capacity; };

static bool chunk_list_add(struct chunk_list *list, uint64_t start, uint64_t end)
{
    for (uint64_t at = start, next; at < end; at = next) {
        uint64_t address = at / SNAPSHOT_CHUNK_BYTES * SNAPSHOT_CHUNK_BYTES;
        next = address + SNAPSHOT_CHUNK_BYTES < end ? address + SNAPSHOT_CHUNK_BYTES : end;
        if (!list->count || list->chunks[list->count - 1].address != address) {
            if (!array_reserve(&list->chunks, &list->capacity, list->count + 1, sizeof *list->chunks))
                return false;
            list->chunks[list->count++] = (struct chunk_bytes){.address = address};
        }
        list->chunks[list->count - 1].bytes += next - at;
    }
    return true;
}

static bool chunk_list_runs(struct chunk_list *list, const struct run_list *runs, uint64_t page_bytes)
{
    bool enough = true;
    for (size_t i = 0; i < runs->count && enough; i++)
        enough = chunk_list_add(list, runs->runs[i].address, runs->runs[i].address + runs->runs[i].count * page_bytes);
    return enough;
}

/* What was read was written, or not tracked. */
static bool chunk_list_read(struct chunk_list *list, const struct snapshotter *snapshotter)
{
    bool enough = true;
    for (size_t i = 0; i < snapshotter->span_count && enough; i++) {
        const struct snapshot_span *span = &snapshotter->spans[i];
        enough = chunk_list_add(list, span->address, span->address + span->pages * snapshotter->page_bytes);
    }
    return enough;
}

/* What has other content than before, of chunks that were not tracked. `spare` is the snapshot before. */
static bool chunk_list_changed(struct chunk_list *list, const struct snapshotter *snapshotter)
{
    struct run_list changed;
    if (!snapshotter_spares_faults(snapshotter))
        return true;                    /* each counts as rewritten for being read */
    bool enough = run_list_difference(&snapshotter->spare, &snapshotter->last, snapshotter->page_bytes, &changed) &&
                  chunk_list_runs(list, &changed, snapshotter->page_bytes);
    run_list_done(&changed);
    return enough;
}

static uint64_t chunk_list_bytes(const struct chunk_list *list, size_t *next, uint64_t address)
{
    while (*next < list->count && list->chunks[*next].address < address)
        ++*next;
    return *next < list->count && list->chunks[*next].address == address ? list->chunks[*next].bytes : 0;
}

static bool is_rewritten(const struct snapshotter *snapshotter, uint64_t bytes)
{
    uint64_t fault_ns = snapshotter_spares_faults(snapshotter) ? snapshotter->fault_ns : FAULT_USUAL_NS;
    return bytes * 2 * fault_ns >= SNAPSHOT_CHUNK_BYTES * FAULT_USUAL_NS;
}

void snapshotter_learn(struct snapshotter *snapshotter)
{
    struct chunk_list there = {0}, read = {0}, changed = {0};
    struct snapshot_chunk *chunks = NULL;
    if (snapshotter->pagemap.tracking < 0 || (!snapshotter->repeated && !snapshotter_spares_faults(snapshotter)))
        return;
    bool enough = chunk_list_runs(&there, &snapshotter->last, snapshotter->page_bytes) && chunk_list_read(&read, snapshotter) &&
                  chunk_list_changed(&changed, snapshotter) && (chunks = calloc(there.count + 1, sizeof *chunks));
    for (size_t i = 0, next_read = 0, next_changed = 0; enough && i < there.count; i++) {
        uint64_t address = there.chunks[i].address;
        uint64_t read_bytes = chunk_list_bytes(&read, &next_read, address), changed_bytes = chunk_list_bytes(&changed, &next_changed, address);
        const struct snapshot_chunk *known = chunk_find(snapshotter, address);
        bool by_content = snapshotter_spares_faults(snapshotter) && known && !known->was_tracked;
        unsigned calm = known ? known->calm : snapshotter->calm_first;
        calm = is_rewritten(snapshotter, by_content ? changed_bytes : read_bytes) ? 0 : calm < snapshotter->calm_least ? calm + 1 : calm;
        chunks[i] = (struct snapshot_chunk){address, calm, known ? known->tracked : snapshotter->tracked_all, known && known->was_tracked};
    }
    if (enough) {
        free(snapshotter->chunks);
        snapshotter->chunks = chunks;
        snapshotter->chunk_count = there.count;
        snapshotter->learnt = true;
    } else
        free(chunks);
    free(there.chunks);
    free(read.chunks);
    free(changed.chunks);
}

static bool chunk_was_tracked(const struct snapshotter *snapshotter, const struct snapshot_chunk *chunk)
{
    return chunk ? chunk->was_tracked : snapshotter->tracked_all;
}

bool snapshotter_written(const struct snapshotter *snapshotter, struct run_list *ret_list)
{
    struct store_mapping *written = NULL;
    size_t count = 0, capacity = 0;
    bool enough = true, tracked;
    for (size_t i = 0; snapshotter->pagemap.tracking >= 0 && i < snapshotter->span_count && enough; i++) {
        const struct snapshot_span *span = &snapshotter->spans[i];
        uint64_t end = span->address + span->pages * snapshotter->page_bytes;
        for (uint64_t at = span->address, next; at < end && enough; at = next) {
            next = stretch_end(snapshotter, at, end, chunk_was_tracked, &tracked);
            if (tracked && (enough = array_reserve(&written, &capacity, count + 1, sizeof *written)))
                written[count++] = (struct store_mapping){.start = at, .end = next};
        }
    }
    enough = enough && run_list_inside(&snapshotter->last, written, count, snapshotter->page_bytes, ret_list);
    free(written);
    return enough;
}

uint64_t snapshotter_restless_bytes(const struct snapshotter *snapshotter)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < snapshotter->last.count; i++) {
        const struct store_run *run = &snapshotter->last.runs[i];
        uint64_t end = run->address + run->count * snapshotter->page_bytes;
        bool calm;
        for (uint64_t at = run->address, next; at < end; at = next) {
            next = stretch_end(snapshotter, at, end, chunk_is_calm, &calm);
            bytes += calm ? 0 : next - at;
        }
    }
    return bytes;
}

void snapshotter_release(struct snapshotter *snapshotter, const struct map_list *maps, bool all)
{
    for (size_t i = 0; i < maps->count; i++) {
        uint64_t start = maps->entries[i].mapping.start, end = maps->entries[i].mapping.end;
        bool spare = true;
        for (uint64_t at = start, next; at < end; at = next) {
            next = all ? end : stretch_end(snapshotter, at, end, chunk_is_spare, &spare);
            if (spare)
                pagemap_release(&snapshotter->pagemap, at, next);
        }
    }
    for (size_t i = 0; i < snapshotter->chunk_count; i++)
        snapshotter->chunks[i].tracked &= !all && chunk_is_calm(snapshotter, &snapshotter->chunks[i]);
    snapshotter->tracked_all = false;
}
