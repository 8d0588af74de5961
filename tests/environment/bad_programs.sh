# Programs that are stripped, made in part without the plugin, by another LLVM or another version of the plugin, or damaged.
source "$(dirname "$0")/common.sh"
build solver

cp solver stripped && strip -s stripped
whole "a stripped program" ./stripped '^residual'
is "its regions have their names" "$(jq -r '[.regions[].region] | sort | join(" ")' stripped.pcere/manifest.json | sed 's/:[0-9]*//g')" "main@solver.c residual@solver.c"
cp solver bare && strip -R .pcere.bc -R .pcere.sym bare
run "$PCERE" capture ./bare; says "one that lost the plugin's sections is told how to be compiled" 4 err "'./bare'" err 'hint: .*-fpass-plugin'

cat >plain.c <<'C'
static double b[10000];
double plain(void) {
    double sum = 0;
    #pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 10000; i++) { b[i] += i; sum += b[i]; }
    return sum;
}
C
cat >mixed.c <<'C'
#include <stdio.h>
double plain(void);
static double a[10000];
int main(void) {
    double sum = 0;
    for (int step = 0; step < 4; step++) {
        sum += plain();
        #pragma omp parallel for
        for (int i = 0; i < 10000; i++) a[i] += i;
    }
    printf("sum %.0f\n", sum + a[9999]);
    return 0;
}
C
"$CLANG" -O2 -fopenmp -c plain.c && "$CLANG" -O2 -g -fopenmp "-fpass-plugin=$(plugin)" mixed.c plain.o -o mixed
whole "a unit without the plugin leaves the regions of others" ./mixed '^sum 499989996$'
is "which are the ones that are listed" "$(jq -r '[.regions[].function] | join(" ")' mixed.pcere/manifest.json)" main

cp solver other && python3 "$folder/damage.py" other llvm
run "$PCERE" capture -q ./other; says "a program of another LLVM is captured" 0
run "$PCERE" verify other.pcere; says "what cannot read its bitcode says so, with both versions" 3 err 'LLVM 99' err 'hint: '
cp solver older && python3 "$folder/damage.py" older abi
run "$PCERE" capture ./older; says "a unit of another version of the plugin" 4 err "'./older' was compiled with another version" err 'hint: compile it'
cp solver table && python3 "$folder/damage.py" table table
run "$PCERE" capture ./table; says "a table of another version" 4 err "'./table'" err 'hint: '
cp solver broken && python3 "$folder/damage.py" broken bitcode
run "$PCERE" capture -q --force ./broken; capture=$status
run "$PCERE" verify broken.pcere; says "bitcode that is nonsense is told, at the latest by what compiles it" 4 err 'bitcode|damaged|broken'
holds "and the program ran ($capture)" test "$capture" -eq 0 -o "$capture" -eq 4
done_or_skipped
