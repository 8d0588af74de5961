# With --iterations labels are the same for every schedule, chunk and number of threads, and what an iteration did is counted exactly.
source "$SOURCE/tests/cli/common.sh"
plugin=$("$PCERE" version --plugin)

cat >loops.c <<'C'
#include <stdio.h>
#include <stdlib.h>
static double a[60];
#ifndef SCHEDULE
#define SCHEDULE runtime
#endif
int main(void) {
    #pragma omp parallel
    {
        #pragma omp for schedule(SCHEDULE)
        #pragma clang loop vectorize(disable) unroll(disable)
        for (int i = 0; i < 60; i++)
            for (int j = 0; j <= i; j++) a[i] = a[i] * 3.0;
        #pragma omp for schedule(SCHEDULE) collapse(2) nowait
        for (unsigned long i = 8; i > 3; i--)
            for (int j = 0; j < 6; j += 2) a[i * 6 + (unsigned long)j]++;
        #pragma omp for schedule(SCHEDULE)
        for (short i = -5; i < 7; i++) {
            #pragma omp task firstprivate(i)
            a[i + 5]++;
            if (i % 2) {
                #pragma omp task firstprivate(i)
                a[i + 20]++;
            }
        }
        #pragma omp sections
        {
            a[1]++;
            #pragma omp section
            a[2]++;
            #pragma omp section
            {
                #pragma omp task
                a[3]++;
            }
        }
        #pragma omp for simd schedule(static, 7)
        for (int i = 0; i < 60; i++) a[i] = a[i] + 1.0;
        #pragma omp for ordered schedule(SCHEDULE)
        for (int i = 0; i < 9; i++) {
            #pragma omp ordered
            a[i]++;
        }
    }
    printf("%g\n", a[7]);
    return 0;
}
C
build() { PCERE_COUNT=${2:-iterations} "$CLANG" -g -fopenmp -fpass-plugin="$plugin" ${3:--O2} ${4:-} loops.c -o "$1" 2>/dev/null; }
labels() { "$PCERE" profile -q --force --json --iterations "$@" 2>/dev/null | jq -r '.xus[] | "\(.type) \(.label)"' | sort; }
build loops
OMP_SCHEDULE=static labels --threads 1 ./loops >first
is "each iteration, section and task is one XU" "$(cut -d' ' -f1 first | sort | uniq -c | xargs)" "156 iteration 3 section 19 task"
is "none twice" "$(uniq -d first | wc -l)" 0
for threads in 1 2 4; do
    for schedule in static static,3 dynamic dynamic,4 guided,3; do
        OMP_SCHEDULE=$schedule labels --threads "$threads" ./loops >others
        holds "schedule($schedule) on $threads threads has the same labels" cmp first others
    done
done
for schedule in static 'static,5' 'dynamic,3' 'guided'; do   # other programs: the compiler writes other loops for each
    build fixed iterations -O0 "-DSCHEDULE=$schedule"
    labels --threads 2 ./fixed >others
    holds "so has a program whose schedule($schedule) is in its source" cmp first others
done
run "$PCERE" profile --force --json ./loops --threads 2; says "without --iterations ranges are XUs" 0
is "not iterations" "$(json '[.xus[] | select(.type == "iteration")] | length')" 0

# What an iteration did, whatever range it came in
build counted ir,iterations
of() { "$PCERE" profile -q --force --json --iterations --events "$1" "${@:2}" ./counted 2>/dev/null | jq -c '[.xus[] | select(.type == "iteration" and (.construct | endswith(":10"))) | .counts[]]'; }
is "iteration i has i + 1 operations" "$(OMP_SCHEDULE=dynamic,7 of ir-flops-double-scalar --threads 3)" "[$(seq -s, 60)]"
is "also in static ranges" "$(OMP_SCHEDULE=static of ir-flops-double-scalar --threads 4)" "[$(seq -s, 60)]"
"$PCERE" profile -q --force --iterations --events ir-instructions,ir-flops-double-scalar --trace counted.trace ./counted
run "$CONSERVATION" counted.trace ir-instructions ir-flops-double-scalar; says "nothing is lost, and nothing there twice" 0

# Runs of other schedules and teams become one profile
OMP_SCHEDULE=static,3 "$PCERE" profile -q -o one.pcx --iterations --threads 1 --events ir-flops-double-scalar ./counted
OMP_SCHEDULE=guided "$PCERE" profile -q -o four.pcx --iterations --threads 4 --events ir-stores,page-faults ./counted
run "$PCERE" combine --json one.pcx four.pcx; says "profiles of other schedules and numbers of threads combine" 0
is "iteration by iteration" "$(json '[.xus[] | select(.type == "iteration") | .counts | select(has("ir-flops-double-scalar") and has("ir-stores") and has("page-faults"))] | length')" 156
is "with nothing left out" "$(json '.dropped | length')" 0
"$PCERE" profile -q -o ranges.pcx --threads 4 --events ir-loads ./counted
run "$PCERE" combine --json four.pcx ranges.pcx; says "but not with a profile of ranges" 4 err 'four.pcx has an XU for each iteration, ranges.pcx one for each range' err 'hint: .*--iterations'
OMP_SCHEDULE=guided "$PCERE" profile -q -o two.pcx --threads 2 --events ir-loads ./counted
run "$PCERE" combine --json two.pcx ranges.pcx; says "and profiles of ranges must have the same number of threads" 4 err 'ran with 2 and 4 threads'

# The label graph has them
"$PCERE" profile -q --force --iterations --graph graph.dot --graph-nodes 1000 ./loops
is "each iteration is a grey box of the label graph" "$(grep -c 'iterations from.*grey\|iteration.*fillcolor' graph.dot)" 156

# Codelets are built to tell them
"$CLANG" -O2 -g -fopenmp -fpass-plugin="$plugin" loops.c -o captured
OMP_SCHEDULE=dynamic,2 OMP_NUM_THREADS=2 "$PCERE" capture -q --all-classes -o captured.pcere ./captured
labels --threads 2 captured.pcere | sed 's/ 0\.[~0-9]*/ 0.1/' >others
holds "a codelet has the labels of the program" cmp first others

# Where a loop tells nothing, that is said
"$CLANG" -O2 -g -fopenmp -fpass-plugin="$plugin" loops.c -o silent
run "$PCERE" profile --force --iterations ./silent; says "a program that tells no iterations is refused" 4 err 'not compiled to tell the iterations' err 'hint: .*PCERE_COUNT=iterations'
cat >half.c <<'C'
extern int told(void);
volatile int s[40];
int main(void) {
    #pragma omp parallel for num_threads(2)
    for (int i = 0; i < 40; i++) s[i]++;
    return told();
}
C
printf 'volatile int t[10];\nint told(void) {\n#pragma omp parallel for num_threads(2)\nfor (int i = 0; i < 10; i++) t[i]++;\nreturn 0; }\n' >told.c
"$CLANG" -O1 -g -fopenmp -c half.c -o half.o && PCERE_COUNT=iterations "$CLANG" -O1 -g -fopenmp -fpass-plugin="$plugin" half.o told.c -o half
run "$PCERE" profile --json --iterations ./half; says "one of which some loops tell them is profiled" 0
is "with ranges beside iterations" "$(json '[.xus[].type] | group_by(.) | map("\(length) \(.[0])") | join(", ")')" "10 iteration, 2 static range"
holds "and that is said" jq -e '.runs[0].blind | any(test("^2 ranges are one XU each"))' .out
finish
