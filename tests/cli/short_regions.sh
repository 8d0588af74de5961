# tests/cli/short_regions.sh - regions that take less than 2 us are timed nearly as if nobody looked on, beside others without distorting these, and both
# `capture` and `regions` say so.
. "$SOURCE/tests/cli/common.sh"

# Prints the least time of the short region, as seen from outside over a thousand calls; each run writes what each invocation of the long one took into a file of its
# own, taken.1 and so on. A look at the clock between calls, which counts apart, keeps the processor from working on two of them at once.
compile mixed <<'C'
#include <stdio.h>
#include <time.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return (double)t.tv_sec * 1e9 + (double)t.tv_nsec; }
static volatile int sink;
static double field[100000], taken[31];
static void brief(void)
{
    #pragma omp parallel for
    for (int i = 0; i < 100; i++)
        sink++;
}
static void lengthy(void)
{
    #pragma omp parallel for
    for (int i = 0; i < 100000; i++)
        for (int k = 0; k < 10; k++)
            field[i] = field[i] * 0.999 + k;
}
int main(void)
{
    double least = 1e30;
    for (int round = 0; round < 31; round++) {
        double begin = now(), last = begin;
        for (int i = 0; i < 1000; i++)
            last = now();
        double clock = last - begin;
        begin = last;
        for (int i = 0; i < 1000; i++) {
            brief();
            last = now();
        }
        double each = (last - begin - clock) / 1000;
        least = each < least ? each : least;
        begin = now();
        lengthy();
        taken[round] = now() - begin;
    }
    printf("{\"brief_ns\": %.0f}\n", least);
    char name[32] = "taken.1";
    FILE *file = fopen(name, "wx");
    for (int number = 2; !file; number++) {
        snprintf(name, sizeof name, "taken.%d", number);
        file = fopen(name, "wx");
    }
    for (int round = 0; round < 31; round++)
        fprintf(file, "%.0f\n", taken[round]);
    fclose(file);
    return 0;
}
C
export OMP_PROC_BIND=true OMP_PLACES=cores
plain() { OMP_NUM_THREADS=1 run ./mixed; }
plain
says "the program tells what its regions take" 0 out brief_ns

# largest FUNCTION: the median time of the class with most members
largest() { jq "[.regions[] | select(.function == \"$1\")][0].classes | max_by(.members).time_ns_median" regions.json; }
near() { awk -v a="$2" -v b="$3" -v low="$4" -v high="$5" 'BEGIN { exit !(a >= low * b && a <= high * b) }'; }
# least_of_program: the least that an invocation of the long region took by the capture's clock as a share of the least by the program's, in the same run (with two, the first is
# the one that is timed). What the machine or a stop held up is told by what it would have taken otherwise: those that nothing held up are seen alike by both.
least_of_program() {
    jq -r '.regions[] | select(.region | startswith("lengthy")) | .time_ns[]' mixed.pcere/invocations.json | paste - taken.1 |
        awk 'NR == 1 || $1 < own { own = $1 } NR == 1 || $2 < seen { seen = $2 } END { print NR == 31 ? own / seen : 0 }'
}
# nowhere_longer: no invocation is told to have taken longer than the program itself saw
nowhere_longer() { jq -r '.regions[] | select(.region | startswith("lengthy")) | .time_ns[]' mixed.pcere/invocations.json | paste - taken.1 | awk '$1 > 1.001 * $2 { bad = 1 } END { exit bad }'; }
# Tries of the short one, each beside a plain run of its own: here the two are of different runs, and the machine may do something else in one of them only.
for options in --one-run --two-runs; do
    for _ in $(seq 40); do
        plain
        brief_ns=$(json .brief_ns)
        rm -f taken.*
        run "$PCERE" capture "$options" --force --json -o mixed.pcere ./mixed
        cp .out regions.json
        near "" "$(largest brief)" "$brief_ns" 0.5 1.6 && near "" "$(least_of_program)" 1 0.95 1.001 &&
            jq -e '.notes | map(test("1 region takes less than 2 us")) | any' regions.json >.out && break
    done
    holds "a region about as long as its probes is timed nearly as it is without them ($options)" near "" "$(largest brief)" "$brief_ns" 0.5 1.6
    holds "a long one takes what the program itself sees ($options)" near "" "$(least_of_program)" 1 0.95 1.001
    holds "and never more ($options)" nowhere_longer
    holds "what their probes take beside them is taken off the time outside regions ($options)" jq -e '.probing_ns > 300000' regions.json
    holds "a note says what was taken off ($options)" jq -e '.notes | map(test("1 region takes less than 2 us.*31000 times, [0-9]+ ns for reading the clock")) | any' regions.json
done
run "$PCERE" regions mixed.pcere
says "regions marks the short one" 0 out 'brief@mixed.c.*under 2 us each'
is "and only that" "$(grep -c 'under 2 us each' .out)" 1
run "$PCERE" regions --json mixed.pcere
is "so does the document" "$(json '[.regions[] | "\(.function) \(.short)"] | sort | join(", ")')" "brief true, lengthy false"
finish
