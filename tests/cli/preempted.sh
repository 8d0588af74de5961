# tests/cli/preempted.sh - what others take of the processor while a short region runs, too short to ask beside each invocation, is none of its time.
. "$SOURCE/tests/cli/common.sh"

compile preempted <<'C'
#include <stdio.h>
#include <time.h>
static double a[15000];
static double now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}
int main(void)
{
    double wall = now(CLOCK_MONOTONIC), own = now(CLOCK_PROCESS_CPUTIME_ID);
    for (int r = 0; r < 6000; r++) {
        #pragma omp parallel for
        for (int i = 0; i < 15000; i++)
            a[i] = a[i] / 3 + i;
    }
    printf("%g\n%.0f %.0f\n", a[77], now(CLOCK_MONOTONIC) - wall, now(CLOCK_PROCESS_CPUTIME_ID) - own);
    return 0;
}
C
timeout 100 taskset -c 0 sh -c 'while :; do :; done' &
busy=$!
run taskset -c 0 "$PCERE" capture --one-run -o preempted.pcere ./preempted
kill "$busy"
says "it is captured beside another process on its processor, which is said" 0 err 'the program waited [0-9.]+ m?s for a processor that other work had, in a run of'
read -r wall own < <(tail -n 1 "$work/.out")
holds "which took much of its time" awk "BEGIN { exit !($wall > 1.4 * $own) }"
holds "on its only processor nothing else can be advised" sh -c '! grep -q OMP_PROC_BIND .err'
run "$PCERE" regions --json preempted.pcere
is "the region counts with what it had of the processor" "$(json ".regions[0].time_ns <= 1.15 * $own")" true
is "and no less" "$(json ".regions[0].time_ns >= 0.6 * $own")" true

# A single thread is bound to the first processor; where that has other work, another one may be free.
if [ "$(nproc)" -gt 1 ] && taskset -c 0 true; then
    timeout 100 taskset -c 0 sh -c 'while :; do :; done' &
    busy=$!
    run "$PCERE" capture --force --one-run -o preempted.pcere ./preempted
    kill "$busy"
    says "it is said how its threads may go elsewhere" 0 err 'nothing else running, or with OMP_PROC_BIND=false, which lets its threads go where a processor is free'
fi

# A region that is entered a few times tells of no invocation how long the next one takes: layers of a network, a grid's levels.
compile uneven <<'C'
#include <stdio.h>
#include <time.h>
static double a[1 << 22];
static double now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}
static void layer(int n)
{
    #pragma omp parallel for
    for (int i = 0; i < n; i++)
        for (int j = 0; j < 30; j++)
            a[i] = a[i] / 3 + j;
}
int main(void)
{
    double before = 0;
    layer(10);
    layer(20);
    for (int r = 0; r < 10000000; r++)
        before = before / 3 + r;
    double wall = now(CLOCK_MONOTONIC), own = now(CLOCK_PROCESS_CPUTIME_ID);
    layer(1 << 22);
    printf("%g\n%.0f %.0f\n", before + a[77], now(CLOCK_MONOTONIC) - wall, now(CLOCK_PROCESS_CPUTIME_ID) - own);
    return 0;
}
C
timeout 100 taskset -c 0 sh -c 'while :; do :; done' &
busy=$!
run taskset -c 0 "$PCERE" capture -q --one-run -o uneven.pcere ./uneven
kill "$busy"
says "a long invocation behind two short ones is captured beside another process" 0
read -r wall own < <(tail -n 1 "$work/.out")
holds "which took much of its time" awk "BEGIN { exit !($wall > 1.4 * $own) }"
run "$PCERE" regions --json uneven.pcere
is "the region counts with what it had of the processor, however short it was before" "$(json ".regions[0].time_ns <= 1.15 * $own")" true
is "and no less" "$(json ".regions[0].time_ns >= 0.6 * $own")" true
finish
