/* platform/probe/overheads.c - what OpenMP's constructs cost, in the manner of the EPCC microbenchmarks. */
#include "probe.h"

#include <sys/mman.h>
#include <unistd.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum {
    DELAY = 100,                /* steps of the work in each construct: some 100 ns */
    INTERVAL_NS = 3000000,      /* what one timing lasts at least */
    INNER_MOST = 1 << 20,
    CHUNKS = 64,                /* iterations a thread of the loops that are handed out piece by piece */
};

static void delay(unsigned steps)
{
    double value = 0.5;
    for (unsigned i = 0; i < steps; i++) {
        value += (double)i;
        __asm__ volatile("" : "+x"(value));
    }
}

static omp_lock_t lock;
static double reduced;
static int threads;

/* Each does `inner` constructs. Those inside a region share its cost over all of them. */
static void do_parallel(unsigned inner)
{
    for (unsigned i = 0; i < inner; i++) {
#pragma omp parallel
        delay(DELAY);
    }
}

static void do_for(unsigned inner)
{
#pragma omp parallel
    for (unsigned i = 0; i < inner; i++) {
#pragma omp for schedule(static)
        for (int t = 0; t < threads; t++)
            delay(DELAY);
    }
}

static void do_barrier(unsigned inner)
{
#pragma omp parallel
    for (unsigned i = 0; i < inner; i++) {
        delay(DELAY);
#pragma omp barrier
    }
}

static void do_single(unsigned inner)
{
#pragma omp parallel
    for (unsigned i = 0; i < inner; i++) {
#pragma omp single
        delay(DELAY);
    }
}

static void do_critical(unsigned inner)
{
#pragma omp parallel
    for (unsigned i = 0; i < inner / (unsigned)threads; i++) {
#pragma omp critical
        delay(DELAY);
    }
}

static void do_lock(unsigned inner)
{
#pragma omp parallel
    for (unsigned i = 0; i < inner / (unsigned)threads; i++) {
        omp_set_lock(&lock);
        delay(DELAY);
        omp_unset_lock(&lock);
    }
}

static void do_atomic(unsigned inner)
{
#pragma omp parallel
    for (unsigned i = 0; i < inner / (unsigned)threads; i++) {
#pragma omp atomic
        reduced += 1.0;
    }
}

static void do_reduction(unsigned inner)
{
    double sum = 0;
    for (unsigned i = 0; i < inner; i++) {
#pragma omp parallel reduction(+ : sum)
        {
            delay(DELAY);
            sum += 1.0;
        }
    }
    reduced += sum;
}

static void do_static(unsigned inner)
{
#pragma omp parallel
    for (unsigned i = 0; i < inner; i++) {
#pragma omp for schedule(static, 1)
        for (int c = 0; c < CHUNKS * threads; c++)
            delay(DELAY);
    }
}

static void do_dynamic(unsigned inner)
{
#pragma omp parallel
    for (unsigned i = 0; i < inner; i++) {
#pragma omp for schedule(dynamic, 1)
        for (int c = 0; c < CHUNKS * threads; c++)
            delay(DELAY);
    }
}

static void do_guided(unsigned inner)
{
#pragma omp parallel
    for (unsigned i = 0; i < inner; i++) {
#pragma omp for schedule(guided)
        for (int c = 0; c < CHUNKS * threads; c++)
            delay(DELAY);
    }
}

static void do_task(unsigned inner)
{
#pragma omp parallel
    for (unsigned i = 0; i < inner; i++) {
#pragma omp task
        delay(DELAY);
    }
}

static void do_taskwait(unsigned inner)
{
#pragma omp parallel
    for (unsigned i = 0; i < inner; i++) {
#pragma omp task
        delay(DELAY);
#pragma omp taskwait
    }
}

enum { PIECE_PAGES = 128 };     /* less than a huge page has */

static double pages_ns;         /* of the last do_pages: the touching alone, the slowest thread's */

/* No construct of OpenMP, but what its threads pay alike: memory that was never touched. Getting and returning it does not count. */
static void do_pages(unsigned inner)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    pages_ns = 0;
#pragma omp parallel
    {
        uint64_t spent = 0;
        for (unsigned k = 0; k < inner; k++) {
            volatile char *piece = mmap(NULL, PIECE_PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (piece == MAP_FAILED)
                probe_refuse("there is no memory");
#pragma omp barrier
            uint64_t start = probe_now_ns();
            for (size_t i = 0; i < PIECE_PAGES; i++)
                piece[i * page] = 1;
            spent += probe_now_ns() - start;
#pragma omp barrier
            munmap((void *)(uintptr_t)piece, PIECE_PAGES * page);
        }
#pragma omp critical
        pages_ns = (double)spent > pages_ns ? (double)spent : pages_ns;
    }
}

static const struct construct {
    const char *name;
    void (*run)(unsigned inner);
    unsigned delays;            /* that one thread waits through in one construct */
    unsigned constructs;        /* that one step of `inner` makes, for each thread */
    int serial;                 /* the threads do it one after another: the time of one is that of all over their number */
} constructs[] = {
    {"parallel", do_parallel, 1, 1, 0}, {"for", do_for, 1, 1, 0},           {"barrier", do_barrier, 1, 1, 0},
    {"single", do_single, 1, 1, 0},     {"critical", do_critical, 1, 1, 1}, {"lock", do_lock, 1, 1, 1},
    {"atomic", do_atomic, 0, 1, 1},     {"reduction", do_reduction, 1, 1, 0},
    {"static-chunk", do_static, CHUNKS, CHUNKS, 0},   {"dynamic-chunk", do_dynamic, CHUNKS, CHUNKS, 0},
    {"guided-loop", do_guided, CHUNKS, 1, 0},         {"task", do_task, 1, 1, 0}, {"taskwait", do_taskwait, 1, 1, 0},
    {"new-page", do_pages, 0, PIECE_PAGES, 0},
};

static double reference_ns(void)
{
    double best = 0;
    for (int i = 0; i < 7; i++) {
        unsigned inner = 20000;
        uint64_t start = probe_now_ns();
        for (unsigned k = 0; k < inner; k++)
            delay(DELAY);
        double one = (double)(probe_now_ns() - start) / inner;
        best = !i || one < best ? one : best;
    }
    return best;
}

void probe_overhead(const struct probe *probe)
{
    const struct construct *construct = NULL;
    for (size_t i = 0; i < sizeof constructs / sizeof *constructs; i++)
        if (strcmp(constructs[i].name, probe->kind) == 0)
            construct = &constructs[i];
    if (!construct)
        probe_refuse("'%s' is not a construct with a probe", probe->kind);
    threads = (int)probe->cpu_count;
    omp_set_dynamic(0);
    omp_set_num_threads(threads);
    omp_init_lock(&lock);
    unsigned inner = (unsigned)threads;
    for (uint64_t took = 0; took < INTERVAL_NS && inner < INNER_MOST;) {
        uint64_t start = probe_now_ns();
        construct->run(inner);
        took = probe_now_ns() - start;
        if (took < INTERVAL_NS)
            inner *= 2;
    }
    for (unsigned i = 0; i < probe->repeats; i++) {
        double one = reference_ns();
        uint64_t start = probe_now_ns();
        construct->run(inner);
        double took = (double)(probe_now_ns() - start) / inner;
        if (construct->run == do_pages)
            took = pages_ns / inner;
        probe_print((took - construct->delays * one) / construct->constructs);
    }
    omp_destroy_lock(&lock);
}
