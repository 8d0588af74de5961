# Resource limits: those that suffice, and those that do not, each with a sentence and a hint.
source "$(dirname "$0")/common.sh"
build solver
limit() { (ulimit "$1" "$2" && shift 2 && exec "$@"); }

# ---- stacks -------------------------------------------------------------------------------------------------------------------
if (ulimit -s unlimited) 2>/dev/null; then
    whole "with an unlimited stack" ./solver '^residual' limit -s unlimited
    replayed "captured with an unlimited stack, replayed with 8 MB" solver.pcere limit -s 8192
else left_out "the stack's limit cannot be raised"; fi
whole "with a stack of 8 MB" ./solver '^residual' limit -s 8192
replayed "captured with 8 MB, replayed with 200 KB" solver.pcere limit -s 200
whole "with a stack of 100 KB" ./solver '^residual' limit -s 100

# ---- address space and data: what a machine that does not overcommit refuses, these refuse ----------------------------------------
whole "in 1.5 GB of address space" ./solver '^residual' limit -v 1500000
"$CLANG" -O2 -g -fopenmp "-fpass-plugin=$(plugin)" -x c - -o large <<'C'
#include <stdio.h>
#include <stdlib.h>
#define BLOCKS 65
int main(void) {
    static char *blocks[BLOCKS];
    double *a = calloc(4 << 20, sizeof *a), sum = 0;
    for (int i = 0; i < BLOCKS; i++) if (!(blocks[i] = malloc(16 << 20))) return 1;
    for (int step = 0; step < 3; step++) {
        #pragma omp parallel for reduction(+ : sum)
        for (long i = 0; i < 4 << 20; i++) { a[i] += 1; sum += a[i]; }
        for (int i = 0; i < BLOCKS; i++) blocks[i][step] = 1;
    }
    return printf("sum %.0f\n", sum) < 0;
}
C
limit -v 1500000 ./large >/dev/null; holds "a program that takes 1.15 GB runs in 1.5 GB" test $? -eq 0
whole "and is captured there" ./large '^sum 25165824' limit -v 1500000
run limit -v 100000 "$PCERE" capture --force ./solver; says "100 MB of address space are too few, and it says so" 5 err 'hint: .*ulimit -v'
holds "the store is as it was" "$PCERE" regions solver.pcere
if command -v prlimit >/dev/null; then
    whole "with 300 MB of data" ./solver '^residual' prlimit --data=300000000
    whole "a program that takes 1.15 GB, in 1.5 GB of data" ./large '^sum 25165824' prlimit --data=1500000000
    run prlimit --data=8000000 "$PCERE" run ./solver; says "with 8 MB of data the program does not start, and it says so" 1 err "'./solver' did not start" err 'hint: .*ulimit -d'
else left_out "no prlimit"; fi

# ---- files and processes ---------------------------------------------------------------------------------------------------------
whole "with 20 open files" ./solver '^residual' limit -n 20
run limit -n 8 "$PCERE" capture --force ./solver; says "with 8 it says so" 5 err 'Too many open files' err 'hint: .*ulimit -n'
run limit -f 50 "$PCERE" capture --force ./solver; says "a limit of file sizes is told" 5 err 'File too large' err 'hint: .*ulimit -f'
whole "without locked memory and core files" ./solver '^residual' limit -l 0

# ---- transparent huge pages ------------------------------------------------------------------------------------------------------
"$CLANG" -O2 -g -fopenmp "-fpass-plugin=$(plugin)" -x c - -o huge <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
int main(void) {
    long count = 1 << 20;
    double *a, sum = 0;
    if (posix_memalign((void **)&a, 2 << 20, count * sizeof *a)) return 1;
    madvise(a, count * sizeof *a, MADV_HUGEPAGE);
    for (long i = 0; i < count; i++) a[i] = (double)(i % 7);
    for (int step = 0; step < 3; step++) {
        #pragma omp parallel for reduction(+ : sum)
        for (long i = 0; i < count; i++) { a[i] += 1; sum += a[i]; }
    }
    printf("sum %.0f\n", sum);
    return 0;
}
C
usual=$(sed -n 's/.*\[\(.*\)\].*/\1/p' /sys/kernel/mm/transparent_hugepage/enabled 2>/dev/null)
if [ -n "$usual" ] && "$TOOLS/without" --huge-pages -- true 2>/dev/null; then
    whole "with huge pages as here ($usual)" ./huge '^sum 15728622'
    replayed "captured with huge pages, replayed without" huge.pcere "$TOOLS/without" --huge-pages --
    whole "with huge pages turned off" ./huge '^sum 15728622' "$TOOLS/without" --huge-pages --
    replayed "captured without huge pages, replayed with" huge.pcere
    case $usual in always) ;; *) left_out "huge pages everywhere ('always'): this machine has '$usual', and a test does not change it" ;; esac
else left_out "this kernel has no transparent huge pages"; fi

# ---- processes: last, since another user is needed -------------------------------------------------------------------------------
if command -v prlimit >/dev/null && ordinary_become solver && [ ${#ordinary[@]} -gt 0 ]; then
    whole "with 12 processes and threads" ./solver '^residual' "${ordinary[@]}" prlimit --nproc=12
    run "${ordinary[@]}" prlimit --nproc=4 "$PCERE" capture --force ./solver; says "with 4 it says so" 5 err 'hint: .*ulimit -u'
else left_out "the number of processes can only be limited for an ordinary user"; fi
done_or_skipped
