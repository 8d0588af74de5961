# Captured at one level, replayed at another: the code changes, the results do not.
source "$(dirname "$0")/common.sh"
flags=-O0
program kinds kinds.c
captured kinds
run "$PCERE" verify --flags "-O3" --json kinds.pcere '*'
holds "-O3 codelets of an -O0 program leave the same memory outside the stack" \
    jq -e '(.codelets | length) > 10 and ([.codelets[] | .identical or ([.causes[].memory == "stack"] | all)] | all)' .out
# timed_with FLAGS LISTING [OPTION...]: replays a region of what was captured at -O0, and lists the machine code that was timed
timed_with() {
    local flags=$1 listing=$2
    shift 2
    rm -rf kinds.pcere/build
    run "$PCERE" replay kinds.pcere '*by_value*' --repeat 5 --threads 1 --json "$@"
    says "a region is timed with $flags" 0
    is "and its samples say so" "$(tail -n "$(json '.replays | length')" kinds.pcere/samples.jsonl | jq -r .flags | sort -u)" "${2:-}"
    is "one codelet was built for it" "$(find kinds.pcere/build -name codelet | wc -l)" 1
    objdump -d --no-show-raw-insn "$(find kinds.pcere/build -name codelet)" >"$listing"
}
# region_code FUNCTION LISTING: the code of what the compiler made of a function's regions
region_code() { awk -v name="<$1[.]omp_outlined" 'NF == 2 && /:$/ {on = $2 ~ name} on' "$2"; }
in_frame() { region_code by_value "$1" | grep -c '(%rbp)'; }
packed() { region_code main "$1" | grep -cE '[[:space:]]v?addpd[[:space:]]'; }
run "$PCERE" replay kinds.pcere '*by_value*' --repeat 2 --threads 1 --flags "-fno-math-errno -Wno-all"
says "flags without a level leave out all optimisation, which is said" 0 err "'-fno-math-errno -Wno-all' has no level of optimisation"
run "$PCERE" verify kinds.pcere '*by_value*' --threads 1 --flags "-march=native"
says "of a comparison, too" 0 err "'-march=native' has no level of optimisation"
run "$PCERE" replay kinds.pcere '*by_value*' --repeat 2 --threads 1 --flags "-march=native -O1"
is "not of flags with one" "$(grep -c 'level of optimisation' .err)" 0
# Times of 10 us say nothing for certain on a busy machine; the code does, and is the same on each.
timed_with "the program's own flags" own.s
timed_with "-O3 -march=native" fast.s --flags "-O3 -march=native"
holds "an -O0 codelet has its variables in memory: the code names $(in_frame own.s) of them" test "$(in_frame own.s)" -gt 50
holds "other flags reach it, and leave less than half of that ($(in_frame fast.s))" test "$(($(in_frame fast.s) * 2))" -lt "$(in_frame own.s)"
is "an -O0 codelet adds one number at a time" "$(packed own.s)" 0
holds "other flags let it add several ($(packed fast.s) such instructions)" test "$(packed fast.s)" -gt 0
if grep -q __AVX__ <("$CLANG" -march=native -dM -E -x c /dev/null); then
    holds "machine flags reach it: it has this processor's instructions of three operands" grep -qE '[[:space:]]v(add|mul|fmadd[0-9]*)sd[[:space:]]' <(region_code by_value fast.s)
    is "which an -O0 codelet has not" "$(region_code by_value own.s | grep -cE '[[:space:]]v[a-z0-9]*[sp]d[[:space:]]')" 0
fi
# wider CLASS LISTING: instructions of the regions of main that use such registers
wider() { region_code main "$2" | grep -c "%$1mm"; }
if grep -q __AVX2__ <("$CLANG" -march=native -dM -E -x c /dev/null); then
    timed_with "vectors of 128 bits" narrow.s --flags "-O3 -march=native -mprefer-vector-width=128"
    is "no register is wider" "$(wider y narrow.s) $(wider z narrow.s)" "0 0"
    timed_with "vectors of 256 bits" wide.s --flags "-O3 -march=native -mprefer-vector-width=256"
    holds "registers are as wide ($(wider y wide.s) instructions)" test "$(wider y wide.s)" -gt 0
    is "and no wider" "$(wider z wide.s)" 0
    run "$PCERE" verify --flags "-O3 -march=native -mprefer-vector-width=256" --json kinds.pcere '*by_value*'
    says "with the same results" 0
fi
program statics statics_one.c statics_two.c
flags=-O2
program statics statics_one.c statics_two.c
captured statics
run "$PCERE" verify --flags "-O1 -fno-vectorize" --json statics.pcere
says "another level of an optimised program leaves the same memory" 0
compile gaps -O3 <<'END'
#include <math.h>
#include <stdio.h>
static double x[100000];
double missing[4];
int main(void)
{
    for (int i = 0; i < 100000; i++)
        x[i] = i % 7 ? 1.0 / (i + 1) : NAN;
    for (int r = 0; r < 8; r++) {
#pragma omp parallel for
        for (int t = 0; t < 4; t++) {
            double local = 0;
            for (int i = t * 25000; i < t * 25000 + 25000; i++)
                local += isnan(x[i]);
            missing[t] = local;
        }
    }
    puts("PASS");
    return 0;
}
END
run "$PCERE" capture --all-classes ./gaps
run "$PCERE" verify gaps.pcere
says "a region that asks for NaN is identical with its own flags" 0
run "$PCERE" verify gaps.pcere --flags "-O3 -march=native"
says "-march=native alone keeps NaN" 0
run "$PCERE" verify gaps.pcere --flags "-O3 -ffast-math"
says "-ffast-math reaches the bitcode's instructions: there are no NaN any more" 1 out 'missing'
run "$PCERE" verify gaps.pcere --flags "-O3 -ffast-math -fno-fast-math"
says "the last word counts" 0

# Checks of undefined behaviour (UBSan) in code that no region runs: many of their descriptions are gone from the optimised program.
compile checked -fsanitize=undefined <<'END'
#include <stdio.h>
#define S(n) p[n] += q[n] * (n + k); p[n + 1] -= q[n + 1] << 1;
#define S8(n) S(n) S(n + 1) S(n + 2) S(n + 3) S(n + 4) S(n + 5) S(n + 6) S(n + 7)
#define S64(n) S8(n) S8(n + 8) S8(n + 16) S8(n + 24) S8(n + 32) S8(n + 40) S8(n + 48) S8(n + 56)
static int a[1000], b[1000];
__attribute__((noinline)) static void many(int *p, const int *q, int k) { S64(0) S64(64) }
static void work(int k)
{
    #pragma omp parallel for
    for (int i = 0; i < 1000; i++) a[i] += i * k;
}
int main(void) { for (int k = 0; k < 3; k++) { work(k); many(a, b, k); } return puts(a[7] == 21 ? "PASS" : "FAIL") < 0; }
END
run "$PCERE" capture -q --all-classes ./checked; says "a program with many checks of undefined behaviour is captured" 0 out PASS
run "$PCERE" verify --threads 1,2 checked.pcere; says "and replayed" 0 out 'work@checked.c.*identical'

# Bitcode that was compiled with the plugin goes through a compiler with it once more (-emit-llvm, tools for whole programs), or the plugin is named twice: each region is one.
cat >again.c <<'END'
#include <stdio.h>
static long a[1000];
void other(void);
int main(void)
{
    for (int k = 0; k < 3; k++)
        #pragma omp parallel for
        for (int i = 0; i < 1000; i++) a[i] += i;
    other();
    return puts(a[7] == 21 ? "PASS" : "FAIL") < 0;
}
END
cat >again_other.c <<'END'
static long b[1000];
void other(void);
void other(void)
{
    #pragma omp parallel for
    for (int i = 0; i < 1000; i++) b[i] += i;
}
END
for level in -O0 -O2; do
    with=("$level" -g -fopenmp "-fpass-plugin=$(plugin)")
    "$CLANG" "${with[@]}" -c -emit-llvm again.c again_other.c || exit 1
    "$CLANG" "${with[@]}" again.bc again_other.bc -o again || exit 1
    run "$PCERE" capture -q --force --all-classes ./again; says "$level: a program of bitcode that the plugin sees twice is captured" 0 out PASS
    is "$level: each invocation once" "$("$PCERE" regions --json again.pcere | jq -r '[.regions[] | "\(.function) \(.invocations)"] | sort | join(", ")')" 'main 3, other 1'
    run "$PCERE" verify --threads 1,2 again.pcere; says "$level: and replayed" 0 out 'main@again.c.*identical' out 'other@again_other.c.*identical'
    "$CLANG" "${with[@]}" "-fpass-plugin=$(plugin)" again.c again_other.c -o again || exit 1
    run "$PCERE" capture -q --force --all-classes ./again; says "$level: so is one of a compiler that has the plugin twice" 0 out PASS
    run "$PCERE" verify again.pcere; says "$level: and replayed" 0 out 'main@again.c.*identical'
    "$CLANG" "$level" -g -fopenmp -c -emit-llvm again_other.c && "$("$CLANG" -print-prog-name=llvm-link)" again.bc again_other.bc -o linked.bc || exit 1
    run "$CLANG" "${with[@]}" linked.bc -o again
    says "$level: what was linked with such bitcode without being such is told" 0 err "warning: PCEREPass: 'other@again_other.c:5' is not seen"
done
finish
