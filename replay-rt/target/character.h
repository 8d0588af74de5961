/* replay-rt/target/character.h - what a codelet did, counted by its own code: blocks, branches, and how far apart uses of the same memory lie.
 *
 * Behind the plan's end the process writes   struct character_file | units: {id, blocks} | for each thread: struct character_record | for each unit: counts of its blocks, words of their selects
 */
#ifndef PCERE_REPLAY_TARGET_CHARACTER_H
#define PCERE_REPLAY_TARGET_CHARACTER_H

#include "replay-rt/protocol.h"

#include <stdbool.h>

struct codelet;

/* Stack distances of lines (Mattson 1970; Olken's tree): how many other lines were used since a line's last use. Of lines a share of 2^-shift is followed, chosen
 * by a hash of their address (Waldspurger et al. 2015), which makes the distances 2^shift times as long as those counted. */
struct reuse;
struct reuse *pcere_reuse_new(uint32_t shift, bool alone);   /* NULL: no memory. alone: no other thread writes */
/* Any line is used: how many others of its place, the line's number modulo CHARACTER_PLACES, were used since its last use; CHARACTER_WAYS: as many or more. */
uint32_t pcere_reuse_place(struct reuse *reuse, uint64_t line);
/* A followed line is used, and `ways` is what the above says of it; what that is goes into `ret`. */
void pcere_reuse_touch(struct reuse *reuse, uint64_t line, uint32_t ways, bool store, enum character_kind kind, struct character_record *ret);

/* Before a record is read: its writebacks were kept as differences. */
void pcere_reuse_sum(struct character_record *record);

/* The bin of a number: four to each power of two of it + 1, of `bins` in all. */
uint32_t pcere_reuse_bin(uint64_t number, uint32_t bins);

/* A page is used, of a `reuse` of its own, in which all are followed. */
void pcere_reuse_page(struct reuse *reuse, uint64_t page, struct character_record *ret);

/* Count from now on, on all of `team` threads; what was used before is remembered. `shift`: of those threads that come. */
void pcere_character_begin(uint32_t shift, uint32_t team);
/* Write what was counted, and say in the plan's result how much that is. */
void pcere_character_write(struct codelet *codelet);

#endif
