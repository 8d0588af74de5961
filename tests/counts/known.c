/* tests/counts/known.c - the counts of known.ll's functions, worked out by hand. It is what a runtime is to programs: it defines the hooks. */
#include "include/pcere/counts.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

typedef double v2 __attribute__((vector_size(16)));
typedef double v4 __attribute__((vector_size(32)));
typedef double v8 __attribute__((vector_size(64)));
typedef float f4 __attribute__((vector_size(16)));
typedef float f8 __attribute__((vector_size(32)));
typedef float f16 __attribute__((vector_size(64)));

int64_t straight(int64_t a, int64_t b);
double loop(const double *a, int64_t n);
void triangle(int64_t n);
void data(double *a, int64_t n);
int64_t continues(int64_t n);
int64_t search(const int64_t *a, int64_t n, int64_t v);
void blocks(char *to, const char *from, int64_t bytes);
void atomics(int64_t *p);
int64_t fibonacci(int64_t n);
void looked_at(int64_t n);
void loop_then_looked_at(double *a, int64_t n);
void left(int64_t n);
int64_t even(int64_t n, int64_t (*other)(int64_t, void *));
#ifdef __AVX512F__
double widths(double, float, v2, v4, v8, f4, f8, f16);
#endif
void outside(void);
void leave(void);

static pcere_counts_fn *here;
static unsigned registered;
static int failures, looks;
static uint64_t seen[8];
static jmp_buf way;

void __pcere_counts_register(pcere_counts_fn *function)
{
    registered += function != here;
    here = function;
}

void __pcere_counts_forget(pcere_counts_fn *function)
{
    (void)function;
}

struct counts { uint64_t of[PCERE_COUNTS_SLOTS]; };

static struct counts now(void)
{
    struct counts counts;
    memcpy(counts.of, here(), sizeof counts.of);
    return counts;
}

void outside(void)
{
    seen[looks++ % 8] = here()[PCERE_COUNT_INSTRUCTIONS];
}

void leave(void)
{
    longjmp(way, 1);
}

static void compare(const char *what, const struct counts *before, const uint64_t *wanted)
{
    static const char *const names[] = {
#define PCERE_COUNT(number, name, text, unit, words) [number] = text,
#include "include/pcere/counts.inc"
#undef PCERE_COUNT
    };
    struct counts after = now();
    for (int i = 0; i < PCERE_COUNT_END; i++)
        if (after.of[i] - before->of[i] != wanted[i]) {
            printf("FAIL %s: %s is %llu, not %llu\n", what, names[i], (unsigned long long)(after.of[i] - before->of[i]), (unsigned long long)wanted[i]);
            failures++;
        }
}

#define EXPECT(what, call, ...)                                                                                                \
    do {                                                                                                                       \
        const uint64_t wanted[PCERE_COUNTS_SLOTS] = {__VA_ARGS__};                                                             \
        struct counts before = now();                                                                                          \
        call;                                                                                                                  \
        compare(what, &before, wanted);                                                                                        \
    } while (0)
#define C(name) [PCERE_COUNT_##name]

static void is(const char *what, uint64_t got, uint64_t wanted)
{
    if (got == wanted)
        return;
    printf("FAIL %s: %llu, not %llu\n", what, (unsigned long long)got, (unsigned long long)wanted);
    failures++;
}

static void *in_thread(void *array)
{
    is("a new thread counts from 0", now().of[PCERE_COUNT_INSTRUCTIONS], 0);
    EXPECT("a loop in a thread", loop(array, 7), C(INSTRUCTIONS) = 43, C(LOADS) = 7, C(LOAD_BYTES) = 56, C(BRANCHES) = 7, C(DOUBLE_SCALAR) = 7, C(INTEGER) = 14);
    return NULL;
}

static void loops_check(double *a)
{
    for (uint64_t n = 1; n < 40; n += 13)
        EXPECT("a loop", loop(a, (int64_t)n), C(INSTRUCTIONS) = 6 * n + 1, C(LOADS) = n, C(LOAD_BYTES) = 8 * n, C(BRANCHES) = n, C(DOUBLE_SCALAR) = n,
               C(INTEGER) = 2 * n);
    for (uint64_t n = 0; n < 40; n += 13)       /* n + 1 tests, n (n + 1) / 2 inner rounds */
        EXPECT("a triangle", triangle((int64_t)n), C(INSTRUCTIONS) = 2 * (n + 1) + 3 * (n * (n + 1) / 2) + n + 1, C(BRANCHES) = n + 1 + n * (n + 1) / 2,
               C(INTEGER) = n + 1 + 2 * (n * (n + 1) / 2) + n);
    EXPECT("no round at all", triangle(-5), C(INSTRUCTIONS) = 3, C(BRANCHES) = 1, C(INTEGER) = 1);
    for (int i = 0; i < 20; i++)
        a[i] = i % 3 ? -1 : 1;                  /* 7 of 20 are positive */
    EXPECT("a condition on data", data(a, 20), C(INSTRUCTIONS) = 20 * 7 + 7 * 2 + 1, C(LOADS) = 20, C(LOAD_BYTES) = 160, C(STORES) = 7, C(STORE_BYTES) = 56,
           C(BRANCHES) = 40, C(DOUBLE_SCALAR) = 7, C(INTEGER) = 40);
    EXPECT("rounds that do not come to the second block", continues(9), C(INSTRUCTIONS) = 9 * 4 + 5 * 2 + 1, C(BRANCHES) = 9 + 5, C(INTEGER) = 9 * 3 + 5);
    int64_t numbers[] = {5, 6, 7, 8};
    EXPECT("a search that finds", search(numbers, 4, 7), C(INSTRUCTIONS) = 3 * 4 + 2 * 3 + 2, C(LOADS) = 3, C(LOAD_BYTES) = 24, C(BRANCHES) = 5, C(INTEGER) = 3 + 4 + 1);
    EXPECT("a search that does not", search(numbers, 4, 9), C(INSTRUCTIONS) = 4 * 4 + 4 * 3 + 1, C(LOADS) = 4, C(LOAD_BYTES) = 32, C(BRANCHES) = 8, C(INTEGER) = 4 + 8);
}

static void kinds_check(void)
{
    static char to[1000], from[1000];
    int64_t word = 0;
    EXPECT("straight code", straight(3, 4), C(INSTRUCTIONS) = 5, C(INTEGER) = 3);
    EXPECT("blocks of memory", blocks(to, from, 777), C(INSTRUCTIONS) = 2 + 3 * 4 + 1, C(LOADS) = 4, C(LOAD_BYTES) = 4 * 777, C(STORES) = 5, C(STORE_BYTES) = 64 + 4 * 777,
           C(BRANCHES) = 3, C(INTEGER) = 6);
    EXPECT("atomics", atomics(&word), C(INSTRUCTIONS) = 6, C(LOADS) = 3, C(LOAD_BYTES) = 20, C(STORES) = 3, C(STORE_BYTES) = 20, C(ATOMICS) = 5, C(INTEGER) = 1);
    /* 177 calls for 10: 89 leaves, 88 others */
    EXPECT("recursion", fibonacci(10), C(INSTRUCTIONS) = 177 * 2 + 89 + 88 * 6, C(BRANCHES) = 177, C(INTEGER) = 177 + 88 * 3, C(CALLS) = 176);
#ifdef __AVX512F__
    if (__builtin_cpu_supports("avx512f"))
        EXPECT("widths", widths(1, 2, (v2){0}, (v4){0}, (v8){0}, (f4){0}, (f8){0}, (f16){0}), C(INSTRUCTIONS) = 15, C(DOUBLE_SCALAR) = 2, C(DOUBLE_128) = 2,
               C(DOUBLE_256) = 12, C(DOUBLE_512) = 8, C(SINGLE_SCALAR) = 2, C(SINGLE_128) = 4, C(SINGLE_256) = 8, C(SINGLE_512) = 16, C(OTHER_FLOPS) = 1);
#endif
}

static void looks_check(double *a)
{
    uint64_t start = now().of[PCERE_COUNT_INSTRUCTIONS];
    looks = 0;
    EXPECT("calls of what is outside", looked_at(5), C(INSTRUCTIONS) = 5 * 4 + 1, C(BRANCHES) = 5, C(INTEGER) = 10, C(UNSEEN_CALLS) = 5);
    for (uint64_t k = 0; k < 5; k++)
        is("who is called sees all that was done before, and the call", seen[k] - start, 4 * k + 1);
    start = now().of[PCERE_COUNT_INSTRUCTIONS];
    looks = 0;
    EXPECT("two loops, then a call", loop_then_looked_at(a, 11), C(INSTRUCTIONS) = 3 * 11 + 1 + 67 + 1 + 3, C(BRANCHES) = 22, C(INTEGER) = 44, C(LOADS) = 11,
           C(LOAD_BYTES) = 88, C(STORES) = 1, C(STORE_BYTES) = 8, C(DOUBLE_SCALAR) = 12, C(CALLS) = 1, C(UNSEEN_CALLS) = 1);
    is("who is called sees both loops", seen[0] - start, 3 * 11 + 1 + 67 + 1);
    struct counts before = now();
    const uint64_t wanted[PCERE_COUNTS_SLOTS] = {C(INSTRUCTIONS) = 3 * (3 * 10 + 2) + 2 + 1, C(BRANCHES) = 33, C(INTEGER) = 3 * 21 + 2, C(UNSEEN_CALLS) = 1};
    if (!setjmp(way))
        left(10);
    compare("a function left by longjmp", &before, wanted);
}

int main(void)
{
    double a[64] = {0};
    is("the image registers itself before main, once", registered, 1);
    if (!here)
        return 1;
    is("nothing counts by itself", now().of[PCERE_COUNT_INSTRUCTIONS], 0);
    kinds_check();
    loops_check(a);
    looks_check(a);
    EXPECT("calls without a stack", even(5000000, (int64_t (*)(int64_t, void *))(void *)even), C(INSTRUCTIONS) = 5000000ull * 5 + 3, C(BRANCHES) = 5000001,
           C(INTEGER) = 5000001 + 5000000, C(UNSEEN_CALLS) = 5000000);
    pthread_t thread;
    if (pthread_create(&thread, NULL, in_thread, a) != 0 || pthread_join(thread, NULL) != 0)
        failures++;
    puts(failures ? "FAILED" : "PASS");
    return failures != 0;
}
