/* replay-rt/target/compare.c - memory after a run against what the original had, bit for bit.
 *
 * A page that the original did not have counts as zero, which is what it would have read.
 */
#include "replay-rt/ranges.h"
#include "replay-rt/target/codelet.h"

#include "include/pcere/bisect.h"
#include "include/pcere/rt_abi.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CALLER_FRAME_BYTES 65536u         /* of the calling function's frame, where its temporaries may lie */
#define DEAD_STACK_BYTES (UINT64_C(8) << 20)

#define THREAD_NUMBER_BYTES 4u

static const unsigned char zeros[1u << 16];

static bool ranges_hold(const struct plan_range *ranges, size_t count, uint64_t address)
{
    size_t at = pcere_plan_range_from(ranges, count, address);
    return at < count && ranges[at].address <= address;
}

static bool is_ignored(const struct memory *memory, uint64_t address)
{
    const struct replay_plan *plan = memory->codelet->plan;
    return ranges_hold(PLAN_TABLE(memory->codelet, ignored, struct plan_range), plan->ignored.count, address)
           || ranges_hold(memory->adjusted, memory->adjusted_count, address);
}

static void difference_add(struct codelet *codelet, const struct plan_difference *difference)
{
    struct plan_result *result = &codelet->plan->result;
    if (result->difference_count == PLAN_DIFFERENCES && result->spilled_count < PLAN_SPILLED_MOST) {
        uint64_t at = codelet->plan->bytes + result->spilled_count * sizeof *difference;
        if (pwrite(codelet->plan_fd, result->differences, sizeof result->differences, (off_t)at) == (ssize_t)sizeof result->differences) {
            result->spilled_count += PLAN_DIFFERENCES;
            result->difference_count = 0;
        }
    }
    if (result->difference_count < PLAN_DIFFERENCES)
        result->differences[result->difference_count++] = *difference;
}

/* Between the probe and the fork the calling function may have spilled the fork's arguments once more, and the serial path its
 * thread's number, into its own frame. The region cannot see these words, and a replay does not write them. */
static bool is_callers_temporary(const struct memory *memory, uint64_t address, const unsigned char *expected,
                                 const unsigned char *found, uint64_t bytes)
{
    const struct replay_plan *plan = memory->codelet->plan;
    const uint64_t *words = PLAN_TABLE(memory->codelet, words, uint64_t);
    const unsigned char *pristine = pcere_memory_pristine(memory, address), *before = pristine ? pristine : zeros;
    if (bytes != sizeof(uint64_t) || address < plan->stack_pointer || address - plan->stack_pointer >= CALLER_FRAME_BYTES
        || !pcere_memory_copy(memory, address))
        return false;
    for (uint64_t i = 0; i < plan->words.count; i++)
        if (!memcmp(&words[i], expected, sizeof *words) && !memcmp(found, before, bytes))
            return true;
    bool numbers = plan->path == PCERE_PATH_SERIALIZED;
    for (uint64_t half = 0; half < bytes; half += THREAD_NUMBER_BYTES)
        numbers = numbers
                  && (!memcmp(expected + half, found + half, THREAD_NUMBER_BYTES)
                      || ((!memcmp(expected + half, zeros, THREAD_NUMBER_BYTES)
                           || !memcmp(expected + half, &plan->global_thread, THREAD_NUMBER_BYTES))
                          && !memcmp(found + half, before + half, THREAD_NUMBER_BYTES)));
    return numbers;
}

/* Into the stack below the region's frame: what lay there is gone, and the depth of frames there is that of the OpenMP runtime's. Freed blocks keep such pointers. */
static bool is_dead_pointer(const struct memory *memory, uint64_t pointer)
{
    uint64_t stack = memory->codelet->plan->stack_pointer;
    return pointer < stack && stack - pointer < DEAD_STACK_BYTES && pcere_memory_is_mapped(memory, pointer);
}

/* What the region allocates lies elsewhere in a replay, as libraries do: where it is not known (made.c), a pointer out of the captured memory is as good as another. So do constants
 * without a name. */
static bool is_renamed_pointer(const struct memory *memory, uint64_t address, const unsigned char *expected, const unsigned char *found,
                               uint64_t bytes)
{
    uint64_t pointers[2];
    if (bytes != sizeof *pointers || address % sizeof *pointers)
        return false;
    memcpy(&pointers[0], expected, sizeof *pointers);
    memcpy(&pointers[1], found, sizeof *pointers);
    enum made_pair pair = pcere_made_pair(memory, address, pointers[0], pointers[1]);
    if (pair != MADE_UNKNOWN)
        return pair == MADE_ALIKE;
    if (pcere_made_pair(memory, address, ~pointers[0], ~pointers[1]) == MADE_ALIKE)
        return true;              /* flang's runtime writes that behind what a pointer allocates */
    if ((is_dead_pointer(memory, pointers[0]) || pcere_stack_of_captured_team(memory->codelet, pointers[0]))
        && (is_dead_pointer(memory, pointers[1]) || pcere_stack_of_team(pointers[1])))
        return true;
    if (pcere_constants_are_alike(memory, pointers[0], pointers[1]))
        return true;
    for (int i = 0; i < 2; i++)
        if (pointers[i] < 1u << 16 || pointers[i] >= UINT64_C(1) << 47 || pcere_memory_is_mapped(memory, pointers[i]))
            return false;
    return pcere_pagemap_state_alone(pointers[1] & ~(memory->codelet->plan->page_bytes - 1), memory->codelet->plan->page_bytes) != PAGE_ABSENT
           && !pcere_externals_differ(memory->codelet, pointers[0], pointers[1]);
}

/* pthread_self(), which locks keep to know who held them last. The C library's control block holds its own address in its first and third word. */
static bool is_thread_block(uint64_t block)
{
    uint64_t words[3];
    memcpy(words, (const void *)block, sizeof words);
    return words[0] == block && words[2] == block;
}

/* Which thread of the team comes last is a matter of time. */
static bool is_own_thread(const struct memory *memory, const unsigned char *expected, const unsigned char *found, uint64_t bytes)
{
    const uint64_t page_bytes = memory->codelet->plan->page_bytes, block_bytes = 3 * sizeof(uint64_t);
    uint64_t captured, own;
    if (bytes != sizeof captured)
        return false;
    memcpy(&captured, expected, sizeof captured);
    memcpy(&own, found, sizeof own);
    if (pcere_identity_holds(memory->codelet, captured) && pcere_identity_holds(memory->codelet, own))
        return true;
    if (captured % sizeof captured || !(pcere_memory_protection(memory, captured) & PROT_READ) || !(pcere_memory_protection(memory, captured + block_bytes - 1) & PROT_READ)
        || !is_thread_block(captured))
        return false;
    if (own < page_bytes || own >= UINT64_C(1) << 47 || own % sizeof own || own % page_bytes > page_bytes - block_bytes || pcere_memory_is_mapped(memory, own))
        return false;
    bool readable = own == (uint64_t)(uintptr_t)__builtin_thread_pointer() || pcere_pagemap_state_alone(own - own % page_bytes, page_bytes) == PAGE_OWN;
    return readable && is_thread_block(own);
}

static void word_compare(struct memory *memory, uint64_t address, const unsigned char *expected, const unsigned char *found,
                         uint64_t bytes, uint32_t thread_local_of)
{
    struct plan_result *result = &memory->codelet->plan->result;
    uint64_t different = 0;
    for (uint64_t i = 0; i < bytes; i++)
        if (expected[i] != found[i] && (thread_local_of || !is_ignored(memory, address + i)))
            different++;
    if (!different || (!thread_local_of && is_callers_temporary(memory, address, expected, found, bytes)))
        return;
    if (is_renamed_pointer(memory, address, expected, found, bytes) || is_own_thread(memory, expected, found, bytes)) {
        result->renamed_pointers++;
        return;
    }
    result->different_bytes += different;
    struct plan_difference difference = {.address = address, .bytes = (uint16_t)bytes, .thread_local_of = thread_local_of};
    memcpy(&difference.expected, expected, bytes);
    memcpy(&difference.found, found, bytes);
    difference.leftover = !thread_local_of && bytes == sizeof(uint64_t) && pcere_made_leftover(memory, address, difference.expected, difference.found);
    difference_add(memory->codelet, &difference);
}

/* In packed structures pointers to what the region allocated lie anywhere. Is all that differs in the word at `at` part of some? What is not compared (the dead stack) leads nowhere. */
static bool is_packed(struct memory *memory, uint64_t address, const unsigned char *expected, const unsigned char *found, uint64_t bytes, uint64_t at,
                      uint32_t thread_local_of)
{
    const struct replay_plan *plan = memory->codelet->plan;
    unsigned covered = 0;
    uint64_t theirs, ours;
    for (uint64_t start = at > 7 ? at - 7 : 0; plan->made_bytes && start < at + 8 && start + sizeof theirs <= bytes; start++) {
        memcpy(&theirs, expected + start, sizeof theirs);
        memcpy(&ours, found + start, sizeof ours);
        if (theirs - plan->made_address < plan->made_bytes && (thread_local_of || !is_ignored(memory, address + start))
            && pcere_made_pair(memory, address + start, theirs, ours) == MADE_ALIKE)
            covered |= (start < at ? 0xffu >> (at - start) : 0xffu << (start - at)) & 0xffu;
    }
    for (uint64_t i = 0; i < 8 && at + i < bytes; i++)
        if (expected[at + i] != found[at + i] && !(covered >> i & 1))
            return false;
    return covered != 0;
}

/* By words that are the same. */
static void pairs_find(struct memory *memory, uint64_t address, const unsigned char *expected, const unsigned char *found, uint64_t bytes)
{
    for (uint64_t at = (8 - address % 8) % 8; bytes >= 8 && at <= bytes - 8; at += 8) {
        uint64_t word;
        memcpy(&word, expected + at, sizeof word);
        if (word - memory->codelet->plan->made_address < memory->codelet->plan->made_bytes && !memcmp(expected + at, found + at, sizeof word)
            && !is_ignored(memory, address + at) && pcere_made_pair(memory, address + at, word, word) == MADE_OTHER)
            pcere_made_differ(word);
    }
}

static void bytes_compare(struct memory *memory, uint64_t address, const unsigned char *expected, const unsigned char *found,
                          uint64_t bytes, uint32_t thread_local_of)
{
    if (pcere_made_in_place())
        pairs_find(memory, address, expected, found, bytes);
    if (!memcmp(expected, found, bytes))
        return;
    for (uint64_t at = 0; at < bytes;) {
        uint64_t piece = 8 - (address + at) % 8;
        if (piece > bytes - at)
            piece = bytes - at;
        if (memcmp(expected + at, found + at, piece) && piece == 8 && is_packed(memory, address, expected, found, bytes, at, thread_local_of))
            memory->codelet->plan->result.renamed_pointers++;
        else if (memcmp(expected + at, found + at, piece))
            word_compare(memory, address + at, expected + at, found + at, piece, thread_local_of);
        at += piece;
    }
}

/* What the original had at an address after the region; *cursor goes up with the addresses asked for. NULL: nothing. */
static const struct plan_copy *expected_copy(const struct memory *memory, uint64_t *cursor, uint64_t address)
{
    const struct replay_plan *plan = memory->codelet->plan;
    const struct plan_copy *copies = PLAN_TABLE(memory->codelet, expected, struct plan_copy);
    while (*cursor < plan->expected.count && copies[*cursor].address + copies[*cursor].pages * plan->page_bytes <= address)
        ++*cursor;
    return *cursor < plan->expected.count && copies[*cursor].address <= address ? &copies[*cursor] : NULL;
}

/* Where the search for an address begins. */
static uint64_t expected_from(const struct memory *memory, uint64_t address)
{
    const struct replay_plan *plan = memory->codelet->plan;
    const struct plan_copy *copies = PLAN_TABLE(memory->codelet, expected, struct plan_copy);
    BISECT(low, 0, plan->expected.count, i, copies[i].address + copies[i].pages * plan->page_bytes <= address);
    return low;
}

static const unsigned char *expected_page(const struct memory *memory, const struct plan_copy *copy, uint64_t address)
{
    return !copy || copy->zero ? zeros : memory->codelet->pages + copy->source + (address - copy->address);
}

/* Nobody wrote the page, and the original has the same content before and after: nothing to look at. */
static bool page_is_untouched(const struct memory *memory, uint64_t address, const struct plan_copy *expected)
{
    enum page_state state = pcere_pagemap_state(address, memory->codelet->plan->page_bytes);
    if (!expected)
        return state == PAGE_ABSENT;
    if (!memory->lazy || (state != PAGE_ABSENT && state != PAGE_OF_FILE))
        return false;
    const struct plan_copy *before = pcere_memory_copy(memory, address);
    return before && before->zero == expected->zero
           && (before->zero || before->source + (address - before->address) == expected->source + (address - expected->address));
}

/* Up to where the original had nothing behind the region, from `cursor` on, and this process has nothing. */
static uint64_t absent_until(const struct memory *memory, uint64_t cursor, uint64_t address, uint64_t end)
{
    const struct replay_plan *plan = memory->codelet->plan;
    struct plan_range present;
    if (cursor < plan->expected.count) {
        uint64_t next = PLAN_TABLE(memory->codelet, expected, struct plan_copy)[cursor].address;
        end = next < end ? next : end;
    }
    if (address >= end)
        return address;
    return pcere_pagemap_run(address, end, plan->page_bytes, &present) ? present.address : end;
}

static uint64_t ignored_in(const struct memory *memory, uint64_t start, uint64_t end)
{
    const struct plan_range *ignored = PLAN_TABLE(memory->codelet, ignored, struct plan_range);
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < memory->codelet->plan->ignored.count && ignored[i].address < end; i++) {
        uint64_t low = ignored[i].address > start ? ignored[i].address : start;
        uint64_t high = ignored[i].address + ignored[i].bytes < end ? ignored[i].address + ignored[i].bytes : end;
        bytes += high > low ? high - low : 0;
    }
    return bytes;
}

void pcere_state_compare(struct memory *memory, uint32_t state, uint64_t address, uint64_t expected, uint64_t found, uint32_t bytes)
{
    struct plan_result *result = &memory->codelet->plan->result;
    result->compared_bytes += bytes;
    if (expected == found)
        return;
    const struct plan_difference difference = {.address = address, .expected = expected, .found = found, .bytes = (uint16_t)bytes,
                                               .thread_local_of = state};
    for (uint64_t bits = expected ^ found; bits; bits >>= 8)
        result->different_bytes += (bits & 0xff) != 0;
    difference_add(memory->codelet, &difference);
}

#define CONTROL_REACH_BYTES (1u << 20)     /* from a stack's end down to the C library's control block of its thread: thread-local variables lie between */
#define CONTROL_NUMBER_OFFSET 720u         /* in that block of glibc for x86-64: the kernel's number of the thread, 0 or -1 once it has ended */

/* The C library keeps the stack of a thread that has ended for the next one, with what lay there. A replay's threads have others. */
static bool is_ended_stack(const struct memory *memory, uint64_t index)
{
    int32_t number;
    const struct plan_mapping *mapping = &memory->mappings[index];
    if (!index || mapping[-1].end != mapping->start || mapping[-1].protection & (PROT_READ | PROT_WRITE) || !(mapping->flags & PLAN_MAPPING_FRESH))
        return false;
    memcpy(&number, (const char *)__builtin_thread_pointer() + CONTROL_NUMBER_OFFSET, sizeof number);
    if (number != (int32_t)syscall(SYS_gettid))       /* another C library, or processor */
        return false;
    uint64_t low = mapping->end - mapping->start > CONTROL_REACH_BYTES ? mapping->end - CONTROL_REACH_BYTES : mapping->start;
    for (uint64_t block = mapping->end - 64; block > low; block -= 64)
        if (block + CONTROL_NUMBER_OFFSET + sizeof number <= mapping->end && pcere_memory_protection(memory, block) & PROT_READ && is_thread_block(block)) {
            memcpy(&number, (const char *)block + CONTROL_NUMBER_OFFSET, sizeof number);
            return number <= 0 && !pcere_identity_holds(memory->codelet, block);
        }
    return false;
}

void pcere_memory_compare(struct memory *memory)
{
    const struct replay_plan *plan = memory->codelet->plan;
    struct plan_result *result = &memory->codelet->plan->result;
    if (memory->adjusted_count)
        qsort(memory->adjusted, memory->adjusted_count, sizeof *memory->adjusted, plan_range_order);
    uint64_t cursor = 0;
    pcere_pagemap_refresh();
    for (uint64_t i = 0; i < plan->mappings.count; i++) {
        const struct plan_mapping *mapping = &memory->mappings[i];
        if (!(pcere_memory_protection(memory, mapping->start) & PROT_READ) || is_ended_stack(memory, i))
            continue;
        for (uint64_t address = mapping->start; address < mapping->end; address += plan->page_bytes) {
            if (pcere_aliases_hold(memory, address))
                continue;             /* compared at its other address */
            const struct plan_copy *expected = expected_copy(memory, &cursor, address);
            bool untouched = page_is_untouched(memory, address, expected);
            if (untouched && !expected) {         /* absent in both, as what follows may be */
                address = absent_until(memory, cursor, address + plan->page_bytes, mapping->end) - plan->page_bytes;
                continue;
            }
            if (!untouched)
                bytes_compare(memory, address, expected_page(memory, expected, address), (const unsigned char *)address,
                              plan->page_bytes, 0);
            result->compared_bytes += plan->page_bytes - ignored_in(memory, address, address + plan->page_bytes);
        }
        pcere_plan_progress(memory->codelet);
    }
}

bool pcere_expected_word(const struct memory *memory, uint64_t address, uint64_t *ret_word, uint64_t *ret_after)
{
    const struct replay_plan *plan = memory->codelet->plan;
    uint64_t cursor = expected_from(memory, address);
    const struct plan_copy *copy = expected_copy(memory, &cursor, address);
    if (copy && !copy->zero) {
        memcpy(ret_word, expected_page(memory, copy, address), sizeof *ret_word);
        return true;
    }
    *ret_after = copy ? copy->address + copy->pages * plan->page_bytes
                 : cursor < plan->expected.count ? PLAN_TABLE(memory->codelet, expected, struct plan_copy)[cursor].address : UINT64_MAX;
    return false;
}

void pcere_bytes_compare(struct memory *memory, uint64_t captured, const void *found, uint64_t bytes, uint32_t thread_local_of)
{
    uint64_t page_bytes = memory->codelet->plan->page_bytes, cursor = expected_from(memory, captured);
    const unsigned char *from = found;
    for (uint64_t done = 0; done < bytes;) {
        uint64_t at = captured + done, offset = at % page_bytes;
        uint64_t piece = page_bytes - offset < bytes - done ? page_bytes - offset : bytes - done;
        const struct plan_copy *expected = expected_copy(memory, &cursor, at - offset);
        bytes_compare(memory, at, expected_page(memory, expected, at - offset) + offset, from + done, piece, thread_local_of);
        done += piece;
    }
    memory->codelet->plan->result.compared_bytes += bytes;
}
