/*
 * IS: the ranks of integer keys, by a counting sort over buckets (NPB report, section 3.5). All tables are
 * shared and of a fixed size, so memory looks the same, and ends the same, for any number of threads.
 */
#include "npb.h"
#include "params.h"
#include "randlc.h"

#include <omp.h>
#include <stdint.h>
#include <stdio.h>

#define SEED         UINT64_C(314159265)
#define BLOCK        1024 /* keys that follow one jump of the random generator */
#define BUCKET_SHIFT (MAX_KEY_LOG2 - NUM_BUCKETS_LOG2)

static const struct rank_test rank_tests[TESTS] = RANK_TESTS;

static int key_array[NUM_KEYS];
static int key_buff1[MAX_KEY];  /* after rank: how many keys are at most this one */
static int key_buff2[NUM_KEYS]; /* the keys by buckets, in their old order within a bucket */

static int bucket_size[MAX_THREADS][NUM_BUCKETS]; /* by thread: counts, then where its next key goes */
static int bucket_begin[NUM_BUCKETS + 1];         /* in key_buff2 */

/* Every key is MAX_KEY / 4 times the sum of four random numbers. */
static void create_seq(void)
{
#pragma omp parallel for
    for (int block = 0; block < NUM_KEYS / BLOCK; block++) {
        uint64_t state = randlc_jump(SEED, RANDLC_A, UINT64_C(4) * BLOCK * (uint64_t)block);

        for (int i = 0; i < BLOCK; i++) {
            double sum = 0.0;

            for (int draw = 0; draw < 4; draw++)
                sum += randlc(&state, RANDLC_A);
            key_array[block * BLOCK + i] = (int)(MAX_KEY / 4 * sum);
        }
    }
}

/* From each thread's counts: where buckets begin, and where each thread's part of each bucket begins. */
static void place_buckets(int threads)
{
    int place = 0;

    for (int bucket = 0; bucket < NUM_BUCKETS; bucket++) {
        bucket_begin[bucket] = place;
        for (int thread = 0; thread < threads; thread++) {
            int size = bucket_size[thread][bucket];

            bucket_size[thread][bucket] = place;
            place += size;
        }
    }
    bucket_begin[NUM_BUCKETS] = place;
}

/* Counts the keys of one bucket, and adds up. */
static void rank_bucket(int bucket)
{
    int first = bucket << BUCKET_SHIFT, last = (bucket + 1) << BUCKET_SHIFT;
    int rank = bucket_begin[bucket];

    for (int key = first; key < last; key++)
        key_buff1[key] = 0;
    for (int k = bucket_begin[bucket]; k < bucket_begin[bucket + 1]; k++)
        key_buff1[key_buff2[k]]++;
    for (int key = first; key < last; key++) {
        rank += key_buff1[key];
        key_buff1[key] = rank;
    }
}

/* Ranks all keys; returns how many of the TESTS ranks are as published. */
static int rank(int iteration)
{
    int test_key[TESTS], passed = 0;

    key_array[iteration] = iteration;
    key_array[iteration + MAX_ITERATIONS] = MAX_KEY - iteration;
    for (int i = 0; i < TESTS; i++)
        test_key[i] = key_array[rank_tests[i].index];

#pragma omp parallel
    {
        int *bucket_next = bucket_size[omp_get_thread_num()];

        for (int bucket = 0; bucket < NUM_BUCKETS; bucket++)
            bucket_next[bucket] = 0;

        /* Both static loops give a thread the same keys: those that it counts are those that it moves. */
#pragma omp for schedule(static)
        for (int i = 0; i < NUM_KEYS; i++)
            bucket_next[key_array[i] >> BUCKET_SHIFT]++;

#pragma omp single
        place_buckets(omp_get_num_threads());

#pragma omp for schedule(static)
        for (int i = 0; i < NUM_KEYS; i++) {
            int key = key_array[i];

            key_buff2[bucket_next[key >> BUCKET_SHIFT]++] = key;
        }

#pragma omp for schedule(dynamic)
        for (int bucket = 0; bucket < NUM_BUCKETS; bucket++)
            rank_bucket(bucket);
    }

    for (int i = 0; i < TESTS; i++) {
        const struct rank_test *test = &rank_tests[i];
        int expected = test->rank + test->it_sign * (iteration - test->it_base);
        int key = test_key[i];

        if (key < 1 || key >= MAX_KEY || key_buff1[key - 1] != expected)
            printf(" iteration %d: key %d of index %d has another rank than the published %d\n", iteration,
                   key, test->index, expected);
        else
            passed++;
    }
    return passed;
}

/* Sorts the keys by their ranks; returns how many are then out of order. */
static int full_verify(void)
{
    int disordered = 0;

#pragma omp parallel
    {
#pragma omp for schedule(dynamic)
        for (int bucket = 0; bucket < NUM_BUCKETS; bucket++)
            for (int k = bucket_begin[bucket]; k < bucket_begin[bucket + 1]; k++)
                key_array[--key_buff1[key_buff2[k]]] = key_buff2[k];

#pragma omp for reduction(+ : disordered)
        for (int i = 1; i < NUM_KEYS; i++)
            disordered += key_array[i - 1] > key_array[i];
    }
    return disordered;
}

int main(void)
{
    struct npb_run run = {.name = "IS", .iterations = MAX_ITERATIONS, .operation = "keys ranked"};
    int passed = 0, disordered;
    double start;
    char size[32];

    snprintf(size, sizeof size, "2^%d", TOTAL_KEYS_LOG2);
    run.size = size;
    if (!npb_begin(&run, MAX_THREADS))
        return NPB_USAGE;

    start = npb_seconds();
    create_seq();
    rank(1); /* touches all data and code, untimed */
    printf(" Initialization time = %.3f seconds\n\n", npb_seconds() - start);

    start = npb_seconds();
    for (int it = 1; it <= MAX_ITERATIONS; it++)
        passed += rank(it);
    run.seconds = npb_seconds() - start;

    disordered = full_verify();
    printf(" Ranks as published: %d of %d\n", passed, TESTS * MAX_ITERATIONS);
    printf(" Keys out of order after sorting: %d\n", disordered);
    run.operations = (double)MAX_ITERATIONS * NUM_KEYS;
    run.verified = passed == TESTS * MAX_ITERATIONS && disordered == 0;
    return npb_end(&run);
}
