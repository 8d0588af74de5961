/* replay-rt/target/main.c - where a codelet's process begins: `codelet PLAN PAGES`.
 *
 * Without address randomisation the captured stack lies where this process has its own. Then everything runs on a new thread, and the first one waits
 * in a loop that needs no stack, so that its stack can be given up.
 */
#include "core/openmp_object.h"
#include "core/openmp_processors.h"
#include "replay-rt/target/codelet.h"
#include "replay-rt/target/machine.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* C++ code of the program refers to it; start files of fixed addresses, which would define it, cannot be linked this high. */
extern void *__dso_handle;
__attribute__((weak, visibility("hidden"))) void *__dso_handle;

enum { THREAD_STACK_BYTES = 16 << 20, OWN_ROOM_BYTES = 4 << 20 };

static bool stack_find(uint64_t *ret_start, uint64_t *ret_end)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    if (!maps)
        return false;
    bool found = false;
    char line[512];
    while (!found && fgets(line, sizeof line, maps))
        if (strstr(line, "[stack]"))
            found = sscanf(line, "%lx-%lx", ret_start, ret_end) == 2;
    fclose(maps);
    return found;
}

/* Both stacks need room to grow; what lies below this one, the kernel's gap included, would stop it. */
static bool meets_captured(const struct codelet *codelet, uint64_t start, uint64_t end)
{
    const struct plan_mapping *mappings = PLAN_TABLE(codelet, mappings, struct plan_mapping);
    uint64_t low = start - OWN_ROOM_BYTES - STACK_GUARD_BYTES;
    for (uint64_t i = 0; i < codelet->plan->mappings.count; i++) {
        uint64_t room = mappings[i].flags & PLAN_MAPPING_GROWS ? plan_stack_limit() + STACK_GUARD_BYTES : 0;
        if (mappings[i].start - room < end && mappings[i].end > low)
            return true;
    }
    return false;
}

static volatile int first_thread_waits;

struct start { struct codelet *codelet; uint64_t stack_start, stack_end; };

static void *run_without_first_stack(void *context)
{
    struct start *start = context;
    while (!first_thread_waits)
        usleep(50);
    munmap((void *)start->stack_start, start->stack_end - start->stack_start);
    pcere_codelet_run(start->codelet);
}

static void leave_first_stack(struct codelet *codelet, char **argv, uint64_t stack_start, uint64_t stack_end)
{
    static struct start start;
    start = (struct start){codelet, stack_start, stack_end};
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all;
    if (pcere_standby_was())      /* this thread is the OpenMP runtime's first already */
        pcere_plan_end(codelet, PLAN_COLLIDED, "%s", "the first stack");
    if (!pcere_startup_keep(argv, stack_end))
        pcere_plan_end(codelet, PLAN_FAILED, "cannot keep the arguments and the environment");
    if (pthread_attr_init(&attributes) || pthread_attr_setstacksize(&attributes, THREAD_STACK_BYTES)
        || pthread_create(&thread, &attributes, run_without_first_stack, &start))
        pcere_plan_end(codelet, PLAN_FAILED, "cannot start a thread");
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    machine_wait(&first_thread_waits);
}

/* Whoever kills the launcher wants no codelet that goes on, perhaps for ever. The system call, since getppid is the codelet's to count. */
static bool end_with_parent(const struct codelet *codelet)
{
    uint32_t parent = codelet->plan->parent;
    return !parent || (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && (uint32_t)syscall(SYS_getppid) == parent);
}

/* The program may have registered for what its regions then ask of the kernel (userspace RCU does); a process of one thread does so in no time, and others notice nothing. */
static void barriers_register(void)
{
    static const int commands[] = {MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        syscall(SYS_membarrier, commands[i], 0, 0);
}

int main(int argc, char **argv)
{
    pcere_openmp_object_forget();
    barriers_register();
    static struct codelet codelet;
    char plan[32], pages[32], *files[] = {plan, pages};
    if (argc == 4 && !strcmp(argv[1], "-")) {
        pcere_standby_wait(argv);
        snprintf(plan, sizeof plan, "/proc/self/fd/%d", PLAN_DESCRIPTOR);
        snprintf(pages, sizeof pages, "/proc/self/fd/%d", PAGES_DESCRIPTOR);
    } else if (argc == 3) {
        memcpy(files, argv + 1, sizeof files);
    } else {
        return 2;
    }
    if (!pcere_plan_open(files[0], files[1], &codelet) || !end_with_parent(&codelet))
        return 2;
    pcere_startup_stacks(&codelet);
    if (!pcere_standby_was()) {
        if (codelet.plan->places_ours)
            pcere_openmp_processors_free();
        pcere_processors_find();
    }
    uint64_t start = 0, end = 0;
    pcere_plan_phase(&codelet, PLAN_PHASE_START);
    pcere_keys_make(&codelet);
    pcere_images_open(&codelet);
    if (codelet.plan->policy.task == PLAN_VERIFY)
        pcere_constants_open(&codelet);
    pcere_made_begin(&codelet);
    pcere_reclaim_begin(&codelet);
    pcere_overlay_prepare(&codelet);
    if (stack_find(&start, &end) && meets_captured(&codelet, start, end))
        leave_first_stack(&codelet, argv, start, end);
    pcere_codelet_run(&codelet);
}
