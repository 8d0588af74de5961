# Pages of a shared mapping that its file does not have are absent in a replay, as they are where the region begins; what it writes there is as in the program.
source "$(dirname "$0")/common.sh"
cat >holes.c <<'END'
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
enum { COUNT = 1 << 18, ROUNDS = 6 };            /* 2 MiB */
int main(void)
{
    double sum = 0;
    for (int round = 0; round < ROUNDS; round++) {
        int file = memfd_create("holes", 0);
        double before = 7;
        if (file < 0 || ftruncate(file, COUNT * sizeof before) || pwrite(file, &before, sizeof before, COUNT / 2 * sizeof before) != sizeof before)
            return 1;
        double *a = mmap(NULL, COUNT * sizeof *a, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
#pragma omp parallel for
        for (int i = 0; i < COUNT; i++)
            a[i] += i * 0.5 + round;
        sum += a[COUNT / 2] + a[5];
        munmap(a, COUNT * sizeof *a);
        close(file);
    }
    printf("%s: %g\n", sum == ROUNDS * (7 + COUNT / 4 + 2.5) + 30 ? "PASS" : "FAIL", sum);
    return 0;
}
END
"$CLANG" -O2 -g -fopenmp "-fpass-plugin=$(plugin)" holes.c -o holes || exit 1
captured holes --threads 1
run "$PCERE" regions --json holes.pcere
is "none of its codelets has pages that the file did not have" "$(json '[.regions[0].classes[] | select(.captured) | .memory_bytes < 1048576] | all')" true
run "$PCERE" verify --threads 1,2 holes.pcere
says "memory behind it is the program's" 0 out identical
run "$PCERE" replay --threads 1,2 holes.pcere
says "and it is timed" 0
run "$PCERE" export holes.pcere main -o out
says "and exported" 0
run make -s -C out check THREADS=1
says "where it is the same" 0 out '^check: identical'
finish
