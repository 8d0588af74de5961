/* replay-rt/launcher/predecessors.c - see predecessors.h. */
#include "replay-rt/launcher/predecessors.h"

#include "core/text.h"
#include "include/pcere/bisect.h"
#include "replay-rt/ranges.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define REPEATS_FACTOR 2                  /* what classes of steadily changing work span */

/* ---- which ----------------------------------------------------------------------------------------------------------------------- */

struct event { uint64_t begin_ns, end_ns, number, representative; const char *region; };

static int event_order(const void *left, const void *right)
{
    const struct event *a = left, *b = right;
    return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

/* What ended before the invocation began, ascending; *ret_found: the invocation is among those that the store lists. */
static enum pcere_status events_before(const struct store_series *series, size_t series_count, const struct replay_target *target,
                                       struct event **ret_events, size_t *ret_count, struct pcere_error *error)
{
    uint64_t begin_ns = 0;
    size_t total = 0, count = 0;
    for (size_t i = 0; i < series_count; i++) {
        total += series[i].count;
        for (size_t j = 0; j < series[i].count && !strcmp(series[i].region, target->region->name); j++)
            if (series[i].number[j] == target->class->representative)
                begin_ns = series[i].begin_ns[j];
    }
    struct event *events = calloc(total + 1, sizeof *events);
    if (!events)
        return pcere_fail_memory(error, "the invocations");
    for (size_t i = 0; i < series_count; i++)
        for (size_t j = 0; j < series[i].count; j++) {
            const struct event event = {series[i].begin_ns[j], series[i].begin_ns[j] + series[i].time_ns[j], series[i].number[j],
                                        series[i].representative[j], series[i].region};
            if (event.end_ns >= event.begin_ns && event.end_ns <= begin_ns && event.begin_ns < begin_ns)
                events[count++] = event;
        }
    qsort(events, count, sizeof *events, event_order);
    *ret_events = events;
    *ret_count = count;
    return PCERE_OK;
}

static bool predecessor_is(const struct store_manifest *manifest, const struct event *event, struct predecessor *ret_predecessor)
{
    for (size_t i = 0; i < manifest->region_count; i++) {
        const struct store_region *region = &manifest->regions[i];
        for (size_t j = 0; !strcmp(region->name, event->region) && j < region->class_count; j++) {
            const struct store_class *class = &region->classes[j];
            if (class->representative != event->representative || !class->captured || !class->codelet || class->nested)
                continue;
            *ret_predecessor = (struct predecessor){.region = region, .class = class, .invocation = event->number, .time_ns = event->end_ns - event->begin_ns};
            return true;
        }
    }
    return false;
}

bool predecessor_repeats(const struct predecessor *predecessor, const struct replay_target *target)
{
    uint64_t own_ns = target->class->representative_ns;
    bool alike = predecessor->time_ns <= REPEATS_FACTOR * own_ns && own_ns <= REPEATS_FACTOR * predecessor->time_ns;
    return predecessor->class == target->class || (predecessor->region == target->region && alike);
}

enum pcere_status predecessors_order(struct store *store, const struct store_series *series, size_t series_count, struct predecessor **ret_order,
                                     size_t *ret_count, struct pcere_error *error)
{
    size_t total = 0, count = 0, event_count = 0;
    for (size_t i = 0; i < series_count; i++)
        total += series[i].count;
    struct event *events = calloc(total + 1, sizeof *events);
    struct predecessor *order = calloc(total + 1, sizeof *order);
    if (!events || !order) {
        free(events);
        free(order);
        return pcere_fail_memory(error, "the invocations");
    }
    for (size_t i = 0; i < series_count; i++)
        for (size_t j = 0; j < series[i].count; j++)
            events[event_count++] = (struct event){.begin_ns = series[i].begin_ns[j], .end_ns = series[i].begin_ns[j] + series[i].time_ns[j],
                                                   .number = series[i].number[j], .representative = series[i].representative[j], .region = series[i].region};
    qsort(events, event_count, sizeof *events, event_order);
    for (size_t i = 0; i < event_count; i++)
        count += predecessor_is(store_manifest(store), &events[i], &order[count]);
    free(events);
    *ret_order = order;
    *ret_count = count;
    return PCERE_OK;
}

enum pcere_status predecessors_find(struct store *store, const struct store_series *series, size_t series_count, const struct replay_target *target,
                                    struct predecessor *ret_predecessors, size_t *ret_count, struct pcere_error *error)
{
    const struct store_manifest *manifest = store_manifest(store);
    struct event *events = NULL;
    size_t event_count = 0, count = 0;
    uint64_t written_bytes = 0;
    struct predecessor found[PREDECESSORS_MOST];
    enum pcere_status status = events_before(series, series_count, target, &events, &event_count, error);
    for (size_t i = event_count; !status && i-- > 0 && count < PREDECESSORS_MOST && written_bytes < PREDECESSORS_WRITTEN_BYTES;) {
        struct store_codelet codelet;
        if (!predecessor_is(manifest, &events[i], &found[count]))
            continue;
        struct pcere_error failure;
        enum pcere_status loaded = store_codelet_load(store, found[count].class->codelet, &codelet, &failure);
        if (loaded == PCERE_DATA)       /* damaged: as if it had not been captured, since its own replays say so */
            continue;
        if (loaded) {
            *error = failure;
            status = loaded;
            break;
        }
        for (size_t j = 0; j < codelet.after_count; j++)
            found[count].written_bytes += codelet.after[j].count * manifest->page_size;
        written_bytes += found[count++].written_bytes;
        store_codelet_done(&codelet);
    }
    free(events);
    for (size_t i = 0; !status && i < count; i++)
        ret_predecessors[i] = found[count - 1 - i];
    if (!status)
        *ret_count = count;
    return status;
}

/* ---- what a plan says of them ---------------------------------------------------------------------------------------------------- */

static bool steps_copy_add(struct plan_steps *steps, const struct plan_copy *copy)
{
    if (!array_reserve(&steps->copies, &steps->copy_capacity, steps->copy_count + 1, sizeof *steps->copies))
        return false;
    steps->copies[steps->copy_count++] = *copy;
    return true;
}

static bool is_mapped(const struct codelet_memory *memory, uint64_t start, uint64_t end)
{
    for (size_t i = 0; i < memory->mapping_count && start < end; i++)
        if (memory->mappings[i].start <= start && start < memory->mappings[i].end)
            start = memory->mappings[i].end;
    return start >= end;
}

static bool is_same(const struct plan_copy *a, const struct plan_copy *b)
{
    return a->zero ? b->zero : !b->zero && a->source - a->address == b->source - b->address;
}

/* Pages of `part` that are not as in `here`, which covers it; NULL: all of them. */
static bool part_add(const struct plan_copy *part, const struct plan_copy *here, uint64_t page_bytes, struct plan_steps *steps)
{
    if (!here || part->zero || here->zero)
        return steps_copy_add(steps, part);
    for (uint64_t i = 0, same = 0; i <= part->pages; i++) {       /* those from `same` to `i` differ */
        uint64_t at = part->address + i * page_bytes;
        if (i < part->pages && !page_pool_same(steps->pool, part->source + i * page_bytes, here->source + (at - here->address)))
            continue;
        const struct plan_copy differing = {part->address + same * page_bytes, i - same, part->source + same * page_bytes, 0};
        if (differing.pages && !steps_copy_add(steps, &differing))
            return false;
        same = i + 1;
    }
    return true;
}

/* Pages of `other` that are not as in `memory`. *ret_fits: all of them have a place there. */
static bool differing_add(const struct codelet_memory *memory, const struct codelet_memory *other, uint64_t page_bytes, struct plan_steps *steps,
                          bool *ret_fits)
{
    size_t own = 0;
    for (size_t i = 0; i < other->before_count && *ret_fits; i++) {
        const struct plan_copy *copy = &other->before[i];
        uint64_t end = copy->address + copy->pages * page_bytes;
        for (uint64_t at = copy->address; at < end && *ret_fits;) {
            while (own < memory->before_count && memory->before[own].address + memory->before[own].pages * page_bytes <= at)
                own++;
            const struct plan_copy *here = own < memory->before_count ? &memory->before[own] : NULL;
            bool covered = here && here->address <= at;
            uint64_t stop = covered ? here->address + here->pages * page_bytes : here && here->address < end ? here->address : end;
            stop = stop < end ? stop : end;
            const struct plan_copy part = {at, (stop - at) / page_bytes, copy->source + (at - copy->address), copy->zero};
            if (!covered || !is_same(copy, here)) {
                *ret_fits = is_mapped(memory, at, stop);
                if (*ret_fits && !part_add(&part, covered ? here : NULL, page_bytes, steps))
                    return false;
            }
            at = stop;
        }
    }
    return true;
}

/* Where the region or any step has pages, or makes some. */
struct places { struct plan_range *ranges; size_t count, capacity; };

static bool places_add(struct places *places, const struct store_run *runs, size_t count, uint64_t page_bytes)
{
    if (!array_reserve(&places->ranges, &places->capacity, places->count + count + 1, sizeof *places->ranges))
        return false;
    for (size_t i = 0; i < count; i++)
        places->ranges[places->count++] = (struct plan_range){runs[i].address, runs[i].count * page_bytes};
    return true;
}

static bool places_add_codelet(struct places *places, const struct store_codelet *codelet, uint64_t page_bytes)
{
    return places_add(places, codelet->before, codelet->before_count, page_bytes) && places_add(places, codelet->after, codelet->after_count, page_bytes);
}

/* The mapping of `codelet` at the address: pages of it that were not captured are untouched, and read as zeros. */
static const struct store_mapping *untouched_mapping(const struct store_codelet *codelet, uint64_t address)
{
    const struct store_mapping *mapping = codelet_mapping_at(codelet, address);
    bool zeros = mapping && (mapping->protection & PROT_WRITE)
                 && (mapping->role == STORE_ROLE_HEAP || mapping->role == STORE_ROLE_IMAGE || (mapping->role == STORE_ROLE_ANONYMOUS && !*mapping->name));
    return zeros ? mapping : NULL;
}

static uint64_t copy_end(const struct plan_copy *copy, uint64_t page_bytes)
{
    return copy->address + copy->pages * page_bytes;
}

/* The first copy that ends behind the address, or NULL. */
static const struct plan_copy *copy_from(const struct plan_copy *copies, size_t count, uint64_t address, uint64_t page_bytes)
{
    BISECT(low, 0, count, i, copy_end(&copies[i], page_bytes) <= address);
    return low < count ? &copies[low] : NULL;
}

/* How far from `at` it is as it is there: in the copy, or before it. *ret_covered: in it. */
static uint64_t copy_stop(const struct plan_copy *copy, uint64_t at, uint64_t end, uint64_t page_bytes, bool *ret_covered)
{
    *ret_covered = copy && copy->address <= at;
    uint64_t stop = *ret_covered ? copy_end(copy, page_bytes) : copy ? copy->address : end;
    return stop < end ? stop : end;
}

/* Pages that the step finds untouched, though others have them. Where the region has one, its bytes become zeros; elsewhere it is dropped. */
static bool untouched_add(const struct codelet_memory *memory, const struct codelet_memory *other, const struct store_codelet *codelet,
                          const struct places *places, uint64_t page_bytes, struct plan_steps *steps, size_t first)
{
    for (size_t i = 0; i < places->count; i++) {
        uint64_t end = places->ranges[i].address + places->ranges[i].bytes;
        for (uint64_t at = places->ranges[i].address, stop; at < end; at = stop) {
            bool has, covered;
            stop = copy_stop(copy_from(other->before, other->before_count, at, page_bytes), at, end, page_bytes, &has);
            const struct plan_copy *here = copy_from(memory->before, memory->before_count, at, page_bytes);
            stop = copy_stop(here, at, stop, page_bytes, &covered);
            const struct store_mapping *mapping = untouched_mapping(codelet, at);
            const struct plan_mapping *own = plan_mapping_at(memory->mappings, memory->mapping_count, at);
            if (has || !mapping || !own) {
                stop = has ? stop : at + page_bytes;
                continue;
            }
            stop = stop < mapping->end ? stop : mapping->end;
            stop = stop < own->end ? stop : own->end;
            const struct plan_copy zeros = {at, (stop - at) / page_bytes, 0, covered ? 1 : PLAN_COPY_ABSENT};
            if (!(covered && here->zero) && !steps_copy_add(steps, &zeros))
                return false;
        }
    }
    if (steps->copy_count > first)
        qsort(steps->copies + first, steps->copy_count - first, sizeof *steps->copies, plan_copy_order);
    return true;
}

static bool same_bytes(const void *a, size_t a_count, const void *b, size_t b_count, size_t item_bytes)
{
    return a_count == b_count && (!a_count || !memcmp(a, b, a_count * item_bytes));
}

/* What belongs to no memory is the region's own for all of them. */
static bool runs_beside(const struct store_codelet *own, const struct store_codelet *other, const struct store_manifest *manifest)
{
    return !other->does_io && replay_team(own, manifest, manifest->threads) == replay_team(other, manifest, manifest->threads)
           && own->setting.teams == other->setting.teams && own->setting.team == other->setting.team
           && own->setting.thread_limit == other->setting.thread_limit && own->setting.level_count == other->setting.level_count
           && same_bytes(own->setting.levels, own->setting.level_count, other->setting.levels, other->setting.level_count, sizeof *own->setting.levels)
           && same_bytes(own->threads, own->thread_count, other->threads, other->thread_count, sizeof *own->threads)
           && same_bytes(own->aliases, own->alias_count, other->aliases, other->alias_count, sizeof *own->aliases)
           && same_bytes(own->locks, own->lock_count, other->locks, other->lock_count, sizeof *own->locks)
           && same_bytes(own->externals, own->external_count, other->externals, other->external_count, sizeof *own->externals);
}

static bool touched_add(const struct store_codelet *codelet, const struct codelet_memory *memory, uint64_t page_bytes, struct plan_steps *steps)
{
    for (size_t i = 0; i < codelet->after_count; i++) {
        const struct plan_copy copy = {.address = codelet->after[i].address, .pages = codelet->after[i].count, .zero = 1};
        if (is_mapped(memory, copy.address, copy.address + copy.pages * page_bytes) && !steps_copy_add(steps, &copy))
            return false;
    }
    return true;
}

static enum pcere_status step_add(const struct replay_session *session, const struct store_codelet *own, const struct codelet_memory *memory,
                                  const struct predecessor *predecessor, const struct store_codelet *codelet, const struct places *places,
                                  struct plan_steps *steps, size_t *touched, struct pcere_error *error)
{
    const struct store_manifest *manifest = store_manifest(session->store);
    struct plan_step *step = &steps->items[steps->count];
    struct codelet_memory other = {0};
    bool runs = runs_beside(own, codelet, manifest) && !predecessor->region->thread_sized
                && !build_unit_check(&session->build, codelet->unit_id, NULL) && !images_check(&session->images, codelet, NULL);
    *step = (struct plan_step){.stack_pointer = codelet->stack_pointer, .unit_id = codelet->unit_id, .path = codelet->path,
                               .proc_bind = store_codelet_binding(codelet),
                               .image = (uint32_t)images_of_region(&session->images, codelet),
                               .word_first = steps->word_count, .copy_first = steps->copy_count};
    enum pcere_status status = PCERE_OK;
    bool room = true;
    if (runs)
        status = codelet_memory_new(session->store, steps->pool, codelet, &session->images, false, &other, error);
    if (!status && runs)
        room = differing_add(memory, &other, manifest->page_size, steps, &runs)
               && (!runs || untouched_add(memory, &other, codelet, places, manifest->page_size, steps, step->copy_first));
    codelet_memory_done(&other);
    if (!status && !runs) {
        steps->copy_count = step->copy_first;
        step->touched = 1;
        room = touched_add(codelet, memory, manifest->page_size, steps);
        ++*touched;
    }
    if (!status && runs && room) {
        room = array_reserve(&steps->words, &steps->word_capacity, steps->word_count + codelet->word_count + 1, sizeof *steps->words);
        for (size_t i = 0; room && i < codelet->word_count; i++)
            steps->words[steps->word_count++] = codelet->words[i];
        step->word_count = codelet->word_count;
    }
    if (!status && !room)
        status = pcere_fail_memory(error, "the regions before one");
    step->copy_count = steps->copy_count - step->copy_first;
    steps->names[steps->count++] = predecessor->region->name;
    return status;
}

enum pcere_status predecessors_prepare(struct replay_session *session, const struct store_codelet *codelet, const struct codelet_memory *memory,
                                       const struct predecessor *predecessors, size_t count, struct plan_steps *ret_steps, size_t *ret_touched,
                                       struct pcere_error *error)
{
    struct plan_steps steps = {.pool = &session->pool};
    struct store_codelet others[PLAN_STEPS_MAX];
    struct places places = {0};
    uint64_t page_bytes = store_manifest(session->store)->page_size;
    size_t touched = 0, loaded = 0;
    enum pcere_status status = PCERE_OK;
    bool room = places_add_codelet(&places, codelet, page_bytes);
    for (size_t i = 0; !status && room && i < count && i < PLAN_STEPS_MAX; i++) {
        status = store_codelet_load(session->store, predecessors[i].class->codelet, &others[i], error);
        loaded += !status;
        room = status || places_add_codelet(&places, &others[i], page_bytes);
    }
    places.count = plan_ranges_merge(places.ranges, places.count);
    if (!status && !room)
        status = pcere_fail_memory(error, "the regions before one");
    for (size_t i = 0; !status && i < loaded; i++)
        status = step_add(session, codelet, memory, &predecessors[i], &others[i], &places, &steps, &touched, error);
    for (size_t i = 0; i < loaded; i++)
        store_codelet_done(&others[i]);
    free(places.ranges);
    if (status) {
        plan_steps_done(&steps);
        return status;
    }
    *ret_steps = steps;
    *ret_touched = touched;
    return PCERE_OK;
}

void plan_steps_done(struct plan_steps *steps)
{
    free(steps->words);
    free(steps->copies);
    free(steps->moves);
    *steps = (struct plan_steps){0};
}
