/* platform/core.h - how long a core takes for a codelet's code out of its nearest cache: llvm-mca's idea of the processor, corrected by what the signature measured.
 */
#ifndef PCERE_PLATFORM_CORE_H
#define PCERE_PLATFORM_CORE_H

#include "platform/mca.h"
#include "platform/signature.h"
#include "store/character.h"

struct core_clock {
    double cycle_ns, doubt_ratio;    /* of one cycle while so many threads work; quantity_doubt of it */
    double window;                   /* instructions that it works ahead */
    double refill_cycles;            /* from finding out that a branch was mispredicted to the next instruction */
};

struct core_clock core_clock_find(const struct platform_signature *signature, unsigned threads);

/* Loops that wait for their own results: how long beyond what their units need; of those that are known to begin anew, likewise, and how often they end. */
struct core_waiting { double idle_ns, waited_ns, ends; };

/* Nanoseconds of all passes that a thread makes through a code. `estimate` NULL: only instructions and operations are known. `references`: MCA_REFERENCES.
 * Adds to `waiting` what the code waits. */
double core_code_ns(const struct platform_signature *signature, const struct core_clock *clock, const struct character_code *code, uint32_t thread,
                    const struct mca_estimate *references, const struct mca_estimate *estimate, struct core_waiting *waiting);
/* Places of memory that a code goes through side by side: different registers that addresses begin with, the stack left out. */
unsigned core_code_streams(const char *code);
/* Of code of which only the number of instructions is known. */
double core_plain_ns(const struct core_clock *clock, double instructions);

#endif
