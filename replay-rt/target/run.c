/* replay-rt/target/run.c - the order of things in a codelet's process: map, restore, warm up, time, restore, time ...
 *
 *   restore | regions before it | thread state | empty region | t0  region  t1 | restore | ...
 *             `- or frames used up: as the plan says                `- the only timed part
 */
#include "replay-rt/target/codelet.h"

#include "include/pcere/rt_abi.h"
#include "replay-rt/target/character.h"
#include "replay-rt/target/machine.h"
#include "replay-rt/target/sample.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define STACK_TOUCHED_BYTES (256u << 10)        /* at most, */
#define STACK_TOUCHED_PARTS 4u                  /* ... and such a part of it */
#define STACK_TOUCHED_FIRST (4u << 10)          /* below that this function works itself */
#define STACK_TOUCHED_STEP (4u << 10)
#define LEARNING_WALKS 2u       /* through the regions before it */
#define STARTS_NS 20000000u     /* threads of a new team are waited for until then */
#define FAULT_NS 1000u           /* what a page costs that is made the process's own */
#define FAULTS_PARTS 50u        /* of a run: more is too much */
#define SETTLED_RATIO 0.98      /* of the fastest run so far: what is not below that is no faster, */
#define SETTLED_RUNS 2u         /* and after so many of these in a row no other will be */
#define SLOW_RUNS 3u            /* so many where all of fewer were on slow processors, */
#define SLOW_BUDGETS 8u         /* ... and one takes no longer than this many times what timed runs may take */
#define WAITED_PARTS 100u       /* of a run: what threads waited for a processor, if that is less, disturbed nothing */
#define DISTURBED_RATIO 3u      /* where the kernel interrupts everything: so many budgets, no more */

typedef void enter_fn(const uint64_t *words);

struct run {
    struct codelet *codelet;
    struct memory memory;
    struct thread_state *threads;
    struct chain *chain;              /* or NULL */
    const struct codelet_region *region;
    enter_fn *enter, *steps[PLAN_STEPS_MAX];  /* steps: the regions before it */
    const uint64_t *words, *step_words;
    _Atomic uint64_t *asked;          /* where to note what the region asks the system, or NULL */
    _Atomic uint32_t begun;           /* threads of the team that began, but for the entering one */
    bool samples;                     /* the plan asks for shots, and they may be */
    bool sampling;                    /* runs are shots */
    bool populated;                   /* pages that are known to change are the process's own before the first timed run */
    bool rehearses;                   /* pages are not the process's own yet where no untimed run comes first */
    bool tours;                       /* steps are timed as well */
    bool data_decides;                /* some region's branches or addresses may depend on what loops wrote (as far as one knows) */
    enum chain_learning learning;     /* of the walk that goes on */
    bool timing;                      /* ... and counts */
    bool cooled;                      /* pages that shots need were made the process's own, and caches were emptied after that */
    bool opened;                      /* the region changed how memory is protected, and a run begins with the capture's protection */
    bool warm;                        /* a run with another number of threads was all the warming that the only timed one needs */
    bool turned;                      /* there was one */
    bool walked;                      /* what steps lay down is known from another number of threads, and no loop's data decide anything: no walk need learn it */
    void (*mark)(uint64_t on);        /* tells who records this process of timed runs, or NULL */
};

/* How to enter a region of the rebuilt program. */
static enter_fn *region_enter(struct codelet *codelet, uint32_t image_index, const char *name, uint64_t unit_id, uint64_t word_count, uint32_t path,
                              const struct codelet_region **ret_region)
{
    const struct codelet_image *image = pcere_image(image_index);
    for (const struct codelet_region *region = image->regions; region < image->regions_end; region++) {
        if (strcmp(region->name, name) != 0 || region->word_count != word_count
            || (unit_id ? region->unit_id != unit_id : (region->sampling & CODELET_REGION_EMPTY) != 0))
            continue;
        if (*region->missing)
            pcere_plan_end(codelet, PLAN_REFUSED, "it was compiled for a processor with %s", region->missing);
        if (ret_region)
            *ret_region = region;
        enter_fn *enter = path == PCERE_PATH_SERIALIZED ? region->serial : region->fork;
        if (enter)
            return enter;
    }
    pcere_plan_end(codelet, PLAN_FAILED, "the rebuilt program has no region '%s' with %llu arguments", name, (unsigned long long)word_count);
}

static void region_find(struct run *run)
{
    const struct replay_plan *plan = run->codelet->plan;
    run->enter = region_enter(run->codelet, plan->image, pcere_plan_string(plan, plan->region), plan->unit_id, plan->words.count, plan->path,
                              &run->region);
    const struct plan_step *steps = PLAN_TABLE(run->codelet, steps, struct plan_step);
    for (uint64_t i = 0; i < plan->steps.count; i++)
        run->tours |= steps[i].timed != 0;
    run->data_decides = *run->region->whole != '\0';
    for (uint64_t i = 0; i < plan->steps.count; i++) {
        const struct codelet_region *region = NULL;
        if (steps[i].touched)
            continue;
        run->steps[i] = region_enter(run->codelet, steps[i].image, pcere_plan_string(plan, steps[i].region), steps[i].unit_id,
                                     steps[i].word_count, steps[i].path, &region);
        run->data_decides |= *region->whole != '\0';
    }
}

static uint64_t clock_ns(void)
{
    return pcere_clock_ns(CLOCK_MONOTONIC);
}

/* A new thread's first calls find no pages of its stack: they would be the first shot's. */
static void stack_touch(void)
{
    pthread_attr_t attributes;
    void *low;
    size_t bytes = 0;
    if (pthread_getattr_np(pthread_self(), &attributes))
        return;
    if (!pthread_attr_getstack(&attributes, &low, &bytes)) {
        uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0), touched = bytes / STACK_TOUCHED_PARTS;
        touched = touched < STACK_TOUCHED_BYTES ? touched : STACK_TOUCHED_BYTES;
        for (uint64_t at = STACK_TOUCHED_FIRST; at < touched && here - at > (uint64_t)(uintptr_t)low; at += STACK_TOUCHED_STEP)
            *(volatile unsigned char *)(here - at) = 0;
    }
    pthread_attr_destroy(&attributes);
}

/* The entering thread works without pause while the others begin, as in a program's first region: a new thread inherits the processors that this one is
 * bound to, and begins where this one runs, until the kernel or its own binding moves it. */
static void thread_begin(void *context, uint32_t thread, uint32_t threads)
{
    static __thread bool known;
    struct run *run = context;
    struct replay_plan *plan = run->codelet->plan;
    if (!known)
        pcere_waits_watch_thread();
    if (thread) {
        atomic_fetch_add(&run->begun, 1);
        pcere_identity_take(run->codelet, thread);
        if (!known) {
            pcere_crash_watch_thread();
            stack_touch();
        }
        known = true;
        return;
    }
    known = true;
    plan->result.threads = threads;
    uint64_t entered_ns = clock_ns(), now_ns = entered_ns;
    while (plan->policy.starts && atomic_load(&run->begun) + 1 < threads && now_ns - entered_ns < STARTS_NS)
        now_ns = clock_ns();
    plan->result.start_ns = plan->policy.starts ? now_ns - entered_ns : 0;
    pcere_identity_take(run->codelet, thread);
}

/* How late threads begin is the machine's where that is measured. */
static void team_begin(struct run *run)
{
    const struct plan_policy *policy = &run->codelet->plan->policy;
    if (policy->starts || !pcere_processors_suffice(policy->threads))
        pcere_team_run(thread_begin, run);
    else
        pcere_workers_begin(thread_begin, run);
}

static uint32_t switches_so_far(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) ? 0 : (uint32_t)usage.ru_nivcsw;
}

struct cost { uint64_t wall_ns, cpu_ns, waited_ns; uint32_t switches; };

/* Like the program rounds, and traps, the region alone: this runtime computes as well. */
static void captured_call(struct run *run, enter_fn *enter, const uint64_t *words, uint64_t stack)
{
    _Atomic uint32_t *inside = &run->codelet->plan->result.inside;
    const struct plan_policy *policy = &run->codelet->plan->policy;
    pcere_team_bind_next();
    if (policy->inner_threads) {
        pcere_team_size_next(policy->threads);
        pcere_settings_threads(policy->inner_threads);
    }
    pcere_heap_enter(true);
    atomic_store(inside, 1);
    uint64_t ours = machine_float_set(run->codelet->plan->float_control);
    pcere_call_on_stack(enter, words, stack);
    machine_float_set(ours);
    atomic_store(inside, 0);
    pcere_heap_enter(false);
    if (policy->inner_threads)
        pcere_settings_threads(policy->threads);
}

static struct cost call_run(struct run *run, enter_fn *enter, const uint64_t *words, uint64_t stack)
{
    struct team_waits waits, end_waits;
    bool waits_known = pcere_waits_so_far(&waits), crowded = !pcere_processors_suffice(run->codelet->plan->result.threads), tells = true;
    if (run->opened)
        pcere_memory_protect(&run->memory);
    pcere_threads_restore(run->threads);
    pcere_team_wake();                            /* the team is awake, as after the program's previous region */
    uint32_t switches = switches_so_far();
    uint64_t cpu_ns = pcere_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    if (run->sampling)
        pcere_sample_arm();
    uint64_t team_ns = pcere_clock_ns(CLOCK_PROCESS_CPUTIME_ID), start_ns = clock_ns();
    if (run->asked)
        pcere_asks_watch(run->asked);
    if (run->mark)
        run->mark(1);
    captured_call(run, enter, words, stack);
    if (run->asked)
        pcere_asks_watch(NULL);
    if (run->mark)
        run->mark(0);
    uint64_t end_ns = clock_ns();
    run->opened = pcere_mappings_open();
    struct cost cost = {end_ns - start_ns, pcere_clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns, 0, switches_so_far() - switches};
    team_ns = pcere_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - team_ns;
    if (crowded)
        cost.switches = pcere_crowd_is_disturbed(run->codelet->plan->result.threads, cost.wall_ns, team_ns, waits_known ? &waits : NULL, &cost.waited_ns, &tells);
    else if (cost.switches && waits_known && pcere_waits_so_far(&end_waits)) {
        if (enter == run->enter && (run->region->sampling & CODELET_REGION_SHARES))
            cost.waited_ns = pcere_waits_shared(&waits, &end_waits, run->codelet->plan->result.threads, cost.wall_ns, team_ns);
        else
            cost.waited_ns = pcere_waits_foreign_most(pcere_waits_lost(&waits, &end_waits, cost.wall_ns), cost.wall_ns, team_ns);
        cost.switches = cost.waited_ns * WAITED_PARTS <= cost.wall_ns ? 0 : cost.switches;
    }
    run->codelet->plan->result.switches_tell |= tells;
    pcere_plan_progress(run->codelet);
    return cost;
}

/* The team of the region that comes next. */
static void region_bind(const struct run *run, int32_t proc_bind)
{
    pcere_team_bind(run->codelet->plan->binds ? proc_bind : -1);
}

static struct cost region_run(struct run *run)
{
    pcere_files_restore(run->codelet);
    pcere_streams_restore();
    pcere_random_restore(&run->memory);
    region_bind(run, run->codelet->plan->proc_bind);
    struct cost cost = call_run(run, run->enter, run->words, run->codelet->plan->stack_pointer);
    pcere_guard_judge();
    return cost;
}

static void region_shot(void *context)
{
    region_run(context);
}

/* Captured pages that the run needed are there from now on, those that it wrote the process's own; nothing else remains of it, in caches neither where these are to be cold. */
static void rehearsal_end(void *context)
{
    struct run *run = context;
    pcere_plan_phase(run->codelet, PLAN_PHASE_REHEARSE);
    pcere_plan_await(run->codelet, PLAN_PHASE_REHEARSE);
    pcere_memory_learn(&run->memory);
    pcere_plan_phase(run->codelet, PLAN_PHASE_LEARN);
    pcere_memory_restore(&run->memory);
    pcere_plan_phase(run->codelet, PLAN_PHASE_RESTORE);
    if (run->samples || !run->codelet->plan->policy.learn)
        pcere_memory_cool(&run->memory);
    pcere_plan_phase(run->codelet, PLAN_PHASE_COOL);
    pcere_plan_progress(run->codelet);
}

/* What a shot left there would decide where the next one goes. */
static void shot_put_back(void *context)
{
    struct run *run = context;
    pcere_memory_learn(&run->memory);
    pcere_memory_restore(&run->memory);
}

/* What shots left in memory decides nothing (the pass says so), so that it need not be put back; but where they step counters. */
static void shots_forget(struct run *run)
{
    if (run->region->sampling & (CODELET_SAMPLE_ONCE | CODELET_SAMPLE_RESTORED)) {
        shot_put_back(run);
    } else {
        pcere_memory_learn_drops(&run->memory);
        pcere_memory_drop(&run->memory);
    }
}

/* The same where runs are shots. */
static void shots_rehearsed(void *context)
{
    struct run *run = context;
    pcere_plan_phase(run->codelet, PLAN_PHASE_REHEARSE);
    if (!pcere_processors_suffice(run->codelet->plan->result.threads + 1))
        pcere_plan_await(run->codelet, PLAN_PHASE_REHEARSE);
    shots_forget(run);
    pcere_plan_phase(run->codelet, PLAN_PHASE_RESTORE);
    pcere_memory_cool(&run->memory);
    run->cooled = true;
    pcere_plan_phase(run->codelet, PLAN_PHASE_COOL);
    pcere_plan_progress(run->codelet);
}

/* False: replay it whole, from memory as it was. */
static bool region_sample(struct run *run)
{
    struct codelet *codelet = run->codelet;
    if (!run->samples)
        return false;
    run->sampling = true;
    if (run->rehearses)
        pcere_ahead_begin(&run->memory);
    bool sampled = pcere_sample_region(codelet, run->region, region_shot, run->rehearses ? shots_rehearsed : NULL, shot_put_back, run);
    run->sampling = false;
    pcere_plan_phase(codelet, PLAN_PHASE_RUN);
    if (!sampled && codelet->plan->result.sample_real_ns) {
        if (run->rehearses)
            pcere_memory_learn(&run->memory);
        pcere_memory_restore(&run->memory);
        run->memory.learned = false;      /* the whole region writes more */
    }
    return sampled;
}

/* The first step finds caches that learning what to lay down went through. */
static bool step_counts(const struct run *run, const struct plan_step *step, size_t index)
{
    return run->timing && step->timed && (index || run->learning == CHAIN_KNOWS)
           && run->codelet->plan->result.steps[index].count < PLAN_STEP_SAMPLES;
}

static void step_run(void *context, size_t index)
{
    struct run *run = context;
    const struct plan_step *step = &PLAN_TABLE(run->codelet, steps, struct plan_step)[index];
    const uint64_t *words = run->step_words + step->word_first;
    struct plan_step_samples *samples = &run->codelet->plan->result.steps[index];
    region_bind(run, step->proc_bind);
    if (step_counts(run, step, index)) {
        pcere_speed_await();
        struct cost cost = call_run(run, run->steps[index], words, step->stack_pointer);
        samples->works_ns[samples->count] = pcere_speed_after();
        samples->samples_ns[samples->count] = cost.wall_ns;
        samples->cpu_ns[samples->count] = cost.cpu_ns;
        samples->waits_ns[samples->count] = cost.waited_ns;
        samples->switches[samples->count++] = cost.switches;
        return;
    }
    pcere_threads_restore(run->threads);
    captured_call(run, run->steps[index], words, step->stack_pointer);
    pcere_plan_progress(run->codelet);
}

/* Memory and caches as the region found them. `walk`: how often that was done. */
static void region_precede(struct run *run, uint32_t walk, bool restore)
{
    run->learning = run->walked || walk >= LEARNING_WALKS ? CHAIN_KNOWS : walk && run->tours ? CHAIN_LEARNS_START : CHAIN_LEARNS;
    if (run->chain)
        pcere_chain_walk(run->chain, run->learning, step_run, run);
    else if (restore)
        pcere_memory_restore(&run->memory);
    if (run->codelet->plan->policy.faulting)
        pcere_frames_use_up(run->codelet->plan->result.dropped_pages * run->codelet->plan->page_bytes);
}

static void region_displace(const struct run *run)
{
    if (run->codelet->plan->policy.displace_kib)
        pcere_caches_displace((uint64_t)run->codelet->plan->policy.displace_kib << 10);
}

/* Number `i`, and memory as the next one is to find it. */
static uint64_t run_untimed(struct run *run, uint32_t i)
{
    if (run->chain)
        region_precede(run, i, false);
    pcere_plan_phase(run->codelet, run->chain ? PLAN_PHASE_PRECEDE : PLAN_PHASE_RESTORE);
    region_displace(run);
    uint64_t time_ns = region_run(run).wall_ns;
    run->codelet->plan->result.warmups = i + 1;
    pcere_plan_phase(run->codelet, PLAN_PHASE_WARM);
    if (!i && run->codelet->plan->policy.learn && !run->chain)
        pcere_memory_learn(&run->memory);
    pcere_plan_phase(run->codelet, PLAN_PHASE_LEARN);
    if (!run->chain)
        pcere_memory_restore(&run->memory);
    pcere_plan_phase(run->codelet, PLAN_PHASE_RESTORE);
    pcere_plan_progress(run->codelet);
    return time_ns;
}

/* Caches that learning went through take the region's data in again only run by run. `last_ns`: of the last untimed run. */
static void region_settle(struct run *run, uint64_t last_ns)
{
    const struct plan_policy *policy = &run->codelet->plan->policy;
    uint32_t first = run->codelet->plan->result.warmups, slow = 0;
    uint64_t spent_ns = 0, least_ns = last_ns;
    for (uint32_t i = first; i < first + PLAN_SETTLES && spent_ns + least_ns < policy->settle_ns && slow < SETTLED_RUNS; i++) {
        uint64_t time_ns = run_untimed(run, i);
        spent_ns += time_ns;
        slow = (double)time_ns < SETTLED_RATIO * (double)least_ns ? 0 : slow + 1;
        least_ns = time_ns < least_ns ? time_ns : least_ns;
    }
}

static void region_warm(struct run *run)
{
    const struct plan_policy *policy = &run->codelet->plan->policy;
    uint64_t last_ns = 0;
    if (!policy->warmups && run->rehearses) {
        region_run(run);
        run->codelet->plan->result.warmups = 1;
        rehearsal_end(run);
    }
    for (uint32_t i = 0; !run->walked && !run->warm && !(run->tours && pcere_chain_is_known(run->chain)) && i < policy->warmups && !(i > 1 && policy->warm_ns && last_ns >= policy->warm_ns); i++)
        last_ns = run_untimed(run, i);
    region_settle(run, last_ns);
}

typedef void mark_function(uint64_t on);

static mark_function *mark_find(void)
{
    void *symbol = dlsym(RTLD_DEFAULT, PLAN_MARK_FUNCTION);
    mark_function *function;
    memcpy(&function, &symbol, sizeof function);
    return function;
}

/* The first timed run, where none came before it: pages that it had to make its own, since it writes there what was there before, are seen in its time, and so is it where it takes much
 * longer than the program. Then it only was a rehearsal. (Not where a profiler was told that it counts.) */
static bool first_run_counts(struct run *run, uint64_t faults, uint64_t wall_ns)
{
    uint64_t most_ns = run->codelet->plan->policy.first_most_ns;
    if (run->populated && run->memory.lazy && most_ns && wall_ns > most_ns)
        return false;
    if (!run->populated || !run->memory.lazy || faults * FAULT_NS < wall_ns / FAULTS_PARTS)
        return true;
    return pcere_memory_made_own(&run->memory) * FAULT_NS < wall_ns / FAULTS_PARTS;       /* not pages that it finds absent, nor memory that it allocates */
}

/* Timed runs, until they are enough. */
static void runs_time(struct run *run)
{
    const struct plan_policy *policy = &run->codelet->plan->policy;
    struct plan_result *result = &run->codelet->plan->result;
    uint32_t most = policy->repeat_most < PLAN_SAMPLES ? policy->repeat_most : PLAN_SAMPLES;
    uint32_t least = policy->repeat_least, undisturbed = 0, fast = 0, dropped = 0;
    run->timing = true;
    uint64_t begin_ns = clock_ns();
    for (uint32_t i = 0, walk = 0; i < most; i++, walk++) {
        if (walk && run->populated && run->memory.lazy && !run->memory.learned)
            pcere_memory_learn(&run->memory);
        pcere_plan_phase(run->codelet, PLAN_PHASE_LEARN);
        region_precede(run, walk + policy->warmups, walk);
        pcere_plan_phase(run->codelet, run->chain ? PLAN_PHASE_PRECEDE : PLAN_PHASE_RESTORE);
        if ((walk || run->populated) && !policy->learn)
            pcere_memory_cool(&run->memory);
        region_displace(run);
        pcere_plan_phase(run->codelet, PLAN_PHASE_COOL);
        pcere_speed_await();
        uint64_t faults = pcere_faults_so_far();
        struct cost cost = region_run(run);
        pcere_plan_phase(run->codelet, PLAN_PHASE_RUN);
        if (!walk && !run->mark && !first_run_counts(run, pcere_faults_so_far() - faults, cost.wall_ns)) {
            rehearsal_end(run);
            run->populated = false;
            result->warmups = 1;
            cost = region_run(run);
            pcere_plan_phase(run->codelet, PLAN_PHASE_RUN);
        }
        result->samples_ns[i] = cost.wall_ns;
        result->cpu_ns[i] = cost.cpu_ns;
        result->switches[i] = cost.switches;
        result->waits_ns[i] = cost.waited_ns;
        result->works_ns[i] = pcere_speed_after();
        result->sample_count = i + 1;
        bool slow = pcere_speed_is_slow(result->works_ns[i]);
        undisturbed += !cost.switches && !slow;
        fast += !slow;
        if (run->tours && !dropped && pcere_walk_first_drop(run->codelet)) {
            dropped = 1;
            i--;
            undisturbed -= undisturbed > 1;
        }
        if (policy->long_ns && cost.wall_ns >= policy->long_ns)
            return;
        if (policy->budget_ns && !pcere_repeats_settle(run->codelet)) {
            most = most > i + 1 ? most : i + 2;
            continue;
        }
        if ((!fast || !pcere_steps_are_fast(run->codelet)) && i + 1 < SLOW_RUNS && cost.wall_ns <= SLOW_BUDGETS * policy->budget_ns && pcere_speed_may_wait()) {
            most = most > i + 1 ? most : i + 2;
            continue;
        }
        uint64_t spent_ns = clock_ns() - begin_ns;
        if (!i && policy->walk_ns && pcere_walk_is_fast(run->codelet))      /* the first one, or the one behind it that takes less */
            least = 1;
        bool enough = undisturbed >= least || (i + 1 >= least && spent_ns >= DISTURBED_RATIO * policy->budget_ns);
        if (enough && policy->budget_ns && spent_ns >= policy->budget_ns)
            return;
    }
}

/* Where the region is to find its own data, runs that still get faster were no more than its warm-up, as long as they took no longer than that may. */
static void region_settled_time(struct run *run)
{
    struct plan_result *result = &run->codelet->plan->result;
    uint64_t took_ns = 0;
    runs_time(run);
    for (uint32_t i = 0; i < result->sample_count; i++)
        took_ns += result->samples_ns[i];
    if (run->mark || run->chain || took_ns > run->codelet->plan->policy.settle_ns || !pcere_repeats_fall(result->samples_ns, result->sample_count))
        return;
    result->warmups += (uint32_t)result->sample_count;
    result->sample_count = 0;
    pcere_memory_restore(&run->memory);
    runs_time(run);
}

static void region_time(struct run *run)
{
    region_settled_time(run);
    if (run->codelet->plan->policy.learn && !run->mark)
        pcere_slow_begin_drop(run->codelet);
}

/* Where one timed walk was enough, it was the one whose first step did not count: the step runs once more, as if another walk began. */
static void first_step_time(struct run *run)
{
    const struct plan_step *steps = PLAN_TABLE(run->codelet, steps, struct plan_step);
    if (!run->tours || !steps[0].timed || run->codelet->plan->result.steps[0].count)
        return;
    run->learning = CHAIN_KNOWS;
    pcere_chain_walk_first(run->chain, step_run, run);
    pcere_plan_phase(run->codelet, PLAN_PHASE_PRECEDE);
}

/* Shots needed a rehearsal, which said nothing: the whole region has one only where that is cheaper than to make all pages the process's own. */
static void whole_prepare(struct run *run)
{
    const struct plan_policy *policy = &run->codelet->plan->policy;
    run->populated = run->rehearses && !policy->warmups && !policy->rehearse;
    run->rehearses &= !run->populated;
    if (run->populated)
        pcere_memory_populate(&run->memory);
    else
        pcere_memory_prepare(&run->memory);
}

static void region_measure(struct run *run)
{
    run->codelet->plan->result.fork_ns = pcere_team_fork_ns();
    if (region_sample(run))
        return;
    if (run->samples) {
        pcere_plan_await(run->codelet, PLAN_PHASE_REHEARSE);
        whole_prepare(run);
    }
    region_warm(run);
    if (run->codelet->plan->policy.watched && !(run->mark = mark_find()))
        pcere_plan_end(run->codelet, PLAN_FAILED, "the library that records it was not loaded");
    region_time(run);
    first_step_time(run);
}

static void region_verify(struct run *run)
{
    run->asked = &run->codelet->plan->result.asked;
    region_run(run);
    pcere_random_compare(&run->memory);
    pcere_threads_compare(run->threads);
    pcere_memory_compare(&run->memory);
    pcere_made_compare(&run->memory);
}

static void region_character(struct run *run)
{
    uint32_t shift = run->codelet->plan->policy.character_shift, team = run->codelet->plan->result.threads;
    pcere_character_begin(shift, team);
    region_warm(run);
    pcere_character_begin(shift, team);
    region_run(run);
    pcere_character_write(run->codelet);
    if (!run->codelet->plan->policy.warmups)
        pcere_memory_learn(&run->memory);         /* which pages were new */
}

/* One run goes through all that caches hold, and shows what it writes: an untimed one, or the first timed one. */
static bool runs_long(const struct run *run)
{
    const struct plan_policy *policy = &run->codelet->plan->policy;
    return policy->task == PLAN_MEASURE && !run->samples && !run->chain && !policy->faulting && policy->learn && policy->warmups <= 1 && policy->repeat_most == 1 && policy->budget_ns
           && run->memory.lazy;
}

/* As the policy has it. */
static void pages_prepare(struct run *run)
{
    const struct plan_policy *policy = &run->codelet->plan->policy;
    run->samples = policy->sample_shots && pcere_sample_may(run->codelet, run->region);
    bool timed_first = policy->task == PLAN_MEASURE && (!policy->warmups || run->samples) && !(run->turned && runs_long(run));
    run->rehearses = run->memory.lazy && timed_first && (policy->rehearse || run->samples);
    run->populated = timed_first && !run->rehearses;
    /* A rehearsal takes few pages and decides nothing by its time: what is left of the process before this one may go meanwhile, on a processor that the team does not have. */
    if (!run->rehearses || !pcere_processors_suffice(run->codelet->plan->result.threads + 1))
        pcere_plan_await(run->codelet, PLAN_PHASE_TEAM);
    if (!run->memory.lazy || run->populated || (run->tours && run->codelet->plan->moves_known))
        pcere_memory_populate(&run->memory);
    else if (policy->task == PLAN_MEASURE && !run->samples)
        pcere_memory_prepare(&run->memory);
}

/* Teams around the region have the sizes that they had, and sampled tasks leave their tables behind. */
static bool may_stay(const struct run *run)
{
    return run->memory.lazy && !run->codelet->plan->level_count && !(run->region->sampling & CODELET_SAMPLE_TASKS);
}

/* With a team of another size, from memory as it was; what shots left there is only made absent where it was, since it decides nothing. */
static void turn_begin(struct run *run)
{
    struct codelet *codelet = run->codelet;
    pcere_settings_threads(codelet->plan->policy.threads);
    atomic_store(&run->begun, 0);
    pcere_speed_look(codelet);
    team_begin(run);
    pcere_plan_phase(codelet, PLAN_PHASE_TEAM);
    pcere_speed_begin(codelet);
    pcere_threads_grow(run->threads, codelet->plan->result.threads);
    pcere_threads_point(run->threads);
    run->turned = true;
    pages_prepare(run);
    run->timing = false;
    run->walked = run->chain && run->tours && !run->data_decides;
    pcere_plan_phase(codelet, PLAN_PHASE_PREPARE);
    if (run->samples) {
        shots_forget(run);
        pcere_plan_phase(codelet, PLAN_PHASE_RESTORE);
        if (run->cooled)
            pcere_memory_cool(&run->memory);
        pcere_plan_phase(codelet, PLAN_PHASE_COOL);
    } else if (!run->walked) {
        pcere_memory_learn(&run->memory);
        pcere_plan_phase(codelet, PLAN_PHASE_LEARN);
        pcere_memory_restore(&run->memory);
        pcere_plan_phase(codelet, PLAN_PHASE_RESTORE);
    }
    run->warm = runs_long(run);
    codelet->plan->result.warmups = run->warm;
    run->memory.learned = run->warm;
    pcere_plan_progress(codelet);
}

/* On the thread that stands for the captured one. */
static void run_all(void *context)
{
    struct run *run = context;
    struct codelet *codelet = run->codelet;
    struct replay_plan *plan = codelet->plan;
    pcere_settings_team(codelet);
    /* Threads that have a team look for work without pause: with fewer processors than these, the process before this one would not get any to give its memory back. */
    if (plan->policy.starts || plan->policy.looks || !pcere_processors_suffice(plan->policy.threads))
        pcere_plan_await(codelet, PLAN_PHASE_MAP);
    pcere_speed_look(codelet);
    team_begin(run);
    if (plan->policy.helpers)
        pcere_team_help();
    pcere_plan_phase(codelet, PLAN_PHASE_TEAM);
    pcere_speed_begin(codelet);
    atomic_store(&plan->result.state, PLAN_RUNNING);
    pcere_keys_release(codelet);
    pages_prepare(run);
    pcere_streams_adopt(&run->memory);
    pcere_overlay_apply(&run->memory);
    pcere_images_unwind(codelet, &run->memory);
    run->threads = pcere_threads_new(&run->memory, plan->result.threads);
    pcere_threads_point(run->threads);
    pcere_memory_protect(&run->memory);
    run->chain = pcere_chain_new(&run->memory, !run->data_decides);
    run->words = pcere_threads_words(run->threads, PLAN_TABLE(codelet, words, uint64_t), plan->words.count);
    run->step_words = pcere_threads_words(run->threads, PLAN_TABLE(codelet, step_words, uint64_t), plan->step_words.count);
    pcere_settings_apply(&run->memory);
    pcere_files_open(codelet);
    pcere_plan_progress(codelet);
    pcere_plan_phase(codelet, PLAN_PHASE_PREPARE);
    if (plan->policy.task == PLAN_VERIFY)
        region_verify(run);
    else if (plan->policy.task == PLAN_CHARACTER)
        region_character(run);
    else
        region_measure(run);
    if (plan->policy.rates)
        pcere_rates_measure(&run->memory, region_shot, run);
    while (may_stay(run) && pcere_plan_stay(codelet)) {
        turn_begin(run);
        region_measure(run);
        if (plan->policy.rates)
            pcere_rates_measure(&run->memory, region_shot, run);
    }
    pcere_plan_end(codelet, PLAN_DONE, "%s", "");
}

static struct codelet *running;

_Noreturn void pcere_region_refuse(const char *why)
{
    pcere_plan_end(running, PLAN_REFUSED, "%s", why);
}

_Noreturn void pcere_codelet_run(struct codelet *codelet)
{
    running = codelet;
    struct replay_plan *plan = codelet->plan;
    struct run run = {.codelet = codelet};
    atomic_store(&plan->result.state, PLAN_STARTED);
    pcere_crash_watch(codelet);
    region_find(&run);
    pcere_memory_map(codelet, &run.memory);
    pcere_plan_phase(codelet, PLAN_PHASE_MAP);
    if (!pcere_memory_is_mapped(&run.memory, plan->stack_pointer - 1))
        pcere_plan_end(codelet, PLAN_FAILED, "the captured stack is not among the captured memory");
    pcere_heap_protect(run.memory.mappings, plan->mappings.count, plan->foreign_allocator, &plan->result.heap_releases);
    pcere_grown_begin(&run.memory);
    pcere_levels_enter(codelet, run_all, &run);
    pcere_plan_end(codelet, PLAN_FAILED, "no thread came to the region");
}
