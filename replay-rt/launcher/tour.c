/* replay-rt/launcher/tour.c - makes and runs tours: who takes part, in which order, and what comes back; see tour.h. */
#include "replay-rt/launcher/tour.h"

#include "core/text.h"
#include "replay-rt/launcher/policy.h"
#include "replay-rt/launcher/sampling.h"
#include "replay-rt/launcher/tour_moves.h"
#include "replay-rt/launcher/warming.h"
#include "replay-rt/ranges.h"

#include <stdlib.h>
#include <string.h>

#define TOURS_MOST 4u
#define EVENTS_MOST 100000u
#define PROCESS_NS 8000000u               /* as tour_choose.c has it */
#define WALKS_ALONE 5u                    /* that a codelet takes by itself: two untimed, three timed */
#define PAGE_LAY_NS 600u
#define BUDGET_LEAST_NS 2000000u          /* short regions are timed more than twice */
#define WEIGHT_PARTS 240u                 /* of what the classes took in vivo: for timed rounds */

#define SHOTS_PAGE_PARTS 10u              /* of what a region changes: pages that shots need */
#define DISBELIEF_PARTS 2u                /* of regions that ran often, so many shots in one were not believed, and cost a whole replay besides */

#define EXPECTED_PARTS 25u                /* a walk that takes longer than expected by more than such a part is made again */

enum { TIMED_LEAST = 2, TIMED_SHORT = 4, TIMED_MOST = 10 };     /* TIMED_SHORT: in a short program, where walks cost next to nothing, and one that is disturbed counts for half of two */

struct candidate {
    const struct replay_target *target;
    size_t index;                         /* of the target */
    uint64_t alone_ns;                    /* what it costs by itself */
    bool done;
};

struct tours {
    struct replay_session *session;
    struct candidate *candidates;
    size_t candidate_count;
    struct predecessor *order;            /* the program's invocations */
    struct tour_event *events;            /* the same */
    size_t event_count;
    struct tour_times *times;
};

struct tour {
    struct predecessor stops[PLAN_STEPS_MAX + 1];     /* the last one is the process's own region */
    size_t members[PLAN_STEPS_MAX + 1];               /* candidates that are timed there, or TOUR_NOBODY */
    bool continues[PLAN_STEPS_MAX + 1];               /* what runs before it here ran before it in the program */
    size_t count;
    struct store_codelet codelet;         /* the last one's */
    struct codelet_memory memory;
    struct plan_steps steps;
};

/* ---- who might --------------------------------------------------------------------------------------------------------------------- */

static bool options_allow(const struct replay_options *options)
{
    return !options->warmup && !options->repeat && !(options->precision_ratio > 0) && !options->budget_ns && !options->target;
}

/* What is sampled, or cannot run with so many threads, is no member of a tour; sampled is what rounds take long of, too, beside what its class took. *ret_sampled: by itself it would be. */
static bool threads_allow(const struct replay_session *session, const struct replay_target *target, const struct store_codelet *codelet, bool *ret_sampled)
{
    const struct replay_options *options = session->options;
    *ret_sampled = false;
    for (size_t i = 0; i < options->thread_count; i++) {
        struct plan_policy policies[2] = {{0}};
        uint32_t threads = options->threads[i];
        if (replay_threads_check(target, codelet, replay_team(codelet, store_manifest(session->store), threads), NULL))
            return false;
        for (unsigned toured = 0; toured < 2; toured++) {
            char *refusal = NULL;
            const struct sampling_subject subject = {.class_ns = replay_class_ns_at(target->class, codelet, threads), .whole_runs = toured ? TOUR_ROUNDS : 0};
            if (sampling_choose(options, codelet, threads, &subject, &policies[toured], &refusal, NULL))
                return false;
            free(refusal);
        }
        *ret_sampled |= policies[0].sample_shots > 0;
        if (policies[1].sample_shots)
            return false;
    }
    return true;
}

/* By itself: whole, or by shots, which may not be believed. */
static uint64_t alone_ns(const struct tours *tours, const struct replay_target *target, const struct store_codelet *codelet, uint64_t before_ns, bool sampled)
{
    uint64_t whole_ns = PROCESS_NS + WALKS_ALONE * (target->class->representative_ns + before_ns), pages = 0;
    for (size_t i = 0; i < codelet->after_count; i++)
        pages += codelet->after[i].count;
    return sampled ? PROCESS_NS + pages * tours->session->page_ns / SHOTS_PAGE_PARTS + whole_ns / DISBELIEF_PARTS : whole_ns;
}

static enum pcere_status candidate_look(struct tours *tours, const struct replay_target *target, size_t index, struct pcere_error *error)
{
    struct replay_session *session = tours->session;
    struct store_codelet codelet;
    struct codelet_memory memory = {0};
    struct warming warming = {0};
    if (target->class->nested || target->region->invocations <= POLICY_OFTEN || target->class->representative <= 1
        || store_codelet_load(session->store, target->class->codelet, &codelet, NULL))
        return PCERE_OK;
    enum pcere_status status = warming_begin(session, target, &codelet, &memory, &warming, error);
    bool sampled = false;
    bool fits = !status && warming.predecessor_count && !codelet.does_io
                && !warming.subject.after_itself && (warming.kind == WARMUP_PRECEDED || warming.too_long)
                && threads_allow(session, target, &codelet, &sampled);
    uint64_t before_ns = fits && warming.kind == WARMUP_PRECEDED ? warming_before_ns(&warming) : 0;
    if (fits)
        tours->candidates[tours->candidate_count++] = (struct candidate){
            .target = target, .index = index, .alone_ns = alone_ns(tours, target, &codelet, before_ns, sampled)};
    warming_done(&warming);
    store_codelet_done(&codelet);
    return status == PCERE_SYSTEM ? status : PCERE_OK;
}

static size_t candidate_of(const struct tours *tours, const struct store_class *class)
{
    for (size_t i = 0; i < tours->candidate_count; i++)
        if (!tours->candidates[i].done && tours->candidates[i].target->class == class)
            return i;
    return TOUR_NOBODY;
}

static void events_fill(struct tours *tours)
{
    const struct store_manifest *manifest = store_manifest(tours->session->store);
    for (size_t i = 0; i < tours->event_count; i++) {
        const struct predecessor *at = &tours->order[i];
        tours->events[i] = (struct tour_event){
            .class = (size_t)(uintptr_t)at->class,
            .candidate = candidate_of(tours, at->class),
            .time_ns = at->class->representative_ns,
            .lay_ns = at->class->memory_bytes / manifest->page_size * PAGE_LAY_NS / 4,
            .shift = (int64_t)(at->invocation - at->class->representative),
        };
    }
}

/* ---- one tour ---------------------------------------------------------------------------------------------------------------------- */

/* The one with the most memory: the others find room in its process. */
static size_t stop_largest(const struct tours *tours, size_t first, size_t count, bool closed)
{
    size_t largest = count - 1;
    uint64_t largest_bytes = 0;
    for (size_t i = closed ? 0 : 1; i < count; i++) {
        uint64_t bytes = tours->order[first + i].class->memory_bytes;
        if (tours->events[first + i].candidate == TOUR_NOBODY || bytes < largest_bytes)
            continue;
        largest = i;
        largest_bytes = bytes;
    }
    return largest;
}

static void tour_lay_out(const struct tours *tours, size_t first, size_t count, bool closed, struct tour *tour)
{
    size_t last = stop_largest(tours, first, count, closed);
    for (size_t i = 0; i < count; i++) {
        size_t at = (last + 1 + i) % count;
        size_t candidate = tours->events[first + at].candidate;
        tour->stops[i] = tours->order[first + at];
        tour->members[i] = at || closed ? candidate : TOUR_NOBODY;
        tour->continues[i] = at || closed;
        for (size_t j = 0; j < i; j++)
            if (tour->members[j] == tour->members[i])
                tour->members[j] = TOUR_NOBODY;       /* the later one counts: the process's own region is the last */
    }
    tour->count = count;
}

/* Of all stops. What any of them is known to write, as far as the process has it from the start, is made its own at once. */
static bool changes_join(struct tour *tour, const struct store_codelet *const *codelets, uint64_t page_bytes)
{
    struct plan_range *ranges = NULL;
    size_t count = 0, capacity = 0;
    bool room = true;
    for (size_t i = 0; room && i < tour->count; i++)
        for (size_t j = 0; room && j < codelets[i]->after_count; j++)
            if ((room = array_reserve(&ranges, &capacity, count + 1, sizeof *ranges)))
                ranges[count++] = (struct plan_range){codelets[i]->after[j].address, codelets[i]->after[j].count * page_bytes};
    room = room && codelet_memory_change(&tour->memory, ranges, plan_ranges_merge(ranges, count), page_bytes);
    free(ranges);
    return room;
}

/* What stops change, and what that leaves to be laid down between them; where some only touch memory, walks find the latter out. */
static enum pcere_status stops_join(const struct tours *tours, struct tour *tour, bool all_run, struct pcere_error *error)
{
    struct store_codelet others[PLAN_STEPS_MAX];
    const struct store_codelet *codelets[PLAN_STEPS_MAX + 1];
    uint64_t page_bytes = store_manifest(tours->session->store)->page_size;
    size_t loaded = 0;
    enum pcere_status status = PCERE_OK;
    for (; !status && loaded + 1 < tour->count; loaded += !status) {
        status = store_codelet_load(tours->session->store, tour->stops[loaded].class->codelet, &others[loaded], error);
        codelets[loaded] = &others[loaded];
    }
    codelets[tour->count - 1] = &tour->codelet;
    if (!status && (!changes_join(tour, codelets, page_bytes)
                    || (all_run && !tour_moves_find(&tour->memory, codelets, tour->continues[tour->count - 1], page_bytes, &tour->steps))))
        status = pcere_fail_memory(error, "the pages of a codelet");
    while (loaded > 0)
        store_codelet_done(&others[--loaded]);
    return status;
}

static enum pcere_status tour_prepare(struct tours *tours, struct tour *tour, struct pcere_error *error)
{
    struct replay_session *session = tours->session;
    const struct predecessor *own = &tour->stops[tour->count - 1];
    size_t touched = 0;
    enum pcere_status status = store_codelet_load(session->store, own->class->codelet, &tour->codelet, error);
    if (status)
        return status;
    status = build_unit_check(&session->build, tour->codelet.unit_id, error);
    if (!status)
        status = images_check(&session->images, &tour->codelet, error);
    if (!status)
        status = codelet_memory_new(session->store, &session->pool, &tour->codelet, &session->images, false, &tour->memory, error);
    if (!status)
        status = predecessors_prepare(session, &tour->codelet, &tour->memory, tour->stops, tour->count - 1, &tour->steps, &touched, error);
    for (size_t i = 0; !status && i + 1 < tour->count; i++) {
        if (tour->steps.items[i].touched)
            tour->members[i] = TOUR_NOBODY;
        tour->steps.items[i].timed = tour->members[i] != TOUR_NOBODY;
        tour->steps.items[i].continues = !touched && tour->continues[i];
    }
    tour->continues[tour->count - 1] &= !touched;
    return status ? status : stops_join(tours, tour, !touched, error);
}

static void tour_done(struct tour *tour)
{
    plan_steps_done(&tour->steps);
    codelet_memory_done(&tour->memory);
    store_codelet_done(&tour->codelet);
}

static size_t members_count(const struct tour *tour)
{
    size_t count = 0;
    for (size_t i = 0; i < tour->count; i++)
        count += tour->members[i] != TOUR_NOBODY;
    return count;
}

/* Of all members together; divided by the threads that the capture did not have. */
static uint64_t classes_ns(const struct tours *tours, const struct tour *tour, uint32_t threads)
{
    uint64_t sum_ns = 0;
    for (size_t i = 0; i < tour->count; i++)
        if (tour->members[i] != TOUR_NOBODY)
            sum_ns += replay_class_ns_at(tours->candidates[tour->members[i]].target->class, &tour->codelet, threads);
    return sum_ns;
}

/* A step's samples, as if its region had been the process's own. */
static void step_take(const struct plan_result *from, size_t step, struct plan_result *ret_result)
{
    const struct plan_step_samples *samples = &from->steps[step];
    uint64_t count = samples->count < PLAN_STEP_SAMPLES ? samples->count : PLAN_STEP_SAMPLES;
    ret_result->sample_count = count;
    memcpy(ret_result->samples_ns, samples->samples_ns, count * sizeof *samples->samples_ns);
    memcpy(ret_result->cpu_ns, samples->cpu_ns, count * sizeof *samples->cpu_ns);
    memcpy(ret_result->switches, samples->switches, count * sizeof *samples->switches);
    memcpy(ret_result->waits_ns, samples->waits_ns, count * sizeof *samples->waits_ns);
    memcpy(ret_result->works_ns, samples->works_ns, count * sizeof *samples->works_ns);
}

/* Each member bears an equal share of the cost, the last one what is left. */
static enum pcere_status results_fill(struct tours *tours, const struct tour *tour, const struct plan_result *from, size_t thread, uint64_t cost_ns,
                                      struct pcere_error *error)
{
    const struct replay_options *options = tours->session->options;
    size_t members = members_count(tour);
    struct plan_result *own = malloc(sizeof *own);
    enum pcere_status status = own ? PCERE_OK : pcere_fail_memory(error, "samples");
    for (size_t i = 0; !status && i < tour->count; i++) {
        if (tour->members[i] == TOUR_NOBODY)
            continue;
        const struct candidate *candidate = &tours->candidates[tour->members[i]];
        struct replay_result *result = &tours->times[candidate->index].results[thread];
        *own = *from;
        if (i + 1 < tour->count)
            step_take(from, i, own);
        for (unsigned p = 0; p < REPLAY_PHASES; p++)
            own->phases_ns[p] = from->phases_ns[p] / members;
        status = replay_result_begin(tours->session, candidate->target, options->threads[thread], "replay", result, error);
        if (!status)
            status = replay_samples_take(result, own, speed_full_ns(&tours->session->speed, options->threads[thread]), error);
        if (!status)
            status = replay_whole_note(tours->session, candidate->target, &result->sample, error);
        result->sample.cost_ns += cost_ns / members + (i + 1 == tour->count ? cost_ns % members : 0);
    }
    free(own);
    return status;
}

static bool all_measured(const struct tour *tour, const struct plan_result *result)
{
    bool all = result->sample_count > 0;
    for (size_t i = 0; i + 1 < tour->count; i++)
        all = all && (tour->members[i] == TOUR_NOBODY || result->steps[i].count > 0);
    return all;
}

/* One timed walk says nothing of what disturbs it. Where a single thread is as fast as the program says it should be, nothing did that matters; with more, what disturbs them is more, and a walk is
 * cheaper: two of them are the least. */
static void walk_expect(const struct tours *tours, const struct tour *tour, uint32_t threads, struct plan_policy *policy)
{
    uint64_t captured = tour->codelet.capture_threads ? tour->codelet.capture_threads : 1;
    for (size_t i = 0; threads == 1 && i < tour->count; i++)
        if (tour->members[i] != TOUR_NOBODY) {
            uint64_t most_ns = tours->candidates[tour->members[i]].target->class->representative_ns * captured;
            policy->walk_ns += most_ns + most_ns / EXPECTED_PARTS;
            if (!i)
                policy->walk_first_ns = policy->walk_ns;
        }
}

/* *ret_ran false: it cannot, and each is measured by itself. */
static enum pcere_status tour_run(struct tours *tours, const struct tour *tour, size_t thread, uint64_t prepare_ns, bool *ret_ran, struct pcere_error *error)
{
    struct replay_session *session = tours->session;
    uint32_t threads = session->options->threads[thread];
    uint64_t start_ns = replay_session_clock_ns(), wall_ns = 0;
    uint64_t budget_ns = classes_ns(tours, tour, threads) / WEIGHT_PARTS;
    bool brief = policy_is_short(store_manifest(session->store)->wall_ns);
    struct plan_policy policy = {.task = PLAN_MEASURE, .learn = 1, .warmups = 1, .repeat_least = brief ? TIMED_SHORT : TIMED_LEAST, .repeat_most = TIMED_MOST};
    policy.budget_ns = budget_ns > BUDGET_LEAST_NS ? budget_ns : BUDGET_LEAST_NS;
    policy.starts = replay_starts_take(session, threads);
    policy.continues = tour->continues[tour->count - 1];
    policy.watch_speed = 1;
    policy.helpers = session->helpers;
    policy.await_ns = speed_await_ns(policy.budget_ns);
    if (!brief)
        walk_expect(tours, tour, threads, &policy);
    struct plan_file plan = {.fd = -1};
    enum pcere_status status = PCERE_OK;
    session->next_threads = thread + 1 < session->options->thread_count ? session->options->threads[thread + 1] : 0;
    if (!replay_plan_take(session, &tour->memory, &tour->steps, threads, &policy, &plan))
        status = plan_file_new(&tour->codelet, store_manifest(session->store), &session->pool, &tour->memory, &session->images, &policy, &tour->steps, &plan,
                               error);
    if (status)
        return status;
    *ret_ran = !replay_session_process(session, &tour->codelet, &plan, threads, &wall_ns, NULL) && all_measured(tour, &plan.plan->result);
    if (*ret_ran)
        status = results_fill(tours, tour, &plan.plan->result, thread, replay_session_clock_ns() - start_ns + (thread ? 0 : prepare_ns), error);
    replay_plan_leave(session, &tour->memory, &tour->steps, threads, &plan);
    return status;
}

static enum pcere_status tour_measure(struct tours *tours, struct tour *tour, uint64_t prepare_ns, struct pcere_error *error)
{
    size_t thread_count = tours->session->options->thread_count;
    enum pcere_status status = PCERE_OK;
    bool ran = members_count(tour) > 1;
    for (size_t i = 0; !status && ran && i < tour->count; i++) {
        if (tour->members[i] == TOUR_NOBODY)
            continue;
        struct tour_times *times = &tours->times[tours->candidates[tour->members[i]].index];
        times->after = tour->stops[(i ? i : tour->count) - 1].region->name;
        if (!(times->results = calloc(thread_count, sizeof *times->results)))
            status = pcere_fail_memory(error, "results");
    }
    for (size_t i = 0; !status && ran && i < thread_count; i++)
        status = tour_run(tours, tour, i, prepare_ns, &ran, error);
    replay_stay_end(tours->session);
    for (size_t i = 0; i < tour->count; i++)
        if (tour->members[i] != TOUR_NOBODY && (status || !ran))
            tour_times_done(&tours->times[tours->candidates[tour->members[i]].index], thread_count);
    return status;
}

/* *ret_more: another one may be worth it. Whoever took part, or could have, takes part in no other. */
static enum pcere_status tour_next(struct tours *tours, bool *ret_more, struct pcere_error *error)
{
    size_t first = 0, count = 0;
    bool closed = false;
    uint64_t start_ns = replay_session_clock_ns(), *costs_ns = calloc(tours->candidate_count + 1, sizeof *costs_ns);
    if (!costs_ns)
        return pcere_fail_memory(error, "a tour");
    for (size_t i = 0; i < tours->candidate_count; i++)
        costs_ns[i] = tours->candidates[i].alone_ns;
    events_fill(tours);
    *ret_more = tour_choose(tours->events, tours->event_count, costs_ns, tours->candidate_count, PLAN_STEPS_MAX + 1, &first, &count, &closed);
    free(costs_ns);
    if (!*ret_more)
        return PCERE_OK;
    struct tour tour = {0};
    tour_lay_out(tours, first, count, closed, &tour);
    for (size_t i = 0; i < count; i++)
        if (tour.members[i] != TOUR_NOBODY)
            tours->candidates[tour.members[i]].done = true;
    struct pcere_error failure = {0};
    enum pcere_status status = tour_prepare(tours, &tour, &failure);
    if (!status)
        status = tour_measure(tours, &tour, replay_session_clock_ns() - start_ns, &failure);
    tour_done(&tour);
    if (status != PCERE_SYSTEM)
        return PCERE_OK;              /* what is wrong shows again where each is measured by itself */
    *error = failure;
    return status;
}

enum pcere_status tours_measure(struct replay_session *session, const struct replay_target *targets, size_t target_count, struct tour_times *times,
                                struct pcere_error *error)
{
    struct tours tours = {.session = session, .times = times};
    if (target_count < 2 || !options_allow(session->options))
        return PCERE_OK;
    enum pcere_status status = replay_series_need(session, error);
    if (status)
        return status == PCERE_SYSTEM ? status : PCERE_OK;
    status = predecessors_order(session->store, session->series, session->series_count, &tours.order, &tours.event_count, error);
    tours.candidates = calloc(target_count, sizeof *tours.candidates);
    tours.events = calloc(tours.event_count + 1, sizeof *tours.events);
    if (!status && (!tours.candidates || !tours.events))
        status = pcere_fail_memory(error, "a tour");
    for (size_t i = 0; !status && tours.event_count <= EVENTS_MOST && i < target_count; i++)
        status = candidate_look(&tours, &targets[i], i, error);
    bool more = tours.candidate_count > 1;
    for (unsigned i = 0; !status && more && i < TOURS_MOST; i++)
        status = tour_next(&tours, &more, error);
    free(tours.candidates);
    free(tours.events);
    free(tours.order);
    return status;
}

void tour_times_done(struct tour_times *times, size_t thread_count)
{
    for (size_t i = 0; times->results && i < thread_count; i++)
        replay_result_done(&times->results[i]);
    free(times->results);
    *times = (struct tour_times){0};
}
