/* platform/mca.h - what a core makes of straight code: the input of llvm-mca, LLVM's model of pipelines, and its answers.
 *
 * The caller runs the tool. Short codes go with those asked for, of which the signature knows what they take on that machine: their ratios correct
 * the others (docs/METHOD.md). Codes with moves between registers are simulated a second time with moves that take twice as long, codes with
 * additions a third time with something shorter instead: what that changes is what they have in the chain that the code waits for.
 */
#ifndef PCERE_PLATFORM_MCA_H
#define PCERE_PLATFORM_MCA_H

#include "core/error.h"
#include "core/text.h"

#include <stddef.h>
#include <stdint.h>

/* The last seven are platform_pipeline's kinds, of mca_reference_kind's names. */
enum mca_reference {
    MCA_CHAIN, MCA_SIDE_BY_SIDE, MCA_MAXIMUM_CHAIN,
    MCA_LOAD, MCA_LOAD_VECTOR, MCA_STORE, MCA_STORE_VECTOR, MCA_STREAM, MCA_UPDATE, MCA_PAIR_CHAIN, MCA_REFERENCES
};

struct mca_estimate {                /* of one pass, in cycles of that processor */
    double cycles;                   /* simulated, each pass waiting for the values of the one before */
    double bound_cycles;             /* what units and front end need, were there no waiting */
    double uops;
    double moves_cycles, additions_cycles;   /* less `cycles` without what moves, and without what additions in place of maxima, take; 0: none of them waits */
};

/* What the signature calls a reference; NULL: it is no kind of `pipeline`. Instructions in one pass of it. */
const char *mca_reference_kind(enum mca_reference reference);
unsigned mca_reference_instructions(enum mca_reference reference);

/* Append the input for `count` codes (assembly, a line each). */
void mca_input_add(struct text *input, const char *const *codes, size_t count);

/* Read the tool's JSON. ret_references[MCA_REFERENCES] and ret_estimates[count] as in the input; codes that it did not understand have cycles 0.
 * PCERE_REFUSED: it is not what llvm-mca 19 writes. */
enum pcere_status mca_output_read(const char *output, size_t bytes, struct mca_estimate *ret_references, struct mca_estimate *ret_estimates, size_t count,
                                  struct pcere_error *error);

#endif
