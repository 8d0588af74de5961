/* capture-rt/target/choice.c - which invocations are worth a stop, decided before they begin.
 *
 * Four contexts foretell how long an invocation will take: its argument words and call path, either of them alone, and what the region's last
 * two invocations took. Whichever of them was wrong least so far is believed. A stop is worth it where nothing that takes
 * about as long was captured, and such invocations weigh enough for what a stop costs; the first invocation of a region could be its last.
 * Stops in quick succession cost least, since little was written in between: what comes often waits, and is captured together with others.
 */
#include "capture-rt/target/target.h"

#include <sys/resource.h>

#define FIRST_ERROR 8u                  /* of a context that was met once */
#define SURE_DOUBT 6u                   /* magnitudes that a context is off at most for its word to be taken */
#define SETTLED_COUNT 3u                /* so many of a kind come before the one that represents it */
#define LONG_TIMES 8u                   /* one of the first of its kind: where it takes this many times what the stop costs */
#define ALONE_TIMES 16u                 /* where invocations take this many times what a stop costs, each may have one that may be like no other */
#define FREE_TIMES 4u                   /* a class that took this many times what a stop costs may have it, whatever is left in the purse, or before it settled */
#define MOVED_NEAR 8u                   /* magnitudes, half an octave: such as begin like a captured one take another time than that one took by chance */
#define COARSE 8u                       /* half octaves: so that the same pattern is recognised although times scatter */
#define CAPTURED_ONE_IN 3u              /* invocations of a region at most, */
#define CAPTURED_MORE 5u                /* but for two at its beginning */
#define PATH_WORDS 64u                  /* of the stack, looked through for return addresses */
#define FIRST_STACK_BYTES ((uintptr_t)128 << 20)        /* below the first stack's end the kernel maps nothing else; farther away may be a stack of the program's own (makecontext), of which */
#define PAGE_BYTES 4096u                /* ... only the page is known to be there in which it is */
#define NEAR_NS 2000000u                /* after a stop, in which little is written: another one costs less */
#define HURRY_PART 4u                   /* of what is granted at once: until so much is spent, nothing waits */
#define KEPT_PART 2u                    /* what turns out to weigh nothing is forgotten when more than this part of its purse is spent */
#define LIGHT_FROM_NS 100000000u        /* when so much time has passed, */
#define LIGHT_AFTER 4u                  /* and a region was entered so often, */
#define LIGHT_PART 2u                   /* it is left alone while it weighs less than this part of what is worth a stop */
#define GATHER_TIMES 4u                 /* such regions get a stop by themselves when this many times what it costs passed in them */
#define LEAST_HOLDS_NS 20000000u        /* so long it is left as it is what such regions have to weigh */
#define GATHER_TRIES 3u                 /* invocations of one that turned out to be short beside what it takes on average */
#define FIRST_STOP_NS 2000000u
#define LATER_STOP_NS 1000000u
#define STOP_AROUND_NS 100000u          /* of a stop, beside what the tracer does in it */
#define BYTES_PER_NS 4u                 /* that the first stop reads */
#define PLACES (CAPTURE_MAGNITUDES / CAPTURE_MAGNITUDE_STEP)

extern char *__libc_stack_end __attribute__((weak));

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

/* Without frame pointers, and without the 10 us that unwinding takes: the depth of the stack, and what looks like return addresses nearby. Words
 * left over in dead parts of frames make one path look like several; then the context is seldom met again, and others are believed. */
static uint64_t path_hash(const struct capture_log *log, uintptr_t stack_pointer)
{
    uint64_t hash = stack_pointer;
    uintptr_t end = (uintptr_t)__libc_stack_end;
    const uintptr_t *words = (const uintptr_t *)stack_pointer;
    if (stack_pointer >= end || stack_pointer % sizeof *words)
        return hash;                    /* another thread's stack, whose end is not known */
    if (end - stack_pointer >= FIRST_STACK_BYTES)
        end = stack_pointer + PAGE_BYTES - stack_pointer % PAGE_BYTES;
    uintptr_t count = (end - stack_pointer) / sizeof *words;
    for (uintptr_t i = 0; i < PATH_WORDS && i < count; i++)
        if (words[i] >= log->text_low && words[i] < log->text_high)
            hash = mix(hash, words[i]);
    return hash;
}

/* ---- contexts -------------------------------------------------------------------------------------------------------------- */

static struct capture_context *context_at(struct capture_log *log, uint64_t key)
{
    return &log->contexts[key % CAPTURE_CONTEXTS];
}

static uint32_t tag_of(uint64_t key)
{
    return (uint32_t)(key >> 32) | 1;
}

/* choice->magnitude is set where something is known. */
static bool foretell(struct capture_log *log, struct target_choice *choice)
{
    uint32_t best = UINT32_MAX;
    for (int i = 0; i < TARGET_CONTEXTS; i++) {
        const struct capture_context *context = context_at(log, choice->keys[i]);
        if (context->tag != tag_of(choice->keys[i]) || context->count == 0)
            continue;
        uint32_t doubt = context->error + (context->count < 2 ? CAPTURE_MAGNITUDE_STEP : 0u);
        if (doubt < best) {
            best = doubt;
            choice->magnitude = context->magnitude;
        }
    }
    choice->sure = best <= SURE_DOUBT;
    return best != UINT32_MAX;
}

static void context_learn(struct capture_log *log, uint64_t key, uint32_t magnitude, bool usual)
{
    struct capture_context *context = context_at(log, key);
    bool known = context->tag == tag_of(key);
    if (!known)
        *context = (struct capture_context){.tag = tag_of(key), .error = FIRST_ERROR};
    else if (!usual && context->count) {
        if (magnitude < context->magnitude)     /* what was disturbed takes longer, never less */
            context->magnitude = (uint16_t)magnitude;
        return;
    }
    if (context->count) {
        uint32_t off = magnitude > context->magnitude ? magnitude - context->magnitude : context->magnitude - magnitude;
        uint32_t error = (3u * context->error + (off > 255 ? 255 : off) + 1) / 4;
        context->error = (uint8_t)error;
    }
    context->magnitude = (uint16_t)magnitude;
    context->count = (uint8_t)(context->count < 255 ? context->count + usual : 255);
    if (!usual)
        context->count = 1;
}

/* ---- what it costs --------------------------------------------------------------------------------------------------------- */

/* Of this process in memory, at most so far. Not from /proc: reading that would count as the program's own input. */
static uint64_t resident_most_bytes(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (uint64_t)usage.ru_maxrss * 1024 : 0;
}

static uint64_t stop_cost_ns(const struct target_state *state, bool near)
{
    uint64_t begin_ns = near && state->near_cost_ns ? state->near_cost_ns : state->begin_cost_ns;
    if (begin_ns)
        return begin_ns + (state->log->after ? state->end_cost_ns : 0);
    return FIRST_STOP_NS + resident_most_bytes() / BYTES_PER_NS;
}

/* Of the program's own time. */
static uint64_t elapsed_of(const struct target_state *state, uint64_t now_ns)
{
    return now_ns - state->attached_ns - state->log->stall_ns;
}

/* `share`: of the time so far as well, not only of what is granted at once. `part`: one so-manieth of it. */
static bool affordable(const struct target_state *state, enum capture_purse purse, bool share, unsigned part, uint64_t cost_ns, uint64_t elapsed_ns)
{
    const struct capture_policy *policy = &state->log->policy;
    uint64_t granted_ns = policy->purses[purse].ns / part;
    if (share)
        granted_ns += elapsed_ns / 1000000 * policy->purses[purse].ppm;
    return state->log->spent_ns[purse] + cost_ns <= granted_ns;
}

/* By the tracer's CPU time: on a busy machine both wait, and the program would have waited without a stop. */
void target_choice_paid(struct target_state *state, const struct target_choice *choice, bool begins)
{
    uint64_t paid_ns = state->stop_cpu_ns + STOP_AROUND_NS;
    uint64_t *spent = &state->log->spent_ns[choice->purse];
    uint64_t *cost = !begins ? &state->end_cost_ns : choice->near ? &state->near_cost_ns : &state->begin_cost_ns;
    *spent += paid_ns;
    if (!*cost)             /* the first one reads everything, later ones do not */
        *cost = paid_ns < LATER_STOP_NS ? paid_ns : LATER_STOP_NS;
    else
        *cost = (3 * *cost + paid_ns) / 4;
    if (!state->end_cost_ns)
        state->end_cost_ns = state->begin_cost_ns / 2;
    state->stopped_ns = target_clock_ns();
    if (!begins || choice->near)
        return;
    state->waiting_ns = 0;
    state->gathering_ns = 0;
}

/* ---- decisions ------------------------------------------------------------------------------------------------------------- */

static uint32_t apart(uint32_t magnitude, uint32_t other)
{
    return magnitude > other ? magnitude - other : other - magnitude;
}

/* As struct capture_history has it. */
static uint32_t covered_tag(uint64_t key)
{
    return key ? tag_of(key) & CAPTURE_COVERED_TAG : 0;
}

static bool is_settled(const struct capture_context *context, uint32_t tag)
{
    return tag == (context->tag & CAPTURE_COVERED_TAG) && context->count >= SETTLED_COUNT;
}

/* Do such as begin so always take another time by now? */
static bool takes_another(const struct capture_context *context, uint32_t tag, uint32_t magnitude)
{
    return is_settled(context, tag) && context->error <= SURE_DOUBT && apart(context->magnitude, magnitude) > MOVED_NEAR;
}

/* A captured one took as long as others by chance, by cold caches say, before such as begin like it had settled. It stands for none of those others. */
static bool has_moved(const struct capture_log *log, const struct capture_history *history, uint32_t i)
{
    return takes_another(&log->contexts[history->covered[i].context], history->covered[i].tag, history->covered[i].magnitude);
}

static bool is_covered(const struct capture_log *log, const struct capture_history *history, uint32_t magnitude, bool settled)
{
    for (uint32_t i = 0; i < history->covered_count; i++)
        if ((history->covered[i].settled || !settled) && apart(history->covered[i].magnitude, magnitude) <= CAPTURE_MAGNITUDE_NEAR && !has_moved(log, history, i))
            return true;
    return false;
}

/* `key`: of what it begins with; 0: that tells nothing. What was captured when that had settled never moves: the machine may be slower for a while. */
static void cover(struct capture_log *log, struct capture_history *history, uint64_t key, uint32_t magnitude, bool settled)
{
    uint32_t at = 0;
    for (; at < history->covered_count; at++)
        if (history->covered[at].magnitude == magnitude && (history->covered[at].settled || !settled))
            break;
    if (at == CAPTURE_COVERED_MAX || (at < history->covered_count && !has_moved(log, history, at)))
        return;
    history->covered[at].magnitude = (uint16_t)magnitude;
    history->covered[at].context = (uint16_t)(key % CAPTURE_CONTEXTS);
    history->covered[at].tag = (is_settled(context_at(log, key), covered_tag(key)) ? 0 : covered_tag(key)) & CAPTURE_COVERED_TAG;
    history->covered[at].settled = settled;
    history->covered_count += at == history->covered_count;
}

/* Of those that took about as long. */
static void like(const struct capture_history *history, uint32_t magnitude, uint64_t *ret_count, uint64_t *ret_ns)
{
    uint32_t place = magnitude / CAPTURE_MAGNITUDE_STEP;
    *ret_count = *ret_ns = 0;
    for (uint32_t i = place ? place - 1 : 0; i <= place + 1 && i < PLACES; i++) {
        *ret_count += history->like[i].count;
        *ret_ns += history->like[i].time_ns;
    }
}

/* True until as much time went by in what waits as a stop costs. */
static bool is_put_off(struct target_state *state, const struct target_choice *choice, uint64_t cost_ns)
{
    const struct capture_policy *policy = &state->log->policy;
    if (choice->near || !policy->weight_ppm || state->log->spent_ns[CAPTURE_PURSE_HEAVY] < policy->purses[CAPTURE_PURSE_HEAVY].ns / HURRY_PART)
        return false;
    state->waiting_ns += capture_magnitude_ns(choice->magnitude);
    return state->waiting_ns < cost_ns;
}

static bool has_some(const struct capture_history *history)
{
    return history->covered_count || history->captured >= GATHER_TRIES || history->unwanted;
}

#define LEAST_PLACE (64 / CAPTURE_MAGNITUDE_STEP)       /* no time is of a lesser magnitude */

/* What a region has to have taken so far to be captured beside others: the heaviest ones that have nothing, as many as can be paid now (of the last that are
 * alike, those that come first), and no more than it takes for the others to take left_ppm of the time of all. To a quarter octave. */
static uint64_t least_find(const struct target_state *state, uint64_t now_ns)
{
    const struct capture_log *log = state->log;
    uint64_t all_ns = 0, without_ns = 0, cost_ns = 0, each_ns = stop_cost_ns(state, true);
    struct { uint64_t count, time_ns; } at[PLACES] = {{0, 0}};
    uint32_t regions = __atomic_load_n(&log->region_count, __ATOMIC_ACQUIRE), place = PLACES;
    for (uint32_t i = 0; i < regions && i < CAPTURE_REGIONS_MAX; i++) {
        uint64_t time_ns = __atomic_load_n(&log->counts[i].time_ns, __ATOMIC_RELAXED), where = capture_magnitude(time_ns) / CAPTURE_MAGNITUDE_STEP;
        all_ns += time_ns;
        if (log->counts[i].gathered || has_some(&log->histories[i]))
            continue;
        at[where].count++;
        at[where].time_ns += time_ns;
        without_ns += time_ns;
    }
    while (place > LEAST_PLACE && without_ns > all_ns / 1000000 * log->policy.left_ppm &&
           affordable(state, CAPTURE_PURSE_LIGHT, true, 1, cost_ns + each_ns, elapsed_of(state, now_ns))) {
        without_ns -= at[--place].time_ns;
        cost_ns += at[place].count * each_ns;
    }
    return place < PLACES ? capture_magnitude_ns(place * CAPTURE_MAGNITUDE_STEP) : UINT64_MAX;
}

static void least_see(struct target_state *state, uint64_t now_ns)
{
    if (now_ns - __atomic_load_n(&state->least_at_ns, __ATOMIC_RELAXED) < LEAST_HOLDS_NS)
        return;
    __atomic_store_n(&state->least_at_ns, now_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&state->least_ns, least_find(state, now_ns), __ATOMIC_RELAXED);
}

/* Asked before each invocation of a light region, whose history lies in no cache. */
static bool is_gathered(const struct target_state *state, uint32_t region)
{
    struct capture_counts *counts = &state->log->counts[region];
    if (counts->gathered || counts->time_ns < __atomic_load_n(&state->least_ns, __ATOMIC_RELAXED))
        return true;
    bool some = has_some(&state->log->histories[region]);
    __atomic_store_n(&counts->gathered, some, __ATOMIC_RELAXED);
    return some;
}

/* One invocation of each light region that is not among the lightest, so that what has no codelet does not add up. It is worth no stop of its own: it is
 * captured when the program was just stopped for another one, or when much time has passed in such regions together. */
static bool gather(struct target_state *state, struct target_choice *choice, uint64_t now_ns)
{
    choice->near = state->stopped_ns && now_ns - state->stopped_ns < NEAR_NS;
    uint64_t cost_ns = stop_cost_ns(state, choice->near);
    bool due = choice->near || __atomic_load_n(&state->gathering_ns, __ATOMIC_RELAXED) >= GATHER_TIMES * cost_ns;
    least_see(state, now_ns);
    if (!due || is_gathered(state, choice->region))
        return false;
    choice->purse = CAPTURE_PURSE_LIGHT;
    choice->settled = true;
    return affordable(state, CAPTURE_PURSE_LIGHT, true, 1, cost_ns, elapsed_of(state, now_ns));
}

/* By itself. */
static bool is_worth(struct target_state *state, struct target_choice *choice, uint64_t invocation, bool known, uint64_t now_ns)
{
    const struct capture_history *history = &state->log->histories[choice->region];
    choice->near = state->stopped_ns && now_ns - state->stopped_ns < NEAR_NS;
    uint64_t elapsed_ns = elapsed_of(state, now_ns);
    uint64_t weight_ppm = state->log->policy.weight_ppm, count, spent_ns, cost_ns = stop_cost_ns(state, choice->near);
    choice->purse = CAPTURE_PURSE_EARLY;
    if (invocation == 1)
        return affordable(state, CAPTURE_PURSE_EARLY, true, 1, cost_ns, elapsed_ns);
    if (!known)
        return false;
    like(history, choice->magnitude, &count, &spent_ns);
    spent_ns += capture_magnitude_ns(choice->magnitude);
    bool heavy = spent_ns >= elapsed_ns / 1000000 * weight_ppm;
    choice->settled = count >= SETTLED_COUNT;
    choice->purse = heavy ? CAPTURE_PURSE_HEAVY : CAPTURE_PURSE_EARLY;
    bool free = choice->settled && heavy && spent_ns >= FREE_TIMES * cost_ns;
    if (!heavy && elapsed_ns >= LIGHT_FROM_NS)
        return false;
    if (choice->settled)            /* heavy, but not so much yet as a stop costs: only from what is granted at once */
        return (free || affordable(state, choice->purse, !heavy || 2 * spent_ns >= cost_ns, heavy ? 1 : KEPT_PART, cost_ns, elapsed_ns)) &&
               !is_put_off(state, choice, cost_ns);
    if (!heavy || spent_ns < FREE_TIMES * cost_ns || is_covered(state->log, history, choice->magnitude, false))
        return false;           /* one that comes later represents its kind better, and takes this one's place */
    return affordable(state, CAPTURE_PURSE_HEAVY, capture_magnitude_ns(choice->magnitude) >= LONG_TIMES * cost_ns, 2, cost_ns, elapsed_ns);
}

static bool worth(struct target_state *state, struct target_choice *choice, uint64_t invocation, bool known, uint64_t now_ns)
{
    return is_worth(state, choice, invocation, known, now_ns) ||
           (invocation > LIGHT_AFTER && elapsed_of(state, now_ns) >= LIGHT_FROM_NS && gather(state, choice, now_ns));
}

/* Beside invocations that take long a stop costs little: one that was not surely foretold to be like a captured one has it, however many were captured
 * before, since what it takes is known too late. */
static bool is_worth_alone(struct target_state *state, struct target_choice *choice, uint64_t invocation)
{
    const struct capture_log *log = state->log;
    const struct capture_history *history = &log->histories[choice->region];
    if (invocation == 1 || (choice->known && choice->sure && is_covered(log, history, choice->magnitude, false)))
        return false;           /* most */
    uint64_t region_ns = log->counts[choice->region].time_ns + log->counts[choice->region].nested_ns, count, like_ns;
    uint64_t long_ns = ALONE_TIMES * stop_cost_ns(state, false), told_ns = choice->known ? capture_magnitude_ns(choice->magnitude) : 0;
    if (region_ns / (invocation - 1) < long_ns && told_ns < long_ns)
        return false;
    uint64_t now_ns = target_clock_ns(), elapsed_ns = elapsed_of(state, now_ns);
    choice->near = state->stopped_ns && now_ns - state->stopped_ns < NEAR_NS;
    choice->purse = CAPTURE_PURSE_ALONE;
    like(history, choice->magnitude, &count, &like_ns);
    choice->settled = count >= SETTLED_COUNT;
    return region_ns >= elapsed_ns / 1000000 * log->policy.weight_ppm &&
           affordable(state, CAPTURE_PURSE_ALONE, true, 1, stop_cost_ns(state, choice->near), elapsed_ns);
}

static bool begin(struct target_state *state, struct target_choice *choice, struct capture_record *record, uintptr_t stack_pointer)
{
    struct capture_log *log = state->log;
    struct capture_history *history = &log->histories[record->region];
    uint64_t region = mix(1, record->region), path = mix(path_hash(log, stack_pointer), region);
    *choice = (struct target_choice){.made = true, .region = record->region,
        .keys = {mix(path, record->words_hash), mix(region, record->words_hash), mix(path, 1),
                 mix(mix(region, history->last / COARSE), history->before_last / COARSE)}};
    bool known = foretell(log, choice);
    record->caller = (uint16_t)(path >> 48);
    record->expected = (uint16_t)(known && choice->sure ? choice->magnitude : 0);
    bool often = log->policy.weight_ppm && CAPTURED_ONE_IN * history->captured > record->invocation + CAPTURED_MORE;
    bool covered = record->invocation > 1 && known && is_covered(log, history, choice->magnitude, true);
    if (history->unwanted || history->covered_count >= CAPTURE_COVERED_MAX)
        return false;
    choice->known = known;
    return (!often && !covered && worth(state, choice, record->invocation, known, target_clock_ns())) ||
           is_worth_alone(state, choice, record->invocation);
}

bool target_choice_keep(struct target_state *state, const struct target_choice *choice, uint64_t time_ns)
{
    const struct capture_log *log = state->log;
    uint64_t elapsed_ns = elapsed_of(state, target_clock_ns());
    if (choice->purse != CAPTURE_PURSE_EARLY || time_ns >= elapsed_ns / 1000000 * log->policy.weight_ppm)
        return true;
    return affordable(state, CAPTURE_PURSE_EARLY, true, KEPT_PART, state->end_cost_ns, elapsed_ns);
}

/* Without what it waited for a processor that others had. */
static uint64_t own_ns(const struct capture_record *record)
{
    uint64_t time_ns = record->end_ns - record->begin_ns;
    return record->cpu_ns && record->cpu_ns < time_ns ? record->cpu_ns : time_ns;
}

/* What takes long beside a stop is hardly disturbed by one: it tells of those to come, though many are captured one after the other. */
static void end(struct target_state *state, const struct target_choice *choice, struct capture_record *record, bool captured, bool kept)
{
    struct capture_log *log = state->log;
    struct capture_history *history = &log->histories[choice->region];
    uint64_t time_ns = own_ns(record);
    uint32_t magnitude = capture_magnitude(time_ns);
    bool usual = !(record->flags & (CAPTURE_RECORD_NEAR | CAPTURE_RECORD_STOPPED)) || time_ns >= ALONE_TIMES * stop_cost_ns(state, false);
    for (int i = 0; i < TARGET_CONTEXTS; i++)
        context_learn(log, choice->keys[i], magnitude, usual);
    if (captured) {
        bool foretold = choice->known && (choice->sure || choice->purse != CAPTURE_PURSE_ALONE);
        bool by_chance = foretold && takes_another(context_at(log, choice->keys[0]), covered_tag(choice->keys[0]), magnitude);
        if (kept && record->invocation > 1 && !by_chance)   /* the first one touches memory first: nothing is known of the others yet */
            cover(log, history, choice->keys[0], magnitude, choice->settled);
        if (kept && foretold)           /* taken to be what was foretold, unless it is faster */
            cover(log, history, choice->keys[0], choice->magnitude, choice->settled && choice->magnitude <= magnitude + CAPTURE_MAGNITUDE_NEAR);
        history->captured++;
    } else {
        history->like[magnitude / CAPTURE_MAGNITUDE_STEP].count++;
        history->like[magnitude / CAPTURE_MAGNITUDE_STEP].time_ns += time_ns;
        if (!has_some(history))
            __atomic_fetch_add(&state->gathering_ns, time_ns, __ATOMIC_RELAXED);
    }
    if (usual || !history->last) {
        history->before_last = history->last;
        history->last = (uint16_t)magnitude;
    }
    uint64_t elapsed_ns = elapsed_of(state, record->end_ns);
    state->light_ns = elapsed_ns < LIGHT_FROM_NS ? 0 : elapsed_ns / 1000000 * log->policy.weight_ppm / LIGHT_PART;
}

/* Not even all of its invocations together are worth a stop: it is neither asked nor learnt about. */
static bool is_light(const struct target_state *state, const struct capture_record *record)
{
    const struct capture_counts *region = &state->log->counts[record->region];
    return record->invocation > LIGHT_AFTER && region->time_ns + region->nested_ns < __atomic_load_n(&state->light_ns, __ATOMIC_RELAXED);
}

static bool begin_light(struct target_state *state, struct target_choice *choice, const struct capture_record *record)
{
    *choice = (struct target_choice){.made = true, .light = true, .region = record->region};
    return gather(state, choice, target_clock_ns());
}

/* Threads that come at the same time go without: neither decided about nor learnt from. */
bool target_choice_begin(struct target_state *state, struct target_choice *choice, struct capture_record *record, uintptr_t stack_pointer)
{
    choice->light = is_light(state, record);
    choice->made = !(choice->light && is_gathered(state, record->region)) && pthread_mutex_trylock(&state->choosing) == 0;
    bool stop = choice->made && (choice->light ? begin_light(state, choice, record) : begin(state, choice, record, stack_pointer));
    if (choice->made)
        pthread_mutex_unlock(&state->choosing);
    return stop;
}

/* One that is short beside the others represents nothing: what takes the region's time is longer. */
static void end_light(struct target_state *state, const struct target_choice *choice, const struct capture_record *record, bool captured)
{
    struct capture_history *history = &state->log->histories[choice->region];
    const struct capture_counts *counts = &state->log->counts[choice->region];
    uint64_t time_ns = own_ns(record);
    if (captured && 2 * time_ns >= counts->time_ns / record->invocation)
        cover(state->log, history, 0, capture_magnitude(time_ns), true);
    history->captured += captured;
    least_see(state, record->end_ns);
    if (!captured && choice->made)
        __atomic_fetch_add(&state->gathering_ns, time_ns, __ATOMIC_RELAXED);
}

/* One that is captured and not kept is forgotten: its region has nothing by it. */
void target_choice_end(struct target_state *state, const struct target_choice *choice, struct capture_record *record, bool captured, bool kept)
{
    if (choice->light)
        end_light(state, choice, record, captured);
    else if (!choice->made)
        record->flags |= CAPTURE_RECORD_NEAR;
    else if (pthread_mutex_trylock(&state->choosing) == 0) {
        end(state, choice, record, captured, kept);
        pthread_mutex_unlock(&state->choosing);
    }
}
