/* profiler/host/refusals.c - why the kernel refused to count an event, in words: every errno of perf_event_open(2). */
#include "profiler/host/events.h"

#include <errno.h>

const char *event_refusal(int errnum, const char **ret_hint)
{
    static const char none[] = "a virtual machine may have none; events of sw can be counted everywhere", fewer[] = "count fewer of them, in several runs, and 'pcere combine' them",
                      permit[] = "sysctl kernel.perf_event_paranoid=2, or less, permits it; in a container the seccomp profile must, too",
                      ours[] = "this is a mistake of PCERE's, or a kernel that is much older than it";
    static const struct { int errnum; const char *sentence, *hint; } known[] = {
        {EACCES, "that is not permitted", permit},
        {EPERM, "that is not permitted", permit},
        {ENOENT, "this processor does not have the event, or no counters at all", none},
        {EOPNOTSUPP, "the hardware does not have what the event needs", none},
        {ENODEV, "the hardware does not have what the event needs", none},
        {EINVAL, "the event cannot be counted together with those before it, or not in this way", fewer},
        {ENOSPC, "there are not enough breakpoint registers", fewer},
        {EBUSY, "another one has the counters for itself", "end other profilers, and the kernel's NMI watchdog (sysctl kernel.nmi_watchdog=0)"},
        {EMFILE, "the program has too many open files", "raise the limit (ulimit -n), or count fewer events: each takes one on each thread"},
        {ENOSYS, "this kernel was built without perf events", "events of sw come from the threads' resource usage there"},
        {EINTR, "another tool uses the kernel's tracing just then", "try again when it has ended"},
        {EOVERFLOW, "the kernel's tables of such events are full", "try again when other profilers have ended"},
        {ESRCH, "the thread had ended", "profile it again"},
        {E2BIG, "the kernel does not know some of what was asked for", ours},
        {EFAULT, "the request lay outside of memory", ours},
        {EBADF, "the group that it was to join is gone", ours},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].errnum == errnum) {
            *ret_hint = known[i].hint;
            return known[i].sentence;
        }
    *ret_hint = none;
    return "for a reason that is not known";
}
