/* predictor/specials.c - see specials.h. */
#include "predictor/specials.h"

#include <math.h>

#define FIRST_RATIO 1.2              /* first touch takes at least this much longer */
#define FIRST_RATIO_LIMIT 2.5        /* and without faults that explain it not more than this */
#define FIRST_SIGMAS 4.0
#define NOISE_RATIO 1.2
#define NOISE_RARITY 50              /* one in so many */
#define NOISE_SHARE 0.1              /* of the region's time */
#define NOISE_SHARE_EVIDENT 0.3
#define REPRODUCIBLE_RATIO 1.1
#define SPIKE_RATIO 1.5              /* inside a group */
#define SPIKE_SIGMAS 10.0

/* ---- first touch --------------------------------------------------------------------------------------------------------- */

bool specials_group_is_first(const struct classes_input *input, const struct group *groups, size_t at)
{
    const struct group *slow = &groups[at];
    if (slow->members == 0 || slow->members > SPECIALS_PER_GROUP)
        return false;
    for (size_t below = at; below-- > 0;) {
        const struct group *usual = &groups[below];
        double ratio = (double)slow->median_ns / (double)usual->median_ns;
        if (ratio < FIRST_RATIO || usual->members < 2 || usual->members * NOISE_RARITY < input->count ||
             (slow->smear && slow->smear == usual->smear))
            continue;
        double more_faults = (double)slow->faults_median - (double)usual->faults_median;
        bool faults_explain = more_faults * SPECIALS_FAULT_NS >= 0.5 * (double)(slow->median_ns - usual->median_ns);
        bool before = slow->early[slow->early_count - 1] < usual->early[0];
        if (faults_explain || (before && ratio <= FIRST_RATIO_LIMIT))
            return true;
    }
    return false;
}

/* How many leading members stand out from the group, from its spread and from the two that follow them: in a region that shrinks
 * steadily, none does. */
static size_t leading_first(const struct classes_input *input, const struct group *group)
{
    if (group->members * NOISE_RARITY < input->count)
        return 0;
    size_t leading = 0;
    double least = fmax(FIRST_RATIO, exp(FIRST_SIGMAS * group->spread_ratio));
    while (!group->smear && leading < SPECIALS_PER_GROUP && leading + 2 < group->early_count) {
        double next = (double)input->time_ns[group->early[leading + 1]], second = (double)input->time_ns[group->early[leading + 2]];
        double usual = fmax(fmax(next, second), (double)group->median_ns);
        if ((double)input->time_ns[group->early[leading]] < least * usual)
            break;
        leading++;
    }
    return leading;
}

size_t specials_mark_first(const struct classes_input *input, const struct group *groups, size_t group_count, uint32_t *group_of,
                           uint32_t *firsts)
{
    size_t found = 0;
    for (size_t g = 0; g < group_count; g++) {
        size_t marked = specials_group_is_first(input, groups, g) ? groups[g].members : leading_first(input, &groups[g]);
        for (size_t i = 0; i < marked; i++) {
            firsts[found++] = groups[g].early[i];
            group_of[groups[g].early[i]] = GROUP_FIRST;
        }
    }
    return found;
}

/* ---- what arguments and preemptions say about a rare slow group ----------------------------------------------------------- */

enum evidence { EVIDENCE_NONE, EVIDENCE_NOISE, EVIDENCE_REAL };

#define TALLY_SLOTS 256
#define TALLY_LIMIT 64               /* more distinct arguments than this tell nothing about classes */
struct tally {
    uint64_t hash;
    uint64_t rare, others;           /* invocations with these arguments in the rare group and in all others */
    uint64_t usual;                  /* of the others, those in the group that has the majority of them */
    uint64_t votes;
    uint32_t majority;
};

static struct tally *tally_slot(struct tally *tallies, size_t *used, uint64_t hash)
{
    size_t slot = (size_t)((hash * 0x9e3779b97f4a7c15u) >> 56);
    for (;; slot = (slot + 1) % TALLY_SLOTS) {
        struct tally *tally = &tallies[slot];
        if (tally->rare + tally->others == 0) {
            if (++*used > TALLY_LIMIT)
                return NULL;
            tally->hash = hash;
            return tally;
        }
        if (tally->hash == hash)
            return tally;
    }
}

/* Arguments that otherwise go with a faster group are noise; arguments seen nowhere else are another kind of work. The majority is found by
 * voting (Boyer and Moore) and then counted. */
static enum evidence evidence_arguments(const struct classes_input *input, const uint32_t *group_of, uint32_t rare)
{
    struct tally tallies[TALLY_SLOTS] = {0};
    size_t used = 0;
    for (size_t i = 0; i < input->count; i++) {
        if (group_of[i] >= GROUP_FIRST)
            continue;
        struct tally *tally = tally_slot(tallies, &used, input->arguments_hash[i]);
        if (!tally)
            return EVIDENCE_NONE;
        if (group_of[i] == rare) {
            tally->rare++;
            continue;
        }
        tally->others++;
        if (tally->votes == 0)
            tally->majority = group_of[i];
        tally->votes = group_of[i] == tally->majority ? tally->votes + 1 : tally->votes - 1;
    }
    if (used < 2 || used > input->count / 4)
        return EVIDENCE_NONE;
    for (size_t i = 0; i < input->count; i++)
        if (group_of[i] < GROUP_FIRST) {
            struct tally *tally = tally_slot(tallies, &used, input->arguments_hash[i]);
            tally->usual += group_of[i] == tally->majority;
        }
    bool all_usual = true, all_own = true;
    for (size_t t = 0; t < TALLY_SLOTS; t++)
        if (tallies[t].rare > 0) {
            all_usual &= tallies[t].majority < rare && tallies[t].usual >= 10 * tallies[t].rare &&
                         tallies[t].usual * 10 >= tallies[t].others * 9;
            all_own &= tallies[t].others == 0;
        }
    return all_usual ? EVIDENCE_NOISE : all_own ? EVIDENCE_REAL : EVIDENCE_NONE;
}

static enum evidence evidence_preemptions(const struct classes_input *input, const uint32_t *group_of, uint32_t rare, uint32_t usual)
{
    uint64_t preempted = 0, members = 0;
    for (size_t i = 0; i < input->count; i++) {
        if (group_of[i] == rare && input->preemptions[i] == 0)
            return EVIDENCE_NONE;
        if (group_of[i] == usual) {
            members++;
            preempted += input->preemptions[i] > 0;
        }
    }
    return preempted * 5 < members ? EVIDENCE_NOISE : EVIDENCE_NONE;
}

/* ---- noise --------------------------------------------------------------------------------------------------------------- */

static uint64_t rare_limit(uint64_t members)
{
    return members / NOISE_RARITY > 1 ? members / NOISE_RARITY : 1;
}

static bool group_is_noise(const struct classes_input *input, const struct group *groups, size_t at, uint64_t region_ns,
                           uint64_t noise_ns, const uint32_t *group_of)
{
    const struct group *rare = &groups[at];
    if (rare->members > rare_limit(input->count) || rare->early[0] < 3)
        return false;
    size_t usual = at;
    for (size_t below = 0; below < at; below++)
        if (usual == at || groups[below].members > groups[usual].members)
            usual = below;
    if (usual == at || groups[usual].members < 10 * rare->members ||
        (double)rare->median_ns < NOISE_RATIO * (double)groups[usual].median_ns)
        return false;
    enum evidence evidence = EVIDENCE_NONE;
    if (input->preemptions)
        evidence = evidence_preemptions(input, group_of, (uint32_t)at, (uint32_t)usual);
    if (evidence == EVIDENCE_NONE && input->arguments_hash)
        evidence = evidence_arguments(input, group_of, (uint32_t)at);
    double share = ((double)noise_ns + (double)rare->time_ns) / (double)region_ns;
    switch (evidence) {
    case EVIDENCE_REAL: return false;
    case EVIDENCE_NOISE: return share <= NOISE_SHARE_EVIDENT;
    case EVIDENCE_NONE: break;
    }
    bool reproducible = rare->members >= 3 && !rare->smear && (double)rare->high_ns <= REPRODUCIBLE_RATIO * (double)rare->low_ns;
    bool by_degree = rare->smear && rare->smear == groups[usual].smear;
    return !reproducible && !by_degree && share <= NOISE_SHARE;
}

/* Above this time a member of the group stands out; UINT64_MAX if nothing can. */
static uint64_t spike_limit(const struct group *group)
{
    if (group->smear || group->members < 20)
        return UINT64_MAX;
    double limit = (double)group->median_ns * fmax(SPIKE_RATIO, exp(SPIKE_SIGMAS * group->spread_ratio));
    return limit < (double)group->high_ns ? (uint64_t)limit : UINT64_MAX;
}

static bool is_early(const struct group *group, size_t invocation)
{
    for (uint32_t i = 0; i < SPECIALS_PER_GROUP && i < group->early_count; i++)
        if (group->early[i] == invocation)
            return true;
    return false;
}

/* Spikes too few for CLARA's samples to show as a group of their own. */
static size_t group_mark_spikes(const struct classes_input *input, const struct group *group, uint32_t at, uint64_t region_ns,
                                uint64_t *noise_ns, uint32_t *group_of)
{
    uint64_t limit = spike_limit(group), spikes = 0, spikes_ns = 0;
    if (limit == UINT64_MAX)
        return 0;
    for (size_t i = 0; i < input->count; i++)
        if (group_of[i] == at && input->time_ns[i] > limit && !is_early(group, i)) {
            spikes++;
            spikes_ns += input->time_ns[i];
        }
    if (spikes == 0 || spikes > rare_limit(group->members) ||
        (double)*noise_ns + (double)spikes_ns > NOISE_SHARE * (double)region_ns)
        return 0;
    for (size_t i = 0; i < input->count; i++)
        if (group_of[i] == at && input->time_ns[i] > limit && !is_early(group, i))
            group_of[i] = GROUP_NOISE;
    *noise_ns += spikes_ns;
    return spikes;
}

size_t specials_mark_noise(const struct classes_input *input, const struct group *groups, size_t group_count, uint64_t region_ns,
                           uint64_t *noise_ns, uint32_t *group_of)
{
    size_t found = 0;
    for (size_t g = 0; g < group_count; g++) {
        if (groups[g].members == 0 || group_of[groups[g].early[0]] != g)
            continue;                /* its leading members became first touch in this round */
        if (!group_is_noise(input, groups, g, region_ns, *noise_ns, group_of)) {
            found += group_mark_spikes(input, &groups[g], (uint32_t)g, region_ns, noise_ns, group_of);
            continue;
        }
        for (size_t i = 0; i < input->count; i++)
            if (group_of[i] == g)
                group_of[i] = GROUP_NOISE;
        *noise_ns += groups[g].time_ns;
        found += groups[g].members;
    }
    return found;
}
