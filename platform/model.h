/* platform/model.h - the time that a codelet takes on a machine of which only the signature is there. Pure computation.
 *
 *   T(m) = max over threads ( blend(core, transfer) + mispredicted + calls ) + overhead + new pages
 *
 *   core      its code's passes times what llvm-mca says of each (or operations against peak rates), in the machine's clock
 *   transfer  lines from each level, over the bandwidth of that level at m threads; misses of each cache from stack distances; lines in no order cost latency, and so do
 *             those soon after a jump, and those that another thread has just written
 * Williams et al. 2009 (roofline), Stengel et al. 2015 (ECM), Mattson 1970; docs/METHOD.md has the whole of it.
 */
#ifndef PCERE_PLATFORM_MODEL_H
#define PCERE_PLATFORM_MODEL_H

#include "platform/mca.h"
#include "platform/signature.h"
#include "store/character.h"

#define MODEL_LEVELS_MOST 8u

struct model_parts { double core_ns, branch_ns, call_ns, transfer_ns, latency_ns, overhead_ns, page_ns; };    /* of the slowest thread */

struct model_time {
    struct quantity time_ns;         /* 95 % */
    struct model_parts parts;
    double level_lines[MODEL_LEVELS_MOST];   /* lines that come from each level of the signature, all threads together */
    double flops, instructions;      /* all threads together */
};

struct model_core { const struct mca_estimate *references, *codes; };    /* codes: of character->codes; NULL: only the operations count */

/* `threads` of the signature's cores work. */
void model_codelet(const struct platform_signature *signature, const struct store_character *character, const struct model_core *core, struct model_time *ret_time);

#endif
