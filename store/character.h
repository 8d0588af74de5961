/* store/character.h - what a codelet computes and moves, whatever the machine: counted by its own code in one replay, kept beside it in the store.
 *
 * codelets/NAME.THREADS.character, JSON (docs/format/character.md). Blocks of code are gathered by loop; reuse is told by stack distances, which give the misses of a
 * cache of any size.
 */
#ifndef PCERE_STORE_CHARACTER_H
#define PCERE_STORE_CHARACTER_H

#include "core/error.h"
#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHARACTER_FILE_BYTES_MOST (64u << 20)
#define STORE_CHARACTER_BINS 192u        /* four to each power of two of distance + 1, in lines */
#define STORE_CHARACTER_OCTAVES 48u
#define STORE_CHARACTER_GAPS 48u         /* four to each power of two of instructions + 1 */
#define STORE_CHARACTER_PAGE_BYTES 4096u
#define STORE_CHARACTER_KINDS 3          /* irregular; regular; of the regular ones those soon after a jump ("early") */
#define STORE_CHARACTER_THREADS_MOST 4096u

struct character_code {              /* blocks that follow each other: the path through an innermost loop, or a block */
    char *text;                      /* its instructions as assembly, a line each, without labels */
    uint64_t instructions;
    uint64_t flops, moved_bytes;     /* of floating point; that loads and stores name. In one pass */
    bool loop;                       /* its end leads back to its start */
    uint64_t *counts;                /* how often each thread runs it */
    uint64_t *entries;               /* of a loop: how often each thread comes to it; 0: not known */
};

struct character_call { char *name; uint64_t *counts; };     /* of a function outside the program: how often each thread calls it */

struct character_reuse {             /* of one thread; in lines, those that were not followed accounted for */
    double uses[2][STORE_CHARACTER_KINDS][STORE_CHARACTER_BINS];     /* [read, written][irregular, regular, of these early][distance] */
    double cold[2][STORE_CHARACTER_KINDS];       /* the first use in this and earlier runs */
    double foreign[2][STORE_CHARACTER_BINS];     /* of the uses, those of lines that another thread wrote since: [irregular, others][distance] */
    double pages[STORE_CHARACTER_BINS];          /* uses of another page of 4 KiB than lately, by how many others were used since its last use; none: not counted */
    double jumps[2][STORE_CHARACTER_GAPS];       /* of irregular uses, those of lines that no near cache has kept: [read, written][instructions since the last one; first: foreseen]; none: not counted */
    double writebacks[STORE_CHARACTER_OCTAVES];  /* of written lines, from a cache of 2^k lines */
};

struct character_thread {
    double moves;                    /* uses of another line than the one before */
    double branches, mispredicted;
    double resolving_cycles;         /* that the conditions of those mispredicted take, about; 0: not counted */
    double other_instructions;       /* of code that is too rare to be listed */
    struct character_reuse reuse;
};

struct store_character {
    uint32_t threads, team;          /* asked for; that ran, in `per_thread` and in each array of counts */
    bool warm;                       /* the region ran before with the same data */
    uint32_t line_bytes;
    double followed_ratio;           /* share of the lines that was followed */
    char *isa;                       /* of the assembly: "x86-64" */
    uint64_t memory_bytes;           /* of the codelet */
    uint64_t new_pages;              /* that the region touches for the first time; 4 KiB each */
    struct character_code *codes;    size_t code_count;
    struct character_call *calls;    size_t call_count;
    struct character_thread *per_thread;
};

void store_character_done(struct store_character *character);

/* The distance, in lines, at which a bin begins. */
double character_bin_lines(unsigned bin);

/* Replace what the store has for a codelet and a number of threads, atomically. */
enum pcere_status store_character_write(const struct store *store, const char *codelet, const struct store_character *character, struct pcere_error *error);
bool store_has_character(const struct store *store, const char *codelet, uint32_t threads);
/* PCERE_DATA: there is none, or it is damaged. */
enum pcere_status store_character_load(const struct store *store, const char *codelet, uint32_t threads, struct store_character *ret_character,
                                       struct pcere_error *error);

#endif
