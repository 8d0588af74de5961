/* Blocks longer than the type of the pointer to them: what lies behind that type is no padding. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct link { struct link *next, *before; };
struct body { struct link link; double mass, place; };
struct header { double bounds[2]; long bytes; int used; };           /* 32 bytes, of which 4 are padding */
struct kind { void (*made)(void); int number; };                     /* 16 bytes, of which 4 are padding */
struct pair { int number; double value; };

struct row { int count; double v[]; };
struct row *rows[4];
struct { int count; double v[1]; } *old;
struct { long count; char letters[1]; } *word;
struct { int count; double *v[]; } *columns;
struct header *block;
struct kind *kind;
struct link *list;
struct pair *pairs;

static void *zeros(size_t bytes)
{
    void *memory = calloc(1, bytes);
    if (!memory)
        exit(1);
    return memory;
}

/* The sum of two threads is another one than one thread's, by rounding, and always the same. */
static void sums(int row)
{
    double sum = 0;
#pragma omp parallel
    {
#pragma omp for reduction(+ : sum)
        for (int i = 0; i < 2000; i++)
            sum += 1.0 / (1 + i);
#pragma omp single
        {
            rows[row]->v[50] = old->v[50] = old->v[51] = columns->v[2][5] = sum;
            ((struct body *)list->next)->mass = sum;
        }
    }
}

static void flexible(int row)
{
#pragma omp parallel
#pragma omp single
    rows[row]->v[7] = 1024.0 * omp_get_num_threads();                 /* the upper half alone differs */
}

static void old_style(void)
{
#pragma omp parallel
#pragma omp single
    {
        old->v[7] = 1024.0 * omp_get_num_threads();
        word->letters[3] = (char)('0' + omp_get_num_threads());
    }
}

static void payload(void)
{
#pragma omp parallel
#pragma omp single
    ((int *)(block + 1))[7] = omp_get_num_threads();
}

static void inherited(void)
{
#pragma omp parallel
#pragma omp single
    ((int *)(kind + 1))[3] = omp_get_num_threads();
}

static void ended(void)
{
#pragma omp parallel
#pragma omp single
    ((int *)(pairs + 50))[1] = omp_get_num_threads();
}

static void copied(void)
{
#pragma omp parallel
#pragma omp single
    {
        struct pair pair;
        memset(&pair, omp_get_num_threads(), sizeof pair);
        pair.number = 3;
        pair.value = 4;
        memcpy(&pairs[17], &pair, sizeof pair);
    }
}

int main(void)
{
    for (int i = 0; i < 4; i++)
        rows[i] = zeros(sizeof *rows[i] + 100 * sizeof(double));
    old = zeros(sizeof *old + 100 * sizeof(double));
    word = zeros(sizeof *word + 24);
    columns = zeros(sizeof *columns + 4 * sizeof(double *));
    columns->v[2] = zeros(10 * sizeof(double));
    block = zeros(sizeof *block + 80);
    kind = zeros(sizeof *kind + 16);
    *(double *)(kind + 1) = 1.5;
    pairs = zeros(50 * sizeof *pairs + 8);
    for (int i = 0; i < 3; i++) {
        struct body *body = zeros(sizeof *body);
        body->mass = 1.5;
        body->link.next = list;
        list = &body->link;
    }
    sums(3);
    flexible(3);
    old_style();
    payload();
    inherited();
    ended();
    copied();
    puts(rows[3]->v[50] > 8 && word->letters[3] ? "PASS" : "FAIL");
    return 0;
}
