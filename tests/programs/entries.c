/* tests/programs/entries.c - regions entered in every way: with clauses, nested, by other threads, with many arguments, with locks. */
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static omp_lock_t lock;
static omp_nest_lock_t nest_lock;
static int counter;
static int shared_value;
static int per_thread = 5;
#pragma omp threadprivate(per_thread)

static void locked(int times)
{
#pragma omp parallel for
    for (int i = 0; i < times; i++) {
        omp_set_lock(&lock);
        counter++;
        omp_unset_lock(&lock);
        omp_set_nest_lock(&nest_lock);
        omp_unset_nest_lock(&nest_lock);
#pragma omp critical(named)
        shared_value += 2;
    }
}

static void serial_when(int condition)
{
#pragma omp parallel if (condition)
#pragma omp atomic
    counter++;
}

static int clauses(int threads)
{
    int members = 0;
#pragma omp parallel num_threads(threads) proc_bind(close)
#pragma omp atomic
    members++;
    return members;
}

static double many(double a, float b, int c, long d, char e, short f, double *g, int *h)
{
    double i = a + b, j = c + 1, k = (double)d, l = e, m = f, n = 3, o = 4, p = 5, q = 6, sum = 0;
#pragma omp parallel for firstprivate(a, b, c, d, e, f, i, j, k, l, m, n, o, p, q) reduction(+ : sum)
    for (int s = 0; s < 100; s++)
        sum += a + (double)b + c + (double)d + e + f + g[s % 4] + h[s % 4] + i + j + k + l + m + n + o + p + q;
    return sum;
}

static void inner(void)
{
#pragma omp parallel num_threads(1)
#pragma omp atomic
    counter++;
}

static void outer(void)
{
#pragma omp parallel
#pragma omp master
    for (int i = 0; i < 4; i++)
        inner();
}

static void *elsewhere(void *argument)
{
    (void)argument;
    for (int i = 0; i < 3; i++) {
#pragma omp parallel num_threads(1)
#pragma omp atomic
        counter++;
    }
    return NULL;
}

static void copyin_it(void)
{
    int sum = 0;
#pragma omp parallel copyin(per_thread) reduction(+ : sum)
    sum += per_thread;
    counter += sum > 0;
}

int main(void)
{
    if (clauses(3) != 3)
        return 8;
    double g[4] = {1, 2, 3, 4};
    int *h = malloc(4 * sizeof *h), before;
    for (int i = 0; i < 4; i++)
        h[i] = i;
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest_lock);
    omp_lock_t *lost = malloc(sizeof *lost), *hinted = malloc(sizeof *hinted), *destroyed = malloc(sizeof *destroyed);
    omp_init_lock(lost);
    omp_init_lock_with_hint(hinted, omp_lock_hint_contended);
    omp_init_lock(destroyed);
    omp_destroy_lock(destroyed);
    *(volatile long *)lost = 0x1234567;          /* given up without omp_destroy_lock, its memory used for something else */
    locked(50);
    before = counter;
    if (counter != 50 || shared_value != 100)
        return 8;
    serial_when(0);
    serial_when(1);
    if (clauses(1) != 1 || clauses(3) != 3)      /* whatever happens between the clause and its region */
        return 8;
    double sum = many(1, 2, 3, 4, 5, 6, g, h);
    outer();
    pthread_t thread;
    if (pthread_create(&thread, NULL, elsewhere, NULL) != 0)
        return 8;
    pthread_join(thread, NULL);
    for (int i = 0; i < 3; i++)
        copyin_it();
    void *own = omp_alloc(100000, omp_default_mem_alloc);
    if (!own)
        return 8;
    omp_free(own, omp_default_mem_alloc);
    printf("PASS %d %.0f %d\n", counter > before, sum, shared_value);
    return 0;
}
