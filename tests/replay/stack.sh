# A region that needs more of the first thread's stack than it had, and more than is usual, in a program that was run with more.
source "$(dirname "$0")/common.sh"
(ulimit -s 65536) 2>/dev/null || { echo "skipped: stacks may not be so large here"; exit 77; }
ulimit -s 65536
cat >stack.c <<'END'
#include <stdio.h>
enum { COUNT = 2000000 };            /* 16 MB */
static double results[8];
int main(void)
{
    for (int k = 1; k < 4; k++) {
#pragma omp parallel for
        for (int i = 0; i < 8; i++) {
            volatile double own[COUNT];
            own[k] = i;
            own[COUNT - 1] = k;
            results[i] += own[k] + own[COUNT - 1];
        }
    }
    puts(results[7] == 27 ? "PASS" : "FAIL");
    return 0;
}
END
"$CLANG" -O2 -g -fopenmp "-fpass-plugin=$(plugin)" stack.c -o stack || exit 1
export OMP_STACKSIZE=64M
captured stack
run "$PCERE" verify --threads 1,2 stack.pcere
says "memory behind it is the program's" 0 out identical
run "$PCERE" replay --threads 1,2 stack.pcere
says "and it is timed" 0
run "$PCERE" export stack.pcere main -o out
says "and exported" 0
run make -s -C out check THREADS=1
says "where it is the same" 0 out '^check: identical'
finish
