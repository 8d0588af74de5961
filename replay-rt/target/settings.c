/* replay-rt/target/settings.c - what the program had told libc and the OpenMP runtime before the region: environment, handlers, settings. */
#include "replay-rt/target/codelet.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

void omp_set_schedule(int kind, int chunk);
void omp_set_max_active_levels(int levels);
void omp_set_dynamic(int dynamic);
void omp_set_num_threads(int threads);

#define IGNORED 1u

/* A handler at its captured address leads to the rebuilt one, as every function does whose address is taken. */
static void handlers_install(const struct memory *memory)
{
    const struct replay_plan *plan = memory->codelet->plan;
    const struct plan_signal *signals = PLAN_TABLE(memory->codelet, signals, struct plan_signal);
    for (uint64_t i = 0; i < plan->signals.count; i++) {
        if (signals[i].handler != IGNORED && !pcere_memory_is_mapped(memory, signals[i].handler))
            continue;                   /* a library's */
        if (signals[i].number == SIGSYS)
            continue;                   /* the guard's */
        struct sigaction action = {.sa_flags = (int)(signals[i].flags & (SA_SIGINFO | SA_ONSTACK | SA_RESTART | SA_NODEFER | SA_RESETHAND))};
        void *handler = signals[i].handler == IGNORED ? NULL : (void *)signals[i].handler;
        if (handler)
            memcpy(&action.sa_handler, &handler, sizeof handler);
        else
            action.sa_handler = SIG_IGN;
        memcpy(&action.sa_mask, &signals[i].mask, sizeof signals[i].mask);
        sigaction((int)signals[i].number, &action, NULL);
    }
}

void pcere_settings_team(const struct codelet *codelet)
{
    const struct replay_plan *plan = codelet->plan;
    if (plan->max_active_levels > 0 || plan->dynamic >= 0)      /* none is a number, too, where the runtime was asked at all */
        omp_set_max_active_levels(plan->max_active_levels);
    if (plan->dynamic >= 0)
        omp_set_dynamic(plan->dynamic);
}

void pcere_settings_threads(uint32_t threads)
{
    omp_set_num_threads((int)threads);
}

void pcere_settings_apply(const struct memory *memory)
{
    const struct replay_plan *plan = memory->codelet->plan;
    if (plan->schedule_kind)
        omp_set_schedule(plan->schedule_kind, plan->schedule_chunk);
    if (plan->environment && pcere_memory_is_mapped(memory, plan->environment))
        environ = (char **)plan->environment;
    pcere_locale_apply(memory->codelet);
    handlers_install(memory);
}
