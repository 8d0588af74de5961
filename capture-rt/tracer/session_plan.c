/* capture-rt/tracer/session_plan.c - what a capturing run is to stop at: the plan of a second run, what stops may cost in a first one, and
 * what the user asked for. */
#include "capture-rt/tracer/session_private.h"

#include "capture-rt/tracer/manifest.h"

#include <stdlib.h>
#include <string.h>

static uint64_t name_hash(const char *name)     /* as the target computes it */
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 0x100000001b3u;
    return hash;
}

static int planned_compare(const void *left, const void *right)
{
    const struct capture_planned *a = left, *b = right;
    return (a->invocation > b->invocation) - (a->invocation < b->invocation);
}

/* By its words, too, where they are those of others as well: what is passed by value and never comes again may be another in each run, as addresses are
 * where they are random. */
static struct capture_planned planned_of(const struct session *session, size_t region, uint64_t invocation)
{
    const struct capture_run *run = &session->result->timing;
    struct capture_planned planned = {.invocation = (uint32_t)invocation};
    const struct capture_region *timed = region < run->region_count && !run->randomized ? &run->regions[region] : NULL;
    bool known = timed && invocation > 0 && invocation <= timed->list_count && timed->list[invocation - 1].number == invocation;
    size_t same = 0;
    for (size_t i = 0; known && i < timed->list_count && same < 2; i++)
        same += timed->list[i].words_hash == timed->list[invocation - 1].words_hash;
    if (same > 1)
        planned.words_hash = timed->list[invocation - 1].words_hash;
    return planned;
}

static void words_see(const struct session *session, size_t region, struct capture_region_entry *entry)
{
    const struct capture_run *run = &session->result->timing;
    memset(entry->words_seen, 0, sizeof entry->words_seen);
    for (size_t i = 0; region < run->region_count && i < run->regions[region].list_count; i++)
        for (unsigned which = 0; which < 2; which++) {
            uint32_t bit = capture_words_bit(run->regions[region].list[i].words_hash, which);
            entry->words_seen[bit / 64] |= (uint64_t)1 << bit % 64;
        }
}

static bool is_ordered(const struct session *session, size_t region)
{
    const struct capture_run *run = &session->result->timing;
    return region < run->region_count && capture_region_is_ordered(&run->regions[region]);
}

static void text_put(char *to, const char *from, size_t bytes)
{
    size_t length = strnlen(from, bytes - 1);
    memcpy(to, from, length);
    to[length] = '\0';
}

/* Regions keep the numbers that they had in the first run. */
void session_plan_fill(struct session *session)
{
    struct capture_log *log = session->log.log;
    const struct store_manifest *manifest = &session->manifest;
    uint32_t next = 0;
    for (size_t i = 0; i < manifest->region_count; i++) {
        const struct store_region *region = &manifest->regions[i];
        struct capture_region_entry *entry = &log->regions[i];
        text_put(entry->name, region->name, sizeof entry->name);
        text_put(entry->function, region->function, sizeof entry->function);
        text_put(entry->file, region->file, sizeof entry->file);
        entry->line = region->line;
        entry->name_hash = name_hash(region->name);
        entry->plan_first = next;
        for (size_t j = 0; j < region->class_count && next < CAPTURE_PLAN_MAX; j++)
            if (region->classes[j].captured && region->classes[j].representative <= UINT32_MAX &&
                !kept_find(session, i, region->classes[j].representative))
                log->plan[next++] = planned_of(session, i, region->classes[j].representative);
        entry->plan_count = next - entry->plan_first;
        words_see(session, i, entry);
        entry->ordered = is_ordered(session, i);
        qsort(&log->plan[entry->plan_first], entry->plan_count, sizeof *log->plan, planned_compare);
        entry->ready = 1;
    }
    log->plan_count = next;
    log->blocks_moved = session->result->timing.blocks_moved;
    log->known_regions = (uint32_t)manifest->region_count;
}

static struct store_class *planned_class(const struct session *session, const struct capture_message *message)
{
    const struct store_region *region = message->region < session->manifest.region_count ? &session->manifest.regions[message->region] : NULL;
    for (size_t i = 0; region && i < region->class_count; i++)
        if (region->classes[i].captured && region->classes[i].representative == message->invocation)
            return &region->classes[i];
    return NULL;
}

/* How many times longer the longer of both takes. */
static double apart(uint64_t one_ns, uint64_t other_ns)
{
    double low = (double)(one_ns < other_ns ? one_ns : other_ns), high = (double)(one_ns < other_ns ? other_ns : one_ns);
    return high / (low < 1 ? 1 : low);
}

static bool is_of_class(const struct store_region *region, const struct store_class *class, const struct capture_invocation *invocation)
{
    for (size_t i = 0; i < region->class_count; i++) {
        const struct store_class *other = &region->classes[i];
        if (other != class && (other->representative == invocation->number ||
                               apart(other->representative_ns, invocation->time_ns) < apart(class->representative_ns, invocation->time_ns)))
            return false;
    }
    return invocation->end_ns && invocation->nested == class->nested && invocation->number <= UINT32_MAX;
}

bool session_plan_replace(struct session *session, const struct capture_message *message)
{
    struct store_class *class = planned_class(session, message);
    const struct capture_region *timed = message->region < session->result->timing.region_count ? &session->result->timing.regions[message->region] : NULL;
    if (!class || !timed)
        return false;
    const struct capture_invocation *later = NULL;
    for (size_t i = 0; i < timed->list_count && !later; i++)
        if (timed->list[i].number > message->invocation && is_of_class(&session->manifest.regions[message->region], class, &timed->list[i]))
            later = &timed->list[i];
    if (!later)
        return false;
    struct capture_log *log = session->log.log;
    uint32_t first = log->regions[message->region].plan_first, count = log->regions[message->region].plan_count;
    if (first > CAPTURE_PLAN_MAX || count > CAPTURE_PLAN_MAX - first)
        return false;
    for (uint32_t i = first; i < first + count; i++)
        if (log->plan[i].invocation == message->invocation)
            log->plan[i] = planned_of(session, message->region, later->number);
    qsort(&log->plan[first], count, sizeof *log->plan, planned_compare);
    class->representative = later->number;
    class->representative_ns = later->time_ns;
    return true;
}

/* Together with what the library itself costs, these keep a capture of a second or more below 1.25 times a plain run. */
#define EARLY_NS 40000000u
#define EARLY_PPM 10000u
#define HEAVY_NS 70000000u
#define HEAVY_PPM 35000u
#define LIGHT_NS 25000000u
#define LIGHT_PPM 50000u
#define ALONE_NS 20000000u
#define ALONE_PPM 30000u
#define LEFT_PPM 6000u                   /* so that 99 % are left when other things go wrong */
#define EARLY_REGIONS 150u               /* a program with more has less for first invocations, by the square: most could not be had anyway, and weigh less */
#define WEIGHT_PPM 4500u                 /* a little less than what makes a class worth having: the rest of the run may weigh less than what was */

static size_t regions_count(const struct elf_file *elf)
{
    const struct elf_construct *constructs;
    size_t count = elf_file_constructs(elf, &constructs), regions = 0;
    for (size_t i = 0; i < count; i++)
        regions += constructs[i].entry.kind == PCERE_CONSTRUCT_PARALLEL;
    return regions;
}

struct capture_policy session_policy(const struct session *session)
{
    if (session->options->every_class)
        return (struct capture_policy){.purses = {{UINT64_MAX / 4, 0}, {UINT64_MAX / 4, 0}, {UINT64_MAX / 4, 0}, {UINT64_MAX / 4, 0}}};
    uint64_t regions = regions_count(session->elf), many = regions > EARLY_REGIONS ? regions * regions / EARLY_REGIONS : EARLY_REGIONS;
    return (struct capture_policy){{[CAPTURE_PURSE_EARLY] = {EARLY_NS * (uint64_t)EARLY_REGIONS / many, EARLY_PPM * (uint64_t)EARLY_REGIONS / many},
                                    [CAPTURE_PURSE_HEAVY] = {HEAVY_NS, HEAVY_PPM}, [CAPTURE_PURSE_LIGHT] = {LIGHT_NS, LIGHT_PPM},
                                    [CAPTURE_PURSE_ALONE] = {ALONE_NS, ALONE_PPM}},
                                   WEIGHT_PPM, LEFT_PPM};
}

char *session_region_name(const struct session *session, uint32_t region)
{
    const struct capture_region_entry *entry = &session->log.log->regions[region];
    return strndup(entry->name, strnlen(entry->name, sizeof entry->name - 1));
}

/* The program asks: what the user did not ask for it is not to ask about again. */
enum pcere_status session_wants(struct session *session, const struct capture_message *message, bool *ret_wanted, struct pcere_error *error)
{
    *ret_wanted = false;
    if (message->region >= CAPTURE_REGIONS_MAX)
        return PCERE_OK;
    if (!session->choosing) {
        *ret_wanted = planned_class(session, message) && session->restless[message->region] < SESSION_RESTLESS_MOST;
        return PCERE_OK;
    }
    char *name = session_region_name(session, message->region);
    if (!name)
        return pcere_fail_memory(error, "a region's name");
    *ret_wanted = region_matches(name, session->options->pattern) && !kept_find(session, message->region, message->invocation) &&
                  session->restless[message->region] < SESSION_RESTLESS_MOST && session->waited[message->region] < SESSION_WAITS_MOST;
    session->log.log->histories[message->region].unwanted = !*ret_wanted;
    free(name);
    return PCERE_OK;
}
