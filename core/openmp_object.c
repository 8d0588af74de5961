/* core/openmp_object.c - the shared memory object of a process's OpenMP runtime. */
#include "core/openmp_object.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static bool alone(void)
{
    struct stat tasks;
    return stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink == 3;
}

void pcere_openmp_object_forget(void)
{
    char name[64], first = '\0';
    struct stat facts;
    snprintf(name, sizeof name, "/__KMP_REGISTERED_LIB_%d_%u", (int)getpid(), (unsigned)getuid());
    int file = shm_open(name, O_RDONLY, 0);
    if (file < 0)
        return;
    bool unwritten = fstat(file, &facts) == 0 && (facts.st_size == 0 || (pread(file, &first, 1, 0) == 1 && first == '\0'));
    close(file);
    if (unwritten && alone())
        shm_unlink(name);
}
