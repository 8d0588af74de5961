/* replay-rt/target/guard.c - a region that is replayed changes nothing outside its process, and never gets wrong input without a word.
 *
 * A filter (seccomp) stops the few system calls that could; all others, and all that can be decided without a look at memory, pass at
 * full speed. Stopped calls arrive as SIGSYS:
 *
 *   open, openat, creat        for writing: a copy in memory, under the file's name; for reading: that copy, if there is one; else the file, which has not changed since the region read it
 *   unlink                     of such a copy, or of a file: from now on it is not there
 *   read .. of what is lost    the end, with the reason
 *   rename, mkdir, ..          the end, with the reason: what they would change is the user's
 *   fork, exec, connect, ..    likewise
 */
#include "replay-rt/target/codelet.h"
#include "replay-rt/target/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, COPIES = 256, LOST_MOST = 800, FILTER_MOST = 4096 };

struct copy { char *path; int file; bool gone; };    /* file -1: there is none, the name is known to be gone */

static struct {
    struct codelet *codelet;
    struct lost_descriptor *lost;
    size_t lost_count;
    struct copy copies[COPIES];
    size_t copy_count;
    char names[COPIES][PATH_BYTES];
    char missing[PATH_BYTES];             /* the first file that was to be opened, and is not there */
    bool opened;                          /* another one was, for reading */
    atomic_flag busy;
} guard = {.busy = ATOMIC_FLAG_INIT};

/* ---- which are stopped ----------------------------------------------------------------------------------------------------- */

static const uint16_t always[] = {
    MACHINE_CALLS_ALWAYS SYS_openat, SYS_openat2, SYS_unlinkat, SYS_renameat, SYS_renameat2, SYS_mkdirat, SYS_linkat, SYS_symlinkat, SYS_mknodat,
    SYS_truncate, SYS_fchmodat, SYS_fchownat, SYS_utimensat, SYS_setxattr, SYS_lsetxattr, SYS_removexattr, SYS_execve, SYS_execveat, SYS_connect,
    SYS_bind, SYS_kill, SYS_tkill, SYS_pidfd_send_signal, SYS_msgget, SYS_msgsnd, SYS_msgrcv, SYS_msgctl, SYS_semget, SYS_semop, SYS_semtimedop, SYS_semctl,
    SYS_shmget, SYS_shmctl, SYS_mq_open, SYS_mq_unlink, SYS_mq_timedsend, SYS_mq_timedreceive, SYS_mq_notify,
};
/* To whom their first argument says: this process may. Also where no signal could be taken (raise), so that the filter itself has to tell. */
static const uint16_t processes[] = {SYS_tgkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, SYS_process_vm_writev};
static const uint16_t reading[] = {
    MACHINE_CALLS_READING SYS_read, SYS_pread64, SYS_readv, SYS_preadv, SYS_preadv2, SYS_recvfrom, SYS_recvmsg, SYS_recvmmsg, SYS_dup, SYS_dup3,
    SYS_splice, SYS_tee, SYS_copy_file_range, SYS_getdents64,
};
static const uint16_t using[] = {
    MACHINE_CALLS_USING SYS_write, SYS_pwrite64, SYS_writev, SYS_pwritev, SYS_pwritev2, SYS_sendto, SYS_sendmsg, SYS_sendmmsg, SYS_sendfile,
    SYS_ioctl, SYS_accept, SYS_accept4, SYS_listen, SYS_shutdown, SYS_getsockname, SYS_getpeername, SYS_getsockopt, SYS_setsockopt,
    SYS_epoll_pwait, SYS_epoll_ctl, SYS_timerfd_settime, SYS_timerfd_gettime, SYS_vmsplice,
};

struct filter { struct sock_filter words[FILTER_MOST]; unsigned short count; };

static void add(struct filter *filter, uint16_t code, uint8_t yes, uint8_t no, uint32_t value)
{
    if (filter->count < FILTER_MOST)
        filter->words[filter->count] = (struct sock_filter){code, yes, no, value};
    filter->count++;
}

static void add_load(struct filter *filter, size_t offset) { add(filter, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offset); }
static void add_end(struct filter *filter, uint32_t value) { add(filter, BPF_RET | BPF_K, 0, 0, value); }

/* If the number is one of these, a jump that is aimed later. Returns where the jumps begin. */
static unsigned short add_numbers(struct filter *filter, const uint16_t *numbers, size_t count)
{
    unsigned short first = filter->count;
    for (size_t i = 0; i < count; i++) {
        add(filter, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, numbers[i]);
        add(filter, BPF_JMP | BPF_JA, 0, 0, 0);
    }
    return first;
}

static void aim(struct filter *filter, unsigned short first, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t jump = first + 2 * i + 1;
        filter->words[jump].k = (uint32_t)(filter->count - jump - 1);
    }
}

static void add_lost(struct filter *filter, bool whole)
{
    add_load(filter, offsetof(struct seccomp_data, args[0]));
    for (size_t i = 0; i < guard.lost_count; i++)
        if (guard.lost[i].whole || !whole) {
            add(filter, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, (uint32_t)guard.lost[i].number);
            add_end(filter, SECCOMP_RET_TRAP);
        }
    add_end(filter, SECCOMP_RET_ALLOW);
}

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* What only depends on the number is decided before anything else is loaded: the kernel remembers such answers. */
static void filter_make(struct filter *filter)
{
    uint64_t own = (uint64_t)pcere_guard_call_end;
    add_load(filter, offsetof(struct seccomp_data, arch));
    add(filter, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, MACHINE_AUDIT);
    add_end(filter, SECCOMP_RET_ALLOW);
    add_load(filter, offsetof(struct seccomp_data, nr));
    unsigned short from_always = add_numbers(filter, always, COUNT(always));
    unsigned short from_processes = add_numbers(filter, processes, COUNT(processes));
    unsigned short from_reading = add_numbers(filter, reading, guard.lost_count ? COUNT(reading) : 0);
    unsigned short from_using = add_numbers(filter, using, guard.lost_count ? COUNT(using) : 0);
    add(filter, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_clone3);
    add_end(filter, SECCOMP_RET_ERRNO | ENOSYS);          /* its flags lie in memory; the C library goes on with clone */
    add(filter, BPF_JMP | BPF_JEQ | BPF_K, 0, 4, SYS_clone);
    add_load(filter, offsetof(struct seccomp_data, args[0]));
    add(filter, BPF_JMP | BPF_JSET | BPF_K, 1, 0, CLONE_THREAD);
    add_end(filter, SECCOMP_RET_TRAP);
    add_end(filter, SECCOMP_RET_ALLOW);
    add_end(filter, SECCOMP_RET_ALLOW);
    aim(filter, from_always, COUNT(always));
    add_load(filter, offsetof(struct seccomp_data, instruction_pointer));
    add(filter, BPF_JMP | BPF_JEQ | BPF_K, 0, 3, (uint32_t)own);
    add_load(filter, offsetof(struct seccomp_data, instruction_pointer) + 4);
    add(filter, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, (uint32_t)(own >> 32));
    add_end(filter, SECCOMP_RET_ALLOW);
    add_end(filter, SECCOMP_RET_TRAP);
    aim(filter, from_processes, COUNT(processes));
    add_load(filter, offsetof(struct seccomp_data, args[0]));
    add(filter, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, (uint32_t)syscall(SYS_getpid));
    add_end(filter, SECCOMP_RET_ALLOW);
    add_end(filter, SECCOMP_RET_TRAP);
    aim(filter, from_reading, guard.lost_count ? COUNT(reading) : 0);
    add_lost(filter, false);
    aim(filter, from_using, guard.lost_count ? COUNT(using) : 0);
    add_lost(filter, true);
}

void pcere_guard_begin(struct codelet *codelet, const struct lost_descriptor *lost, size_t lost_count)
{
    static struct filter filter;
    guard.codelet = codelet;
    guard.lost_count = lost_count < LOST_MOST ? lost_count : LOST_MOST;
    guard.lost = calloc(guard.lost_count + 1, sizeof *guard.lost);
    if (!guard.lost)
        pcere_plan_end(codelet, PLAN_FAILED, "no memory for the list of open files");
    memcpy(guard.lost, lost, guard.lost_count * sizeof *lost);
    for (size_t i = 0; i < COPIES; i++)
        guard.copies[i] = (struct copy){.path = guard.names[i], .file = -1};
    filter_make(&filter);
    const struct sock_fprog program = {.len = filter.count, .filter = filter.words};
    bool set = filter.count <= FILTER_MOST && !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
               && !syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program);
    if (!set && codelet->plan->does_io)
        pcere_plan_end(codelet, PLAN_UNREPEATABLE,
                       "it reads or writes files, and this kernel does not let them be guarded (seccomp: %s)", strerror(errno));
}

void pcere_guard_restore(void)
{
    for (size_t i = 0; i < guard.copy_count; i++) {
        if (guard.copies[i].file >= 0)
            close(guard.copies[i].file);
        guard.copies[i].file = -1;
        guard.copies[i].gone = false;
    }
    guard.copy_count = 0;
    guard.missing[0] = '\0';
    guard.opened = false;
}

bool pcere_guard_missed(void)
{
    return guard.codelet && guard.codelet->plan->does_io && guard.missing[0];
}

_Noreturn void pcere_guard_missed_end(void)
{
    pcere_plan_end(guard.codelet, PLAN_UNREPEATABLE, "it opens '%.150s', which is not there", guard.missing);
}

/* Was anything put into the folder in which it would be, or taken from there, since the region had ended? Else the program did not have it, either. Of folders that are not there, the
 * one around them. In the tick in which it ended is since. */
static bool may_have_been(const char *path)
{
    char folder[PATH_BYTES];
    struct stat status;
    int failed;
    strcpy(folder, path);
    do {
        char *slash = strrchr(folder, '/');
        slash[slash == folder] = '\0';
        failed = fstatat(AT_FDCWD, folder, &status, 0);
    } while (failed && folder[1]);
    return failed || (uint64_t)status.st_ctim.tv_sec * 1000000000u + (uint64_t)status.st_ctim.tv_nsec >= guard.codelet->plan->ended_ns;
}

void pcere_guard_judge(void)
{
    if (!pcere_guard_missed() || !may_have_been(guard.missing))
        return;
    if (guard.codelet->plan->reads_opened && !guard.opened)
        pcere_plan_end(guard.codelet, PLAN_UNREPEATABLE, "it opens '%.150s', " PLAN_GONE, guard.missing);
    snprintf(guard.codelet->plan->result.missing, sizeof guard.codelet->plan->result.missing, "%.150s", guard.missing);
}

/* ---- copies of files --------------------------------------------------------------------------------------------------------- */

static bool append(char *path, size_t *length, const char *part, size_t bytes)
{
    if (*length + bytes + 2 > PATH_BYTES)
        return false;
    path[(*length)++] = '/';
    memcpy(path + *length, part, bytes);
    *length += bytes;
    path[*length] = '\0';
    return true;
}

/* The name without ".", ".." and double slashes, from the root; symbolic links count as what they are called. */
static bool path_resolve(long folder, const char *name, char path[PATH_BYTES])
{
    char start[PATH_BYTES];
    long bytes = 0;
    size_t length = 0;
    if (name[0] != '/') {
        char link[40];
        if ((int)folder == AT_FDCWD)
            strcpy(link, "/proc/self/cwd");
        else
            snprintf(link, sizeof link, "/proc/self/fd/%d", (int)folder);
        bytes = pcere_guard_call(SYS_readlinkat, AT_FDCWD, (long)link, (long)start, sizeof start - 1);
        if (bytes < 0)
            return false;
    }
    start[bytes] = '\0';
    path[0] = '\0';
    const char *parts[] = {start, name};
    for (size_t i = 0; i < 2; i++)
        for (const char *at = parts[i]; *at;) {
            size_t piece = strcspn(at, "/");
            if (piece == 2 && at[0] == '.' && at[1] == '.') {
                while (length && path[--length] != '/')
                    ;
                path[length] = '\0';
            } else if (piece && !(piece == 1 && at[0] == '.') && !append(path, &length, at, piece)) {
                return false;
            }
            at += piece + (at[piece] == '/');
        }
    if (!length)
        strcpy(path, "/");
    return true;
}

static struct copy *copy_find(const char *path)
{
    for (size_t i = 0; i < guard.copy_count; i++)
        if (!strcmp(guard.copies[i].path, path))
            return &guard.copies[i];
    return NULL;
}

static struct copy *copy_add(const char *path)
{
    struct copy *copy = copy_find(path);
    if (copy)
        return copy;
    if (guard.copy_count == COPIES)
        pcere_plan_end(guard.codelet, PLAN_UNREPEATABLE, "it opens more than %d files for writing", COPIES);
    copy = &guard.copies[guard.copy_count++];
    strcpy(copy->path, path);
    return copy;
}

static int memory_file(void)
{
    long file = pcere_guard_call(SYS_memfd_create, (long)"pcere-copy", MFD_CLOEXEC, 0, 0);
    return file < 0 ? -1 : pcere_descriptor_raise((int)file);
}

static long copy_fill(int to, const char *path)
{
    static char block[1 << 16];
    long from = pcere_guard_call(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0), got = 0;
    while (from >= 0 && (got = pcere_guard_call(SYS_read, from, (long)block, sizeof block, 0)) > 0)
        if (pcere_guard_call(SYS_write, to, (long)block, got, 0) != got)
            got = -ENOSPC;
    if (from >= 0)
        close((int)from);
    return from < 0 ? from : got;
}

static long copy_open(const struct copy *copy, long flags)
{
    char link[40];
    snprintf(link, sizeof link, "/proc/self/fd/%d", copy->file);
    return pcere_guard_call(SYS_openat, AT_FDCWD, (long)link, flags & ~(long)(O_CREAT | O_EXCL | O_NOFOLLOW), 0);
}

static long copy_new(const char *path, bool filled)
{
    struct copy *copy = copy_add(path);
    copy->file = memory_file();
    copy->gone = false;
    long failure = copy->file < 0 ? -ENFILE : filled ? copy_fill(copy->file, path) : 0;
    if (failure < 0)
        copy->gone = true;
    return failure;
}

/* Of the folder that a new file would be in: may it be written? */
static long parent_check(const char *path)
{
    char parent[PATH_BYTES];
    strcpy(parent, path);
    char *slash = strrchr(parent, '/');
    slash[slash == parent] = '\0';
    return pcere_guard_call(SYS_faccessat, AT_FDCWD, (long)parent, W_OK, 0);
}

static long special_open(const char *path, const struct stat *status, long flags)
{
    static const char *const harmless[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"};
    for (size_t i = 0; i < COUNT(harmless); i++)
        if (!strcmp(path, harmless[i]))
            return pcere_guard_call(SYS_openat, AT_FDCWD, (long)path, flags, 0);
    if (S_ISCHR(status->st_mode) && (flags & O_ACCMODE) == O_WRONLY)
        return pcere_guard_call(SYS_openat, AT_FDCWD, (long)"/dev/null", flags & ~(long)O_EXCL, 0);
    pcere_plan_end(guard.codelet, PLAN_UNREPEATABLE, "it opens '%.150s' for writing, which is no regular file", path);
}

/* Of what the kernel makes up, times say nothing. */
static bool is_made_up(const char *path)
{
    static const char *const folders[] = {"/proc/", "/sys/", "/dev/"};
    for (size_t i = 0; i < COUNT(folders); i++)
        if (!strncmp(path, folders[i], strlen(folders[i])))
            return true;
    return false;
}

/* The file itself, if it can still be what the region read. */
static long file_read(long folder, const char *name, const char *path, long flags)
{
    struct stat status;
    const struct replay_plan *plan = guard.codelet->plan;
    long file = pcere_guard_call(SYS_openat, folder, (long)name, flags, 0);
    if (is_made_up(path))
        return file;
    if (file < 0 || !plan->ended_ns || pcere_guard_call(SYS_fstat, file, (long)&status, 0, 0) < 0 || !S_ISREG(status.st_mode))
        return file;
    if ((uint64_t)status.st_mtim.tv_sec * 1000000000u + (uint64_t)status.st_mtim.tv_nsec > plan->ended_ns)
        pcere_plan_end(guard.codelet, PLAN_UNREPEATABLE, "it reads from '%.150s', " PLAN_CHANGED, path);
    return file;
}

/* For writing, or making it. */
static long file_write(const char *path, long flags)
{
    struct stat status;
    struct copy *copy = copy_find(path);
    if ((flags & O_TMPFILE) == O_TMPFILE) {
        struct copy unnamed = {.file = memory_file()};
        long file = unnamed.file < 0 ? -ENFILE : copy_open(&unnamed, flags & ~(long)O_TMPFILE);
        if (unnamed.file >= 0)
            close(unnamed.file);
        return file;
    }
    bool exclusive = (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);
    if (copy && !copy->gone)
        return exclusive ? -EEXIST : copy_open(copy, flags);
    bool there = !copy && !pcere_guard_call(SYS_newfstatat, AT_FDCWD, (long)path, (long)&status, 0);
    long failure = 0;
    if (there && exclusive)
        return -EEXIST;
    if (there && S_ISDIR(status.st_mode))
        return -EISDIR;
    if (there && !S_ISREG(status.st_mode))
        return special_open(path, &status, flags);
    if (!there && !(flags & O_CREAT))
        return -ENOENT;
    failure = there ? pcere_guard_call(SYS_faccessat, AT_FDCWD, (long)path, W_OK, 0) : copy ? 0 : parent_check(path);
    if (failure >= 0)
        failure = copy_new(path, there && !(flags & O_TRUNC));
    return failure < 0 ? failure : copy_open(copy_find(path), flags);
}

static long file_open(long folder, const char *name, long flags, long mode)
{
    static char path[PATH_BYTES];
    bool writes = (flags & O_ACCMODE) != O_RDONLY || flags & (O_CREAT | O_TRUNC);
    if (flags & O_PATH || !name || (!writes && !guard.copy_count && !guard.codelet->plan->does_io))
        return pcere_guard_call(SYS_openat, folder, (long)name, flags, mode);
    if (!path_resolve(folder, name, path))
        return writes ? -ENOENT : pcere_guard_call(SYS_openat, folder, (long)name, flags, mode);
    const struct copy *copy = copy_find(path);
    long file = writes ? file_write(path, flags) : !copy ? file_read(folder, name, path, flags) : copy->gone ? -ENOENT : copy_open(copy, flags);
    guard.opened |= file >= 0 && (flags & O_ACCMODE) != O_WRONLY;
    copy = copy_find(path);
    if (file == -ENOENT && !(copy && copy->gone) && !is_made_up(path) && !guard.missing[0])
        strcpy(guard.missing, path);
    return file;
}

static long file_unlink(long folder, const char *name)
{
    static char path[PATH_BYTES];
    struct stat status;
    if (!path_resolve(folder, name, path))
        return -ENOENT;
    struct copy *copy = copy_find(path);
    if (!copy) {
        long failure = pcere_guard_call(SYS_newfstatat, AT_FDCWD, (long)path, (long)&status, AT_SYMLINK_NOFOLLOW);
        if (failure >= 0 && S_ISDIR(status.st_mode))
            failure = -EISDIR;
        if (failure >= 0)
            failure = parent_check(path);
        if (failure < 0)
            return failure;
        copy = copy_add(path);
    } else if (copy->gone) {
        return -ENOENT;
    }
    if (copy->file >= 0)
        close(copy->file);
    copy->file = -1;
    copy->gone = true;
    return 0;
}

/* ---- calls that were stopped ------------------------------------------------------------------------------------------------- */

static _Noreturn void lost_end(int number)
{
    for (size_t i = 0; i < guard.lost_count; i++)
        if (guard.lost[i].number == number)
            pcere_plan_end(guard.codelet, PLAN_UNREPEATABLE, "it %s %s", guard.lost[i].whole ? "uses" : "reads from", guard.lost[i].what);
    pcere_plan_end(guard.codelet, PLAN_UNREPEATABLE, "it uses descriptor %d", number);
}

static _Noreturn void change_end(long number)
{
    switch (number) {
    case SYS_clone: case SYS_execve: case SYS_execveat:
        pcere_plan_end(guard.codelet, PLAN_UNREPEATABLE, "it starts another process");
    case SYS_connect: case SYS_bind:
        pcere_plan_end(guard.codelet, PLAN_UNREPEATABLE, "it opens a connection");
    case SYS_renameat: case SYS_renameat2:
        pcere_plan_end(guard.codelet, PLAN_UNREPEATABLE, "it renames a file");
    case SYS_tkill: case SYS_pidfd_send_signal: case SYS_tgkill: case SYS_rt_sigqueueinfo: case SYS_rt_tgsigqueueinfo:
        pcere_plan_end(guard.codelet, PLAN_UNREPEATABLE, "it sends a signal to another process");
    case SYS_process_vm_writev:
        pcere_plan_end(guard.codelet, PLAN_UNREPEATABLE, "it writes to another process");
    case SYS_msgget: case SYS_msgsnd: case SYS_msgrcv: case SYS_msgctl: case SYS_mq_open: case SYS_mq_unlink: case SYS_mq_timedsend: case SYS_mq_timedreceive:
    case SYS_mq_notify:
        pcere_plan_end(guard.codelet, PLAN_UNREPEATABLE, "it uses a message queue, which other processes have as well");
    case SYS_semget: case SYS_semop: case SYS_semtimedop: case SYS_semctl:
        pcere_plan_end(guard.codelet, PLAN_UNREPEATABLE, "it uses semaphores of System V, which other processes have as well");
    case SYS_shmget: case SYS_shmctl:
        pcere_plan_end(guard.codelet, PLAN_UNREPEATABLE, "it makes or removes shared memory of System V");
    default:
        pcere_plan_end(guard.codelet, PLAN_UNREPEATABLE, "it changes folders or attributes of files (system call %ld)", number);
    }
}

static long call_serve(long number, long words[4])
{
    const long called = number;
    machine_old_call(&number, words);
    switch (number) {
    case SYS_openat: return file_open(words[0], (const char *)words[1], words[2], words[3]);
    case SYS_openat2: return -ENOSYS;
    case SYS_kill:
        if (words[0] == getpid())
            return pcere_guard_call(number, words[0], words[1], 0, 0);
        pcere_plan_end(guard.codelet, PLAN_UNREPEATABLE, "it sends a signal to another process");
    case SYS_unlinkat:
        if (!(words[2] & AT_REMOVEDIR))
            return file_unlink(words[0], (const char *)words[1]);
        change_end(number);
    default:
        for (size_t i = 0; i < COUNT(always); i++)
            if (always[i] == called)
                change_end(number);
        for (size_t i = 0; i < COUNT(processes); i++)
            if (processes[i] == called)
                change_end(number);
        if (number == SYS_clone)
            change_end(number);
        lost_end((int)words[0]);
    }
}

bool pcere_guard_serve(void *siginfo, void *context)
{
    const siginfo_t *info = siginfo;
    long words[4];
    if (info->si_code != 1 /* SYS_SECCOMP */ || !guard.codelet)
        return false;
    machine_call_words(context, words);
    int error = errno;
    while (atomic_flag_test_and_set(&guard.busy))
        sched_yield();
    machine_call_answer(context, call_serve(info->si_syscall, words));
    atomic_flag_clear(&guard.busy);
    errno = error;
    return true;
}
