/* replay-rt/launcher/standby.c - its start, and the socket that files go through. */
#include "replay-rt/launcher/standby.h"

#include "replay-rt/launcher/command.h"
#include "replay-rt/launcher/replay_session.h"
#include "replay-rt/protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

_Static_assert(SPAWN_DESCRIPTORS <= STANDBY_DESCRIPTORS, "all go in one message");

enum { SETTLE_MS = 50 };

void standby_start(struct standby *standby, const struct standby_kind *kind, char *const *environment)
{
    int ends[2], ready[2];
    struct arguments own = {0};
    if (standby->child || standby->off)
        return;
    for (char *const *variable = environment; *variable; variable++)
        arguments_add(&own, *variable);
    if (own.failed || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) {
        arguments_done(&own);
        return;
    }
    if (pipe2(ready, O_CLOEXEC))
        ready[0] = ready[1] = -1;
    char parent[16], flags[4] = "";
    snprintf(parent, sizeof parent, "%d", (int)getpid());
    snprintf(flags, sizeof flags, "%.*s%.*s", kind->runtime, (char[]){STANDBY_RUNTIME, '\0'}, kind->places_ours, (char[]){STANDBY_PLACES_OURS, '\0'});
    char *arguments[] = {(char *)"codelet", (char *)"-", parent, flags, NULL};
    const struct spawn spawn = {.executable = kind->executable, .arguments = arguments, .environment = own.items, .diagnostics_fd = kind->diagnostics_fd,
                                .descriptors = {{ends[1], STANDBY_CHANNEL}, {ready[1], STANDBY_READY}}};
    bool started = spawn_process(&spawn, &standby->child) == 0;
    close(ends[1]);
    if (ready[1] >= 0)
        close(ready[1]);
    standby->ready = ready[0];
    if (started) {
        standby->channel = ends[0];
        standby->environment = own.items;
    } else {
        standby->child = 0;
        close(ends[0]);
        if (ready[0] >= 0)
            close(ready[0]);
        arguments_done(&own);
    }
}

void standby_settle(const struct standby *standby)
{
    struct pollfd said = {.fd = standby->ready, .events = POLLIN};
    if (standby->child && standby->ready >= 0)
        poll(&said, 1, SETTLE_MS);
}

static bool environments_agree(char *const *left, char *const *right)
{
    size_t i = 0;
    while (left[i] && right[i] && !strcmp(left[i], right[i]))
        i++;
    return !left[i] && !right[i];
}

static bool descriptors_send(int channel, const struct spawn_descriptor *descriptors)
{
    union { struct cmsghdr header; char room[CMSG_SPACE(sizeof(int) * STANDBY_DESCRIPTORS)]; } control;
    int sent[STANDBY_DESCRIPTORS], places[STANDBY_DESCRIPTORS];
    size_t count = 0;
    for (size_t i = 0; i < SPAWN_DESCRIPTORS; i++)
        if (descriptors[i].number && descriptors[i].fd >= 0) {
            sent[count] = descriptors[i].fd;
            places[count++] = descriptors[i].number;
        }
    struct iovec data = {places, sizeof *places * count};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_SPACE(sizeof *sent * count)};
    memset(&control, 0, sizeof control);
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    *header = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof *sent * count)};
    memcpy(CMSG_DATA(header), sent, sizeof *sent * count);
    ssize_t bytes;
    while ((bytes = sendmsg(channel, &message, MSG_NOSIGNAL)) < 0 && errno == EINTR)
        continue;
    return bytes == (ssize_t)data.iov_len;
}

static void standby_forget(struct standby *standby)
{
    close(standby->channel);
    if (standby->ready >= 0)
        close(standby->ready);
    environment_free(standby->environment);
    *standby = (struct standby){.off = standby->off};
}

pid_t standby_take(struct standby *standby, char *const *environment, const struct spawn_descriptor *descriptors)
{
    pid_t child = standby->child;
    if (!child || !environments_agree(standby->environment, environment))
        return 0;
    if (!descriptors_send(standby->channel, descriptors)) {
        standby_end(standby);
        return 0;
    }
    standby_forget(standby);
    return child;
}

void standby_end(struct standby *standby)
{
    if (!standby->child)
        return;
    pid_t child = standby->child;
    kill(child, SIGKILL);
    standby_forget(standby);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        continue;
    spawn_forget(child);
}
