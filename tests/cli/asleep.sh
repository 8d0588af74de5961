# tests/cli/asleep.sh - time that an invocation sleeps is its own, though others took its processor meanwhile: a region's classes add up to its time.
. "$SOURCE/tests/cli/common.sh"

compile asleep <<'C'
#include <sched.h>
#include <stdio.h>
#include <time.h>
static double a[20000];
int main(void)
{
    for (int r = 0; r < 5; r++) {
        #pragma omp parallel
        {
            #pragma omp single
            if (r == 0) {
                nanosleep(&(struct timespec){.tv_nsec = 40000000}, NULL);
                for (int i = 0; i < 200; i++)
                    sched_yield();              /* to whoever else wants the processor: an involuntary switch, for the kernel */
            }
            #pragma omp for
            for (int i = 0; i < 20000; i++)
                a[i] = a[i] * 0.5 + i;
        }
    }
    printf("%g\n", a[77]);
    return 0;
}
C
timeout 60 taskset -c 0 sh -c 'while :; do :; done' &
busy=$!
run taskset -c 0 "$PCERE" capture -q --one-run -o asleep.pcere ./asleep
kill "$busy"
says "it is captured beside another process on its processor" 0
run "$PCERE" regions --json asleep.pcere
is "the region holds what its first invocation slept" "$(json '.regions[0].time_ns >= 40000000')" true
is "so do its classes" "$(json '[.regions[0].classes[].time_ns] | add >= 40000000')" true
is "they add up to it" "$(json '.regions[0] | ([.classes[].time_ns] | add) as $sum | $sum <= .time_ns and $sum * 1.001 >= .time_ns')" true
is "and it is no longer than the program" "$(json ".regions[0].time_ns <= .wall_ns")" true
finish
