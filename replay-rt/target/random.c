/* replay-rt/target/random.c - random numbers whose state the C library keeps, and its variables: put back before each run; numbers are compared after one.
 *
 * The library gives a state away, and takes one, only while another is in use.
 */
#include "replay-rt/target/codelet.h"

#include <stdlib.h>
#include <string.h>

static char aside[8] __attribute__((aligned(8)));
static char own[PLAN_RANDOM_BYTES] __attribute__((aligned(8)));

/* Where the program has its state, or a place of ours. */
static char *table_home(const struct memory *memory, const struct plan_random *random)
{
    bool there = random->address && pcere_memory_is_mapped(memory, random->address) &&
                 pcere_memory_is_mapped(memory, random->address + random->bytes - 1);
    return there ? (char *)random->address : own;
}

static bool is_sound(const struct plan_random *random)
{
    return random->bytes && random->bytes <= PLAN_RANDOM_BYTES;
}

#define LIBC_VARIABLE(type, name, count, leads) extern __attribute__((weak)) type name LIBC_COUNT_##count;
#define LIBC_COUNT_1
#define LIBC_COUNT_2 [2]
#include "include/pcere/libc_variables.inc"
#undef LIBC_VARIABLE

static const struct { void *at; size_t item_bytes, count; bool leads; } variables[] = {
#define LIBC_VARIABLE(type, name, count, leads) {(void *)&name, sizeof(type), count, leads},
#include "include/pcere/libc_variables.inc"
#undef LIBC_VARIABLE
};

/* The region's own code has them by the same names. Pointers that lead nowhere here stay as they are. */
static void variables_restore(const struct memory *memory, const struct plan_random *random)
{
    size_t at = 0;
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        for (size_t k = 0; k < variables[i].count; k++, at += variables[i].item_bytes) {
            uint64_t pointer = 0;
            if (!variables[i].at || at + variables[i].item_bytes > random->bytes)
                continue;
            memcpy(&pointer, random->before + at, variables[i].item_bytes);
            if (!variables[i].leads || !pointer || pcere_memory_is_mapped(memory, pointer))
                memcpy((char *)variables[i].at + k * variables[i].item_bytes, random->before + at, variables[i].item_bytes);
        }
}

void pcere_random_restore(const struct memory *memory)
{
    const struct plan_random *randoms = PLAN_TABLE(memory->codelet, randoms, struct plan_random);
    for (uint64_t i = 0; i < memory->codelet->plan->randoms.count; i++) {
        const struct plan_random *random = &randoms[i];
        if (is_sound(random) && random->kind == PLAN_RANDOM_TABLE) {
            char *home = table_home(memory, random);
            initstate(1, aside, sizeof aside);
            memcpy(home, random->before, random->bytes);
            setstate(home);
        } else if (is_sound(random) && random->kind == PLAN_RANDOM_48) {
            unsigned short state[3];
            memcpy(state, random->before, sizeof state);
            seed48(state);
        } else if (is_sound(random) && random->kind == PLAN_RANDOM_VARIABLES) {
            variables_restore(memory, random);
        }
    }
}

static void bytes_compare(struct memory *memory, const struct plan_random *random, const void *found)
{
    for (uint32_t at = 0; at < random->bytes; at += sizeof(uint64_t)) {
        uint32_t piece = random->bytes - at < sizeof(uint64_t) ? random->bytes - at : (uint32_t)sizeof(uint64_t);
        uint64_t words[2] = {0};
        memcpy(&words[0], random->after + at, piece);
        memcpy(&words[1], (const char *)found + at, piece);
        pcere_state_compare(memory, PLAN_STATE_RANDOM, random->kind * PLAN_RANDOM_BYTES + at, words[0], words[1], piece);
    }
}

void pcere_random_compare(struct memory *memory)
{
    const struct plan_random *randoms = PLAN_TABLE(memory->codelet, randoms, struct plan_random);
    for (uint64_t i = 0; i < memory->codelet->plan->randoms.count; i++) {
        const struct plan_random *random = &randoms[i];
        if (!is_sound(random))
            continue;
        if (random->kind == PLAN_RANDOM_TABLE) {
            const char *state = initstate(1, aside, sizeof aside);
            if (state && random->known_after)
                bytes_compare(memory, random, state);
        } else if (random->kind == PLAN_RANDOM_48 && random->known_after) {
            unsigned short state[3] = {0};
            bytes_compare(memory, random, seed48(state));
        }
    }
}
