#include "error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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
    snprintf(error->hint, sizeof error->hint, "%s", hint ? hint : "");
    return status;
}

enum pcere_status pcere_fail_memory(struct pcere_error *error, const char *what)
{
    return pcere_fail(error, PCERE_SYSTEM, ENOMEM, "close other programs, or capture a smaller problem", "no memory for %s",
                      what);
}
