/* core/faults.h - named faults: a test makes the n-th system call of a kind fail, so that error paths can be reached.
 *
 * Code that calls the system asks `fault_point("pages.write")` first and behaves as if the call had failed with the errno that
 * comes back. Not armed, a point costs one load and a call. docs/format/store.md lists the names of the store.
 */
#ifndef PCERE_CORE_FAULTS_H
#define PCERE_CORE_FAULTS_H

#include "core/error.h"

/* 0, or the errno with which the armed fault of that name wants this call to fail. Thread-safe. */
int fault_point(const char *name);

/* Arm faults from "NAME[:N[+]][:ERRNO][,...]": the N-th time (from 1; default 1) that NAME is passed, and with + every later time
 * as well, the call fails with ENOSPC, EIO, ENOMEM, EINTR, EACCES or EMFILE (default EIO). KILL in place of an errno ends
 * the process there by SIGKILL, as a crash would. Replaces what was armed. At most 8. PCERE_USAGE: not understood, nothing changed.
 * Not thread-safe: arm before other threads pass fault points. */
enum pcere_status fault_arm(const char *words, struct pcere_error *error);

/* No fault is armed any more. As fault_arm not thread-safe. */
void fault_disarm(void);

#endif
