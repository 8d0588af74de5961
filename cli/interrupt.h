/* cli/interrupt.h - for commands that keep what they did: the first ctrl-C lets them come to a good end, the second one ends them. */
#ifndef PCERE_CLI_INTERRUPT_H
#define PCERE_CLI_INTERRUPT_H

/* From now on the first SIGINT, SIGTERM or SIGHUP each is remembered instead of ending this process, and `words`, which must stay, go to standard error. What is ignored stays
 * ignored. Processes that are started have the default. */
void interrupt_remember(const char *words);

/* Which one came; 0: none. */
int interrupt_caught(void);

#endif
