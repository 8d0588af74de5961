/* shared_memory.c - memory that other processes see as well: shm_open, anonymous shared memory with a child, System V. */
#include "check.h"
#include <fcntl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COUNT = 3000 };

int main(void)
{
    char name[40];
    snprintf(name, sizeof name, "/pcere-construct-%d", (int)getpid());
    int file = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600), id = shmget(IPC_PRIVATE, COUNT * sizeof(int), IPC_CREAT | 0600);
    CHECK(file >= 0 && ftruncate(file, COUNT * sizeof(int)) == 0 && id >= 0);
    int *named = mmap(NULL, COUNT * sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0), *system_five = shmat(id, NULL, 0);
    int *anonymous = mmap(NULL, COUNT * sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    shm_unlink(name);
    shmctl(id, IPC_RMID, NULL);
    CHECK(named != MAP_FAILED && anonymous != MAP_FAILED && system_five != (void *)-1);
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < COUNT; i++)
            anonymous[i] = i;
        _exit(0);
    }
    CHECK(child > 0 && waitpid(child, NULL, 0) == child);
    for (int step = 1; step <= 2; step++) {
#pragma omp parallel for
        for (int i = 0; i < COUNT; i++) {
            named[i] += anonymous[i];
            system_five[i] += step;
        }
    }
    for (int i = 0; i < COUNT; i++)
        CHECK(named[i] == 2 * i && system_five[i] == 3);
    return 0;
}
