/* cli/verify_in_vivo.h - codelets of a store held against the program itself at other numbers of threads.
 *
 *   for each number of threads:  the program runs again, and the same invocations are captured ─▶ a store for the moment ─▶ verify_run
 */
#ifndef PCERE_CLI_VERIFY_IN_VIVO_H
#define PCERE_CLI_VERIFY_IN_VIVO_H

#include "cli/replay_options.h"

struct verify_in_vivo {
    struct verify_report report;      /* all results; by thread count, then by target */
    struct in_vivo_store *stores;     /* private */
    size_t store_count;
};

/* Run the program at each of setup->options.threads, verify setup->targets there. A target that the program does not come to with so many threads
 * has a result with PCERE_NO. What the program prints goes to standard error. verify_in_vivo_done it in any case.
 * PCERE_NO: the program failed. Others as capture_program and verify_run. */
enum pcere_status verify_in_vivo_run(struct cli *cli, const struct replay_setup *setup, struct verify_in_vivo *ret_runs, struct pcere_error *error);
void verify_in_vivo_done(struct verify_in_vivo *runs);    /* accepts zeroed and half-built */

#endif
