/* replay-rt/launcher/sampling.c - see sampling.h. */
#include "replay-rt/launcher/sampling.h"

#include "replay-rt/launcher/policy.h"

#include <stdlib.h>
#include <string.h>

#define REGION_LEAST_NS 2000000u          /* shorter regions are cheaper to run than to think about, */
#define REGION_PAGED_LEAST_NS 200000u     /* ... or, where making its pages the process's own takes longer than the region, shorter than this */
#define COLD_NS_PER_BYTE 0.1              /* to fetch what is in no cache */
#define COLD_RATIO 0.05                   /* of a region's time, from which it matters that its data are in a cache */
#define WORTH_NS 8000000.0                /* a region is sampled so much that it takes about this long ... */
#define RATIO_LEAST 0.0025
#define RATIO_MOST 0.10                   /* ... within these shares */
#define WHOLE_RUNS 6u                     /* that a whole replay by itself takes about, warm-up included */
#define GAIN_LEAST 6u                     /* a region's time over a shot's, where a whole replay runs it several times; */
#define GAIN_LEAST_ONCE 15u               /* ... and where it runs it once: six shots or more, half of them rehearsals, are to take less than half of that */
#define CENSUS_PARTS 10u                  /* of a region's time: what counting its tasks may take */
#define PATIENCE_LEAST_NS 5000000000u
#define PATIENCE_RUNS 4u

#define PAGES_FEW 2048u                   /* that is, of regions with less memory, shots need next to none */

enum { SHOTS_USUAL = 8, SHOTS_ROOM = 6, BLOCKS = 4, PARTS_MOST = 4 };   /* SHOTS_USUAL: of such shots the shares above are */

struct shots { double share_ratio; uint32_t usual, least; };   /* from this share of the program's time on */

/* Shots of one process agree better than processes do: more of them pay only where nothing else makes up for an error. */
static const struct shots shots_by_share[] = {{0.5, 5, 3}, {0, 2, 2}};

/* "auto": 0; "off" and NULL: -1. */
static enum pcere_status sample_parse(const char *sample, double *ret_ratio, struct pcere_error *error)
{
    if (!sample || !strcmp(sample, "off")) {
        *ret_ratio = -1;
        return PCERE_OK;
    }
    if (!strcmp(sample, "auto")) {
        *ret_ratio = 0;
        return PCERE_OK;
    }
    char *end = NULL;
    double ratio = strtod(sample, &end);
    if (end > sample && !strcmp(end, "%")) {
        ratio /= 100;
        end++;
    }
    if (end == sample || *end || !(ratio > 0 && ratio <= 1))
        return pcere_fail(error, PCERE_USAGE, 0, "auto, off, or a share of the iterations above 0 and at most 1, such as 0.05 or 5%",
                          "--sample '%s': there is no such way to sample", sample);
    *ret_ratio = ratio;
    return PCERE_OK;
}

enum pcere_status replay_check_sample(const char *sample, struct pcere_error *error)
{
    double ratio;
    return sample_parse(sample, &ratio, error);
}

static const struct shots *shots_choose(double share_ratio)
{
    const struct shots *shots = shots_by_share;
    while (share_ratio < shots->share_ratio)
        shots++;
    return shots;
}

/* Shots begin with cold caches. What they fetch that the whole region finds there is scaled with the iterations. */
static bool is_hot(uint64_t in_vivo_ns, const struct sampling_subject *subject)
{
    return (double)subject->hot_bytes * COLD_NS_PER_BYTE > COLD_RATIO * (double)in_vivo_ns;
}

/* Would a whole replay pay for pages, not for runs of its region? */
static bool pages_cost_more(uint64_t in_vivo_ns, const struct sampling_subject *subject)
{
    return in_vivo_ns >= REGION_PAGED_LEAST_NS && (subject->rehearsed || subject->written_pages * subject->page_ns > in_vivo_ns);
}

static const char *refusal_known(const struct replay_options *options, bool automatic, uint64_t in_vivo_ns, const struct sampling_subject *subject)
{
    bool paged = in_vivo_ns >= REGION_PAGED_LEAST_NS && (subject->rehearsed || subject->written_pages * subject->page_ns > WHOLE_RUNS * in_vivo_ns);
    if (automatic && (options->repeat || (options->warmup && strcmp(options->warmup, "auto") != 0)))
        return "repetitions or a warm-up were asked for";
    if (automatic && options->precision_ratio > 0)
        return "a precision was asked for";
    if (automatic && options->budget_ns && subject->budget_ns >= WHOLE_RUNS * in_vivo_ns)
        return "whole replays fit into the budget";
    if (in_vivo_ns < REGION_LEAST_NS && !pages_cost_more(in_vivo_ns, subject))
        return "it takes less than 2 ms";
    uint32_t whole_runs = subject->whole_runs ? subject->whole_runs : WHOLE_RUNS;
    if (automatic && !options->budget_ns && !paged && in_vivo_ns <= subject->class_ns / POLICY_WEIGHT_PARTS / whole_runs)
        return "whole replays cost little beside what its class took";
    if (automatic && is_hot(in_vivo_ns, subject))
        return "its data are in the caches when it begins, and a shot would have to fetch them";
    return NULL;
}

/* The largest team that will be asked for in the same process, if its threads' parts of a loop make up those of smaller ones. */
static uint32_t parts_choose(const struct replay_options *options, uint32_t threads)
{
    uint32_t parts = threads;
    for (size_t i = 0; i < options->thread_count; i++)
        if (options->threads[i] > parts && options->threads[i] <= PARTS_MOST && options->threads[i] % threads == 0)
            parts = options->threads[i];
    return parts <= PARTS_MOST ? parts : 0;
}

enum pcere_status sampling_choose(const struct replay_options *options, const struct store_codelet *codelet, uint32_t threads, const struct sampling_subject *subject,
                                  struct plan_policy *policy, char **ret_refusal, struct pcere_error *error)
{
    double ratio;
    enum pcere_status status = sample_parse(options->sample, &ratio, error);
    if (status || ratio < 0)
        return status;
    uint64_t in_vivo_ns = codelet->in_vivo_ns * (codelet->capture_threads ? codelet->capture_threads : 1) / (threads ? threads : 1);
    const char *refusal = refusal_known(options, !(ratio > 0), in_vivo_ns, subject);
    if (refusal) {
        *ret_refusal = strdup(refusal);
        return *ret_refusal ? PCERE_OK : pcere_fail_memory(error, "a reason");
    }
    static const struct shots asked = {0, SHOTS_USUAL, 5};
    const struct shots *shots = ratio > 0 ? &asked : shots_choose(subject->share_ratio);
    bool gains = !(ratio > 0) && !pages_cost_more(in_vivo_ns, subject);
    policy->sample_gain = !gains ? 0 : policy->warmups ? GAIN_LEAST : GAIN_LEAST_ONCE;
    policy->sample_census_ns = !(ratio > 0) ? in_vivo_ns / CENSUS_PARTS : 0;
    if (!(ratio > 0)) {
        ratio = WORTH_NS / (double)in_vivo_ns;
        ratio = ratio < RATIO_LEAST ? RATIO_LEAST : ratio > RATIO_MOST ? RATIO_MOST : ratio;
    }
    policy->sample_shots_usual = shots->usual;
    policy->sample_shots = 2 * shots->usual > SHOTS_ROOM ? 2 * shots->usual : SHOTS_ROOM;      /* where the first ones only warm the data, or differ */
    policy->sample_shots_least = shots->least;
    policy->sample_blocks = BLOCKS;
    policy->sample_parts = subject->pages < PAGES_FEW ? 0 : parts_choose(options, threads ? threads : 1);
    policy->sample_fraction = ratio / (double)SHOTS_USUAL;
    policy->sample_region_ns = in_vivo_ns;
    policy->sample_made_pages = subject->made_pages;
    return PCERE_OK;
}

uint64_t sampling_patience_ns(const struct store_codelet *codelet, uint32_t threads)
{
    uint64_t in_vivo_ns = codelet->in_vivo_ns < UINT64_MAX / PATIENCE_RUNS / 1024 ? codelet->in_vivo_ns : 0;
    uint64_t slower = codelet->capture_threads > threads && threads ? codelet->capture_threads / threads : 1;
    uint64_t patience_ns = in_vivo_ns * PATIENCE_RUNS * (slower < 1024 ? slower : 1024);
    return patience_ns > PATIENCE_LEAST_NS ? patience_ns : PATIENCE_LEAST_NS;
}

enum pcere_status sampling_take(const struct plan_result *from, struct store_sample *sample, struct pcere_error *error)
{
    if (!atomic_load(&from->sampling))
        return PCERE_OK;
    if (!from->sample_run || from->sample_run / PLAN_SAMPLES > from->sample_iterations || !from->sample_count)
        return pcere_fail(error, PCERE_NO, 0, "replay it with --sample off", "the codelet says that it ran %llu of %llu iterations",
                          (unsigned long long)from->sample_run, (unsigned long long)from->sample_iterations);
    double ratio = (double)from->sample_run / (double)from->sample_iterations;
    sample->sampled_ratio = ratio < 1 ? ratio : 1;    /* shots of few iterations may meet some twice */
    return PCERE_OK;
}
