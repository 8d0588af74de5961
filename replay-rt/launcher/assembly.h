/* replay-rt/launcher/assembly.h - a unit's assembly, as LLVM writes it: its blocks, which block of the optimised unit each was made of, and the loops they are in.
 */
#ifndef PCERE_REPLAY_LAUNCHER_ASSEMBLY_H
#define PCERE_REPLAY_LAUNCHER_ASSEMBLY_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ASSEMBLY_NO_BLOCK UINT64_MAX

struct assembly_block {
    uint64_t number;                 /* of the block (include/pcere/character_abi.h), or ASSEMBLY_NO_BLOCK: code generation added it */
    uint64_t function;               /* running number */
    char *loop;                      /* label of the innermost loop's first block, "BB0_3", or NULL */
    bool is_rare;                    /* code generation added it for what hardly ever happens */
    bool innermost;                  /* no loop is inside of that one */
    bool forks;                      /* the first one that ends in a branch which the code generator made of a select: both ways lead on in the same block of the unit */
    char *label;                     /* "BB0_4", or NULL: control only falls into it */
    char *text;                      /* instructions, a line each; calls are left out */
    char *calls;                     /* names of called functions, a line each */
    uint64_t instructions, flops, moved_bytes;
};

struct assembly { struct assembly_block *blocks; size_t count; };

/* PCERE_SYSTEM: no memory. What is not understood gives no block. */
enum pcere_status assembly_parse(const char *text, struct assembly *ret_assembly, struct pcere_error *error);
/* Do all vector registers that a loop carries from pass to pass get a new value in the code before it? False if there are none. */
bool assembly_begins_anew(const char *loop, const char *before);

void assembly_done(struct assembly *assembly);

#endif
