/* verifies.c - regions whose results depend on the number of threads not at all, by rounding, by intent, or by accident. Each says so by its name. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { COUNT = 20000, CELLS = 64, ROWS = 4, COLUMNS = 8 };

struct cell { int owner; char mark; double rho; float flow[3]; };
struct grid { int count; struct cell *cells; struct grid *coarser; };
struct node { int owner; struct node *next; };

static double values[COUNT];
static int histogram[16];
static long clashes;
static struct node *list;
int who[ROWS][COLUMNS], private_to_each;
struct { unsigned low : 3, owner : 5; } bits;
#pragma omp threadprivate(private_to_each)

static void whole(void)
{
    #pragma omp parallel for
    for (int i = 0; i < COUNT; i++) {
        #pragma omp atomic
        histogram[i * 7 % 16] += i;
    }
}

static double sums(float *single_out)
{
    double sum = 0;
    float single = 0;
    #pragma omp parallel for reduction(+ : sum, single)
    for (int i = 0; i < COUNT; i++) {
        sum += values[i];
        single += (float)values[i];
    }
    *single_out = single;
    return sum;
}

/* Each thread waits for all others, then all write without asking, until one has met another often enough for the sum to differ from run to run. */
static void races(void)
{
    static int arrived;
    static volatile int enough;
    arrived = enough = 0;
    #pragma omp parallel
    {
        #pragma omp atomic
        arrived++;
        for (int all = 0; all < omp_get_num_threads();) {
            #pragma omp atomic read
            all = arrived;
        }
        volatile long *shared = &clashes;
        long most = omp_get_num_threads() > 1 ? 4000000000 : 1000;
        for (long i = 0, met = 0; i < most && !enough; i++) {
            long seen = *shared;
            *shared = seen + 1;
            met += *shared != seen + 1;
            if (met == 1000 || (met >= 20 && i > 20000000)) /* threads that hardly ever run at the same time meet once in many milliseconds */
                enough = 1;
        }
    }
}

static void numbers(struct grid *grid)
{
    #pragma omp parallel
    {
        int thread = omp_get_thread_num(), threads = omp_get_num_threads();
        for (int i = thread; i < ROWS * COLUMNS; i += threads)
            who[i / COLUMNS][i % COLUMNS] = thread;
        for (int i = thread; i < grid->coarser->count; i += threads) {
            grid->coarser->cells[i].owner = thread;
            grid->cells[i].flow[i % 3] = (float)thread;
        }
        struct node *node = list;
        for (int i = 0; node; node = node->next, i++)
            if (i % threads == thread)
                node->owner = thread;
        #pragma omp single
        bits.owner = (unsigned)threads & 31;
    }
}

static void each(void)
{
    #pragma omp parallel
    private_to_each = (int)getpid() + omp_get_thread_num();
}

int main(void)
{
    struct grid coarse = {.count = CELLS / 2}, fine = {.count = CELLS, .coarser = &coarse};
    coarse.cells = calloc(CELLS / 2, sizeof *coarse.cells);
    fine.cells = calloc(CELLS, sizeof *fine.cells);
    for (int i = 0; i < 5; i++) {
        struct node *node = calloc(1, sizeof *node);
        node->next = list;
        list = node;
    }
    for (int i = 0; i < COUNT; i++)
        values[i] = 1.0 / (i + 1);
    float single;
    whole();
    double sum = sums(&single);
    races();
    numbers(&fine);
    each();
    int good = histogram[0] > 0 && sum > 10.4 && sum < 10.5 && single > 10.4f && single < 10.5f;
    puts(good ? "PASS" : "FAIL");
    return !good;
}
