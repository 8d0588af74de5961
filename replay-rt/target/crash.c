/* replay-rt/target/crash.c - what happens when the region crashes: it is recorded, a backtrace is printed, the process ends. And where a thread is that hangs.
 *
 * The only place of the runtime that prints. An alarm ends the process if even the backtrace fails.
 */
#include "replay-rt/target/codelet.h"
#include "replay-rt/target/machine.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#define UNW_LOCAL_ONLY
#include <libunwind.h>

enum { SIGNAL_STACK_BYTES = 1 << 16, FRAMES = 64, BACKTRACE_SECONDS = 5, NAME_BYTES = 160 };

int omp_get_thread_num(void);

static struct codelet *watched;
static const void *runtime_object, *library_object;   /* where the OpenMP runtime and the C library begin, or NULL */

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    size_t bytes = length < 0 ? 0 : (size_t)length < sizeof line ? (size_t)length : sizeof line - 1;
    if (write(pcere_messages, line, bytes) < 0)
        return;
}

static void backtrace_print(ucontext_t *context)
{
    unw_cursor_t cursor;
    if (unw_init_local2(&cursor, (unw_context_t *)context, UNW_INIT_SIGNAL_FRAME))
        return;
    for (int i = 0; i < FRAMES; i++) {
        char name[256];
        unw_word_t address = 0, offset = 0;
        unw_get_reg(&cursor, UNW_REG_IP, &address);
        if (unw_get_proc_name(&cursor, name, sizeof name, &offset) && !name[0])
            strcpy(name, "?");
        say("  #%-2d 0x%012llx %s+0x%llx\n", i, (unsigned long long)address, name, (unsigned long long)offset);
        if (unw_step(&cursor) <= 0)
            return;
    }
}

static const void *object_of(const void *address)
{
    Dl_info there;
    return address && dladdr(address, &there) ? there.dli_fbase : NULL;
}

/* Did the OpenMP runtime call abort? LLVM's does where it finds itself in a state that it holds for impossible. */
static bool is_runtimes_abort(int number, ucontext_t *context)
{
    unw_cursor_t cursor;
    const void *object = library_object;
    unw_word_t address = 0;
    if (number != SIGABRT || !runtime_object || runtime_object == object_of(&watched) || unw_init_local2(&cursor, (unw_context_t *)context, UNW_INIT_SIGNAL_FRAME))
        return false;
    for (int i = 0; i < FRAMES && object == library_object; i++) {
        unw_get_reg(&cursor, UNW_REG_IP, &address);
        object = object_of((const void *)address);
        if (unw_step(&cursor) <= 0)
            break;
    }
    return object == runtime_object;
}

/* An instruction that the processor does not have, and not one by which programs trap on purpose. */
static bool is_unknown_instruction(int number, const siginfo_t *info)
{
    const unsigned char *code = info->si_addr;
    return number == SIGILL && info->si_code > 0 && code && !machine_is_trap(code);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    if (number == SIGSYS && pcere_guard_serve(info, context))
        return;
    if (number == SIGBUS && pcere_ahead_serve((uint64_t)info->si_addr))
        return;
    if (number == SIGSEGV && pcere_ahead_waits((uint64_t)info->si_addr))
        return;
    bool strayed = number == SIGTRAP || number == SIGILL || (number == SIGSEGV && (uint64_t)info->si_addr == machine_instruction(context));
    if (strayed && pcere_externals_serve(number, context))
        return;
    if (number == SIGSEGV && info->si_code == SEGV_MAPERR && !strayed && pcere_externals_serve_data((uint64_t)info->si_addr))
        return;
    struct sigaction plain = {.sa_handler = SIG_DFL};
    sigaction(SIGALRM, &plain, NULL);
    alarm(BACKTRACE_SECONDS);
    struct replay_plan *plan = watched->plan;
    uint32_t before = atomic_exchange(&plan->result.state, PLAN_CRASHED);
    if (before == PLAN_CRASHED)
        for (;;)
            pause();                  /* another thread is at it */
    if (pcere_guard_missed())
        pcere_guard_missed_end();
    plan->result.signal = number;
    plan->result.runtime_aborted = is_runtimes_abort(number, context);
    plan->result.fault_address = number == SIGSEGV || number == SIGBUS ? (uint64_t)info->si_addr : 0;
    say("codelet %s: %s%s", pcere_plan_string(plan, plan->region), strsignal(number), plan->result.runtime_aborted ? " by the OpenMP runtime, which another process may be spared" : "");
    if (plan->result.fault_address)
        say(" at address 0x%llx", (unsigned long long)plan->result.fault_address);
    say("\n");
    backtrace_print(context);
    if (is_unknown_instruction(number, info))
        pcere_plan_end(watched, PLAN_REFUSED, "it uses an instruction that this processor does not have");
    _exit(1);
}

/* ---- where a thread is ------------------------------------------------------------------------------------------------------- */

static bool is_of_program(uint64_t address, const char *name)
{
    Dl_info own, there;
    if (pcere_heap_captured((const void *)address))
        return true;
    bool known = dladdr((void *)address, &there) && dladdr(&watched, &own);
    return known && (there.dli_fbase == own.dli_fbase ? strncmp(name, "pcere_", 6) != 0 : pcere_images_are_at(watched, there.dli_fbase));
}

/* The innermost function of the program, and what it called. False: the thread is in none. */
static bool place_find(ucontext_t *context, char called[static NAME_BYTES], char caller[static NAME_BYTES])
{
    unw_cursor_t cursor;
    called[0] = '\0';
    if (unw_init_local2(&cursor, (unw_context_t *)context, UNW_INIT_SIGNAL_FRAME))
        return false;
    for (int i = 0; i < FRAMES; i++) {
        unw_word_t address = 0, offset = 0;
        unw_get_reg(&cursor, UNW_REG_IP, &address);
        if (unw_get_proc_name(&cursor, caller, NAME_BYTES, &offset) && !caller[0])
            strcpy(caller, "a function without a name");
        if (is_of_program(address, caller))
            return true;
        memcpy(called, caller, NAME_BYTES);
        if (unw_step(&cursor) <= 0)
            return false;
    }
    return false;
}

/* The process is ended after this, so that locks which are taken here may be left as they are. */
static void on_ask(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    char called[NAME_BYTES] = "", caller[NAME_BYTES] = "";
    struct plan_result *result = &watched->plan->result;
    size_t length = strnlen(result->places, sizeof result->places), room = sizeof result->places - length;
    if (place_find(context, called, caller)) {
        if (called[0])
            snprintf(result->places + length, room, "%sthread %d in %s, called by %s", length ? "; " : "", omp_get_thread_num(), called, caller);
        else
            snprintf(result->places + length, room, "%sthread %d in %s itself", length ? "; " : "", omp_get_thread_num(), caller);
    }
    atomic_fetch_add(&result->told, 1);
}

void pcere_crash_watch_thread(void)
{
    stack_t stack = {.ss_sp = __libc_malloc(SIGNAL_STACK_BYTES), .ss_size = SIGNAL_STACK_BYTES};
    if (stack.ss_sp)
        sigaltstack(&stack, NULL);
}

void pcere_crash_watch(struct codelet *codelet)
{
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS};
    watched = codelet;
    runtime_object = object_of(dlsym(RTLD_NEXT, "__kmpc_fork_call"));
    library_object = object_of(dlsym(RTLD_NEXT, "abort"));
    pcere_crash_watch_thread();
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        sigaction(fatal[i], &action, NULL);
    action.sa_sigaction = on_ask;
    action.sa_flags |= SA_RESTART;
    sigaction(PLAN_TELL_SIGNAL, &action, NULL);
}
