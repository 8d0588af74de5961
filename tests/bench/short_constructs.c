/* tests/bench/short_constructs.c - constructs that come every microsecond, for scripts/bench-constructs: what each takes by the program's own clock.
 *
 *   short_constructs [TIMES [KIND...]]      default: 10, all; prints "KIND EVENTS NS", NS being the median over TIMES regions
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TIMES_MOST = 1000, STEPS_1_US = 640, LINE = 64 };

static double sums[LINE * 64];
static double shared_sum;
static omp_lock_t lock;

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static __attribute__((noinline)) double work(int steps)
{
    double x = 1.0;
    for (int i = 0; i < steps; i++) {
        x = x * 1.0000001 + 1e-9;
        __asm__ volatile("" : "+x"(x));
    }
    return x;
}

static void mine(int steps)
{
    sums[LINE * (omp_get_thread_num() % LINE)] += work(steps);
}

static void loop_dynamic(int count)
{
    #pragma omp parallel for schedule(dynamic, 1)
    for (int i = 0; i < count; i++)
        mine(STEPS_1_US);
}

static void loop_monotonic(int count)
{
    #pragma omp parallel for schedule(monotonic : dynamic, 1)
    for (int i = 0; i < count; i++)
        mine(STEPS_1_US);
}

static void loop_dynamic_5(int count)
{
    #pragma omp parallel for schedule(dynamic, 1)
    for (int i = 0; i < count; i++)
        mine(5 * STEPS_1_US);
}

static void loop_dynamic_8(int count)
{
    #pragma omp parallel for schedule(dynamic, 8)
    for (int i = 0; i < count; i++)
        mine(STEPS_1_US);
}

static void loop_guided(int count)
{
    #pragma omp parallel for schedule(guided)
    for (int i = 0; i < count; i++)
        mine(STEPS_1_US);
}

static void loop_ordered(int count)
{
    #pragma omp parallel for ordered schedule(static, 1)
    for (int i = 0; i < count; i++) {
        mine(STEPS_1_US);
        #pragma omp ordered
        shared_sum += 1;
    }
}

static void tasks(int count)
{
    #pragma omp parallel
    #pragma omp single
    for (int i = 0; i < count; i++) {
        #pragma omp task
        mine(STEPS_1_US);
    }
}

static void loop_of_tasks(int count)
{
    #pragma omp parallel
    #pragma omp single
    #pragma omp taskloop grainsize(1)
    for (int i = 0; i < count; i++)
        mine(STEPS_1_US);
}

static void critical(int count)
{
    #pragma omp parallel for
    for (int i = 0; i < count; i++) {
        mine(STEPS_1_US);
        #pragma omp critical
        shared_sum += work(STEPS_1_US / 5);
    }
}

static void locked(int count)
{
    #pragma omp parallel for
    for (int i = 0; i < count; i++) {
        mine(STEPS_1_US);
        omp_set_lock(&lock);
        shared_sum += work(STEPS_1_US / 5);
        omp_unset_lock(&lock);
    }
}

static void nested(int count)
{
    #pragma omp parallel for
    for (int i = 0; i < count; i++) {
        #pragma omp parallel num_threads(1)
        sums[LINE * (omp_get_ancestor_thread_num(1) % LINE)] += work(2 * STEPS_1_US);
    }
}

static void regions(int count)
{
    for (int i = 0; i < count; i++) {
        #pragma omp parallel
        mine(STEPS_1_US);
    }
}

/* What regions allocate is served by the library, too. */
static void allocating(int count)
{
    #pragma omp parallel for schedule(static)
    for (int i = 0; i < count; i++) {
        char *block = malloc(64 + (size_t)i % 256);
        block[0] = (char)i;
        mine(STEPS_1_US / 4);
        sums[LINE * (omp_get_thread_num() % LINE)] += block[0];
        free(block);
    }
}

static const struct { const char *name; void (*run)(int count); int count; } kinds[] = {
    {"dynamic", loop_dynamic, 4000},     {"monotonic", loop_monotonic, 4000}, {"dynamic_5us", loop_dynamic_5, 800}, {"dynamic_8", loop_dynamic_8, 4000},
    {"guided", loop_guided, 4000},       {"ordered", loop_ordered, 4000},     {"tasks", tasks, 4000},               {"taskloop", loop_of_tasks, 4000},
    {"critical", critical, 4000},        {"lock", locked, 4000},              {"nested", nested, 2000},             {"regions", regions, 2000},
    {"allocating", allocating, 8000},
};

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int is_asked(const char *name, int argc, char **argv)
{
    for (int i = 2; i < argc; i++)
        if (!strcmp(argv[i], name))
            return 1;
    return argc <= 2;
}

int main(int argc, char **argv)
{
    static double took_ns[TIMES_MOST];
    int times = argc > 1 ? atoi(argv[1]) : 10;
    if (times < 1 || times > TIMES_MOST)
        return 2;
    omp_init_lock(&lock);
    omp_set_max_active_levels(2);
    double begin_ns = now_ns();
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        if (!is_asked(kinds[k].name, argc, argv))
            continue;
        for (int i = 0; i < times; i++) {
            double from_ns = now_ns();
            kinds[k].run(kinds[k].count);
            took_ns[i] = now_ns() - from_ns;
        }
        qsort(took_ns, (size_t)times, sizeof *took_ns, compare);
        printf("%s %d %.0f\n", kinds[k].name, kinds[k].count, took_ns[times / 2]);
    }
    printf("program %d %.0f\n", 1, now_ns() - begin_ns);
    omp_destroy_lock(&lock);
    return sums[0] + shared_sum < 0;
}
