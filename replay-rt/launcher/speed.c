/* replay-rt/launcher/speed.c - see speed.h. */
#include "replay-rt/launcher/speed.h"

static size_t count_find(const struct speed_known *known, uint32_t threads)
{
    size_t at = 0;
    while (at < SPEED_KINDS && known->counts[at].threads && known->counts[at].threads != threads)
        at++;
    return at;
}

uint64_t speed_full_ns(const struct speed_known *known, uint32_t threads)
{
    size_t at = count_find(known, threads);
    return at < SPEED_KINDS ? known->counts[at].full_ns : 0;
}

void speed_tell(const struct speed_known *known, uint32_t threads, uint64_t cores, struct plan_policy *policy)
{
    bool own_cores = threads <= cores;
    policy->full_ns = speed_full_ns(known, threads);
    policy->looks = own_cores && !known->alone_ns;
    policy->alone_ns = own_cores ? known->alone_ns : 0;
    policy->alone_clock_ns = own_cores ? known->alone_clock_ns : 0;
    size_t at = count_find(known, threads);
    uint64_t most_ns = known->program_ns / (threads ? threads : 1) / SPEED_PROGRAM_PARTS, awaited_ns = at < SPEED_KINDS ? known->counts[at].awaited_ns : 0;
    uint64_t left_ns = most_ns > awaited_ns ? most_ns - awaited_ns : 0;
    policy->await_ns = policy->await_ns < left_ns ? policy->await_ns : left_ns;
}

void speed_learn(struct speed_known *known, uint32_t threads, const struct plan_result *result)
{
    size_t at = count_find(known, threads);
    if (!known->alone_ns && result->alone_ns && result->alone_clock_ns) {
        known->alone_ns = result->alone_ns;
        known->alone_clock_ns = result->alone_clock_ns;
    }
    if (at == SPEED_KINDS || !result->full_ns || !threads)
        return;
    known->counts[at].awaited_ns += result->awaited_ns;
    if (!known->counts[at].threads || result->full_ns < known->counts[at].full_ns) {
        known->counts[at].threads = threads;
        known->counts[at].full_ns = result->full_ns;
    }
}

uint64_t speed_await_ns(uint64_t allowed_ns)
{
    uint64_t share_ns = allowed_ns / SPEED_AWAIT_PARTS;
    return allowed_ns && share_ns < SPEED_AWAIT_MOST_NS ? share_ns : SPEED_AWAIT_MOST_NS;
}

double speed_choose(const uint64_t *times_ns, const uint32_t *works_ns, size_t count, uint64_t full_ns, bool *keep)
{
    uint64_t least_ns = UINT64_MAX;
    double slower = 0;
    for (size_t i = 0; i < count; i++) {
        bool slow = plan_is_slow(works_ns[i], full_ns);
        least_ns = !slow && times_ns[i] < least_ns ? times_ns[i] : least_ns;
        slower += slow ? (double)works_ns[i] / (double)full_ns - 1 : 0;
    }
    for (size_t i = 0; i < count; i++)
        keep[i] = !plan_is_slow(works_ns[i], full_ns) || times_ns[i] <= least_ns;
    return count && least_ns == UINT64_MAX ? slower / (double)count : 0;
}
