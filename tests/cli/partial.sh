# What a prediction says where something is missing: no samples, one thread count, a region that fails, a machine that did not make the capture, a budget that is too small. Never a silent zero.
source "$SOURCE/tests/cli/common.sh" || exit 1
machine_passes

# bound() works in no other process than its own: a codelet of it fails. The serial part does four times as much with two threads.
compile work <<'C'
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#define N 400000
static double x[N], y[N];
static pid_t own;
static void sweep(int step)
{
#pragma omp parallel for
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 20; k++) y[i] = y[i] * 0.5 + x[i] + step;
}
static void bound(int step)
{
#pragma omp parallel for
    for (int i = 0; i < N; i++) {
        if (i % 100000 == 0 && getpid() != own) abort();
        for (int k = 0; k < 20; k++) x[i] = x[i] * 0.5 + y[i] * 0.25 + step;
    }
}
int main(void)
{
    own = getpid();
    for (int step = 0; step < 20; step++) { sweep(step); bound(step); }
    double sum = 0;
    for (int turn = 0; turn < (omp_get_max_threads() > 1 ? 8 : 2); turn++)
        for (int i = 0; i < N; i++) sum += x[i] * turn;
    printf("%g\n", sum);
    return 0;
}
C
# Classes of one region are one: what is asked is how often something was replayed, not how times fall.
# And both weigh much: where the machine stood still outside of regions they might weigh so little that no replay is needed.
for _ in $(seq 40); do
    run "$PCERE" capture --force --one-run --max-classes 1 --all-classes --json ./work
    jq -e '[.regions[].share_ratio] | length == 2 and min > 0.2' .out >/dev/null && break
done
says "a program with a region that cannot be replayed is captured" 0
is "both of its regions" "$(json '[.regions[] | .status + " " + (.classes | length | tostring)] | join(", ")')" "captured 1, captured 1"
of() { jq -r --arg name "$1" ".predictions[$2].regions[] | select(.region | startswith(\$name)) | $3" .out; }

# ---- much was not captured ---------------------------------------------------------------------------------------------------
mkdir apart
run "$PCERE" capture --force --one-run --max-classes 1 --regions sweep -o apart/work.pcere ./work; says "one region alone is captured" 0
run "$PCERE" replay --threads 1,2 --sample off --repeat 3 apart/work.pcere; says "and replayed" 0 out 'sweep@'
run "$PCERE" predict --threads 1,2 --json apart/work.pcere
guessed=$(json '.predictions[1] | ((.parts_ns.scaled // 0) + (.parts_ns.in_vivo // 0) - .missing_ns) > 0.1 * .time_ns')
run "$PCERE" predict --threads 1,2 apart/work.pcere
is "that a number has no ground where the other one is much of it is said for two threads ($guessed), not for the capture's" \
    "$(grep -c '^GUESSED with 2 threads: [0-9.]* % of the time, .* Take the interval, .* to .*, not the number' .out) $(grep -c '^GUESSED with 1 thread' .out)" \
    "$([ "$guessed" = true ] && echo 1 || echo 0) 0"

# A region that waits for what the program's other threads do can never be had.
compile pool -pthread <<'C'
#include <pthread.h>
#include <stdio.h>
#define N 100000
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wanted = PTHREAD_COND_INITIALIZER, done = PTHREAD_COND_INITIALIZER;
static long jobs, results;
static double x[N];
static void *works(void *unused)
{
    for (;;) {
        pthread_mutex_lock(&lock);
        while (!jobs) pthread_cond_wait(&wanted, &lock);
        jobs--;
        pthread_mutex_unlock(&lock);
        double sum = 0;
        for (int i = 0; i < 40 * N; i++) sum = sum * 0.5 + i;
        pthread_mutex_lock(&lock);
        results += sum > 0;
        pthread_cond_broadcast(&done);
        pthread_mutex_unlock(&lock);
    }
    return unused;
}
static void gives(void)
{
#pragma omp parallel for
    for (int i = 0; i < 8; i++) {
        pthread_mutex_lock(&lock);
        long before = results;
        jobs++;
        pthread_cond_signal(&wanted);
        while (results == before) pthread_cond_wait(&done, &lock);
        pthread_mutex_unlock(&lock);
    }
}
static void fills(void)
{
#pragma omp parallel for
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 20; k++) x[i] = x[i] * 0.5 + i;
}
int main(void)
{
    pthread_t worker;
    pthread_create(&worker, NULL, works, NULL);
    for (int step = 0; step < 4; step++) fills();
    gives();
    puts(results == 8 ? "PASS" : "FAIL");
    return 0;
}
C
run "$PCERE" capture --two-runs --all-classes -o apart/pool.pcere ./pool; says "a region gives its work to a thread of the program's own" 0 out PASS
is "which cannot be captured" "$(jq -r '.regions[] | select(.region | startswith("gives@")) | .status' apart/pool.pcere/manifest.json)" invalid
run "$PCERE" replay --threads 1,2 --repeat 2 apart/pool.pcere; says "the other one is replayed" 0 out 'fills@'
run "$PCERE" predict --threads 1,2 apart/pool.pcere
says "a prediction says why the time is a guess, and nothing that would not help" 0 out '^GUESSED with 2 threads: .*gives@pool.c:[0-9]+ cannot be had: it did not come to its end while'
is "such as more classes" "$(grep -c 'all-classes' .out)" 0

# ---- nothing was measured --------------------------------------------------------------------------------------------------
run "$PCERE" predict; says "without samples there is no prediction, but the command that gives one" 4 err 'was not replayed with 1 thread' err 'hint: .*pcere replay --threads 1'
holds "and no number" test ! -s .out
run "$PCERE" predict --json; holds "a document neither" sh -c '[ ! -s .out ] || jq -e ".predictions == null" .out'
run "$PCERE" report --json; is "a report has no prediction" "$(json '.predictions | length')" 0

# ---- a region fails ---------------------------------------------------------------------------------------------------------
run "$PCERE" replay --threads 1,2 --sample off --repeat 3
says "a codelet that fails is told, and the others are replayed" 1 out 'bound@' out 'sweep@work.c:[0-9]+ #[0-9]+ '
run "$PCERE" predict --threads 1,2
says "the prediction goes on without it, and says so" 0 out '^MISSING with 1 thread: 1 codelet was not replayed \(bound@work.c.*pcere replay --threads 1' out '^MISSING with 2 threads: 1 codelet' \
    out '^with 1 thread: .* as in the capture.s run, .* outside regions'
run "$PCERE" predict --threads 1,2 --json
is "so does the document" "$(json '[.predictions[] | .missing] | join(" ")')" "1 1"
is "at the capture's thread count it keeps its time in vivo" "$(of bound 0 '.basis + " " + (.classes[0].missing | tostring)')" "in_vivo true"
holds "which is no zero" jq -e '.predictions[0] | .missing_ns > 0 and .parts_ns.in_vivo >= .missing_ns' .out
# What was replayed counts for nothing where a busy machine makes it take three times what it took in the program.
holds "elsewhere it scales as what was replayed, if that is any measure" test "$(of bound 1 .basis)" = "$(of sweep 1 'if .basis == "replay" then "scaled" else "in_vivo" end')"
holds "with an interval from no scaling to perfect scaling" jq -e --slurpfile capture work.pcere/manifest.json '.predictions[1].regions[] | select(.region | startswith("bound")) |
    .low_ns <= .time_ns and .time_ns <= .high_ns and .high_ns > 1.5 * .low_ns' .out
holds "the parts are the whole" jq -e '[.predictions[] | ([.parts_ns[]] | add) == .time_ns] | all' .out
run "$PCERE" report --json
is "a report has it, too" "$(json '[.predictions[0].predictions[] | .missing] | join(" ")')" "1 1"
run "$PCERE" predict --threads 3,1,7
says "thread counts at which nothing was replayed do not keep another from being predicted" 0 out '^ +3 \*?.*not replayed' out '^ +1 +[0-9].*\[' out '^ +7 \*?.*not replayed' \
    out '^MISSING with 3 threads: all, since .*pcere replay .*--threads 3,1,7'
run "$PCERE" predict --threads 3,1,7 --json
is "nor in the document" "$(json '[([.predictions[].threads] | tojson), ([.not_predicted[] | select((.reason | length) > 0 and (.hint | length) > 0) | .threads] | tojson)] | join(" ")')" "[1] [3,7]"
holds "where there is no number for them" jq -e '[.predictions[].time_ns] | length == 1 and .[0] > 0' .out
run "$PCERE" predict --threads 3,7
says "where nothing was replayed at any there is no prediction" 4 err 'with 3 threads' err 'hint: .*--threads 3,7'
run "$PCERE" predict --threads 3,1 --measure --repeat 1 --json
is "what cannot be predicted is not measured" "$status $(json '[.predictions[] | .threads, .real_runs] | tojson')" '0 [1,1]'

# ---- more threads than the program made memory for -----------------------------------------------------------------------------
compile sized <<'C'
#include <omp.h>
#include <stdlib.h>
static struct part { struct part *next; double values[1 << 20]; } *first;
int main(void)
{
    for (int t = 0; t < omp_get_max_threads(); t++) {        /* a list, in which no number of the capture's threads is followed */
        struct part *part = calloc(1, sizeof *part);
        part->next = first;
        first = part;
    }
    #pragma omp parallel
    {
        struct part *part = first;
        for (int t = omp_get_thread_num(); t > 0; t--) part = part->next;
        for (int i = 0; i < 1 << 20; i++) part->values[i] += i;
    }
    return 0;
}
C
run "$PCERE" capture --force -o sized.pcere ./sized
run "$PCERE" replay sized.pcere --threads 3
says "a codelet that crashes with more threads than its capture had says what to try" 1 err 'crashed' err 'hint: .*made that for 1: pcere capture --threads 3'
rm -r sized.pcere

# ---- one thread count -------------------------------------------------------------------------------------------------------
mkdir one && cp -r work.pcere one/
rm one/work.pcere/samples.jsonl
run "$PCERE" replay one/work.pcere sweep --threads 2 --sample off --repeat 3
run "$PCERE" predict one/work.pcere
says "of one thread count there is no speed-up" 0 out '^ +2 .* - ' out 'one thread count tells of no speed-up'
run "$PCERE" predict one/work.pcere --json
is "nor a law" "$(json '[.amdahl, .predictions[0].speedup] | tojson')" '[null,null]'

# ---- another machine --------------------------------------------------------------------------------------------------------
PCERE_HOST=elsewhere run "$PCERE" predict
says "a machine without samples is not taken for the one that made the capture" "$status" err "elsewhere"
holds "and not predicted" test "$status" -ne 0
PCERE_HOST=elsewhere run "$PCERE" replay sweep --threads 1 --sample off --repeat 3
PCERE_HOST=elsewhere run "$PCERE" predict --threads 1
says "with some samples it is said whose times the others are" 0 out 'captured on another machine' out '^MISSING with 1 thread'
is "the document, too" "$(PCERE_HOST=elsewhere "$PCERE" predict --threads 1 --json 2>/dev/null | jq -c '[.captured_elsewhere, .predictions[0].missing, .serial_basis]')" '[true,1,"in_vivo"]'

# ---- a serial part that changes ------------------------------------------------------------------------------------------------
run "$PCERE" predict --threads 1,2 --measure --repeat 1
says "real runs are made" 0
# Whether the two differ is for the clock to say, since this machine may have other work.
sentence='^real runs with 2 threads spent .* outside regions, .* against 1 thread: .*--measured-serial'
run "$PCERE" predict --threads 1,2
told=$(grep -cE "$sentence" .out)
run "$PCERE" predict --threads 1,2 --json
is "what they spent outside regions is told where it is another than with the capture's number of threads" "$told" "$(json '(.predictions[0].real_serial_ns) as $usual | .predictions[1] | if (.real_serial_ns / $usual - 1 | fabs) > 0.05 then 1 else 0 end')"
run "$PCERE" predict --threads 1,2 --measured-serial
holds "and where they count, there is nothing to tell" test "$(grep -c 'real runs with' .out)" = 0

# ---- budgets ----------------------------------------------------------------------------------------------------------------
run "$PCERE" replay sweep --threads 1,2 --budget 1ms --json
says "a budget that is too small still measures each codelet once" 0 err 'budget of 1.00 ms was not enough'
holds "and says that it was exceeded" jq -e '.cost_ns > .budget_ns and .budget_exceeded and ([.replays[].samples_ns | length] | min >= 1)' .out
holds "in one process each, none of which runs whole for the budget's sake" jq -e '[.replays[] | .processes == 1 and (.sample_refusal // "" | test("budget") | not)] | all' .out
run "$PCERE" predict --threads 2 --json
holds "what is known then has a wide interval" jq -e '.predictions[0] | (.high_ns - .low_ns) / .time_ns > 0.1' .out
begin=$(date +%s%N)
run "$PCERE" replay sweep --threads 1,2 --sample off --warmup plain --precision 80% --budget 60s --json
took=$(($(date +%s%N) - begin))
says "a budget that is enough" 0
holds "is kept" jq -e '(.budget_exceeded | not) and .cost_ns <= .budget_ns' .out
holds "and a precision that can be had is had" jq -e '[.replays[] | .processes >= 2 and .precision_ratio <= 0.8] | all' .out
holds "the codelets' costs are the whole cost" jq -e '([.replays[].cost_ns] | add) as $sum | .cost_ns >= $sum and .cost_ns - $sum < 0.1 * $sum + 2e7' .out
holds "which is, with building, no more than what the command took, and nearly all of it" jq -e --argjson took "$took" '.cost_ns + .build_ns | . <= $took and . > 0.3 * $took' .out
run "$PCERE" replay sweep --threads 1 --precision 0.0001% --budget 100ms
says "a precision that was not reached is told" 0 out 'only precise to|only one process fitted'
# Processes of earlier commands count, too, so that there are two at least.
same='--threads 1 --warmup plain --sample off'
# shellcheck disable=SC2086
{
    run "$PCERE" replay sweep $same --repeat 2
    run "$PCERE" replay sweep $same --precision 0.0001% --budget 100ms
    says "a precision below what processes differ by is told" 0 out 'a precision of .* lies below what this machine does to the same work: with 1 thread processes of one codelet differ by .* \(standard deviation, [0-9]+ processes\)'
    run "$PCERE" replay sweep $same --precision 0.0001% --budget 100ms --json
    holds "the document says by how much" jq -e '.own_spread | length == 1 and (.[0] | .threads == 1 and .processes >= 3 and .process_ratio > 0 and .precision_below)' .out
    run "$PCERE" replay sweep $same --precision 90% --budget 100ms --json
    holds "not of one that asks for little" jq -e '.own_spread[0] | .precision_below == (.process_ratio > 0.9 or (.pair_ratio // 0) > 0.9)' .out
    run "$PCERE" predict --threads 1 --json
    holds "a prediction says so without a run" jq -e '.predictions[0] | .processes >= 4 and .process_ratio > 0' .out
}
# ---- thread counts that nobody named -----------------------------------------------------------------------------------------
mkdir counts
cd counts || exit 1
compile two <<'C'
static double a[200000];
int main(void)
{
    for (int i = 0; i < 20; i++)
#pragma omp parallel for
        for (int j = 0; j < 200000; j++)
            for (int k = 0; k < 40; k++) a[j] = a[j] * 0.5 + k;
#pragma omp parallel for
    for (int j = 0; j < 500; j++)
        a[j] += j;
    return a[3] < 0;
}
C
run "$PCERE" capture --one-run --max-classes 1 --all-classes ./two
run "$PCERE" replay two.c:5 --sample off --repeat 1 --threads 1,2
run "$PCERE" replay two.c:8 --sample off --repeat 1 --threads 1,4
run "$PCERE" predict --json
is "one with nearly all replays is predicted, one with hardly any is left out" "$(json '[.predictions[].threads] | tojson')" "[1,2]"
run "$PCERE" predict
says "and that is said" 0 err 'little was replayed with 4 threads:.*pcere predict --threads 4'
cp -r two.pcere apart
rm apart/samples.jsonl
run "$PCERE" replay apart two.c:5 --sample off --repeat 1 --threads 2 --flags "-O1 -g0"
run "$PCERE" replay apart two.c:8 --sample off --repeat 1 --threads 1 --flags "-O1 -g0"
run "$PCERE" predict apart --flags "-O1 -g0"
says "with the flags that they had" 0 err "little was replayed with 1 thread and -O1 -g0:.*pcere predict --flags '-O1 -g0' --threads 1 "
cd ..
finish
