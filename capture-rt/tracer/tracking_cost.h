/* capture-rt/tracer/tracking_cost.h - what it costs a program on this machine that its writes are tracked. */
#ifndef PCERE_CAPTURE_TRACER_TRACKING_COST_H
#define PCERE_CAPTURE_TRACER_TRACKING_COST_H

#include <stdbool.h>
#include <stdint.h>

#define TRACKING_READ_NS 800u            /* what it takes instead to read and hash a page in a stop; seen: 400 to 950 */

/* What the first write to a page takes that tracking has protected, in ns: measured on pages of this process. 0: the kernel does not track writes, or what was measured makes no
 * sense. From 700 where the processor's own page tables are the program's, to 15,000 where a hypervisor keeps page tables of its own beside them and each change is
 * a way through it; it takes some hundred such writes to find out. */
uint64_t tracking_fault_ns(uint64_t page_bytes);
/* Is most of what is written better read again at each stop than tracked, where that costs so much? */
bool tracking_is_dear(uint64_t fault_ns);

#endif
