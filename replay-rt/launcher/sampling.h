/* replay-rt/launcher/sampling.h - whether a codelet is sampled inside, how much of it, how long it may take, and what came out.
 *
 *   auto       regions of at least 2 ms in vivo, of which whole replays would take more than a thirtieth of what the class took in the program; 0.5 % of the
 *              iterations where the region takes seconds, up to 10 % where it is short, since then loading costs more than running. Not where repetitions,
 *              a warm-up or a precision were asked for: those are of whole runs; with a budget, where whole runs do not fit into the region's share. Nor where
 *              the region finds its data in the last cache and to fetch them all would take long beside it: shots begin with cold caches
 *   FRACTION   that share of the iterations, in all shots together, of any region of at least 2 ms
 *   off        whole
 *
 * What cannot be sampled is known by the pass that compiled it (struct codelet_region), by the codelet while it runs (a shot would save nothing), or
 * by its not coming to an end: then it is replayed whole, and the reason is kept.
 */
#ifndef PCERE_REPLAY_LAUNCHER_SAMPLING_H
#define PCERE_REPLAY_LAUNCHER_SAMPLING_H

#include "core/error.h"
#include "replay-rt/launcher/replay.h"
#include "replay-rt/protocol.h"
#include "store/store.h"

struct sampling_subject {
    uint64_t class_ns;                /* what all members of the class took in vivo, at as many threads; 0: unknown */
    double share_ratio;               /* of the program's time; decides how many shots there are */
    uint64_t pages;                   /* that were there before it, */
    uint64_t written_pages;           /* and those of them that it changes */
    uint64_t hot_bytes;               /* of memory that it finds in the last cache, at most; 0: nothing */
    bool rehearsed;                   /* a whole replay would make pages its own one by one, and nobody knows how many */
    uint64_t budget_ns;               /* that its replays may take; 0: none was asked for */
    uint64_t page_ns;                 /* what a page costs, as page_cost_ns tells it */
    uint64_t made_pages;              /* that were not there before it, and are behind it; UINT64_MAX: unknown */
    uint32_t whole_runs;              /* that a whole replay takes, warm-up included; 0: as many as one by itself */
};

/* Fill in the sample_ fields of *policy; sample_shots 0: whole, and where sampling was asked for, *ret_refusal (malloc'ed) says why. PCERE_USAGE: no such
 * way to sample. */
enum pcere_status sampling_choose(const struct replay_options *options, const struct store_codelet *codelet, uint32_t threads, const struct sampling_subject *subject,
                                  struct plan_policy *policy, char **ret_refusal, struct pcere_error *error);

/* A shot that takes longer than this hangs. A shot runs less than the region does; that may be slower here, and with fewer threads. */
uint64_t sampling_patience_ns(const struct store_codelet *codelet, uint32_t threads);

/* Set sampled_ratio if the process sampled its region. PCERE_NO: what it says makes no sense. */
enum pcere_status sampling_take(const struct plan_result *from, struct store_sample *sample, struct pcere_error *error);

#endif
