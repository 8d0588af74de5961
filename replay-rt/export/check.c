/* check.c - memory behind the region against what the program had there, byte for byte.
 *
 * A page that the program never touched counts as zero, which is what it would have read.
 */
#define _GNU_SOURCE
#include "codelet.h"
#include "region.h"

#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { SHOWN = 10 };
static size_t compared, shown, renamed;

extern const struct constant { const char *start; size_t bytes; } __start_pcere_constants[], __stop_pcere_constants[];
#pragma weak __start_pcere_constants
#pragma weak __stop_pcere_constants

static size_t bytes_check(const char *what, const char *address, const char *expected, const char *found, size_t count)
{
    size_t different = 0;
    for (size_t i = 0; i < count; i++) {
        bool skipped = (!what || LINKED_RUNTIMES) && range_holds(skips, skip_count, address + i);
        compared += !skipped;
        if (expected[i] == found[i] || skipped)
            continue;
        if (!different++ && shown++ < SHOWN)
            fprintf(out, "different: %s%s0x%lx holds 0x%02x, the program had 0x%02x\n", what ? what : "", what ? ", captured at " : "",
                   (unsigned long)(address + i), (unsigned char)found[i], (unsigned char)expected[i]);
    }
    return different;
}

/* Into the stack below the region's frame: what lay there is gone. Freed blocks keep such pointers. */
static bool is_dead_pointer(uint64_t pointer)
{
    enum { DEAD_BYTES = 8 << 20 };
    return pointer < STACK && STACK - pointer < DEAD_BYTES && is_captured((void *)pointer);
}

/* pthread_self(), by which locks know their holder: the C library's block of a thread holds its own address in its first and third word. */
static bool is_own_thread(uint64_t expected, uint64_t found)
{
    const uint64_t *words = (const uint64_t *)expected;
    return found == (uint64_t)__builtin_thread_pointer() && expected % sizeof *words == 0 && is_captured(words) && is_captured(words + 2)
           && words[0] == expected && words[2] == expected;
}

/* Strings and numbers without a name, which each unit has for itself (place.sed): does the same stand where the program's pointer led? */
static bool is_equal_constant(const char *expected, const char *found)
{
    for (const struct constant *c = __start_pcere_constants; c < __stop_pcere_constants; c++)
        if (found >= c->start && (size_t)(found - c->start) < c->bytes) {
            size_t bytes = c->bytes - (size_t)(found - c->start);
            return is_read_only(expected, bytes) && !memcmp(expected, found, bytes);
        }
    return false;
}

/* What the region allocates lies elsewhere in this process, as libraries do: a pointer out of captured memory is as good as another. */
static bool is_renamed_pointer(const char *expected, const char *found)
{
    uint64_t pointers[2];
    unsigned char there = 0;
    memcpy(&pointers[0], expected, sizeof *pointers);
    memcpy(&pointers[1], found, sizeof *pointers);
    if ((is_dead_pointer(pointers[0]) && is_dead_pointer(pointers[1])) || is_own_thread(pointers[0], pointers[1])
        || is_equal_constant((const char *)pointers[0], (const char *)pointers[1]))
        return true;
    for (int i = 0; i < 2; i++)
        if (pointers[i] < 1u << 16 || pointers[i] >= UINT64_C(1) << 47 || is_captured((void *)pointers[i]))
            return false;
    return !mincore((void *)(pointers[1] / PAGE_BYTES * PAGE_BYTES), PAGE_BYTES, &there);
}

size_t words_check(const char *what, const char *address, const char *expected, const char *found, size_t count)
{
    size_t different = 0;
    for (size_t at = 0, word; at < count; at += word) {
        word = count - at < sizeof(uint64_t) ? count - at : sizeof(uint64_t);
        if (!memcmp(found + at, expected + at, word))
            compared += word;
        else if (word == sizeof(uint64_t) && is_renamed_pointer(expected + at, found + at))
            renamed++;
        else
            different += bytes_check(what, address + at, expected + at, found + at, word);
    }
    return different;
}

static size_t page_check(const char *address, const char *expected)
{
    return words_check(NULL, address, expected, address, PAGE_BYTES);
}

/* Pages that were absent before and behind the region: of each piece of a gap at one go, since a gap may be all that a program has reserved. */
static size_t gap_check(const struct range *gap)
{
    enum { PIECE_PAGES = 1 << 16 };
    static unsigned char there[PIECE_PAGES];
    size_t different = 0;
    for (char *piece = gap->start, *end; piece < gap->end; piece = end) {
        end = (size_t)(gap->end - piece) / PAGE_BYTES > PIECE_PAGES ? piece + (size_t)PIECE_PAGES * PAGE_BYTES : gap->end;
        bool whole = !mincore(piece, (size_t)(end - piece), there);       /* else some of it is not mapped */
        for (char *at = piece; at < end; at += PAGE_BYTES) {
            unsigned char *is_there = &there[(size_t)(at - piece) / PAGE_BYTES];
            if ((whole || !mincore(at, PAGE_BYTES, is_there)) && *is_there & 1 && !page_of(at))
                different += page_check(at, zero_page);
        }
    }
    return different;
}

int memory_check(void)
{
    memory_open();
    state_settle();
    size_t different = thread_locals_check();
    for (size_t i = 0; i < page_count; i++)
        if (!pages[i].dropped || pages[i].after != pages[i].before)     /* else the capture found nothing there any more */
            different += page_check(pages[i].address, pages[i].after);
    for (size_t i = 0; i < gap_count; i++)
        different += gap_check(&gaps[i]);
    if (!AFTER_IS_KNOWN) {
        fprintf(out, "check: the capture does not hold the memory behind the region\n");
        return 2;
    }
    if (different)
        fprintf(out, "check: %zu of %zu bytes differ\n", different, compared);
    if (different && omp_get_max_threads() != CAPTURE_THREADS)
        fprintf(out, "       with %d thread%s; the capture had %d: with others, sums of floating-point numbers differ in their last digits, and more where they cancel out\n",
                omp_get_max_threads(), omp_get_max_threads() == 1 ? "" : "s", CAPTURE_THREADS);
    if (!different)
        fprintf(out, "check: identical, %zu bytes\n", compared);
    if (renamed)
        fprintf(out, "       but for %zu pointers to blocks that the region allocates, to libraries, or to equal constants: these lie elsewhere here\n", renamed);
    return different != 0;
}
