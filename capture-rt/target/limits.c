/* capture-rt/target/limits.c - programs that limit their own addresses or data (setrlimit) before they allocate.
 *
 * The library's addresses count as theirs there. So such a limit is set by as much higher, as far as the hard limit lets it, and the program reads the one that it set. Processes that it
 * starts by exec have the higher one. Limits by a system call of the program's own are not seen here.
 */
#include "capture-rt/target/target.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef struct rlimit limit;

#define USABLE_LATER ((rlim_t)64 << 20)         /* of the library's addresses, what may become memory after the limit was set */

/* What was added to the limits that this process set; 0: it set none. */
static struct raised { rlim_t soft, hard; } raised[2];

static struct raised *raised_of(pid_t process, int resource)
{
    bool own = process == 0 || process == getpid();
    return own && resource == RLIMIT_AS ? &raised[0] : own && resource == RLIMIT_DATA ? &raised[1] : NULL;
}

static rlim_t higher(rlim_t wanted, rlim_t most, rlim_t by)
{
    rlim_t room = most - wanted;            /* wanted <= most */
    return wanted + (room < by ? room : by);
}

static int limit_change(pid_t process, int resource, const limit *new, limit *ret_old)
{
    return (int)syscall(SYS_prlimit64, process, resource, new, ret_old);
}

static int limit_pass(pid_t process, int resource, const limit *new, limit *ret_old)
{
    struct raised *by = raised_of(process, resource), before = by ? *by : (struct raised){0}, after = new ? (struct raised){0} : before;
    limit now, set;
    if (by && new && new->rlim_cur <= new->rlim_max && limit_change(process, resource, NULL, &now) == 0 && new->rlim_max <= now.rlim_max) {
        rlim_t own = resource == RLIMIT_AS ? target_reserved_bytes : target_usable_bytes + USABLE_LATER;
        set.rlim_max = higher(new->rlim_max, now.rlim_max, own);
        set.rlim_cur = higher(new->rlim_cur, set.rlim_max, own);
        after = (struct raised){set.rlim_cur - new->rlim_cur, set.rlim_max - new->rlim_max};
        new = &set;
    }
    int result = limit_change(process, resource, new, ret_old);
    if (result != 0)
        return result;
    if (ret_old && ret_old->rlim_cur != RLIM_INFINITY)
        ret_old->rlim_cur -= before.soft;
    if (ret_old && ret_old->rlim_max != RLIM_INFINITY)
        ret_old->rlim_max -= before.hard;
    if (by)
        *by = after;
    return 0;
}

#define LIMITS(suffix) \
    TARGET_EXPORT int setrlimit##suffix(__rlimit_resource_t resource, const struct rlimit##suffix *new) { return limit_pass(0, (int)resource, (const limit *)new, NULL); } \
    TARGET_EXPORT int getrlimit##suffix(__rlimit_resource_t resource, struct rlimit##suffix *ret_now) { return limit_pass(0, (int)resource, NULL, (limit *)ret_now); } \
    TARGET_EXPORT int prlimit##suffix(pid_t process, enum __rlimit_resource resource, const struct rlimit##suffix *new, struct rlimit##suffix *ret_old) \
    { \
        return limit_pass(process, (int)resource, (const limit *)new, (limit *)ret_old); \
    }
_Static_assert(sizeof(struct rlimit) == sizeof(struct rlimit64) && sizeof(rlim_t) == 8, "one kind of limits");
LIMITS()
LIMITS(64)
