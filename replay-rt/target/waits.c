/* replay-rt/target/waits.c - how long the team's threads waited for a processor: /proc/PID/task/TID/schedstat. The kernel takes a processor away many
 * times for some microseconds, which a run of milliseconds does not feel; that it was taken away does not tell for how long.
 *
 * Threads that share a processor wait for each other. One that waited for longer than the others of its processor ran waited for somebody else.
 */
#include "replay-rt/target/codelet.h"

#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

enum { TEXT_BYTES = 80 };

static struct watched_thread { int descriptor; pid_t thread; } threads[WATCHED_MOST];
static _Atomic uint32_t watched, missing;

void pcere_waits_watch_thread(void)
{
    int descriptor = pcere_descriptor_raise(open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC));
    uint32_t at = descriptor < 0 ? WATCHED_MOST : atomic_fetch_add(&watched, 1);
    if (at < WATCHED_MOST) {
        threads[at] = (struct watched_thread){descriptor, gettid()};
        return;
    }
    atomic_store(&missing, 1);
    if (descriptor >= 0)
        close(descriptor);
}

bool pcere_waits_so_far(struct team_waits *ret_waits)
{
    ret_waits->count = 0;
    for (uint32_t i = 0; !atomic_load(&missing) && i < atomic_load(&watched); i++) {
        char text[TEXT_BYTES];
        unsigned long long ran_ns, waited_ns;
        ssize_t length = pread(threads[i].descriptor, text, sizeof text - 1, 0);
        if (length <= 0)
            return false;
        text[length] = '\0';
        if (sscanf(text, "%llu %llu", &ran_ns, &waited_ns) != 2)
            return false;
        ret_waits->ran_ns[i] = ran_ns;
        ret_waits->waited_ns[i] = waited_ns;
        ret_waits->count = i + 1;
    }
    return !atomic_load(&missing) && atomic_load(&watched);
}

uint64_t pcere_waits_between(const struct team_waits *before, const struct team_waits *after)
{
    uint64_t sum_ns = 0;
    for (uint32_t i = 0; i < before->count && i < after->count; i++)
        sum_ns += after->waited_ns[i] - before->waited_ns[i];
    return sum_ns;
}

#define WAITS_FEW 0.25          /* of a run, all threads together: nobody waits at the same time */
#define WAITS_MANY 0.75         /* ... and all do */

uint64_t pcere_waits_at_once(uint64_t sum_ns, uint64_t longest_ns, uint64_t wall_ns)
{
    double together = wall_ns ? ((double)sum_ns / (double)wall_ns - WAITS_FEW) / (WAITS_MANY - WAITS_FEW) : 0;
    together = together < 0 ? 0 : together > 1 ? 1 : together;
    return sum_ns - (uint64_t)(together * (double)(sum_ns - longest_ns));
}

uint64_t pcere_waits_lost(const struct team_waits *before, const struct team_waits *after, uint64_t wall_ns)
{
    uint64_t most_ns = 0;
    for (uint32_t i = 0; i < before->count && i < after->count; i++)
        most_ns = after->waited_ns[i] - before->waited_ns[i] > most_ns ? after->waited_ns[i] - before->waited_ns[i] : most_ns;
    return pcere_waits_at_once(pcere_waits_between(before, after), most_ns, wall_ns);
}

uint64_t pcere_waits_foreign_most(uint64_t lost_ns, uint64_t wall_ns, uint64_t cpu_ns)
{
    uint64_t processors_ns = wall_ns * pcere_processors_of(UINT32_MAX), left_ns = cpu_ns < processors_ns ? processors_ns - cpu_ns : 0;
    return lost_ns < left_ns ? lost_ns : left_ns;
}

uint64_t pcere_waits_shared(const struct team_waits *before, const struct team_waits *after, uint32_t count, uint64_t wall_ns, uint64_t cpu_ns)
{
    return pcere_waits_foreign_most(pcere_waits_between(before, after), wall_ns, cpu_ns) / (count ? count : 1);
}

/* The only processor that a thread may use, or -1. */
static int processor_of(pid_t thread)
{
    cpu_set_t set;
    if (sched_getaffinity(thread, sizeof set, &set) || CPU_COUNT(&set) != 1)
        return -1;
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET((size_t)i, &set))
            return i;
    return -1;
}

uint64_t pcere_waits_foreign_ns(const struct team_waits *before, const struct team_waits *after, const int *processors, uint64_t *ret_longest_ns)
{
    uint64_t sum_ns = 0;
    *ret_longest_ns = 0;
    for (uint32_t i = 0; i < after->count; i++) {
        uint64_t ran_ns = 0, longest_ns = 0;
        bool first = true;
        for (uint32_t j = 0; j < after->count; j++) {
            if (processors[j] != processors[i])
                continue;
            first &= j >= i;
            ran_ns += after->ran_ns[j] - before->ran_ns[j];
        }
        for (uint32_t j = i; first && j < after->count; j++) {
            uint64_t others_ns = ran_ns - (after->ran_ns[j] - before->ran_ns[j]), waited_ns = after->waited_ns[j] - before->waited_ns[j];
            if (processors[j] == processors[i] && waited_ns > others_ns && waited_ns - others_ns > longest_ns)
                longest_ns = waited_ns - others_ns;
        }
        sum_ns += longest_ns;
        *ret_longest_ns = longest_ns > *ret_longest_ns ? longest_ns : *ret_longest_ns;
    }
    return sum_ns;
}

bool pcere_waits_for_others(const struct team_waits *before, uint64_t *ret_ns, uint64_t *ret_longest_ns)
{
    struct team_waits after;
    int processors[WATCHED_MOST];
    if (!before->count || !pcere_waits_so_far(&after) || after.count != before->count)
        return false;
    for (uint32_t i = 0; i < after.count; i++) {
        processors[i] = processor_of(threads[i].thread);
        if (processors[i] < 0)
            return false;
    }
    *ret_ns = pcere_waits_foreign_ns(before, &after, processors, ret_longest_ns);
    return true;
}
