/* thread_arenas.c - regions with scratch that the program cut from memory of its own, some of it for as many threads as there were. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 20000, PART = 1000, ROOM = 1 << 22 };
static double data[N];

static double work(double *mine, int i) { return mine[i % PART] += data[i]; }

/* ---- cut by a place in an array, a pointer that goes on, an offset that is rounded ------------------------------------------------ */

static char array[ROOM];
static size_t top;

static void *from_array(size_t bytes)
{
    void *block = array + top;
    top += (bytes + 63) & ~(size_t)63;
    return block;
}

struct stack { char *next, *end; };
struct pool { char *base; size_t used, bytes; };
static struct stack *stack;
static struct pool *pool;

static void *from_stack(struct stack *of, size_t bytes)
{
    char *block = of->next;
    if (bytes > (size_t)(of->end - block))
        return NULL;
    of->next = block + bytes;
    return block;
}

static void *from_pool(struct pool *of, size_t bytes)
{
    size_t at = (of->used + 63) & ~(size_t)63;
    if (at + bytes > of->bytes)
        return NULL;
    of->used = at + bytes;
    return of->base + at;
}

static double *scratch_of_array, *scratch_of_stack, **rows_of_pool;

__attribute__((noinline)) static void place_in_an_array(void)
{
#pragma omp parallel for
    for (int i = 0; i < N; i++)
        work(scratch_of_array + PART * omp_get_thread_num(), i);
}

__attribute__((noinline)) static void pointer_that_goes_on(void)
{
#pragma omp parallel for
    for (int i = 0; i < N; i++)
        work(scratch_of_stack + PART * omp_get_thread_num(), i);
}

__attribute__((noinline)) static void row_for_each(void)
{
#pragma omp parallel for
    for (int i = 0; i < N; i++)
        work(rows_of_pool[omp_get_thread_num()], i);
}

/* ---- of no thread count ----------------------------------------------------------------------------------------------------------- */

static struct pool *other;
static double *from, *to;

__attribute__((noinline)) static void shared_out_by_hand(int count)
{
#pragma omp parallel
    {
        long me = omp_get_thread_num(), threads = omp_get_num_threads();
        for (long i = count * me / threads; i < count * (me + 1) / threads; i++)
            to[i] += from[i];
    }
}

int main(int argc, char **argv)
{
    int threads = omp_get_max_threads(), count = argc > 1 ? atoi(argv[1]) : N;
    (void)argv;
    for (int i = 0; i < N; i++)
        data[i] = i % 17;
    stack = malloc(sizeof *stack);
    stack->next = calloc(ROOM, 1);
    stack->end = stack->next + ROOM;
    pool = malloc(sizeof *pool);
    other = malloc(sizeof *other);
    *pool = (struct pool){calloc(ROOM, 1), 0, ROOM};
    *other = (struct pool){calloc(ROOM, 1), 0, ROOM};
    scratch_of_array = from_array((size_t)threads * PART * sizeof(double));
    scratch_of_stack = from_stack(stack, (size_t)threads * PART * sizeof(double));
    rows_of_pool = from_pool(pool, (size_t)threads * sizeof *rows_of_pool);
    for (int t = 0; t < threads; t++)
        rows_of_pool[t] = from_pool(pool, PART * sizeof(double));
    from = from_pool(other, (size_t)count * sizeof *from);
    to = from_pool(other, (size_t)count * sizeof *to);
    memset(scratch_of_array, 0, (size_t)threads * PART * sizeof(double));
    for (int step = 0; step < 3; step++) {
        place_in_an_array();
        pointer_that_goes_on();
        row_for_each();
        shared_out_by_hand(count);
    }
    double sum = to[count - 1], wanted = 0;
    for (int i = 0; i < N; i++)
        wanted += 9 * data[i]; /* three kinds of scratch, three steps */
    for (int i = 0; i < threads * PART; i++)
        sum += scratch_of_array[i] + scratch_of_stack[i] + rows_of_pool[i / PART][i % PART];
    puts(sum == wanted ? "PASS" : "FAIL");
    return sum != wanted;
}
