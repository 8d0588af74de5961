/* include/pcere/character_abi.h - how a codelet that counts what it does tells the replay runtime: the contract between the pass (-mllvm -pcere-codelet-character)
 * and replay-rt/target/character.c.
 *
 * Blocks are numbered at the end of the optimiser's pipeline, through the whole unit; the assembly of the same unit, compiled with
 * -mllvm -pcere-codelet-names instead, has the names `pb.NUMBER` in its comments. Counts are of the calling thread.
 *
 *   words of a thread and unit:  thread | count of block 0, 1, .. | selects of block 0, 1, ..: CHARACTER_SELECT_WORDS each | sites: CHARACTER_SITE_WORDS each, zero at first
 *   thread:  its clock, in instructions, to which a block adds its own where it begins | what only the runtime knows
 */
#ifndef PCERE_CHARACTER_ABI_H
#define PCERE_CHARACTER_ABI_H

#include <stdint.h>

#define CHARACTER_LINE_BYTES 64u        /* a power of two */
#define CHARACTER_SITE_WORDS 3u         /* the line that was used last, the step to it, lines since the last jump */
#define CHARACTER_SELECT_WORDS 3u       /* mispredicted, cycles that their conditions take, and what the last ones chose */
#define CHARACTER_BLOCK_PREFIX "pb."

struct character_unit { uint64_t unit_id, blocks, sites, slot; };      /* one a unit; slot: the runtime's own, 0 at first */

/* The words of the calling thread. */
uint64_t *__pcere_character_thread(struct character_unit *unit);
/* An instruction (`site`) reads from or writes (store: 1) to an address, in another line than last time, `left` instructions before its block's end. `words`: of the
 * calling thread. */
void __pcere_character_access(uint64_t *words, uint64_t *site, uint64_t address, uint32_t store, uint32_t left);
/* The same for `bytes` bytes: memcpy and its like. */
void __pcere_character_range(uint64_t *words, uint64_t *site, uint64_t address, uint64_t bytes, uint32_t store);
/* A conditional branch, by its block's number, where it goes, and the cycles, about, that its condition takes from the block's beginning. */
void __pcere_character_branch(uint64_t *words, uint64_t block, uint32_t taken, uint32_t cycles);
/* A choice between two values by a condition, `number` of its block: code generators make a branch of it or none, which only the assembly tells. `words` of the block's selects. */
void __pcere_character_select(uint64_t *words, uint64_t *select, uint64_t number, uint32_t way, uint32_t cycles);

#endif
