# Programs that are stripped, made in part without the plugin, by another LLVM or another version of the plugin, or damaged.
source "$(dirname "$0")/common.sh"
build solver

cp solver stripped && strip -s stripped
whole "a stripped program" ./stripped '^residual'
is "its regions have their names" "$(jq -r '[.regions[].region] | sort | join(" ")' stripped.pcere/manifest.json | sed 's/:[0-9]*//g')" "main@solver.c residual@solver.c"
cp solver bare && strip -R .pcere.bc -R .pcere.sym bare
run "$PCERE" capture ./bare; says "one that lost the plugin's sections is told how to be compiled" 4 err "'./bare'" err 'hint: .*-fpass-plugin'

for bytes in 3000 30000; do
    head -c $bytes solver >cut && chmod +x cut
    run "$PCERE" capture ./cut; says "one of which $bytes bytes are left is told from one without the plugin" 4 err "'./cut' is damaged: its end is missing" err 'hint: .*copy it again'
done
build solver -Wl,--dynamic-linker=/nowhere/ld.so && mv solver elsewhere && build solver
run "$PCERE" capture ./elsewhere; says "one whose loader is not here" 3 err "cannot run './elsewhere': the loader that it names is not here" err 'hint: readelf -l'

cat >plain.c <<'C'
static double b[10000];
double plain(void) {
    double sum = 0;
    #pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 10000; i++) { b[i] += i; sum += b[i]; }
    return sum;
}
/* More words than registers take. */
double many(double p, double q, double r, double s, double t, double u, const double *x) {
    double sum = 0;
    #pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 1000; i++) sum += p + q + r + s + t + u + x[i];
    return sum;
}
double inside(int i);
double around(void) {
    double sum = 0;
    #pragma omp parallel reduction(+ : sum)
    {
        #pragma omp single
        sum += inside(1);
    }
    return sum;
}
C
cat >gnu.c <<'C'
double gnu(void) {
    double sum = 0;
    #pragma omp parallel for reduction(+ : sum) schedule(dynamic)
    for (int i = 0; i < 1000; i++) sum += i;
    return sum;
}
C
cat >mixed.c <<'C'
#include <stdio.h>
double plain(void), around(void), many(double, double, double, double, double, double, const double *);
#ifdef GNU
double gnu(void);
#else
static double gnu(void) { return 499500; }
#endif
static double a[10000];
double inside(int from) {
    double sum = 0;
    #pragma omp parallel for reduction(+ : sum)
    for (int i = from; i < 1000; i++) sum += i;
    return sum;
}
int main(void) {
    double sum = 0, more = 0;
    for (int step = 0; step < 4; step++) {
        sum += plain();
        more += gnu() + around() + many(1, 2, 3, 4, 5, 6, a + 9000);
        #pragma omp parallel for
        for (int i = 0; i < 10000; i++) a[i] += i;
    }
    printf("sum %.0f more %.0f\n", sum + a[9999], more);
    return 0;
}
C
about() { jq -r ".regions[] | select(.region | test(\"$1\")) | $2" mixed.pcere/manifest.json; }
why='was compiled without the plugin: only its time is known'
gnu=() more=
if command -v gcc >/dev/null && gcc -O2 -fopenmp -c gnu.c 2>/dev/null; then gnu=(-DGNU gnu.o) more='gnu@gnu.c '; else left_out "gcc with -fopenmp"; fi
for debug in "" -g; do
    "$CLANG" -O2 $debug -fopenmp -c plain.c && "$CLANG" -O2 -g -fopenmp "-fpass-plugin=$(plugin)" mixed.c plain.o "${gnu[@]}" -o mixed
    whole "units without the plugin (${debug:-no -g}) leave the regions of others" ./mixed '^sum 499989996 more 61077000$'
    is "all are listed by their names" "$(jq -r '[.regions[].region] | sort | join(" ")' mixed.pcere/manifest.json | sed 's/:[0-9]*//g')" \
        "around@plain.c ${more}inside@mixed.c main@mixed.c many@plain.c plain@plain.c"
    is "those without it have the reason" "$(about '^plain@' '"\(.status) \(.reason)"')" "skipped plain.c $why"
    is "and are counted and timed" "$(about '^many@' '"\(.invocations) \(.time_ns > 0)"')" "4 true"
    [ -z "$more" ] || is "those of GCC as well" "$(about '^gnu@' '"\(.invocations) \(.time_ns > 0) \(.reason)"')" "4 true gnu.c $why"
    is "a region inside one of them knows where it is" "$(about '^inside@' '"\(.status) \(.nested) \(.parent)"' | sed 's/:[0-9]*//')" "captured 4 around@plain.c"
done
run "$PCERE" capture --force --one-run ./mixed
says "their share of the time is told" 0 err '^pcere capture: [34] regions, [0-9.]+ % of the run.s time, are of code that was compiled without the plugin'
cat >same.h <<'C'
static double same(int n) {
    double sum = 0;
    #pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < n; i++) sum += i;
    return sum;
}
C
printf '#include "same.h"\ndouble first(void) { return same(100); }\n' >first.c
printf '#include "same.h"\n#include <stdio.h>\ndouble first(void);\nint main(void) { return printf("%%.0f\\n", first() + same(10)) < 0; }\n' >second.c
"$CLANG" -O2 -g -fopenmp -c first.c && "$CLANG" -O2 -g -fopenmp "-fpass-plugin=$(plugin)" second.c first.o -o second
run "$PCERE" capture -q --all-classes ./second
is "regions of one source in two units, one of them without the plugin, are told apart" \
    "$(jq -r '[.regions[] | .region + " " + .status] | sort | join(", ")' second.pcere/manifest.json)" "same@same.h:3 captured, same@same.h:3#2 skipped"
strip mixed && run "$PCERE" capture -q --force ./mixed; says "a stripped one is captured" 0 out '^sum 499989996'
is "what has no name any more is named by its address" "$(jq -r '[.regions[] | select(.region | test("^(0x[0-9a-f]+@mixed|[a-z]+@(plain|mixed)[.]c(:[0-9]+)?)$") | not) | .region] | join(" ")' mixed.pcere/manifest.json)" ""

printf 'int main(void) {\nint sum = 0;\n#pragma omp parallel for reduction(+ : sum)\nfor (int i = 0; i < 1000; i++) sum += i;\nreturn sum != 499500; }\n' >sums.c
# Linkers make null of weak functions whose addresses code of the large model has in itself.
for debug in "" -g; do
    "$CLANG" -O2 $debug -fopenmp "-fpass-plugin=$(plugin)" -mcmodel=large -fno-pie -no-pie sums.c -o large
    run "$PCERE" capture --force --one-run ./large
    says "probes that were not linked are told, not a unit without the plugin (${debug:-no -g})" 0 err '1 region, .* of code that was compiled with the plugin, but without probes'
    is "and how to have them" "$(jq -r '.regions[].reason | test("^sums[.]c .* its probes were not linked.* -mcmodel=large .* compile it with -fPIE$")' large.pcere/manifest.json)" true
done
if "$CLANG" -O1 -g -fopenmp "-fpass-plugin=$(plugin)" -fsanitize=address sums.c -o sums 2>.err; then
    ASAN_OPTIONS=detect_leaks=0 run "$PCERE" capture --one-run ./sums
    says "a program with a sanitizer is told that codelets may have no room beside it, and are compared with what it keeps" 0 \
        err 'built with -fsanitize=address: its codelets run only where .* leaves them room, .* compared like the program.s memory, .*; capture a build without it'
else left_out "AddressSanitizer"; fi

drop=(-O2 -fopenmp "-fpass-plugin=$(plugin)" -fuse-ld=bfd -ffunction-sections -fdata-sections -Wl,--gc-sections)
printf 'static double a[1000];\nint main(void) {\n#pragma omp parallel for\nfor (int i = 0; i < 1000; i++) a[i] += i;\nreturn a[9] != 9; }\n' >drops.c
"$CLANG" "${drop[@]}" -s drops.c -o drops && "$CLANG" "${drop[@]}" drops.c -o kept && strip --keep-section=.debug_pcere kept
run "$PCERE" capture ./drops; says "a capture tells that nothing says where the program's variables lie, and what to do" 0 err "nothing tells where the program's own variables lie" \
    err 'keep-section=.debug_pcere'
run "$PCERE" capture ./kept
holds "that helps" test -z "$(grep 'nothing tells' "$work/.err")"
run "$PCERE" verify kept.pcere; says "and what was so stripped is replayed" 0 out 'main@drops.c.*identical'

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

# Of several units one is nonsense: the others' regions are what they were, and call into it.
printf 'double a[5000];\ndouble half(double x);\nvoid sound(void) {\n#pragma omp parallel for\nfor (int i = 0; i < 5000; i++) a[i] += half(i); }\n' >sound.c
printf 'extern double a[5000];\n__attribute__((noinline)) double half(double x) { return x / 2; }\nvoid spoilt(void) {\n#pragma omp parallel for\nfor (int i = 0; i < 5000; i++) a[i] += half(a[i]); }\n' >spoilt.c
printf 'void sound(void), spoilt(void);\nint main(void) { for (int i = 0; i < 4; i++) { sound(); spoilt(); } return 0; }\n' >both.c
for file in sound spoilt both; do "$CLANG" -O2 -g -fopenmp "-fpass-plugin=$(plugin)" -c $file.c || exit 1; done
"$CLANG" -fopenmp sound.o spoilt.o both.o -o both && cp both versions && python3 "$folder/damage.py" both bitcode spoilt.c
run "$PCERE" capture --all-classes ./both; says "a program with one unit of nonsense is captured" 0
for turn in "the first time" "from the cache"; do
    run "$PCERE" verify --json both.pcere
    is "regions of other units are identical ($turn)" "$(jq -r '[.codelets[] | select(.region | startswith("sound")) | .identical] | unique | tojson' .out)" '[true]'
    is "those of the broken one are refused, with the reason ($turn)" \
        "$(jq -r '[.codelets[] | select(.region | startswith("spoilt")) | (.identical | not) and (.reason | test("spoilt.c"))] | unique | tojson' .out)" '[true]'
done
run "$PCERE" replay --threads 1,2 --repeat 2 --warmup none --json both.pcere
is "and replayed with any number of threads" "$(jq -r '[.replays[] | select(.region | startswith("sound")) | (.threads | tostring) + ":" + (.samples_ns | length | tostring)] | unique | join(" ")' .out)" "1:2 2:2"

# One is of another version of the plugin: its regions are timed, and the others are what they were.
python3 "$folder/damage.py" versions abi spoilt.c
run "$PCERE" capture --all-classes ./versions
says "a unit of another version of the plugin leaves the others" 0 err '^pcere capture: 1 region, .* of code that was compiled with another version of the plugin'
is "its region has the reason, and its time" "$(jq -r '.regions[] | select(.region | test("^spoilt")) | "\(.status) \(.invocations) \(.time_ns > 0) \(.reason)"' versions.pcere/manifest.json)" \
    "skipped 4 true spoilt.c was compiled with another version of the plugin (77, not 2): only its time is known; compile it again with this one"
run "$PCERE" verify --json versions.pcere
is "the other's is identical, with functions of that unit" "$(jq -c '[.codelets[] | [.region, .identical]] | unique' .out | sed 's/:[0-9]*//')" '[["sound@sound.c",true]]'
run "$PCERE" replay --threads 1,2 --repeat 2 --warmup none --json versions.pcere
is "and is replayed" "$(jq -r '[.replays[] | .region + ":" + (.samples_ns | length | tostring)] | unique | join(" ")' .out | sed 's/:[0-9]*:/ /')" "sound@sound.c 2"
run "$PCERE" profile -q ./versions; says "it is profiled" 0
done_or_skipped
