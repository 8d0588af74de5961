/* thread_kept.c - numbers of threads that a region keeps for its later invocations behind a variable of the program, and such that it sets anew each time. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 20000, LINE = 8 };
static double data[N];

static void add(double *parts)
{
    int me = omp_get_thread_num(), threads = omp_get_num_threads();
    double sum = 0;
    for (int i = me; i < N; i += threads)
        sum += data[i];
    parts[me * LINE] = sum;
}

static double add_part(int parts)
{
    double sum = 0;
    int me = omp_get_thread_num();
    for (int i = me * (N / parts); i < (me + 1) * (N / parts); i++)
        sum += data[i];
    return sum;
}

static double total(const double *parts, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += parts[i * LINE];
    return sum;
}

static int flag_made, flag_threads, number_threads, grown_threads, divided_made, divided_threads;
static double *flag_parts, *number_parts, *grown_parts;

static double room_behind_a_flag(void)
{
    #pragma omp parallel
    {
        #pragma omp single
        if (!flag_made) {
            flag_threads = omp_get_num_threads();
            flag_parts = calloc(flag_threads * LINE, sizeof *flag_parts);
            flag_made = 1;
        }
        add(flag_parts);
    }
    return total(flag_parts, flag_threads);
}

static double room_behind_its_number(void)
{
    #pragma omp parallel
    {
        #pragma omp single
        if (number_threads == 0) {
            number_threads = omp_get_num_threads();
            number_parts = calloc(number_threads * LINE, sizeof *number_parts);
        }
        add(number_parts);
    }
    return total(number_parts, number_threads);
}

static double room_that_grows(void)
{
    #pragma omp parallel
    {
        #pragma omp single
        if (grown_threads < omp_get_num_threads()) {
            grown_threads = omp_get_num_threads();
            grown_parts = realloc(grown_parts, grown_threads * LINE * sizeof *grown_parts);
            memset(grown_parts, 0, grown_threads * LINE * sizeof *grown_parts);
        }
        add(grown_parts);
    }
    return total(grown_parts, grown_threads);
}

static double work_behind_a_flag(void)
{
    double sum = 0;
    #pragma omp parallel reduction(+ : sum)
    {
        #pragma omp single
        if (!divided_made) {
            divided_threads = omp_get_num_threads();
            divided_made = 1;
        }
        sum += add_part(divided_threads);
    }
    return sum;
}

/* As GNU parallel mode does. */
static double set_anew_by_one(int threads)
{
    double *parts, sum = 0;
    #pragma omp parallel num_threads(threads)
    {
        #pragma omp single
        {
            threads = omp_get_num_threads();
            parts = malloc(threads * sizeof *parts);
        }
        int me = omp_get_thread_num();
        parts[me] = 0;
        for (int i = me * (N / threads); i < (me + 1) * (N / threads); i++)
            parts[me] += data[i];
    }
    for (int i = 0; i < threads; i++)
        sum += parts[i];
    free(parts);
    return sum;
}

static double set_anew_by_all(void)
{
    int threads = omp_get_max_threads();
    double sum = 0;
    #pragma omp parallel num_threads(threads) reduction(+ : sum)
    {
        threads = omp_get_num_threads();
        #pragma omp barrier
        int me = omp_get_thread_num();
        for (int i = me * (N / threads); i < (me + 1) * (N / threads); i++)
            sum += data[i];
    }
    return sum;
}

static double set_when_it_was_used(void)
{
    int threads = omp_get_max_threads();
    double sum = 0;
    #pragma omp parallel num_threads(threads) reduction(+ : sum)
    {
        int me = omp_get_thread_num();
        for (int i = me * (N / threads); i < (me + 1) * (N / threads); i++)
            sum += data[i];
        #pragma omp barrier
        #pragma omp single
        threads = omp_get_num_threads();
    }
    return sum;
}

/* Where the number is kept in memory, and another function reads it. */
struct pool { int threads; double sums[64]; };

__attribute__((noinline)) static void compute(struct pool *pool, int me)
{
    double sum = 0;
    for (int i = me * (N / pool->threads); i < (me + 1) * (N / pool->threads); i++)
        sum += data[i];
    pool->sums[me] = sum;
}

static double set_anew_in_a_pool(struct pool *pool)
{
    pool->threads = omp_get_max_threads();
    #pragma omp parallel num_threads(pool->threads)
    {
        #pragma omp single
        pool->threads = omp_get_num_threads();
        compute(pool, omp_get_thread_num());
    }
    double sum = 0;
    for (int i = 0; i < pool->threads; i++)
        sum += pool->sums[i];
    return sum;
}

static double used_before_in_a_pool(struct pool *pool)
{
    pool->threads = omp_get_max_threads();
    #pragma omp parallel
    {
        compute(pool, omp_get_thread_num());
        #pragma omp barrier
        #pragma omp single
        pool->threads = omp_get_num_threads();
    }
    double sum = 0;
    for (int i = 0; i < pool->threads; i++)
        sum += pool->sums[i];
    return sum;
}

int main(void)
{
    struct pool *pool = malloc(sizeof *pool);
    double sum = 0, once = 0;
    for (int i = 0; i < N; i++)
        once += data[i] = i % 7;
    for (int k = 0; k < 10; k++)
        sum += room_behind_a_flag() + room_behind_its_number() + room_that_grows() + work_behind_a_flag() + set_anew_by_one(omp_get_max_threads()) + set_anew_by_all() +
               set_when_it_was_used() + set_anew_in_a_pool(pool) + used_before_in_a_pool(pool);
    puts(sum == 90 * once ? "PASS" : "FAIL");
    return 0;
}
