/* cli/check_kernel.c - what the kernel permits: each probe tries the very call on a child or a scrap of memory of its own.
 */
#include "cli/check.h"

#include "capture-rt/tracer/tracking_cost.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* From newer kernel headers than some distributions carry. */
#ifndef UFFD_FEATURE_WP_UNPOPULATED
#define UFFD_FEATURE_WP_UNPOPULATED (1 << 13)
#endif
#ifndef UFFD_FEATURE_WP_ASYNC
#define UFFD_FEATURE_WP_ASYNC (1 << 15)
#endif
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
struct pagemap_scan {
    uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages, category_inverted, category_mask, category_anyof_mask, return_mask;
};
struct pagemap_region { uint64_t start, end, categories; };
#define PAGEMAP_SCAN_CALL _IOWR('f', 16, struct pagemap_scan)
#define PAGEMAP_PRESENT (1u << 3)

static const char secret[] = "what the child holds";
enum { PROBE_LIMIT_S = 10 };

/* A child that only waits; an alarm ends it, whatever happens to its parent. */
static pid_t child_start(void)
{
    pid_t child = fork();
    if (child == 0) {
        alarm(PROBE_LIMIT_S);
        for (;;)
            pause();
    }
    return child;
}

static void child_end(pid_t child)
{
    kill(child, SIGKILL);
    while (waitpid(child, NULL, __WALL) < 0 && errno == EINTR)
        continue;
}

static const char trace_hint[] =
    "allow tracing: sysctl kernel.yama.ptrace_scope=1 (or 0), or a container with --cap-add=SYS_PTRACE (and no seccomp filter on ptrace)";

static void probe_ptrace(struct check_result *result)
{
    pid_t child = child_start();
    if (child < 0) {
        check_bad(result, errno, "raise the limit of processes", "cannot start a child");
        return;
    }
    int status = 0;
    if (ptrace(PTRACE_SEIZE, child, NULL, NULL) != 0)
        check_bad(result, errno, trace_hint, "a child cannot be seized");
    else if (ptrace(PTRACE_INTERRUPT, child, NULL, NULL) != 0 || waitpid(child, &status, __WALL) != child || !WIFSTOPPED(status))
        check_bad(result, errno, trace_hint, "a seized child cannot be stopped");
    else
        check_good(result, "a child can be seized and stopped");
    child_end(child);
}

static void probe_proc_mem(struct check_result *result)
{
    pid_t child = child_start();
    char path[64], seen[sizeof secret] = "";
    snprintf(path, sizeof path, "/proc/%d/mem", (int)child);
    int status = 0, memory = -1;
    bool stopped = child > 0 && ptrace(PTRACE_SEIZE, child, NULL, NULL) == 0 && ptrace(PTRACE_INTERRUPT, child, NULL, NULL) == 0 &&
                   waitpid(child, &status, __WALL) == child;
    if (stopped)
        memory = open(path, O_RDONLY | O_CLOEXEC);
    if (!stopped)
        check_bad(result, errno, trace_hint, "no child could be stopped");
    else if (memory < 0)
        check_bad(result, errno, trace_hint, "cannot open %s", path);
    else if (pread(memory, seen, sizeof seen, (off_t)(uintptr_t)secret) != (ssize_t)sizeof seen || memcmp(seen, secret, sizeof seen) != 0)
        check_bad(result, errno, trace_hint, "cannot read %s", path);
    else
        check_good(result, "a stopped child's memory can be read");
    if (memory >= 0)
        close(memory);
    if (child > 0)
        child_end(child);
}

static void probe_process_vm_readv(struct check_result *result)
{
    pid_t child = child_start();
    char seen[sizeof secret] = "";
    struct iovec local = {seen, sizeof seen}, remote = {(void *)(uintptr_t)secret, sizeof secret};
    if (child < 0)
        check_bad(result, errno, "raise the limit of processes", "cannot start a child");
    else if (process_vm_readv(child, &local, 1, &remote, 1, 0) != (ssize_t)sizeof seen || memcmp(seen, secret, sizeof seen) != 0)
        check_bad(result, errno, "/proc/PID/mem is used instead", "cannot read a child's memory");
    else
        check_good(result, "a child's memory can be read without stopping it");
    if (child > 0)
        child_end(child);
}

static void probe_personality(struct check_result *result, unsigned long flag, const char *good, const char *hint)
{
    int pipe_ends[2];
    int failure = -1;
    if (pipe2(pipe_ends, O_CLOEXEC) != 0) {
        check_bad(result, errno, "", "cannot make a pipe");
        return;
    }
    pid_t child = fork();
    if (child == 0) {
        int current = personality(0xffffffff);
        int code = current < 0 || personality((unsigned long)current | flag) < 0 ? errno : 0;
        _exit(write(pipe_ends[1], &code, sizeof code) == sizeof code ? 0 : 1);
    }
    close(pipe_ends[1]);
    if (child < 0 || read(pipe_ends[0], &failure, sizeof failure) != (ssize_t)sizeof failure)
        failure = ECHILD;
    close(pipe_ends[0]);
    if (child > 0)
        waitpid(child, NULL, 0);
    if (failure)
        check_bad(result, failure, hint, "not permitted");
    else
        check_good(result, "%s", good);
}

static void probe_no_randomize(struct check_result *result)
{
    probe_personality(result, ADDR_NO_RANDOMIZE, "addresses can be the same in every run",
                      "captures work all the same; where personality() is permitted (Docker's default does), replays find their place at once");
}

static void probe_compat_layout(struct check_result *result)
{
    probe_personality(result, ADDR_COMPAT_LAYOUT, "libraries of a codelet can be kept off captured addresses",
                      "collisions are detected, and the codelet is started again");
}

static void probe_fixed_noreplace(struct check_result *result)
{
    size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    void *taken = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *again = mmap(taken, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (again == MAP_FAILED && errno == EEXIST)
        check_good(result, "a taken address range is refused");
    else
        check_bad(result, again == MAP_FAILED ? errno : 0, "a Linux kernel from 4.17 on is needed", "a taken address range is not noticed");
    if (again != MAP_FAILED && again != taken)
        munmap(again, bytes);
    munmap(taken, bytes);
}

static void probe_memfd(struct check_result *result)
{
    int descriptor = memfd_create("pcere-check", MFD_CLOEXEC);
    void *memory = descriptor >= 0 && ftruncate(descriptor, 4096) == 0 ?
                   mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0) : MAP_FAILED;
    if (memory == MAP_FAILED)
        check_bad(result, errno, "a Linux kernel from 3.17 on is needed", "no shared memory without a file");
    else
        check_good(result, "memory can be shared without a file");
    if (memory != MAP_FAILED)
        munmap(memory, 4096);
    if (descriptor >= 0)
        close(descriptor);
}

static void probe_pagemap_scan(struct check_result *result)
{
    size_t bytes = 4 * (size_t)sysconf(_SC_PAGESIZE);
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if (memory == MAP_FAILED || pagemap < 0) {
        check_bad(result, errno, "mount /proc", "cannot read /proc/self/pagemap");
    } else {
        memory[bytes / 4] = 1;
        struct pagemap_region region = {0};
        struct pagemap_scan scan = {.size = sizeof scan, .start = (uint64_t)(uintptr_t)memory, .end = (uint64_t)(uintptr_t)memory + bytes,
                                    .vec = (uint64_t)(uintptr_t)&region, .vec_len = 1, .category_mask = PAGEMAP_PRESENT,
                                    .return_mask = PAGEMAP_PRESENT};
        int found = ioctl(pagemap, PAGEMAP_SCAN_CALL, &scan);
        if (found == 1 && region.start == (uint64_t)(uintptr_t)memory + bytes / 4)
            check_good(result, "present pages are found at once");
        else
            check_bad(result, found < 0 ? errno : 0, "/proc/PID/pagemap is read page by page instead (Linux 6.7 has the faster call)",
                      "PAGEMAP_SCAN does not work");
    }
    if (pagemap >= 0)
        close(pagemap);
    if (memory != MAP_FAILED)
        munmap(memory, bytes);
}

static void userfaultfd_weigh(struct check_result *result)
{
    uint64_t fault_ns = tracking_fault_ns((uint64_t)sysconf(_SC_PAGESIZE));
    if (!fault_ns) {
        check_good(result, "written pages can be tracked by asynchronous write protection");
        return;
    }
    check_good(result, "written pages can be tracked by asynchronous write protection; the first write to one takes %.1f us%s", (double)fault_ns / 1e3,
               tracking_is_dear(fault_ns) ? ", so that captures read most of what is written again at each stop" : "");
}

static void probe_userfaultfd(struct check_result *result)
{
    static const char hint[] = "written pages are found by comparing instead (Linux 6.7 has the faster way)";
    int descriptor = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
    if (descriptor < 0) {
        check_bad(result, errno, hint, "userfaultfd is not permitted");
        return;
    }
    struct uffdio_api api = {.api = UFFD_API, .features = UFFD_FEATURE_WP_ASYNC | UFFD_FEATURE_WP_UNPOPULATED};
    if (ioctl(descriptor, UFFDIO_API, &api) != 0)
        check_bad(result, errno, hint, "no asynchronous write protection");
    else
        userfaultfd_weigh(result);
    close(descriptor);
}

static int perf_try(uint32_t type, uint64_t config)
{
    struct perf_event_attr attributes = {.type = type, .size = sizeof attributes, .config = config, .disabled = 1, .exclude_kernel = 1,
                                         .exclude_hv = 1};
    int descriptor = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (descriptor < 0)
        return errno;
    close(descriptor);
    return 0;
}

static void probe_perf(struct check_result *result)
{
    int hardware = perf_try(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
    int software = perf_try(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
    if (!hardware)
        check_good(result, "hardware and software events");
    else if (!software)
        check_bad(result, hardware, "times do not need it; virtual machines often have no counters", "software events only; hardware events");
    else
        check_bad(result, software, "times do not need it; sysctl kernel.perf_event_paranoid=1 permits it", "no events");
}

const struct check_probe check_kernel_probes[] = {
    {"ptrace", true, probe_ptrace},
    {"proc-mem", true, probe_proc_mem},
    {"process-vm-readv", false, probe_process_vm_readv},
    {"no-randomize", false, probe_no_randomize},
    {"compat-layout", false, probe_compat_layout},
    {"fixed-noreplace", true, probe_fixed_noreplace},
    {"memfd", true, probe_memfd},
    {"pagemap-scan", false, probe_pagemap_scan},
    {"userfaultfd", false, probe_userfaultfd},
    {"perf-events", false, probe_perf},
    {NULL, false, NULL},
};
