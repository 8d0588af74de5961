/* cli/program_stage.h - running a store's program again as it ran when it was captured: the program or its copy, its directory, its environment. */
#ifndef PCERE_CLI_PROGRAM_STAGE_H
#define PCERE_CLI_PROGRAM_STAGE_H

#include "cli/cli.h"
#include "core/environment.h"

struct program_stage {               /* what a run needs, and what has to be undone after it */
    char *program;                   /* what is run */
    char *directory;                 /* of a copy, or NULL */
    struct environment environment;
    char *library;                   /* libpcere-capture.so */
    int home;                        /* the directory to return to */
    char *host_name, *host;
};

/* Go to the directory of the capture of cli->store, and choose the program: where it lay, or the store's copy if it is gone or has changed.
 * program_stage_leave in any case, from a stage that was PROGRAM_STAGE_NONE before. */
#define PROGRAM_STAGE_NONE ((struct program_stage){.home = -1})
enum pcere_status program_stage_enter(struct cli *cli, struct program_stage *stage, struct pcere_error *error);
void program_stage_leave(struct program_stage *stage);

#endif
