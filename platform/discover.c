/* platform/discover.c - the list of experiments for a topology, and how their numbers become a signature. */
#include "platform/discover.h"

#include "platform/hockney.h"
#include "predictor/statistics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    ROUNDS_MOST = 5, REPEATS = 5, QUICK_REPEATS = 3,
    THREADS_MOST = 16,                   /* numbers of threads that bandwidths are measured at */
    WORD_BYTES = 4096,                   /* a list of processors */
    NEARER_TIMES = 3,                    /* as much as the nearer cache holds leaves it, whatever is kept in it */
    MEMORY_SHARE = 8,                    /* probes use at most this part of the memory */
};
#define UNPINNED_WIDENING 1.25

/* ---- experiments: a probe, and where its number goes --------------------------------------------------------------------- */

struct experiment {
    const char *task, *kind;             /* kind may be NULL */
    const unsigned *cpus;
    size_t cpu_count;
    uint64_t bytes;                      /* 0: not said */
    unsigned bits;                       /* 0: not said */
    unsigned load_ms;                    /* 0: not said; else it is made in the first round only */
    struct quantity *result;             /* in the signature, whose lists do not grow any more */
    double *samples;
    size_t sample_count, sample_room;
    bool refused;
};

struct plan {
    const struct discover_options *options;
    struct platform_signature signature;
    struct experiment *experiments;
    size_t experiment_count, experiment_room;
    unsigned repeats;
    bool failed;                         /* out of memory */
};

static void experiment_add(struct plan *plan, struct experiment experiment, struct quantity *result)
{
    if (plan->experiment_count == plan->experiment_room) {
        size_t room = plan->experiment_room ? 2 * plan->experiment_room : 256;
        void *experiments = realloc(plan->experiments, room * sizeof *plan->experiments);
        if (!experiments) {
            plan->failed = true;
            return;
        }
        plan->experiments = experiments;
        plan->experiment_room = room;
    }
    *result = quantity_unknown;
    experiment.result = result;
    plan->experiments[plan->experiment_count++] = experiment;
}

/* Numbers of threads up to `most`: all up to 4, then in steps of a half to a third, and `most`. */
static size_t thread_counts(unsigned most, unsigned counts[static THREADS_MOST])
{
    size_t count = 0;
    for (unsigned threads = 1; threads < most && count < THREADS_MOST - 1; threads += threads < 4 ? 1 : threads < 8 ? 2 : threads / 2)
        counts[count++] = threads;
    counts[count++] = most;
    return count;
}

static uint64_t at_most(uint64_t value, uint64_t most) { return value < most ? value : most; }
static uint64_t at_least(uint64_t value, uint64_t least) { return value > least ? value : least; }

static uint64_t memory_probe_bytes(const struct plan *plan)
{
    const struct topology *topology = plan->options->topology;
    uint64_t cache = topology->cache_count ? topology->caches[topology->cache_count - 1].bytes : 0;
    uint64_t most = topology->memory_bytes ? topology->memory_bytes / MEMORY_SHARE : (uint64_t)256 << 20;
    uint64_t wanted = at_least(at_most((plan->options->quick ? 3 : 6) * cache, (uint64_t)1 << 30), (uint64_t)64 << 20);
    return at_most(wanted, most);
}

/* Bytes that lie in level `index` and not in a nearer one: the geometric mean of both capacities, since a shared cache may be used by others, too. */
static uint64_t level_bytes(const struct plan *plan, size_t index)
{
    const struct platform_level *level = &plan->signature.levels[index];
    if (!level->level)
        return memory_probe_bytes(plan);
    return index ? (uint64_t)sqrt((double)level->bytes * (double)plan->signature.levels[index - 1].bytes) : level->bytes / 2;
}

/* Of a shared cache no more than is well out of the nearer one: a pass of dependent loads takes so long that others, of the machine or of other guests, replace what is farther apart. */
static uint64_t level_latency_bytes(const struct plan *plan, size_t index)
{
    uint64_t bytes = level_bytes(plan, index);
    return index && plan->signature.levels[index].level ? at_most(bytes, NEARER_TIMES * plan->signature.levels[index - 1].bytes) : bytes;
}

/* What one of `threads` threads uses of them: together they stay in the level, and each one's part leaves the nearer one. */
static uint64_t level_probe_bytes(const struct plan *plan, size_t index, unsigned threads)
{
    const struct platform_level *level = &plan->signature.levels[index];
    uint64_t nearer = index ? plan->signature.levels[index - 1].bytes : 0;
    if (!level->level)
        return at_least(memory_probe_bytes(plan) / threads, 2 * nearer / threads + (8u << 20));
    unsigned sharing = level->shared_by / plan->signature.threads_per_core;
    sharing = sharing < 1 ? 1 : sharing > threads ? threads : sharing;
    return at_most(at_least(level_bytes(plan, index) / sharing, nearer + nearer / 2), at_least(level->bytes / sharing, 4096));
}

static const char *const stream_kinds[] = {"read", "write", "triad"};

static void levels_plan(struct plan *plan)
{
    const struct topology *topology = plan->options->topology;
    struct platform_signature *signature = &plan->signature;
    unsigned counts[THREADS_MOST];
    size_t count = thread_counts((unsigned)topology->core_count, counts);
    for (size_t i = 0; i < signature->level_count; i++) {
        struct platform_level *level = &signature->levels[i];
        experiment_add(plan, (struct experiment){.task = "latency", .cpus = topology->cpus, .cpu_count = 1, .bytes = level_latency_bytes(plan, i)}, &level->latency_ns);
        level->effective_bytes = level->streams_ratio = level->restart_ns = level->overlap_read = level->overlap_write = quantity_unknown;
        if (level->level && level->shared_by > signature->threads_per_core)
            experiment_add(plan, (struct experiment){.task = "capacity", .cpus = topology->cpus, .cpu_count = 1, .bytes = level->bytes}, &level->effective_bytes);
        if (i) {
            experiment_add(plan, (struct experiment){.task = "overlap", .kind = "streams", .cpus = topology->cpus, .cpu_count = 1, .bytes = level_bytes(plan, i)},
                           &level->streams_ratio);
            experiment_add(plan, (struct experiment){.task = "overlap", .kind = "restart", .cpus = topology->cpus, .cpu_count = 1, .bytes = level_bytes(plan, i)},
                           &level->restart_ns);
            experiment_add(plan, (struct experiment){.task = "overlap", .kind = "read", .cpus = topology->cpus, .cpu_count = 1, .bytes = level_bytes(plan, i)},
                           &level->overlap_read);
            experiment_add(plan, (struct experiment){.task = "overlap", .kind = "write", .cpus = topology->cpus, .cpu_count = 1, .bytes = level_bytes(plan, i)},
                           &level->overlap_write);
        }
        level->bandwidths = calloc(count, sizeof *level->bandwidths);
        if (!level->bandwidths) {
            plan->failed = true;
            return;
        }
        level->bandwidth_count = count;
        for (size_t t = 0; t < count; t++) {
            struct platform_bandwidth *bandwidth = &level->bandwidths[t];
            struct quantity *results[] = {&bandwidth->read, &bandwidth->write, &bandwidth->triad};
            uint64_t each = level_probe_bytes(plan, i, counts[t]);
            *bandwidth = (struct platform_bandwidth){.threads = counts[t], .latency_ns = quantity_unknown};
            if (counts[t] > 1)
                experiment_add(plan, (struct experiment){.task = "latency", .cpus = topology->cpus, .cpu_count = counts[t], .bytes = at_most(each, level_latency_bytes(plan, i))},
                               &bandwidth->latency_ns);
            for (size_t k = 0; k < 3; k++)
                experiment_add(plan, (struct experiment){.task = "bandwidth", .kind = stream_kinds[k], .cpus = topology->cpus, .cpu_count = counts[t], .bytes = each},
                               results[k]);
        }
    }
}

static void transfer_plan(struct plan *plan, const struct topology_pair *pair, const char *kind, struct platform_transfer *transfer)
{
    const struct topology *topology = plan->options->topology;
    uint64_t last = topology->cache_count ? topology->caches[topology->cache_count - 1].bytes : 1u << 20;
    uint64_t most = at_most(2 * last, (uint64_t)128 << 20);
    unsigned step = plan->options->quick ? 8 : 2;
    size_t count = 0;
    for (uint64_t bytes = 64; bytes <= most; bytes *= step)
        count++;
    transfer->points = calloc(count, sizeof *transfer->points);
    if (!transfer->points) {
        plan->failed = true;
        return;
    }
    transfer->point_count = count;
    uint64_t bytes = 64;
    for (size_t i = 0; i < count; i++, bytes *= step) {
        transfer->points[i].bytes = bytes;
        experiment_add(plan, (struct experiment){.task = "pair", .kind = kind, .cpus = pair->cpus, .cpu_count = 2, .bytes = bytes},
                       &transfer->points[i].time_ns);
    }
}

static void pairs_plan(struct plan *plan)
{
    const struct topology *topology = plan->options->topology;
    struct platform_signature *signature = &plan->signature;
    signature->pairs = calloc(topology->pair_count + 1, sizeof *signature->pairs);
    plan->failed |= !signature->pairs;
    for (size_t i = 0; i < topology->pair_count && !plan->failed; i++) {
        struct platform_pair *pair = &signature->pairs[signature->pair_count++];
        pair->relation = strdup(topology->pairs[i].relation);
        memcpy(pair->cpus, topology->pairs[i].cpus, sizeof pair->cpus);
        plan->failed |= !pair->relation;
        transfer_plan(plan, &topology->pairs[i], "read", &pair->read);
        transfer_plan(plan, &topology->pairs[i], "write", &pair->write);
        experiment_add(plan, (struct experiment){.task = "pair", .kind = "line", .cpus = topology->pairs[i].cpus, .cpu_count = 2, .bytes = 64}, &pair->line_ns);
    }
}

static const struct { const char *kind; unsigned bits; } arithmetic_probes[] = {
    {"add", 64}, {"add", 128}, {"add", 256}, {"add", 512}, {"fma", 64}, {"fma", 128}, {"fma", 256}, {"fma", 512},
    {"divide", 64}, {"divide", 128}, {"divide", 256}, {"divide", 512}, {"add-chain", 64}, {"fma-chain", 64},
};
static const char *const function_kinds[] = {"log", "log2", "log10", "exp", "pow", "sin", "cos", "tan", "atan", "atan2", "cbrt", "fmod", "floor"};
static const char *const pipeline_kinds[] = {"plain", "load", "load-vector", "store", "store-vector", "stream", "update", "pair-chain", "window", "refill"};
static const char *const construct_kinds[] = {"parallel", "for", "barrier", "single", "critical", "lock", "atomic", "reduction",
                                              "static-chunk", "dynamic-chunk", "guided-loop", "task", "taskwait", "new-page"};
enum { ARITHMETIC = sizeof arithmetic_probes / sizeof *arithmetic_probes, FUNCTIONS = sizeof function_kinds / sizeof *function_kinds,
       CONSTRUCTS = sizeof construct_kinds / sizeof *construct_kinds,
       PIPELINE = sizeof pipeline_kinds / sizeof *pipeline_kinds };

static void costs_plan(struct plan *plan)
{
    const struct topology *topology = plan->options->topology;
    struct platform_signature *signature = &plan->signature;
    unsigned cores = (unsigned)topology->core_count, counts[] = {1, 2, cores / 2, cores};
    signature->arithmetic = calloc(ARITHMETIC + FUNCTIONS, sizeof *signature->arithmetic);
    signature->clocks = calloc(2, sizeof *signature->clocks);
    signature->overheads = calloc(CONSTRUCTS * 4, sizeof *signature->overheads);
    signature->pipeline = calloc(PIPELINE, sizeof *signature->pipeline);
    plan->failed |= !signature->arithmetic || !signature->clocks || !signature->overheads || !signature->pipeline;
    for (size_t k = 0; k < PIPELINE && !plan->failed; k++) {
        struct platform_pipeline *one = &signature->pipeline[signature->pipeline_count++];
        one->kind = strdup(pipeline_kinds[k]);
        plan->failed |= !one->kind;
        experiment_add(plan, (struct experiment){.task = "pipeline", .kind = pipeline_kinds[k], .cpus = topology->cpus, .cpu_count = 1}, &one->value);
    }
    const struct experiment translation = {.task = "translation", .cpus = topology->cpus, .cpu_count = 1, .bytes = memory_probe_bytes(plan)};
    struct experiment reach = translation, miss = translation;
    reach.kind = "reach";
    miss.kind = "miss";
    experiment_add(plan, reach, &signature->translation.reach_pages);
    experiment_add(plan, miss, &signature->translation.miss_ns);
    for (size_t k = 0; k < ARITHMETIC + FUNCTIONS && !plan->failed; k++) {
        struct platform_arithmetic *one = &signature->arithmetic[signature->arithmetic_count++];
        bool function = k >= ARITHMETIC;
        *one = (struct platform_arithmetic){.kind = strdup(function ? function_kinds[k - ARITHMETIC] : arithmetic_probes[k].kind), .bits = function ? 64 : arithmetic_probes[k].bits};
        plan->failed |= !one->kind;
        experiment_add(plan, (struct experiment){.task = function ? "function" : "arithmetic", .kind = one->kind, .cpus = topology->cpus, .cpu_count = 1, .bits = one->bits},
                       &one->flops_per_s);
    }
    for (size_t t = 0, most = 0; t < 4 && !plan->failed; t++) {
        if (counts[t] <= most || counts[t] > cores)
            continue;
        most = counts[t];
        for (size_t k = 0; k < CONSTRUCTS; k++) {
            struct platform_overhead *one = &signature->overheads[signature->overhead_count++];
            *one = (struct platform_overhead){.construct = strdup(construct_kinds[k]), .threads = counts[t]};
            plan->failed |= !one->construct;
            experiment_add(plan, (struct experiment){.task = "overhead", .kind = construct_kinds[k], .cpus = topology->cpus, .cpu_count = counts[t]},
                           &one->time_ns);
        }
        if (counts[t] != 1 && counts[t] != cores)
            continue;
        struct platform_clock *clock = &signature->clocks[signature->clock_count++];
        clock->threads = counts[t];
        experiment_add(plan, (struct experiment){.task = "clock", .cpus = topology->cpus, .cpu_count = counts[t]}, &clock->hz);
        clock->load_s = (double)plan->options->load_ms / 1000;
        clock->sustained_hz = quantity_unknown;
        if (plan->options->load_ms)
            experiment_add(plan, (struct experiment){.task = "sustain", .cpus = topology->cpus, .cpu_count = counts[t], .load_ms = plan->options->load_ms}, &clock->sustained_hz);
    }
}

static void signature_begin(struct plan *plan)
{
    const struct discover_options *options = plan->options;
    const struct topology *topology = options->topology;
    struct platform_signature *signature = &plan->signature;
    *signature = (struct platform_signature){
        .name = strdup(options->name), .title = strdup(options->title), .isa = strdup(options->isa), .basis = PLATFORM_MEASURED,
        .sockets = topology->sockets, .cores_per_socket = topology->cores_per_socket, .threads_per_core = topology->threads_per_core,
        .numa_nodes = topology->numa_nodes, .page_bytes = options->page_bytes, .pinned = true,
        .levels = calloc(topology->cache_count + 1, sizeof *signature->levels), .sources = calloc(2, sizeof *signature->sources),
    };
    plan->failed |= !signature->name || !signature->title || !signature->isa || !signature->levels || !signature->sources;
    if (plan->failed)
        return;
    signature->sources[signature->source_count++] = strdup(options->source);
    plan->failed |= !signature->sources[0];
    if (options->clock_source && !plan->failed) {
        signature->sources[signature->source_count++] = strdup(options->clock_source);
        plan->failed |= !signature->sources[1];
    }
    for (size_t i = 0; i < topology->cache_count; i++) {
        const struct topology_cache *cache = &topology->caches[i];
        signature->levels[signature->level_count++] = (struct platform_level){
            .level = cache->level, .bytes = cache->bytes, .line_bytes = cache->line_bytes, .ways = cache->ways, .shared_by = cache->shared_by};
    }
    signature->levels[signature->level_count++] = (struct platform_level){
        .level = 0, .bytes = topology->memory_bytes, .line_bytes = topology->cache_count ? topology->caches[0].line_bytes : 0,
        .shared_by = signature_threads(signature)};
}

/* ---- running them -------------------------------------------------------------------------------------------------------- */

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool samples_take(struct experiment *experiment, const char *output)
{
    const char *at = output;
    for (;;) {
        char *end;
        double value = strtod(at, &end);
        if (end == at || *end != '\n')
            return true;
        at = end;
        if (!isfinite(value))
            continue;
        if (experiment->sample_count == experiment->sample_room) {
            size_t room = experiment->sample_room ? 2 * experiment->sample_room : 16;
            double *samples = realloc(experiment->samples, room * sizeof *samples);
            if (!samples)
                return false;
            experiment->samples = samples;
            experiment->sample_room = room;
        }
        experiment->samples[experiment->sample_count++] = value;
    }
}

static enum pcere_status experiment_run(struct plan *plan, struct experiment *experiment, struct pcere_error *error)
{
    char kind[64], bytes[64], bits[64], load[64], repeats[64], cpus[WORD_BYTES] = "cpus=", places[WORD_BYTES] = "OMP_PLACES=";
    size_t cpus_length = strlen(cpus), places_length = strlen(places);
    for (size_t i = 0; i < experiment->cpu_count && cpus_length < WORD_BYTES - 32 && places_length < WORD_BYTES - 32; i++) {
        cpus_length += (size_t)snprintf(cpus + cpus_length, WORD_BYTES - cpus_length, "%s%u", i ? "," : "", experiment->cpus[i]);
        places_length += (size_t)snprintf(places + places_length, WORD_BYTES - places_length, "%s{%u}", i ? "," : "", experiment->cpus[i]);
    }
    const char *words[8] = {experiment->task, cpus, repeats};
    size_t count = 3;
    snprintf(repeats, sizeof repeats, "repeats=%u", plan->repeats);
    if (experiment->kind && snprintf(kind, sizeof kind, "kind=%s", experiment->kind) > 0)
        words[count++] = kind;
    if (experiment->bytes && snprintf(bytes, sizeof bytes, "bytes=%llu", (unsigned long long)experiment->bytes) > 0)
        words[count++] = bytes;
    if (experiment->bits && snprintf(bits, sizeof bits, "bits=%u", experiment->bits) > 0)
        words[count++] = bits;
    if (experiment->load_ms && snprintf(load, sizeof load, "load=%u", experiment->load_ms) > 0)
        words[count++] = load;
    if (!plan->signature.pinned)
        words[count++] = "pinned=0";
    const char *environment[] = {plan->signature.pinned ? places : "OMP_PLACES=", "OMP_PROC_BIND=", NULL};
    if (plan->signature.pinned)
        environment[1] = "OMP_PROC_BIND=true";
    char *output = NULL;
    int exit_status = 0;
    enum pcere_status status = plan->options->run(plan->options->context, words, environment, &output, &exit_status, error);
    if (status == PCERE_OK && exit_status == 0 && !samples_take(experiment, output))
        status = pcere_fail_memory(error, "a probe's numbers");
    if (status == PCERE_OK && exit_status != 0)
        experiment->refused = true;
    free(output);
    return status;
}

static enum pcere_status round_run(struct plan *plan, size_t round, struct pcere_error *error)
{
    enum pcere_status status = PCERE_OK;
    for (size_t i = 0; i < plan->experiment_count && status == PCERE_OK; i++) {
        struct experiment *experiment = &plan->experiments[i];
        if (experiment->refused || (experiment->load_ms && experiment->sample_count))
            continue;
        if (plan->options->progress) {
            char text[160];
            snprintf(text, sizeof text, "round %zu, %zu of %zu: %s %s", round + 1, i + 1, plan->experiment_count, experiment->task,
                     experiment->kind ? experiment->kind : "");
            plan->options->progress(plan->options->context, text);
        }
        status = experiment_run(plan, experiment, error);
    }
    return status;
}

static void numbers_settle(struct plan *plan);

/* As many rounds as there is time for. A quick discovery has one, and more only while what was measured cannot be true: the machine was disturbed. */
static enum pcere_status rounds_run(struct plan *plan, struct discover_summary *summary, struct pcere_error *error)
{
    uint64_t start = now_ns();
    enum pcere_status status = PCERE_OK;
    while (summary->rounds < ROUNDS_MOST && status == PCERE_OK) {
        uint64_t spent = now_ns() - start;
        /* a round takes as long as those before did on average */
        if (summary->rounds && plan->options->budget_ns && spent + spent / summary->rounds > plan->options->budget_ns)
            break;
        if (summary->rounds && plan->options->quick && signature_check(&plan->signature, "", NULL) == PCERE_OK)
            break;
        status = round_run(plan, summary->rounds++, error);
        numbers_settle(plan);
    }
    return status;
}

/* Can threads be pinned here? One short probe that is pinned tells. */
static enum pcere_status pinning_find(struct plan *plan, struct pcere_error *error)
{
    struct experiment trial = {.task = "clock", .cpus = plan->options->topology->cpus, .cpu_count = 1};
    enum pcere_status status = experiment_run(plan, &trial, error);
    plan->signature.pinned = !trial.refused;
    free(trial.samples);
    return status;
}

/* ---- what the numbers say ------------------------------------------------------------------------------------------------ */

static struct quantity quantity_from(double *samples, size_t count, bool pinned)
{
    if (!count)
        return quantity_unknown;
    statistics_sort(samples, count);
    struct statistics_interval interval = statistics_median_interval(samples, count, 0.95);
    struct quantity quantity = {statistics_median(samples, count), interval.low, interval.high};
    if (!pinned) {
        quantity.low = samples[0] > 0 ? samples[0] / UNPINNED_WIDENING : samples[0];
        quantity.high = samples[count - 1] * UNPINNED_WIDENING;
    }
    return quantity;
}

/* Points that no probe gave a time for are left out: a fit needs all of them. */
static void points_drop_unknown(struct platform_transfer *transfer)
{
    size_t kept = 0;
    for (size_t i = 0; i < transfer->point_count; i++)
        if (quantity_known(&transfer->points[i].time_ns) && transfer->points[i].time_ns.value > 0)
            transfer->points[kept++] = transfer->points[i];
    transfer->point_count = kept;
}

static enum pcere_status pairs_fit(struct plan *plan, struct pcere_error *error)
{
    uint64_t edges[TOPOLOGY_LEVELS_MOST];
    size_t count = 0;
    for (size_t i = 0; i < plan->options->topology->cache_count; i++)
        edges[count++] = plan->options->topology->caches[i].bytes;
    enum pcere_status status = PCERE_OK;
    for (size_t i = 0; i < plan->signature.pair_count && status == PCERE_OK; i++) {
        struct platform_pair *pair = &plan->signature.pairs[i];
        points_drop_unknown(&pair->read);
        points_drop_unknown(&pair->write);
        status = hockney_pieces(&pair->read, edges, count, error);
        if (status == PCERE_OK)
            status = hockney_pieces(&pair->write, edges, count, error);
    }
    return status;
}

static void numbers_settle(struct plan *plan)
{
    for (size_t i = 0; i < plan->experiment_count; i++) {
        struct experiment *experiment = &plan->experiments[i];
        *experiment->result = quantity_from(experiment->samples, experiment->sample_count, plan->signature.pinned);
    }
}

/* What the machine cannot do is left out, and what follows from several numbers is worked out. */
static enum pcere_status signature_finish(struct plan *plan, struct discover_summary *summary, struct pcere_error *error)
{
    struct platform_signature *signature = &plan->signature;
    enum pcere_status status = pairs_fit(plan, error);
    size_t kept = 0;
    for (size_t i = 0; i < plan->experiment_count; i++)
        summary->refused += plan->experiments[i].refused;
    for (size_t i = 0; i < signature->arithmetic_count; i++) {
        struct platform_arithmetic *one = &signature->arithmetic[i];
        if (!quantity_known(&one->flops_per_s)) {
            free(one->kind);
            continue;
        }
        signature->vector_bits = one->bits > signature->vector_bits ? one->bits : signature->vector_bits;
        signature->fma |= one->bits > 64 && strcmp(one->kind, "fma") == 0;
        signature->arithmetic[kept++] = *one;
    }
    signature->arithmetic_count = kept;
    kept = 0;
    for (size_t i = 0; i < signature->pipeline_count; i++) {
        if (quantity_known(&signature->pipeline[i].value))
            signature->pipeline[kept++] = signature->pipeline[i];
        else
            free(signature->pipeline[i].kind);
    }
    signature->pipeline_count = kept;
    if (signature->clock_count && quantity_known(&signature->clocks[0].hz))
        signature->frequency_hz = signature->clocks[0].hz.value;
    const struct platform_level *memory = &signature->levels[signature->level_count - 1];
    if (status == PCERE_OK && !quantity_known(&memory->latency_ns))
        return pcere_fail(error, PCERE_REFUSED, 0, "run 'pcere-probe latency cpus=0 bytes=65536' by hand to see why", "the probes gave no numbers");
    return status;
}

enum pcere_status platform_discover(const struct discover_options *options, struct platform_signature *ret_signature, struct discover_summary *ret_summary,
                                    struct pcere_error *error)
{
    struct plan plan = {.options = options, .repeats = options->quick ? QUICK_REPEATS : REPEATS};
    struct discover_summary summary = {0};
    signature_begin(&plan);
    if (!plan.failed)
        levels_plan(&plan);
    if (!plan.failed)
        pairs_plan(&plan);
    if (!plan.failed)
        costs_plan(&plan);
    summary.experiments = plan.experiment_count;
    enum pcere_status status = plan.failed ? pcere_fail_memory(error, "the list of experiments") : pinning_find(&plan, error);
    if (status == PCERE_OK)
        status = rounds_run(&plan, &summary, error);
    if (status == PCERE_OK)
        status = signature_finish(&plan, &summary, error);
    for (size_t i = 0; i < plan.experiment_count; i++)
        free(plan.experiments[i].samples);
    free(plan.experiments);
    if (status) {
        signature_done(&plan.signature);
        return status;
    }
    *ret_signature = plan.signature;
    *ret_summary = summary;
    return PCERE_OK;
}
