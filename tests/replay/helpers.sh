# The OpenMP runtime's team for target tasks (hidden helpers) is there before the region that makes the first one, in captures and in replays: what it takes is no region's.
source "$(dirname "$0")/common.sh"
cat >helpers.c <<'END'
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
enum { HELPERS = 8, NUMBERS = 4000 };            /* by default; threads have numbers behind the process's, as far as nobody else's lie between */
static double x[64];
static long first, second;
static long threads_count(void)
{
    long count = 0;
    for (int i = 1; i < NUMBERS; i++)
        count += syscall(SYS_tgkill, getpid(), getpid() + i, 0) == 0;
    return count;
}
static void task_make(void)
{
#pragma omp target nowait map(tofrom : x)
    for (int i = 0; i < 64; i++)
        x[i] = x[i] * 0.5 + i;
}
int main(void)
{
#pragma omp parallel
#pragma omp single
    {
        first = threads_count();
        task_make();
    }
#pragma omp parallel
#pragma omp single
    {
        second = threads_count();
        if (second < HELPERS)
            __builtin_trap();
        task_make();
    }
    printf("%s: %ld threads, then %ld\n", first >= HELPERS && x[2] == 3 ? "PASS" : "FAIL", first, second);
    return 0;
}
END
"$CLANG" -O2 -g -fopenmp "-fpass-plugin=$(plugin)" helpers.c -o helpers || exit 1
export OMP_NUM_THREADS=1
run ./helpers
if ! grep -q '^FAIL: 0 threads' .out; then echo "skipped: this runtime makes no helpers by its first target task"; exit 77; fi
captured helpers --threads 1
run "$PCERE" replay --threads 1,2 helpers.pcere
says "a region that asks for them finds them in its replay's first run" 0 out 'main@helpers.c:29 #1 +1 +1 +[0-9]' out 'main@helpers.c:29 #1 +1 +2 +[0-9]'
finish
