/* without [CALL...] [--errno NAME] [--huge-pages] -- COMMAND [ARGUMENT...]: run a command in a process that may not use these system calls, as in
 * a container: a seccomp filter answers EPERM (or ENOSYS). --huge-pages: as if transparent huge pages were off. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_process_madvise
#define SYS_process_madvise 440
#endif

static const struct { const char *name; unsigned number; } calls[] = {
    {"ptrace", SYS_ptrace}, {"personality", SYS_personality}, {"userfaultfd", SYS_userfaultfd}, {"perf_event_open", SYS_perf_event_open},
    {"process_vm_readv", SYS_process_vm_readv}, {"pidfd_open", SYS_pidfd_open}, {"pidfd_getfd", SYS_pidfd_getfd}, {"seccomp", SYS_seccomp},
    {"memfd_create", SYS_memfd_create}, {"bpf", SYS_bpf}, {"kcmp", SYS_kcmp}, {"mbind", SYS_mbind}, {"get_mempolicy", SYS_get_mempolicy},
    {"set_mempolicy", SYS_set_mempolicy}, {"unshare", SYS_unshare}, {"process_madvise", SYS_process_madvise},
};
enum { CALLS = sizeof calls / sizeof *calls };

static int call_find(const char *name, unsigned *ret_number)
{
    for (int i = 0; i < CALLS; i++)
        if (!strcmp(calls[i].name, name)) {
            *ret_number = calls[i].number;
            return 1;
        }
    return 0;
}

int main(int count, char **words)
{
    struct sock_filter filter[2 * 64 + 2] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    unsigned short length = 1;
    unsigned answer = EPERM, number;
    int at = 1;
    for (; at < count && strcmp(words[at], "--"); at++) {
        if (!strcmp(words[at], "--huge-pages")) {
            if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0))
                return perror("without: huge pages"), 125;
        } else if (!strcmp(words[at], "--errno") && at + 1 < count) {
            answer = !strcmp(words[++at], "ENOSYS") ? ENOSYS : EPERM;
        } else if (length < 2 * 64 && call_find(words[at], &number)) {
            filter[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1);
            filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | answer);
        } else {
            fprintf(stderr, "without: '%s' is not known\n", words[at]);
            return 125;
        }
    }
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const struct sock_fprog program = {.len = length, .filter = filter};
    if (at + 1 >= count)
        return fprintf(stderr, "without: no command\n"), 125;
    if (length > 2 && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)))
        return perror("without: seccomp"), 125;
    execvp(words[at + 1], words + at + 1);
    return perror("without"), 126;
}
