/* replay-rt/target/asks.c - what the region asks the system that has another answer each time: the time, its process's number, chance, what descriptors
 * are ready, the place where it is.
 *
 * Memory that depends on such an answer cannot be the same again, and verification says so. The calls are passed on; weak, since a program
 * may have functions of these names. What the OpenMP runtime asks for itself is not the region's.
 */
#include "replay-rt/target/codelet.h"

#include <dirent.h>
#include <dlfcn.h>
#include <poll.h>
#include <stdarg.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/types.h>
#include <time.h>

static _Atomic uint64_t *asked;                   /* NULL: nobody wants to know */

void pcere_asks_watch(_Atomic uint64_t *ret_asked)
{
    asked = ret_asked;
}

static void note(enum plan_ask what, const void *caller)
{
    if (asked && !pcere_runtime_holds(caller))
        atomic_fetch_or(asked, UINT64_C(1) << what);
}

#define WEAK __attribute__((weak, visibility("default")))
#define FORWARD(name, what, result, parameters, arguments)              \
    static result(*next_##name) parameters;                             \
    __attribute__((constructor)) static void find_##name(void)          \
    {                                                                   \
        void *symbol = dlsym(RTLD_NEXT, #name);                         \
        memcpy(&next_##name, &symbol, sizeof symbol);                   \
    }                                                                   \
    WEAK result name parameters                                         \
    {                                                                   \
        if (!next_##name)                                               \
            find_##name();                                              \
        note(what, __builtin_return_address(0));                        \
        return next_##name arguments;                                   \
    }

double omp_get_wtime(void);
pid_t getpid(void), getppid(void), gettid(void);
ssize_t getrandom(void *buffer, size_t bytes, unsigned flags);
int getentropy(void *buffer, size_t bytes);
uint32_t arc4random(void), arc4random_uniform(uint32_t bound);

FORWARD(time, PLAN_ASK_TIME, time_t, (time_t *ret_time), (ret_time))
FORWARD(clock_gettime, PLAN_ASK_CLOCK_GETTIME, int, (clockid_t clock, struct timespec *ret_time), (clock, ret_time))
FORWARD(gettimeofday, PLAN_ASK_GETTIMEOFDAY, int, (struct timeval *restrict ret_time, void *restrict zone), (ret_time, zone))
FORWARD(clock, PLAN_ASK_CLOCK, clock_t, (void), ())
FORWARD(times, PLAN_ASK_TIMES, clock_t, (struct tms *ret_times), (ret_times))
FORWARD(getrusage, PLAN_ASK_GETRUSAGE, int, (__rusage_who_t who, struct rusage *ret_usage), (who, ret_usage))
FORWARD(omp_get_wtime, PLAN_ASK_OMP_GET_WTIME, double, (void), ())
FORWARD(getpid, PLAN_ASK_GETPID, pid_t, (void), ())
FORWARD(getppid, PLAN_ASK_GETPPID, pid_t, (void), ())
FORWARD(gettid, PLAN_ASK_GETTID, pid_t, (void), ())
FORWARD(getrandom, PLAN_ASK_GETRANDOM, ssize_t, (void *buffer, size_t bytes, unsigned flags), (buffer, bytes, flags))
FORWARD(getentropy, PLAN_ASK_GETENTROPY, int, (void *buffer, size_t bytes), (buffer, bytes))
FORWARD(arc4random, PLAN_ASK_ARC4RANDOM, uint32_t, (void), ())
FORWARD(arc4random_uniform, PLAN_ASK_ARC4RANDOM, uint32_t, (uint32_t bound), (bound))
FORWARD(poll, PLAN_ASK_POLL, int, (struct pollfd *list, nfds_t count, int timeout), (list, count, timeout))
FORWARD(ppoll, PLAN_ASK_PPOLL, int, (struct pollfd *list, nfds_t count, const struct timespec *timeout, const sigset_t *mask), (list, count, timeout, mask))
FORWARD(select, PLAN_ASK_SELECT, int, (int count, fd_set *restrict reads, fd_set *restrict writes, fd_set *restrict excepts, struct timeval *restrict timeout),
        (count, reads, writes, excepts, timeout))
FORWARD(pselect, PLAN_ASK_PSELECT, int, (int count, fd_set *restrict reads, fd_set *restrict writes, fd_set *restrict excepts,
        const struct timespec *restrict timeout, const sigset_t *restrict mask), (count, reads, writes, excepts, timeout, mask))
FORWARD(epoll_wait, PLAN_ASK_EPOLL_WAIT, int, (int descriptor, struct epoll_event *events, int most, int timeout), (descriptor, events, most, timeout))
FORWARD(readdir, PLAN_ASK_READDIR, struct dirent *, (DIR *directory), (directory))
FORWARD(readdir64, PLAN_ASK_READDIR, struct dirent64 *, (DIR *directory), (directory))

static int (*next_ioctl)(int descriptor, unsigned long request, ...);
__attribute__((constructor)) static void find_ioctl(void)
{
    void *symbol = dlsym(RTLD_NEXT, "ioctl");
    memcpy(&next_ioctl, &symbol, sizeof symbol);
}
WEAK int ioctl(int descriptor, unsigned long request, ...)
{
    va_list rest;
    va_start(rest, request);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    if (!next_ioctl)
        find_ioctl();
    note(PLAN_ASK_IOCTL, __builtin_return_address(0));
    return next_ioctl(descriptor, request, argument);
}

#ifdef __x86_64__
/* These save their caller's place, so no function may stand between: they are noted, and jumped to with all that they were called with. */
static const struct { const char *name; enum plan_ask what; } places[] = {
    {"getcontext", PLAN_ASK_GETCONTEXT}, {"makecontext", PLAN_ASK_MAKECONTEXT}, {"swapcontext", PLAN_ASK_SWAPCONTEXT},
    {"setjmp", PLAN_ASK_SETJMP}, {"_setjmp", PLAN_ASK_SETJMP}, {"__sigsetjmp", PLAN_ASK_SETJMP},
};
static void *next_place[sizeof places / sizeof *places];

__attribute__((constructor)) static void places_find(void)
{
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        next_place[i] = dlsym(RTLD_NEXT, places[i].name);
}

void *pcere_asks_place(uint64_t number, const void *caller);
void *pcere_asks_place(uint64_t number, const void *caller)
{
    if (!next_place[number])
        places_find();
    note(places[number].what, caller);
    return next_place[number];
}

/* number: in `places` */
#define PLACE_JUMP(number, name)                                                                                                                         \
    ".weak " name "\n.type " name ", @function\n" name ":\n\tendbr64\n"                                                                                 \
    "\tpush %rdi\n\tpush %rsi\n\tpush %rdx\n\tpush %rcx\n\tpush %r8\n\tpush %r9\n\tpush %rax\n"                                                        \
    "\tmov $" number ", %edi\n\tmov 56(%rsp), %rsi\n\tcall pcere_asks_place\n\tmov %rax, %r11\n"                                                      \
    "\tpop %rax\n\tpop %r9\n\tpop %r8\n\tpop %rcx\n\tpop %rdx\n\tpop %rsi\n\tpop %rdi\n\tjmp *%r11\n.size " name ", . - " name "\n"
__asm__(".pushsection .text.pcere_asks_places, \"ax\", @progbits\n"
        PLACE_JUMP("0", "getcontext") PLACE_JUMP("1", "makecontext") PLACE_JUMP("2", "swapcontext") PLACE_JUMP("3", "setjmp")
        PLACE_JUMP("4", "_setjmp") PLACE_JUMP("5", "__sigsetjmp")
        ".popsection\n");
#endif
