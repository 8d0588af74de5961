/* tests/sampling/programs/dynamic.c - loops whose chunks go to whoever asks: short and long ones, of work and of memory, whose data the chunk before has fetched or not.
 * Usage: dynamic [SIZE]; SIZE 1 takes 10 to 60 ms a region on one core. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static double work(long amount, double seed)
{
    double x = seed;
    for (long i = 0; i < amount; i++)
        x = x * 0.999999 + 1e-6;
    return x;
}

/* Chunks of about a microsecond, and of twenty. */
static void slivers(int count, double *result)
{
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < count; i++)
        result[i] = work(400, i);
}

static void pieces(int count, double *result)
{
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < count; i++)
        result[i] = work(8000, i);
}

/* Iteration i costs in proportion to i. */
static void growing(int count, double *result)
{
#pragma omp parallel for schedule(dynamic, 8)
    for (int i = 0; i < count; i++)
        result[i] = work(i / 3, i);
}

static void growing_guided(int count, double *result)
{
#pragma omp parallel for schedule(guided)
    for (int i = 0; i < count; i++)
        result[i] = work(i / 3, i);
}

static void smooth_row(int columns, const double *from, double *to)
{
    for (int j = 1; j < columns - 1; j++)
        to[j] = 0.25 * (from[j - 1] + from[j + 1] + from[j - columns] + from[j + columns]);
}

/* Rows of a few microseconds, of which two are also the neighbours'; each thread has a part of them, or they go to whoever asks. */
static void rows(int count, int columns, const double *from, double *to)
{
#pragma omp parallel for schedule(dynamic)
    for (int i = 1; i < count - 1; i++)
        smooth_row(columns, from + (size_t)i * (size_t)columns, to + (size_t)i * (size_t)columns);
}

static void rows_in_turn(int count, int columns, const double *from, double *to)
{
#pragma omp parallel for schedule(monotonic : dynamic)
    for (int i = 1; i < count - 1; i++)
        smooth_row(columns, from + (size_t)i * (size_t)columns, to + (size_t)i * (size_t)columns);
}

static void rows_guided(int count, int columns, const double *from, double *to)
{
#pragma omp parallel for schedule(guided)
    for (int i = 1; i < count - 1; i++)
        smooth_row(columns, from + (size_t)i * (size_t)columns, to + (size_t)i * (size_t)columns);
}

/* Places of a table of 256 KiB, in no order: after some chunks a thread has all of it near. */
static void lookups(int count, const double *table, double *result)
{
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < count; i++) {
        uint64_t state = (uint64_t)i * 0x9e3779b97f4a7c15u + 1;
        double sum = 0;
        for (int j = 0; j < 1500; j++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            sum += table[state >> 49];
        }
        result[i] = sum;
    }
}

enum { BUCKETS = 4096, EACH = 2048, KEYS = 64 };
static int bucket_begin[BUCKETS + 1], keys[BUCKETS * EACH], next[BUCKETS * KEYS], places[BUCKETS * EACH];

/* Keys go to where the next one of their kind lies: counters are stepped, and are indices. */
static void spread(int buckets)
{
#pragma omp parallel for schedule(dynamic)
    for (int bucket = 0; bucket < buckets; bucket++)
        for (int k = bucket_begin[bucket]; k < bucket_begin[bucket + 1]; k++)
            places[next[keys[k]]++] = k;
}

/* 1: each key went to its bucket. */
static int spread_check(int buckets)
{
    int wrong = 0;
    for (int i = 0; i < BUCKETS * KEYS; i++)
        next[i] = i * (EACH / KEYS);
    for (int i = 0; i < BUCKETS * EACH; i++)
        keys[i] = i / EACH * KEYS + i * 29 % KEYS;
    for (int i = 0; i <= BUCKETS; i++)
        bucket_begin[i] = i * EACH;
    spread(buckets);
    for (int i = 0; i < buckets * KEYS; i++)
        wrong += next[i] != (i + 1) * (EACH / KEYS);
    for (int i = 0; i < buckets * EACH; i++)
        wrong += places[i] / EACH != i / EACH;
    return !wrong;
}

int main(int argc, char **argv)
{
    double size = argc > 1 ? atof(argv[1]) : 1;
    int count = (int)(80000 * size), columns = 4000, lines = (int)(2000 * size);
    double *result = malloc((size_t)count * sizeof *result), *table = malloc(sizeof *table << 15), sum = 0;
    double *from = malloc((size_t)lines * (size_t)columns * sizeof *from), *to = malloc((size_t)lines * (size_t)columns * sizeof *to);
    for (int i = 0; i < count; i++)
        result[i] = i;
    for (int i = 0; i < 1 << 15; i++)
        table[i] = i;
    for (size_t i = 0; i < (size_t)lines * (size_t)columns; i++)
        from[i] = to[i] = (double)(i % 97);
    slivers(count, result);
    pieces(count / 20, result);
    growing((int)(16000 * sqrt(size)), result);
    growing_guided((int)(16000 * sqrt(size)), result);
    rows(lines, columns, from, to);
    rows_in_turn(lines, columns, from, to);
    rows_guided(lines, columns, from, to);
    lookups(count / 5, table, result);
    int counted = spread_check(size < 2 ? (int)(BUCKETS / 2 * size) : BUCKETS);
    for (int i = 0; i < count; i++)
        sum += result[i];
    printf("%s %.3f\n", counted && isfinite(sum + to[columns + 1]) ? "PASS" : "FAIL", sum);
    return 0;
}
