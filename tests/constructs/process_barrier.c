/* process_barrier.c - a process that has registered for membarrier(2), as userspace RCU does, and threads that use it in a region. */
#define _GNU_SOURCE
#include "check.h"
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { COUNT = 1000, EACH = 100 };
static long values[COUNT];

static long barrier(int command) { return syscall(SYS_membarrier, command, 0, 0); }

int main(void)
{
    long known = barrier(MEMBARRIER_CMD_QUERY);
    int there = known > 0 && known & MEMBARRIER_CMD_PRIVATE_EXPEDITED;      /* not in every container */
    CHECK(!there || barrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0);
    for (int step = 0; step < 3; step++)
#pragma omp parallel for
        for (int i = 0; i < COUNT; i++) {
            values[i] += i;
            if (there && i % EACH == 0)
                values[i] += barrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
        }
    puts(values[EACH] == 3 * EACH ? "PASS" : "FAIL");
    return values[EACH] != 3 * EACH;
}
