/* replay-rt/target/own_calls.c - more of core/own_calls.c's, that a codelet's runtime calls. Here all of them get names of their own once they are compiled
 * (own_calls.names): what a codelet has of its program is linked with them. */
#include <fcntl.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

ssize_t write(int descriptor, const void *from, size_t bytes)
{
    return syscall(SYS_write, descriptor, from, bytes);
}

int close(int descriptor)
{
    return (int)syscall(SYS_close, descriptor);
}

int access(const char *path, int mode)
{
    return (int)syscall(SYS_faccessat, AT_FDCWD, path, mode);
}

int ftruncate(int descriptor, off_t bytes)
{
    return (int)syscall(SYS_ftruncate, descriptor, bytes);
}

int dup2(int descriptor, int as)
{
    return descriptor == as ? (int)syscall(SYS_fcntl, descriptor, F_GETFD) < 0 ? -1 : as : (int)syscall(SYS_dup3, descriptor, as, 0);
}

int dup3(int descriptor, int as, int flags)
{
    return (int)syscall(SYS_dup3, descriptor, as, flags);
}

ssize_t recvmsg(int descriptor, struct msghdr *message, int flags)
{
    return syscall(SYS_recvmsg, descriptor, message, flags);
}

int prctl(int option, ...)
{
    unsigned long words[4];
    va_list more;
    va_start(more, option);
    for (int i = 0; i < 4; i++)
        words[i] = va_arg(more, unsigned long);
    va_end(more);
    return (int)syscall(SYS_prctl, option, words[0], words[1], words[2], words[3]);
}
