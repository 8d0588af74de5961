/* thread_pieces.c - regions with a few pieces of work for each thread that there was before them, and such with work for any number. */
#include <omp.h>
#include <stdio.h>

enum { N = 40000 };
static double data[N];
static long done;

static void work(long from, long to)
{
    for (long i = from; i < to; i++)
        data[i] += i % 7;
}

/* ---- for no more threads ---------------------------------------------------------------------------------------------------- */

static void piece_for_each(void)
{
    int threads = omp_get_max_threads();
#pragma omp parallel for schedule(static, 1)
    for (int t = 0; t < threads; t++)
        work((long)N * t / threads, (long)N * (t + 1) / threads);
}

__attribute__((noinline)) static void piece_for_each_at_most(int most)
{
    int threads = omp_get_max_threads(), pieces = most < threads ? most : threads;
#pragma omp parallel for
    for (int t = 0; t < pieces; t++)
        work((long)N * t / pieces, (long)N * (t + 1) / pieces);
}

__attribute__((noinline)) static void piece_for_each_asked(long least)
{
    int threads = omp_get_max_threads();
    threads = N / least < threads ? (int)(N / least) : threads;
#pragma omp parallel for num_threads(threads)
    for (int t = 0; t < threads; t++)
        work((long)N * t / threads, (long)N * (t + 1) / threads);
}

/* Their number begins as another one, and a function sets it. */
static void pieces_set(int *pieces, int most)
{
    int threads = omp_get_max_threads();
    *pieces = most < threads ? most : threads;
}

__attribute__((noinline)) static void piece_for_each_set(int most)
{
    int pieces = 1, threads = 1;
#pragma omp parallel
#pragma omp master
    threads = omp_get_num_threads();
    pieces_set(&pieces, most < threads ? most : threads);
#pragma omp parallel for
    for (int t = 0; t < pieces; t++)
        work((long)N * t / pieces, (long)N * (t + 1) / pieces);
}

static void task_for_each(void)
{
    int threads = omp_get_max_threads();
#pragma omp parallel
#pragma omp single
    for (int t = 0; t < threads; t++)
#pragma omp task firstprivate(t)
        work((long)N * t / threads, (long)N * (t + 1) / threads);
}

static void taskloop_of_as_many(void)
{
    int threads = omp_get_max_threads();
#pragma omp parallel
#pragma omp single
#pragma omp taskloop num_tasks(threads)
    for (int i = 0; i < N; i++)
        data[i] += i % 7;
}

static void chunks_divided(void)
{
    int chunk = (N + omp_get_max_threads() - 1) / omp_get_max_threads();
#pragma omp parallel for schedule(static, chunk)
    for (int i = 0; i < N; i++)
        data[i] += i % 7;
}

/* ---- for no more than twice as many, and three and eight times ---------------------------------------------------------------- */

static void two_for_each(void)
{
    int pieces = 2 * omp_get_max_threads();
#pragma omp parallel for schedule(dynamic)
    for (int t = 0; t < pieces; t++)
        work((long)N * t / pieces, (long)N * (t + 1) / pieces);
}

static struct { int width, pieces; } setting = {100, 1};

__attribute__((noinline)) static void setting_read(void)
{
    setting.pieces = omp_get_max_threads() * 3;
}

static void three_tasks_for_each(void)
{
    setting_read();
#pragma omp parallel
#pragma omp single
    for (int t = 0; t < setting.pieces; t++)
#pragma omp task firstprivate(t)
        work((long)N * t / setting.pieces, (long)N * (t + 1) / setting.pieces);
}

static void eight_for_each(void)
{
    int pieces = 8 * omp_get_max_threads();
#pragma omp parallel for schedule(dynamic)
    for (int t = 0; t < pieces; t++)
        work((long)N * t / pieces, (long)N * (t + 1) / pieces);
}

static void four_chunks_for_each(void)
{
    int chunk = N / (4 * omp_get_max_threads());
#pragma omp parallel for schedule(dynamic, chunk)
    for (int i = 0; i < N; i++)
        data[i] += i % 7;
}

/* ---- nor for fewer ---------------------------------------------------------------------------------------------------------- */

static void share_for_each(void)
{
    long share = N / omp_get_max_threads(), sum = 0;
#pragma omp parallel reduction(+ : sum)
    for (long i = 0; i < share; i++)
        sum += (i * 2654435761u) >> 7 & 1;
    done += sum;
}

/* ---- for any number --------------------------------------------------------------------------------------------------------- */

static void many_for_each(void)
{
    int pieces = 32 * omp_get_max_threads();
#pragma omp parallel for schedule(dynamic)
    for (int t = 0; t < pieces; t++)
        work((long)N * t / pieces, (long)N * (t + 1) / pieces);
}

/* By doubling, and by how much there is to do. */
__attribute__((noinline)) static void enough_for_each(long count)
{
    long pieces = omp_get_max_threads();
    while (pieces < count / 1000)
        pieces *= 2;
#pragma omp parallel for schedule(dynamic)
    for (long t = 0; t < pieces; t++)
        work(count * t / pieces, count * (t + 1) / pieces);
}

__attribute__((noinline)) static void one_or_four_for_each(long count)
{
    int pieces = count < 1000 ? omp_get_max_threads() : 4 * omp_get_max_threads();
#pragma omp parallel for schedule(dynamic)
    for (int t = 0; t < pieces; t++)
        work(count * t / pieces, count * (t + 1) / pieces);
}

static void asked_inside(void)
{
    long sum = 0;
#pragma omp parallel reduction(+ : sum)
    {
        int threads = omp_get_num_threads();
        long share = N / threads;
#pragma omp for
        for (int t = 0; t < threads; t++)
            work((long)N * t / threads, (long)N * (t + 1) / threads);
        for (long i = 0; i < share; i++)
            sum += (i * 2654435761u) >> 7 & 1;
    }
    done += sum;
}

__attribute__((noinline)) static void for_any_number(int count, double add)
{
#pragma omp parallel for
    for (int i = 0; i < count; i++)
        data[i] += add;
}

static void small_chunks(void)
{
    int chunk = N / (16 * omp_get_max_threads());
#pragma omp parallel for schedule(dynamic, chunk)
    for (int i = 0; i < N; i++)
        data[i] += i % 7;
}

static void blocks_inside(void)
{
    int block = N / 100 / omp_get_max_threads();
#pragma omp parallel for
    for (int row = 0; row < 100; row++)
        for (int i = 0; i < block; i++)
            data[row * (N / 100) + i] += i % 7;
}

int main(void)
{
    for (int step = 0; step < 3; step++) {
        piece_for_each();
        piece_for_each_at_most(10 + step);
        piece_for_each_set(10 + step);
        piece_for_each_asked(100 + step);
        task_for_each();
        taskloop_of_as_many();
        chunks_divided();
        share_for_each();
        two_for_each();
        three_tasks_for_each();
        eight_for_each();
        four_chunks_for_each();
        many_for_each();
        enough_for_each(N - step);
        one_or_four_for_each(N - step);
        asked_inside();
        for_any_number(omp_get_max_threads(), 1);
        for_any_number(N, 0);
        small_chunks();
        blocks_inside();
    }
    puts(data[6] > 0 && done > 0 ? "PASS" : "FAIL");
    return 0;
}
