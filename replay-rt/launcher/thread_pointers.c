#include "replay-rt/launcher/thread_pointers.h"

#include "core/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#define READ_PAGES 64u                    /* at a time */

struct search {
    const struct page_pool *pool;
    struct plan_range *blocks;
    size_t block_count;
    uint64_t low, span;                   /* of all of them */
    unsigned char *buffer;
    struct thread_pointers *found;
};

static bool blocks_collect(const struct store_codelet *codelet, struct search *search)
{
    uint64_t high = 0;
    search->low = UINT64_MAX;
    search->blocks = calloc(codelet->thread_count + 1, sizeof *search->blocks);
    for (size_t i = 0; search->blocks && i < codelet->thread_count; i++) {
        const struct store_thread *thread = &codelet->threads[i];
        if (thread->image == STORE_THREAD_COPIES || !thread->tls_bytes || thread->tls_address > UINT64_MAX - thread->tls_bytes)
            continue;
        search->blocks[search->block_count++] = (struct plan_range){thread->tls_address, thread->tls_bytes};
        search->low = thread->tls_address < search->low ? thread->tls_address : search->low;
        high = thread->tls_address + thread->tls_bytes > high ? thread->tls_address + thread->tls_bytes : high;
    }
    search->span = search->block_count ? high - search->low : 0;
    return search->blocks != NULL;
}

static bool is_in_a_block(const struct search *search, uint64_t word)
{
    for (size_t i = 0; i < search->block_count; i++)
        if (word - search->blocks[i].address < search->blocks[i].bytes)
            return true;
    return false;
}

/* `address`: of the page in the codelet's memory, or 0. False: no memory. */
static bool page_search(struct search *search, const unsigned char *page, uint64_t source, uint64_t address, enum page_pointers *ret_has)
{
    struct thread_pointers *found = search->found;
    uint64_t word;
    *ret_has = PAGE_POINTERS_NONE;
    for (uint64_t at = 0; at < search->pool->page_bytes; at += sizeof word) {
        memcpy(&word, page + at, sizeof word);
        if (word - search->low >= search->span || !is_in_a_block(search, word))
            continue;
        *ret_has = PAGE_POINTERS_SOME;
        if (!array_reserve(&found->items, &found->capacity, found->count + 1, sizeof *found->items))
            return false;
        found->items[found->count++] = (struct plan_pointer){source + at, address ? address + at : 0};
    }
    return true;
}

static enum pcere_status read_all(const struct page_pool *pool, unsigned char *buffer, uint64_t bytes, uint64_t offset, struct pcere_error *error)
{
    for (uint64_t done = 0; done < bytes;) {
        ssize_t got = pread(pool->fd, buffer + done, bytes - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return pcere_fail(error, PCERE_SYSTEM, got < 0 ? errno : 0, NULL, "the file of captured pages cannot be read");
        done += (uint64_t)got;
    }
    return PCERE_OK;
}

/* Pages that were searched and have none are passed by. */
static enum pcere_status pages_search(struct search *search, uint64_t source, uint64_t address, uint64_t pages, struct pcere_error *error)
{
    const struct page_pool *pool = search->pool;
    unsigned char *marks = pool->pointers->marks + (source - pool->pages_offset) / pool->page_bytes;
    enum pcere_status status = PCERE_OK;
    for (uint64_t first = 0, count; !status && first < pages; first += count) {
        for (count = 0; first + count < pages && count < READ_PAGES && marks[first + count] != PAGE_POINTERS_NONE; count++)
            ;
        if (!count) {
            count = 1;
            continue;
        }
        uint64_t from = source + first * pool->page_bytes;
        status = read_all(pool, search->buffer, count * pool->page_bytes, from, error);
        for (uint64_t i = 0; !status && i < count; i++) {
            enum page_pointers has;
            if (!page_search(search, search->buffer + i * pool->page_bytes, from + i * pool->page_bytes,
                             address ? address + (first + i) * pool->page_bytes : 0, &has))
                status = pcere_fail_memory(error, "pointers to thread-local variables");
            marks[first + i] = (unsigned char)has;
        }
    }
    return status;
}

/* Files of images have none. `in_place`: the codelet's memory has the pages at their addresses when it begins. */
static enum pcere_status copies_search(struct search *search, const struct plan_copy *copies, size_t count, bool in_place, struct pcere_error *error)
{
    const struct page_pool *pool = search->pool;
    enum pcere_status status = PCERE_OK;
    for (size_t i = 0; !status && i < count; i++)
        if (!copies[i].zero && copies[i].source >= pool->pages_offset && copies[i].source <= pool->file_bytes
            && copies[i].pages <= (pool->file_bytes - copies[i].source) / pool->page_bytes)
            status = pages_search(search, copies[i].source, in_place ? copies[i].address : 0, copies[i].pages, error);
    return status;
}

enum pcere_status thread_pointers_find(const struct page_pool *pool, const struct store_codelet *codelet, const struct codelet_memory *memory, const struct plan_steps *steps,
                                       struct thread_pointers *ret_pointers, struct pcere_error *error)
{
    struct thread_pointers found = {0};
    struct search search = {.pool = pool, .found = &found};
    *ret_pointers = found;
    if (!blocks_collect(codelet, &search))
        return pcere_fail_memory(error, "pointers to thread-local variables");
    if (!search.span) {
        free(search.blocks);
        return PCERE_OK;
    }
    uint64_t key = XXH64(search.blocks, search.block_count * sizeof *search.blocks, 0);
    if (pool->pointers->key != key)
        memset(pool->pointers->marks, PAGE_POINTERS_UNKNOWN, pool->table.place_count);
    pool->pointers->key = key;
    search.buffer = malloc(READ_PAGES * pool->page_bytes);
    enum pcere_status status = search.buffer ? PCERE_OK : pcere_fail_memory(error, "pointers to thread-local variables");
    if (!status)
        status = copies_search(&search, memory->before, memory->before_count, true, error);
    if (!status)
        status = copies_search(&search, memory->expected, memory->expected_count, false, error);
    if (!status && steps)
        status = copies_search(&search, steps->copies, steps->copy_count, false, error);
    free(search.buffer);
    free(search.blocks);
    if (status)
        thread_pointers_done(&found);
    *ret_pointers = found;
    return status;
}

void thread_pointers_done(struct thread_pointers *pointers)
{
    free(pointers->items);
    *pointers = (struct thread_pointers){0};
}
