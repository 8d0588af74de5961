/* replay-rt/launcher/policy.c - warm-up and repetition. */
#include "replay-rt/launcher/policy.h"

#include "core/host.h"
#include "core/units.h"
#include "predictor/measured.h"

#include <string.h>

#define BUDGET_NS 100000000u              /* of timed runs and restoring between them, per process */
#define LONG_NS 1000000000u               /* a warm run of this length is timed once */
#define LONG_COLD_NS 100000000u           /* a cold run of this length needs no other process: one alone costs as much as the original */
#define CHEAP_NS 100000000u               /* wall time up to which another warm process costs little */
#define WARM_NS 10000000u                 /* after an untimed run of this length nothing is left to warm: it went through all that caches hold */
#define MAPPED_PARTS 10u                  /* ... and to map it, in such parts of that */
#define HEAVY_PARTS 12.0                  /* ... of it, times its share, for those that a program nearly consists of */
#define TIMED_PARTS 6u                    /* of what a class may cost: for timed runs of one process. More of them tell little, since another process would take another time, */
#define SETTLE_PARTS 3u                   /* ... and for untimed ones that get faster */
#define SETTLE_LEAST_NS 1000000u          /* ... which may take so long in any case: a process takes more by itself */
#define FILL_SHARE 0.02                   /* of the program: what is less is not worth filling caches for */
#define PAGES_MANY 4096u                  /* so many cost more than a process does without them */
#define PRIVATE_BYTES_USUAL (2ull << 20) /* of a core's own caches */
#define CHEAP_COLD_NS 200000000u          /* ... and a cold one, which gives few samples */

enum { SAMPLES_LEAST = 3, SAMPLES_MOST = 10, PROCESSES_MOST = 3, PROCESSES_PRECISE = MEASURED_PROCESSES_ENOUGH, PROCESSES_LIMIT = 200, COLD_LEAST = 2, LONG_LEAST = 2, DISPLACED_LEAST = 7, WARMUPS_MOST = 1000 };

static void policy_warm(struct policy *policy, uint32_t warmups, uint32_t repeat)
{
    policy->plan.learn = 1;
    policy->plan.warmups = warmups;
    policy->plan.repeat_least = repeat ? repeat : SAMPLES_LEAST;
    policy->plan.repeat_most = repeat ? repeat : SAMPLES_MOST;
    policy->plan.budget_ns = repeat ? 0 : BUDGET_NS;
    policy->plan.long_ns = repeat ? 0 : LONG_NS;
    policy->samples_least = policy->plan.repeat_least;
    policy->processes_most = repeat ? 1 : PROCESSES_MOST;
    policy->always_more = !repeat;
}

static void policy_cold(struct policy *policy, uint32_t each, uint32_t repeat)
{
    policy->budget_ns = CHEAP_COLD_NS;
    policy->plan.repeat_least = policy->plan.repeat_most = each;
    policy->plan.long_ns = repeat ? 0 : LONG_COLD_NS;
    policy->samples_least = repeat ? repeat : SAMPLES_LEAST;
    policy->processes_most = repeat ? (repeat + each - 1) / each : SAMPLES_LEAST;
}

/* A cache that keeps what is used again has nothing of the region's left behind twice its size. */
static uint32_t displace_kib(void)
{
    uint64_t bytes = host_private_cache_bytes();
    return 2 * (uint32_t)((bytes ? bytes : PRIVATE_BYTES_USUAL) >> 10);
}

/* Earlier invocations warmed the region's data, so there are no more warm-ups than there were earlier invocations: of the one that was captured, but where it stands for many that had them. */
static uint32_t warmups_usual(const struct policy_subject *subject)
{
    uint64_t before = subject->members > POLICY_OFTEN ? POLICY_WARMUPS : subject->representative > 0 ? subject->representative - 1 : 0;
    return before < POLICY_WARMUPS ? (uint32_t)before : POLICY_WARMUPS;
}

enum pcere_status policy_choose(const char *warmup, uint32_t repeat, const struct policy_subject *subject, struct policy *ret_policy,
                                struct pcere_error *error)
{
    struct policy policy = {.plan = {.task = PLAN_MEASURE, .fill = 1}, .budget_ns = CHEAP_NS};
    if (repeat > PLAN_SAMPLES)
        return pcere_fail(error, PCERE_USAGE, 0, NULL, "--repeat %u: at most %u", repeat, PLAN_SAMPLES);
    if (!warmup || !strcmp(warmup, "auto") || !strcmp(warmup, "history")) {
        bool often = subject->invocations > POLICY_OFTEN;
        uint32_t warmups = often ? warmups_usual(subject) : 0;
        uint64_t members = subject->members < POLICY_OFTEN ? subject->members : POLICY_OFTEN;
        if (warmups) {
            policy_warm(&policy, warmups, repeat);
            policy.plan.warm_ns = WARM_NS;
        } else {
            policy_cold(&policy, repeat ? repeat : often || members < 1 ? 1 : (uint32_t)members, repeat);
        }
    } else if (!strcmp(warmup, "none")) {
        policy_cold(&policy, 1, repeat);
    } else if (!strcmp(warmup, "plain") || !strcmp(warmup, "displaced") || !strcmp(warmup, "preceded") || !strcmp(warmup, "faulting")) {
        bool displaced = !strcmp(warmup, "displaced");
        policy_warm(&policy, 2, repeat);
        policy.plan.displace_kib = displaced ? displace_kib() : 0;
        if (displaced && !repeat)
            policy.plan.repeat_least = DISPLACED_LEAST;
        policy.plan.faulting = !strcmp(warmup, "faulting");
        policy.plan.settle_ns = displaced || !strcmp(warmup, "plain") ? BUDGET_NS : 0;
    } else {
        uint64_t count = 0;
        if (units_parse_count("--warmup", warmup, 0, WARMUPS_MOST, &count, NULL))
            return pcere_fail(error, PCERE_USAGE, 0, "auto, plain, displaced, preceded, faulting, history, none, or a number of untimed runs",
                              "--warmup '%s': there is no such warm-up", warmup);
        if (count)
            policy_warm(&policy, (uint32_t)count, repeat);
        else
            policy_cold(&policy, 1, repeat);
    }
    *ret_policy = policy;
    return PCERE_OK;
}

void policy_weigh_memory(struct policy *policy, const char *warmup, uint32_t repeat, uint64_t in_vivo_ns, uint64_t pages,
                          uint64_t changed_pages, uint64_t page_ns)
{
    if ((warmup && strcmp(warmup, "auto") != 0 && strcmp(warmup, "history") != 0) || policy->plan.warmups)
        return;
    policy->plan.rehearse = in_vivo_ns / page_ns < (changed_pages ? changed_pages + pages / MAPPED_PARTS : pages);
    if (repeat || pages < PAGES_MANY)
        return;
    if (policy->plan.repeat_most < SAMPLES_LEAST)
        policy->plan.repeat_most = SAMPLES_LEAST;
    policy->plan.repeat_least = policy->samples_least = policy->processes_most = 1;
    policy->plan.budget_ns = BUDGET_NS;
}

static uint64_t least_of(uint64_t left, uint64_t right)
{
    return left < right ? left : right;
}

bool policy_is_short(uint64_t program_ns)
{
    return program_ns && program_ns < POLICY_SHORT_NS;
}

void policy_weigh_time(struct policy *policy, const char *warmup, uint32_t repeat, uint64_t class_ns, double share_ratio)
{
    if (repeat || (warmup && strcmp(warmup, "auto") != 0))
        return;
    uint64_t allowed_ns = class_ns / POLICY_WEIGHT_PARTS;
    policy->plan.fill = share_ratio >= FILL_SHARE;
    if (share_ratio > HEAVY_PARTS / POLICY_WEIGHT_PARTS)
        allowed_ns = (uint64_t)((double)class_ns * (share_ratio < 1 ? share_ratio : 1) / HEAVY_PARTS);
    policy->allowed_ns = allowed_ns ? allowed_ns : 1;
    policy->budget_ns = least_of(policy->budget_ns, policy->allowed_ns);
    if (policy->plan.warmups) {
        policy->plan.budget_ns = least_of(BUDGET_NS, allowed_ns / TIMED_PARTS + 1);
        policy->plan.settle_ns = least_of(policy->plan.settle_ns, allowed_ns / SETTLE_PARTS > SETTLE_LEAST_NS ? allowed_ns / SETTLE_PARTS : SETTLE_LEAST_NS);
        return;
    }
    policy->plan.repeat_least = policy->samples_least = COLD_LEAST;
    if (policy->plan.repeat_most < COLD_LEAST)
        policy->plan.repeat_most = COLD_LEAST;
    policy->plan.budget_ns = least_of(BUDGET_NS, policy->allowed_ns);
}

void policy_weigh_length(struct policy *policy, const char *warmup, uint32_t repeat, uint64_t in_vivo_ns, uint32_t threads, bool changes_known)
{
    if (repeat || (warmup && strcmp(warmup, "auto") != 0) || in_vivo_ns < WARM_NS / (threads ? threads : 1) || policy->allowed_ns / SAMPLES_LEAST >= in_vivo_ns)
        return;
    policy->plan.settle_ns = 0;
    bool warms = policy->plan.warmups && (!changes_known || policy->plan.faulting);
    policy->plan.warmups = warms;
    if (warms) {
        policy->plan.repeat_least = policy->samples_least = LONG_LEAST;
        return;
    }
    policy->plan.repeat_least = policy->plan.repeat_most = policy->samples_least = policy->processes_most = 1;
}

void policy_extend(struct policy *policy, double precision_ratio, uint64_t budget_ns)
{
    if (!(precision_ratio > 0) && !budget_ns)
        return;
    policy->extended = true;
    policy->precision_ratio = precision_ratio;
    policy->processes_most = PROCESSES_LIMIT;
    policy->budget_ns = budget_ns ? budget_ns : POLICY_PATIENCE_NS;
    policy->always_more = true;
    policy->allowed_ns = budget_ns;
    policy->plan.long_ns = budget_ns ? budget_ns / PROCESSES_MOST + 1 : 0;
    if (!budget_ns)
        return;
    policy->plan.budget_ns = least_of(policy->plan.budget_ns, budget_ns / PROCESSES_MOST + 1);
    policy->plan.settle_ns = least_of(policy->plan.settle_ns, budget_ns / PROCESSES_MOST);
}

bool policy_fits(const struct policy *policy, uint64_t wall_ns, uint64_t process_ns)
{
    return !policy->extended || wall_ns + process_ns <= policy->budget_ns;
}

bool policy_wants_more(const struct policy *policy, uint32_t repeat, uint32_t processes, uint64_t samples, uint64_t longest_ns,
                       uint64_t wall_ns, double precision_ratio)
{
    if (policy->precision_ratio > 0 && processes >= PROCESSES_PRECISE && precision_ratio <= policy->precision_ratio)
        return false;
    if (processes >= policy->processes_most)
        return false;
    if (repeat)
        return samples < repeat;
    if (policy->extended)
        return wall_ns < policy->budget_ns;
    if (policy->allowed_ns && processes && wall_ns + wall_ns / processes > policy->allowed_ns)
        return false;
    if (policy->plan.long_ns && longest_ns >= policy->plan.long_ns)
        return false;
    return wall_ns < policy->budget_ns && (policy->always_more || samples < policy->samples_least);
}
