/* tests/sampling/programs/tasks.c - tasks of which some subtrees can be sampled, and such whose making depends on what others compute.
 * Usage: tasks [SIZE]; SIZE 1 takes some 30 ms a region on one core. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static double work(int64_t amount, double seed)
{
    double x = seed;
    for (int64_t i = 0; i < amount; i++)
        x = x * 0.999999 + 1e-6;
    return x;
}

/* Subtrees of very different sizes. */
static long fib(int n)
{
    long a, b;
    if (n < 2)
        return n;
    if (n < 16)
        return fib(n - 1) + fib(n - 2);
#pragma omp task shared(a)
    a = fib(n - 1);
#pragma omp task shared(b)
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}

static long fib_region(int n)
{
    long r = 0;
#pragma omp parallel
#pragma omp single
    r = fib(n);
    return r;
}

static void flat(int count, double *result)
{
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < count; i++)
#pragma omp task
        result[i] = work(1000 + i * 10, i);
}

static void loop(int count, double *result)
{
#pragma omp parallel
#pragma omp single
#pragma omp taskloop grainsize(4)
    for (int i = 0; i < count; i++)
        result[i] = work(1000 + i, i);
}

/* So many tasks, of 64-bit numbers that go down by two. */
static void downwards(int64_t count, double *result)
{
#pragma omp parallel
#pragma omp single
#pragma omp taskloop num_tasks(400)
    for (int64_t i = count; i > 0; i -= 2)
        result[i] = work(4000, (double)i);
}

static double total;

/* A tree that chance makes. */
static void node(uint64_t state, int depth)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    int children = depth < 6 ? 3 : state >> 33 & 1 ? 2 : 0;
    double x = work(8000 + (int64_t)(state >> 52), (double)depth);
    if (depth > 16)
        children = 0;
    for (int i = 0; i < children; i++)
#pragma omp task
        node(state + (uint64_t)i * 77777, depth + 1);
#pragma omp atomic
    total += x;
}

static void uts(void)
{
#pragma omp parallel
#pragma omp single
    node(42, 0);
}
/* The halves must be sorted before they are merged: which branch is taken depends on what tasks wrote. */
static void sort(int *v, int *t, int n)
{
    if (n < 2000) {
        for (int i = 1; i < n; i++) {
            int x = v[i], j = i;
            for (; j && v[j - 1] > x; j--)
                v[j] = v[j - 1];
            v[j] = x;
        }
        return;
    }
#pragma omp task
    sort(v, t, n / 2);
#pragma omp task
    sort(v + n / 2, t + n / 2, n - n / 2);
#pragma omp taskwait
    int i = 0, j = n / 2, k = 0;
    while (i < n / 2 && j < n)
        t[k++] = v[i] < v[j] ? v[i++] : v[j++];
    while (i < n / 2)
        t[k++] = v[i++];
    while (j < n)
        t[k++] = v[j++];
    for (i = 0; i < n; i++)
        v[i] = t[i];
}

static void sort_region(int *v, int *t, int n)
{
#pragma omp parallel
#pragma omp single
    sort(v, t, n);
}

/* What the first tasks find decides how many more there are. */
static double search(int count)
{
    double best = 0;
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < count && best < 1e9; i++) {
        double found = 0;
#pragma omp task shared(found)
        found = work(20000 + i, i);
#pragma omp taskwait
        if (found > best)
            best = found;
    }
    return best;
}

/* One after the other, whatever the number of threads. */
static void chain(int count, double *result)
{
#pragma omp parallel
#pragma omp single
    for (int i = 1; i < count; i++)
#pragma omp task depend(in : result[i - 1]) depend(out : result[i])
        result[i] = work(10000, result[i - 1]);
}

static void untied(int count, double *result)
{
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < count; i++)
#pragma omp task untied
        result[i] = work(20000, i);
}

int main(int argc, char **argv)
{
    double size = argc > 1 ? atof(argv[1]) : 1;
    int count = 200000;
    double *result = calloc((size_t)count, sizeof *result);
    int *v = malloc((size_t)count * sizeof *v), *t = malloc((size_t)count * sizeof *t);
    for (int i = 0; i < count; i++)
        v[i] = (int)((unsigned)i * 7919u % 100003u);
    long r = fib_region(32);
    flat((int)(2000 * size), result);
    loop((int)(6000 * size), result);
    downwards((int)(6000 * size), result);
    uts();
    sort_region(v, t, count);
    double found = search((int)(1000 * size));
    chain((int)(1500 * size), result);
    untied((int)(1000 * size), result);
    printf("%s %ld %g %d %g\n", r == 2178309 && isfinite(total) ? "PASS" : "FAIL", r, total, v[7], found);
    return 0;
}
