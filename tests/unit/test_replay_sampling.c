/* tests/unit/test_replay_sampling.c - where a shot's blocks lie, how much the launcher has sampled, and whether shots agree. */
#include "replay-rt/launcher/page_cost.h"
#include "replay-rt/launcher/sampling.h"
#include "replay-rt/target/sample_agree.c"
#include "replay-rt/target/sample_place.c"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

static void blocks_lie_inside(void)
{
    static const uint64_t counts[] = {4, 5, 7, 16, 100, 256, 1000, 65536, 1000003, UINT64_MAX / 2};
    static const double fractions[] = {1e-9, 0.001, 0.01, 0.06, 0.2, 0.9};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (size_t f = 0; f < sizeof fractions / sizeof *fractions; f++)
            for (uint32_t shot = 0; shot < 16; shot++) {
                const struct sample_shape shape = {.shots = 16, .blocks = 4, .fraction = fractions[f] / 16};
                struct sample_block blocks[SAMPLE_BLOCKS_MOST];
                uint32_t count = pcere_sample_place(&shape, shot, c * 31 + f, counts[c], blocks);
                uint64_t floor = 0;
                CU_ASSERT_FATAL(count >= 1 && count <= 4);
                for (uint32_t b = 0; b < count; b++) {
                    CU_ASSERT_FATAL(blocks[b].count > 0 && blocks[b].first >= floor);
                    floor = blocks[b].first + blocks[b].count;
                    CU_ASSERT_FATAL(floor <= counts[c] && floor > blocks[b].first);
                }
            }
}

static void shots_are_disjoint(void)
{
    enum { COUNT = 4096, SHOTS = 16 };
    const struct sample_shape shape = {.shots = SHOTS, .blocks = 4, .fraction = 0.01};
    unsigned char seen[COUNT] = {0};
    uint64_t run = 0;
    for (uint32_t shot = 0; shot < SHOTS; shot++) {
        struct sample_block blocks[SAMPLE_BLOCKS_MOST];
        uint32_t count = pcere_sample_place(&shape, shot, 77, COUNT, blocks);
        for (uint32_t b = 0; b < count; b++)
            for (uint64_t i = blocks[b].first; i < blocks[b].first + blocks[b].count; i++, run++) {
                CU_ASSERT_EQUAL_FATAL(seen[i], 0);
                seen[i] = 1;
            }
    }
    CU_ASSERT(run > COUNT * 15 / 100 && run < COUNT * 17 / 100);
}

static void loops_differ(void)
{
    const struct sample_shape shape = {.shots = 16, .blocks = 4, .fraction = 0.001};
    uint32_t same = 0;
    for (uint64_t key = 0; key < 100; key++) {
        struct sample_block one[SAMPLE_BLOCKS_MOST], other[SAMPLE_BLOCKS_MOST];
        pcere_sample_place(&shape, 3, key, 100000, one);
        pcere_sample_place(&shape, 3, key + 1, 100000, other);
        same += one[0].first == other[0].first;
    }
    CU_ASSERT(same <= 2);
}

/* Teams of one, two and four threads run the same iterations, wherever the parts of the largest one make up those of the others. */
static void parts_are_those_of_larger_teams(void)
{
    static const uint64_t totals[] = {64, 67, 255, 1000, 4098};
    for (size_t c = 0; c < sizeof totals / sizeof *totals; c++)
        for (uint32_t shot = 0; shot < 6; shot++) {
            const struct sample_shape shape = {.shots = 6, .blocks = 4, .fraction = 0.0125};
            unsigned char seen[4100] = {0};
            for (uint32_t team = 1; team <= 4; team *= 2)
                for (uint32_t thread = 0; thread < team; thread++) {
                    uint64_t rest = totals[c] % team, before = totals[c] / team * thread + (thread < rest ? thread : rest);
                    struct sample_block blocks[SAMPLE_BLOCKS_MOST];
                    struct sample_share share = {totals[c], before, totals[c] / team + (thread < rest), 4};
                    if (team == 2 && totals[c] % 4 == 2)
                        continue;     /* the first two threads of four have one more each, and are more than half a loop */
                    uint32_t count = pcere_sample_place_parts(&shape, shot, 5, &share, blocks);
                    CU_ASSERT_FATAL(count >= 4 / team && count <= SAMPLE_BLOCKS_MOST);
                    for (uint32_t b = 0; b < count; b++) {
                        CU_ASSERT_FATAL(blocks[b].count && blocks[b].first + blocks[b].count <= share.iterations);
                        CU_ASSERT(!b || blocks[b].first >= blocks[b - 1].first + blocks[b - 1].count);
                        for (uint64_t i = 0; i < blocks[b].count; i++)
                            seen[before + blocks[b].first + i] |= (unsigned char)(1 << team);
                    }
                }
            for (uint64_t i = 0; i < totals[c]; i++)
                CU_ASSERT(!seen[i] || seen[i] == (totals[c] % 4 == 2 ? 1 << 1 | 1 << 4 : 1 << 1 | 1 << 2 | 1 << 4));
        }
}

static void other_shares_are_placed_by_themselves(void)
{
    const struct sample_shape shape = {.shots = 6, .blocks = 4, .fraction = 0.01};
    static const struct sample_share shares[] = {{1000, 0, 1000, 0}, {1000, 10, 900, 4}, {40, 0, 40, 4}, {1000, 334, 333, 4}, {1000, 0, 1000, 1 + SAMPLE_PARTS_MOST}};
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        struct sample_block own[SAMPLE_BLOCKS_MOST], plain[SAMPLE_BLOCKS_MOST];
        uint32_t count = pcere_sample_place_parts(&shape, 2, 9, &shares[i], own);
        CU_ASSERT_EQUAL_FATAL(count, pcere_sample_place(&shape, 2, 9, shares[i].iterations, plain));
        CU_ASSERT(!memcmp(own, plain, count * sizeof *own));
    }
}

static void large_regions_are_sampled_for_larger_teams(void)
{
    uint32_t counts[] = {1, 2, 4, 8}, odd[] = {1, 2, 3};
    const struct store_codelet codelet = {.in_vivo_ns = 100000000, .capture_threads = 1};
    const struct sampling_subject large = {.pages = 100000}, small = {.pages = 10};
    char *refusal = NULL;
    const struct { const uint32_t *counts; size_t count; uint32_t threads; const struct sampling_subject *subject; uint32_t parts; } cases[] = {
        {counts, 4, 1, &large, 4}, {counts, 4, 2, &large, 4}, {counts, 4, 8, &large, 0}, {counts, 2, 1, &large, 2}, {odd, 3, 1, &large, 3}, {odd, 3, 2, &large, 2}, {counts, 4, 1, &small, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plan_policy policy = {0};
        const struct replay_options options = {.sample = "auto", .threads = cases[i].counts, .thread_count = cases[i].count};
        CU_ASSERT_EQUAL_FATAL(sampling_choose(&options, &codelet, cases[i].threads, cases[i].subject, &policy, &refusal, NULL), PCERE_OK);
        CU_ASSERT_EQUAL(policy.sample_parts, cases[i].parts);
    }
}

static void triangle_is_unbiased(void)
{
    enum { COUNT = 10000, SHOTS = 8 };
    const struct sample_shape shape = {.shots = 16, .blocks = 4, .fraction = 0.006};
    double mean = 0;
    for (uint64_t key = 0; key < 50; key++)
        for (uint32_t shot = 0; shot < SHOTS; shot++) {
            struct sample_block blocks[SAMPLE_BLOCKS_MOST];
            uint32_t count = pcere_sample_place(&shape, shot, key, COUNT, blocks);
            double sum = 0, run = 0;
            for (uint32_t b = 0; b < count; b++)
                for (uint64_t i = blocks[b].first; i < blocks[b].first + blocks[b].count; i++, run++)
                    sum += (double)i + 1;
            mean += sum / run / (50 * SHOTS);
        }
    CU_ASSERT_DOUBLE_EQUAL(mean / ((COUNT + 1) / 2.0), 1, 0.02);
}

static void chunks_ascend(void)
{
    for (uint32_t shot = 0; shot < 16; shot++) {
        uint64_t last = 0;
        for (uint64_t number = 0; number < 100; number++) {
            uint64_t chunk = pcere_sample_stratum(16, shot, 5, number, 100, 7331, 1);
            CU_ASSERT_FATAL(chunk < 7331 && (number == 0 || chunk > last));
            last = chunk;
        }
    }
    CU_ASSERT_EQUAL(pcere_sample_stratum(16, 0, 5, 9, 10, 10, 1), 9);
}

static void chunks_of_two_shots_differ(void)
{
    static bool seen[7331];
    for (uint32_t shot = 0; shot < 16; shot++)
        for (uint64_t number = 0; number < 100; number++) {
            uint64_t chunk = pcere_sample_stratum(16, shot, 9, number, 100, 7331, 1);
            CU_ASSERT_FATAL(!seen[chunk]);
            seen[chunk] = true;
        }
}

static void few_iterations_are_whole(void)
{
    struct sample_block blocks[SAMPLE_BLOCKS_MOST];
    const struct sample_shape shape = {.shots = 16, .blocks = 4, .fraction = 0.01}, all = {.shots = 16, .blocks = 4, .fraction = 1};
    for (uint64_t count = 0; count < 4; count++)
        CU_ASSERT_EQUAL(pcere_sample_place(&shape, 0, 1, count, blocks), 0);
    CU_ASSERT_EQUAL(pcere_sample_place(&all, 0, 1, 1000, blocks), 0);
}

static struct sampling_subject subject = {.page_ns = PAGE_COST_USUAL_NS};

static struct plan_policy chosen(const char *sample, uint32_t repeat, uint64_t in_vivo_ns, char **ret_refusal)
{
    const struct replay_options options = {.sample = sample, .repeat = repeat};
    const struct store_codelet codelet = {.in_vivo_ns = in_vivo_ns, .capture_threads = 1};
    struct plan_policy policy = {0};
    *ret_refusal = NULL;
    CU_ASSERT_EQUAL_FATAL(sampling_choose(&options, &codelet, 1, &subject, &policy, ret_refusal, NULL), PCERE_OK);
    return policy;
}

static void a_budget_decides_how_much_is_run(void)
{
    const struct store_codelet codelet = {.in_vivo_ns = 50000000, .capture_threads = 1};
    const struct replay_options options = {.sample = "auto", .budget_ns = 1000000000};
    struct sampling_subject part = {.class_ns = UINT64_C(100000000000), .budget_ns = 400000000};
    struct plan_policy policy = {0};
    char *refusal = NULL;
    CU_ASSERT_EQUAL(sampling_choose(&options, &codelet, 1, &part, &policy, &refusal, NULL), PCERE_OK);
    CU_ASSERT(refusal && strstr(refusal, "fit into the budget"));
    free(refusal);
    refusal = NULL;
    part.budget_ns = 200000000;       /* not six runs */
    CU_ASSERT_EQUAL(sampling_choose(&options, &codelet, 1, &part, &policy, &refusal, NULL), PCERE_OK);
    CU_ASSERT(!refusal && policy.sample_shots > 0);
}

static void heavy_classes_are_replayed_whole(void)
{
    char *refusal;
    subject.class_ns = 200 * UINT64_C(14000000);
    CU_ASSERT_EQUAL(chosen("auto", 0, 14000000, &refusal).sample_shots, 0);
    CU_ASSERT(refusal && strstr(refusal, "its class"));
    free(refusal);
    CU_ASSERT(chosen("0.05", 0, 14000000, &refusal).sample_shots > 0);
    CU_ASSERT_PTR_NULL(refusal);
    subject.class_ns = 8 * UINT64_C(14000000);
    CU_ASSERT(chosen("auto", 0, 14000000, &refusal).sample_shots > 0);
    CU_ASSERT_PTR_NULL(refusal);
    subject.class_ns = 0;
}

/* In a walk with others it runs three times, not six: a hundred members are enough there. */
static void in_a_tour_fewer_members_are_enough(void)
{
    char *refusal;
    subject.class_ns = 100 * UINT64_C(14000000);
    CU_ASSERT(chosen("auto", 0, 14000000, &refusal).sample_shots > 0);
    subject.whole_runs = 3;
    CU_ASSERT_EQUAL(chosen("auto", 0, 14000000, &refusal).sample_shots, 0);
    CU_ASSERT(refusal && strstr(refusal, "its class"));
    free(refusal);
    subject.class_ns = 80 * UINT64_C(14000000);
    CU_ASSERT(chosen("auto", 0, 14000000, &refusal).sample_shots > 0);
    subject.class_ns = subject.whole_runs = 0;
}

/* Six shots and more, beside six runs or beside one. */
static void shots_must_save_more_where_one_run_is_enough(void)
{
    const struct replay_options options = {.sample = "auto"};
    const struct store_codelet codelet = {.in_vivo_ns = 100000000, .capture_threads = 1};
    struct plan_policy often = {.warmups = 1}, once = {0};
    char *refusal = NULL;
    CU_ASSERT_EQUAL(sampling_choose(&options, &codelet, 1, &subject, &often, &refusal, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(sampling_choose(&options, &codelet, 1, &subject, &once, &refusal, NULL), PCERE_OK);
    CU_ASSERT(often.sample_gain >= 6 && once.sample_gain >= 12);
}

static void long_regions_are_sampled(void)
{
    char *refusal;
    struct plan_policy policy = chosen("auto", 0, 17000000000, &refusal);
    CU_ASSERT(policy.sample_shots >= 4 && policy.sample_gain);
    CU_ASSERT(policy.sample_fraction * 8 < 0.011);
    CU_ASSERT_PTR_NULL(refusal);
    policy = chosen("auto", 0, 50000000, &refusal);
    CU_ASSERT(policy.sample_fraction * 8 > 0.05);
    policy = chosen("0.5", 0, 50000000, &refusal);
    CU_ASSERT_DOUBLE_EQUAL(policy.sample_fraction * policy.sample_shots / 2, 0.5, 1e-9);
    subject.share_ratio = 0.8;
    uint32_t shots = chosen("auto", 0, 50000000, &refusal).sample_shots;
    subject.share_ratio = 0.01;
    CU_ASSERT(chosen("auto", 0, 50000000, &refusal).sample_shots < shots);
    subject.share_ratio = 0;
    CU_ASSERT_FALSE(policy.sample_gain);
    static const char *const whole[] = {"auto", "auto", "0.1", "off", NULL};
    static const uint32_t repeats[] = {0, 5, 0, 0, 0};
    static const uint64_t times_ns[] = {1900000, 900000000, 1900000, 900000000, 900000000};
    for (size_t i = 0; i < 5; i++) {
        policy = chosen(whole[i], repeats[i], times_ns[i], &refusal);
        CU_ASSERT_EQUAL(policy.sample_shots, 0);
        CU_ASSERT(i < 3 ? refusal != NULL : refusal == NULL);
        free(refusal);
    }
}

/* Each shot fetches what the whole region finds in the cache: half a millisecond over 16 MB came out 2.5 times too long. */
static void what_is_hot_and_short_is_replayed_whole(void)
{
    char *refusal;
    subject.hot_bytes = 16000000;
    CU_ASSERT_EQUAL(chosen("auto", 0, 3000000, &refusal).sample_shots, 0);
    CU_ASSERT(refusal && strstr(refusal, "in the caches"));
    free(refusal);
    CU_ASSERT(chosen("auto", 0, 300000000, &refusal).sample_shots > 0);
    CU_ASSERT_PTR_NULL(refusal);
    CU_ASSERT(chosen("0.1", 0, 3000000, &refusal).sample_shots > 0);
    CU_ASSERT_PTR_NULL(refusal);
    subject.hot_bytes = 0;
    CU_ASSERT(chosen("auto", 0, 3000000, &refusal).sample_shots > 0);
    CU_ASSERT_PTR_NULL(refusal);
}

/* MG's exchange of faces: it writes a word in each of 33,000 pages. */
static void short_regions_that_need_many_pages_are_sampled(void)
{
    char *refusal;
    subject.written_pages = 33000;
    CU_ASSERT(chosen("auto", 0, 1000000, &refusal).sample_shots > 0);
    CU_ASSERT_PTR_NULL(refusal);
    CU_ASSERT_EQUAL(chosen("auto", 0, 1000000, &refusal).sample_gain, 0);     /* a run would pay for its pages */
    CU_ASSERT_EQUAL(chosen("auto", 0, 100000, &refusal).sample_shots, 0);
    free(refusal);
    subject.written_pages = 0;
}

static bool falling(const uint64_t *times_ns, const uint32_t *works_ns, size_t count)
{
    static struct plan_result result;
    result.sample_count = count;
    memcpy(result.samples_ns, times_ns, count * sizeof *times_ns);
    memcpy(result.works_ns, works_ns, count * sizeof *works_ns);
    return pcere_sample_trend_found(&result);
}

/* A processor that gets faster makes later shots shorter, too, and the known work beside them. */
static void a_trend_is_the_datas_not_the_processors(void)
{
    static const uint64_t warm[] = {150, 140, 130, 120, 110}, level[] = {120, 124, 119, 123, 121}, little[] = {102, 101, 101, 100, 100};
    static const uint32_t steady[] = {40, 40, 41, 40, 40}, faster[] = {60, 56, 52, 48, 44}, slower[] = {40, 44, 48, 52, 56}, unknown[5] = {0};
    CU_ASSERT_TRUE(falling(warm, steady, 5));
    CU_ASSERT_TRUE(falling(warm, unknown, 5));
    CU_ASSERT_TRUE(falling(warm, slower, 5));
    CU_ASSERT_FALSE(falling(warm, faster, 5));
    CU_ASSERT_FALSE(falling(warm, steady, 3));
    CU_ASSERT_FALSE(falling(level, slower, 5));   /* the processor alone is no trend either */
    CU_ASSERT_FALSE(falling(little, steady, 5));
}

static void patience_follows_the_region(void)
{
    struct store_codelet codelet = {.in_vivo_ns = 1000, .capture_threads = 1};
    CU_ASSERT(sampling_patience_ns(&codelet, 1) >= 1000000000);
    codelet.in_vivo_ns = 60000000000;
    CU_ASSERT(sampling_patience_ns(&codelet, 1) >= 120000000000 && sampling_patience_ns(&codelet, 1) < 600000000000);
    codelet.capture_threads = 8;
    CU_ASSERT(sampling_patience_ns(&codelet, 1) >= 8 * 120000000000);
    codelet.in_vivo_ns = UINT64_MAX;
    CU_ASSERT(sampling_patience_ns(&codelet, 0) >= 1000000000);
}

static void nonsense_is_refused(void)
{
    struct pcere_error error = {0};
    CU_ASSERT_EQUAL(replay_check_sample("nan", &error), PCERE_USAGE);
    CU_ASSERT_EQUAL(replay_check_sample("0.1x", &error), PCERE_USAGE);
    CU_ASSERT_EQUAL(replay_check_sample("0.1", NULL), PCERE_OK);
    CU_ASSERT_EQUAL(replay_check_sample("5%", NULL), PCERE_OK);
    CU_ASSERT_EQUAL(replay_check_sample("100%", NULL), PCERE_OK);
    CU_ASSERT_EQUAL(replay_check_sample("101%", &error), PCERE_USAGE);
    CU_ASSERT_EQUAL(replay_check_sample("%", &error), PCERE_USAGE);
    struct plan_result *result = calloc(1, sizeof *result);
    struct store_sample sample = {0};
    CU_ASSERT_EQUAL(sampling_take(result, &sample, &error), PCERE_OK);
    CU_ASSERT_EQUAL(sample.sampled_ratio, 0);
    atomic_store(&result->sampling, 1);
    result->sample_count = 5;
    result->sample_iterations = 100;
    CU_ASSERT_EQUAL(sampling_take(result, &sample, &error), PCERE_NO);
    result->sample_run = 100 * PLAN_SAMPLES + PLAN_SAMPLES;
    CU_ASSERT_EQUAL(sampling_take(result, &sample, &error), PCERE_NO);
    result->sample_run = 7;
    CU_ASSERT_EQUAL(sampling_take(result, &sample, &error), PCERE_OK);
    CU_ASSERT_DOUBLE_EQUAL(sample.sampled_ratio, 0.07, 1e-12);
    free(result);
}

static const struct unit_test tests[] = {
    {"a budget is for whole runs where they fit, else for shots", a_budget_decides_how_much_is_run},
    {"a class with many members is replayed whole unless a share is asked for", heavy_classes_are_replayed_whole},
    {"blocks lie inside the loop, ascend and are never empty, for any number of iterations", blocks_lie_inside},
    {"the shots of a loop have no iteration in common, and together run what was asked for", shots_are_disjoint},
    {"loops have their blocks at different places", loops_differ},
    {"teams of several sizes run the same iterations", parts_are_those_of_larger_teams},
    {"a share that is no part of a larger team's loop is placed by itself", other_shares_are_placed_by_themselves},
    {"regions with much memory are sampled so that larger teams find their pages", large_regions_are_sampled_for_larger_teams},
    {"iterations that grow steadily are met without bias", triangle_is_unbiased},
    {"chunks that stand for others ascend, each in its stratum", chunks_ascend},
    {"no chunk of a dynamic schedule is run in two shots", chunks_of_two_shots_differ},
    {"loops of few iterations are run whole", few_iterations_are_whole},
    {"long regions are sampled less, short ones and repetitions not at all", long_regions_are_sampled},
    {"a short region that finds its data in the caches is replayed whole", what_is_hot_and_short_is_replayed_whole},
    {"a short region that needs many pages is sampled", short_regions_that_need_many_pages_are_sampled},
    {"in a tour, a class with fewer members is replayed whole", in_a_tour_fewer_members_are_enough},
    {"shots must save more where a whole replay is one run", shots_must_save_more_where_one_run_is_enough},
    {"later shots that are shorter have a trend, unless the processor got faster", a_trend_is_the_datas_not_the_processors},
    {"a shot may take a multiple of the region's time, more with fewer threads", patience_follows_the_region},
    {"shares that make no sense are refused, the user's and the codelet's", nonsense_is_refused},
};

UNIT_MAIN("sampling", tests)
