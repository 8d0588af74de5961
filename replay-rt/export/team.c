/* team.c - the OpenMP runtime as the program had it where the region starts: its settings, and the parallel regions around.
 *
 * Those are entered with the teams that they had. In each, the thread with the captured number goes on inward, the others wait.
 */
#define _GNU_SOURCE
#include "codelet.h"
#include "region.h"

#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

void team_wake(void)
{
#pragma omp parallel
    __asm__ volatile("");
}

struct level { int team, number; };
static const struct level levels[] = {
#define LEVEL(team, number) {team, number},
    LEVELS(LEVEL)
    {0, 0},                                         /* the region itself */
};

static void thread_wait(void)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    for (;;)
        pause();
}

static void settings_apply(void)
{
    if (MAX_ACTIVE_LEVELS > 0 || DYNAMIC >= 0)
        omp_set_max_active_levels(MAX_ACTIVE_LEVELS);
    if (DYNAMIC >= 0)
        omp_set_dynamic(DYNAMIC);
    if (SCHEDULE_KIND)
        omp_set_schedule((omp_sched_t)SCHEDULE_KIND, SCHEDULE_CHUNK);
}

/* Teams that the region's threads begin have another size than its own, where the construct's clause said that: */
#ifdef INNER_THREADS
static int own_threads;

static void inner_teams_begin(struct source_location *where)
{
    own_threads = omp_get_max_threads();
    __kmpc_push_num_threads(where, __kmpc_global_thread_num(where), own_threads);
    omp_set_num_threads(INNER_THREADS);
}

static void inner_teams_end(void) { omp_set_num_threads(own_threads); }
#else
static void inner_teams_begin(struct source_location *where) { (void)where; }
static void inner_teams_end(void) { }
#endif

static void level_enter(const struct level *level, void (*go_on)(void))
{
    if (!level->team) {
        settings_apply();
        go_on();
        return;
    }
#pragma omp parallel num_threads(level->team)
    {
        bool whole = omp_get_num_threads() == level->team;
        if (!whole && omp_get_thread_num() == 0) {
            fprintf(messages, "codelet: the region lies in a team of %d threads, and there are only %d\n", level->team, omp_get_num_threads());
            _exit(2);
        }
        if (!whole || omp_get_thread_num() != level->number)
            thread_wait();
        level_enter(level + 1, go_on);
    }
}

void team_enter(void (*go_on)(void))
{
    if (levels[0].team) {
        omp_set_dynamic(0);
        omp_set_max_active_levels((int)(sizeof levels / sizeof *levels));
    }
    level_enter(levels, go_on);
}
