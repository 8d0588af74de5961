# tests/cli/stretched.sh - regions whose times hold those of many probes inside them are named, with a share that goes by how many there are; others are not.
. "$SOURCE/tests/cli/common.sh"

compile nest <<'C'
#include <omp.h>
#include <time.h>
static double sums[64];
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return (double)t.tv_sec * 1e9 + (double)t.tv_nsec; }
static void crowded(void)
{
    #pragma omp parallel
    for (int i = 0; i < 32000; i++) {
        #pragma omp parallel num_threads(1)
        sums[omp_get_ancestor_thread_num(1)] += 1;
    }
}
static void deep(void)
{
    #pragma omp parallel num_threads(1)
    {
        #pragma omp parallel num_threads(1)
        for (int i = 0; i < 32000; i++) {
            #pragma omp parallel num_threads(1)
            sums[0] += 1;
        }
    }
}
static void sparse(void)
{
    #pragma omp parallel num_threads(1)
    for (int i = 0; i < 100; i++) {
        #pragma omp parallel num_threads(1)
        for (double end = now() + 1e6; now() < end;)
            ;
    }
}
int main(void)
{
    omp_set_max_active_levels(4);
    crowded();
    deep();
    sparse();
    return 0;
}
C
# probed FUNCTION: of its outermost region
probed() { jq "[.runs[0].regions[] | select(.region | startswith(\"$1@\"))] | sort_by(.region | split(\":\")[1] | tonumber)[${2:-0}].probed_ns" .out; }
between() { awk -v a="$1" -v low="$2" -v high="$3" 'BEGIN { exit !(a >= low && a <= high) }'; }
for threads in 1 2; do
    run "$PCERE" run --json --threads "$threads" ./nest
    says "the program runs with $threads" 0
    # 32,000 times two readings of the clock and more, of which one in 64 was looked at: what took more than 2 us was interrupted
    holds "what probes took inside a region of many is told ($threads)" between "$(probed crowded)" 300000 128000000
    holds "so it is of what lies one deeper ($threads)" between "$(probed deep)" 300000 128000000
    holds "and of the one between ($threads)" between "$(probed deep 1)" 300000 128000000
    is "the innermost ones have nothing inside ($threads)" "$(probed crowded 1) $(probed deep 2) $(probed sparse 1)" "0 0 0"
    holds "a hundred are next to nothing ($threads)" between "$(probed sparse)" 0 256000
done
# Where others take the processor, regions take four times as long, and what probes took is too small a part of that to be named.
for _ in 1 2 3 4 5; do
    run "$PCERE" run ./nest
    if [ "$(grep -cE '^(crowded|deep)@.* longer for probes' .out)" -ge 2 ]; then break; fi
done
says "the table names them" 0 out '^crowded@nest.c:[0-9]+: [0-9]+ % longer for probes of regions inside it' out '^deep@nest.c:[0-9]+: [0-9]+ % longer'
is "and those only" "$(grep 'longer for probes' .out | grep -c sparse)" 0
run "$PCERE" capture --one-run -q --json -o nest.pcere ./nest
says "it is captured" 0
run "$PCERE" regions nest.pcere
says "the store tells it" 0 out 'crowded@nest.c.*longer for probes of regions inside it'
is "not of others" "$(grep 'longer for probes' .out | grep -c sparse)" 0
run "$PCERE" regions --json nest.pcere
is "so does the document" "$(json '[.regions[] | select(.probed_ns > 256000) | .function] | unique | join(" ")')" "crowded deep"

# Real runs have probes, replays have none: an error that is theirs is said to be. Beside other work the share of probes falls: then there is nothing to say.
compile crowd <<'C'
static double sum;
int main(void)
{
    #pragma omp parallel num_threads(1)
    for (int i = 0; i < 400000; i++) {
        #pragma omp parallel num_threads(1)
        sum += i;
    }
    return sum < 0;
}
C
for _ in 1 2 3; do
    run "$PCERE" capture --one-run -q --force -o crowd.pcere ./crowd
    run "$PCERE" replay -q --threads 1 crowd.pcere
    run "$PCERE" predict --threads 1 --measure crowd.pcere
    if grep -q '^STRETCHED' .out; then break; fi
done
says "a prediction says what real runs are longer for" 0 out '^STRETCHED: real runs take longer .* inside main@crowd.c:[0-9]+, as the capture.s did by [0-9]+ %'
run "$PCERE" predict --threads 1 --json crowd.pcere
is "so does the document" "$(json '.predictions[0].real_stretched_ratio > 0.05')" true
compile plain <<'C'
static double a[1 << 20];
int main(void)
{
    for (int r = 0; r < 20; r++) {
        #pragma omp parallel for
        for (int i = 0; i < 1 << 20; i++)
            a[i] = a[i] / 3 + r;
    }
    return a[7] < 0;
}
C
run "$PCERE" capture --one-run -q -o plain.pcere ./plain
run "$PCERE" replay -q --threads 1 plain.pcere
run "$PCERE" predict --threads 1 --measure plain.pcere
says "of a program without regions inside others it says nothing" 0
is "not a word" "$(grep -c STRETCHED .out)" 0
finish
