/* replay-rt/target/levels.c - the parallel regions around the captured one: entered as in the program, so that the region's own level, its
 * ancestors' numbers and their teams are what they were. One thread goes on inward; the others of each team wait.
 */
#include "replay-rt/target/codelet.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

int omp_get_thread_num(void);
int omp_get_num_threads(void);
void omp_set_dynamic(int dynamic);
void omp_set_max_active_levels(int levels);

struct entering {
    struct codelet *codelet;
    uint32_t level;
    void (*go_on)(void *context);
    void *context;
};

static _Noreturn void thread_wait(void)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    for (;;)
        pause();
}

static void level_enter(struct entering *entering);

static void level_run(void *context, uint32_t thread, uint32_t threads)
{
    struct entering inner = *(struct entering *)context;
    const struct plan_level *level = &inner.codelet->plan->levels[inner.level];
    if (threads != level->team && thread == 0)
        pcere_plan_end(inner.codelet, PLAN_FAILED, "the region lies in a team of %u threads, and the OpenMP runtime gives one of %u",
                       level->team, threads);
    if (thread != level->number || threads != level->team)
        thread_wait();
    if (thread)
        pcere_crash_watch_thread();
    inner.level++;
    level_enter(&inner);
}

static void level_enter(struct entering *entering)
{
    const struct replay_plan *plan = entering->codelet->plan;
    if (entering->level < plan->level_count)
        pcere_team_run_of(plan->levels[entering->level].team, level_run, entering);
    else
        entering->go_on(entering->context);
}

void pcere_levels_enter(struct codelet *codelet, void (*go_on)(void *context), void *context)
{
    struct entering entering = {.codelet = codelet, .go_on = go_on, .context = context};
    pcere_league_enter(codelet);
    if (codelet->plan->level_count) {
        omp_set_dynamic(0);
        omp_set_max_active_levels(PLAN_LEVELS_MAX + 1);
    }
    level_enter(&entering);
}
