# Captured at one level, replayed at another: the code changes, the results do not.
source "$(dirname "$0")/common.sh"
flags=-O0
program kinds kinds.c
captured kinds
run "$PCERE" verify --flags "-O3" --json kinds.pcere '*'
holds "-O3 codelets of an -O0 program leave the same memory outside the stack" \
    jq -e '(.codelets | length) > 10 and ([.codelets[] | .identical or ([.causes[].memory == "stack"] | all)] | all)' .out
run "$PCERE" replay kinds.pcere '*by_value*' --repeat 5 --threads 1 --json
slow=$(json '[.replays[].median_ns] | add')
run "$PCERE" replay kinds.pcere '*by_value*' --repeat 5 --threads 1 --flags "-O3 -march=native" --json
fast=$(json '[.replays[].median_ns] | add')
says "machine flags are taken" 0
holds "and an -O0 capture becomes faster by them ($slow ns to $fast ns)" test "$fast" -lt "$slow"
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
finish
