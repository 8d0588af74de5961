# Events that one run cannot count: pcere profile plans the runs, makes them, and puts together one profile, of a program and of a codelet; or references with all pairs.
source "$SOURCE/tests/cli/common.sh"

cat >work.c <<'C'
#include <stdio.h>
#include <stdlib.h>
enum { N = 4096 };
static double a[N], b[N];
static void leaf(int i) {
    #pragma omp task firstprivate(i)
    for (int k = 0; k < 50 * i; k++) b[i] += k * a[i];
}
int main(int count, char **words) {
    for (int t = 0; t < 3; t++) {
        #pragma omp parallel
        {
            #pragma omp for schedule(dynamic, 512)
            for (int i = 0; i < N; i++) a[i] += t;
            #pragma omp single
            for (int i = 0; i < 20; i++) leaf(i);
        }
    }
    printf("run %g\n", b[7]);
    return count > 1 ? atoi(words[1]) : 0;
}
C
PCERE_COUNT=ir "$CLANG" -O2 -g -fopenmp -fpass-plugin="$(plugin)" work.c -o work || { echo "NOT OK: work.c does not compile"; exit 1; }
export OMP_NUM_THREADS=2
sums() { jq -c '[.events[].event] as $names | [$names[] as $n | {($n): ([.xus[].counts[$n]] | add)}] | add' "$1"; }
labelled() { jq -c '[.xus[] | {"label": .label, counts}] | sort_by(.label)' "$1"; }

run "$PCERE" profile --events ir -o all.pcx --json ./work
says "one run counts all events of the program" 0
cp .out all.json
run "$PCERE" profile --events ir --combine lgl --counters 4 -o lgl.pcx --json ./work
says "or five runs, of at most four events each" 0
cp .out lgl.json
is "fewer could not have 19" "$(jq -c '[.plan.runs, .plan.bound, .plan.events_per_run, .plan.pairs_impossible]' lgl.json)" '[5,5,4,0]'
is "the program ran five times" "$(grep -c '^run' .err)" 5
holds "which are not nothing" test "$(sums all.json | wc -c)" -gt 300
is "combined by labels all events are there, with the sums of the one run" "$(sums lgl.json)" "$(sums all.json)"
is "for each XU" "$(labelled lgl.json)" "$(labelled all.json)"
is "none was left out" "$(jq -c '[(.xus | length), .strategy, .dropped]' lgl.json)" '[84,"lgl",[]]'
is "and each event knows its run" "$(jq '[.events[].run] | unique | length' lgl.json)" 5
run "$PCERE" profile --events ir --combine bc --counters 4 --repeat 2 --force -o bc.pcx ./work
says "runs for bc overlap: six of four have 19 events; each ran twice" 0 out '^19 events in 6 sets x 2 repeats = 12 runs of at most 4 events; fewer sets are not possible$'
run "$PCERE" profile --events ir-loads,task-clock --combine lgl --repeat 3 --force -o bc.pcx --json ./work
says "repeats of one run" 0
holds "give intervals that hold the counts" jq -e '.plan.runs == 3 and ([.xus[] | .low["task-clock"] <= .counts["task-clock"] and .counts["task-clock"] <= .high["task-clock"]] | all)' .out
run "$PCERE" profile --events ir,sw --combine lgl -o one.pcx ./work
says "what one run can count is counted in one" 0 out '^25 events in 1 run of at most 25 events'

run "$PCERE" profile --events ir-loads,ir-stores,ir-branches,ir-calls --references --counters 3 --repeat 2 -o refs.pcx --json ./work
says "references have each pair of events together" 0
is "in one of the runs at least" "$(jq -c '[.files[].events | . as $e | $e[] as $x | $e[] as $y | select($x < $y) | [$x, $y]] | unique | length' .out)" 6
is "whose files are there" "$(ls refs.*.pcx | wc -l)" "$(jq '.files | length' .out)"
run "$PCERE" compare --epd "$(jq -r '[.files[].file] | join(",")' .out)" all.pcx --json
says "and to which profiles are compared" 0 out '"pairs"'
run "$PCERE" profile --events ir-loads,ir-stores --references -o refs.pcx ./work
says "they are not replaced unasked" 2 err 'refs.1.pcx.*exists' err '--force'

"$PCERE" capture -q --all-classes -o work.pcere ./work >/dev/null
run "$PCERE" profile --events ir --combine lgl --counters 4 --in-vivo all.pcx --json -o codelet.pcx --threads 2 work.pcere work.c:11
says "a codelet is replayed once for each set of events" 0
is "its XUs are the program's, with their counts" "$(jq -c '[.plan.runs, .fidelity.matched_xus, .fidelity.only_in_vivo_xus, .fidelity.only_in_vitro_xus,
    ([.fidelity.events[] | select(.event | startswith("ir-")) | .in_vivo == .in_vitro] | all)]' .out)" '[5,28,0,0,true]'

run "$PCERE" profile --events ir --combine lgl --counters 4 --force -o failing.pcx ./work 3
says "a program that fails ends it at the first run" 1 err 'exit'
is "with one run made, and nothing written" "$(grep -c '^run' .err) $(ls failing.pcx 2>/dev/null)" "1 "
run "$PCERE" profile --combine nearest ./work; says "strategies have names" 2 err "no strategy 'nearest'" err 'hint: lgl'
run "$PCERE" profile --counters 2 ./work; says "counters are about several runs" 2 err 'hint: --combine'
run "$PCERE" profile --combine lgl --references ./work; says "it is one or the other" 2 err 'exclude each other'
run "$PCERE" profile --combine lgl --trace kept --events sw ./work; says "one trace cannot be kept of several runs" 2 err 'about one run'
run "$PCERE" profile --combine bc --counters 1 --events sw --force ./work; says "one counter leaves nothing to recognise XUs by" 2 err 'cannot overlap'
run "$PCERE" profile --combine bc --counters 2 --events ir-loads,ir-stores,ir-calls --conflicts ir-loads+ir-stores,ir-loads+ir-calls,ir-stores+ir-calls --force ./work
says "what can be counted with nothing else is named" 3 err 'ir-loads cannot be counted together with any other' err 'lgl'
run "$PCERE" profile --csv --events ir-loads --force -o csv.pcx ./work
says "CSV has a line for each XU" 0 out '^label,type,construct,thread,cpu,start_ns,active_ns,ir-loads$' out ',task,leaf@work.c:6,[0-9]+,[0-9]+,[0-9]+,[0-9]+,[0-9]+$'
is "and nothing else" "$(wc -l <.out)" $((1 + $(jq '.xus | length' all.json)))
run "$PCERE" profile --csv --threads 2 --in-vivo all.pcx --force -o codelet.pcx work.pcere work.c:11
says "of a codelet, too" 0 out '^label,type,construct,thread,cpu,start_ns,active_ns$'
is "without what else there is to say" "$(grep -vc ',' .out)" 0
for words in "-o /no/such/folder/x.pcx" "--force --graph /no/such/folder/x.dot" "--force --trace /no/such/folder/x.pct"; do
    run "$PCERE" profile $words ./work; says "a folder that is not there (${words% *})" 5 err "cannot write '/no/such/folder/x" err '^hint: '
    is "is told before the program runs" "$(grep -c '^run' .err)" 0
done
touch taken.dot
run "$PCERE" profile -o fresh.pcx --graph taken.dot ./work; says "so is a graph that is there" 2 err "cannot write 'taken.dot': File exists"
is "before the program runs, too" "$(grep -c '^run' .err)$(ls fresh.pcx 2>/dev/null)" 0
run "$PCERE" profile --csv --json --force ./work; says "one format at a time" 2 out '.' err 'exclude each other'
run "$PCERE" profile --csv --references --events ir --force ./work; says "references are files" 2 err 'exclude each other'
finish
