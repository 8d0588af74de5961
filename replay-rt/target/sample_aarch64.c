/* replay-rt/target/sample_aarch64.c - what is not written for AArch64: to go back to where a loop began. Regions are replayed whole. */
#include "replay-rt/target/sample_hooks.h"

#if defined(__aarch64__)

bool pcere_sample_entries_ready(void)
{
    return false;
}

uint64_t pcere_sample_frame_bytes(const struct sample_call *call)
{
    (void)call;
    return 0;
}

#endif
