# What a program counts itself goes to the XU that did it: exactly, and nothing of it is lost or there twice.
source "$SOURCE/tests/cli/common.sh"
plugin=$("$PCERE" version --plugin)

cat >counted.c <<'C'
#include <stdio.h>
static double a[1200];
static void add(int i, double x) { a[i] += x; }
int main(void) {
    #pragma omp parallel num_threads(2)
    {
        #pragma omp for schedule(static)
        #pragma clang loop vectorize(disable) unroll(disable)
        for (int i = 0; i < 1200; i++) a[i] = a[i] * 3.0;
        #pragma omp for schedule(dynamic, 100)
        #pragma clang loop vectorize(disable) unroll(disable)
        for (int i = 0; i < 1200; i++) a[i] = a[i] * 3.0 + 1.0;
        #pragma omp single
        for (int t = 0; t < 10; t++) {
            #pragma omp task firstprivate(t)
            #pragma clang loop vectorize(disable) unroll(disable)
            for (int i = 0; i <= t; i++) add(100 * t + i, 2.0);
        }
    }
    printf("%g\n", a[7]);
    return 0;
}
C
PCERE_COUNT=ir "$CLANG" -O2 -g -fopenmp -fpass-plugin="$plugin" counted.c -o counted
run "$PCERE" profile --force --json --events ir --trace counted.trace ./counted; says "a program that counts is profiled" 0
is "its events are those of ir" "$(json '[.events[] | .backend] | unique | join(",")')" ir
is "and there are all of them" "$(json '.events | length')" "$(grep -c '^PCERE_COUNT(' "$SOURCE/include/pcere/counts.inc")"
is "each static range has the operations of its iterations" "$(json '[.xus[] | select(.type == "static range") | .counts["ir-flops-double-scalar"]] | join(",")')" 600,600
is "each dynamic chunk, too" "$(json '[.xus[] | select(.type == "dynamic chunk") | .counts["ir-flops-double-scalar"]] | unique | join(",")')" 200
is "each task has those of its own" "$(json '[.xus[] | select(.type == "task") | .counts["ir-flops-double-scalar"]] | sort | join(",")')" 1,2,3,4,5,6,7,8,9,10
is "loads are counted in bytes, too" "$(json '[.xus[] | select(.type == "static range") | .counts["ir-load-bytes"] - 8 * 600 | . >= 0 and . < 64] | all')" true
run "$CONSERVATION" counted.trace ir-flops-double-scalar ir-instructions ir-stores ir-unseen-calls; says "XUs and what is outside of them make up the whole" 0
holds "all operations are in XUs" grep -qx 'ir-flops-double-scalar units 3655 outside 0 total 3655' .out
run "$PCERE" profile --force --json --events ir-instructions,ir-loads,page-faults ./counted; says "counts mix with the kernel's" 0
cp .out first.json
run "$PCERE" profile --force --json --events ir-instructions,ir-loads,page-faults ./counted
is "and are the same in the next run" "$(json '[.xus[] | select(.type == "static range") | .counts["ir-instructions"]] | join(",")')" \
   "$(jq -r '[.xus[] | select(.type == "static range") | .counts["ir-instructions"]] | join(",")' first.json)"

# Codelets are built to count: the captured program need not have been.
"$CLANG" -O2 -g -fopenmp -fpass-plugin="$plugin" counted.c -o captured
run "$PCERE" capture -q -o captured.pcere ./captured; says "a program that does not count is captured" 0
run "$PCERE" profile --force --json --threads 2 --events ir captured.pcere; says "its codelet counts" 0
is "each static range of the codelet has its operations" "$(json '[.xus[] | select(.type == "static range") | .counts["ir-flops-double-scalar"]] | join(",")')" 600,600
is "as many as in the program in all" "$(json '[.xus[].counts["ir-flops-double-scalar"]] | add')" 3655
run "$PCERE" capture -q -o counted.pcere ./counted; says "a program that counts is captured, too" 0
run "$PCERE" verify counted.pcere; says "and verifies" 0 out identical

for codes in mg lu; do
    PCERE_COUNT=ir "$CLANG" -std=gnu17 -O3 -g -fopenmp -DNPB_CLASS="'S'" -fpass-plugin="$plugin" -I"$SOURCE/cNPB/common" -I"$SOURCE/cNPB/$codes" "$SOURCE/cNPB/$codes/$codes.c" \
        "$SOURCE/cNPB/common/npb.c" -o "$codes" -lm
    run "$PCERE" profile --force --threads 2 --events ir-instructions,ir-load-bytes --trace "$codes.trace" "./$codes"; says "$codes that counts verifies itself" 0
    run "$CONSERVATION" "$codes.trace" ir-instructions ir-load-bytes; says "$codes: nothing is lost" 0
done

"$CLANG" -O2 -g -fopenmp counted.c -o uncounted
run "$PCERE" profile --force --events ir ./uncounted; says "a program that does not count is refused" 4 err 'was not compiled to count' err 'hint: .*PCERE_COUNT=ir'
run "$PCERE" profile --force --events ir-flops ./counted; says "a wrong name gets the nearest" 2 err "no event 'ir-flops'" err 'did you mean ir-'
finish
