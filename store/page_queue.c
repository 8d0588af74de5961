#include "store/page_queue.h"

#include "core/faults.h"
#include "core/files.h"
#include "core/host.h"
#include "core/text.h"
#include "core/workers.h"
#include "store/page_table.h"

#include <errno.h>
#include <fcntl.h>
#include <lz4.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#if PCERE_WIDE_XXHASH
#include <xxh_x86dispatch.h>   /* the same hash by the widest vectors that the processor has: programs stand still meanwhile */
#else
#include <xxhash.h>
#endif

#define TABLE_RESERVE 4u                           /* pages in all for each page that may wait at one time */
#define QUEUE_SLOTS_USUAL 512u                     /* 128 MiB of 4 KiB pages, which cost nothing before they are used */
#define QUEUE_SLOTS_LEAST 64u                      /* where that is much of all the memory that there is */
#define QUEUE_MEMORY_PARTS 16u
#define QUEUE_WORKERS_MOST 64u
#define STARVED_NS 20000000u                       /* a block takes a fortieth of it */
#define WRITEBACK_BYTES ((uint64_t)8 << 20)        /* start the disk early, so that the last fsync finds little to do */

struct slot {                                      /* one block on its way */
    uint64_t first_page;
    uint32_t place;                                /* of its pages in the ring, while there are any */
    unsigned pages, filled;
    bool sealed;
    struct page_hash hashes[STORE_BLOCK_PAGES];
};

struct block_end { uint64_t bytes, pages; };       /* file size and page count behind a block */

struct page_queue {
    int descriptor;
    size_t page_bytes;
    pthread_mutex_t lock;                          /* guards all below, except the content of pages and of taken slots */
    pthread_cond_t ready, room, wrote;
    unsigned char *ring;
    uint32_t *free_places;                         /* of blocks in it, a stack: what was used last is used next, since fresh memory is dear */
    size_t free_count;
    struct slot *slots;
    size_t slot_count;
    size_t touched_bytes;                          /* of the ring, by page_queue_reserve, whose it is */
    uint64_t open, taken;                          /* blocks, counted from the start: being filled, next to compress */
    uint64_t next_page;
    struct page_table known;
    struct block_end *ends;                        /* of written blocks */
    size_t end_count, end_capacity;
    unsigned char *claimed;                        /* a bit for each page: page_queue_claim counted it */
    size_t claimed_capacity;
    uint64_t flushed_bytes;                        /* of whoever appends */
    uint64_t flush_blocks;                         /* the disk begins with all that is there when so many are written */
    bool stop, failed, paused;
    bool starved;                                  /* since it was paused, who helps waited for a thread that yields, which had no processor */
    unsigned hurries;                              /* calls of page_queue_hurry: what yields to all others rests meanwhile */
    struct pcere_error failure;
    pthread_t workers[QUEUE_WORKERS_MOST];
    unsigned worker_count;
};

static struct slot *queue_slot(const struct page_queue *queue, uint64_t block)
{
    return &queue->slots[block % queue->slot_count];
}

static unsigned char *queue_block(const struct page_queue *queue, uint64_t block)
{
    return queue->ring + (size_t)queue_slot(queue, block)->place * STORE_BLOCK_PAGES * queue->page_bytes;
}

static struct block_end queue_end(const struct page_queue *queue, uint64_t blocks)
{
    return blocks ? queue->ends[blocks - 1] : (struct block_end){sizeof(struct pages_header), 0};
}

/* ---- compressing and appending ------------------------------------------------------------------------------------------- */

static bool block_ready(const struct page_queue *queue, uint64_t block)
{
    const struct slot *slot = queue_slot(queue, block);
    return slot->sealed && slot->filled == slot->pages;
}

/* Header, hashes and payload of the block into `out`; returns the bytes. */
static size_t block_encode(const struct page_queue *queue, const struct slot *slot, const unsigned char *data, unsigned char *out)
{
    size_t raw = slot->pages * queue->page_bytes, hashes = slot->pages * sizeof *slot->hashes;
    unsigned char *body = out + sizeof(struct block_header), *payload = body + hashes;
    memcpy(body, slot->hashes, hashes);
    int stored = LZ4_compress_default((const char *)data, (char *)payload, (int)raw, (int)raw - 1);
    if (stored <= 0)
        memcpy(payload, data, raw);
    struct block_header header = {
        .magic = BLOCK_MAGIC, .coding = stored > 0 ? BLOCK_LZ4 : BLOCK_RAW, .pages = slot->pages,
        .first_page = slot->first_page, .raw_bytes = (uint32_t)raw, .stored_bytes = stored > 0 ? (uint32_t)stored : (uint32_t)raw,
    };
    header.body_check = XXH64(body, hashes + header.stored_bytes, 0);
    header.check = XXH64(&header, offsetof(struct block_header, check), 0);
    memcpy(out, &header, sizeof header);
    return sizeof header + hashes + header.stored_bytes;
}

static void queue_fail(struct page_queue *queue, const struct pcere_error *error)
{
    if (!queue->failed) {
        queue->failed = true;
        queue->failure = *error;
    }
    pthread_cond_broadcast(&queue->room);
    pthread_cond_broadcast(&queue->wrote);
    pthread_cond_broadcast(&queue->ready);
}

/* Without waiting. By whoever appends, or while nobody does. */
static void queue_write_back(struct page_queue *queue, uint64_t bytes)
{
    if (bytes > queue->flushed_bytes)
        sync_file_range(queue->descriptor, (off_t)queue->flushed_bytes, (off_t)(bytes - queue->flushed_bytes), SYNC_FILE_RANGE_WRITE);
    queue->flushed_bytes = bytes;
}

/* Append the encoded block when all before it are written. Called and returns with the lock held. */
static void block_append(struct page_queue *queue, uint64_t block, const unsigned char *out, size_t bytes)
{
    while (queue->end_count != block && !queue->failed)
        pthread_cond_wait(&queue->wrote, &queue->lock);
    if (queue->failed)
        return;
    uint64_t start = queue_end(queue, block).bytes;
    bool flush = block + 1 == queue->flush_blocks;
    unsigned pages = queue_slot(queue, block)->pages;
    struct pcere_error error = {0};
    bool no_memory = !array_reserve(&queue->ends, &queue->end_capacity, queue->end_count + 1, sizeof *queue->ends);
    pthread_mutex_unlock(&queue->lock);
    enum pcere_status status = no_memory ? pcere_fail_memory(&error, "the index of stored pages")
                                         : file_write_all(queue->descriptor, (int64_t)start, out, bytes, "pages", "pages.write", &error);
    if (status && ftruncate(queue->descriptor, (off_t)start) != 0) {
        /* The torn block stays behind the last whole one, where readers expect it after a kill. */
    }
    if (!status && (flush || start + bytes - queue->flushed_bytes >= WRITEBACK_BYTES))
        queue_write_back(queue, start + bytes);
    pthread_mutex_lock(&queue->lock);
    if (status) {
        queue_fail(queue, &error);
        return;
    }
    struct block_end before = queue_end(queue, block);
    queue->ends[queue->end_count++] = (struct block_end){start + bytes, before.pages + pages};
    queue->free_places[queue->free_count++] = queue_slot(queue, block)->place;
    *queue_slot(queue, block) = (struct slot){0};
    pthread_cond_broadcast(&queue->wrote);
    pthread_cond_broadcast(&queue->room);
}

/* Paused, and there is room for what comes meanwhile; or others do it who do not yield. */
static bool queue_rests(const struct page_queue *queue)
{
    return queue->hurries || (queue->paused && (queue->starved || queue->open - queue->end_count < queue->slot_count));
}

/* Room for block_do; malloc. */
static unsigned char *block_room(const struct page_queue *queue)
{
    return malloc(sizeof(struct block_header) + STORE_BLOCK_PAGES * (sizeof(struct page_hash) + queue->page_bytes));
}

static bool block_waits(const struct page_queue *queue)
{
    return !queue->failed && queue->taken < queue->open && block_ready(queue, queue->taken);
}

/* Compress and append the next block, which waits for it. Called and returns with the lock held. */
static void block_do(struct page_queue *queue, unsigned char *out)
{
    uint64_t block = queue->taken++;
    pthread_mutex_unlock(&queue->lock);
    size_t bytes = block_encode(queue, queue_slot(queue, block), queue_block(queue, block), out);
    pthread_mutex_lock(&queue->lock);
    block_append(queue, block, out, bytes);
}

static void *worker_main(void *argument)
{
    struct page_queue *queue = argument;
    workers_yield();
    unsigned char *out = block_room(queue);
    pthread_mutex_lock(&queue->lock);
    if (!out) {
        struct pcere_error error;
        pcere_fail_memory(&error, "compressing pages");
        queue_fail(queue, &error);
    }
    for (;;) {
        while (!queue->stop && (queue_rests(queue) || !block_waits(queue)))
            pthread_cond_wait(&queue->ready, &queue->lock);
        if (queue->stop)
            break;
        block_do(queue, out);
    }
    pthread_mutex_unlock(&queue->lock);
    free(out);
    return NULL;
}

/* ---- adding -------------------------------------------------------------------------------------------------------------- */

static bool page_is_zero(const unsigned char *page, size_t bytes)
{
    uint64_t first;
    memcpy(&first, page, sizeof first);
    return !first && memcmp(page, page + sizeof first, bytes - sizeof first) == 0;
}

static void block_seal(struct page_queue *queue)
{
    struct slot *slot = queue_slot(queue, queue->open);
    slot->sealed = true;
    queue->open++;
    if (slot->filled == slot->pages)
        pthread_cond_broadcast(&queue->ready);
}

static void block_filled(struct page_queue *queue, uint64_t block, unsigned pages)
{
    struct slot *slot = queue_slot(queue, block);
    slot->filled += pages;
    if (slot->sealed && slot->filled == slot->pages)
        pthread_cond_broadcast(&queue->ready);
}

/* Copies that were promised while the lock was held: consecutive pages of one block. */
struct batch {
    const unsigned char *data;                     /* of the caller's first page of this batch */
    uint64_t block[2];                             /* 64 new pages lie in two blocks at most */
    unsigned pages[2];
    unsigned char *to[STORE_BLOCK_PAGES];
    unsigned from[STORE_BLOCK_PAGES];
    unsigned count;
};

/* Keep the promises. Called and returns with the lock held. */
static void batch_copy(struct page_queue *queue, struct batch *batch)
{
    if (!batch->count)
        return;
    pthread_mutex_unlock(&queue->lock);
    for (unsigned i = 0; i < batch->count; i++)
        memcpy(batch->to[i], batch->data + batch->from[i] * queue->page_bytes, queue->page_bytes);
    pthread_mutex_lock(&queue->lock);
    for (unsigned i = 0; i < 2; i++)
        if (batch->pages[i])
            block_filled(queue, batch->block[i], batch->pages[i]);
    batch->count = batch->pages[0] = batch->pages[1] = 0;
}

/* A number and a place for page `from` of the batch, whose hash is unknown; the open block has room. */
static uint64_t batch_promise(struct page_queue *queue, struct batch *batch, struct page_hash hash, unsigned from)
{
    struct slot *slot = queue_slot(queue, queue->open);
    if (!slot->pages) {
        slot->first_page = queue->next_page;
        slot->place = queue->free_places[--queue->free_count];      /* blocks under way are fewer than places */
    }
    uint64_t number = queue->next_page++;
    unsigned half = batch->pages[0] && batch->block[0] != queue->open;
    batch->block[half] = queue->open;
    batch->pages[half]++;
    batch->to[batch->count] = queue_block(queue, queue->open) + slot->pages * queue->page_bytes;
    batch->from[batch->count++] = from;
    slot->hashes[slot->pages++] = hash;
    page_table_add(&queue->known, hash, number);
    if (slot->pages == STORE_BLOCK_PAGES)
        block_seal(queue);
    return number;
}

static enum pcere_status queue_failure(const struct page_queue *queue, struct pcere_error *error)
{
    if (error)
        *error = queue->failure;
    return queue->failure.status;
}

static uint64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Until a block more may have been written, by help of this thread where one waits. *out: room for it, NULL at first, the caller's to free. Called and returns with the lock held. */
static void room_await(struct page_queue *queue, unsigned char **out)
{
    bool waits = block_waits(queue), helps = waits && (*out || (*out = block_room(queue)));
    queue->starved &= helps || !waits;             /* those that yield do it where there is no memory to help with */
    pthread_cond_broadcast(&queue->ready);
    if (!helps) {
        pthread_cond_wait(&queue->room, &queue->lock);
        return;
    }
    uint64_t start_ns = clock_ns();
    block_do(queue, *out);
    queue->starved |= queue->paused && clock_ns() - start_ns > STARVED_NS;
}

/* At most STORE_BLOCK_PAGES pages. */
static enum pcere_status queue_add_batch(struct page_queue *queue, const unsigned char *data, unsigned count, uint64_t *ret_pages,
                                         struct pcere_error *error)
{
    struct page_hash hashes[STORE_BLOCK_PAGES];
    bool zero[STORE_BLOCK_PAGES];
    for (unsigned i = 0; i < count; i++) {
        const unsigned char *page = data + i * queue->page_bytes;
        zero[i] = page_is_zero(page, queue->page_bytes);
        if (zero[i])
            continue;
        XXH128_hash_t hash = XXH3_128bits(page, queue->page_bytes);
        hashes[i] = (struct page_hash){hash.low64, hash.high64};
    }
    struct batch batch = {.data = data};
    unsigned char *out = NULL;
    enum pcere_status status = PCERE_OK;
    pthread_mutex_lock(&queue->lock);
    if (!page_table_reserve(&queue->known, queue->known.used + count))
        status = pcere_fail_memory(error, "the table of known pages");
    for (unsigned i = 0; i < count && !status; i++)
        if (!zero[i])
            page_table_prefetch(&queue->known, hashes[i]);
    for (unsigned i = 0; i < count && !status;) {
        if (zero[i]) {
            ret_pages[i++] = STORE_PAGE_ZERO;
            continue;
        }
        uint64_t number = page_table_find(&queue->known, hashes[i]);
        if (number != STORE_PAGE_ZERO)
            ret_pages[i++] = number;
        else if (queue->failed)
            status = queue_failure(queue, error);
        else if (queue->open - queue->end_count < queue->slot_count)
            ret_pages[i] = batch_promise(queue, &batch, hashes[i], i), i++;
        else {
            /* Nothing may wait for copies that this call still owes. Others may add this very page, or fill the table, meanwhile. */
            batch_copy(queue, &batch);
            if (!queue->failed && queue->open - queue->end_count >= queue->slot_count)
                room_await(queue, &out);
            if (!page_table_reserve(&queue->known, queue->known.used + count))
                status = pcere_fail_memory(error, "the table of known pages");
        }
    }
    if (!status && queue->failed)
        status = queue_failure(queue, error);
    batch_copy(queue, &batch);
    pthread_mutex_unlock(&queue->lock);
    free(out);
    return status;
}

enum pcere_status page_queue_add(struct page_queue *queue, const void *data, size_t count, uint64_t *ret_pages,
                                 struct pcere_error *error)
{
    const unsigned char *at = data;
    enum pcere_status status = PCERE_OK;
    for (size_t done = 0; done < count && !status; done += STORE_BLOCK_PAGES) {
        unsigned batch = count - done < STORE_BLOCK_PAGES ? (unsigned)(count - done) : STORE_BLOCK_PAGES;
        status = queue_add_batch(queue, at + done * queue->page_bytes, batch, ret_pages + done, error);
    }
    return status;
}

void page_queue_pause(struct page_queue *queue, bool pause)
{
    pthread_mutex_lock(&queue->lock);
    queue->paused = pause;
    queue->starved = false;
    if (!pause)
        pthread_cond_broadcast(&queue->ready);
    pthread_mutex_unlock(&queue->lock);
}

/* ---- waiting ------------------------------------------------------------------------------------------------------------- */

void page_queue_flush(struct page_queue *queue)
{
    uint64_t blocks;
    page_queue_seal(queue, &blocks);
    pthread_mutex_lock(&queue->lock);
    queue->flush_blocks = blocks;
    if (queue->end_count >= blocks && queue->open == queue->end_count && !queue->failed)
        queue_write_back(queue, queue_end(queue, queue->end_count).bytes);
    pthread_mutex_unlock(&queue->lock);
}

void page_queue_seal(struct page_queue *queue, uint64_t *ret_blocks)
{
    pthread_mutex_lock(&queue->lock);
    if (queue->open - queue->end_count < queue->slot_count && queue_slot(queue, queue->open)->pages)
        block_seal(queue);
    *ret_blocks = queue->open;
    pthread_mutex_unlock(&queue->lock);
}

enum pcere_status page_queue_wait(struct page_queue *queue, uint64_t blocks, uint64_t *ret_pages, struct pcere_error *error)
{
    unsigned char *out = NULL;
    pthread_mutex_lock(&queue->lock);
    while (queue->end_count < blocks && !queue->failed)
        if (!queue->hurries && block_waits(queue) && (out || (out = block_room(queue))))
            block_do(queue, out);
        else
            pthread_cond_wait(&queue->wrote, &queue->lock);
    enum pcere_status status = PCERE_OK;
    if (queue->end_count < blocks)
        status = queue_failure(queue, error);
    else
        *ret_pages = queue_end(queue, blocks).pages;
    pthread_mutex_unlock(&queue->lock);
    free(out);
    return status;
}

struct hurry { struct page_queue *queue; uint64_t blocks; };

static void *hurry_main(void *context)
{
    const struct hurry *hurry = context;
    struct page_queue *queue = hurry->queue;
    unsigned char *out = block_room(queue);
    pthread_mutex_lock(&queue->lock);
    while (out && queue->taken < hurry->blocks && !queue->failed)
        if (block_waits(queue))
            block_do(queue, out);
        else
            pthread_cond_wait(&queue->ready, &queue->lock);
    pthread_mutex_unlock(&queue->lock);
    free(out);
    return NULL;
}

void page_queue_hurry(struct page_queue *queue)
{
    struct hurry hurry = {.queue = queue};
    page_queue_seal(queue, &hurry.blocks);
    pthread_mutex_lock(&queue->lock);
    uint64_t waiting = hurry.blocks - queue->taken;
    queue->hurries++;
    pthread_mutex_unlock(&queue->lock);
    workers_run(hurry_main, &hurry, (size_t)waiting);
    pthread_mutex_lock(&queue->lock);
    queue->hurries--;
    pthread_cond_broadcast(&queue->ready);
    pthread_cond_broadcast(&queue->wrote);
    pthread_mutex_unlock(&queue->lock);
}

/* Which block has that page? */
static size_t block_of(const struct page_queue *queue, uint64_t page)
{
    size_t low = 0, high = queue->end_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (queue->ends[middle].pages <= page)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Of a block between these ends: what its pages from `first` on, before `stop`, take that are not claimed yet. All of them take what the block takes, to the byte. */
static uint64_t pages_claim(struct page_queue *queue, struct block_end before, struct block_end after, uint64_t first, uint64_t stop)
{
    uint64_t sum = 0, bytes = after.bytes - before.bytes, pages = after.pages - before.pages;
    for (uint64_t page = first; page < stop; page++) {
        unsigned char bit = (unsigned char)(1u << page % 8);
        uint64_t at = page - before.pages;
        if (!(queue->claimed[page / 8] & bit))
            sum += bytes * (at + 1) / pages - bytes * at / pages;
        queue->claimed[page / 8] |= bit;
    }
    return sum;
}

static bool claims_reserve(struct page_queue *queue)
{
    size_t before = queue->claimed_capacity, needed = (size_t)(queue_end(queue, queue->end_count).pages / 8 + 1);
    if (!array_reserve(&queue->claimed, &queue->claimed_capacity, needed, 1))
        return false;
    memset(queue->claimed + before, 0, queue->claimed_capacity - before);
    return true;
}

uint64_t page_queue_claim(struct page_queue *queue, uint64_t first, uint64_t count)
{
    uint64_t bytes = 0, end = first + count;
    pthread_mutex_lock(&queue->lock);
    bool known = claims_reserve(queue);
    for (size_t block = block_of(queue, first); known && first < end && block < queue->end_count; block++) {
        struct block_end before = queue_end(queue, block), after = queue->ends[block];
        uint64_t stop = end < after.pages ? end : after.pages;
        bytes += pages_claim(queue, before, after, first, stop);
        first = stop;
    }
    pthread_mutex_unlock(&queue->lock);
    return bytes;
}

void page_queue_written(struct page_queue *queue, uint64_t *ret_blocks, uint64_t *ret_bytes, uint64_t *ret_pages)
{
    pthread_mutex_lock(&queue->lock);
    *ret_blocks = queue->end_count;
    *ret_bytes = queue_end(queue, queue->end_count).bytes;
    *ret_pages = queue_end(queue, queue->end_count).pages;
    pthread_mutex_unlock(&queue->lock);
}

/* ---- making and growing -------------------------------------------------------------------------------------------------- */

static size_t ring_bytes(const struct page_queue *queue, size_t slots)
{
    return slots * STORE_BLOCK_PAGES * queue->page_bytes;
}

struct ring { unsigned char *bytes; uint32_t *places; struct slot *slots; size_t count, touched_bytes; };

static void ring_done(const struct page_queue *queue, const struct ring *ring)
{
    if (ring->bytes)
        munmap(ring->bytes, ring_bytes(queue, ring->count));
    free(ring->places);
    free(ring->slots);
}

static bool is_stopped(const _Atomic(bool) *stop)
{
    return stop && atomic_load_explicit(stop, memory_order_relaxed);
}

/* Fresh memory is dear in virtual machines: that is paid for now, from `at` on. Nothing changes for whoever works there meanwhile. Returns where it came to. */
static size_t ring_touch(unsigned char *ring, size_t at, size_t bytes, const _Atomic(bool) *stop)
{
    for (; at < bytes && !is_stopped(stop); at += 4096)
        __atomic_fetch_or(ring + at, 0, __ATOMIC_RELAXED);
    return at;
}

static bool ring_make(const struct page_queue *queue, size_t slots, struct ring *ret_ring)
{
    if (fault_point("ring.map"))
        return false;
    size_t bytes = ring_bytes(queue, slots);
    struct slot *states = calloc(slots, sizeof *states);
    uint32_t *places = calloc(slots, sizeof *places);
    unsigned char *ring = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!states || !places || slots > UINT32_MAX || ring == MAP_FAILED) {
        free(states);
        free(places);
        if (ring != MAP_FAILED)
            munmap(ring, bytes);
        return false;
    }
    madvise(ring, bytes, MADV_HUGEPAGE);
    for (size_t i = 0; i < slots; i++)
        places[i] = (uint32_t)(slots - 1 - i);
    *ret_ring = (struct ring){.bytes = ring, .places = places, .slots = states, .count = slots};
    return true;
}

/* *ring gets what was there before. */
static void ring_exchange(struct page_queue *queue, struct ring *ring)
{
    const struct ring before = {queue->ring, queue->free_places, queue->slots, queue->slot_count, queue->touched_bytes};
    queue->ring = ring->bytes;
    queue->free_places = ring->places;
    queue->free_count = ring->count;
    queue->slots = ring->slots;
    queue->slot_count = ring->count;
    queue->touched_bytes = ring->touched_bytes;
    *ring = before;
}

/* A ring can only be exchanged while no block lies in it. */
static void queue_drain(struct page_queue *queue, const _Atomic(bool) *stop)
{
    while (!queue->failed && !is_stopped(stop) && (queue->end_count != queue->open || queue_slot(queue, queue->open)->pages)) {
        if (queue->open - queue->end_count < queue->slot_count && queue_slot(queue, queue->open)->pages)
            block_seal(queue);
        pthread_cond_wait(&queue->wrote, &queue->lock);
    }
}

static size_t queue_slots(struct page_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    size_t slots = queue->slot_count;
    pthread_mutex_unlock(&queue->lock);
    return slots;
}

enum pcere_status page_queue_reserve(struct page_queue *queue, uint64_t bytes, const _Atomic(bool) *stop, struct pcere_error *error)
{
    uint64_t block_bytes = ring_bytes(queue, 1), slots = bytes / block_bytes + (bytes % block_bytes != 0) + 1;
    bool good = slots <= SIZE_MAX / 2 / block_bytes, larger = good && slots > queue_slots(queue);
    enum pcere_status status = PCERE_OK;
    struct ring ring = {0};
    if (larger && (good = ring_make(queue, (size_t)slots, &ring)))
        ring.touched_bytes = ring_touch(ring.bytes, 0, ring_bytes(queue, ring.count), stop);
    else if (good)               /* only this thread exchanges rings */
        queue->touched_bytes = ring_touch(queue->ring, queue->touched_bytes, (size_t)(slots - 1) * (size_t)block_bytes, stop);
    pthread_mutex_lock(&queue->lock);
    if (good && larger) {
        queue_drain(queue, stop);
        if (queue->failed)
            status = queue_failure(queue, error);
        else if (!is_stopped(stop))
            ring_exchange(queue, &ring);
    }
    bool wanted = good && !status && !is_stopped(stop);
    if (wanted)
        good = page_table_reserve(&queue->known, queue->known.used + TABLE_RESERVE * (size_t)(bytes / queue->page_bytes));
    if (wanted && good)
        page_table_touch(&queue->known);
    pthread_mutex_unlock(&queue->lock);
    ring_done(queue, &ring);
    return status ? status : good ? PCERE_OK : pcere_fail_memory(error, "the buffer of pages that wait for compression");
}

/* Workers block all signals: they belong to whoever owns the process. */
static enum pcere_status workers_start(struct page_queue *queue, unsigned workers, struct pcere_error *error)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int errnum = 0;
    while (!errnum && queue->worker_count < workers)
        if (!(errnum = pthread_create(&queue->workers[queue->worker_count], NULL, worker_main, queue)))
            queue->worker_count++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return queue->worker_count ? PCERE_OK : pcere_fail(error, PCERE_SYSTEM, errnum, NULL, "cannot start a thread that compresses pages");
}

enum pcere_status page_queue_new(int descriptor, uint64_t page_bytes, unsigned workers, struct page_queue **ret_queue,
                                 struct pcere_error *error)
{
    struct page_queue *queue = calloc(1, sizeof *queue);
    if (!queue)
        return pcere_fail_memory(error, "the store's writer");
    queue->descriptor = descriptor;
    queue->page_bytes = (size_t)page_bytes;
    queue->flushed_bytes = sizeof(struct pages_header);
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->ready, NULL);
    pthread_cond_init(&queue->room, NULL);
    pthread_cond_init(&queue->wrote, NULL);
    enum pcere_status status = PCERE_OK;
    struct ring ring = {0};
    uint64_t fitting = host_memory_bytes() / QUEUE_MEMORY_PARTS / ring_bytes(queue, 1);
    if (ring_make(queue, fitting > QUEUE_SLOTS_USUAL ? QUEUE_SLOTS_USUAL : fitting < QUEUE_SLOTS_LEAST ? QUEUE_SLOTS_LEAST : (size_t)fitting, &ring))
        ring_exchange(queue, &ring);
    if (!queue->ring || !page_table_reserve(&queue->known, 1))
        status = pcere_fail_memory(error, "the buffer of pages that wait for compression");
    else
        status = workers_start(queue, workers < 1 ? 1 : workers > QUEUE_WORKERS_MOST ? QUEUE_WORKERS_MOST : workers, error);
    if (status) {
        page_queue_free(queue);
        return status;
    }
    *ret_queue = queue;
    return PCERE_OK;
}

void page_queue_free(struct page_queue *queue)
{
    if (!queue)
        return;
    pthread_mutex_lock(&queue->lock);
    queue->stop = true;
    queue->failed = true;
    queue->failure = (struct pcere_error){.status = PCERE_SYSTEM, .message = "the store's writer was closed"};
    pthread_cond_broadcast(&queue->ready);
    pthread_cond_broadcast(&queue->wrote);
    pthread_cond_broadcast(&queue->room);
    pthread_mutex_unlock(&queue->lock);
    for (unsigned i = 0; i < queue->worker_count; i++)
        pthread_join(queue->workers[i], NULL);
    if (queue->ring)
        munmap(queue->ring, ring_bytes(queue, queue->slot_count));
    free(queue->free_places);
    free(queue->slots);
    free(queue->ends);
    free(queue->claimed);
    page_table_done(&queue->known);
    pthread_cond_destroy(&queue->ready);
    pthread_cond_destroy(&queue->room);
    pthread_cond_destroy(&queue->wrote);
    pthread_mutex_destroy(&queue->lock);
    free(queue);
}
