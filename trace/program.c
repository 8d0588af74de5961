/* trace/program.c - see program.h. */
#include "trace/program.h"
#include "core/text.h"
#include "trace/dependences.h"

#include <stdlib.h>
#include <string.h>

struct nodes { uint32_t *list; size_t count, capacity; };

struct range { uint64_t first, iterations, chunk, run_ns; uint32_t team, phase, loop, place; bool fixed; };

struct task_ends { uint32_t maker, entry, exit; };                  /* nodes */
struct wait { uint32_t task, node; };                               /* what a node waits for */

struct team_nodes { uint32_t fork, join; struct nodes barriers; };  /* [phase] */

struct building {
    const struct timeline *timeline;
    struct program_options options;
    uint32_t usual;              /* threads of the largest team */
    struct graph graph;
    uint32_t *places;            /* [string of the timeline]: of the graph + 1 */
    uint32_t *order;             /* steps by actor, in each one's order */
    size_t *first;               /* [actor]: of `order`; one more at the end */
    struct team_nodes *teams;
    struct task_ends *tasks;
    struct wait *waits;
    size_t wait_count, wait_capacity;
    struct range *ranges;
    size_t range_count, range_capacity;
    struct nodes children;       /* tasks that the actor which is walked made since its last taskwait */
    bool memory;
};

enum walk { WALK_WHOLE, WALK_COPY /* of what every thread does */, WALK_LEAVING /* all but that */ };

struct walking { uint32_t actor, team, place, task, tail, head, phase; enum walk how; bool creates; };   /* head: what the next node follows if there is no tail */

static uint32_t node_new(struct building *building, enum graph_node_kind kind, uint32_t place, uint64_t work_ns)
{
    struct graph_node node = {.id = UINT64_MAX, .kind = (uint8_t)kind};
    uint32_t made = 0;
    uint32_t *known = &building->places[place];
    if (place && !*known && graph_place(&building->graph, building->timeline->strings[place], known))
        ++*known;
    node.place = *known ? *known - 1 : 0;
    if (!building->memory || !graph_node_add(&building->graph, &node, &made))
        return building->memory = false, 0;
    building->graph.work_ns[made] = work_ns;
    return made;
}

static void edge_new(struct building *building, uint32_t from, uint32_t to)
{
    if (from != GRAPH_NONE && to != GRAPH_NONE && from != to && building->memory)
        building->memory = graph_edge_add(&building->graph, from, to, 0);
}

static uint32_t team_place(const struct building *building, uint32_t team) { return building->timeline->teams[team].place; }

static uint32_t fork_of(struct building *building, uint32_t team)
{
    struct team_nodes *nodes = &building->teams[team];
    if (nodes->fork == GRAPH_NONE) {
        nodes->fork = node_new(building, GRAPH_REGION, team_place(building, team), 0);
        nodes->join = node_new(building, GRAPH_WAIT, team_place(building, team), 0);
        edge_new(building, nodes->fork, nodes->join);
    }
    return nodes->fork;
}

static uint32_t barrier_of(struct building *building, uint32_t team, uint32_t phase, bool make)
{
    struct nodes *barriers = &building->teams[team].barriers;
    if (phase >= barriers->count && !make)
        return GRAPH_NONE;
    if (phase >= barriers->count) {
        if (!array_reserve(&barriers->list, &barriers->capacity, phase + 1u, sizeof *barriers->list))
            return building->memory = false, GRAPH_NONE;
        memset(barriers->list + barriers->count, 0xff, (phase + 1 - barriers->count) * sizeof *barriers->list);
        barriers->count = phase + 1;
    }
    if (barriers->list[phase] == GRAPH_NONE && make) {
        uint32_t node = node_new(building, GRAPH_WAIT, team_place(building, team), 0);
        barriers->list[phase] = node;
    }
    return barriers->list[phase];
}

/* What a phase of a team begins and ends with. */
static uint32_t phase_begin(struct building *building, uint32_t team, uint32_t phase)
{
    uint32_t barrier = phase ? barrier_of(building, team, phase - 1, false) : GRAPH_NONE;
    return barrier != GRAPH_NONE ? barrier : fork_of(building, team);
}

static uint32_t phase_end(struct building *building, uint32_t team, uint32_t phase)
{
    uint32_t barrier = barrier_of(building, team, phase, false);
    if (barrier != GRAPH_NONE)
        return barrier;
    fork_of(building, team);
    return building->teams[team].join;
}

/* ---- a task's own steps ----------------------------------------------------------------------------------------------------- */

static uint32_t chain(struct building *building, struct walking *walking, enum graph_node_kind kind, uint64_t work_ns)
{
    uint32_t node = node_new(building, kind, walking->place, work_ns);
    edge_new(building, walking->tail != GRAPH_NONE ? walking->tail : walking->head, node);
    if (walking->task != TIMELINE_NONE && building->memory && building->tasks[walking->task].entry == GRAPH_NONE) {
        building->tasks[walking->task].entry = node;
        building->graph.nodes[node].id = building->timeline->tasks[walking->task].id;
        building->graph.work_ns[node] += building->options.task_ns;
    }
    return walking->tail = node;
}

static void wait_add(struct building *building, uint32_t task, uint32_t node)
{
    if (!array_reserve(&building->waits, &building->wait_capacity, building->wait_count + 1, sizeof *building->waits)) {
        building->memory = false;
        return;
    }
    building->waits[building->wait_count++] = (struct wait){task, node};
}

static void run_take(struct building *building, struct walking *walking, const struct timeline_step *step)
{
    bool every = !step->alone && !walking->creates;
    if (step->number && walking->task == TIMELINE_NONE) {            /* a range of iterations */
        if (walking->how == WALK_COPY)
            return;
        struct range range = {step->first, step->iterations, step->chunk, step->run_ns, walking->team, walking->phase, step->number, step->place, step->fixed};
        if (!array_reserve(&building->ranges, &building->range_capacity, building->range_count + 1, sizeof range))
            building->memory = false;
        else
            building->ranges[building->range_count++] = range;
        return;
    }
    if ((walking->how == WALK_COPY && !every) || (walking->how == WALK_LEAVING && every))
        return;
    chain(building, walking, walking->task != TIMELINE_NONE ? GRAPH_TASK : GRAPH_BODY, step->run_ns);
}

static void create_take(struct building *building, struct walking *walking, uint32_t task)
{
    if (walking->tail == GRAPH_NONE)
        chain(building, walking, walking->task != TIMELINE_NONE ? GRAPH_TASK : GRAPH_BODY, 0);
    building->tasks[task].maker = walking->tail;
    uint32_t flags = building->timeline->tasks[task].flags, size = building->timeline->teams[walking->team].size;
    if (flags & TASK_WAITS || (flags & TASK_UNDEFERRED && size > 1))
        wait_add(building, task, chain(building, walking, GRAPH_WAIT, 0));
    else if (!array_reserve(&building->children.list, &building->children.capacity, building->children.count + 1, sizeof task))
        building->memory = false;
    else
        building->children.list[building->children.count++] = task;
}

static void taskwait_take(struct building *building, struct walking *walking)
{
    uint32_t node = chain(building, walking, GRAPH_WAIT, 0);
    for (size_t i = 0; i < building->children.count && building->memory; i++)
        wait_add(building, building->children.list[i], node);
    building->children.count = 0;
}

/* Time on a device, or of moving data, is taken off nothing here: what the thread waits meanwhile is no run of its own. */
static void outside_take(struct building *building, struct walking *walking, const struct timeline_step *step)
{
    uint32_t place = walking->place;
    walking->place = step->place;
    uint32_t node = chain(building, walking, step->kind == STEP_DATA ? GRAPH_DATA : GRAPH_TARGET, step->run_ns);
    if (building->memory && building->graph.edge_count && building->graph.to[building->graph.edge_count - 1] == node)
        building->graph.edge_bytes[building->graph.edge_count - 1] = step->kind == STEP_DATA ? step->first : 0;
    walking->place = place;
}

static void step_take(struct building *building, struct walking *walking, const struct timeline_step *step)
{
    uint32_t barrier;
    if (step->kind != STEP_RUN && step->kind != STEP_BARRIER && walking->how == WALK_COPY)
        return;
    switch ((enum step_kind)step->kind) {
    case STEP_RUN: run_take(building, walking, step); break;
    case STEP_CREATE: create_take(building, walking, step->number); break;
    case STEP_TASKWAIT: taskwait_take(building, walking); break;
    case STEP_DATA: case STEP_TARGET: outside_take(building, walking, step); break;
    case STEP_FORK:
        edge_new(building, walking->tail != GRAPH_NONE ? walking->tail : walking->head, fork_of(building, step->number));
        walking->tail = building->teams[step->number].join;
        break;
    case STEP_BARRIER:
        barrier = barrier_of(building, walking->team, step->number, true);
        edge_new(building, walking->tail != GRAPH_NONE ? walking->tail : walking->head, barrier);
        walking->head = barrier;
        walking->tail = GRAPH_NONE;
        walking->phase = step->number + 1;
        break;
    }
}

static void actor_walk(struct building *building, uint32_t number, enum walk how, uint64_t before_ns)
{
    const struct timeline *timeline = building->timeline;
    const struct timeline_actor *actor = &timeline->actors[number];
    struct walking walking = {.actor = number, .team = actor->team, .task = actor->task ? actor->task - 1 : TIMELINE_NONE, .tail = GRAPH_NONE, .head = GRAPH_NONE, .how = how};
    bool member = !actor->task && !actor->initial;
    walking.place = actor->task ? timeline->tasks[actor->task - 1].place : member ? team_place(building, actor->team) : 0;
    if (member)
        walking.head = fork_of(building, actor->team);
    if (before_ns)
        chain(building, &walking, GRAPH_BODY, before_ns);
    building->children.count = 0;
    size_t seen = building->first[number];              /* up to here `creates` is known of the phase */
    for (size_t i = building->first[number]; i < building->first[number + 1] && building->memory; i++) {
        if (i >= seen) {
            walking.creates = false;
            for (seen = i; seen < building->first[number + 1] && timeline->steps[building->order[seen]].kind != STEP_BARRIER; seen++)
                walking.creates |= timeline->steps[building->order[seen]].kind == STEP_CREATE || timeline->steps[building->order[seen]].kind == STEP_FORK;
            seen++;
        }
        step_take(building, &walking, &timeline->steps[building->order[i]]);
    }
    if (actor->task) {
        if (walking.tail == GRAPH_NONE)
            chain(building, &walking, GRAPH_TASK, 0);
        building->tasks[actor->task - 1].exit = walking.tail;
    } else if (member) {
        edge_new(building, walking.tail != GRAPH_NONE ? walking.tail : walking.head, building->teams[actor->team].join);
    }
}

static bool is_scaled(const struct building *building, uint32_t team)
{
    return building->options.threads && building->timeline->teams[team].place && building->timeline->teams[team].size == building->usual;
}

/* The runtime's own, for target tasks: the initial task that made their team, and the implicit tasks of it. */
static bool is_helper(const struct building *building, uint32_t number)
{
    const struct timeline *timeline = building->timeline;
    const struct timeline_actor *actor = &timeline->actors[number];
    if (actor->task)
        return false;
    if (!actor->initial)
        return timeline_team_helps(&timeline->teams[actor->team]);
    for (size_t i = building->first[number]; i < building->first[number + 1]; i++) {
        const struct timeline_step *step = &timeline->steps[building->order[i]];
        if (step->kind == STEP_FORK && timeline_team_helps(&timeline->teams[step->number]))
            return true;
    }
    return false;
}

/* What the program did before the runtime made its first thread an initial task: it is told when the first construct is met. Of several programs in one timeline nobody knows. */
static uint64_t unseen_ns(const struct building *building, uint32_t number)
{
    const struct timeline *timeline = building->timeline;
    size_t programs = 0;
    for (size_t i = 0; i < timeline->process_count; i++)
        programs += timeline->processes[i].home == i;
    if (programs != 1 || !timeline->has_bounds || building->first[number] == building->first[number + 1])
        return 0;
    int64_t begin_ns = timeline->steps[building->order[building->first[number]]].begin_ns;
    return begin_ns > timeline->begin_ns ? (uint64_t)(begin_ns - timeline->begin_ns) : 0;
}

static void actors_walk(struct building *building)
{
    const struct timeline *timeline = building->timeline;
    uint32_t wanted = building->options.threads;
    bool begun = false;
    for (uint32_t i = 0; i < timeline->actor_count && building->memory; i++) {
        const struct timeline_actor *actor = &timeline->actors[i];
        if (is_helper(building, i))
            continue;
        bool scaled = !actor->task && !actor->initial && is_scaled(building, actor->team);
        actor_walk(building, i, scaled && actor->member >= wanted ? WALK_LEAVING : WALK_WHOLE, actor->initial && !begun ? unseen_ns(building, i) : 0);
        begun |= actor->initial;
        for (uint32_t copy = actor->member + building->usual; scaled && copy < wanted && building->memory; copy += building->usual)
            actor_walk(building, i, WALK_COPY, 0);
    }
}

/* ---- loops ------------------------------------------------------------------------------------------------------------------ */

static int by_loop(const void *a, const void *b)
{
    const struct range *left = a, *right = b;
    if (left->team != right->team)
        return left->team < right->team ? -1 : 1;
    if (left->phase != right->phase)
        return left->phase < right->phase ? -1 : 1;
    if (left->loop != right->loop)
        return left->loop < right->loop ? -1 : 1;
    return left->first < right->first ? -1 : left->first > right->first;
}

/* Work of the first `until` iterations of ranges that follow each other, those of a range being alike. */
static double work_until(const struct range *ranges, size_t count, double until)
{
    double work_ns = 0;
    for (size_t i = 0; i < count && until > 0; i++) {
        double here = ranges[i].iterations ? (double)ranges[i].iterations : 1;
        work_ns += (double)ranges[i].run_ns * (until < here ? until / here : 1);
        until -= here;
    }
    return work_ns;
}

/* In how many parts of equal length the iterations are given out; 0: in those that were traced. A team of one is given all of a dynamic loop at once. */
static uint32_t parts_of(const struct building *building, const struct range *ranges, double iterations)
{
    uint32_t threads = building->options.threads;
    if (!is_scaled(building, ranges->team) || (!ranges->fixed && building->usual > 1))
        return 0;
    if (ranges->fixed)
        return threads;
    double chunks = iterations / (ranges->chunk ? (double)ranges->chunk : 1), most = 16.0 * threads;
    return threads == 1 || chunks < 1 ? 1 : (uint32_t)(chunks < most ? chunks : most);
}

static void loop_add(struct building *building, const struct range *ranges, size_t count)
{
    uint32_t team = ranges->team, begin = phase_begin(building, team, ranges->phase), end = phase_end(building, team, ranges->phase);
    uint32_t loop = node_new(building, GRAPH_LOOP, ranges->place, 0);
    double all = 0, done_ns = 0;
    for (size_t i = 0; i < count; i++)
        all += ranges[i].iterations ? (double)ranges[i].iterations : 1;
    uint32_t parts = parts_of(building, ranges, all);
    edge_new(building, begin, loop);
    if (!parts) {
        for (size_t i = 0; i < count && building->memory; i++) {
            uint32_t chunk = node_new(building, GRAPH_CHUNK, ranges->place, ranges[i].run_ns);
            edge_new(building, loop, chunk);
            edge_new(building, chunk, end);
        }
        return;
    }
    for (uint32_t i = 0; i < parts && building->memory; i++) {
        double until_ns = work_until(ranges, count, all * (i + 1) / parts);
        uint32_t chunk = node_new(building, GRAPH_CHUNK, ranges->place, (uint64_t)(until_ns + 0.5) - (uint64_t)(done_ns + 0.5));
        done_ns = until_ns;
        edge_new(building, loop, chunk);
        edge_new(building, chunk, end);
    }
}

static void loops_add(struct building *building)
{
    if (building->range_count)
        qsort(building->ranges, building->range_count, sizeof *building->ranges, by_loop);
    for (size_t i = 0, next; i < building->range_count && building->memory; i = next) {
        const struct range *one = &building->ranges[i];
        for (next = i + 1; next < building->range_count; next++) {
            const struct range *other = &building->ranges[next];
            if (other->team != one->team || other->phase != one->phase || other->loop != one->loop)
                break;
        }
        loop_add(building, one, next - i);
    }
}

/* ---- edges between tasks ---------------------------------------------------------------------------------------------------- */

static enum pcere_status tasks_join(struct building *building, struct pcere_error *error)
{
    const struct timeline *timeline = building->timeline;
    struct graph declared = {0};
    for (uint32_t i = 0; i < timeline->task_count && building->memory; i++) {
        struct task_ends *ends = &building->tasks[i];
        if (ends->entry == GRAPH_NONE) {
            ends->exit = ends->entry = node_new(building, timeline->tasks[i].flags & TASK_WAITS ? GRAPH_WAIT : GRAPH_TASK, timeline->tasks[i].place, 0);
            if (building->memory)
                building->graph.nodes[ends->entry].id = timeline->tasks[i].id;
        }
        edge_new(building, ends->maker, ends->entry);
    }
    for (size_t i = 0; i < building->wait_count; i++)
        edge_new(building, building->tasks[building->waits[i].task].exit, building->waits[i].node);
    for (uint32_t i = 0; i < timeline->task_count && building->memory; i++)
        if (timeline->teams[timeline->tasks[i].team].id)
            edge_new(building, building->tasks[i].exit, phase_end(building, timeline->tasks[i].team, timeline->tasks[i].phase));
    enum pcere_status status = dependences_graph(timeline, &declared, error);
    uint32_t *task_of = status == PCERE_OK ? malloc((declared.count + 1) * sizeof *task_of) : NULL, task = 0;
    if (status == PCERE_OK && !task_of)
        building->memory = false;
    for (size_t i = 0; task_of && i < declared.count; i++) {
        while (task < timeline->task_count && !timeline_task_counts(&timeline->tasks[task]))
            task++;
        task_of[i] = declared.nodes[i].id != UINT64_MAX ? task++ : TIMELINE_NONE;
    }
    for (size_t i = 0; task_of && i < declared.edge_count && building->memory; i++)
        if (task_of[declared.from[i]] != TIMELINE_NONE && task_of[declared.to[i]] != TIMELINE_NONE)
            edge_new(building, building->tasks[task_of[declared.from[i]]].exit, building->tasks[task_of[declared.to[i]]].entry);
    free(task_of);
    graph_done(&declared);
    return status;
}

/* ---- the whole -------------------------------------------------------------------------------------------------------------- */

struct sorted { int64_t begin_ns; uint32_t actor, step; };

static int by_actor(const void *a, const void *b)
{
    const struct sorted *left = a, *right = b;
    if (left->actor != right->actor)
        return left->actor < right->actor ? -1 : 1;
    if (left->begin_ns != right->begin_ns)
        return left->begin_ns < right->begin_ns ? -1 : 1;
    return left->step < right->step ? -1 : left->step > right->step;
}

static bool steps_order(struct building *building)
{
    const struct timeline *timeline = building->timeline;
    struct sorted *sorted = malloc((timeline->step_count + 1) * sizeof *sorted);
    if (!sorted)
        return false;
    for (uint32_t i = 0; i < timeline->step_count; i++) {
        sorted[i] = (struct sorted){timeline->steps[i].begin_ns, timeline->steps[i].actor, i};
        building->first[timeline->steps[i].actor + 1]++;
    }
    qsort(sorted, timeline->step_count, sizeof *sorted, by_actor);
    for (size_t i = 0; i < timeline->actor_count; i++)
        building->first[i + 1] += building->first[i];
    for (size_t i = 0; i < timeline->step_count; i++)
        building->order[i] = sorted[i].step;
    free(sorted);
    return true;
}

uint32_t program_threads(const struct timeline *timeline)
{
    uint32_t most = timeline->step_count ? 1 : 0;
    for (size_t i = 0; i < timeline->team_count && timeline->step_count; i++)
        most = timeline->teams[i].place && timeline->teams[i].size > most ? timeline->teams[i].size : most;
    return most;
}

static int by_size(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

uint64_t program_gap_ns(const struct timeline *timeline)
{
    uint64_t *gaps = malloc((timeline->span_count + 1) * sizeof *gaps), median_ns = 0;
    size_t count = 0, last = SIZE_MAX;
    for (size_t i = 0; gaps && i < timeline->span_count; i++) {
        const struct span *span = &timeline->spans[i], *before = last != SIZE_MAX ? &timeline->spans[last] : NULL;
        bool waits = span->kind == SPAN_BARRIER || span->kind == SPAN_TASKWAIT || span->kind == SPAN_TASKGROUP;
        if (span->kind != SPAN_TASK) {
            last = waits ? last : SIZE_MAX;
            continue;
        }
        if (before && before->thread == span->thread && before->task != span->task)
            gaps[count++] = (uint64_t)(span->begin_ns - before->end_ns);
        last = i;
    }
    if (count) {
        qsort(gaps, count, sizeof *gaps, by_size);
        median_ns = gaps[count / 2];
    }
    free(gaps);
    return median_ns;
}

enum pcere_status program_graph(const struct timeline *timeline, const struct program_options *options, struct graph *ret_graph, struct pcere_error *error)
{
    struct building building = {
        .timeline = timeline, .options = *options, .usual = program_threads(timeline), .graph.has_work = true, .memory = true,
        .places = calloc(timeline->string_count + 1, sizeof *building.places), .order = malloc((timeline->step_count + 1) * sizeof *building.order),
        .first = calloc(timeline->actor_count + 2, sizeof *building.first), .teams = calloc(timeline->team_count + 1, sizeof *building.teams),
        .tasks = malloc((timeline->task_count + 1) * sizeof *building.tasks),
    };
    enum pcere_status status = PCERE_OK;
    bool memory = building.places && building.order && building.first && building.teams && building.tasks && steps_order(&building);
    for (size_t i = 0; memory && i < timeline->team_count; i++)
        building.teams[i].fork = building.teams[i].join = GRAPH_NONE;
    if (memory) {
        memset(building.tasks, 0xff, (timeline->task_count + 1) * sizeof *building.tasks);
        actors_walk(&building);
        loops_add(&building);
        status = tasks_join(&building, error);
    }
    memory = memory && building.memory;
    for (size_t i = 0; building.teams && i < timeline->team_count; i++)
        free(building.teams[i].barriers.list);
    free(building.places);
    free(building.order);
    free(building.first);
    free(building.teams);
    free(building.tasks);
    free(building.waits);
    free(building.ranges);
    free(building.children.list);
    if (!memory && status == PCERE_OK)
        status = pcere_fail_memory(error, "the program's graph");
    if (status == PCERE_OK)
        *ret_graph = building.graph;
    else
        graph_done(&building.graph);
    return status;
}
