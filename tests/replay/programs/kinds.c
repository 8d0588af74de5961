/* kinds.c - what a region can refer to: reductions, criticals, heap, main's stack, arguments by value and many of them, clauses. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct point { double x, y; int tag; };

static long counter;
static double *samples;
static int kept[100];

static double by_value(int a, double b, float c, char d, long e, struct point p, int n)
{
    double sum = 0;
#pragma omp parallel for firstprivate(a, b, c, d, e, p) reduction(+ : sum)
    for (int i = 0; i < n; i++)
        sum += a + b + (double)c + d + (double)e + p.x * i + p.y + p.tag;
    return sum;
}

static double many(double *v, int n)
{
    double a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8, i = 9, j = 10, k = 11, l = 12, m = 13, o = 14, p = 15, q = 16, r = 17;
#pragma omp parallel for
    for (int s = 0; s < n; s++)
        v[s] = a + b * 2 + c * 3 + d * 4 + e * 5 + f * 6 + g * 7 + h * 8 + i * 9 + j + k + l + m + o + p + q + r + s;
#pragma omp parallel
    {
#pragma omp single
        {
            a += 1; b += a; c += b; d += c; e += d; f += e; g += f; h += g; i += h; j += i; k += j; l += k; m += l; o += m; p += o; q += p; r += q;
        }
    }
    return a + b + c + d + e + f + g + h + i + j + k + l + m + o + p + q + r;
}

static void locked(int n)
{
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
#pragma omp critical
        counter += i;
#pragma omp critical(other)
        counter ^= 1;
#pragma omp atomic
        kept[i % 100]++;
    }
}

static int maximum(const double *v, int n)
{
    double best = -1;
    int where = 0;
#pragma omp parallel for reduction(max : best)
    for (int i = 0; i < n; i++)
        best = v[i] > best ? v[i] : best;
#pragma omp parallel for reduction(+ : where) if (n > 1000000)
    for (int i = 0; i < n; i++)
        where += v[i] >= best;
    return where;
}

static void asks_for_threads(int wanted, int *out)
{
#pragma omp parallel num_threads(wanted) proc_bind(close)
    {
#pragma omp for schedule(dynamic, 3)
        for (int i = 0; i < 64; i++)
            out[i] += i;
    }
}

static void ordered(int *list, int n)
{
    int at = 0;
#pragma omp parallel for ordered schedule(static, 1)
    for (int i = 0; i < n; i++) {
#pragma omp ordered
        list[at++] = i * 2;
    }
}

static long with_tasks(int depth)
{
    long total = 0;
#pragma omp parallel
#pragma omp single
    {
        for (int i = 0; i < depth; i++) {
#pragma omp task shared(total)
            {
#pragma omp atomic
                total += i;
            }
        }
#pragma omp taskwait
    }
    return total;
}

int main(void)
{
    double on_stack[300];
    int out[64] = {0}, list[50] = {0};
    double sum = 0;
    samples = malloc(5000 * sizeof *samples);
    memset(on_stack, 0, sizeof on_stack);
    for (int i = 0; i < 5000; i++)
        samples[i] = i % 77;
    for (int step = 0; step < 3; step++) {
        struct point p = {1.5 + step, -2, 4};
        sum += by_value(step, 2.5, 1.25f, 'c', -5000000000L, p, 300);
        sum += many(on_stack, 300);
        locked(200);
        sum += maximum(samples, 5000);
        asks_for_threads(1, out);
        ordered(list, 50);
        sum += (double)with_tasks(20);
#pragma omp parallel for
        for (int i = 0; i < 300; i++)
            on_stack[i] += samples[i] + step;
    }
    printf("PASS %g %ld %g %d %d\n", sum, counter, on_stack[299], out[63], list[49]);
    free(samples);
    return 0;
}
