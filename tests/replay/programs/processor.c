/* processor.c - what another processor can run, and what only the program's can: inline assembly, its vector functions, long double. */
#include <emmintrin.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 3000 };
struct particle { char kind; short charge; float weight; double position[3]; struct particle *next; };

static double values[COUNT], scale = 0.3;
static _Thread_local long calls;
static long counts[8];
static int (*chosen)(int);

static int twice(int x) { calls++; return 2 * x; }
static int thrice(int x) { calls++; return 3 * x; }

static double moved(struct particle *all, double factor)
{
    double total = 0;
#pragma omp parallel for reduction(+ : total) schedule(dynamic, 64)
    for (int i = 0; i < COUNT; i++) {
        struct particle *p = &all[i];
        for (int k = 0; k < 3; k++)
            p->position[k] = p->position[k] * factor + p->next->weight * scale;
        p->charge = (short)(p->charge * 3 + p->kind);
        total += p->position[0] * 0.5 + p->charge;
    }
    return total;
}

static void called(void)
{
#pragma omp parallel for
    for (int i = 0; i < COUNT; i++) {
        values[i] = values[i] * 1.1 + chosen(i);
#pragma omp atomic
        counts[i % 8] += (long)values[i];
    }
}

static void assembled(void)
{
#pragma omp parallel for
    for (int i = 0; i < COUNT; i++) {
        long word = i;
        __asm__("bswapq %0" : "+r"(word));
        values[i] += (double)(word & 0xff);
    }
}

static void packed(void)
{
#pragma omp parallel for
    for (int i = 0; i < COUNT; i += 2)
        _mm_storeu_pd(&values[i], _mm_max_sd(_mm_loadu_pd(&values[i]), _mm_set1_pd(0.25)));
}

static double widened(void)
{
    double total = 0;
#pragma omp parallel for reduction(+ : total)
    for (int i = 0; i < COUNT; i++) {
        long double wide = (long double)values[i] / 3;
        total += (double)(wide * wide);
    }
    return total;
}

/* What only the program's processor has stands around the regions: one behind a call of the runtime, one that may be entered without. */
static long double enclosing(int some)
{
    long double wide = 1;
#pragma omp parallel for
    for (int i = 0; i < COUNT; i++)
        values[i] += 0.5;
#pragma omp parallel for if (some > COUNT)
    for (int i = 0; i < COUNT; i++)
        values[i] *= 1.5;
    return wide * values[some];
}

int main(void)
{
    struct particle *all = calloc(COUNT, sizeof *all);
    char *text = malloc(COUNT);
    if (!all || !text)
        return 1;
    for (int i = 0; i < COUNT; i++)
        all[i] = (struct particle){(char)(i % 100), (short)i, (float)i / 7, {i, i + 1, i + 2}, &all[(i * 7 + 1) % COUNT]};
    double total = moved(all, 0.9);
    chosen = (int)total % 2 ? twice : thrice;
    called();
    assembled();
    packed();
    total += widened() + (double)enclosing(3);
#pragma omp parallel for
    for (int i = 0; i < COUNT; i++) {
        text[i] = (char)(i % 26 + 'a');
        values[i] = sqrt(values[i] > 0 ? values[i] : 0) + (double)strlen(i % 2 ? "odd" : "even");
    }
    printf("PASS %g %c %ld\n", total, text[30], counts[3]);
    return 0;
}
