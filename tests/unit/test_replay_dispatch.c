/* tests/unit/test_replay_dispatch.c - loops that ask for chunks, of which blocks are chosen while they run: with a model of the OpenMP runtime, and with clocks that stand but for what chunks and asking for
 * them take, so that times come out exactly. */
#include "replay-rt/target/sample_dispatch.c"
#include "replay-rt/target/sample_place.c"
#include "unit.h"

#include <stdlib.h>

enum { TEAM_MOST = 8, COUNT = 24000, SHOTS = 16, ASK_NS = 40, ITERATION_NS = 500, COLD_NS = 3000, SITE = 4711 };

/* ---- what the hooks have of others ------------------------------------------------------------------------------------------------ */

struct sample_shot pcere_sample_shot;
__thread struct sample_thread *pcere_sample_own;
struct pcere_sample_real pcere_sample_real;
unsigned char pcere_sample_active;

static uint64_t now_ns[TEAM_MOST];
static uint32_t team, number;         /* number: of the thread that runs */
static int runtime_chunk;

uint32_t pcere_sample_site(uint64_t address) { return (uint32_t)(address % SAMPLE_SITES_MOST); }
enum sample_instance pcere_sample_instance(const struct sample_thread *thread, uint32_t site)
{
    (void)thread;
    (void)site;
    return SAMPLE_INSTANCE_ITERATIONS;
}
void pcere_sample_instance_end(struct sample_thread *thread, uint32_t site, enum sample_instance instance, uint64_t elapsed_ns)
{
    (void)thread;
    (void)site;
    (void)instance;
    (void)elapsed_ns;
}
void pcere_sample_other(struct sample_thread *thread) { thread->mark_ns = now_ns[number]; }
uint64_t pcere_sample_clock_ns(struct sample_clock *clock)
{
    (void)clock;
    return now_ns[number];
}
void pcere_sample_find(void *slot, const char *name)
{
    (void)slot;
    (void)name;
}
void omp_get_schedule(int *kind, int *chunk)
{
    *kind = 1;
    *chunk = runtime_chunk;
}
int omp_get_num_threads(void) { return (int)team; }
int omp_get_thread_num(void) { return (int)number; }

/* ---- the runtime ---------------------------------------------------------------------------------------------------------------------- */

/* A team of one gets all numbers at once; else they are handed out one by one: each thread those of its part, then others' (nonmonotonic), or to whoever asks. */
static struct { int32_t next[TEAM_MOST], end[TEAM_MOST]; bool parts; } handing;

static void runtime_dispatch_init(const struct location *location, int32_t thread, int32_t schedule, uint64_t low, uint64_t high, uint64_t increment, uint64_t chunk)
{
    (void)location;
    CU_ASSERT_FATAL(increment == 1 && chunk == (low > high ? 0 : 1));
    handing.parts = ((uint32_t)schedule & SAMPLE_NONMONOTONIC) != 0;
    uint64_t numbers = low > high ? 0 : high + 1;
    for (uint32_t t = 0; t < team && !thread; t++) {
        handing.next[t] = (int32_t)(handing.parts ? numbers * t / team : 0);
        handing.end[t] = (int32_t)(handing.parts ? numbers * (t + 1) / team : t ? 0 : numbers);
    }
}

static int runtime_dispatch_next(const struct location *location, int32_t thread, int32_t *last, void *lower, void *upper, void *stride)
{
    (void)location;
    (void)last;
    (void)stride;
    uint32_t from = handing.parts ? (uint32_t)thread : 0;
    now_ns[number] += ASK_NS;
    for (uint32_t t = 0; t < team; t++)
        if (handing.next[from] == handing.end[from])
            from = (from + 1) % team;
    if (handing.next[from] == handing.end[from])
        return 0;
    *(int32_t *)lower = handing.next[from];
    handing.next[from] = team == 1 ? handing.end[from] : handing.next[from] + 1;
    *(int32_t *)upper = handing.next[from] - 1;
    return 1;
}

/* ---- a loop --------------------------------------------------------------------------------------------------------------------------- */

struct seen { unsigned char runs[COUNT]; uint64_t timed_ns, run; };

/* All threads' chunks of one shot, whoever is first by its clock being next. Where a thread's chunk does not follow one that it, or its team, has just run, it is longer. */
static void shot_take(uint32_t schedule, int32_t chunk, uint32_t shot, struct seen *seen)
{
    struct sample_thread *threads = aligned_alloc(128, team * sizeof *threads);
    struct sample_shared shared[TEAM_MOST];
    struct sample_phase phases[TEAM_MOST] = {0};
    int32_t before[TEAM_MOST], low = 0, high = 0, step = 0, last = 0;
    bool over[TEAM_MOST] = {0};
    if (!threads)
        abort();
    memset(threads, 0, team * sizeof *threads);
    memset(now_ns, 0, sizeof now_ns);
    pcere_sample_shot.number = shot;
    for (number = 0; number < team; number++) {
        threads[number].shared = &shared[number];
        threads[number].phases = &phases[number];
        before[number] = -COUNT;
        pcere_sample_own = &threads[number];
        dispatch_init(NULL, (int32_t)number, (int32_t)schedule, 0, COUNT - 1, 1, (uint64_t)chunk, SAMPLE_INT32, SITE);
        CU_ASSERT_TRUE_FATAL(threads[number].dispatch.active);
    }
    for (uint32_t left = team; left;) {
        number = team;
        for (uint32_t t = 0; t < team; t++)
            number = !over[t] && (number == team || now_ns[t] < now_ns[number]) ? t : number;
        pcere_sample_own = &threads[number];
        if (!dispatch_next(NULL, (int32_t)number, &last, &low, &high, &step, SAMPLE_INT32)) {
            over[number] = true;
            left--;
            continue;
        }
        CU_ASSERT_FATAL(low >= 0 && high >= low && high < COUNT);
        for (int32_t i = low; i <= high; i++) {
            CU_ASSERT_EQUAL_FATAL(seen->runs[i], 0);
            seen->runs[i] = 1;
        }
        now_ns[number] += (uint64_t)(high - low + 1) * ITERATION_NS + (low - before[number] > (int32_t)team * chunk ? COLD_NS : 0);
        before[number] = high;
    }
    for (number = 0; number < team; number++) {
        CU_ASSERT_EQUAL(threads[number].shared_count, 1);
        seen->timed_ns += shared[number].timed_ns;
        seen->run += shared[number].run;
    }
    pcere_sample_own = NULL;
    free(threads);
}

static void shape_take(double fraction, const struct sample_bundle *bundle)
{
    pcere_sample_shot = (struct sample_shot){.shape = {.shots = SHOTS, .blocks = 4, .fraction = fraction}, .team = team};
    pcere_sample_shot.bundles[SITE % SAMPLE_SITES_MOST] = *bundle;
}

static const uint32_t schedules[] = {DYNAMIC, DYNAMIC | SAMPLE_NONMONOTONIC};

static void chunks_in_blocks_take_what_they_take_in_the_loop(void)
{
    for (team = 1; team <= TEAM_MOST; team *= 2)
        for (size_t s = 0; s < 2; s++)
            for (int32_t chunk = 1; chunk <= 4; chunk++) {
                static struct seen seen;
                memset(&seen, 0, sizeof seen);
                shape_take(0.02, &(struct sample_bundle){2, 20});
                for (uint32_t shot = 1; shot < 4; shot++)
                    shot_take(schedules[s], chunk, shot, &seen);
                double each_ns = (double)ITERATION_NS + (team > 1 ? (double)ASK_NS / chunk : 0);
                CU_ASSERT_DOUBLE_EQUAL((double)seen.timed_ns / (double)seen.run / each_ns, 1, 0.004);
            }
}

/* As before blocks, and as it still is where chunks are long. */
static void chunks_that_stand_alone_are_cold(void)
{
    for (team = 1; team <= 4; team *= 2) {
        static struct seen seen;
        memset(&seen, 0, sizeof seen);
        shape_take(0.01, &(struct sample_bundle){0, 0});
        shot_take(DYNAMIC, 2, 1, &seen);
        CU_ASSERT((double)seen.timed_ns / (double)seen.run > ITERATION_NS + COLD_NS / 2);
        CU_ASSERT(seen.run >= COUNT / 100 && seen.run <= COUNT / 100 + 2);
    }
}

static void shots_have_no_chunk_in_common(void)
{
    static struct seen seen;
    for (team = 1; team <= 4; team++) {
        memset(&seen, 0, sizeof seen);
        shape_take(0.02, &(struct sample_bundle){1, 10});
        for (uint32_t shot = 0; shot < SHOTS; shot++)
            shot_take(schedules[team % 2], 1, shot, &seen);     /* which checks it */
        CU_ASSERT(seen.run > COUNT / 4 && seen.run < COUNT / 2);
    }
}

/* A loop too short for blocks as long as wanted has shorter ones. */
static void short_loops_have_short_blocks(void)
{
    struct sample_dispatch dispatch = {0};
    team = 2;
    shape_take(0.0125, &(struct sample_bundle){1, 50});
    CU_ASSERT_TRUE(blocks_choose(&dispatch, &pcere_sample_shot.bundles[SITE % SAMPLE_SITES_MOST], 64, 2, 1));
    CU_ASSERT_EQUAL(dispatch.blocks, 2);
    CU_ASSERT_EQUAL(dispatch.block_chunks, 1 + BUNDLE_LEAST);
    CU_ASSERT_FALSE(blocks_choose(&dispatch, &pcere_sample_shot.bundles[SITE % SAMPLE_SITES_MOST], 16, 2, 1));
}

/* Counters that are indices: with 16 shots of 2 x 5 chunks a loop of 640 may have each at most once, one of 100 not. */
static void no_iteration_runs_twice_where_that_matters(void)
{
    struct sample_thread *thread = aligned_alloc(128, sizeof *thread);
    if (!thread)
        abort();
    team = 2;
    number = 0;
    shape_take(0.0125, &(struct sample_bundle){1, 4});
    pcere_sample_own = thread;
    for (uint64_t count = 640; count; count = count == 640 ? 100 : 0)
        for (int once = 0; once < 2; once++) {
            memset(thread, 0, sizeof *thread);
            pcere_sample_shot.once = once;
            pcere_sample_shot.twice = false;
            dispatch_init(NULL, 0, DYNAMIC | SAMPLE_NONMONOTONIC, 0, count - 1, 1, 1, SAMPLE_INT32, SITE);
            CU_ASSERT_EQUAL(thread->dispatch.active, count == 640 || !once);
            CU_ASSERT_EQUAL(pcere_sample_shot.twice, count == 100 && once);
        }
    pcere_sample_own = NULL;
    free(thread);
}

/* ---- schedule(runtime) ---------------------------------------------------------------------------------------------------------------- */

/* Chunks of the first thread are dear. */
static void schedules_of_the_run_keep_to_their_threads(void)
{
    static unsigned char runs[COUNT];
    static const struct sample_bundle bundles[] = {{0, 0}, {1, 5}};
    runtime_chunk = 3;
    team = 2;
    for (size_t b = 0; b < 2; b++) {
        memset(runs, 0, sizeof runs);
        shape_take(0.01, &bundles[b]);
        for (uint32_t shot = 0; shot < SHOTS; shot++)
            for (number = 0; number < team; number++) {
                struct sample_thread *thread = aligned_alloc(128, sizeof *thread);
                struct sample_phase phase = {0};
                int32_t low = 0, high = 0, step = 0, last = 0, before = -COUNT;
                if (!thread)
                    abort();
                memset(thread, 0, sizeof *thread);
                thread->phases = &phase;
                pcere_sample_own = thread;
                pcere_sample_shot.number = shot;
                dispatch_init(NULL, 0, RUNTIME, 0, COUNT - 1, 1, 0, SAMPLE_INT32, SITE);
                while (dispatch_next(NULL, 0, &last, &low, &high, &step, SAMPLE_INT32)) {
                    now_ns[number] += bundles[b].untimed && low - before != 4 ? COLD_NS : 0;
                    before = high;
                    for (int32_t i = low; i <= high; i++) {
                        CU_ASSERT_EQUAL_FATAL((uint32_t)(i / 3) % team, number);
                        CU_ASSERT_EQUAL_FATAL(runs[i], 0);
                        runs[i] = 1;
                        now_ns[number] += number ? 100 : 700;
                    }
                }
                CU_ASSERT_DOUBLE_EQUAL(phase.work_ns, (number ? COUNT / 2 * 100.0 : COUNT / 2 * 700.0) + ASK_NS * COUNT / 2.0 / (double)thread->run, 1);      /* asked for the last time */
                CU_ASSERT_EQUAL(thread->iterations, COUNT / 2);
                CU_ASSERT(thread->run > 0 && thread->run < 1000);
                CU_ASSERT_FALSE(thread->dispatch.active);
                free(thread);
            }
    }
    pcere_sample_own = NULL;
}

static const struct unit_test tests[] = {
    {"chunks in blocks take what they take in the loop, where one that stands alone takes longer", chunks_in_blocks_take_what_they_take_in_the_loop},
    {"chunks that are said to be long stand alone", chunks_that_stand_alone_are_cold},
    {"shots have no chunk in common", shots_have_no_chunk_in_common},
    {"short loops have short blocks, or run whole", short_loops_have_short_blocks},
    {"where an iteration may run once only, loops that are too short for that say so", no_iteration_runs_twice_where_that_matters},
    {"of a schedule that is found at run time, static by it, each thread's own chunks tell its time", schedules_of_the_run_keep_to_their_threads},
};

int main(void)
{
    real.init[SAMPLE_INT32] = runtime_dispatch_init;
    real.next[SAMPLE_INT32] = runtime_dispatch_next;
    return unit_main("dispatch", tests, sizeof tests / sizeof *tests);
}
