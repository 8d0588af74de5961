/* core/own_calls.c - what our libraries in the user's process ask of the kernel, by names that a program may give to functions of its own.
 *
 * A program with a function read(file, data, rows) runs well alone: the C library does not use that name inside. But its function stands
 * before the C library's for all that is loaded with it. These here are hidden: our calls lead to them, and nobody else's do.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int open(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    unsigned mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, unsigned) : 0;
    va_end(more);
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

ssize_t read(int descriptor, void *to, size_t bytes)
{
    return syscall(SYS_read, descriptor, to, bytes);
}

ssize_t pread(int descriptor, void *to, size_t bytes, off_t offset)
{
    return syscall(SYS_pread64, descriptor, to, bytes, offset);
}

ssize_t pwrite(int descriptor, const void *from, size_t bytes, off_t offset)
{
    return syscall(SYS_pwrite64, descriptor, from, bytes, offset);
}

off_t lseek(int descriptor, off_t offset, int whence)
{
    return syscall(SYS_lseek, descriptor, offset, whence);
}

/* The kernel's form is the C library's on these machines. */
int stat(const char *restrict path, struct stat *restrict ret)
{
    return (int)syscall(SYS_newfstatat, AT_FDCWD, path, ret, 0);
}

int fstat(int descriptor, struct stat *ret)
{
    return (int)syscall(SYS_newfstatat, descriptor, "", ret, AT_EMPTY_PATH);
}

ssize_t recv(int descriptor, void *to, size_t bytes, int flags)
{
    return syscall(SYS_recvfrom, descriptor, to, bytes, flags, NULL, NULL);
}

ssize_t sendmsg(int descriptor, const struct msghdr *message, int flags)
{
    return syscall(SYS_sendmsg, descriptor, message, flags);
}
