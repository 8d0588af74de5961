/* runtime_paused.c - a program that gives the runtime's threads back between regions, softly and hard, and asks what the runtime's settings are. */
#include "check.h"
#include <omp.h>

enum { COUNT = 500 };
static long values[COUNT];

static void add(int step)
{
#pragma omp parallel for schedule(dynamic, 16)
    for (int i = 0; i < COUNT; i++)
        values[i] += i * step;
}

int main(void)
{
    add(1);
    CHECK(omp_pause_resource(omp_pause_soft, omp_get_initial_device()) == 0);
    add(2);
    omp_display_env(0);
    CHECK(omp_pause_resource_all(omp_pause_hard) == 0);
    add(3);
    add(4);
    for (int i = 0; i < COUNT; i++)
        CHECK(values[i] == 10 * i);
    return 0;
}
