/* cli/replay_options.h - what `replay` and `verify` share: codelets by name, the launcher's options, progress.
 */
#ifndef PCERE_CLI_REPLAY_OPTIONS_H
#define PCERE_CLI_REPLAY_OPTIONS_H

#include "cli/cli.h"
#include "replay-rt/launcher/replay.h"

struct replay_setup {
    struct replay_target *targets;
    size_t target_count;
    uint32_t *threads;
    char *library_directory;
    struct replay_options options;      /* points into this structure */
};

/* Codelets that cli->operands name, thread counts (none: the capture's own), the library's directory, progress. replay_setup_done it in any case. */
enum pcere_status replay_setup_init(struct cli *cli, const struct cli_threads *threads, struct replay_setup *setup, struct pcere_error *error);
void replay_setup_done(struct replay_setup *setup);

/* "conj_grad@cg.c:405 #12": a region and the invocation that was captured. free() it; NULL: no memory. */
char *replay_target_name(const struct replay_target *target);

#endif
