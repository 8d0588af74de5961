/* replay-rt/launcher/page_cost.h - what a captured page costs a process on this machine. */
#ifndef PCERE_REPLAY_LAUNCHER_PAGE_COST_H
#define PCERE_REPLAY_LAUNCHER_PAGE_COST_H

#include <stdint.h>

#define PAGE_COST_USUAL_NS 1000u

/* What it takes to make a captured page a process's own and to write to it for the first time, in ns: PAGE_COST_USUAL_NS, or what it is where it takes three times that and more,
 * as under a hypervisor that keeps page tables of its own (5,700). Measured on some pages of this process, in less than 2 ms. */
uint64_t page_cost_ns(uint64_t page_bytes);

#endif
