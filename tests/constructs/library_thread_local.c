/* library_thread_local.c - thread-local variables of a shared library (in_library_tls.c), in its own region and in one of the program. */
#include "check.h"

long library_count(long step);
long library_mine(void);
double library_sum(long steps);
extern _Thread_local long library_own;

int main(void)
{
    long before = library_own, first = library_mine();
    CHECK(before == 7 && first == 5);
    CHECK(library_sum(100) == 100);
    CHECK(library_sum(300) == 300);
    long own = library_own, mine = library_mine();
    CHECK(own - 7 == 2 * (mine - 5) && mine > 5);
#pragma omp parallel
#pragma omp masked
    {
        library_count(3);
        CHECK(library_mine() == mine + 3);
        CHECK(library_own == own + 6);
    }
    CHECK(library_own == own + 6);
    return 0;
}
