/* cli/scalings.h - what `pcere replay` says of classes at other numbers of threads than the capture's: how a region's scale, and which of them stand for their members no more.
 */
#ifndef PCERE_CLI_SCALINGS_H
#define PCERE_CLI_SCALINGS_H

#include "cli/cli.h"
#include "replay-rt/launcher/replay.h"

/* Out of the store's samples, this call's among them: "class_checks" in the document, or lines on standard output for classes that do not hold. */
enum pcere_status scalings_tell(struct cli *cli, const struct replay_report *report, struct pcere_error *error);

#endif
