/* replay-rt/target/shadow.c - page tables that a hypervisor keeps beside ours: filled some pages at a time.
 *
 * Where it does (shadow paging), the first use of each page that may be written leaves the virtual machine, however long the page has been there. What may only be read is
 * filled in eight pages at a time, and when its protection is lifted, what is filled in already may be written without another fault.
 *
 *   pages of the process's own |--------------|      us a page, PVM on an AMD EPYC:
 *   protect: read                                    0.04
 *   read one byte in eight pages  ^       ^          0.9
 *   protect: read, write                             1.3, and 60 a call
 *   use                                              0.03 (without all this 5.8)
 */
#include "replay-rt/target/codelet.h"

#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FILLED_PAGES 8u               /* of KVM: aligned to as many */
#define PAGES_LEAST 64u               /* fewer are not worth the calls */
#define SPAN_GAP_PAGES 1024u          /* between ranges of one call */
enum { TRIED_PAGES = 16 };
#define DEAR_NS 1500u                 /* the first use of a page: 100 or so otherwise */

/* Whether first uses are dear here: told by the first pages that there are. */
static _Atomic enum { USES_UNKNOWN, USES_CHEAP, USES_DEAR } uses;

static void uses_try(uint64_t start, uint64_t page_bytes)
{
    unsigned dear = 0;
    for (unsigned i = 0; i < TRIED_PAGES; i++) {
        volatile unsigned char *byte = (volatile unsigned char *)(start + i * page_bytes);
        uint64_t begin_ns = pcere_clock_ns(CLOCK_MONOTONIC);
        *byte = *byte;
        dear += pcere_clock_ns(CLOCK_MONOTONIC) - begin_ns > DEAR_NS;
    }
    atomic_store(&uses, dear > TRIED_PAGES / 2 ? USES_DEAR : USES_CHEAP);
}

bool pcere_shadow_is_cheap(void)
{
    return atomic_load(&uses) == USES_CHEAP;
}

static void span_protect(const struct shadow_span *span, int protection)
{
    uint64_t start = span->ranges[0].address, end = span->ranges[span->count - 1].address + span->ranges[span->count - 1].bytes;
    syscall(SYS_mprotect, start, end - start, protection);       /* as much of it one way as the other, should there be a hole */
}

void pcere_shadow_fill(struct shadow_span *span)
{
    uint64_t block_bytes = FILLED_PAGES * span->page_bytes;
    if (span->bytes >= PAGES_LEAST * span->page_bytes && atomic_load(&uses) != USES_CHEAP) {
        span_protect(span, PROT_READ);
        for (size_t i = 0; i < span->count; i++)
            for (uint64_t at = span->ranges[i].address, end = at + span->ranges[i].bytes; at < end; at = (at / block_bytes + 1) * block_bytes)
                (void)*(const volatile unsigned char *)at;
        span_protect(span, PROT_READ | PROT_WRITE);
    }
    span->count = 0;
    span->bytes = 0;
}

void pcere_shadow_add(struct shadow_span *span, const struct plan_mapping *mapping, uint64_t start, uint64_t end)
{
    if (atomic_load(&uses) == USES_UNKNOWN && end - start >= TRIED_PAGES * span->page_bytes)
        uses_try(start, span->page_bytes);
    if (atomic_load(&uses) != USES_DEAR)
        return;
    const struct plan_range *last = span->count ? &span->ranges[span->count - 1] : NULL;
    if (last && (mapping != span->mapping || span->count == SHADOW_RANGES || start - (last->address + last->bytes) > SPAN_GAP_PAGES * span->page_bytes))
        pcere_shadow_fill(span);
    span->mapping = mapping;
    span->ranges[span->count++] = (struct plan_range){start, end - start};
    span->bytes += end - start;
}
