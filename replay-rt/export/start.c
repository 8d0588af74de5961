/* start.c - a process that keeps out of the way of captured memory: its layout, a stack of its own, another try. And its end.
 */
#define _GNU_SOURCE
#include "codelet.h"

#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { STACK_BYTES = 8 << 20, ATTEMPTS_MOST = 20 };
static char **words;                                /* of the command line */
static void (*go_on)(void);

void call_on_stack(void (*function)(void), uint64_t stack)
{
    __asm__ volatile("movq %%rsp, %%rbx\n\t"
                     "movq %1, %%rsp\n\t"
                     "callq *%0\n\t"
                     "movq %%rbx, %%rsp"
                     : "+r"(function), "+r"(stack)
                     :
                     : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc");
}

/* Something of this process lies where captured memory must be: with other random addresses it will not. */
void process_again(const char *reason)
{
    const char *word = getenv("CODELET_ATTEMPT");
    char attempt[16];
    snprintf(attempt, sizeof attempt, "%d", word ? atoi(word) + 1 : 1);
    if (atoi(attempt) <= ATTEMPTS_MOST && !setenv("CODELET_ATTEMPT", attempt, 1))
        execv("/proc/self/exe", words);
    fprintf(stderr, "codelet: %s\n", reason);
    exit(2);
}

static char **copied(char **strings)
{
    size_t count = 0;
    while (strings[count])
        count++;
    char **copy = calloc(count + 1, sizeof *copy);
    for (size_t i = 0; i < count; i++)
        copy[i] = strdup(strings[i]);
    return copy;
}

static void work(void)
{
    team_wake();                                    /* starts the OpenMP runtime */
    if (!memory_map())
        process_again("captured addresses are taken in this process");
    team_enter(go_on);
}

/* The program may have registered for what its regions then ask of the kernel (userspace RCU does). */
static void barriers_register(void)
{
    syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0);
    syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
    syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
}

void process_start(char **arguments, void (*function)(void))
{
    go_on = function;
    barriers_register();
    words = copied(arguments);                      /* the captured stack may have to lie where this one is */
    environ = copied(environ);
    /* The captured process had its libraries at the top. With mappings from the bottom up this one keeps out of the way. */
    int layout = personality(0xffffffff);
    if (layout >= 0 && !(layout & ADDR_COMPAT_LAYOUT) && personality((unsigned long)layout | ADDR_COMPAT_LAYOUT) >= 0)
        process_again("cannot start with another address layout");
    out_open();
    char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    call_on_stack(work, (uint64_t)stack + STACK_BYTES - 64);
}

/* Other threads may still wait in regions around this one. */
void process_end(int status)
{
    fflush(out);
    _exit(status);
}
