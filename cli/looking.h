/* cli/looking.h - when the files of a program are looked at together for memory that one of them sizes by the number of threads (replay-rt/launcher/together.h): behind its
 * capture where that is quick, else before the first replay with another number of threads. */
#ifndef PCERE_CLI_LOOKING_H
#define PCERE_CLI_LOOKING_H

#include "cli/cli.h"
#include "store/store.h"

#include <stddef.h>
#include <stdint.h>

/* What is quick to look at; of the rest a note says that it is left for later. What fails is noted, and tried again later. PCERE_SYSTEM, PCERE_DATA: the store cannot be written. */
enum pcere_status looking_behind(struct cli *cli, struct store *store, struct pcere_error *error);
/* What is left, if one of `threads` is another number than the capture's, into the store and its manifest in memory. What fails is noted. */
enum pcere_status looking_before(struct cli *cli, struct store *store, const uint32_t *threads, size_t count, struct pcere_error *error);

#endif
