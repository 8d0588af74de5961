# tests/cli/one_run.sh - one run of the program is enough for a capture, unless nothing tells what an invocation will take, or stops may have changed times: then a
# second one follows, and a note says why.
. "$SOURCE/tests/cli/common.sh"

# captures PROGRAM... in one run: is at most 2 % of the regions' time without a codelet, at best of forty? A machine with other work can make invocations look
# unlike that are alike.
one_run_does() {
    for _ in $(seq 40); do
        run "$PCERE" capture --one-run --force --json -o best.pcere "$@"
        [ "$status" -eq 0 ] || return 1
        jq -e '[.regions[].classes[] | select(.nested | not)] | (map(.time_ns) | add) as $all | (map(select(.captured) | .time_ns) | add) >= 0.98 * $all' .out >/dev/null &&
            return 0
    done
    return 1
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
holds "arguments, call path and what came before tell kinds of invocations apart: one run" one_run_does ./kinds
rm -f times
run "$PCERE" capture --force --json -o kinds.pcere ./kinds
holds "the document says how many runs there were, and why" jq -e '(.runs == 1 and .second_run_reason == null) or (.runs >= 2 and (.second_run_reason | length > 0))' .out
is "one run is one run" "$(wc -l <times)" "$(json .runs)"
holds "a region that is entered once is captured, with its time" jq -e '[.regions[] | select(.invocations == 1 and .status == "captured" and .classes[0].representative == 1 and .time_ns > 1000000)] | length == 1' .out
holds "short and long invocations have classes of their own" jq -e '.regions[] | select(.function == "sweep") | [.classes[].time_ns_median] | max > 4 * min' .out
holds "work that shrinks steadily has several representatives" jq -e '.regions[] | select(.function == "shrinking") | [.classes[] | select(.reason == null)] | length >= 2' .out
holds "times of the run are those without stops" jq -e '.wall_ns + .stall_ns <= .capture_wall_ns * 1.02 or .runs >= 2' .out
holds "all runs together are told, too" jq -e '(.runs == 1 and .runs_wall_ns == .capture_wall_ns) or (.runs >= 2 and .runs_wall_ns > .capture_wall_ns)' .out
# What choosing costs in each probe is no time of the program's: here asking for a thread's costs sleeps.
cat >slow.c <<'C'
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int getrusage(__rusage_who_t who, struct rusage *usage)
{
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    return (int)syscall(SYS_getrusage, who, usage);
}
C
compile steps <<'C'
#include <unistd.h>
int main(void)
{
    for (int step = 0; step < 20; step++) {
        #pragma omp parallel
        usleep(1000);
    }
    return 0;
}
C
"$CLANG" -shared -fPIC -O1 -D_GNU_SOURCE slow.c -o slow.so || exit 1
run env LD_PRELOAD="$PWD/slow.so" "$PCERE" capture --one-run --json ./steps
holds "what probes took is told" jq -e '.probing_ns >= 195000000' .out
holds "and is none of the program's time" jq -e '.serial_ns + .stall_ns + .probing_ns <= .capture_wall_ns and .serial_ns < .wall_ns' .out
run "$PCERE" verify --json kinds.pcere
holds "its codelets are the program's memory" jq -e '([.codelets[] | .identical] | all) and (.codelets | length >= 4)' .out
rm -f times
run "$PCERE" capture --two-runs --force --json -o kinds.pcere ./kinds
is "--two-runs runs it twice" "$(json .runs) $(wc -l <times)" "2 2"
holds "as was asked for: there is no reason to give" jq -e '.second_run_reason == null' .out
compile once <<'C'
#include <stdio.h>
#include <unistd.h>
static double a[100000], b[100000];
int main(void)
{
    #pragma omp parallel for
    for (int i = 0; i < 100000; i++)
        for (int k = 0; k < 20; k++) b[i] = b[i] * 0.5 + k;
    if (access("once.result", F_OK)) {
        #pragma omp parallel for
        for (int i = 0; i < 100000; i++)
            for (int k = 0; k < 20; k++) a[i] = a[i] * 0.5 + k;
        fclose(fopen("once.result", "w"));
    }
    printf("%g\n", a[1] + b[2]);
    return 0;
}
C
run "$PCERE" capture --two-runs --json ./once
holds "a region that the second run does not come to says so, and what helps" jq -e '[.regions[] | select(.region | test("once.c:10"))] | length == 1 and all(.status == "invalid" and
    (.reason | test("did not enter it in the run that was to capture it; --regions NAME")))' .out
run "$PCERE" capture --one-run --two-runs --force ./kinds
says "both at once are none" 2 err '--one-run and --two-runs exclude each other' err 'hint:'

# ---- a program whose invocations cannot ----------------------------------------------------------------------------------------------
# Neither its arguments nor its place tell how long an invocation takes.
cat >work.h <<'C'
static double a[4000];
static int hard;
static void work(void)
{
    #pragma omp parallel for
    for (int i = 0; i < 4000; i++)
        for (int k = 0; k < (hard ? 3000 : 30); k++) a[i] = a[i] * 0.999 + k;
}
C
compile surprising <<'C'
#include <stdio.h>
#include <string.h>
#include "work.h"
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
for _ in $(seq 40); do
    status=0
    "$PCERE" capture --force --json -o surprising.pcere ./surprising <input >.out 2>.err || status=$?
    [ "$(json .runs)" -ge 2 ] && break
done
holds "where nothing tells of long invocations, the program runs a second time" [ "$(json .runs)" -ge 2 ]
says "its output is there once, from the first run" 0 err '^read words'
is "not twice" "$(grep -c '^read' .err)" 1
holds "the document says why" jq -e '.second_run_reason | test("second time")' .out
holds "so does a note" jq -e '.notes | map(test("no captured member")) | any' .out
holds "both kinds are captured" jq -e '.regions[0].classes | map(select(.reason == null)) | length >= 2 and (map(.time_ns_median) | max > 20 * min)' .out
# The machine may stretch an invocation so that it is of a kind of its own, and missing as well.
long_missing='.regions[0].classes | (map(.time_ns_median) | min) as $least | map(select(.reason != null and (.reason | test("not run again")))) | any(.time_ns_median > 20 * $least)'
for _ in $(seq 40); do
    status=0
    "$PCERE" capture --one-run --force --json -o single.pcere ./surprising <input >.out 2>.err || status=$?
    [ "$(json "$long_missing")" = true ] && break
done
is "--one-run is never more than one" "$(json .runs)" 1
holds "a note says what is open, and why it stays so" jq -e '.notes | map(test("no captured member.*--one-run")) | any' .out
holds "there was no second run to give a reason for" jq -e '.second_run_reason == null' .out
holds "what is missing says so" jq -e "$long_missing" .out
for _ in $(seq 40); do
    status=0
    echo words | "$PCERE" capture --force --json -o piped.pcere ./surprising >.out 2>.err || status=$?
    [ "$(json .runs)" -ge 2 ] && break
done
holds "a pipe is kept for both runs" jq -e '.runs >= 2 and (.regions[0].classes | map(select(.reason == null)) | length >= 2)' .out

# ---- a program whose second run dies ----------------------------------------------------------------------------------------------
compile dying <<'C'
#include <stdio.h>
#include <stdlib.h>
#include "work.h"
int main(int argc, char **argv)
{
    FILE *ran = fopen("ran", "a+");
    fprintf(ran, "x");
    fflush(ran);
    long runs = ftell(ran);
    fclose(ran);
    char word[16] = "";
    if (scanf("%15s", word) != 1) return 3;
    for (int step = 0; step < 200; step++) {
        hard = step == 19 || step == 47 || step == 81 || step == 103 || step == 122 || step == 160 || step == 171 || step == 188;
        if (step == 10 && runs >= 2 && runs < 2 + atoi(argv[argc - 1])) abort();
        work();
    }
    return 0;
}
C
for _ in $(seq 40); do
    rm -f ran
    status=0
    echo words | "$PCERE" capture --force --json -o dying.pcere ./dying 1 >.out 2>.err || status=$?
    [ "$(json .runs)" -ge 3 ] && break
done
holds "where the second run ends before it has all, there is a third" jq -e '.runs >= 3 and .program_status == 0' .out
is "no run is left out of the number" "$(wc -c <ran)" "$(json .runs)"
holds "which is told" jq -e '.notes | map(test("it ran [0-9] times.*; 1 of the runs ended differently")) | any' .out
holds "and has both kinds" jq -e '.regions[0].classes | map(select(.reason == null)) | length >= 2 and (map(.time_ns_median) | max > 20 * min)' .out
for _ in $(seq 40); do
    rm -f ran
    status=0
    echo words | "$PCERE" capture --force --json -o dying.pcere ./dying 99 >.out 2>.err || status=$?
    [ "$(json .runs)" -ge 3 ] && break
done
holds "it does not run for ever" jq -e '.runs >= 3 and .runs <= 6' .out
holds "what is missing says so" jq -e '[.regions[0].classes[] | select(.reason != null and (.reason | test("the last run ended differently")))] | length >= 1' .out

# ---- a program whose first run dies -------------------------------------------------------------------------------------------------
# As an assertion of the OpenMP runtime does it, in one run and not in the next; the number says in how many.
compile dead <<'C'
#include <stdio.h>
#include <stdlib.h>
#include "work.h"
int main(int argc, char **argv)
{
    FILE *ran = fopen("ran", "a+");
    fprintf(ran, "x");
    fflush(ran);
    long runs = ftell(ran);
    fclose(ran);
    for (int step = 0; step < 200; step++) {
        hard = step % 40 == 19;
        if (step == 60 && runs <= atoi(argv[argc - 1])) abort();
        work();
    }
    return 0;
}
C
# killed RUNS: on a machine so busy that this takes a second it would not run again.
killed() {
    for _ in $(seq 40); do
        rm -f ran
        run "$PCERE" capture --force --json -o dead.pcere ./dead "$1"
        [ "$(json .runs)" -ge 2 ] && break
    done
}
killed 1
says "a program that is killed has failed" 1 err 'killed by signal 6 \(Aborted\)'
holds "as its status says" jq -e '.program_status == 6' .out
holds "and runs again, which has a reason" jq -e '.runs >= 2 and (.second_run_reason | test("killed by signal 6"))' .out
is "no run is left out of the number" "$(wc -c <ran)" "$(json .runs)"
holds "a run that comes to its end is the program" jq -e '.regions[0].invocations == 200' .out
holds "which is told" jq -e '.notes | map(test("killed by signal 6 .Aborted. in its first run, and came to its end in run")) | any' .out
killed 99
says "one that is killed in each run has failed as well" 1 err 'killed by signal 6 \(Aborted\)'
holds "does not run for ever, and is captured as far as it came" jq -e '.runs >= 2 and .runs <= 6 and .regions[0].invocations == 60 and .captured >= 1' .out
rm -f ran
run "$PCERE" capture --one-run --force --json -o dead.pcere ./dead 1
holds "--one-run is never more than one" jq -e '.runs == 1 and (.notes | map(test("killed by signal 6.*--one-run")) | any)' .out

# ---- a program whose timer's handler runs in every invocation ------------------------------------------------------------------------
compile alarmed <<'C'
#include <signal.h>
#include <sys/time.h>
#include <time.h>
static volatile sig_atomic_t ticks;
static void tick(int number) { (void)number; ticks++; }
static void wait_for_it(void)
{
    #pragma omp parallel num_threads(1)
    for (int before = ticks; before == ticks;) continue;
}
int main(int count, char **arguments)
{
    struct itimerval timer = {{0, 5000}, {0, 5000}};
    struct itimerspec other = {{0, 5000000}, {0, 5000000}};
    timer_t made;
    signal(SIGALRM, tick);
    if (count == 1) setitimer(ITIMER_REAL, &timer, 0);
    else if (timer_create(CLOCK_MONOTONIC, 0, &made) || timer_settime(made, 0, &other, 0)) return 1;
    (void)arguments;
    for (int step = 0; step < 30; step++) wait_for_it();
    return 0;
}
C
run "$PCERE" capture --force --json -o alarmed.pcere ./alarmed
says "a region that waits for a timer is captured all the same" 0
holds "and that its handler ran there is told" jq -e '.captured >= 1 and (.notes | map(test("wait_for_it.*ITIMER_REAL")) | any)' .out
run "$PCERE" capture --force --json -o alarmed.pcere ./alarmed made
says "so is one that waits for a timer of timer_create" 0
holds "which is told apart" jq -e '.captured >= 1 and (.notes | map(test("wait_for_it.*\\(timer_create\\)")) | any)' .out

# ---- a program that stops disturb ------------------------------------------------------------------------------------------------------
# Its invocation writes to each page of 64 MiB that was there, and does nothing else: when it is captured, nothing like it tells what the faults of tracking cost it.
compile lonely <<'C'
#include <stdio.h>
#include <sys/mman.h>
static void write_all(char *block, long bytes, int round)
{
    #pragma omp parallel for
    for (long i = 0; i < bytes; i += 4096)
        block[i] = (char)(block[i] + round);
}
int main(void)
{
    long bytes = 64l << 20;
    char *block = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(block, (size_t)bytes, MADV_NOHUGEPAGE);
    madvise(block, (size_t)bytes, MADV_POPULATE_WRITE);
    for (long i = 0; i < bytes; i += 4096)
        block[i] = 1;
    fprintf(stderr, "runs\n");
    write_all(block, bytes, 1);
    return block[4096] != 2;
}
C
# On a busy machine the run around it takes so long that a percent of it is more than that.
for _ in $(seq 40); do
    run "$PCERE" capture --force --json -o lonely.pcere ./lonely
    [ "$(json .runs)" = 2 ] && break
done
if jq -e .tracking .out >/dev/null; then
    is "where stops may have changed times, the program runs a second time" "$(json .runs)" 2
    holds "and the reason says by how much" jq -e '.second_run_reason | test("stops may have changed times by [0-9.]+ % of the run")' .out
    holds "then it is not stopped: its time is that of the second run" jq -e '(.stops | length) == 2' .out
    lonely_ns=$(json '.regions[0].time_ns')
    # The faults of tracking would make it ten times as long and more; so might something else that runs.
    like_plain='.regions[0].time_ns as $plain | $lonely < 4 * $plain and $plain < 4 * $lonely'
    run "$PCERE" capture --two-runs --force --json -o lonely.pcere ./lonely
    for _ in $(seq 40); do
        jq -e --argjson lonely "$lonely_ns" "$like_plain" .out >/dev/null && break
        run "$PCERE" capture --force --json -o lonely.pcere ./lonely
        [ "$(json .runs)" = 2 ] && lonely_ns=$(json '.regions[0].time_ns')
        run "$PCERE" capture --two-runs --force --json -o lonely.pcere ./lonely
    done
    holds "as if it had never been disturbed" jq -e --argjson lonely "$lonely_ns" "$like_plain" .out
else
    echo "left out: the kernel does not track writes, so no time is changed by it"
fi

# ---- work that goes up and down by chance: what a captured invocation takes is not to be told from others -----------------------------
compile chance <<'C'
#include <stdio.h>
static double u[4000], v[4000];
static int repeats;
static void step(void)
{
#pragma omp parallel for
    for (int i = 0; i < 4000; i++) {
        double t = u[i];
        for (int k = 0; k < repeats; k++)
            t = t * 0.99 + 0.01 / (1 + t * t);
        v[i] = t;
    }
}
int main(void)
{
    unsigned state = 3;
    for (int i = 0; i < 1000; i++) {
        state = state * 1664525u + 1013904223u;
        repeats = 2 + (int)(state >> 16) % 30;
        step();
    }
    printf("%g\n", v[5]);
    return 0;
}
C
# By chance the captured ones may all have neighbours that agree.
for _ in $(seq 10); do
    run "$PCERE" capture --force --json -o chance.pcere ./chance
    jq -e '.second_run_reason // "" | test("count, by [0-9.]+ % of the run")' .out >/dev/null && break
done
holds "where work goes up and down by chance, a run without stops tells what captured invocations take" jq -e '.second_run_reason // "" | test("count, by [0-9.]+ % of the run")' .out
run "$PCERE" capture --one-run --force --json -o chance.pcere ./chance
is "--one-run is one run there, too" "$(json .runs)" 1

# ---- the NAS benchmarks ----------------------------------------------------------------------------------------------------------------
make -s -C "$SOURCE/cNPB" CLASS=S CFLAGS="-O3 -g -fpass-plugin=$(plugin)" BINDIR="$work/bin" OBJDIR="$work/obj" cg ep is lu >make.log 2>&1 ||
    { cat make.log; not_ok "the benchmarks are built"; }
for name in cg ep is lu; do holds "one run does for $name of class S" one_run_does "bin/$name.S"; done

# ---- regions that weigh something only together ----------------------------------------------------------------------------------------
# None of the 300 is worth a stop by itself, and all of them cost more than a capture may.
compile lights <<'C'
static double a[3000];
#define LIGHT(n) static void light_##n(void) { _Pragma("omp parallel for") for (int i = 0; i < 3000; i++) a[i] = a[i] * 0.9 + n; }
#define TEN(X, t) X(t##0) X(t##1) X(t##2) X(t##3) X(t##4) X(t##5) X(t##6) X(t##7) X(t##8) X(t##9)
#define HUNDRED(X, h) TEN(X, h##0) TEN(X, h##1) TEN(X, h##2) TEN(X, h##3) TEN(X, h##4) TEN(X, h##5) TEN(X, h##6) TEN(X, h##7) TEN(X, h##8) TEN(X, h##9)
#define ALL(X) HUNDRED(X, 1) HUNDRED(X, 2) HUNDRED(X, 3)
ALL(LIGHT)
#define CALL(n) light_##n();
int main(void)
{
    for (int step = 0; step < 4000; step++) { ALL(CALL) }
    return a[7] > 1000000;
}
C
for _ in $(seq 20); do
    run "$PCERE" capture --one-run --force --json -o lights.pcere ./lights
    [ "$(json '[.regions[].classes[] | select(.captured and .representative > 4)] | length >= 10')" = true ] &&
        [ "$(json '.notes | map(test("--all-classes")) | any')" = true ] && break
done
holds "light regions are captured beside others" jq -e '[.regions[].classes[] | select(.captured and .representative > 4)] | length >= 10' .out
holds "a note says what they take that have no codelet, and what captures them" jq -e '.notes | map(test("of the regions. time has no codelet.*--all-classes")) | any' .out
holds "the document tells what has one" jq -e '.covered_ratio > 0 and .covered_ratio < 0.99' .out
some=$(json '[.regions[] | select(.status == "captured") | .region][0]')
run "$PCERE" verify --json lights.pcere "$some"
holds "such codelets are the program's memory" jq -e '[.codelets[] | .identical] | all' .out
finish
