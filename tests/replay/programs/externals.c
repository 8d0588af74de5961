/* externals.c - pointers to functions of the C libraries in captured data, and a lock that is held around the region. */
#include <ctype.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static struct tool { double (*wave)(double); int (*upper)(int); void (*release)(void *); } *tool;
static omp_nest_lock_t held;
static double waves[100];
static int letters[100], count;

__attribute__((noinline)) static void use(void)
{
#pragma omp parallel for
    for (int i = 0; i < 100; i++) {
        waves[i] += tool->wave(i);
        letters[i] = tool->upper('a' + i % 26);
        tool->release(malloc(16));
        if (omp_get_thread_num() == 0)
            count = omp_test_nest_lock(&held);
    }
}

int main(void)
{
    if (!(tool = malloc(sizeof *tool)))
        return 1;
    *tool = getenv("EXTERNALS_PLAIN") ? (struct tool){cos, tolower, free} : (struct tool){sin, toupper, free};
    omp_init_nest_lock(&held);
    omp_set_nest_lock(&held);
    use();
    use();
    int good = fabs(waves[1] - 2 * sin(1)) < 1e-12 && letters[27] == 'B' && count > 1;
    puts(good ? "PASS" : "FAIL");
    return !good;
}
