/* include/pcere/counts.h - how a program that was compiled with PCERE_COUNT offers its counts, and tells what it does.
 *
 *   PCERE_COUNT=ir clang -O3 -fopenmp -fpass-plugin=PCEREPass.so x.c          totals, a vector for each thread
 *   PCERE_COUNT=blocks clang ...                                              and how often each basic block ran
 *   PCERE_COUNT=cache clang ...                                               totals, and each access to memory is told as it happens
 *   PCERE_COUNT=iterations clang ...                                          each iteration of a worksharing loop is told as it begins; joins with others: cache,iterations
 *
 * A codelet's units take the same as an option of the plugin: -mllvm -pcere-count=ir. Code in other units is not counted; nothing changes but what is
 * added. By itself such a program runs as ever: the hooks are weak, and absent unless something that runs beside the program defines them.
 *
 * Each image (executable or shared library) that holds such code has one thread-local vector of PCERE_COUNTS_SLOTS numbers, all 0 when a thread begins. A
 * thread's counts are the sum over images. They are exact whenever a function is called that may call anything which its unit does not hold
 * (the OpenMP runtime above all), and when a function returns to code that is not counted; in between they lag, never by more than what is pending.
 * What a call that ended by longjmp or an exception had done is in them.
 */
#ifndef PCERE_COUNTS_H
#define PCERE_COUNTS_H

#include <stdint.h>

#define PCERE_COUNTS_ENVIRONMENT "PCERE_COUNT"
#define PCERE_COUNTS_SLOTS 32u          /* numbers in a vector; those from PCERE_COUNT_END on are 0 */

enum pcere_count {
#define PCERE_COUNT(number, name, text, unit, words) PCERE_COUNT_##name = number,
#include "include/pcere/counts.inc"
#undef PCERE_COUNT
    PCERE_COUNT_END
};

/* The calling thread's vector; valid until the thread ends or the image is unloaded. Takes no lock; the first call of a thread in a shared library may allocate. */
typedef const uint64_t *pcere_counts_fn(void);

/* Weak in programs; defined by a runtime. Called by a constructor of each image, before main or inside dlopen; the same function may be given twice. */
void __pcere_counts_register(pcere_counts_fn *here);
/* Likewise, by a destructor of code that may be a shared library's: then the function and its vectors are gone afterwards. An executable of such code
 * calls it, too, at its end: its vectors stay. */
void __pcere_counts_forget(pcere_counts_fn *here);

/* ---- basic blocks (PCERE_COUNT=blocks) ------------------------------------------------------------------------------------- */

/* Blocks that always run equally often share a counter. A block is told by its function's symbol and its number in the function, from 0, in the order of
 * the unit's intermediate code at the end of optimisation, before anything was counted (that of an uncounted build with the same flags). Counted is how often
 * it was begun: a block that setjmp comes back into was begun once. */
struct pcere_counted_block {
    uint32_t function;                  /* of the unit's names */
    uint32_t block;                     /* its number in the function */
    uint32_t counter;                   /* of the unit's counters */
    uint32_t instructions;              /* in it, as PCERE_COUNT_INSTRUCTIONS counts them */
};

struct pcere_counted_unit {             /* constant, in the image; as exact as the vectors are, and when they are */
    uint64_t unit_id;                   /* pcere_unit_header::unit_id, or 0 */
    uint32_t function_count, block_count, counter_count, reserved;
    const char *const *functions;       /* symbols' names */
    const struct pcere_counted_block *blocks;
    uint64_t *(*counters)(void);        /* the calling thread's [counter_count]; may be set to 0 between two measurements */
};

/* Weak and called like __pcere_counts_register, once for each unit. */
void __pcere_blocks_register(const struct pcere_counted_unit *unit);
void __pcere_blocks_forget(const struct pcere_counted_unit *unit);

/* ---- as it happens ---------------------------------------------------------------------------------------------------------------- */

enum pcere_access {
    PCERE_ACCESS_LOADS = 1, PCERE_ACCESS_STORES = 2,
    PCERE_ACCESS_GOES_ON = 4,           /* of the instruction that was told just before: another element of a gather or scatter */
};

/* Weak in programs (PCERE_COUNT=cache); called before the access. `what`: enum pcere_access; both: the same bytes are read, and then written. An instruction that
 * counts as PCERE_COUNT_LOADS or PCERE_COUNT_STORES is told once without GOES_ON; 0 bytes: nothing is touched, or it cannot be told where. */
void __pcere_cache_access(uint64_t address, uint64_t bytes, uint32_t what);

/* Weak in programs (PCERE_COUNT=iterations); called when an iteration begins (of a worksharing loop, a taskloop, distribute), or a section, by its number in the loop
 * as the compiled program counts: from 0, collapsed loops as one, but flang's taskloops by their values. Counts are exact then. */
void __pcere_iteration(uint64_t number);

#endif
