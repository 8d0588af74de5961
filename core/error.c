#include "error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* What usually helps where the failing function knows nothing better. */
static const char *usual_hint(int errnum)
{
    switch (errnum) {
    case EMFILE: return "raise the limit of open files: ulimit -n 256";
    case ENFILE: return "close other programs: the system has no room for more open files";
    case ENOMEM: return "close other programs, or raise the limits: see 'ulimit -v', 'ulimit -d', vm.overcommit_memory and those of the container";
    case EAGAIN: return "raise the limits of processes, threads and memory: see 'ulimit -u', 'ulimit -v' and those of the container";
    case ENOSPC: case EDQUOT: return "free some space there, or choose another place";
    case EROFS: return "choose a directory that can be written";
    case EACCES: return "'ls -ld' tells who may: ask its owner, or choose another place";
    case ENAMETOOLONG: return "choose a place with a shorter path";
    case EFBIG: return "raise the limit of file sizes: ulimit -f unlimited";
    default: return "";
    }
}

enum pcere_status pcere_fail(struct pcere_error *error, enum pcere_status status, int errnum, const char *hint,
                             const char *format, ...)
{
    if (!error)
        return status;
    error->status = status;
    error->errnum = errnum;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    if (errnum && length >= 0 && (size_t)length < sizeof error->message)
        snprintf(error->message + length, sizeof error->message - (size_t)length, ": %s", strerror(errnum));
    snprintf(error->hint, sizeof error->hint, "%s", hint ? hint : usual_hint(errnum));
    return status;
}

enum pcere_status pcere_fail_memory(struct pcere_error *error, const char *what)
{
    return pcere_fail(error, PCERE_SYSTEM, ENOMEM, "close other programs, take a smaller problem, or raise the limits: see 'ulimit -v' and 'ulimit -d'",
                      "no memory for %s", what);
}
