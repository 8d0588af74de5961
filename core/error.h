/* core/error.h - how a function of PCERE says that it failed.
 *
 * Every function that can fail returns an enum pcere_status and fills the caller's struct pcere_error. Outputs (`ret_x`) stay
 * untouched on failure. Only cli/ prints errors and ends the process; the status values are the process's exit codes.
 */
#ifndef PCERE_CORE_ERROR_H
#define PCERE_CORE_ERROR_H

#include <stddef.h>

enum pcere_status {
    PCERE_OK = 0,        /* done */
    PCERE_NO = 1,        /* done, and the answer is no: a difference, a limit exceeded, the user's program failed */
    PCERE_USAGE = 2,     /* the caller's words are wrong: an option, a name that does not exist, an ambiguous pattern */
    PCERE_REFUSED = 3,   /* this machine refuses: ptrace forbidden, no compiler, no such kernel feature */
    PCERE_DATA = 4,      /* stored data is missing, damaged or of an incompatible version */
    PCERE_SYSTEM = 5,    /* the system failed: disk full, out of memory, I/O error */
};

struct pcere_error {
    enum pcere_status status;
    int errnum;          /* errno at the failure, or 0 */
    char message[512];   /* one sentence without a final full stop, no program prefix: "cannot read 'x': permission denied" */
    char hint[512];      /* what to try next, or "" */
};

/* Fill *error (which may be NULL) and return `status`, so that `return pcere_fail(...)` reads well. When errnum is not 0, ": " and
 * strerror(errnum) are appended to the message. `hint` may be NULL: then there is the usual one for limits that errnum tells of, or none. */
enum pcere_status pcere_fail(struct pcere_error *error, enum pcere_status status, int errnum, const char *hint,
                             const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Out of memory for `what` ("the page table"): PCERE_SYSTEM with a hint. */
enum pcere_status pcere_fail_memory(struct pcere_error *error, const char *what);

#endif
