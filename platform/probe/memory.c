/* platform/probe/memory.c - how long one access takes, and how many bytes a second pass, by size of what is used. */
#include "probe.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINE_BYTES = 64,
    INTERVAL_NS = 2000000,      /* what one timing lasts at least: the clock's steps and an interrupt count for little */
};

/* ---- latency ------------------------------------------------------------------------------------------------------------- */

struct line { struct line *next; char rest[LINE_BYTES - sizeof(struct line *)]; };

static uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* One cycle through all lines (Sattolo): no prefetcher guesses it, and no line is left out. */
static struct line *chain_new(size_t bytes)
{
    size_t count = bytes / LINE_BYTES ? bytes / LINE_BYTES : 1;
    struct line *lines = probe_memory(count * sizeof *lines);
    uint64_t state = 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < count; i++)
        lines[i].next = &lines[i];
    for (size_t i = count - 1; i > 0; i--) {
        size_t other = (size_t)(random_next(&state) % i);
        struct line *next = lines[i].next;
        lines[i].next = lines[other].next;
        lines[other].next = next;
    }
    return lines;
}

static struct line *chain_follow(struct line *at, size_t steps)
{
    for (size_t i = 0; i < steps; i += 8)
        at = at->next->next->next->next->next->next->next->next;
    return at;
}

void *probe_chain(size_t bytes) { return chain_new(bytes); }

static void *chain_begin(const struct probe *probe)
{
    size_t lines = probe->bytes / LINE_BYTES;
    return chain_follow(chain_new(probe->bytes), lines < (1u << 20) ? lines * 2 + 8 : 1u << 20);
}

static void *chain_step(void *at) { return chain_follow(at, 4096); }

void probe_latency(const struct probe *probe)
{
    probe_pin(probe->cpus[0]);
    struct line *at = chain_begin(probe);
    struct others *others = probe_others_start(probe, chain_begin, chain_step);
    size_t steps = 1024;
    for (uint64_t took = 0; took < INTERVAL_NS; steps *= 2) {
        uint64_t start = probe_now_ns();
        at = chain_follow(at, steps * 2);
        took = probe_now_ns() - start;
    }
    for (unsigned i = 0; i < probe->repeats; i++) {
        uint64_t start = probe_now_ns();
        at = chain_follow(at, steps);
        uint64_t end = probe_now_ns();
        probe_keep(at);
        probe_print((double)(end - start) / (double)steps);
    }
    probe_others_end(others);
}

/* ---- bandwidth ----------------------------------------------------------------------------------------------------------- */

#if defined __x86_64__
#define FOR_EACH_VECTOR_WIDTH __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define FOR_EACH_VECTOR_WIDTH
#endif

/* Each passes over `count` doubles in all. */
FOR_EACH_VECTOR_WIDTH static double pass_read(const double *restrict from, size_t count)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < count; i++)
        sum += from[i];
    return sum;
}

FOR_EACH_VECTOR_WIDTH static void pass_write(double *restrict to, size_t count, double value)
{
#pragma omp simd
    for (size_t i = 0; i < count; i++)
        to[i] = value;
}

FOR_EACH_VECTOR_WIDTH static void pass_copy(double *restrict to, const double *restrict from, size_t count)
{
#pragma omp simd
    for (size_t i = 0; i < count; i++)
        to[i] = from[i] * 3.0;      /* a plain copy would become memcpy, which may go past the caches */
}

FOR_EACH_VECTOR_WIDTH static void pass_triad(double *restrict to, const double *restrict a, const double *restrict b, size_t count)
{
#pragma omp simd
    for (size_t i = 0; i < count; i++)
        to[i] = a[i] + 3.0 * b[i];
}

enum stream_kind { STREAM_READ, STREAM_WRITE, STREAM_COPY, STREAM_TRIAD, STREAM_KINDS };
static const char *const stream_names[STREAM_KINDS] = {"read", "write", "copy", "triad"};
static const size_t stream_arrays[STREAM_KINDS] = {1, 1, 2, 3};

struct stream {
    enum stream_kind kind;
    size_t count;               /* doubles in one array */
    size_t passes;              /* of one timing */
    unsigned repeats;
    pthread_barrier_t barrier;
    struct stream_thread { struct stream *stream; unsigned cpu; uint64_t start_ns, end_ns; } *threads;
    size_t thread_count;
};

static void stream_pass(enum stream_kind kind, double *memory, size_t count, size_t passes)
{
    double sum = 0;
    for (size_t i = 0; i < passes; i++) {
        switch (kind) {
        case STREAM_READ: sum += pass_read(memory, count); break;
        case STREAM_WRITE: pass_write(memory, count, (double)i); break;
        case STREAM_COPY: pass_copy(memory + count, memory, count); break;
        default: pass_triad(memory + 2 * count, memory, memory + count, count); break;
        }
        probe_keep(memory);
    }
    probe_keep(&sum);
}

static void *stream_run(void *raw)
{
    struct stream_thread *thread = raw;
    struct stream *stream = thread->stream;
    bool first = thread == stream->threads;
    probe_pin(thread->cpu);
    size_t doubles = stream->count * stream_arrays[stream->kind];
    double *memory = probe_memory(doubles * sizeof *memory);
    for (size_t i = 0; i < doubles; i++)
        memory[i] = 1.0;
    stream_pass(stream->kind, memory, stream->count, 2);
    for (bool enough = false; !enough;) {
        pthread_barrier_wait(&stream->barrier);
        uint64_t start = probe_now_ns();
        stream_pass(stream->kind, memory, stream->count, stream->passes);
        uint64_t took = probe_now_ns() - start;
        pthread_barrier_wait(&stream->barrier);
        if (first && took < INTERVAL_NS)
            stream->passes *= took < INTERVAL_NS / 16 ? 8 : 2;
        else if (first)
            stream->repeats |= 1u << 31;
        pthread_barrier_wait(&stream->barrier);
        enough = stream->repeats >> 31;
    }
    unsigned repeats = stream->repeats & ~(1u << 31);
    for (unsigned i = 0; i < repeats; i++) {
        pthread_barrier_wait(&stream->barrier);
        thread->start_ns = probe_now_ns();
        stream_pass(stream->kind, memory, stream->count, stream->passes);
        thread->end_ns = probe_now_ns();
        pthread_barrier_wait(&stream->barrier);
        if (first) {
            uint64_t start = thread->start_ns, end = thread->end_ns;
            for (size_t other = 1; other < stream->thread_count; other++) {
                start = stream->threads[other].start_ns < start ? stream->threads[other].start_ns : start;
                end = stream->threads[other].end_ns > end ? stream->threads[other].end_ns : end;
            }
            probe_print((double)(stream->passes * doubles * sizeof(double) * stream->thread_count) / ((double)(end - start) / 1e9));
        }
        pthread_barrier_wait(&stream->barrier);
    }
    return NULL;
}

void probe_bandwidth(const struct probe *probe)
{
    enum stream_kind kind = STREAM_READ;
    while (kind < STREAM_KINDS && strcmp(probe->kind, stream_names[kind]) != 0)
        kind++;
    if (kind == STREAM_KINDS)
        probe_refuse("'%s' is not a kind of bandwidth", probe->kind);
    size_t count = probe->bytes / sizeof(double) / stream_arrays[kind];
    struct stream stream = {.kind = kind, .count = count ? count : 1, .passes = 1, .repeats = probe->repeats, .thread_count = probe->cpu_count};
    stream.threads = calloc(probe->cpu_count, sizeof *stream.threads);
    pthread_t *ids = calloc(probe->cpu_count, sizeof *ids);
    if (!stream.threads || !ids || pthread_barrier_init(&stream.barrier, NULL, (unsigned)probe->cpu_count) != 0)
        probe_refuse("no memory for %zu threads", probe->cpu_count);
    for (size_t i = 0; i < probe->cpu_count; i++)
        stream.threads[i] = (struct stream_thread){.stream = &stream, .cpu = probe->cpus[i]};
    for (size_t i = 1; i < probe->cpu_count; i++)
        if (pthread_create(&ids[i], NULL, stream_run, &stream.threads[i]) != 0)
            probe_refuse("thread %zu cannot be started", i);
    stream_run(&stream.threads[0]);
    for (size_t i = 1; i < probe->cpu_count; i++)
        pthread_join(ids[i], NULL);
}

/* ---- what overlaps, what fits -------------------------------------------------------------------------------------------- */

enum { LINE_DOUBLES = LINE_BYTES / (int)sizeof(double), WORK_MOST = 32, STREAMS_MANY = 16 };

/* Reads a line, adds up `work` numbers of it one after another, and with `to` writes a line. */
static double pass_work(const double *from, double *to, size_t count, int work)
{
    double sum = 0;
    for (size_t i = 0; i < count; i += LINE_DOUBLES) {
        for (int k = 0; k < work; k++) {
            sum += from[i + (size_t)(k % LINE_DOUBLES)];
            __asm__ volatile("" : "+x"(sum));
        }
        if (to)
            for (int k = 0; k < LINE_DOUBLES; k++)
                to[i + (size_t)k] = from[i + (size_t)k];
    }
    return sum;
}

static double work_ns(double *memory, size_t count, bool writes, int work, size_t passes)
{
    double best = 0, sum = 0;
    for (int round = 0; round < 3; round++) {
        uint64_t start = probe_now_ns();
        for (size_t i = 0; i < passes; i++)
            sum += pass_work(memory, writes ? memory + count : NULL, count, work);
        double took = (double)(probe_now_ns() - start) / (double)passes / (double)(count / LINE_DOUBLES);
        best = !round || took < best ? took : best;
    }
    probe_keep(&sum);
    return best;
}

/* Bytes of the lines that `streams` places of memory give a nanosecond, a line from each in turn. */
static double streams_rate(const double *memory, size_t count, size_t streams)
{
    double best = 0, sums[STREAMS_MANY] = {0};
    size_t each = count / streams & ~(size_t)(LINE_DOUBLES - 1);
    for (int round = 0; round < 3; round++) {
        uint64_t start = probe_now_ns();
        for (size_t i = 0; i < each; i += LINE_DOUBLES)
            for (size_t k = 0; k < streams; k++)
                sums[k] += memory[k * each + i] + memory[k * each + i + LINE_DOUBLES / 2];
        double rate = (double)(each * streams * sizeof *memory) / (double)(probe_now_ns() - start);
        best = rate > best ? rate : best;
    }
    probe_keep(sums);
    return best;
}

static void streams_probe(const struct probe *probe)
{
    size_t count = probe->bytes / sizeof(double);
    double *memory = probe_memory(probe->bytes);
    for (size_t i = 0; i < count; i++)
        memory[i] = 1;
    for (unsigned i = 0; i < probe->repeats; i++) {
        double few = 0;
        for (size_t streams = 1; streams <= 4; streams *= 2) {
            double rate = streams_rate(memory, count, streams);
            few = rate > few ? rate : few;
        }
        double ratio = streams_rate(memory, count, STREAMS_MANY) / few;
        probe_print(ratio < 1 ? ratio : 1);
    }
}

enum { RUN_LINES = 64, RUN_WARMING = 4 };      /* lines of a run (PLATFORM_RESTART_LINES); as many are left out before the next one. Untimed passes, that bring them into the cache */

/* `to` += 1.5 * `from` over whole lines, 20 instructions each (PLATFORM_RESTART_INSTRUCTIONS), so that the core does not see far ahead. */
static void lines_add(const double *from, double *to, size_t lines)
{
    for (size_t i = 0; i < lines * LINE_DOUBLES; i += LINE_DOUBLES) {
#if defined __x86_64__
        __asm__ volatile("movupd (%0), %%xmm0\nmulpd %%xmm0, %%xmm0\naddpd (%1), %%xmm0\nmovupd %%xmm0, (%1)\n"
                         "movupd 16(%0), %%xmm1\nmulpd %%xmm1, %%xmm1\naddpd 16(%1), %%xmm1\nmovupd %%xmm1, 16(%1)\n"
                         "movupd 32(%0), %%xmm2\nmulpd %%xmm2, %%xmm2\naddpd 32(%1), %%xmm2\nmovupd %%xmm2, 32(%1)\n"
                         "movupd 48(%0), %%xmm3\nmulpd %%xmm3, %%xmm3\naddpd 48(%1), %%xmm3\nmovupd %%xmm3, 48(%1)\n"
                         : : "r"(from + i), "r"(to + i) : "xmm0", "xmm1", "xmm2", "xmm3", "memory");
#else
        for (size_t k = 0; k < LINE_DOUBLES; k++)
            to[i + k] += from[i + k] * from[i + k];
#endif
    }
}

static double runs_line_ns(const double *memory, double *to, size_t count)
{
    enum { RUN = RUN_LINES * LINE_DOUBLES };
    size_t runs = count / (2 * RUN), passes = ((size_t)4 << 20) / (count * sizeof *memory) + 1;
    uint64_t start = probe_now_ns();
    for (size_t pass = 0; pass < passes; pass++)
        for (size_t run = 0; run < runs; run++)
            lines_add(memory + run * 2 * RUN, to, RUN_LINES);
    return (double)(probe_now_ns() - start) / (double)(passes * runs * RUN_LINES);
}

static void restart_probe(const struct probe *probe)
{
    size_t count = probe->bytes / sizeof(double);
    if (count < 2 * (size_t)RUN_LINES * LINE_DOUBLES)
        probe_refuse("%zu bytes have no two runs of %d lines", probe->bytes, (int)RUN_LINES);
    double *memory = probe_memory(probe->bytes), *to = probe_memory((size_t)RUN_LINES * LINE_BYTES);
    memset(memory, 0, probe->bytes);
    memset(to, 0, (size_t)RUN_LINES * LINE_BYTES);
    for (unsigned i = 0; i < probe->repeats + RUN_WARMING; i++) {
        double line_ns = runs_line_ns(memory, to, count);
        if (i >= RUN_WARMING)
            probe_print(line_ns);
    }
}

void probe_overlap(const struct probe *probe)
{
    bool streams = strcmp(probe->kind, "streams") == 0;
    if (streams || strcmp(probe->kind, "restart") == 0) {
        probe_pin(probe->cpus[0]);
        if (streams)
            streams_probe(probe);
        else
            restart_probe(probe);
        return;
    }

    bool writes = strcmp(probe->kind, "write") == 0;
    probe_pin(probe->cpus[0]);
    size_t near = 1024, count = probe->bytes / sizeof(double) / (writes ? 2 : 1) & ~(size_t)(LINE_DOUBLES - 1);
    double *memory = probe_memory(probe->bytes + (writes ? 2 : 1) * near * sizeof *memory);
    for (size_t i = 0; i < probe->bytes / sizeof *memory + (writes ? 2 : 1) * near; i++)
        memory[i] = 1;
    size_t passes = ((size_t)8 << 20) / (probe->bytes ? probe->bytes : 1) + 1;
    double transfer = work_ns(memory, count, writes, 1, passes), core = 0;
    int work = 1;
    for (; work < WORK_MOST; work++)
        if ((core = work_ns(memory, near, writes, work, 2000)) >= transfer)
            break;
    for (unsigned i = 0; i < probe->repeats; i++) {
        transfer = work_ns(memory, count, writes, 1, passes);
        core = work_ns(memory, near, writes, work, 2000);
        double both = work_ns(memory, count, writes, work, passes), less = core < transfer ? core : transfer;
        double ratio = (core + transfer - both) / less;
        probe_print(ratio < 0.01 ? 0.01 : ratio > 1 ? 1 : ratio);
    }
}

/* Time of a byte when `bytes` are read again and again. */
static double byte_ns(const double *memory, size_t bytes)
{
    double best = 0, sum = 0;
    for (int round = 0; round < 4; round++) {
        uint64_t start = probe_now_ns();
        sum += pass_read(memory, bytes / sizeof *memory);
        double took = (double)(probe_now_ns() - start) / (double)bytes;
        best = round < 2 || took < best ? took : best;     /* the first brings it into the cache */
    }
    probe_keep(&sum);
    return best;
}

void probe_capacity(const struct probe *probe)
{
    enum { EIGHTHS_MOST = 16, FAR = 32 };
    probe_pin(probe->cpus[0]);
    size_t doubles = probe->bytes * FAR / 8 / sizeof(double);
    double *memory = probe_memory(doubles * sizeof *memory);
    for (size_t i = 0; i < doubles; i++)
        memory[i] = 1;
    for (unsigned i = 0; i < probe->repeats; i++) {
        double in = byte_ns(memory, probe->bytes / 8), out = byte_ns(memory, probe->bytes * FAR / 8), before = in, limit = in + (out - in) / 4;
        double found = (double)(probe->bytes * EIGHTHS_MOST / 8);
        for (size_t eighths = 2; eighths <= EIGHTHS_MOST; eighths++) {
            double now = byte_ns(memory, probe->bytes * eighths / 8);
            if (now > limit) {
                found = (double)probe->bytes / 8 * ((double)eighths - (now > before ? (now - limit) / (now - before) : 0));
                break;
            }
            before = now;
        }
        probe_print(found);
    }
}
