/* environment-leftover: a preloaded library that leaves what a process killed while its OpenMP runtime started leaves behind, under this process's number: in the
 * program that LEFTOVER_IN names, not in the command that starts it, and not for longer than it lives, for numbers are used again. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char name[64];

__attribute__((constructor)) static void leave(void)
{
    const char *bytes = getenv("LEFTOVER_BYTES"), *program = getenv("LEFTOVER_IN");
    if (!bytes || !program || strcmp(program, program_invocation_short_name) != 0)
        return;
    snprintf(name, sizeof name, "/__KMP_REGISTERED_LIB_%d_%u", (int)getpid(), (unsigned)getuid());
    int file = shm_open(name, O_CREAT | O_RDWR, 0600);
    if (file >= 0 && ftruncate(file, atol(bytes)) == 0)
        close(file);
}

__attribute__((destructor)) static void clear(void)
{
    if (name[0])
        shm_unlink(name);
}
