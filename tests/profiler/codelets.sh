# Codelets are profiled like programs: their XUs have the labels that they have in the whole program, and --in-vivo holds both side by side.
source "$SOURCE/tests/cli/common.sh"

cat >work.c <<'C'
#include <stdio.h>
enum { N = 4096 };
static double a[N], b[N];
static void leaf(int i) {
    #pragma omp task firstprivate(i)
    for (int k = 0; k < 50; k++) b[i] += k * a[i];
}
int main(void) {
    #pragma omp parallel for
    for (int i = 0; i < N; i++) a[i] = i;
    for (int t = 0; t < 7; t++) {
        #pragma omp parallel
        {
            #pragma omp for schedule(dynamic, 512)
            for (int i = 0; i < N; i++) a[i] += t;
            #pragma omp single
            for (int i = 0; i < 20; i++) leaf(i);
        }
        #pragma omp parallel for schedule(static)
        for (int i = 0; i < N; i++) b[i] += a[i];
    }
    printf("%g\n", b[7]);
}
C
"$CLANG" -O2 -g -fopenmp -fpass-plugin="$(plugin)" work.c -o work || { echo "NOT OK: work.c does not compile"; exit 1; }
export OMP_NUM_THREADS=2
run "$PCERE" capture -q --all-classes -o work.pcere ./work
says "the program is captured" 0 out ''
for n in 1 2; do "$PCERE" profile -q -o "vivo$n.pcx" --events sw ./work >/dev/null 2>&1; done

matched=0 alone=0 regions=0
for region in $("$PCERE" regions work.pcere --json | jq -r '.regions[] | select(.status == "captured") | .region'); do
    regions=$((regions + 1))
    "$PCERE" profile -q work.pcere "$region" --threads 2 --events sw --in-vivo vivo1.pcx,vivo2.pcx --json --force -o "codelet$regions.pcx" >"codelet$regions.json" || not_ok "$region is profiled"
    matched=$((matched + $(jq .fidelity.matched_xus "codelet$regions.json")))
    alone=$((alone + $(jq '.fidelity.only_in_vivo_xus + .fidelity.only_in_vitro_xus' "codelet$regions.json")))
done
is "each of the three regions is profiled" "$regions" 3
is "all their XUs have labels of the program: 2 of each static loop, 8 chunks, 20 tasks" "$matched" 32
is "and no XU is on one side only" "$alone" 0
is "every event is held side by side, active times too" "$(jq -c '[.fidelity.events[].event][-2:]' "codelet$regions.json")" '["task-clock","active-time"]'
is "the profile says which region it is of" "$("$PCERE" compare --json codelet2.pcx codelet2.pcx | jq -r '.events | length > 0')" true
run "$PCERE" profile work.pcere work.c:12 --threads 2 --force --in-vivo vivo1.pcx
says "for people there is a table, and the comparison below it" 0 out 'Beside 1 profile of the program: 28 XUs match by label, 0 only there, 0 only here'
run "$PCERE" profile work.pcere work.c:12 --threads 1 --force -o one.pcx
says "other numbers of threads do as well" 0 out '^2[0-9] XUs.*1 thread, level'

run "$PCERE" profile --force work.pcere
says "one region is asked for" 2 err 'name one region'
run "$PCERE" profile --force work.pcere '*'
says "not several" 2 err 'several regions'
run "$PCERE" profile --force work.pcere nowhere
says "and one that exists" 2 err 'nowhere'
run "$PCERE" profile work.pcere work.c:12 --threads 1 --force --in-vivo vivo1.pcx
says "profiles with other numbers of threads are no reference" 4 err '2 and 1 threads'
run "$PCERE" profile work.pcere work.c:12 --threads 2 --force --in-vivo nothing.pcx
says "nor files that are not there" 2 err 'nothing.pcx'
head -c 300 vivo1.pcx >cut.pcx
run "$PCERE" profile work.pcere work.c:12 --threads 2 --force --in-vivo cut.pcx
says "nor cut ones" 4 err 'cut.pcx'
run "$PCERE" profile --in-vivo vivo1.pcx ./work
says "a program has no --in-vivo" 2 err 'is for codelets'
cp -r work.pcere damaged.pcere
# How many classes there are, and which of them is replayed, is a matter of times: all are damaged. What is cut differs for certain, where one byte might be what it was.
for codelet in damaged.pcere/codelets/*c_12-*.codelet; do truncate -s -5 "$codelet"; done
run "$PCERE" profile damaged.pcere work.c:12 --threads 2 --force
says "a damaged codelet is told" 4 err 'codelet'
finish
