/* replay-rt/target/sample_tasks.c - regions with tasks, of which some subtrees are run: which, and what the region would have taken with all of them.
 *
 *            o            above the frontier: all tasks are run                  a subtree below the frontier is one unit: it is run, or its
 *          /   \                                                                 root is made and ended at once, in time that does not count
 *         o     o
 *       / | \  / | \      the frontier: the first level with enough tasks
 *      x  #  x x  x #     #: units of this shot, one from each stratum in the order of the tree; none in two shots
 *
 * A task is known by its path from the region: numbers that tasks have among those that one task makes. The tasks that implicit tasks make are numbered
 * together. So paths are the same in each run, whoever executes what. A shot that stops at a level counts its tasks (a census) before units are chosen.
 */
#include "replay-rt/target/sample_hooks.h"

#include <math.h>
#include <stdlib.h>

#define UNITS_GOOD 2048u                  /* tasks of a level: enough to choose from */
#define UNITS_LEAST 64u                   /* for each thread */
#define UNITS_THREAD 4u                   /* of a shot, for each thread, */
#define UNITS_SHOT 16u                    /* ... and in all where that is a small part: */
#define UNITS_SHOT_PARTS 128u
#define UNIT_LEAST_NS 10000.0             /* below this runtime and clocks are too much of it */
#define GAP_NS 3000u                      /* with several threads: what lies between two tasks and is longer is waiting, not the runtime */
#define BALANCE_LEAST 0.1                 /* of a thread's work, in one unit */
#define CHAIN_MOST 0.5                    /* of a thread's work, spent in making tasks on one thread */
#define TASK_TIED 1
#define TASK_APART (0x10 | 0x40)          /* flags: proxy, detachable */

enum { CENSUS_MOST = 1 << 18, TASK_BASE_BYTES = 40, CLOCK_TRIES = 64 };

struct task {                             /* as the runtime's interface has it */
    void *shareds;
    int (*routine)(int, struct task *);
    int32_t part;
    uint64_t data[2];
};

struct header {                           /* in front of a task's shared variables; also: what a thread executes */
    uint32_t depth, path[SAMPLE_DEPTH_MOST];
    uint32_t children;                    /* made so far */
    enum sample_task_class class;
    int32_t flags;
    uint64_t bytes, shared_bytes;
    int (*routine)(int, struct task *);
};

typedef struct task *alloc_fn(const struct location *, int32_t, int32_t, size_t, size_t, int (*)(int, struct task *));
typedef int32_t task_fn(const struct location *, int32_t, struct task *);
typedef int32_t wait_fn(const struct location *, int32_t);
typedef void group_fn(const struct location *, int32_t);
typedef void step_fn(const struct location *, int32_t, struct task *);
typedef void duplicate_fn(struct task *, const struct task *, int32_t);
typedef void taskloop_fn(const struct location *, int32_t, struct task *, int32_t, uint64_t *, uint64_t *, int64_t, int32_t, int32_t, uint64_t, duplicate_fn *);
typedef void taskloop_5_fn(const struct location *, int32_t, struct task *, int32_t, uint64_t *, uint64_t *, int64_t, int32_t, int32_t, uint64_t, int32_t, duplicate_fn *);
int omp_get_num_threads(void);
int32_t __kmpc_global_thread_num(const struct location *location);

static struct {
    alloc_fn *alloc;
    task_fn *task;
    wait_fn *wait;
    group_fn *group_begin, *group_end;
    step_fn *begin, *complete;
    taskloop_fn *loop;
    taskloop_5_fn *loop_5;
} real;

static struct {
    bool on;
    uint32_t frontier;                    /* depth of the units; the region's own tasks have 1 */
    bool census;                          /* none of them is run */
    struct header root;                   /* what implicit tasks execute */
    uint32_t (*paths)[SAMPLE_DEPTH_MOST]; /* of all units, sorted after a census */
    uint32_t *order;                      /* their numbers, such as are alike by their paths next to each other */
    unsigned char *chosen;                /* for each: enum sample_task_class + 1, or 0 */
    uint64_t units, chosen_units;
    _Atomic uint64_t met, root_children;
    _Atomic uint32_t strange;             /* enum strange */
    uint64_t clock_ns;                    /* what asking the time takes */
} tree;

enum strange { USUAL, UNTIED, UNKNOWN_UNITS, TOO_MANY };

__attribute__((constructor)) static void tasks_find(void)
{
    pcere_sample_find(&real.alloc, "__kmpc_omp_task_alloc");
    pcere_sample_find(&real.task, "__kmpc_omp_task");
    pcere_sample_find(&real.wait, "__kmpc_omp_taskwait");
    pcere_sample_find(&real.group_begin, "__kmpc_taskgroup");
    pcere_sample_find(&real.group_end, "__kmpc_end_taskgroup");
    pcere_sample_find(&real.begin, "__kmpc_omp_task_begin_if0");
    pcere_sample_find(&real.complete, "__kmpc_omp_task_complete_if0");
    pcere_sample_find(&real.loop, "__kmpc_taskloop");
    pcere_sample_find(&real.loop_5, "__kmpc_taskloop_5");
}

static struct sample_thread *watched(void)
{
    return tree.on && pcere_sample_active ? pcere_sample_own : NULL;
}

/* ---- time ------------------------------------------------------------------------------------------------------------------------- */

static struct header *executed(struct sample_thread *thread)
{
    return thread->task ? thread->task : &tree.root;
}

/* Time since the mark is the class's; the mark moves. */
static void account(struct sample_thread *thread, enum sample_task_class class)
{
    uint64_t now_ns = pcere_sample_clock_ns(&thread->clock), elapsed_ns = now_ns - thread->mark_ns;
    struct sample_phase *phase = &thread->phases[thread->phase];
    double net_ns = elapsed_ns > tree.clock_ns ? (double)(elapsed_ns - tree.clock_ns) : 0;
    if (class == SAMPLE_TASK_UPPER)
        phase->work_ns += net_ns;
    else if (class == SAMPLE_TASK_UNIT)
        phase->unit_ns += net_ns;
    thread->mark_ns = now_ns;
}

/* Between what a thread executes: the runtime's work counts, waiting does not. */
static void account_gap(struct sample_thread *thread, enum sample_task_class class)
{
    uint64_t now_ns = pcere_sample_clock_ns(&thread->clock);
    bool waited = pcere_sample_shot.team > 1 && now_ns - thread->mark_ns > GAP_NS;
    account(thread, waited ? SAMPLE_TASK_WARM : class);
}

static void mark(struct sample_thread *thread)
{
    thread->mark_ns = pcere_sample_clock_ns(&thread->clock);
}

/* ---- one task ----------------------------------------------------------------------------------------------------------------------- */

static struct header *header_of(const struct task *task)
{
    return (struct header *)((char *)task->shareds - sizeof(struct header));
}

static int task_run(int number, struct task *task)
{
    struct header *header = header_of(task);
    struct sample_thread *thread = watched();
    if (!thread)
        return header->routine(number, task);
    struct header *before = thread->task;
    thread->tasks++;
    account_gap(thread, header->class);
    thread->task = header;
    double begin_ns = thread->phases[thread->phase].unit_ns;
    int result = header->routine(number, task);
    account(thread, header->class);
    if (header->class == SAMPLE_TASK_UNIT && header->depth == tree.frontier) {
        double unit_ns = thread->phases[thread->phase].unit_ns - begin_ns;
        thread->unit_most_ns = unit_ns > thread->unit_most_ns ? unit_ns : thread->unit_most_ns;
    }
    thread->task = before;
    return result;
}

static int path_order(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right;
    for (uint32_t i = 0; i < SAMPLE_DEPTH_MOST; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

/* Made by what the thread executes: where is it in the tree? False: it is not run. */
static bool task_place(struct sample_thread *thread, struct header *header)
{
    struct header *parent = executed(thread);
    uint32_t rank = parent == &tree.root ? (uint32_t)tree.root_children++ : parent->children++;
    header->depth = parent->depth + 1;
    header->children = 0;
    header->class = parent->class;
    if (header->depth > tree.frontier)
        return true;
    memcpy(header->path, parent->path, sizeof header->path);
    header->path[header->depth - 1] = rank + 1;
    if (header->depth < tree.frontier)
        return true;
    uint64_t met = tree.met++;
    if (tree.census) {
        if (met < CENSUS_MOST)
            memcpy(tree.paths[met], header->path, sizeof header->path);
        else
            tree.strange = TOO_MANY;
        return false;
    }
    const uint32_t (*at)[SAMPLE_DEPTH_MOST] = bsearch(header->path, tree.paths, tree.units, sizeof *tree.paths, path_order);
    if (!at) {
        tree.strange = UNKNOWN_UNITS;
        return false;
    }
    unsigned char chosen = tree.chosen[at - (const uint32_t (*)[SAMPLE_DEPTH_MOST])tree.paths];
    if (chosen)
        header->class = (enum sample_task_class)(chosen - 1);
    return chosen;
}

HOOK struct task *__kmpc_omp_task_alloc(const struct location *location, int32_t number, int32_t flags, size_t bytes, size_t shared_bytes, int (*routine)(int, struct task *));
HOOK struct task *__kmpc_omp_task_alloc(const struct location *location, int32_t number, int32_t flags, size_t bytes, size_t shared_bytes, int (*routine)(int, struct task *))
{
    if (!watched())
        return real.alloc(location, number, flags, bytes, shared_bytes, routine);
    size_t rounded = (bytes + 15) / 16 * 16;
    struct task *task = real.alloc(location, number, flags, rounded + sizeof(struct header), shared_bytes ? shared_bytes : 1, routine);
    *header_of(task) = (struct header){.flags = flags, .bytes = bytes, .shared_bytes = shared_bytes, .routine = routine};
    if (!(flags & TASK_TIED) || (flags & TASK_APART))
        tree.strange = UNTIED;
    return task;
}

HOOK int32_t __kmpc_omp_task(const struct location *location, int32_t number, struct task *task);
HOOK int32_t __kmpc_omp_task(const struct location *location, int32_t number, struct task *task)
{
    struct sample_thread *thread = watched();
    if (!thread || task->routine == task_run)
        return real.task(location, number, task);
    struct header *header = header_of(task);
    enum sample_task_class class = executed(thread)->class;
    if (executed(thread)->depth >= tree.frontier) {
        task_place(thread, header);
        task->routine = task_run;
        return real.task(location, number, task);
    }
    account(thread, class);
    bool runs = task_place(thread, header);
    if (runs) {
        task->routine = task_run;
        mark(thread);
        uint64_t tasks = thread->tasks;
        double before_ns = thread->phases[thread->phase].unit_ns;
        enum sample_task_class made = header->class;
        int32_t result = real.task(location, number, task);
        account(thread, made);
        if (made == SAMPLE_TASK_UNIT && tasks == thread->tasks)      /* nothing was executed meanwhile */
            thread->push_ns += thread->phases[thread->phase].unit_ns - before_ns;
        return result;
    }
    real.begin(location, number, task);
    real.complete(location, number, task);
    mark(thread);
    return 0;
}

/* ---- where tasks are waited for ------------------------------------------------------------------------------------------------------ */

HOOK int32_t __kmpc_omp_taskwait(const struct location *location, int32_t number);
HOOK int32_t __kmpc_omp_taskwait(const struct location *location, int32_t number)
{
    struct sample_thread *thread = watched();
    if (thread)
        account(thread, executed(thread)->class);
    int32_t result = real.wait(location, number);
    if (thread)
        account_gap(thread, executed(thread)->class);
    return result;
}

HOOK void __kmpc_end_taskgroup(const struct location *location, int32_t number);
HOOK void __kmpc_end_taskgroup(const struct location *location, int32_t number)
{
    struct sample_thread *thread = watched();
    if (thread)
        account(thread, executed(thread)->class);
    real.group_end(location, number);
    if (thread)
        account_gap(thread, executed(thread)->class);
}

/* ---- taskloop ------------------------------------------------------------------------------------------------------------------------- */

struct division { uint64_t tasks, each, extras; };       /* the first `extras` have one iteration more */

/* As libomp divides: `schedule` 0: nothing was said, 1: `grain` iterations for each task, 2: that many tasks. */
static struct division divide(uint64_t count, int32_t schedule, uint64_t grain, bool strict)
{
    if (schedule == 0)
        grain = (uint64_t)omp_get_num_threads() * 10;
    if (schedule != 1)
        return grain >= count ? (struct division){count, 1, 0} : (struct division){grain, count / grain, count % grain};
    if (grain >= count)
        return (struct division){1, count, 0};
    if (strict)
        return (struct division){(count + grain - 1) / grain, grain, 0};
    uint64_t tasks = count / grain;
    return (struct division){tasks, count / tasks, count % tasks};
}

static struct task *task_copy(const struct location *location, int32_t number, const struct task *from, duplicate_fn *duplicate, bool last)
{
    const struct header *header = header_of(from);
    struct task *task = __kmpc_omp_task_alloc(location, number, header->flags, header->bytes, header->shared_bytes, header->routine);
    if (header->bytes > TASK_BASE_BYTES)
        memcpy((char *)task + TASK_BASE_BYTES, (const char *)from + TASK_BASE_BYTES, header->bytes - TASK_BASE_BYTES);
    memcpy(task->shareds, from->shareds, header->shared_bytes);
    if (duplicate)
        duplicate(task, from, last);
    return task;
}

static void taskloop(const struct location *location, int32_t number, struct task *pattern, uint64_t *lower, uint64_t *upper, int64_t step, bool group,
                     const struct division *division, duplicate_fn *duplicate)
{
    struct sample_thread *thread = pcere_sample_own;
    uint64_t first = *lower, last = *upper, position = 0;
    ptrdiff_t lower_at = (char *)lower - (char *)pattern, upper_at = (char *)upper - (char *)pattern;
    if (group)
        real.group_begin(location, number);
    for (uint64_t i = 0; i < division->tasks; i++) {
        account(thread, executed(thread)->class);
        struct task *task = task_copy(location, number, pattern, duplicate, i + 1 == division->tasks);
        uint64_t count = division->each + (i < division->extras), begin = first + position * (uint64_t)step, end = begin + (count - 1) * (uint64_t)step;
        if (i + 1 == division->tasks)
            end = last;
        memcpy((char *)task + lower_at, &begin, sizeof begin);
        memcpy((char *)task + upper_at, &end, sizeof end);
        position += count;
        __kmpc_omp_task(location, number, task);
    }
    real.begin(location, number, pattern);
    real.complete(location, number, pattern);
    if (group)
        __kmpc_end_taskgroup(location, number);
}

static bool taskloop_divides(int32_t condition, const uint64_t *lower, const uint64_t *upper, int64_t step, int32_t schedule, uint64_t grain, bool strict,
                             struct division *ret_division)
{
    if (!watched() || !condition || !step || (step > 0 ? *upper < *lower : *lower < *upper))
        return false;
    uint64_t distance = step > 0 ? *upper - *lower : *lower - *upper, stride = step > 0 ? (uint64_t)step : -(uint64_t)step;
    *ret_division = divide(distance / stride + 1, schedule, grain ? grain : 1, strict);
    return true;
}

HOOK void __kmpc_taskloop(const struct location *location, int32_t number, struct task *task, int32_t condition, uint64_t *lower, uint64_t *upper, int64_t step,
                          int32_t no_group, int32_t schedule, uint64_t grain, duplicate_fn *duplicate);
HOOK void __kmpc_taskloop(const struct location *location, int32_t number, struct task *task, int32_t condition, uint64_t *lower, uint64_t *upper, int64_t step,
                          int32_t no_group, int32_t schedule, uint64_t grain, duplicate_fn *duplicate)
{
    struct division division;
    if (taskloop_divides(condition, lower, upper, step, schedule, grain, false, &division))
        taskloop(location, number, task, lower, upper, step, !no_group, &division, duplicate);
    else
        real.loop(location, number, task, condition, lower, upper, step, no_group, schedule, grain, duplicate);
}

HOOK void __kmpc_taskloop_5(const struct location *location, int32_t number, struct task *task, int32_t condition, uint64_t *lower, uint64_t *upper, int64_t step,
                            int32_t no_group, int32_t schedule, uint64_t grain, int32_t strict, duplicate_fn *duplicate);
HOOK void __kmpc_taskloop_5(const struct location *location, int32_t number, struct task *task, int32_t condition, uint64_t *lower, uint64_t *upper, int64_t step,
                            int32_t no_group, int32_t schedule, uint64_t grain, int32_t strict, duplicate_fn *duplicate)
{
    struct division division;
    if (taskloop_divides(condition, lower, upper, step, schedule, grain, strict, &division))
        taskloop(location, number, task, lower, upper, step, !no_group, &division, duplicate);
    else
        real.loop_5(location, number, task, condition, lower, upper, step, no_group, schedule, grain, strict, duplicate);
}

/* ---- shots ------------------------------------------------------------------------------------------------------------------------------- */

void pcere_sample_tasks_finish(void)
{
    static const struct location location = {.flags = 0x42, .text = ";unknown;unknown;0;0;;"};
    struct sample_thread *thread = watched();
    if (!thread || pcere_sample_shot.team < 2)
        return;
    int32_t number = __kmpc_global_thread_num(&location);
    pcere_sample_wait_begin(thread);
    pcere_sample_real.barrier(&location, number);
    pcere_sample_wait_end(thread);
}

/* Where each task makes tasks of several kinds (fib(n - 1) and fib(n - 2)), subtrees are alike that are reached by as many of each, in whatever order. */
static int likeness_order(const void *left, const void *right)
{
    const uint32_t *a = tree.paths[*(const uint32_t *)left], *b = tree.paths[*(const uint32_t *)right];
    uint64_t sum_a = 0, sum_b = 0;
    for (uint32_t i = 0; i < SAMPLE_DEPTH_MOST; i++) {
        sum_a += a[i];
        sum_b += b[i];
    }
    return sum_a != sum_b ? (sum_a < sum_b ? -1 : 1) : path_order(a, b);
}

static const char *strange_words(uint64_t expected)
{
    if (tree.strange == UNTIED)
        return "it has untied or detached tasks";
    if (tree.strange == TOO_MANY)
        return "it has too many tasks";
    return tree.strange || (!tree.census && tree.met != expected) ? "its tasks are not the same in each run" : NULL;
}

static void tree_reset(uint32_t frontier, bool census)
{
    tree.frontier = frontier;
    tree.census = census;
    tree.met = tree.root_children = 0;
    tree.strange = USUAL;
    tree.root = (struct header){.class = SAMPLE_TASK_UPPER};
}

static uint64_t clock_cost(void)
{
    struct sample_clock clock;
    pcere_sample_clock_begin(&clock);
    uint64_t least_ns = UINT64_MAX;
    for (int i = 0; i < CLOCK_TRIES; i++) {
        uint64_t begin_ns = pcere_sample_clock_ns(&clock);
        for (int k = 0; k < 7; k++)
            pcere_sample_clock_ns(&clock);
        uint64_t each_ns = (pcere_sample_clock_ns(&clock) - begin_ns) / 8;
        least_ns = each_ns < least_ns ? each_ns : least_ns;
    }
    pcere_sample_clock_end(&clock);
    return least_ns;
}

const char *pcere_sample_tasks_begin(void (*run)(void *), void *context, const uint64_t *spent_ns, uint64_t most_ns)
{
    uint64_t least = UNITS_LEAST * pcere_sample_shot.team;
    if (!real.alloc || !real.task || !real.wait || !real.group_begin || !real.group_end || !real.begin || !real.complete || !real.loop)
        return "the OpenMP runtime lacks calls that are needed";
    tree.paths = malloc(CENSUS_MOST * sizeof *tree.paths);
    tree.chosen = malloc(CENSUS_MOST);
    tree.order = malloc(CENSUS_MOST * sizeof *tree.order);
    if (!tree.paths || !tree.chosen || !tree.order)
        return "there is no memory for it";
    tree.clock_ns = clock_cost();
    tree.on = true;
    uint64_t best = 0;
    uint32_t depth = 0;
    /* Each level runs all above it, a deep tree nearly whole. */
    for (uint32_t level = 1; level <= SAMPLE_DEPTH_MOST && best < UNITS_GOOD && (!most_ns || *spent_ns < most_ns); level++) {
        tree_reset(level, true);
        run(context);
        const char *strange = strange_words(0);
        if (strange)
            return strange;
        if (!tree.met)
            break;
        if (tree.met > best) {
            best = tree.met;
            depth = level;
        }
    }
    if (best < least)
        return "it has too few tasks to choose from";
    tree_reset(depth, true);              /* the level may not be the last one that was counted */
    run(context);
    if (tree.met != best)
        return "its tasks are not the same in each run";
    tree.units = best;
    qsort(tree.paths, tree.units, sizeof *tree.paths, path_order);
    for (uint32_t i = 0; i < tree.units; i++)
        tree.order[i] = i;
    qsort(tree.order, tree.units, sizeof *tree.order, likeness_order);
    return NULL;
}

void pcere_sample_tasks_shot(const struct sample_shape *shape, uint32_t shot)
{
    uint64_t wanted = (uint64_t)(shape->fraction * (double)tree.units) + 1, least = UNITS_THREAD * pcere_sample_shot.team;
    least = least < UNITS_SHOT && tree.units / UNITS_SHOT_PARTS > least ? tree.units / UNITS_SHOT_PARTS : least;
    wanted = wanted < least ? least : wanted;
    memset(tree.chosen, 0, tree.units);
    tree.chosen_units = wanted;
    for (uint64_t i = 0; i < wanted; i++) {
        uint64_t at = tree.order[pcere_sample_stratum(shape->shots, shot, 0x7461736b, i, wanted, tree.units, 1)];
        tree.chosen[at] = SAMPLE_TASK_UNIT + 1;
    }
    for (uint64_t at = 1; at < tree.units; at++)
        if (tree.chosen[at] == SAMPLE_TASK_UNIT + 1 && !tree.chosen[at - 1])
            tree.chosen[at - 1] = SAMPLE_TASK_WARM + 1;
    tree_reset(tree.frontier, false);
}

const char *pcere_sample_tasks_take(const struct sample_shot *shot, double *ret_time_ns, uint64_t *ret_units, uint64_t *ret_run)
{
    const char *strange = strange_words(tree.units);
    double scale = (double)tree.units / (double)tree.chosen_units, time_ns = 0, units_ns = 0, longest_ns = 0, work_ns = 0, chain_ns = 0;
    if (strange)
        return strange;
    for (uint32_t p = 0; p <= shot->threads[0].phase; p++) {
        double upper_ns = 0, unit_ns = 0, slowest_ns = 0, wait_ns = INFINITY;
        for (uint32_t t = 0; t < shot->team; t++) {
            const struct sample_phase *phase = &shot->threads[t].phases[p];
            upper_ns += phase->work_ns;
            unit_ns += phase->unit_ns;
            slowest_ns = phase->work_ns > slowest_ns ? phase->work_ns : slowest_ns;
            wait_ns = (double)phase->wait_ns < wait_ns ? (double)phase->wait_ns : wait_ns;
        }
        double each_ns = (upper_ns + scale * unit_ns) / shot->team;
        time_ns += (each_ns > slowest_ns ? each_ns : slowest_ns) + wait_ns;
        units_ns += unit_ns;
        work_ns += upper_ns + scale * unit_ns;
    }
    for (uint32_t t = 0; t < shot->team; t++) {
        double own_ns = scale * shot->threads[t].push_ns;
        for (uint32_t p = 0; p <= shot->threads[t].phase; p++)
            own_ns += shot->threads[t].phases[p].work_ns;
        chain_ns = own_ns > chain_ns ? own_ns : chain_ns;
        longest_ns = shot->threads[t].unit_most_ns > longest_ns ? shot->threads[t].unit_most_ns : longest_ns;
    }
    if (units_ns / (double)tree.chosen_units < UNIT_LEAST_NS)
        return "its tasks are too short";
    if (shot->team > 1 && longest_ns > BALANCE_LEAST * work_ns / shot->team)
        return "one subtree of tasks is so long that how threads share them decides";
    if (shot->team > 1 && chain_ns > CHAIN_MOST * work_ns / shot->team)
        return "making its tasks takes one thread as long as threads take to execute them";
    *ret_time_ns = time_ns;
    *ret_units = tree.units;
    *ret_run = tree.chosen_units;
    return NULL;
}

void pcere_sample_tasks_end(void)
{
    tree.on = false;
    free(tree.paths);
    free(tree.chosen);
    free(tree.order);
    tree.order = NULL;
    tree.paths = NULL;
    tree.chosen = NULL;
}
