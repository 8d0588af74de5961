/* cli/own_spread.h - what the machine does by itself to two processes, or two runs, of the same work: a precision below that says no more of a run. */
#ifndef PCERE_CLI_OWN_SPREAD_H
#define PCERE_CLI_OWN_SPREAD_H

#include "cli/cli.h"
#include "predictor/predict.h"
#include "replay-rt/launcher/replay.h"

struct own_spread {
    uint32_t threads;
    double process_ratio;            /* as of processes_spread */
    size_t processes;                /* that say so; 0: none do */
    double pair_ratio;               /* two runs of the program in a row differ by that (runs_pairs) */
    size_t pairs;
};

/* What a store's samples say. PCERE_SYSTEM: no memory. */
enum pcere_status own_spread_find(const struct predict_request *request, uint32_t threads, struct own_spread *ret_spread, struct pcere_error *error);

/* Of a replay with a precision: "own_spread" in the document, or a sentence where the precision lies below. The store has the replay's samples. PCERE_SYSTEM, PCERE_DATA. */
enum pcere_status own_spread_tell(struct cli *cli, const struct replay_report *report, double precision_ratio, struct pcere_error *error);

#endif
