/* proc_bind.c - regions that say where their threads go: to the primary thread's place, or spread evenly over all of them. */
#include "check.h"
#include <omp.h>

enum { MOST = 64 };
static int places[3][MOST], values[100];        /* by how many places each thread is away from the primary one's */

static void note(int row)
{
    static int first;
    int all = omp_get_num_places();
#pragma omp master
    first = omp_get_place_num();
#pragma omp barrier
    places[row][omp_get_thread_num()] = (omp_get_place_num() - first + all) % all;
}

/* Even: the numbers of threads at any two places differ by one at most. */
static int is_even(int row, int team, int all)
{
    int most = 0, least = team;
    for (int place = 0; place < all; place++) {
        int here = 0;
        for (int i = 0; i < team; i++)
            here += places[row][i] == place;
        most = here > most ? here : most;
        least = here < least ? here : least;
    }
    return most - least <= 1;
}

int main(void)
{
    int team = omp_get_max_threads() < MOST ? omp_get_max_threads() : MOST, all = omp_get_num_places();
    CHECK(all > 0);
    for (int step = 0; step < 2; step++) {
        /* not "primary", which clang 19 writes as a number that its runtime takes for no such wish */
#pragma omp parallel num_threads(team) proc_bind(master)
        note(0);
#pragma omp parallel num_threads(team) proc_bind(close)
        note(1);
#pragma omp parallel num_threads(team) proc_bind(spread)
        note(2);
#pragma omp parallel for proc_bind(spread)
        for (int i = 0; i < 100; i++)
            values[i] += i;
        for (int i = 0; i < team; i++)
            CHECK(places[0][i] == 0);
        CHECK(is_even(1, team, all) && is_even(2, team, all) && values[99] == 99 * (step + 1));
    }
    return 0;
}
