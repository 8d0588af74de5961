/* platform/model.c - see model.h. */
#include "platform/model.h"

#include "platform/core.h"

#include <fnmatch.h>
#include <math.h>
#include <string.h>

/* What no signature tells: that of machines of the last fifteen years, within a factor of two. */
#define RANDOM_RATIO 0.5              /* of the lines that a core has on their way when it reads in order, those when it does not */
#define PAGE_NS 700.0                 /* to get a new page from the kernel, where the signature does not tell */
#define SHARED_RATIO 0.6              /* of a cache that cores share, what one program has, where that was not measured */
#define OVERLAP_RATIO 0.8             /* of the shorter of core and transfers, what vanishes when both go on at once, where that was not measured */
#define STREAMS_FEW 4.0               /* what platform_level.streams_ratio compares */
#define STREAMS_MANY 16.0
#define STREAMS_LOST 0.5              /* loss of bandwidth with so many at which prefetchers follow none of them */
#define STREAMS_LOOP_RATIO 0.1      /* a loop that moves less of the bytes does not count */
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

/* ---- calls --------------------------------------------------------------------------------------------------------------- */

/* Functions of the C library, in cycles of a core that has many of them to do: within a factor of 2 from Nehalem on, where they were not measured. */
static double call_cycles(const struct platform_signature *signature, const struct core_clock *clock, const char *name)
{
    static const struct { const char *name; double cycles; } known[] = {
        {"log", 24}, {"exp", 22}, {"pow", 55}, {"sin", 40}, {"cos", 40}, {"sincos", 55}, {"tan", 70}, {"sqrt", 20}, {"atan", 45}, {"atan2", 70},
        {"log2", 26}, {"log10", 45}, {"cbrt", 50}, {"fmod", 40}, {"floor", 8}, {"ceil", 8}, {"memcpy", 20}, {"memset", 20}, {"memmove", 20},
    };
    if (strncmp(name, "__kmpc_", 7) == 0 || strncmp(name, "omp_", 4) == 0)
        return 10;
    for (size_t i = 0; i < signature->arithmetic_count; i++)
        if (strcmp(signature->arithmetic[i].kind, name) == 0 && quantity_known(&signature->arithmetic[i].flops_per_s))
            return 1e9 / signature->arithmetic[i].flops_per_s.value / clock->cycle_ns;
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

/* What a construct costs beyond another one that was measured with it. */
static double beyond_ns(const struct platform_signature *signature, const char *construct, const char *less, unsigned threads)
{
    double all_ns = overhead_ns(signature, construct, threads), less_ns = less ? overhead_ns(signature, less, threads) : 0;
    return all_ns > less_ns ? all_ns - less_ns : 0;
}

/* What `calls` runtime calls of a name cost a thread beyond the instructions around them. What threads do one after another costs what it does in the signature,
 * where they do nothing else, only as often as they meet there: they have `work_ns` of other work in all. */
static double constructs_ns(const struct platform_signature *signature, const char *name, double calls, unsigned threads, double work_ns)
{
    /* What is measured holds another construct, too: the barrier at its end, whose call is counted by itself, or the region or task around it. */
    static const struct { const char *call, *construct, *less; bool meet; } known[] = {
        {"__kmpc_barrier", "barrier", NULL, false}, {"__kmpc_single", "single", "barrier", false}, {"__kmpc_critical*", "critical", NULL, true},
        {"__kmpc_reduce*", "reduction", "parallel", false}, {"__kmpc_omp_task", "task", NULL, false}, {"__kmpc_omp_taskwait", "taskwait", "task", false},
        {"__kmpc_for_static_init*", "for", "barrier", false}, {"__kmpc_dispatch_next*", "dynamic-chunk", NULL, true}, {"omp_set_lock", "lock", NULL, true},
    };
    size_t found = 0, count = sizeof known / sizeof *known;
    while (found < count && fnmatch(known[found].call, name, 0) != 0)
        found++;
    if (found == count || !(calls > 0))
        return 0;
    double together_ns = beyond_ns(signature, known[found].construct, known[found].less, threads), alone_ns = beyond_ns(signature, known[found].construct, known[found].less, 1);
    if (!known[found].meet || !(alone_ns < together_ns))
        return calls * together_ns;
    double between_ns = work_ns / calls, often = between_ns > together_ns ? together_ns / between_ns : 1;
    return calls * (alone_ns + (together_ns - alone_ns) * often);
}

/* ---- memory -------------------------------------------------------------------------------------------------------------- */

/* Of a cache, what one thread has of it, in lines. */
static double lines_of(const struct platform_signature *signature, const struct platform_level *level, unsigned threads, unsigned line_bytes)
{
    unsigned cores = level->shared_by / (signature->threads_per_core ? signature->threads_per_core : 1);
    unsigned sharing = cores < 1 ? 1 : cores < threads ? cores : threads;
    double all = (double)level->bytes / line_bytes / sharing, held = level->effective_bytes.value / line_bytes / sharing;
    return cores <= 1 ? all : !(held > 0) ? SHARED_RATIO * all : held < all ? held : all;
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

struct traffic { double regular, irregular, early, irregular_reads, jumps, writebacks; };      /* lines. Of the regular ones early; of the irregular ones read; these and those from farther away */

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
            double irregular = misses_of(thread->reuse.uses[written][0], lines) + (new_too ? thread->reuse.cold[written][0] : 0);
            above[i].irregular += irregular;
            above[i].jumps += written ? 0 : irregular;
            above[i].regular += misses_of(thread->reuse.uses[written][1], lines) + (new_too ? thread->reuse.cold[written][1] : 0);
            above[i].early += misses_of(thread->reuse.uses[written][2], lines) + (new_too ? thread->reuse.cold[written][2] : 0);
            above[i].writebacks += written && new_too ? thread->reuse.cold[1][0] + thread->reuse.cold[1][1] : 0;
        }
        if (i)
            above[i].writebacks += writebacks_of(thread->reuse.writebacks, lines);
    }
    for (size_t i = 0; i < levels; i++) {
        bool last = i + 1 == levels;
        ret_levels[i] = (struct traffic){above[i].regular - (last ? 0 : above[i + 1].regular), above[i].irregular - (last ? 0 : above[i + 1].irregular),
                                         above[i].early - (last ? 0 : above[i + 1].early), above[i].jumps - (last ? 0 : above[i + 1].jumps), above[i].jumps,
                                         above[i].writebacks - (last ? 0 : above[i + 1].writebacks)};
    }
}

/* Of the wait for a line that nothing could foresee, what is left because other such waits go on at once: all of it where the core does not see the next jump within its window,
 * and the less the more of them it sees. `farther`: of the jumps that were counted, one in so many comes from as far away. */
static double waited_ratio(const double *jumps, double farther, double window, double least)
{
    double all = 0, waited = 0;
    for (unsigned bin = 0; bin < STORE_CHARACTER_GAPS; bin++) {
        double gap = bin ? 0.5 * (character_bin_lines(bin) + character_bin_lines(bin + 1)) : 0, ratio = gap * farther / window;
        all += jumps[bin];
        waited += jumps[bin] * (ratio > 1 ? 1 : ratio > least ? ratio : least);
    }
    return all > 0 ? waited / all : least;
}

/* What a line costs beyond its transfer that comes soon after a jump, when prefetchers have not caught up: the same whatever the core does meanwhile. The signature has it with
 * the jump that each of its runs begins with, and with what the core needs for a line, which is as long for lines of the nearest level. */
static double restart_ns(const struct platform_signature *signature, const struct platform_level *level, double window)
{
    const struct platform_level *nearest = signature->levels;
    while (nearest < level && !(nearest->restart_ns.value > 0))
        nearest++;
    if (!(level->restart_ns.value > 0) || !level->bandwidth_count)
        return 0;
    double core_ns = nearest < level ? nearest->restart_ns.value : 0, ahead_ns = window * core_ns / PLATFORM_RESTART_INSTRUCTIONS, latency = known_or(&level->latency_ns, 0);
    double read_ns = 1e9 * level->line_bytes * level->bandwidths[0].threads / known_or(&level->bandwidths[0].read, 1e10), line_ns = core_ns > read_ns ? core_ns : read_ns;
    double late_ns = level->restart_ns.value - line_ns - (latency > ahead_ns ? (latency - ahead_ns) / PLATFORM_RESTART_LINES : 0);
    return late_ns > 0 ? late_ns : 0;
}

/* Lines that another thread wrote and that are still in its own caches, each a message after Hockney: what a jump begins costs all of it, what follows its bytes. */
static double foreign_ns(const struct platform_signature *signature, const struct store_character *character, const struct character_thread *thread)
{
    const struct platform_level *own = NULL;
    for (size_t i = 0; i < signature->level_count && signature->levels[i].level && signature->levels[i].shared_by <= signature->threads_per_core; i++)
        own = &signature->levels[i];
    if (!own || !signature->pair_count)
        return 0;
    double lines[2], held = lines_of(signature, own, character->team, character->line_bytes);
    for (int regular = 0; regular < 2; regular++) {
        lines[regular] = -misses_of(thread->reuse.foreign[regular], held);
        for (unsigned bin = 0; bin < STORE_CHARACTER_BINS; bin++)
            lines[regular] += thread->reuse.foreign[regular][bin];
    }
    const struct platform_transfer *read = &signature->pairs[0].read;
    const struct platform_piece first = read->piece_count ? read->pieces[0] : (struct platform_piece){0, 0, read->alpha_ns, read->beta_ns_per_byte};
    return lines[0] * first.alpha_ns + (lines[0] + lines[1]) * first.beta_ns_per_byte * character->line_bytes;
}

/* Pages whose address the core must look up in memory, each for what that takes where many do. */
static double translations_ns(const struct platform_signature *signature, const struct character_thread *thread)
{
    const struct platform_translation *translation = &signature->translation;
    double reach = translation->reach_pages.value * (double)signature->page_bytes / STORE_CHARACTER_PAGE_BYTES, miss_ns = translation->miss_ns.value;
    return reach > 0 && miss_ns > 0 ? misses_of(thread->reuse.pages, reach) * miss_ns : 0;
}

/* What mispredicted branches cost. That a loop ends is found out early where its results are late: the core comes back to the right path while it still waits for them. */
static double branches_ns(const struct character_thread *thread, const struct core_clock *clock, const struct core_waiting *waiting)
{
    double all_ns = (thread->mispredicted * clock->refill_cycles + thread->resolving_cycles) * clock->cycle_ns;
    double ends_ns = waiting->ends < thread->mispredicted ? all_ns * waiting->ends / thread->mispredicted : all_ns;
    return all_ns - (ends_ns < waiting->waited_ns ? ends_ns : waiting->waited_ns);
}

struct memory_time { double transfer_ns[MODEL_LEVELS_MOST], overlap[MODEL_LEVELS_MOST], all_ns, latency_ns, doubt_ns2; };     /* transfers from each level */

static double overlap_of(const struct platform_level *level, const struct traffic *traffic)
{
    double reads = level->overlap_read.value > 0 ? level->overlap_read.value : OVERLAP_RATIO, writes = level->overlap_write.value > 0 ? level->overlap_write.value : reads;
    double lines = traffic->regular + traffic->irregular, back = traffic->writebacks > lines ? lines : traffic->writebacks;
    return lines > 0 ? (reads * (lines - back) + writes * back) / lines : reads;
}

/* Share of the lines that prefetchers do not bring in time. */
static double lost_of(double many, double part)
{
    double lost = (1 - many) / STREAMS_LOST;
    return part * (lost < 1 ? lost : 1);
}

static struct memory_time memory_find(const struct platform_signature *signature, const struct store_character *character, const struct character_reuse *reuse, const struct traffic *levels,
                                      double instructions, double core_ns, double idle_ns, double window, double streams)
{
    struct memory_time memory = {0};
    double ahead_ns = window * core_ns / (instructions + 1);      /* that the core works on while it waits */
    size_t count = signature->level_count < MODEL_LEVELS_MOST ? signature->level_count : MODEL_LEVELS_MOST;
    double jumps = 0;
    for (unsigned bin = 0; bin < STORE_CHARACTER_GAPS; bin++)
        jumps += reuse->jumps[0][bin];
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
        /* Prefetchers follow a few streams, but not many. */
        double many = level->streams_ratio.value > 0 ? level->streams_ratio.value : 1, part = streams > STREAMS_FEW ? (streams - STREAMS_FEW) / (STREAMS_MANY - STREAMS_FEW) : 0;
        part = part < 1 ? part : 1;
        read_ns /= 1 + (many - 1) * part;
        /* Little's law: lines on their way = latency times bandwidth. */
        double at_once = RANDOM_RATIO * latency * known_or(&level->bandwidths[0].read, 1e10) / (1e9 * character->line_bytes * level->bandwidths[0].threads);
        double wait_ns = latency > ahead_ns ? latency - ahead_ns : 0, least = at_once > 1 ? 1 / at_once : 1, farther = levels[i].jumps > 0 ? jumps / levels[i].jumps : 1;
        double waited = waited_ratio(reuse->jumps[0], farther > 1 ? farther : 1, window, least) * levels[i].irregular_reads + least * (levels[i].irregular - levels[i].irregular_reads);
        double transfer_ns = (levels[i].regular + levels[i].irregular) * read_ns + levels[i].writebacks * back_ns;
        double latency_ns = waited * wait_ns + levels[i].early * restart_ns(signature, level, window);
        double doubt = hypot(signature->basis == PLATFORM_PUBLISHED ? DOUBT_TRANSFER + DOUBT_PUBLISHED : DOUBT_TRANSFER, quantity_doubt(&bandwidth->read));
        double doubt_wait = hypot(DOUBT_LATENCY, quantity_doubt(&level->latency_ns));
        memory.transfer_ns[i] = transfer_ns;
        /* A line that no prefetcher brings is hidden as far as the core works ahead of it, and no further. */
        double lost = lost_of(many, part), overlap = overlap_of(level, &levels[i]), hidden = latency > 0 ? ahead_ns / latency : 1;
        /* A core that waits for its own results leaves the ways of the caches free meanwhile. */
        overlap += core_ns > 0 ? (1 - overlap) * idle_ns / core_ns : 0;
        memory.overlap[i] = (1 - lost) * overlap + lost * (hidden < overlap ? hidden : overlap);
        memory.all_ns += transfer_ns;
        memory.latency_ns += latency_ns;
        memory.doubt_ns2 += doubt * doubt * transfer_ns * transfer_ns + doubt_wait * doubt_wait * latency_ns * latency_ns;
    }
    return memory;
}

/* ---- all of it ----------------------------------------------------------------------------------------------------------- */

struct thread_time { struct model_parts parts; double total_ns, doubt_ns; };

/* Core and transfers at once, nearest level first. */
static double together_ns(double core_ns, const struct memory_time *memory)
{
    double all_ns = core_ns;
    for (size_t i = 0; i < MODEL_LEVELS_MOST; i++) {
        double transfer_ns = memory->transfer_ns[i] > 0 ? memory->transfer_ns[i] : 0, shorter_ns = transfer_ns < all_ns ? transfer_ns : all_ns;
        all_ns += transfer_ns - memory->overlap[i] * shorter_ns;
    }
    return all_ns;
}

static struct thread_time thread_model(const struct platform_signature *signature, const struct store_character *character, const struct model_core *core,
                                       uint32_t number, struct model_time *all)
{
    const struct character_thread *thread = &character->per_thread[number];
    struct core_clock clock = core_clock_find(signature, character->team);
    struct traffic levels[MODEL_LEVELS_MOST] = {{0}};
    struct thread_time time = {0};
    struct core_waiting waiting = {0};
    double instructions = thread->other_instructions, streams = 0, moved = 0;
    bool known = core && core->codes;
    for (size_t i = 0; i < character->code_count; i++) {
        const struct character_code *code = &character->codes[i];
        double passes = (double)code->counts[number];
        instructions += passes * (double)code->instructions;
        moved += code->loop ? passes * (double)code->moved_bytes : 0;
        all->flops += passes * (double)code->flops;
        time.parts.core_ns += core_code_ns(signature, &clock, code, number, known ? core->references : NULL, known ? &core->codes[i] : NULL, &waiting);
    }
    for (size_t i = 0; i < character->code_count; i++) {      /* inner loops take turns, in one loop around them */
        const struct character_code *code = &character->codes[i];
        if (code->loop && (double)code->counts[number] * (double)code->moved_bytes > STREAMS_LOOP_RATIO * moved)
            streams += core_code_streams(code->text);
    }
    time.parts.core_ns += core_plain_ns(&clock, thread->other_instructions);
    for (size_t i = 0; i < character->call_count; i++)
        time.parts.call_ns += (double)character->calls[i].counts[number] * call_cycles(signature, &clock, character->calls[i].name) * clock.cycle_ns;
    time.parts.branch_ns = branches_ns(thread, &clock, &waiting);
    traffic_find(signature, character, thread, levels);
    for (size_t i = 0; i < MODEL_LEVELS_MOST; i++)
        all->level_lines[i] += levels[i].regular + levels[i].irregular;
    all->instructions += instructions;
    struct memory_time memory = memory_find(signature, character, &thread->reuse, levels, instructions, time.parts.core_ns, waiting.idle_ns, clock.window, streams);
    time.parts.transfer_ns = memory.all_ns;
    double others_ns = foreign_ns(signature, character, thread);
    double addresses_ns = translations_ns(signature, thread);
    memory.latency_ns += others_ns + addresses_ns;
    memory.doubt_ns2 += pow(DOUBT_LATENCY * others_ns, 2) + pow(DOUBT_LATENCY * addresses_ns, 2);
    time.parts.latency_ns = memory.latency_ns;
    double work_ns = together_ns(time.parts.core_ns + time.parts.branch_ns + time.parts.call_ns, &memory) + memory.latency_ns;
    time.parts.overhead_ns = overhead_ns(signature, "parallel", character->team);
    for (size_t i = 0; i < character->call_count; i++)
        time.parts.overhead_ns += constructs_ns(signature, character->calls[i].name, (double)character->calls[i].counts[number], character->team, work_ns);
    double doubt_core = hypot(known ? DOUBT_CORE : DOUBT_CORE_PLAIN, clock.doubt_ratio);
    time.total_ns = work_ns + time.parts.overhead_ns;
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
