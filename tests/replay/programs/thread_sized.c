/* Memory and divisions of the work that were made for the number of threads before the region, and some that only look so. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 1000 };
static double fixed[1024][8], data[N];
static int chunk;

struct work { int threads; double *parts; double *all; };

static double *parts_new(int threads)
{
    return calloc((size_t)threads * 8, sizeof(double));
}

static void add_to_part(double *parts, int i)
{
    parts[omp_get_thread_num() * 8] += i;
}

static void part_by_pointer(struct work *work)
{
#pragma omp parallel for
    for (int i = 0; i < N; i++)
        add_to_part(work->parts, i);
}

static void part_of_array_on_the_stack(int threads, double *ret_sum)
{
    double parts[threads];
    double *part = parts;
    for (int t = 0; t < threads; t++)
        part[t] = 0;
#pragma omp parallel shared(part)
    {
        int me = omp_get_thread_num();
#pragma omp for
        for (int i = 0; i < N; i++)
            part[me] += i;
    }
    for (int t = 0; t < threads; t++)
        *ret_sum += part[t];
}

static void divided_before(void)
{
#pragma omp parallel
    {
        int first = omp_get_thread_num() * chunk, last = first + chunk < N ? first + chunk : N;
        for (int i = first; i < last; i++)
            data[i] += 1;
    }
}

static void divided_inside(void)
{
#pragma omp parallel
    {
        int threads = omp_get_num_threads(), size = (N + threads - 1) / threads;
        int first = omp_get_thread_num() * size, last = first + size < N ? first + size : N;
        for (int i = first; i < last; i++)
            data[i] += 1;
    }
}

static int grown;
static double *grown_parts;

static __attribute__((noinline)) void parts_grow(void)
{
    grown_parts = realloc(grown_parts, (size_t)++grown * 64 * sizeof *grown_parts);
    grown_parts[64 * (grown - 1)] = 0;
}

static void part_of_grown_array(int threads)
{
    for (int t = 0; t < threads; t++)
        parts_grow();
#pragma omp parallel for
    for (int i = 0; i < N; i++)
        grown_parts[64 * omp_get_thread_num()] += i;
}

static void fixed_parts(void)
{
#pragma omp parallel for
    for (int i = 0; i < N; i++)
        fixed[omp_get_thread_num()][0] += i;
}

static int numbers[2] = {8};              /* a stride, and what went wrong */

static void check(int most, int place)
{
    if (omp_get_max_threads() > most)
        numbers[place] = -100 - omp_get_max_threads();
}

static void strided_beside_an_error(int which)
{
    int stride = numbers[which];
    double *strided = &fixed[0][0];
#pragma omp parallel for
    for (int i = 0; i < N; i++)
        strided[omp_get_thread_num() * stride + 1] += i;
}

static void no_parts(struct work *work)
{
#pragma omp parallel for
    for (int i = 0; i < N; i++)
        work->all[i] += i;
}

int main(int argc, char **argv)
{
    int threads = omp_get_max_threads();
    struct work work = {.threads = threads, .parts = parts_new(threads), .all = calloc(N, sizeof(double))};
    double sum = 0, expected = N * (N - 1.0) / 2;
    chunk = (N + threads - 1) / threads;
    part_by_pointer(&work);
    part_of_array_on_the_stack(threads, &sum);
    divided_before();
    divided_inside();
    part_of_grown_array(threads);
    fixed_parts();
    check(argc + 1000, argc);
    strided_beside_an_error(argc > 1 ? atoi(argv[1]) : 0);
    no_parts(&work);
    for (int t = 0; t < threads; t++)
        sum += work.parts[8 * t] + grown_parts[64 * t] + fixed[t][0] + fixed[t][1];
    for (int i = 0; i < N; i++)
        sum += work.all[i] + data[i];
    if (sum != 6 * expected + 2 * N) {
        printf("FAIL: %g, not %g\n", sum, 6 * expected + 2 * N);
        return 1;
    }
    puts("PASS");
    return 0;
}
