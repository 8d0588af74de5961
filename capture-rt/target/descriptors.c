/* capture-rt/target/descriptors.c - programs that close all descriptors they know nothing of, as daemons and servers do before they begin.
 *
 * The connection to the tracer is one of these. It stays, and the program is told what it would be told without a capture: nothing is open there. Closing by a
 * system call of the program's own is not seen here.
 */
#include "capture-rt/target/target.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/close_range.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef int close_call(int descriptor);
typedef int close_range_call(unsigned first, unsigned last, int flags);
typedef void closefrom_call(int least);

/* Looked up before main: close may be called by a handler, or between fork and exec, where nothing can be looked up. */
static close_call *next_close;
static close_range_call *next_close_range;
static closefrom_call *next_closefrom;

__attribute__((constructor)) static void resolve(void)
{
    void *close = dlsym(RTLD_NEXT, "close"), *close_range = dlsym(RTLD_NEXT, "close_range"), *closefrom = dlsym(RTLD_NEXT, "closefrom");
    memcpy(&next_close_range, &close_range, sizeof close_range);
    memcpy(&next_closefrom, &closefrom, sizeof closefrom);
    memcpy(&next_close, &close, sizeof close);
}

/* The connection's number, or -1: in a process that was forked off as well, where the state is wiped. */
static int kept(void)
{
    const struct target_state *state = target_state;
    return state->active ? state->socket : -1;
}

static int close_one(int descriptor)
{
    return next_close ? next_close(descriptor) : (int)syscall(SYS_close, descriptor);
}

static int close_some(unsigned first, unsigned last, int flags)
{
    return next_close_range ? next_close_range(first, last, flags) : (int)syscall(SYS_close_range, first, last, flags);
}

TARGET_EXPORT int close(int descriptor)
{
    if (__builtin_expect(descriptor >= 0 && descriptor == kept(), 0)) {
        errno = EBADF;
        return -1;
    }
    return close_one(descriptor);
}

TARGET_EXPORT int close_range(unsigned first, unsigned last, int flags)
{
    int own = kept();
    if (own < 0 || (unsigned)own < first || (unsigned)own > last || (unsigned)flags & CLOSE_RANGE_CLOEXEC)
        return close_some(first, last, flags);
    int below = (unsigned)own > first ? close_some(first, (unsigned)own - 1, flags) : 0;
    return below == 0 && (unsigned)own < last ? close_some((unsigned)own + 1, last, flags) : below;
}

TARGET_EXPORT void closefrom(int least)
{
    int own = kept(), first = least > 0 ? least : 0;
    if (own < first && next_closefrom)
        next_closefrom(least);
    else if (close_range((unsigned)first, ~0u, 0) != 0 && own >= first) {       /* Linux before 5.9 */
        for (int i = first; i < own; i++)
            close_one(i);
        if (next_closefrom)
            next_closefrom(own + 1);
    }
}
