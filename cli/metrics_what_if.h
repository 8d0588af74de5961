/* cli/metrics_what_if.h - pcere metrics what-if: how long a traced program would take with other threads, faster, finer or coarser tasks. */
#ifndef PCERE_CLI_METRICS_WHAT_IF_H
#define PCERE_CLI_METRICS_WHAT_IF_H

#include "cli/cli.h"

struct what_if_words { struct cli_threads threads; const char *faster, *split, *join; bool csv; };

/* cli->operands[1...] are runs. Shows the result. PCERE_USAGE, PCERE_NO: a run has no tasks and no steps; PCERE_DATA, PCERE_SYSTEM. */
enum pcere_status metrics_what_if(struct cli *cli, const struct what_if_words *words, struct pcere_error *error);

#endif
