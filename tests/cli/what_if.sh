# What a traced program would take otherwise: graphs with known answers, and a real program with another number of threads.
source "$(dirname "$0")/common.sh"
cat >graph.dot <<'END'
digraph { a [work_ns=10000, place="main.c:1"]; b [work_ns=60000, place="slow.c:7"]; c [work_ns=20000, place="fast.c:9"]; d [work_ns=10000, place="main.c:2"];
  a -> b; a -> c; b -> d; c -> d }
END
run "$PCERE" metrics what-if graph.dot --threads 1,2 --json; says "a graph is run again in thought" 0 out 'predictions'
is "with one worker all work, with two the long path" "$(json '.runs[0].predictions | map(.as_it_is_ns) | join(" ")')" "100000 80000"
is "nothing changed" "$(json '.runs[0].predictions | map(.what_if_ns == .as_it_is_ns) | all')" true
is "slack of the short side" "$(json '.runs[0].places[] | select(.place == "fast.c:9") | .least_slack_ns')" 40000
is "what the long one is worth" "$(json '.runs[0].places[] | select(.place == "slow.c:7") | [.twice_as_fast_ns, .critical_ns] | join(" ")')" "50000 60000"
run "$PCERE" metrics what-if graph.dot --threads 2 --faster slow.c=3 --json; says "three times faster" 0
is "the short side is as long now" "$(json '.runs[0].predictions[0] | [.as_it_is_ns, .what_if_ns, .heft_ns, .bound_ns] | join(" ")')" "80000 40000 40000 40000"
run "$PCERE" metrics what-if graph.dot --threads 4 --split slow.c=3 --json; says "three tasks of one" 0
is "side by side" "$(json '.runs[0].predictions[0].what_if_ns')" 40000
run "$PCERE" metrics what-if graph.dot --threads 4 --split slow.c=3 --join slow.c=3 --json; says "and one again" 0
is "as it was" "$(json '.runs[0].predictions[0].what_if_ns')" 80000
run "$PCERE" metrics what-if graph.dot --threads 2 --csv; says "as CSV" 0 out '^graph\.dot,2,0\.080,0\.080,0\.080,0\.080,62\.5$'
run "$PCERE" metrics what-if graph.dot; says "as tables" 0 out 'slow\.c:7 +task +1 +0\.060 +0\.060 +0\.000'
run "$PCERE" metrics what-if graph.dot --faster nowhere=2; says "a place that is not there" 0 err "no task's place contains 'nowhere'"
run "$PCERE" metrics what-if graph.dot --faster slow.c=fast; says "no number" 2 err "'fast' is no number"
run "$PCERE" metrics what-if graph.dot --split slow.c=1.5; says "half a task" 2 err "'1.5' is no number"
run "$PCERE" metrics omp graph.dot --faster 2; says "an option of another question" 2 err 'what would be'
echo 'digraph { a -> b; b -> a }' >cycle.dot
run "$PCERE" metrics what-if cycle.dot; says "a cycle" 4 err 'cycle: '

cat >loops.c <<'END'
#include <stdio.h>
#include <unistd.h>
static volatile double v[64];
static void work(int n) { for (int i = 0; i < n * 2000; i++) v[n & 63] += i; }
int main(void)
{
    usleep(50000);                                  /* before the runtime has an initial task */
    work(40);
    #pragma omp parallel for
    for (int i = 0; i < 60; i++) work(i < 30 ? 30 : 10);
    #pragma omp parallel for schedule(dynamic, 2)
    for (int i = 0; i < 60; i++) work(20);
    #pragma omp parallel
    #pragma omp single
    for (int i = 0; i < 10; i++) {
        #pragma omp task
        work(40);
    }
    printf("%g\n", v[3]);
}
END
"$CLANG" -O1 -g -fopenmp loops.c -o loops || { echo "skip: this clang makes no OpenMP program"; exit 77; }
run "$PCERE" trace --threads 1 ./loops; says "a program is traced with one thread" 0
run "$PCERE" metrics what-if loops.pct --threads 1,2,5,100 --json; says "how long with others" 0
# One thread more can take longer, if times are unlucky, but never longer than Graham's bound: work / threads + the longest path that the others wait for. The work is
# that of the graph with so many threads: what each thread does of a region (its body) comes once more with each, and is long where the traced one was interrupted.
is "with one: all work; more threads are as much faster as they must be, none is below the bound" "$(json '.runs[0].predictions as $p | $p[0].bound_ns as $work | $p[3].bound_ns as $path |
    $p[0].as_it_is_ns == $work and ($p | all(.as_it_is_ns >= .bound_ns and .heft_ns >= .bound_ns and .heft_ns <= .busy_ratio * .what_if_ns + $path * (1 - 1 / .threads) + 1))')" true
is "the parts of the program are there" "$(json '[.runs[0].places[] | select(.count >= 10) | .kind + (.count | tostring)] | unique | map(select(test("chunk|task"))) | join(" ")')" "chunk100 chunk30 task10"
is "what came before the first region is in all of them" "$(json '.runs[0].predictions | all(.as_it_is_ns >= 50000000 and .heft_ns >= 50000000)')" true
is "what a thread takes is what it took" "$(json '.runs[0] | .predictions[0].as_it_is_ns <= .traced_ns')" true
finish
