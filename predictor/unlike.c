/* predictor/unlike.c - see unlike.h. */
#include "predictor/unlike.h"

#include "predictor/statistics.h"

#include <stdlib.h>

#define SLOTS 8192u                     /* a power of two */
#define BEGINNINGS_MOST (SLOTS / 2)     /* more tell nothing */
#define MEMBERS_LEAST 4u                /* of a beginning, and in the mean: fewer have no usual time */
#define SAMPLES 16u
#define LIKE_RATIO 1.25                 /* of a beginning's usual time and the class's median */
#define UNLIKE_RATIO 1.5
#define KEYED_PARTS 3u                  /* such a part of a class's members begins as others of about its time do: then beginnings tell what belongs to it */

struct beginning {
    uint64_t hash, members, usual_ns;
    uint64_t stride;                    /* one of so many is a sample */
    uint64_t samples[SAMPLES];
    uint32_t sample_count;
};

struct beginnings {
    struct beginning *all;
    size_t count;
    uint16_t *slots;                    /* [SLOTS] number in `all`, plus one */
};

static struct beginning *beginning_at(struct beginnings *known, uint64_t hash)
{
    size_t slot = (size_t)((hash * 0x9e3779b97f4a7c15u) >> 32) % SLOTS;
    for (; known->slots[slot]; slot = (slot + 1) % SLOTS)
        if (known->all[known->slots[slot] - 1].hash == hash)
            return &known->all[known->slots[slot] - 1];
    if (known->count == BEGINNINGS_MOST)
        return NULL;
    known->all[known->count] = (struct beginning){.hash = hash, .stride = 1};
    known->slots[slot] = (uint16_t)++known->count;
    return &known->all[known->count - 1];
}

/* Evenly over all that there will be: when there is no room, every other one goes. */
static void sample_add(struct beginning *beginning, uint64_t time_ns)
{
    if (beginning->members++ % beginning->stride)
        return;
    if (beginning->sample_count == SAMPLES) {
        for (uint32_t i = 0; i < SAMPLES / 2; i++)
            beginning->samples[i] = beginning->samples[2 * i];
        beginning->sample_count = SAMPLES / 2;
        beginning->stride *= 2;
    }
    beginning->samples[beginning->sample_count++] = time_ns;
}

/* False: there are too many kinds of them. */
static bool beginnings_fill(const struct classes_input *input, struct beginnings *known)
{
    for (size_t i = 0; i < input->count; i++) {
        struct beginning *beginning = beginning_at(known, input->calls_hash[i]);
        if (!beginning)
            return false;
        sample_add(beginning, input->time_ns[i]);
    }
    if (known->count < 2 || known->count * MEMBERS_LEAST > input->count)
        return false;
    for (size_t i = 0; i < known->count; i++)
        if (known->all[i].members >= MEMBERS_LEAST)
            known->all[i].usual_ns = statistics_select_u64(known->all[i].samples, known->all[i].sample_count, known->all[i].sample_count / 2);
    return true;
}

/* Within a factor of each other; what is unknown never is. */
static bool within(uint64_t usual_ns, uint64_t median_ns, double ratio)
{
    double usual = (double)usual_ns, median = (double)median_ns;
    return usual_ns && usual <= ratio * median && median <= ratio * usual;
}

enum pcere_status unlike_find(const struct classes_input *input, const uint32_t *class_of, const struct group *groups, size_t class_count, bool *ret_unlike,
                              struct pcere_error *error)
{
    struct beginnings known = {malloc(BEGINNINGS_MOST * sizeof *known.all), 0, calloc(SLOTS, sizeof *known.slots)};
    uint64_t *alike = calloc(class_count + 1, sizeof *alike);
    bool enough = known.all && known.slots && alike;
    if (enough && beginnings_fill(input, &known)) {
        for (size_t i = 0; i < input->count; i++)
            alike[class_of[i]] += within(beginning_at(&known, input->calls_hash[i])->usual_ns, groups[class_of[i]].median_ns, LIKE_RATIO);
        for (size_t i = 0; i < input->count; i++) {
            uint64_t usual_ns = beginning_at(&known, input->calls_hash[i])->usual_ns;
            bool keyed = alike[class_of[i]] * KEYED_PARTS >= groups[class_of[i]].members;
            ret_unlike[i] = keyed && usual_ns && !within(usual_ns, groups[class_of[i]].median_ns, UNLIKE_RATIO);
        }
    }
    free(known.all);
    free(known.slots);
    free(alike);
    return enough ? PCERE_OK : pcere_fail_memory(error, "a region's classes");
}
