# tests/cli/copying.sh - much memory is copied by the stopped program itself, which may not be able to read all of it, and which may be refused to: what is stored is the same.
. "$SOURCE/tests/cli/common.sh"

compile guarded <<'C'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#define COUNT (3 << 20)
static void ours(int signal) { (void)signal; _exit(3); }
static double *array_new(void)
{
    double *array = mmap(NULL, COUNT * sizeof *array, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (long i = 0; i < COUNT; i++) array[i] = (double)(i * i % 1000003);
    madvise((char *)array + (8 << 20), 8192, 102);      /* MADV_GUARD_INSTALL: from Linux 6.13 on, nobody can read these two pages */
    return array;
}
static void work(double *array)
{
    #pragma omp parallel for
    for (int i = 0; i < COUNT / 4; i++) array[i] = array[i] * 0.5 + i;
}
int main(void)
{
    struct sigaction action = {.sa_handler = ours}, now;
    sigaction(SIGSEGV, &action, NULL);
    double *array = array_new();
    for (int step = 0; step < 5; step++) work(array);
    sigaction(SIGSEGV, NULL, &now);
    printf("%s %g\n", now.sa_handler == ours ? "handler kept" : "handler lost", array[7]);
    return 0;
}
C
for refused in none copying; do
    PCERE_REFUSE=${refused#none} run "$PCERE" capture --all-classes --max-classes 1 --force --json -o "$refused.pcere" ./guarded
    says "the program runs to its end ($refused refused), with the handler of its own" 0 err '^handler kept'
    cp .out "$refused.json"
    run "$PCERE" verify --json "$refused.pcere"
    holds "its codelet is the program's memory ($refused refused)" jq -e '[.codelets[] | .identical] | all and length == 1' .out
done
holds "the program copied most of it" jq -e '[.stops[] | select(.copied_bytes > 8e6)] | length > 0' none.json
holds "of what was to be read, and no more" jq -e '[.stops[] | .copied_bytes <= .read_bytes] | all' none.json
holds "where that is refused it is read" jq -e '[.stops[].copied_bytes] | add == 0' copying.json
holds "as much" jq -e --slurpfile other copying.json '.stops[0].present_bytes - $other[0].stops[0].present_bytes | fabs < 1e6' none.json
finish
