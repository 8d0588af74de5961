/* tests/unit/test_replay_chunks.c - loops with a static schedule, as compiled code runs them, whose blocks are chosen while they run: with a clock that stands
 * but for what iterations and ways back take, so that times come out exactly. */
#include "replay-rt/target/sample_place.c"
#include "replay-rt/target/sample_static.c"
#include "unit.h"

#include <stdlib.h>

enum { MOST = 1 << 16, WAY_NS = 40 };

/* ---- what the hooks have of others ------------------------------------------------------------------------------------------------ */

struct sample_shot pcere_sample_shot;
__thread struct sample_thread *pcere_sample_own;
struct pcere_sample_real pcere_sample_real;
unsigned char pcere_sample_active;

static uint64_t now_ns;
static uint32_t team, number;

uint32_t pcere_sample_site(uint64_t address) { return (uint32_t)(address % SAMPLE_SITES_MOST); }
enum sample_instance pcere_sample_instance(const struct sample_thread *thread, uint32_t site)
{
    (void)thread;
    return pcere_sample_shot.stepped[site] ? SAMPLE_INSTANCE_SKIPPED : SAMPLE_INSTANCE_ITERATIONS;
}
void pcere_sample_instance_end(struct sample_thread *thread, uint32_t site, enum sample_instance instance, uint64_t elapsed_ns)
{
    (void)thread;
    (void)site;
    (void)instance;
    (void)elapsed_ns;
}
void pcere_sample_other(struct sample_thread *thread) { thread->mark_ns = now_ns; }
uint64_t pcere_sample_clock_ns(struct sample_clock *clock)
{
    (void)clock;
    return now_ns;
}

struct frame { uint64_t stack[3]; int32_t lower, upper, stride, last; };

uint64_t pcere_sample_frame_bytes(const struct sample_call *call)
{
    (void)call;
    return sizeof(struct frame);
}

/* As the OpenMP runtime divides a loop of 32-bit numbers. */
static void runtime_init(const struct location *location, int32_t thread, int32_t schedule, void *last, void *lower_at, void *upper_at, void *stride_at,
                         uint64_t increment, uint64_t chunk_size)
{
    (void)location;
    (void)thread;
    (void)last;
    int32_t lower = *(int32_t *)lower_at, upper = *(int32_t *)upper_at, step = (int32_t)increment, chunk = (int32_t)chunk_size;
    int32_t count = (upper - lower) / step + 1;
    if (team == 1) {
        *(int32_t *)stride_at = count * step;
        return;
    }
    if (schedule == STATIC)
        chunk = (count + (int32_t)team - 1) / (int32_t)team;
    *(int32_t *)lower_at = lower + (int32_t)number * chunk * step;
    *(int32_t *)upper_at = *(int32_t *)lower_at + (chunk - 1) * step;
    if (schedule == STATIC && *(int32_t *)upper_at > upper)
        *(int32_t *)upper_at = upper;
    *(int32_t *)stride_at = (int32_t)team * chunk * step;
}

/* ---- the compiled loop -------------------------------------------------------------------------------------------------------------- */

struct loop { int32_t count, chunk, schedule; uint64_t cost_ns; };

static void loop_run(const struct loop *loop, unsigned char *runs)
{
    struct frame *frame = calloc(1, sizeof *frame);
    if (!frame)
        abort();
    struct location location = {0};
    frame->upper = loop->count - 1;
    frame->stride = 1;
    frame->stack[0] = (uint64_t)&frame->stride;
    frame->stack[1] = 1;
    frame->stack[2] = (uint32_t)loop->chunk | 0xdead00000000u;     /* the upper half of a register that holds 32 bits */
    struct sample_call call = {.rsp = (uint64_t)frame, .rip = 4711, .location = (uint64_t)&location, .schedule = (uint64_t)loop->schedule,
                               .last = (uint64_t)&frame->last, .lower = (uint64_t)&frame->lower, .upper = (uint64_t)&frame->upper};
    pcere_sample_static_init(&call, SAMPLE_INT32);
    for (const struct sample_jump *jump;;) {
        int32_t lower = frame->lower, upper = frame->upper < loop->count - 1 ? frame->upper : loop->count - 1;
        while (lower <= upper) {
            for (int32_t i = lower; i <= upper; i++, now_ns += loop->cost_ns)
                runs[i]++;
            if (loop->schedule == STATIC)
                break;
            lower += frame->stride;
            upper = upper + frame->stride < loop->count - 1 ? upper + frame->stride : loop->count - 1;
        }
        if (!(jump = pcere_sample_static_fini(&location, 0, 0)))
            break;
        memcpy((void *)jump->rsp, jump->frame, jump->frame_bytes);
        now_ns += WAY_NS;
    }
    free(frame);
}

/* Of one shot by all threads: how often each iteration ran, and each thread's extrapolated time. */
static void shot_take(const struct loop *loop, double fraction, uint32_t shot, unsigned char *runs, double *work_ns)
{
    pcere_sample_real.static_init[SAMPLE_INT32] = runtime_init;
    pcere_sample_shot = (struct sample_shot){.shape = {.shots = 16, .blocks = 4, .fraction = fraction}, .number = shot, .team = team};
    for (number = 0; number < team; number++) {
        struct sample_thread *thread = aligned_alloc(128, sizeof *thread);
        struct sample_phase phase = {0};
        if (!thread)
            abort();
        memset(thread, 0, sizeof *thread);
        thread->phases = &phase;
        pcere_sample_own = thread;
        unsigned char *own = calloc((size_t)loop->count, 1);
        if (!own)
            abort();
        loop_run(loop, own);
        for (int32_t i = 0; i < loop->count; i++) {
            runs[i] = (unsigned char)(runs[i] + own[i]);
            if (own[i])
                CU_ASSERT_FATAL(team == 1 || loop->schedule == STATIC || (uint32_t)(i / loop->chunk) % team == number);
        }
        CU_ASSERT_EQUAL_FATAL(thread->loop.iterations, 0);
        CU_ASSERT_EQUAL_FATAL(thread->nested, 0);
        work_ns[number] = phase.work_ns;
        free(own);
        free(thread);
    }
    pcere_sample_own = NULL;
}

static uint64_t iterations_of(const struct loop *loop, uint32_t thread)
{
    uint64_t count = 0;
    for (int32_t i = 0; i < loop->count; i++)
        count += (uint32_t)(i / loop->chunk) % team == thread;
    return count;
}

static void threads_run_their_own_chunks(void)
{
    static const int32_t counts[] = {64, 1000, 4801, 30000}, chunks[] = {1, 2, 3, 7, 100, 1500};
    static unsigned char runs[MOST];
    double work_ns[8];
    for (team = 1; team <= 8; team++)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
            for (size_t k = 0; k < sizeof chunks / sizeof *chunks; k++) {
                struct loop loop = {counts[c], chunks[k], STATIC_CHUNKED, 1000};
                for (uint32_t shot = 0; shot < 16; shot++) {
                    memset(runs, 0, sizeof runs);
                    shot_take(&loop, 0.01, shot, runs, work_ns);
                    for (int32_t i = 0; i < loop.count; i++)
                        CU_ASSERT_FATAL(runs[i] <= 1);
                }
            }
}

static void times_come_out_exactly(void)
{
    static unsigned char runs[MOST];
    double work_ns[8];
    for (team = 1; team <= 8; team++)
        for (int32_t chunk = 1; chunk < 200; chunk += 13) {
            struct loop loop = {20011, chunk, STATIC_CHUNKED, 1000};
            memset(runs, 0, sizeof runs);
            shot_take(&loop, 0.02, 3, runs, work_ns);
            for (uint32_t t = 0; t < team; t++) {
                double whole_ns = 1000.0 * (double)(team == 1 ? 20011 : iterations_of(&loop, t));
                CU_ASSERT_DOUBLE_EQUAL(work_ns[t] / whole_ns, 1, 0.05);      /* the way to a block's first chunk is in it, as to any block */
            }
            CU_ASSERT_FALSE(pcere_sample_shot.slivers);
        }
}

static void slivers_are_told(void)
{
    static unsigned char runs[MOST];
    double work_ns[8];
    struct loop loop = {20000, 1, STATIC_CHUNKED, 4 * WAY_NS};
    team = 2;
    shot_take(&loop, 0.02, 0, runs, work_ns);
    CU_ASSERT_FALSE(pcere_sample_shot.slivers);
    loop.cost_ns = WAY_NS / 2;
    shot_take(&loop, 0.02, 0, runs, work_ns);
    CU_ASSERT_TRUE(pcere_sample_shot.slivers);
}

static void shots_have_no_chunk_in_common(void)
{
    static unsigned char runs[MOST];
    double work_ns[8];
    struct loop loop = {32000, 2, STATIC_CHUNKED, 1000};
    team = 2;
    memset(runs, 0, sizeof runs);
    for (uint32_t shot = 0; shot < 16; shot++)
        shot_take(&loop, 0.005, shot, runs, work_ns);
    uint32_t twice = 0, once = 0;
    for (int32_t i = 0; i < loop.count; i++) {
        twice += runs[i] > 2;         /* an iteration of one block may be the untimed one in front of another */
        once += runs[i] > 0;
    }
    CU_ASSERT_EQUAL(twice, 0);
    CU_ASSERT(once > (uint32_t)loop.count / 20);
}

static void skipped_steps_run_nothing(void)
{
    struct frame frame = {.upper = 99, .stride = 1, .stack = {0, 1, 1}};
    struct sample_call call = {.rsp = (uint64_t)&frame, .rip = 4711, .schedule = STATIC_CHUNKED, .lower = (uint64_t)&frame.lower, .upper = (uint64_t)&frame.upper};
    struct sample_thread *thread = aligned_alloc(128, sizeof *thread);
    if (!thread)
        abort();
    memset(thread, 0, sizeof *thread);
    frame.stack[0] = (uint64_t)&frame.stride;
    team = 2;
    number = 1;
    pcere_sample_real.static_init[SAMPLE_INT32] = runtime_init;
    pcere_sample_shot.stepped[4711 % SAMPLE_SITES_MOST] = 16;
    pcere_sample_own = thread;
    pcere_sample_static_init(&call, SAMPLE_INT32);
    CU_ASSERT(frame.lower > frame.upper);
    CU_ASSERT_EQUAL(thread->iterations, 50);
    CU_ASSERT_EQUAL(thread->run, 0);
    CU_ASSERT_PTR_NULL(pcere_sample_static_fini(NULL, 0, 0));
    pcere_sample_own = NULL;
    free(thread);
}

static const struct unit_test tests[] = {
    {"a thread runs iterations of its own chunks, each at most once in a shot", threads_run_their_own_chunks},
    {"a loop whose iterations take equally long takes as long as it is extrapolated to, for any chunk and team", times_come_out_exactly},
    {"chunks that are shorter than the way from one to the next are told", slivers_are_told},
    {"shots have no chunk in common", shots_have_no_chunk_in_common},
    {"of a step that is skipped nothing is run, and all of its iterations are counted", skipped_steps_run_nothing},
};

UNIT_MAIN("chunks", tests)
