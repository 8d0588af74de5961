/* platform/model.c - see model.h. */
#include "platform/model.h"

#include <math.h>
#include <string.h>

/* What no signature tells. The first four are those of machines of the last fifteen years, within a factor of two. */
#define WINDOW_INSTRUCTIONS 224.0     /* that an out-of-order core looks ahead */
#define RANDOM_RATIO 0.5              /* of the lines that a core has on their way when it reads in order, those when it does not */
#define BRANCH_CYCLES 15.0            /* of one that was mispredicted */
#define PAGE_NS 700.0                 /* to get a new page from the kernel, where the signature does not tell */
#define SHARED_RATIO 0.6              /* of a cache that cores share, what one program has: replacement is not perfect, and it is not alone */
#define IPC_PLAIN 2.5                 /* of code of which nothing else is known */
#define BLEND_POWER 3.0               /* between the longer of the two (infinite) and both one after the other (1) */
#define WAITING_RATIO 1.15            /* longer than units and front end need: the code waits for its own results */
#define CLOCK_HZ 2.5e9                /* of a machine that does not tell */
#define PARALLEL_NS 1500.0            /* of a construct of which nothing is known */

/* How far off each part may be, as standard deviations. */
#define DOUBT_CORE 0.10
#define DOUBT_CORE_PLAIN 0.40
#define DOUBT_CALL 0.30
#define DOUBT_TRANSFER 0.12
#define DOUBT_PUBLISHED 0.10
#define DOUBT_LATENCY 0.30
#define DOUBT_OVERHEAD 0.50
#define NORMAL_95 1.96

static double known_or(const struct quantity *quantity, double otherwise) { return quantity_known(quantity) ? quantity->value : otherwise; }

static double clock_hz(const struct platform_signature *signature, unsigned threads)
{
    double hz = signature->frequency_hz > 0 ? signature->frequency_hz : CLOCK_HZ;
    for (size_t i = 0; i < signature->clock_count; i++)
        if ((!i || signature->clocks[i].threads <= threads) && quantity_known(&signature->clocks[i].hz))
            hz = signature->clocks[i].hz.value;
    return hz;
}

static double rate_of(const struct platform_signature *signature, const char *kind, unsigned bits)
{
    for (size_t i = 0; i < signature->arithmetic_count; i++)
        if (signature->arithmetic[i].bits == bits && strcmp(signature->arithmetic[i].kind, kind) == 0)
            return known_or(&signature->arithmetic[i].flops_per_s, NAN);
    return NAN;
}

/* ---- the core ------------------------------------------------------------------------------------------------------------ */

struct clocks { double cycle_ns, waiting_ns, busy_ns; };    /* of a cycle; of one of llvm-mca's in code that waits, and that is busy */

/* What the signature measured of the references corrects the tool's idea of the processor; a correction beyond a factor of two is an error. */
static double corrected_ns(double measured_ns, double cycles, double cycle_ns)
{
    double ratio = measured_ns / (cycles * cycle_ns);
    return isfinite(ratio) && ratio > 0.5 && ratio < 2 ? ratio * cycle_ns : cycle_ns;
}

static struct clocks clocks_find(const struct platform_signature *signature, const struct model_core *core, unsigned threads)
{
    struct clocks clocks = {.cycle_ns = 1e9 / clock_hz(signature, threads)};
    clocks.waiting_ns = clocks.busy_ns = clocks.cycle_ns;
    if (!core || !core->references)
        return clocks;
    clocks.waiting_ns = corrected_ns(1e9 / rate_of(signature, "add-chain", 64), core->references[MCA_CHAIN].cycles, clocks.cycle_ns);
    clocks.busy_ns = corrected_ns(16 * 1e9 / rate_of(signature, "add", 128), core->references[MCA_SIDE_BY_SIDE].cycles, clocks.cycle_ns);
    return clocks;
}

static double code_ns(const struct character_code *code, const struct mca_estimate *estimate, const struct clocks *clocks, double flop_ns)
{
    if (!estimate || !(estimate->cycles > 0)) {
        double plain_ns = (double)code->instructions / IPC_PLAIN * clocks->cycle_ns, work_ns = (double)code->flops * flop_ns;
        return plain_ns > work_ns ? plain_ns : work_ns;
    }
    double busy_ns = estimate->bound_cycles * clocks->busy_ns;
    if (!code->loop)
        return busy_ns;
    double waiting_ns = estimate->cycles * (estimate->cycles > WAITING_RATIO * estimate->bound_cycles ? clocks->waiting_ns : clocks->busy_ns);
    return waiting_ns > busy_ns ? waiting_ns : busy_ns;
}

/* ---- calls --------------------------------------------------------------------------------------------------------------- */

/* Functions of the C library, in cycles of a core that has many of them to do: within a factor of 1.5 from Nehalem on. */
static double call_cycles(const char *name)
{
    static const struct { const char *name; double cycles; } known[] = {
        {"log", 24}, {"exp", 22}, {"pow", 55}, {"sin", 40}, {"cos", 40}, {"sincos", 55}, {"tan", 70}, {"sqrt", 20}, {"atan", 45}, {"atan2", 70},
        {"log2", 26}, {"log10", 45}, {"cbrt", 50}, {"fmod", 40}, {"floor", 8}, {"ceil", 8}, {"memcpy", 20}, {"memset", 20}, {"memmove", 20},
    };
    if (strncmp(name, "__kmpc_", 7) == 0 || strncmp(name, "omp_", 4) == 0)
        return 10;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, name) == 0)
            return known[i].cycles;
    return 0;                         /* a function of the program: its code counts itself */
}

/* Of the count of threads at or below, or of the one above. */
static double overhead_ns(const struct platform_signature *signature, const char *construct, unsigned threads)
{
    double found = NAN;
    unsigned best = 0;
    for (size_t i = 0; i < signature->overhead_count; i++) {
        const struct platform_overhead *overhead = &signature->overheads[i];
        if (strcmp(overhead->construct, construct) != 0 || !quantity_known(&overhead->time_ns))
            continue;
        if (isnan(found) || (overhead->threads <= threads && overhead->threads >= best)) {
            found = overhead->time_ns.value;
            best = overhead->threads;
        }
    }
    if (isnan(found))
        return threads > 1 ? PARALLEL_NS * (0.5 + 0.25 * log2(threads)) : 0.1 * PARALLEL_NS;
    return (found > 0 ? found : 0) * (best && threads > best ? 1 + log2((double)threads / best) : 1);
}

static double page_ns(const struct platform_signature *signature, unsigned threads)
{
    for (size_t i = 0; i < signature->overhead_count; i++)
        if (strcmp(signature->overheads[i].construct, "new-page") == 0)
            return overhead_ns(signature, "new-page", threads);
    return PAGE_NS;
}

/* What runtime calls of a name cost beyond the instructions around them. */
static double construct_ns(const struct platform_signature *signature, const char *call, unsigned threads)
{
    static const struct { const char *call, *construct; } known[] = {
        {"__kmpc_barrier", "barrier"}, {"__kmpc_single", "single"}, {"__kmpc_critical", "critical"}, {"__kmpc_critical_with_hint", "critical"},
        {"__kmpc_reduce", "reduction"}, {"__kmpc_reduce_nowait", "reduction"}, {"__kmpc_omp_task", "task"}, {"__kmpc_omp_taskwait", "taskwait"},
        {"omp_set_lock", "lock"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].call, call) == 0)
            return overhead_ns(signature, known[i].construct, threads);
    if (strncmp(call, "__kmpc_dispatch_next", 20) == 0)
        return overhead_ns(signature, "dynamic-chunk", threads);
    if (strncmp(call, "__kmpc_for_static_init", 22) == 0)
        return overhead_ns(signature, "static-chunk", threads);
    return 0;
}

/* ---- memory -------------------------------------------------------------------------------------------------------------- */

/* Lines of one cache that one of `threads` threads has: they spread over cores, and over sockets only when one is full. */
static double lines_of(const struct platform_signature *signature, const struct platform_level *level, unsigned threads, unsigned line_bytes)
{
    unsigned cores = level->shared_by / (signature->threads_per_core ? signature->threads_per_core : 1);
    unsigned sharing = cores < 1 ? 1 : cores < threads ? cores : threads;
    return (double)level->bytes / line_bytes / sharing * (cores > 1 ? SHARED_RATIO : 1);
}

/* Of uses at all distances, those at `lines` or more: misses of a cache of so many lines. */
static double misses_of(const double *uses, double lines)
{
    double misses = 0;
    for (unsigned bin = 0; bin < STORE_CHARACTER_BINS; bin++) {
        double from = character_bin_lines(bin), to = character_bin_lines(bin + 1);
        misses += uses[bin] * (from >= lines ? 1 : to > lines ? (to - lines) / (to - from) : 0);
    }
    return misses;
}

static double writebacks_of(const double *writebacks, double lines)
{
    double octave = log2(lines > 1 ? lines : 1);
    unsigned low = octave < STORE_CHARACTER_OCTAVES - 2 ? (unsigned)octave : STORE_CHARACTER_OCTAVES - 2;
    double part = octave - low < 1 ? octave - low : 1;
    return writebacks[low] * (1 - part) + writebacks[low + 1] * part;
}

struct traffic { double regular, irregular, writebacks; };     /* lines */

static void traffic_find(const struct platform_signature *signature, const struct store_character *character, const struct character_thread *thread,
                         struct traffic *ret_levels)
{
    double footprint = 0;
    struct traffic above[MODEL_LEVELS_MOST + 1] = {{0}};
    size_t levels = signature->level_count < MODEL_LEVELS_MOST ? signature->level_count : MODEL_LEVELS_MOST;
    for (int written = 0; written < 2; written++)
        footprint += thread->reuse.cold[written][0] + thread->reuse.cold[written][1];
    for (size_t i = 0; i < levels; i++) {       /* above[i]: what misses level i - 1 */
        double lines = i ? lines_of(signature, &signature->levels[i - 1], character->team, character->line_bytes) : 0;
        bool new_too = footprint > lines;       /* what is used for the first time was last used when the program laid it down */
        for (int written = 0; written < 2 && i; written++) {
            above[i].irregular += misses_of(thread->reuse.uses[written][0], lines) + (new_too ? thread->reuse.cold[written][0] : 0);
            above[i].regular += misses_of(thread->reuse.uses[written][1], lines) + (new_too ? thread->reuse.cold[written][1] : 0);
            above[i].writebacks += written && new_too ? thread->reuse.cold[1][0] + thread->reuse.cold[1][1] : 0;
        }
        if (i)
            above[i].writebacks += writebacks_of(thread->reuse.writebacks, lines);
    }
    for (size_t i = 0; i < levels; i++) {
        bool last = i + 1 == levels;
        ret_levels[i] = (struct traffic){above[i].regular - (last ? 0 : above[i + 1].regular), above[i].irregular - (last ? 0 : above[i + 1].irregular),
                                         above[i].writebacks - (last ? 0 : above[i + 1].writebacks)};
    }
}

struct memory_time { double cache_ns, memory_ns, latency_ns, doubt_ns2; };     /* transfers from caches, and from memory */

static struct memory_time memory_find(const struct platform_signature *signature, const struct store_character *character, const struct traffic *levels,
                                      double instructions, double core_ns)
{
    struct memory_time memory = {0};
    double ahead_ns = WINDOW_INSTRUCTIONS * core_ns / (instructions + 1);      /* that the core works on while it waits */
    size_t count = signature->level_count < MODEL_LEVELS_MOST ? signature->level_count : MODEL_LEVELS_MOST;
    for (size_t i = 1; i < count; i++) {
        const struct platform_level *level = &signature->levels[i];
        const struct platform_bandwidth *bandwidth = level_bandwidth(level, character->team);
        if (!bandwidth)
            continue;
        /* Each thread has its part of what so many pass together; caches of their own have more bandwidth with more threads. */
        bool shared = level->shared_by > signature->threads_per_core;
        double line_ns = 1e9 * character->line_bytes * (shared || bandwidth->threads > character->team ? character->team : bandwidth->threads);
        double read_ns = line_ns / known_or(&bandwidth->read, known_or(&bandwidth->triad, 1e10));
        double write_ns = quantity_known(&bandwidth->write) ? line_ns / bandwidth->write.value : 2 * read_ns;
        double back_ns = write_ns > read_ns ? write_ns - read_ns : 0.5 * read_ns, latency = known_or(&level->latency_ns, 0);
        /* Little's law: lines on their way = latency times bandwidth. */
        double at_once = RANDOM_RATIO * latency * known_or(&level->bandwidths[0].read, 1e10) / (1e9 * character->line_bytes * level->bandwidths[0].threads);
        double wait_ns = latency > ahead_ns ? (latency - ahead_ns) / (at_once > 1 ? at_once : 1) : 0;
        double transfer_ns = (levels[i].regular + levels[i].irregular) * read_ns + levels[i].writebacks * back_ns;
        double latency_ns = levels[i].irregular * wait_ns;
        double doubt = signature->basis == PLATFORM_PUBLISHED ? DOUBT_TRANSFER + DOUBT_PUBLISHED : DOUBT_TRANSFER;
        *(i + 1 == count ? &memory.memory_ns : &memory.cache_ns) += transfer_ns;
        memory.latency_ns += latency_ns;
        memory.doubt_ns2 += doubt * doubt * transfer_ns * transfer_ns + DOUBT_LATENCY * DOUBT_LATENCY * latency_ns * latency_ns;
    }
    return memory;
}

/* ---- all of it ----------------------------------------------------------------------------------------------------------- */

struct thread_time { struct model_parts parts; double total_ns, doubt_ns; };

static double blend(double core_ns, double memory_ns)
{
    double longer = core_ns > memory_ns ? core_ns : memory_ns, shorter = core_ns > memory_ns ? memory_ns : core_ns;
    return longer > 0 ? longer * pow(1 + pow(shorter / longer, BLEND_POWER), 1 / BLEND_POWER) : 0;
}

static struct thread_time thread_model(const struct platform_signature *signature, const struct store_character *character, const struct model_core *core,
                                       uint32_t number, struct model_time *all)
{
    const struct character_thread *thread = &character->per_thread[number];
    struct clocks clocks = clocks_find(signature, core, character->team);
    struct traffic levels[MODEL_LEVELS_MOST] = {{0}};
    struct thread_time time = {0};
    double instructions = thread->other_instructions, flop_rate = rate_of(signature, "add", 128), synchronising_ns = 0, busy_ns = 0;
    double flop_ns = isnan(flop_rate) ? 0 : 1e9 / flop_rate;
    for (size_t i = 0; i < character->code_count; i++) {
        const struct character_code *code = &character->codes[i];
        double passes = (double)code->counts[number];
        instructions += passes * (double)code->instructions;
        all->flops += passes * (double)code->flops;
        double estimate_ns = core && core->codes ? core->codes[i].bound_cycles * clocks.busy_ns : 0;
        busy_ns += passes * (estimate_ns > 0 ? estimate_ns : code_ns(code, NULL, &clocks, flop_ns));
        time.parts.core_ns += passes * code_ns(code, core && core->codes ? &core->codes[i] : NULL, &clocks, flop_ns);
    }
    time.parts.core_ns += thread->other_instructions / IPC_PLAIN * clocks.cycle_ns;
    busy_ns += thread->other_instructions / IPC_PLAIN * clocks.cycle_ns;
    for (size_t i = 0; i < character->call_count; i++) {
        const struct character_call *call = &character->calls[i];
        time.parts.call_ns += (double)call->counts[number] * call_cycles(call->name) * clocks.cycle_ns;
        synchronising_ns += (double)call->counts[number] * construct_ns(signature, call->name, character->team);
    }
    time.parts.branch_ns = thread->mispredicted * BRANCH_CYCLES * clocks.cycle_ns;
    traffic_find(signature, character, thread, levels);
    for (size_t i = 0; i < MODEL_LEVELS_MOST; i++)
        all->level_lines[i] += levels[i].regular + levels[i].irregular;
    all->instructions += instructions;
    struct memory_time memory = memory_find(signature, character, levels, instructions, time.parts.core_ns);
    time.parts.transfer_ns = memory.cache_ns + memory.memory_ns;
    time.parts.latency_ns = memory.latency_ns;
    time.parts.overhead_ns = overhead_ns(signature, "parallel", character->team) + synchronising_ns;
    double doubt_core = core && core->codes ? DOUBT_CORE : DOUBT_CORE_PLAIN;
    /* Memory's lines come while the core waits for its own results, but not while it is busy. */
    double other_ns = time.parts.branch_ns + time.parts.call_ns, alone_ns = blend(time.parts.core_ns + other_ns, memory.cache_ns),
           with_ns = blend(busy_ns + other_ns, memory.cache_ns) + memory.memory_ns + memory.latency_ns;
    time.total_ns = (alone_ns > with_ns ? alone_ns : with_ns) + time.parts.overhead_ns;
    time.doubt_ns = sqrt(pow(doubt_core * time.parts.core_ns, 2) + pow(DOUBT_CALL * (time.parts.call_ns + time.parts.branch_ns), 2) + memory.doubt_ns2 +
                         pow(DOUBT_OVERHEAD * time.parts.overhead_ns, 2));
    return time;
}

void model_codelet(const struct platform_signature *signature, const struct store_character *character, const struct model_core *core, struct model_time *ret_time)
{
    struct model_time time = {0};
    struct thread_time slowest = {0};
    for (uint32_t t = 0; t < character->team; t++) {
        struct thread_time one = thread_model(signature, character, core, t, &time);
        if (one.total_ns >= slowest.total_ns)
            slowest = one;
    }
    slowest.parts.page_ns = (double)character->new_pages / character->team * page_ns(signature, character->team);
    double total_ns = slowest.total_ns + slowest.parts.page_ns;
    double doubt = total_ns > 0 ? sqrt(pow(slowest.doubt_ns, 2) + pow(DOUBT_OVERHEAD * slowest.parts.page_ns, 2)) / total_ns : 0;
    time.parts = slowest.parts;
    time.time_ns = (struct quantity){total_ns, total_ns * exp(-NORMAL_95 * doubt), total_ns * exp(NORMAL_95 * doubt)};
    *ret_time = time;
}
