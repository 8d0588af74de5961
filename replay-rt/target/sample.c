/* replay-rt/target/sample.c - shots of a region: what the hooks saw becomes the region's time, or the reason why it must be replayed whole. */
#include "replay-rt/target/sample.h"

#include "include/pcere/rt_abi.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define TINY_NS 20000.0                   /* instances of a loop below this are run whole: a fixed cost would be scaled */
#define CHUNK_LONG_NS 1000000.0           /* chunks of a dynamic schedule from which on one is its own warm-up: it stands alone, behind no untimed one */
#define UNTIMED_NS 5000.0                 /* else chunks of about this long come before each block, untimed, ... */
#define TIMED_NS 50000.0                  /* ... and so long are those of a block that count: what they fetch for their neighbours is then as in the loop */
#define STEPS_LEAST 16u                   /* instances of a loop in one run of the region: its time steps */
#define PAGE_NS 3000u                     /* what a page costs that a shot finds missing */
#define PAGES_PARTS 100u
#define MADE_MOST 1.8                     /* times the pages that a region makes, and so many besides, are what shots make that stand for it: */
#define MADE_MOST_MORE 256.0
#define MADE_COST_MOST 0.1                /* ... what more of them cost, they do in no region, where this is a share of its time that matters */
#define MADE_TRIED 32u                    /* pages that tell what one costs */
#define REHEARSED_PARTS 2.0               /* of what a shot is to save: while it finds no pages it may take longer */
#define INTERVAL_GOOD 0.01                /* relative half width: enough shots */
#define TASK_SHOTS_LEAST 3u               /* with fewer nobody knows how much subtrees differ */
#define TREND_SHOTS_FEW 4u
#define INTERVAL_TASKS_MOST 0.15          /* ... of shots of tasks: a wider one means that subtrees differ so much that none may have met those that decide */

struct sample_shot pcere_sample_shot;
__thread struct sample_thread *pcere_sample_own;

int omp_get_thread_num(void);
int omp_get_num_threads(void);

static uint64_t raw_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- while a shot runs: called by the hooks ----------------------------------------------------------------------------------- */

uint32_t pcere_sample_site(uint64_t address)
{
    uint32_t at = (uint32_t)(pcere_sample_mix(address) % SAMPLE_SITES_MOST);
    for (uint32_t tried = 0; tried < SAMPLE_SITES_MOST; tried++, at = (at + 1) % SAMPLE_SITES_MOST) {
        uint64_t there = __atomic_load_n(&pcere_sample_shot.sites[at], __ATOMIC_ACQUIRE);
        if (there == address)
            return at;
        if (!there && __atomic_compare_exchange_n(&pcere_sample_shot.sites[at], &there, address, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            return at;
        if (there == address)
            return at;
    }
    pcere_sample_shot.overflow = true;
    return 0;
}

enum sample_instance pcere_sample_instance(const struct sample_thread *thread, uint32_t site)
{
    const struct sample_shot *shot = &pcere_sample_shot;
    if (!shot->steps || !shot->stepped[site])
        return SAMPLE_INSTANCE_ITERATIONS;
    uint64_t step = (uint64_t)thread->site_instances[site] * shot->steps / shot->stepped[site];
    for (uint32_t i = 0; i < shot->step_count; i++) {
        const struct sample_block *block = &shot->step_blocks[i];
        if (step >= block->first && step < block->first + block->count)
            return SAMPLE_INSTANCE_TIMED;
        if (step + 1 == block->first)
            return SAMPLE_INSTANCE_WARM;
    }
    return SAMPLE_INSTANCE_SKIPPED;
}

void pcere_sample_instance_end(struct sample_thread *thread, uint32_t site, enum sample_instance instance, uint64_t elapsed_ns)
{
    if (instance == SAMPLE_INSTANCE_TIMED) {
        thread->phases[thread->phase].work_ns += (double)elapsed_ns;
        thread->site_ns[site] += (double)elapsed_ns;
        thread->site_timed[site]++;
    } else if (thread->left_count < SAMPLE_LEFT_MOST) {
        thread->left[thread->left_count++] = (struct sample_left){thread->phase, site};
    } else {
        pcere_sample_shot.overflow = true;
    }
}

void pcere_sample_other(struct sample_thread *thread)
{
    uint64_t now_ns = pcere_sample_clock_ns(&thread->clock);
    thread->phases[thread->phase].work_ns += (double)(now_ns - thread->mark_ns);
    thread->mark_ns = now_ns;
}

void pcere_sample_wait_begin(struct sample_thread *thread)
{
    pcere_sample_other(thread);
}

void pcere_sample_wait_end(struct sample_thread *thread)
{
    uint64_t now_ns = pcere_sample_clock_ns(&thread->clock);
    thread->phases[thread->phase].wait_ns = now_ns - thread->mark_ns;
    thread->mark_ns = now_ns;
    if (thread->phase + 1 < SAMPLE_PHASES_MOST)
        thread->phase++;
    else
        pcere_sample_shot.overflow = true;
}

static void thread_enter(uint32_t number)
{
    struct sample_shot *shot = &pcere_sample_shot;
    if (number >= shot->team)
        return;
    struct sample_thread *thread = &shot->threads[number];
    pcere_sample_clock_begin(&thread->clock);
    thread->mark_ns = shot->start_ns;
    pcere_sample_own = thread;
}

static void thread_leave(void)
{
    struct sample_thread *thread = pcere_sample_own;
    if (!thread)
        return;
    if (pcere_sample_shot.tasks)
        pcere_sample_tasks_finish();
    pcere_sample_other(thread);
    pcere_sample_clock_end(&thread->clock);
    thread->leave_ns = raw_ns();
    pcere_sample_own = NULL;
}

/* Called by the assembly around the region's function in every thread of its team. The return address is kept where the thread finds it. */
static __thread void *return_address;
void pcere_sample_enter(void *address);
void *pcere_sample_leave(void);

void pcere_sample_enter(void *address)
{
    return_address = address;
    thread_enter((uint32_t)omp_get_thread_num());
}

void *pcere_sample_leave(void)
{
    thread_leave();
    return return_address;
}

static bool arm_serial;

void pcere_sample_arm(void)
{
    pcere_sample_shot.start_ns = raw_ns();
    pcere_sample_hooks_arm(arm_serial);
    if (arm_serial)
        thread_enter(0);
}

/* ---- after a shot ---------------------------------------------------------------------------------------------------------------- */

struct outcome {
    double time_ns;                   /* extrapolated */
    uint64_t real_ns;                 /* of the shot itself */
    uint64_t iterations, run, untimed;
    char refusal[160];                /* "": none */
};

static void outcome_take(struct sample_shot *shot, uint64_t end_ns, struct outcome *ret_outcome)
{
    uint64_t stolen_ns = shot->threads[0].clock.stolen_ns, real_ns = end_ns - shot->start_ns;
    struct outcome outcome = {.real_ns = real_ns > stolen_ns ? real_ns - stolen_ns : 1};
    uint64_t last_ns = 0;
    for (uint32_t t = 0; t < shot->team; t++) {
        if (shot->threads[t].leave_ns > last_ns)
            last_ns = shot->threads[t].leave_ns;
        if (!shot->threads[t].leave_ns || shot->threads[t].loop.iterations || shot->threads[t].dispatch.active)
            snprintf(outcome.refusal, sizeof outcome.refusal, "a thread leaves it in the middle of a loop");
    }
    if (shot->nested_region)
        snprintf(outcome.refusal, sizeof outcome.refusal, "it has a parallel region inside");
    else if (shot->overflow)
        snprintf(outcome.refusal, sizeof outcome.refusal, "it has more than %d barriers, or too many loops", SAMPLE_PHASES_MOST);
    else if (shot->slivers)
        snprintf(outcome.refusal, sizeof outcome.refusal, "its chunks are shorter than the way from one to the next");
    else if (shot->twice)
        snprintf(outcome.refusal, sizeof outcome.refusal, "its iterations step counters that are indices, and it has too few for no two shots to run the same");
    else if (!pcere_sample_phases_agree(shot))
        snprintf(outcome.refusal, sizeof outcome.refusal, "its threads meet different barriers");
    else if (!pcere_sample_steps_spread(shot))
        snprintf(outcome.refusal, sizeof outcome.refusal, "its steps are of different kinds");
    const char *refusal = *outcome.refusal || !shot->tasks ? NULL : pcere_sample_tasks_take(shot, &outcome.time_ns, &outcome.iterations, &outcome.run);
    if (refusal)
        snprintf(outcome.refusal, sizeof outcome.refusal, "%s", refusal);
    else if (!*outcome.refusal && shot->tasks)
        outcome.time_ns += (double)(end_ns - last_ns);
    else if (!*outcome.refusal && !pcere_sample_shared_spread(shot))
        snprintf(outcome.refusal, sizeof outcome.refusal, "no thread has two chunks that follow each other");
    else if (!*outcome.refusal) {
        outcome.time_ns = pcere_sample_phases_sum(shot) + (double)(end_ns - last_ns);
        for (uint32_t t = 0; t < shot->team; t++) {
            outcome.iterations += shot->threads[t].iterations;
            outcome.run += shot->threads[t].run;
            outcome.untimed += shot->threads[t].untimed;
        }
    }
    *ret_outcome = outcome;
}

/* Loops whose instances are short are run whole from now on. True: there are such. */
static bool tiny_find(struct sample_shot *shot)
{
    bool found = false;
    for (uint32_t s = 0; s < SAMPLE_SITES_MOST; s++) {
        double longest_ns = 0;
        for (uint32_t t = 0; t < shot->team; t++) {
            const struct sample_thread *thread = &shot->threads[t];
            double each_ns = thread->site_instances[s] ? thread->site_ns[s] / thread->site_instances[s] : 0;
            longest_ns = each_ns > longest_ns ? each_ns : longest_ns;
        }
        shot->tiny[s] = shot->sites[s] && longest_ns > 0 && longest_ns < TINY_NS;
        found |= shot->tiny[s];
    }
    return found;
}

/* Loops that the region repeats: their instances are sampled from now on. True: there are such. */
static bool steps_find(struct sample_shot *shot)
{
    for (uint32_t s = 0; s < SAMPLE_SITES_MOST; s++) {
        uint32_t instances = shot->sites[s] && !shot->tiny[s] ? shot->threads[0].site_instances[s] : 0;
        shot->stepped[s] = instances >= STEPS_LEAST ? instances : 0;
        if (shot->stepped[s] && (!shot->steps || instances < shot->steps))
            shot->steps = instances;
    }
    return shot->steps > 0;
}

/* Chunks of dynamically scheduled loops that are so short that it matters what the one before left in the caches are run in blocks from now on. A shot that made more of the region's time
 * than the program took, `region_ns` unless that is 0, had pages to make its own meanwhile. True: there are such. */
static bool bundles_find(struct sample_shot *shot, double time_ns, uint64_t region_ns)
{
    bool found = false;
    double share = region_ns && (double)region_ns < time_ns ? (double)region_ns / time_ns : 1;
    for (uint32_t s = 0; s < SAMPLE_SITES_MOST; s++) {
        double chunks = 0, chunks_ns = 0;
        for (uint32_t t = 0; t < shot->team; t++) {
            chunks += shot->threads[t].site_chunks[s];
            chunks_ns += (double)shot->threads[t].site_chunks_ns[s];
        }
        double each_ns = chunks > 0 ? chunks_ns / chunks * share : 0;
        if (!(each_ns > 0) || each_ns >= CHUNK_LONG_NS || shot->tiny[s] || shot->stepped[s])
            continue;
        shot->bundles[s] = (struct sample_bundle){(uint32_t)(UNTIMED_NS / each_ns) + 1, (uint32_t)(TIMED_NS / each_ns) + 1};
        found = true;
    }
    return found;
}

/* Only what a shot used of the long lists: to clear them whole takes as long as a short shot. */
static void thread_reset(struct sample_thread *thread)
{
    struct sample_phase *phases = thread->phases;
    struct sample_shared *shared = thread->shared;
    struct sample_left *left = thread->left;
    memset(left, 0, thread->left_count * sizeof *left);
    memset(phases, 0, (thread->phase + 1u) * sizeof *phases);
    memset(shared, 0, thread->shared_count * sizeof *shared);
    memset(thread, 0, sizeof *thread);
    thread->phases = phases;
    thread->shared = shared;
    thread->left = left;
}

/* Run the region once under the hooks. When it ended. */
static uint64_t region_watch(struct codelet *codelet, sample_run_fn *run, void *context)
{
    struct sample_shot *shot = &pcere_sample_shot;
    shot->nested_region = shot->overflow = shot->slivers = shot->twice = false;
    for (uint32_t t = 0; t < shot->team; t++)
        thread_reset(&shot->threads[t]);
    run(context);
    if (arm_serial)
        thread_leave();
    uint64_t end_ns = raw_ns();
    pcere_sample_hooks_disarm();
    pcere_plan_progress(codelet);
    return end_ns;
}

static void shot_run(struct codelet *codelet, uint32_t number, sample_run_fn *run, void *context, struct outcome *ret_outcome)
{
    struct sample_shot *shot = &pcere_sample_shot;
    shot->number = number;
    if (shot->steps) {
        shot->step_count = pcere_sample_place(&shot->shape, number, shot->steps, shot->steps, shot->step_blocks);
        if (!shot->step_count)        /* all of them */
            shot->step_blocks[shot->step_count++] = (struct sample_block){0, shot->steps};
    }
    if (shot->tasks)
        pcere_sample_tasks_shot(&shot->shape, number);
    outcome_take(shot, region_watch(codelet, run, context), ret_outcome);
}

struct census { struct codelet *codelet; sample_run_fn *run; void *context; };

static void census_run(void *context)
{
    const struct census *census = context;
    uint64_t begin_ns = raw_ns();
    region_watch(census->codelet, census->run, census->context);
    census->codelet->plan->result.sample_real_ns += raw_ns() - begin_ns;
}

/* Lists of a thread, one behind the other. */
enum { PHASES_BYTES = SAMPLE_PHASES_MOST * sizeof(struct sample_phase), SHARED_BYTES = SAMPLE_DISPATCHES_MOST * sizeof(struct sample_shared),
       LISTS_BYTES = PHASES_BYTES + SHARED_BYTES + SAMPLE_LEFT_MOST * sizeof(struct sample_left) };

static void threads_free(struct sample_shot *shot)
{
    for (uint32_t t = 0; shot->threads && t < shot->team; t++)
        if (shot->threads[t].phases)
            munmap(shot->threads[t].phases, LISTS_BYTES);
    free(shot->threads);
}

/* Most of them stay empty, and have no pages. Those that each shot needs are no shot's faults. */
static bool lists_map(struct sample_thread *thread)
{
    char *lists = mmap(NULL, LISTS_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (lists == MAP_FAILED)
        return false;
    thread->phases = (struct sample_phase *)(void *)lists;
    thread->shared = (struct sample_shared *)(void *)(lists + PHASES_BYTES);
    thread->left = (struct sample_left *)(void *)(lists + PHASES_BYTES + SHARED_BYTES);
    *(volatile uint64_t *)&thread->phases->wait_ns = 0;
    *(volatile uint32_t *)&thread->shared->phase = 0;
    *(volatile uint32_t *)&thread->left->phase = 0;
    return true;
}

static bool shot_prepare(struct codelet *codelet, const struct codelet_region *region)
{
    const struct replay_plan *plan = codelet->plan;
    struct sample_shot *shot = &pcere_sample_shot;
    threads_free(shot);               /* of another number of threads, in the same process */
    *shot = (struct sample_shot){0};
    shot->team = plan->path == PCERE_PATH_SERIALIZED ? 1 : plan->result.threads;
    shot->shape = (struct sample_shape){.shots = plan->policy.sample_shots, .blocks = plan->policy.sample_blocks,
                                        .fraction = plan->policy.sample_fraction};
    shot->parts = plan->policy.sample_parts;
    shot->origin = (uint64_t)(region->fork ? region->fork : region->serial);
    shot->tasks = region->sampling & CODELET_SAMPLE_TASKS;
    shot->one_block = region->sampling & CODELET_SAMPLE_ONE_BLOCK;
    shot->once = region->sampling & CODELET_SAMPLE_ONCE;
    shot->threads = aligned_alloc(128, shot->team * sizeof *shot->threads);
    if (!shot->threads)
        return false;
    memset(shot->threads, 0, shot->team * sizeof *shot->threads);
    bool complete = true;
    for (uint32_t t = 0; complete && t < shot->team; t++)
        complete = lists_map(&shot->threads[t]);
    return complete;
}

static uint32_t processors = UINT32_MAX;

/* Before the OpenMP runtime binds its threads. */
__attribute__((constructor)) static void processors_count(void)
{
    cpu_set_t set;
    if (!sched_getaffinity(0, sizeof set, &set))
        processors = (uint32_t)CPU_COUNT(&set);
}

static const char *refusal_known(const struct codelet *codelet, const struct codelet_region *region)
{
    const struct plan_policy *policy = &codelet->plan->policy;
    if (*region->whole)
        return region->whole;
    if (codelet->plan->does_io)
        return "it reads or writes files";
    if (codelet->plan->level_count)
        return "it lies inside another parallel region";
    if (!pcere_sample_entries_ready())
        return "sampling is not written for this processor";
    if (!pcere_sample_hooks_ready())
        return "the OpenMP runtime lacks calls that are needed";
    if (codelet->plan->result.threads > processors)
        return "it has more threads than there are processors";
    if (!(policy->sample_fraction > 0 && policy->sample_fraction <= 1) || policy->sample_shots < 4 || policy->sample_shots > SAMPLE_SHOTS_MOST
        || policy->sample_shots_usual < 2 || policy->sample_shots_usual > policy->sample_shots
        || policy->sample_blocks < 1 || policy->sample_blocks > SAMPLE_BLOCKS_MOST / SAMPLE_PARTS_MOST)
        return "the plan's sampling makes no sense";
    return NULL;
}

static bool refuse(struct codelet *codelet, const char *reason)
{
    struct plan_result *result = &codelet->plan->result;
    snprintf(result->refusal, sizeof result->refusal, "%s", reason);
    pcere_sample_tasks_end();
    atomic_store(&result->sampling, 0);
    result->sample_count = 0;
    return false;
}

/* Numbers of shots: the first, and behind the last. enough: so many count at most, unless later ones are faster. `all`: none counts before all were rehearsed. `forget`: puts memory back; NULL: it cannot be.
 * `put_back`: behind each shot; NULL: no need. */
struct series { uint32_t first, end, samples_most; uint64_t enough; bool rehearsal, all; sample_run_fn *forget, *put_back; double made_pages; };

/* Of this process, with other numbers of threads as well: which shots ran, and how many faults each still had when it was timed, of pages that are absent each time. */
static struct { uint32_t end; uint64_t faults[SAMPLE_SHOTS_MOST]; } earlier;

/* What the pages cost that a shot found missing is no longer seen beside the shot itself. */
static bool pages_are_few(uint64_t faults, uint64_t real_ns)
{
    return faults * PAGE_NS < real_ns / PAGES_PARTS;
}

/* From this shot on they count: no further than others ran before. */
static void series_count(struct series *series, uint32_t number)
{
    series->rehearsal = false;
    if (number < earlier.end && earlier.end < series->end)
        series->end = earlier.end;
}

/* Shots one after the other, until they agree. False: refused. */
static bool series_run(struct codelet *codelet, struct series *series, sample_run_fn *run, void *context)
{
    const struct plan_policy *policy = &codelet->plan->policy;
    struct plan_result *result = &codelet->plan->result;
    result->sample_count = result->sample_run = 0;
    series->made_pages = 0;
    for (uint32_t number = series->first; number < series->end; number++) {
        struct outcome outcome;
        if (!series->rehearsal) {
            pcere_plan_await(codelet, PLAN_PHASE_REHEARSE);
            pcere_speed_await();
        }
        uint64_t faults = pcere_faults_so_far();
        shot_run(codelet, number, run, context, &outcome);
        faults = pcere_faults_so_far() - faults;
        uint32_t work_ns = pcere_speed_after();
        if (series->put_back)
            series->put_back(context);
        result->sample_real_ns += outcome.real_ns;
        if (*outcome.refusal)
            return refuse(codelet, outcome.refusal);
        bool tiny = !number && tiny_find(&pcere_sample_shot), steps = !number && steps_find(&pcere_sample_shot);
        bool bundles = !number && bundles_find(&pcere_sample_shot, outcome.time_ns, policy->sample_region_ns);
        if (tiny || steps || bundles) {
            series->first = 1;        /* it sampled loops in a way that does not suit them */
            if (pcere_sample_shot.once && !series->forget)
                return refuse(codelet, "its iterations step counters that are indices, and its memory cannot be put back between shots");
            if (pcere_sample_shot.once)
                series->forget(context);
            continue;
        }
        double gain = series->rehearsal ? (double)policy->sample_gain / REHEARSED_PARTS : policy->sample_gain;
        if (!result->sample_count && policy->sample_gain && outcome.time_ns < gain * (double)outcome.real_ns) {
            char reason[160];
            snprintf(reason, sizeof reason, "a shot would save too little: it takes %.0f %% of the region's time (loops under %.0f us, few iterations, or work outside loops)",
                     100 * (double)outcome.real_ns / outcome.time_ns, TINY_NS / 1e3);
            return refuse(codelet, reason);
        }
        if (!series->rehearsal && pcere_speed_is_slow(work_ns) && pcere_speed_may_wait()
            && series->end - number > policy->sample_shots_least)
            continue;                 /* the next one takes its place */
        result->works_ns[result->sample_count] = work_ns;
        result->samples_ns[result->sample_count++] = (uint64_t)(outcome.time_ns + 0.5);
        if (outcome.run >= outcome.iterations)
            return refuse(codelet, "it has no loop that is long enough");
        result->sample_iterations = outcome.iterations;
        result->sample_run += outcome.run;
        uint64_t absent = number < earlier.end ? earlier.faults[number] : 0;
        if (series->rehearsal && !series->all && pages_are_few(faults > absent ? faults - absent : 0, outcome.real_ns)) {
            series_count(series, number);
            pcere_sample_drop(result, result->sample_count - 1);
            result->sample_run = outcome.run;
        }
        if (!series->rehearsal) {
            earlier.faults[number] = faults;
            series->made_pages += (double)faults * (double)outcome.iterations / (double)(outcome.run + outcome.untimed);
        }
        earlier.end = number < earlier.end ? earlier.end : number + 1;
        if (series->rehearsal && result->sample_count == series->samples_most)
            series->end = number + 1;
        if (!series->rehearsal && result->sample_count >= policy->sample_shots_least && !pcere_sample_trend_found(result)
            && (result->sample_count >= series->enough || pcere_sample_half_width(result->samples_ns, result->sample_count) <= INTERVAL_GOOD))
            break;
        if (!series->rehearsal && result->sample_count == policy->sample_shots_usual && number + 1 < series->end && pcere_sample_trend_found(result))
            pcere_sample_drop(result, result->sample_count / 2);
    }
    return true;
}

/* What it takes to make a page. */
static double making_ns(void)
{
    size_t bytes = MADE_TRIED * (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        return 0;
    uint64_t begin_ns = raw_ns();
    for (size_t at = 0; at < bytes; at += bytes / MADE_TRIED)
        ((volatile char *)pages)[at] = 1;
    uint64_t took_ns = raw_ns() - begin_ns;
    munmap(pages, bytes);
    return (double)took_ns / MADE_TRIED;
}

/* Do shots, each of which has a part of each loop, make pages that the region makes once for several loops? What they cost would be scaled like work. */
static bool makes_too_many(const struct codelet *codelet, const struct series *series)
{
    const struct plan_result *result = &codelet->plan->result;
    uint64_t made = codelet->plan->policy.sample_made_pages;
    double counted_ns = 0, pages = series->made_pages / (double)result->sample_count;
    for (uint32_t i = 0; i < result->sample_count; i++)
        counted_ns += (double)result->samples_ns[i];
    return made != UINT64_MAX && pages > MADE_MOST * (double)made + MADE_MOST_MORE &&
           (pages - (double)made) * making_ns() > MADE_COST_MOST * counted_ns / (double)result->sample_count;
}

bool pcere_sample_may(struct codelet *codelet, const struct codelet_region *region)
{
    const char *known = refusal_known(codelet, region);
    return !known || refuse(codelet, known);
}

/* Rehearsed, and then timed. False: refused. */
static bool series_measure(struct codelet *codelet, struct series *series, sample_run_fn *run, sample_run_fn *rehearsed, void *context)
{
    series->rehearsal = rehearsed != NULL;
    if (!series_run(codelet, series, run, context))
        return false;
    if (!series->rehearsal)
        return true;
    rehearsed(context);
    series->rehearsal = false;
    return series_run(codelet, series, run, context);
}

/* A third shot joins two that differ. */
static bool pair_join(struct codelet *codelet, struct series *series, sample_run_fn *run, sample_run_fn *rehearsed, void *context)
{
    struct plan_result *result = &codelet->plan->result;
    uint64_t samples_ns[2], iterations_run = result->sample_run;
    uint32_t works_ns[2];
    double made_pages = series->made_pages;
    memcpy(samples_ns, result->samples_ns, sizeof samples_ns);
    memcpy(works_ns, result->works_ns, sizeof works_ns);
    series->first = series->end;
    series->end++;
    series->all = true;
    if (!series_measure(codelet, series, run, rehearsed, context))
        return false;
    if (result->sample_count != 1)
        return refuse(codelet, "its shots differ, and there was no other one");
    result->samples_ns[2] = result->samples_ns[0];
    result->works_ns[2] = result->works_ns[0];
    memcpy(result->samples_ns, samples_ns, sizeof samples_ns);
    memcpy(result->works_ns, works_ns, sizeof works_ns);
    result->sample_count = 3;
    result->sample_run += iterations_run;
    series->made_pages += made_pages;
    return true;
}

/* Of four shots in all, one in 24 fall by chance. */
static bool trend_decides(const struct plan_result *result)
{
    return result->sample_count > TREND_SHOTS_FEW && pcere_sample_trend_found(result);
}

bool pcere_sample_region(struct codelet *codelet, const struct codelet_region *region, sample_run_fn *run, sample_run_fn *rehearsed,
                         sample_run_fn *put_back, void *context)
{
    const struct plan_policy *policy = &codelet->plan->policy;
    struct plan_result *result = &codelet->plan->result;
    if (!shot_prepare(codelet, region))
        return refuse(codelet, "there is no memory for it");
    arm_serial = codelet->plan->path == PCERE_PATH_SERIALIZED;
    atomic_store(&result->sampling, 1);
    struct census census = {codelet, run, context};
    const char *uncounted = pcere_sample_shot.tasks ? pcere_sample_tasks_begin(census_run, &census, &result->sample_real_ns, policy->sample_census_ns) : NULL;
    if (uncounted)
        return refuse(codelet, uncounted);
    uint32_t usual = policy->sample_shots_usual;         /* more only where they do not agree */
    if (pcere_sample_shot.tasks && usual < TASK_SHOTS_LEAST)
        usual = TASK_SHOTS_LEAST;
    struct series series = {.end = policy->sample_shots, .samples_most = usual, .enough = usual, .forget = rehearsed,
                            .put_back = region->sampling & CODELET_SAMPLE_RESTORED ? put_back : NULL};
    for (bool settled = false; !settled;) {
        if (!series_measure(codelet, &series, run, rehearsed, context))
            return false;
        settled = series.end == policy->sample_shots || !trend_decides(result);
        if (!settled) {
            rehearsed(context);
            series.end = series.samples_most = policy->sample_shots;
            series.all = true;
        }
    }
    if (rehearsed && series.end < policy->sample_shots && pcere_sample_pair_differs(result) && !pair_join(codelet, &series, run, rehearsed, context))
        return false;
    if (trend_decides(result))
        return refuse(codelet, "each shot is faster than the one before: its data are warm in the program and cold in a sample");
    if (rehearsed && !pcere_sample_shot.tasks && makes_too_many(codelet, &series))
        return refuse(codelet, "its shots make pages of which it makes each once, for several of its loops");
    pcere_sample_outlier_drop(result, policy->sample_shots_least);
    if (pcere_sample_shot.tasks && pcere_sample_half_width(result->samples_ns, result->sample_count) > INTERVAL_TASKS_MOST)
        return refuse(codelet, "its subtrees of tasks differ too much");
    pcere_sample_tasks_end();
    return result->sample_run > 0 || refuse(codelet, "it has no loop that is long enough");
}
