/* cli/lines.h - how far the processors lie apart that a run of so many threads is bound to. */
#ifndef PCERE_CLI_LINES_H
#define PCERE_CLI_LINES_H

#include <stdint.h>

/* What a cache line takes from one of the first `threads` processors to the next (include/pcere/line_ring.h), in some tens of microseconds; 0: fewer than two threads, more than processors,
 * or it could not be measured. */
uint64_t cli_line_ns(unsigned threads);

#endif
