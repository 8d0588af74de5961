# tests/cli/one_run.sh - with --one-run, one run of the program is enough for a capture, unless nothing tells what an invocation will take: then a second one follows,
# and a note says why.
. "$SOURCE/tests/cli/common.sh"

# captures PROGRAM...: how many runs it took, at best of three: a machine with other work can make invocations look unlike that are alike
fewest_runs() {
    local best=9 runs
    for _ in 1 2 3; do
        run "$PCERE" capture --one-run --force --json -o best.pcere "$@"
        [ "$status" -eq 0 ] || { echo failed; return; }
        runs=$(json .runs)
        [ "$runs" -lt "$best" ] && best=$runs
        [ "$best" -eq 1 ] && break
    done
    echo "$best"
}

# ---- programs whose invocations can be told apart before they begin -----------------------------------------------------------------
compile kinds <<'C'
#include <stdio.h>
#include <stdlib.h>
static double a[400000];
static void sweep(double *x, int n)
{
    #pragma omp parallel for
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 10; k++) x[i] = x[i] * 0.999 + k;
}
static void shrinking(int n)
{
    #pragma omp parallel for
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 10; k++) a[i] = a[i] * 0.5 + k;
}
int main(void)
{
    FILE *times = fopen("times", "a");
    fprintf(times, "once\n");
    fclose(times);
    #pragma omp parallel for
    for (int i = 0; i < 400000; i++)
        for (int k = 0; k < 20; k++) a[i] = a[i] * 0.9 + k;
    for (int step = 0; step < 40; step++) { sweep(a, 5000); sweep(a, 100000); sweep(a, 5000); }
    for (int n = 200000; n > 2000; n = n * 24 / 25) shrinking(n);
    printf("sum %g\n", a[7]);
    return 0;
}
C
is "arguments, call path and what came before tell kinds of invocations apart: one run" "$(fewest_runs ./kinds)" 1
rm -f times
run "$PCERE" capture --one-run --force --json -o kinds.pcere ./kinds
holds "the document says how many runs there were, and why" jq -e '(.runs == 1 and .second_run_reason == null) or (.runs == 2 and (.second_run_reason | length > 0))' .out
is "one run is one run" "$(wc -l <times)" "$(json .runs)"
holds "a region that is entered once is captured, with its time" jq -e '[.regions[] | select(.invocations == 1 and .status == "captured" and .classes[0].representative == 1 and .time_ns > 1000000)] | length == 1' .out
holds "short and long invocations have classes of their own" jq -e '.regions[] | select(.function == "sweep") | [.classes[].time_ns_median] | max > 4 * min' .out
holds "work that shrinks steadily has several representatives" jq -e '.regions[] | select(.function == "shrinking") | [.classes[] | select(.reason == null)] | length >= 2' .out
holds "times of the run are those without stops" jq -e '.wall_ns + .stall_ns <= .capture_wall_ns * 1.02 or .runs == 2' .out
run "$PCERE" verify --json kinds.pcere
holds "its codelets are the program's memory" jq -e '([.codelets[] | .identical] | all) and (.codelets | length >= 4)' .out
rm -f times
run "$PCERE" capture --force --json -o kinds.pcere ./kinds
is "without --one-run it runs twice" "$(json .runs) $(wc -l <times)" "2 2"
holds "as was asked for: there is no reason to give" jq -e '.second_run_reason == null' .out

# ---- a program whose invocations cannot ----------------------------------------------------------------------------------------------
compile surprising <<'C'
#include <stdio.h>
#include <string.h>
static double a[4000];
static int hard;
static void work(void)
{
    #pragma omp parallel for
    for (int i = 0; i < 4000; i++)
        for (int k = 0; k < (hard ? 3000 : 30); k++) a[i] = a[i] * 0.999 + k;
}
int main(void)
{
    char line[80] = "nothing";
    if (!fgets(line, sizeof line, stdin)) strcpy(line, "nothing\n");
    for (int step = 0; step < 200; step++) {
        hard = step == 19 || step == 47 || step == 81 || step == 103 || step == 122 || step == 160 || step == 171 || step == 188;
        work();
    }
    printf("read %s", line);
    return 0;
}
C
echo words >input
# A stop may meet one of the eight by chance.
for _ in 1 2 3; do
    status=0
    "$PCERE" capture --one-run --force --json -o surprising.pcere ./surprising <input >.out 2>.err || status=$?
    [ "$(json .runs)" = 2 ] && break
done
is "where nothing tells of long invocations, the program runs a second time" "$(json .runs)" 2
says "its output is there once, from the first run" 0 err '^read words'
is "not twice" "$(grep -c '^read' .err)" 1
holds "the document says why" jq -e '.second_run_reason | test("second time")' .out
holds "so does a note" jq -e '.notes | map(test("no captured member")) | any' .out
holds "both kinds are captured" jq -e '.regions[0].classes | map(select(.reason == null)) | length >= 2 and (map(.time_ns_median) | max > 20 * min)' .out
for _ in 1 2 3; do
    status=0
    echo words | "$PCERE" capture --one-run --force --json -o piped.pcere ./surprising >.out 2>.err || status=$?
    [ "$(json '.notes | map(test("--one-run")) | any')" = true ] && break
done
says "what comes through a pipe comes once" 0 err '^read words'
is "then one run has to do" "$(json .runs)" 1
holds "and it says what would help" jq -e '.notes | map(test("--one-run")) | any' .out
holds "what is missing says so" jq -e '.regions[0].classes | map(select(.reason != null and (.reason | test("not run again")))) | length == 1' .out
status=0
echo words | "$PCERE" capture --force --json -o piped.pcere ./surprising >.out 2>.err || status=$?
holds "without --one-run a pipe is kept for both" jq -e '.runs == 2 and (.regions[0].classes | map(select(.reason == null)) | length >= 2)' .out

# ---- the NAS benchmarks ----------------------------------------------------------------------------------------------------------------
make -s -C "$SOURCE/cNPB" CLASS=S CFLAGS="-O3 -g -fpass-plugin=$(plugin)" BINDIR="$work/bin" OBJDIR="$work/obj" cg ep is lu >make.log 2>&1 ||
    { cat make.log; not_ok "the benchmarks are built"; }
for name in cg ep is lu; do is "one run does for $name of class S" "$(fewest_runs "bin/$name.S")" 1; done
finish
