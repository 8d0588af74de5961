// thread_callbacks.c - regions in functions, and that call functions, which the program finds in tables and in memory.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 20000, PART = 500 };
static double data[N];

struct plan {
    int threads;
    double *room;
    void (*each)(struct plan *plan, int i);
};

static void no_room(struct plan *plan) { (void)plan; }

static void room_for_each(struct plan *plan) { plan->room = calloc((size_t)plan->threads * PART, sizeof *plan->room); }

/* ---- memory, and a division of the work, for the threads from before the region ------------------------------------------------------- */

static void adds_to_its_room(struct plan *plan, int i) { plan->room[omp_get_thread_num() * PART + i % PART] += data[i]; }

static void calls_what_it_was_given(struct plan *plan, int step)
{
    plan->each = adds_to_its_room;
#pragma omp parallel for
    for (int i = 0; i < N; i++) {
        data[i] += step;
        plan->each(plan, i);
    }
}

static void divided(struct plan *plan, int step)
{
    int threads = plan->threads;
#pragma omp parallel
    {
        int me = omp_get_thread_num(), each = (N + threads - 1) / threads, end = (me + 1) * each;
        for (int i = me * each; i < (end < N ? end : N); i++)
            data[i] += step;
    }
}

/* ---- of any number -------------------------------------------------------------------------------------------------------------------- */

static void plain(struct plan *plan, int step)
{
#pragma omp parallel for
    for (int i = 0; i < N; i++)
        data[i] += step + (plan->room != NULL);
}

static const struct method {
    const char *name;
    void (*prepare)(struct plan *plan);
    void (*run)(struct plan *plan, int step);
} methods[] = {{"divided", no_room, divided}, {"calls", room_for_each, calls_what_it_was_given}, {"plain", no_room, plain}};

int main(int argc, char **argv)
{
    struct plan *plan = calloc(1, sizeof *plan);
    plan->threads = omp_get_max_threads();
    for (size_t k = 0; k < sizeof methods / sizeof *methods; k++) {
        if (argc > 1 && strcmp(argv[1], methods[k].name) != 0)
            continue;
        free(plan->room);
        plan->room = NULL;
        methods[k].prepare(plan);
        for (int step = 1; step < 4; step++)
            methods[k].run(plan, step);
    }
    puts(data[N - 1] == data[0] && data[0] > 0 ? "PASS" : "FAIL");
    return 0;
}
