/* tests/unit/test_trace_part.c - parts of a trace by time: what is read with a few of its blocks is what the whole trace has in that time, and an overview has every event. */
#include "core/files.h"
#include "tests/unit/trace_player.h"
#include "tests/unit/unit.h"
#include "trace/run.h"
#include "trace/view.h"

#include <fcntl.h>

enum { THREADS = 3, TASKS_MOST = 20000, DEPTH = 12, STEPS = 3000 };

/* A program with regions, loops, waits and tasks, of chance; of each thread what it is in. Tasks wait in one queue, and those with dependences run one after the other. */
enum in { IN_REGION, IN_TASK, IN_LOOP, IN_SINGLE, IN_MUTEX, IN_TASKWAIT, IN_BARRIER };
struct level { enum in in; uint64_t id; bool depends; };
struct actor { struct level levels[DEPTH]; unsigned depth, sequence, room; bool over; uint64_t ids; };

static struct actor actors[THREADS];
static struct { uint64_t id; bool depends; } queue[TASKS_MOST];
static size_t queue_first, queue_end;
static unsigned depends_running;
static uint64_t now, chance_state;

static unsigned chance(unsigned n)
{
    chance_state = chance_state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(chance_state >> 33) % n;
}

static void tell(unsigned thread, uint32_t type, uint32_t flags, uint32_t extra, uint64_t value)
{
    struct actor *actor = &actors[thread];
    now += type == TRACE_DEPENDENCE ? 0 : 1 + chance(40);
    record(thread, now, type, flags, extra, value);
    if (players[thread].used < actor->room)
        return;
    player_put(thread, actor->sequence++);
    actor->room = 10 + chance(50);
}

static struct level *top(unsigned thread) { return &actors[thread].levels[actors[thread].depth - 1]; }
static void enter(unsigned thread, enum in in, uint64_t task) { actors[thread].levels[actors[thread].depth++] = (struct level){in, task, false}; }
static uint64_t executed(unsigned thread)
{
    unsigned depth = actors[thread].depth;
    while (actors[thread].levels[depth - 1].in != IN_TASK && actors[thread].levels[depth - 1].in != IN_REGION)
        depth--;
    return actors[thread].levels[depth - 1].id;
}

static void task_make(unsigned thread)
{
    if (queue_end == TASKS_MOST)
        return;
    queue[queue_end].id = id(thread, ++actors[thread].ids);
    queue[queue_end].depends = chance(2);
    tell(thread, TRACE_TASK_CREATE, 0, 3, queue[queue_end].id);
    for (unsigned i = 0; queue[queue_end].depends && i < 1 + chance(3); i++)
        tell(thread, TRACE_DEPENDENCE, 1 + chance(3), 0, 64 * chance(4));
    queue_end++;
}

static bool task_take(unsigned thread)
{
    if (queue_first == queue_end || actors[thread].depth + 4 > DEPTH || (queue[queue_first].depends && depends_running))
        return false;
    tell(thread, TRACE_TASK_SWITCH, 7, 0, queue[queue_first].id);
    enter(thread, IN_TASK, queue[queue_first].id);
    top(thread)->depends = queue[queue_first].depends;
    depends_running += queue[queue_first++].depends;
    return true;
}

/* It completes, or is detached, and its event fulfilled by what goes on. */
static void task_end(unsigned thread)
{
    bool detached = chance(4) == 0;
    depends_running -= top(thread)->depends;
    actors[thread].depth--;
    tell(thread, TRACE_TASK_SWITCH, detached ? 4 : 1, 0, executed(thread));
    if (detached)
        tell(thread, TRACE_TASK_SWITCH, 6, 0, 0);
}

/* `closing`: nothing new begins, and who is in nothing goes to the region's end. */
static void step(unsigned thread, bool closing)
{
    struct actor *actor = &actors[thread];
    switch (top(thread)->in) {
    case IN_REGION: case IN_TASK:
        if (!closing && actor->depth + 4 < DEPTH && chance(10) < 7) {
            switch (chance(6)) {
            case 0: tell(thread, TRACE_LOOP_BEGIN, 0, 2, 3); enter(thread, IN_LOOP, 0); break;
            case 1: tell(thread, TRACE_SINGLE_BEGIN, 0, 3, 1); enter(thread, IN_SINGLE, 0); break;
            case 2: tell(thread, TRACE_MUTEX_BEGIN, 1, 0, 99); enter(thread, IN_MUTEX, 0); break;
            case 3: tell(thread, TRACE_WAIT_BEGIN, 5, 0, 0); enter(thread, IN_TASKWAIT, 0); break;
            default: task_make(thread);
            }
        } else if (top(thread)->in == IN_TASK) {
            task_end(thread);
        } else if (closing) {
            tell(thread, TRACE_WAIT_BEGIN, 8, 0, 0);
            enter(thread, IN_BARRIER, 0);
        }
        break;
    case IN_LOOP:
        if (!closing && chance(4))
            tell(thread, TRACE_RANGE_BEGIN, 0, 10, chance(100));
        else
            tell(thread, TRACE_LOOP_END, 0, 0, 0), actor->depth--;
        break;
    case IN_SINGLE:
        if (!closing && chance(3))
            task_make(thread);
        else
            tell(thread, TRACE_SINGLE_END, 0, 0, 0), actor->depth--;
        break;
    case IN_MUTEX: tell(thread, TRACE_MUTEX_END, 1, 0, 99); actor->depth--; break;
    case IN_TASKWAIT:
        if (!chance(3) || !task_take(thread))
            tell(thread, TRACE_WAIT_END, 5, 0, 0), actor->depth--;
        break;
    case IN_BARRIER:
        if (!task_take(thread))
            actor->over = true;
        break;
    }
}

static bool region_over(void)
{
    bool over = queue_first == queue_end;
    for (unsigned i = 0; i < THREADS; i++)
        over &= actors[i].depth && top(i)->in == IN_BARRIER && actors[i].over;
    return over;
}

static void region_run(uint64_t team, unsigned steps)
{
    tell(0, TRACE_PARALLEL_BEGIN, 0, 1, id(0, team));
    for (unsigned i = 0; i < THREADS; i++) {
        if (actors[i].depth) {                   /* it hears late of the region before */
            tell(i, TRACE_WAIT_END, 8, 0, 0);
            tell(i, TRACE_IMPLICIT_END, 0, 0, actors[i].levels[0].id);
        }
        actors[i].depth = 0;
        actors[i].over = false;
        tell(i, TRACE_TEAM, 0, THREADS, id(0, team));
        enter(i, IN_REGION, id(i, ++actors[i].ids));
        tell(i, TRACE_IMPLICIT_BEGIN, 0, i, top(i)->id);
    }
    for (unsigned i = 0; i < steps || !region_over(); i++)
        step(chance(THREADS), i >= steps);
    tell(0, TRACE_WAIT_END, 8, 0, 0);
    tell(0, TRACE_IMPLICIT_END, 0, 0, top(0)->id);
    actors[0].depth = 0;
    tell(0, TRACE_PARALLEL_END, 0, 0, id(0, team));
}

static void program_play(uint64_t seed)
{
    trace_begin(0);
    tables_put();
    memset(actors, 0, sizeof actors);
    queue_first = queue_end = depends_running = 0;
    now = 100;
    chance_state = seed;
    tell(0, TRACE_IMPLICIT_BEGIN, 1, 0, id(0, ++actors[0].ids));
    for (uint64_t team = 1; team <= 8; team++) {         /* long ones, and some that hardly fill a block */
        region_run(team, team == 2 ? STEPS : team < 5 ? STEPS / 10 : 4);
        now += 10000;
    }
    tell(0, TRACE_IMPLICIT_END, 1, 0, id(0, 1));
    for (unsigned i = 0; i < THREADS; i++)
        player_put(i, actors[i].sequence);
    played_end = now + 5;
    trace_end(THREADS);
}

static char *shown(const struct run *run, const struct view_options *options)
{
    char *text = NULL;
    size_t length;
    struct pcere_error error;
    struct view_counts counts;
    FILE *file = open_memstream(&text, &length);
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(view_write(run, options, file, "memory", &counts, &error), PCERE_OK);
    fclose(file);
    return text;
}

/* With arrows, numbers of tasks, and everything around that began before or ends later. */
static void a_part_shows_what_the_whole_shows(void)
{
    size_t fewer = 0, windows = 0;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct pcere_error error;
        struct run whole = {0};
        program_play(seed);
        CU_ASSERT_EQUAL_FATAL(run_load(path, 0, TIMELINE_WORKERS_APART, &whole, &error), PCERE_OK);
        CU_ASSERT_TRUE(whole.timeline.task_count > 100 && whole.timeline.broken == 0);
        for (unsigned i = 0; i < 12; i++, windows++) {
            int64_t length_ns = (int64_t)played_end, from_ns = (int64_t)chance((unsigned)length_ns), to_ns = from_ns + (int64_t)chance((unsigned)length_ns / (i % 3 ? 50 : 4));
            struct run_sparing sparing = {.from_ns = from_ns, .to_ns = to_ns, .large_bytes = 1};
            struct view_options options = {.kind = i % 2 ? VIEW_DEVELOPER : VIEW_USER, .from_ns = from_ns, .to_ns = to_ns};
            struct run part = {0};
            CU_ASSERT_EQUAL_FATAL(run_load_sparing(path, 0, TIMELINE_WORKERS_APART, &sparing, &part, &error), PCERE_OK);
            char *of_whole = shown(&whole, &options), *of_part = shown(&part, &options);
            CU_ASSERT_STRING_EQUAL(of_part, of_whole);
            fewer += part.timeline.task_count * 2 < whole.timeline.task_count;
            free(of_whole);
            free(of_part);
            run_done(&part);
        }
        run_done(&whole);
    }
    CU_ASSERT_TRUE(fewer * 2 > windows);
}

/* What of the file is not needed is not looked at: damage there is found by who reads it all. */
static void only_what_is_needed_is_read(void)
{
    struct pcere_error error;
    struct trace_file *file;
    program_play(7);
    CU_ASSERT_EQUAL_FATAL(trace_file_open(path, &file, &error), PCERE_OK);
    uint64_t blocks = 0, last = file->header->index_count - 1;
    const struct trace_index *index = (const void *)((const char *)file->map + file->header->index_offset);
    uint64_t offset = index[last].offset;
    for (size_t i = 0; i < file->thread_count; i++)
        blocks += file->threads[i].block_count;
    trace_file_close(file);
    CU_ASSERT_TRUE_FATAL(blocks > 50);
    trace = open(path, O_RDWR);
    CU_ASSERT_EQUAL(pwrite(trace, "damage", 6, (off_t)offset + 66), 6);
    close(trace);
    CU_ASSERT_EQUAL(trace_file_open(path, &file, &error), PCERE_DATA);
    struct run part = {0}, end = {0};
    struct run_sparing first = {.from_ns = 200, .to_ns = 400, .large_bytes = 1}, late = {.from_ns = (int64_t)played_end - 10, .to_ns = INT64_MAX, .large_bytes = 1};
    CU_ASSERT_EQUAL_FATAL(run_load_sparing(path, 0, TIMELINE_WORKERS_APART, &first, &part, &error), PCERE_OK);
    CU_ASSERT_FALSE(part.timeline.cut);
    CU_ASSERT_TRUE(part.timeline.span_count > 0);
    CU_ASSERT_EQUAL_FATAL(run_load_sparing(path, 0, TIMELINE_WORKERS_APART, &late, &end, &error), PCERE_OK);
    CU_ASSERT_TRUE(end.timeline.cut);
    run_done(&part);
    run_done(&end);
}

static uint64_t events_of(const struct timeline *timeline, uint64_t *ret_ns)
{
    uint64_t events = 0;
    for (size_t i = 0; i < timeline->span_count; i++) {
        events += timeline->spans[i].part == SPAN_JOINED ? timeline->spans[i].tag : 1;
        *ret_ns += timeline->spans[i].kind == SPAN_PARALLEL && timeline->spans[i].part == SPAN_WHOLE ? (uint64_t)(timeline->spans[i].end_ns - timeline->spans[i].begin_ns) : 0;
    }
    return events;
}

static void an_overview_has_every_event_and_keeps_no_task(void)
{
    struct pcere_error error;
    struct run whole = {0}, coarse = {0};
    struct run_sparing sparing = {.least_ns = 300, .to_ns = INT64_MAX};
    uint64_t regions_ns = 0, coarse_ns = 0;
    program_play(3);
    CU_ASSERT_EQUAL_FATAL(run_load(path, 0, TIMELINE_WORKERS_APART, &whole, &error), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(run_load_sparing(path, 0, TIMELINE_WORKERS_APART, &sparing, &coarse, &error), PCERE_OK);
    CU_ASSERT_EQUAL(events_of(&coarse.timeline, &coarse_ns), events_of(&whole.timeline, &regions_ns));
    CU_ASSERT_EQUAL(coarse_ns, regions_ns);
    CU_ASSERT_TRUE(coarse.timeline.span_count * 3 < whole.timeline.span_count);
    CU_ASSERT_TRUE(coarse.timeline.task_capacity < whole.timeline.task_count);
    CU_ASSERT_EQUAL(coarse.timeline.unfinished, 0);
    run_done(&whole);
    run_done(&coarse);
}

static const struct unit_test tests[] = {
    {"a part by time shows what the whole shows there", a_part_shows_what_the_whole_shows},
    {"blocks that a part does not need are not read", only_what_is_needed_is_read},
    {"an overview has every event, and keeps no task", an_overview_has_every_event_and_keeps_no_task},
};

UNIT_MAIN("trace parts", tests)
