/* replay-rt/target/standby.c - a process that begins before the launcher knows what it will replay, while the one before it prepares its region: it comes as far as all codelets of a program do,
 * and gets its files through a socket.
 */
#include "core/openmp_processors.h"
#include "replay-rt/target/codelet.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

int omp_get_max_threads(void);

enum { DESCRIPTORS_BEYOND = 10 };

static bool stands_by;

bool pcere_standby_was(void)
{
    return stands_by;
}

/* How many descriptors came; 0: the launcher needs no process more. `places`: where they belong. */
static size_t descriptors_receive(int *descriptors, int *places)
{
    union { struct cmsghdr header; char room[CMSG_SPACE(sizeof(int) * STANDBY_DESCRIPTORS)]; } control;
    struct iovec data = {places, sizeof *places * STANDBY_DESCRIPTORS};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t got;
    while ((got = recvmsg(STANDBY_CHANNEL, &message, 0)) < 0 && errno == EINTR)
        continue;
    const struct cmsghdr *header = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    size_t count = got > 0 ? (size_t)got / sizeof *places : 0;
    if (!header || header->cmsg_type != SCM_RIGHTS || header->cmsg_len != CMSG_LEN(sizeof(int) * count))
        return 0;
    memcpy(descriptors, CMSG_DATA(header), sizeof(int) * count);
    return count;
}

void pcere_standby_wait(char **arguments)
{
    int descriptors[STANDBY_DESCRIPTORS], places[STANDBY_DESCRIPTORS];
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || syscall(SYS_getppid) != atol(arguments[2]))
        _exit(0);
    if (strchr(arguments[3], STANDBY_PLACES_OURS))
        pcere_openmp_processors_free();
    pcere_processors_find();
    if (strchr(arguments[3], STANDBY_RUNTIME))
        omp_get_max_threads();
    close(STANDBY_READY);
    size_t count = descriptors_receive(descriptors, places);
    if (!count)
        _exit(0);
    close(STANDBY_CHANNEL);
    /* High numbers first: one may have come where another one belongs. */
    for (size_t i = 0; i < count; i++) {
        int raised = fcntl(descriptors[i], F_DUPFD_CLOEXEC, DESCRIPTORS_BEYOND);
        close(descriptors[i]);
        descriptors[i] = raised;
    }
    for (size_t i = 0; i < count; i++) {
        if (descriptors[i] < 0 || dup2(descriptors[i], places[i]) < 0)
            _exit(2);
        close(descriptors[i]);
    }
    stands_by = true;
}
