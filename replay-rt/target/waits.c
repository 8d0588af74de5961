/* replay-rt/target/waits.c - how long the team's threads waited for a processor: /proc/PID/task/TID/schedstat. The kernel takes a processor away many
 * times for some microseconds, which a run of milliseconds does not feel; that it was taken away does not tell for how long. */
#include "replay-rt/target/codelet.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

enum { THREADS_MOST = 64, TEXT_BYTES = 80 };

static int descriptors[THREADS_MOST];
static _Atomic uint32_t watched, missing;

void pcere_waits_watch_thread(void)
{
    int descriptor = pcere_descriptor_raise(open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC));
    uint32_t at = descriptor < 0 ? THREADS_MOST : atomic_fetch_add(&watched, 1);
    if (at < THREADS_MOST) {
        descriptors[at] = descriptor;
        return;
    }
    atomic_store(&missing, 1);
    if (descriptor >= 0)
        close(descriptor);
}

bool pcere_waits_so_far(uint64_t *ret_ns)
{
    uint64_t sum_ns = 0;
    for (uint32_t i = 0; !atomic_load(&missing) && i < atomic_load(&watched); i++) {
        char text[TEXT_BYTES];
        unsigned long long ran_ns, waited_ns;
        ssize_t length = pread(descriptors[i], text, sizeof text - 1, 0);
        if (length <= 0)
            return false;
        text[length] = '\0';
        if (sscanf(text, "%llu %llu", &ran_ns, &waited_ns) != 2)
            return false;
        sum_ns += waited_ns;
    }
    *ret_ns = sum_ns;
    return !atomic_load(&missing) && atomic_load(&watched);
}
