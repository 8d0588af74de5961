/*
 * IS's problem by class: the sizes, and the ranks that five of the keys must have. The keys change a
 * little in every iteration, so the expected rank of test i in iteration it is rank + it_sign (it - it_base).
 */
#ifndef IS_PARAMS_H
#define IS_PARAMS_H

#define TESTS 5

struct rank_test {
    int index; /* in key_array */
    int rank;
    int it_sign, it_base;
};

#define NUM_BUCKETS_LOG2 10

#if NPB_CLASS == 'S'
#define TOTAL_KEYS_LOG2 16
#define MAX_KEY_LOG2    11
#undef NUM_BUCKETS_LOG2
#define NUM_BUCKETS_LOG2 9
#define RANK_TESTS                                                                           \
    {                                                                                        \
        {48427, 0, +1, 0}, {17148, 18, +1, 0}, {23627, 346, +1, 0}, {62548, 64917, -1, 0},   \
            {4431, 65463, -1, 0},                                                            \
    }
#elif NPB_CLASS == 'W'
#define TOTAL_KEYS_LOG2 20
#define MAX_KEY_LOG2    16
#define RANK_TESTS                                                                           \
    {                                                                                        \
        {357773, 1249, +1, 2}, {934767, 11698, +1, 2}, {875723, 1039987, -1, 0},             \
            {898999, 1043896, -1, 0}, {404505, 1048018, -1, 0},                              \
    }
#elif NPB_CLASS == 'A'
#define TOTAL_KEYS_LOG2 23
#define MAX_KEY_LOG2    19
#define RANK_TESTS                                                                           \
    {                                                                                        \
        {2112377, 104, +1, 1}, {662041, 17523, +1, 1}, {5336171, 123928, +1, 1},             \
            {3642833, 8288932, -1, 1}, {4250760, 8388264, -1, 1},                            \
    }
#elif NPB_CLASS == 'B'
#define TOTAL_KEYS_LOG2 25
#define MAX_KEY_LOG2    21
#define RANK_TESTS                                                                           \
    {                                                                                        \
        {41869, 33422937, -1, 0}, {812306, 10244, +1, 0}, {5102857, 59149, +1, 0},           \
            {18232239, 33135281, -1, 0}, {26860214, 99, +1, 0},                              \
    }
#elif NPB_CLASS == 'C'
#define TOTAL_KEYS_LOG2 27
#define MAX_KEY_LOG2    23
#define RANK_TESTS                                                                           \
    {                                                                                        \
        {44172927, 61147, +1, 0}, {72999161, 882988, +1, 0}, {74326391, 266290, +1, 0},      \
            {129606274, 133997595, -1, 0}, {21736814, 133525895, -1, 0},                     \
    }
#else
#error "unknown class: S, W, A, B or C"
#endif

#define MAX_ITERATIONS 10
#define NUM_KEYS       (1 << TOTAL_KEYS_LOG2)
#define MAX_KEY        (1 << MAX_KEY_LOG2)
#define NUM_BUCKETS    (1 << NUM_BUCKETS_LOG2)
#define MAX_THREADS    256 /* the table of buckets has a row for each */

#endif
