/* cli/interrupt.h - for commands that keep what they did: the first ctrl-C lets them come to a good end, the second one ends them. */
#ifndef PCERE_CLI_INTERRUPT_H
#define PCERE_CLI_INTERRUPT_H

#include "cli/cli.h"

/* From now on the first SIGINT, SIGTERM or SIGHUP each is remembered instead of ending this process, and `words`, which must stay, go to standard error. What is ignored stays
 * ignored. Processes that are started have the default. */
void interrupt_remember(const char *words);

/* Which one came; 0: none. */
int interrupt_caught(void);
/* One did: as the launcher and the tracer ask. */
bool interrupt_came(void);

/* PCERE_NO, "interrupted; " and these words: the exit status is then 128 + the signal. */
enum pcere_status interrupt_fail(struct cli *cli, const char *hint, struct pcere_error *error, const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
