#include "capture-rt/tracer/hold.h"

#include "core/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <time.h>

#define STILL_LOOKS_MOST 2000u    /* between which nobody in question had a processor: 10 s */
#define ROUND_NS 100000          /* the first one; later ones are longer, since a thread may have to wait for a processor */
#define ROUND_LONGEST_NS 5000000
#define CALM_LOOKS 2u            /* in which nobody had work: who was given some just before the first might have handed on a part of it, and be done */
#define IDLE_ROUNDS 6u           /* in which it ran: whoever waits for work, spinning, has looked for it by then */
#define STOPPING_NS 50000u
#define SAME_PLACE_BYTES 1024u   /* of stack, up or down */
#define SPIN_ROUNDS 20u          /* in which it ran, without leaving a function of the runtime: it waits at a barrier */

/* The C library's, the OpenMP runtime's and the capture's own code. */
static struct store_range *system_ranges(const struct capture_log *log, size_t *ret_count)
{
    uint32_t count = log->stop.range_count < CAPTURE_RANGES_MAX ? log->stop.range_count : CAPTURE_RANGES_MAX;
    struct store_range *ranges = calloc(count + 1, sizeof *ranges);
    *ret_count = 0;
    for (uint32_t i = 0; ranges && i < count; i++) {
        struct capture_range range = log->stop.ranges[i];
        if ((range.kind == CAPTURE_RANGE_SYSTEM || range.kind == CAPTURE_RANGE_OWN) && range.end > range.start)
            ranges[(*ret_count)++] = (struct store_range){range.start, range.end - range.start};
    }
    if (ranges && log->linked.text_low < log->linked.text_high)
        ranges[(*ret_count)++] = (struct store_range){log->image_bias + log->linked.text_low, log->linked.text_high - log->linked.text_low};
    return ranges;
}

static bool is_runtimes(const struct capture_log *log, uint64_t thread_pointer)
{
    uint64_t count = log->runtime_thread_count < CAPTURE_THREADS_MAX ? log->runtime_thread_count : CAPTURE_THREADS_MAX;
    for (uint64_t i = 0; i < count; i++)
        if (log->runtime_threads[i] == thread_pointer)
            return true;
    return false;
}

/* A system call that waits was broken off by our stop, and not by what it waits for: the kernel begins it again, or, of a few (sigtimedwait, epoll_wait), says EINTR. */
static bool is_asleep(const struct user_regs_struct *registers)
{
    int64_t result = (int64_t)registers->rax;
    return (int64_t)registers->orig_rax >= 0 && ((result <= -512 && result >= -516) || result == -EINTR);
}

/* Is it in the middle of something that others may wait for, in the C library's, the runtime's or our code? The runtime's locks let threads in by
 * turns: whoever stands in line keeps all behind it waiting, the one that we would let run among them. */
static bool is_midway(const struct user_regs_struct *registers, const struct store_range *system, size_t count)
{
    for (size_t i = 0; i < count && !is_asleep(registers); i++)
        if (registers->rip - system[i].address < system[i].bytes)
            return true;
    return false;
}

/* How often it has left its processor of its own will: our stop is once, and going to sleep another time. */
static uint64_t switches_so_far(pid_t pid, pid_t tid)
{
    char path[64], line[128];
    unsigned long long switches = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/status", (int)pid, (int)tid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file) && sscanf(line, "voluntary_ctxt_switches: %llu", &switches) != 1)
        ;
    if (file)
        fclose(file);
    return switches;
}

static uint64_t cpu_time_ns(pid_t pid, pid_t tid)
{
    char path[64];
    uint64_t ns = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", (int)pid, (int)tid);
    FILE *file = fopen(path, "re");
    if (file && fscanf(file, "%" SCNu64, &ns) != 1)
        ns = 0;
    if (file)
        fclose(file);
    return ns;
}

struct spin {                    /* a thread that may be waiting, spinning or asleep */
    pid_t tid;
    bool busy;                   /* it has frames of the program: it waits at a barrier, or for a lock */
    bool moved;                  /* it had a processor since the stop before */
    unsigned ran;                /* how often it had run since the stop before: other registers, or more CPU time than stopping takes */
    uint64_t cpu_ns;
    uint64_t switches;           /* at the last stop that found it asleep; 0: that was not the stop before */
    struct user_regs_struct registers;
};

struct look {
    struct child *child;
    const struct capture_log *log;
    struct callpath *callpath;
    const struct capture_message *message;
    struct freeze *freeze;
    uint64_t held_for;
    struct store_range *system;
    size_t system_count;
    bool alone;                  /* only the initial thread works, unless the program made threads */
    bool any;                    /* threads are to be held */
    bool moved;                  /* in this look somebody of whom nothing can be told had a processor before it, or is new */
    unsigned calm;               /* looks so far, since somebody was found at work, in which nobody had any */
    struct spin *spins;
    size_t spin_count, spin_capacity;
};

/* The thread's, brought up to date; made now if there is none. NULL: no memory. */
static struct spin *spin_see(struct look *look, pid_t tid, const struct user_regs_struct *registers)
{
    uint64_t now_ns = cpu_time_ns(look->child->pid, tid);
    for (size_t i = 0; i < look->spin_count; i++) {
        struct spin *spin = &look->spins[i];
        if (spin->tid != tid)
            continue;
        if (spin->registers.rsp - registers->rsp + SAME_PLACE_BYTES > 2 * SAME_PLACE_BYTES)
            spin->ran = 0;
        spin->moved = now_ns > spin->cpu_ns + STOPPING_NS || memcmp(&spin->registers, registers, sizeof *registers) != 0;
        spin->ran += spin->moved;
        spin->registers = *registers;
        spin->cpu_ns = now_ns;
        if (!is_asleep(registers))
            spin->switches = 0;
        return spin;
    }
    if (!array_reserve(&look->spins, &look->spin_capacity, look->spin_count + 1, sizeof *look->spins))
        return NULL;
    look->spins[look->spin_count] = (struct spin){.tid = tid, .registers = *registers, .cpu_ns = now_ns, .moved = true};
    return &look->spins[look->spin_count++];
}

/* Of those that are stopped and not held: true, and its registers. */
static bool is_free(const struct look *look, const struct freeze_thread *thread, struct user_regs_struct *ret_registers)
{
    return !thread->gone && !thread->held_for && thread->tid != (pid_t)look->message->tid &&
           ptrace(PTRACE_GETREGS, thread->tid, NULL, ret_registers) == 0;
}

static bool has_own_threads(const struct look *look)
{
    bool any = false;
    for (size_t i = 0; i < look->freeze->count && !any; i++) {
        struct user_regs_struct registers;
        any = is_free(look, &look->freeze->threads[i], &registers) && registers.fs_base && !is_runtimes(look->log, registers.fs_base);
    }
    return any;
}

/* Has it run that many times, in about the same place? */
static bool has_run(struct look *look, const struct freeze_thread *thread, const struct user_regs_struct *registers, bool busy)
{
    struct spin *spin = spin_see(look, thread->tid, registers);
    if (spin && spin->busy != busy) {
        spin->busy = busy;
        spin->ran = 0;
    }
    bool enough = !spin || spin->ran >= (busy ? SPIN_ROUNDS : IDLE_ROUNDS);
    look->moved |= !enough && spin->moved;
    return enough;
}

/* Did it go to sleep since the stop before? Where processors are scarce, a thread may not have run since: it stands in the system call that our first stop
 * broke off, whatever it was given meanwhile, and only when it begins that call again does the kernel see that it need not sleep. */
static bool sleeps_on(struct look *look, const struct freeze_thread *thread, const struct user_regs_struct *registers)
{
    struct spin *spin = spin_see(look, thread->tid, registers);
    uint64_t before = spin ? spin->switches : 0, now = switches_so_far(look->child->pid, thread->tid);
    if (spin)
        spin->switches = now;
    bool slept = before && now >= before + 2;
    look->moved |= !before;        /* it came here since; else it has not run, but to be stopped */
    return slept;
}

static bool waits_for_work(struct look *look, const struct freeze_thread *thread, const struct user_regs_struct *registers)
{
    if (is_asleep(registers))
        return sleeps_on(look, thread, registers);
    return has_run(look, thread, registers, false);
}

/* Mark what works on something of its own, as far as it can stand still where it is. True: all are marked that will have to be, and none of the others
 * was given work that it has not begun: they had time to begin since all that could give them some stand still. */
static bool threads_mark(struct look *look, bool last)
{
    bool idle = true, changing = false, waiting = false;
    look->moved = false;
    for (size_t i = 0; i < look->freeze->count; i++) {
        struct freeze_thread *thread = &look->freeze->threads[i];
        struct user_regs_struct registers;
        if (!is_free(look, thread, &registers))
            continue;
        bool runtimes = registers.fs_base == 0 || is_runtimes(look->log, registers.fs_base);
        if (runtimes && !callpath_leaves(look->callpath, thread->tid, look->system, look->system_count)) {
            idle &= waits_for_work(look, thread, &registers);
            waiting = true;
        }
        else if (!last && is_midway(&registers, look->system, look->system_count) && !has_run(look, thread, &registers, true))
            changing = true;
        else {
            thread->held_for = look->held_for;
            look->any = look->moved = changing = true;
        }
    }
    bool calm = idle && !changing;
    look->calm = calm ? look->calm + 1 : changing ? 0 : look->calm;
    for (size_t i = 0; (calm || changing) && i < look->spin_count; i++)
        if (!look->spins[i].busy)
            look->spins[i].ran = 0;
    return calm && (look->calm >= CALM_LOOKS || !waiting);
}

static enum pcere_status hold_choose(struct look *look, unsigned looks_most, bool *ret_calm, struct pcere_error *error)
{
    enum pcere_status status = freeze_all(look->child, (pid_t)look->message->tid, look->freeze, error);
    /* Workers of the initial thread have nothing to do outside its regions. */
    *ret_calm = status == PCERE_OK && look->alone && !has_own_threads(look);
    unsigned moved = 0, still = 0;
    while (status == PCERE_OK && !*ret_calm) {
        /* Whoever was in the middle of something all the time is held there. */
        *ret_calm = threads_mark(look, moved >= looks_most);
        moved += look->moved;
        still += !look->moved;
        if (*ret_calm || moved >= looks_most + looks_most / 3 || still >= STILL_LOOKS_MOST)
            break;
        long round_ns = ROUND_NS * (long)(moved + still);
        freeze_release(look->freeze);
        nanosleep(&(struct timespec){.tv_nsec = round_ns < ROUND_LONGEST_NS ? round_ns : ROUND_LONGEST_NS}, NULL);
        status = freeze_all(look->child, (pid_t)look->message->tid, look->freeze, error);
    }
    return status;
}

static void marks_remove(struct look *look)
{
    for (size_t i = 0; i < look->freeze->count; i++)
        if (look->freeze->threads[i].held_for == look->held_for)
            look->freeze->threads[i].held_for = 0;
}

static bool teams_are_single(const struct capture_stop *stop)
{
    bool single = stop->level_count <= CAPTURE_LEVELS_MAX;
    for (uint32_t i = 0; single && i < stop->level_count; i++)
        single = stop->levels[i].team == 1;
    return single;
}

enum pcere_status hold_freeze(struct child *child, const struct capture_log *log, struct callpath *callpath, const struct capture_message *message,
                              uint64_t held_for, unsigned looks_most, struct freeze *freeze, enum hold_found *ret_found, struct pcere_error *error)
{
    bool calm;
    struct look look = {.child = child, .log = log, .callpath = callpath, .message = message, .freeze = freeze, .held_for = held_for,
                        .alone = message->thread_pointer == log->initial_thread && log->stop.teams <= 1 && teams_are_single(&log->stop)};
    look.system = system_ranges(log, &look.system_count);
    if (!look.system)
        return pcere_fail_memory(error, "the ranges of libraries");
    enum pcere_status status = hold_choose(&look, looks_most, &calm, error);
    if (status != PCERE_OK)
        freeze_let_go(freeze, held_for);
    else if (!calm)
        marks_remove(&look);
    free(look.system);
    free(look.spins);
    *ret_found = !calm ? HOLD_RESTLESS : look.any ? HOLD_SOME : HOLD_NOBODY;
    return status;
}
