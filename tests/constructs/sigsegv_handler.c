/* sigsegv_handler.c - a program that handles SIGSEGV itself: its region writes to protected pages, the handler lifts the protection. */
#include "check.h"
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGES = 8 };
static char *area;
static size_t page_bytes;
static int faults;       /* of all threads */

static void handler(int number, siginfo_t *info, void *context)
{
    size_t at = (size_t)info->si_addr - (size_t)area;
    (void)number;
    (void)context;
    if (at >= PAGES * page_bytes)
        _exit(99);
    __atomic_fetch_add(&faults, 1, __ATOMIC_RELAXED);
    mprotect(area + at / page_bytes * page_bytes, page_bytes, PROT_READ | PROT_WRITE);
}

int main(void)
{
    struct sigaction action;
    page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO;
    area = mmap(NULL, PAGES * page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(area != MAP_FAILED && sigaction(SIGSEGV, &action, NULL) == 0);
    for (int step = 1; step <= 2; step++) {
        memset(area, 5, PAGES * page_bytes);
        CHECK(mprotect(area, PAGES * page_bytes, PROT_READ) == 0);
#pragma omp parallel for
        for (int i = 0; i < PAGES; i++)
            area[(size_t)i * page_bytes + 10] = (char)(area[(size_t)i * page_bytes + 9] + i);
        CHECK(faults == PAGES * step && area[7 * page_bytes + 10] == 12);
        CHECK(mprotect(area, PAGES * page_bytes, PROT_READ | PROT_WRITE) == 0);
    }
    return 0;
}
