/* Regions that go one way with one thread, and another one with more, since a thread count from before them says so; and some that only look so. */
#include <omp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 40000 };
static double data[N], by_element[N][8], sums[N / 100];
static int team;

struct settings { int threads, procs, level, many, verbose; };

static void scatters(int size)
{
    int threads = omp_get_max_threads();
#pragma omp parallel for firstprivate(size)
    for (int i = 0; i < size; i++) {
        if (threads > 1)
            for (int k = 0; k < 8; k++)
                by_element[i][k] += i + k;
        else
            for (int k = 0; k < 8; k++)
                sums[i / 100] += i + k;
    }
}

static void scatters_by_settings(const struct settings *settings)
{
#pragma omp parallel for
    for (int i = 0; i < N; i++)
        if (settings->threads == 1)
            sums[i / 100] += i;
        else
            data[i] += i;
}

static void has_many(const struct settings *settings)
{
#pragma omp parallel for
    for (int i = 0; i < N; i++)
        data[i] += settings->threads >= 4 ? 2 * i : i;
}

static void asks_another_region(void)
{
#pragma omp parallel
    {
#pragma omp single
        team = omp_get_num_threads();
    }
#pragma omp parallel for
    for (int i = 0; i < N; i++)
        data[i] += team < 2 ? 1 : 2;
}

static void asks_itself(void)
{
#pragma omp parallel
    {
        int threads = omp_get_num_threads();
#pragma omp for
        for (int i = 0; i < N; i++)
            data[i] += threads > 1 ? 1 : 2;
    }
}

/* The comparison stands before the region, and its result in a variable. */
static void by_flag(const struct settings *settings)
{
#pragma omp parallel for
    for (int i = 0; i < N; i++)
        data[i] += settings->many ? 2 * i : i;
}

static void by_truth(bool several)
{
#pragma omp parallel for
    for (int i = 0; i < N; i++)
        if (several)
            data[i] += i;
        else
            sums[i / 100] += i;
}

static void by_other_flag(const struct settings *settings)
{
#pragma omp parallel for
    for (int i = 0; i < N; i++)
        data[i] += settings->verbose ? 2 * i : i;
}

static void by_processors(const struct settings *settings)
{
#pragma omp parallel for
    for (int i = 0; i < N; i++)
        data[i] += settings->procs > 1 ? 1 : 2;
}

static void by_level(const struct settings *settings)
{
#pragma omp parallel for
    for (int i = 0; i < N; i++)
        data[i] += settings->level > 1 ? 1 : 2;
}

static void by_work(int size)
{
    int each = size / omp_get_max_threads(), seen = 0;
#pragma omp parallel for reduction(+ : seen)
    for (int i = 0; i < N; i++)
        seen += each > 1;
    data[0] += seen;
}

/* ---- one piece for one thread, and several for each of more ----------------------------------------------------------------- */

static void piece(int k, int pieces)
{
    for (long i = (long)N * k / pieces; i < (long)N * (k + 1) / pieces; i++)
        data[i] += i % 7;
}

__attribute__((noinline)) static void many_pieces(int size)
{
    int threads = size / 100 < omp_get_max_threads() ? size / 100 : omp_get_max_threads();
    int pieces = threads == 1 ? 1 : 8 * threads;
    pieces = pieces < size ? pieces : size;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (int k = 0; k < pieces; k++)
        piece(k, pieces);
}

__attribute__((noinline)) static void many_pieces_at_most(long size)
{
    int threads = omp_get_max_threads(), pieces = threads == 1 ? 1 : 64 * threads;
    long most = size > 1 ? size : 1;
    pieces = (int)(pieces < most ? pieces : most);
#pragma omp parallel for schedule(dynamic, 1)
    for (int k = 0; k < pieces; k++)
        piece(k, pieces);
}

__attribute__((noinline)) static void many_tasks(void)
{
    int threads = omp_get_max_threads(), pieces = threads > 1 ? 16 * threads : 1;
#pragma omp parallel
#pragma omp single
    for (int k = 0; k < pieces; k++)
#pragma omp task firstprivate(k)
        piece(k, pieces);
}

__attribute__((noinline)) static void many_pieces_always(void)
{
    int pieces = 16 * omp_get_max_threads();
#pragma omp parallel for schedule(dynamic, 1)
    for (int k = 0; k < pieces; k++)
        piece(k, pieces);
}

__attribute__((noinline)) static void pieces_by_level(int level)
{
    int pieces = level == 1 ? 1 : 8 * level;
#pragma omp parallel for schedule(dynamic, 1)
    for (int k = 0; k < pieces; k++)
        piece(k, pieces);
}

int main(int argc, char **argv)
{
    struct settings settings = {.threads = omp_get_max_threads(), .procs = omp_get_num_procs(), .level = argc > 1 ? atoi(argv[1]) : 3};
    bool several = omp_get_max_threads() != 1;
    settings.many = settings.threads > 1;
    settings.verbose = settings.procs > 1 || settings.level == 1;
    for (int i = 0; i < 3; i++) {
        scatters(N);
        scatters_by_settings(&settings);
        has_many(&settings);
        asks_another_region();
        asks_itself();
        by_flag(&settings);
        by_truth(several);
        by_other_flag(&settings);
        by_processors(&settings);
        by_level(&settings);
        by_work(N);
        many_pieces(N);
        many_pieces_at_most(N);
        many_tasks();
        many_pieces_always();
        pieces_by_level(settings.level);
    }
    puts(data[N - 1] > 0 ? "PASS" : "FAIL");
    return 0;
}
