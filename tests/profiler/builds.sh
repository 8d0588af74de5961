# Builds of one program are compared construct by construct: lines that moved, other optimisation, with and without -g; two loops of one line and a template's instances stay apart.
source "$SOURCE/tests/cli/common.sh"

cat >work.cpp <<'C'
#include <cstdio>
static double a[64];
template <typename T> static void twice(T by)
{
    #pragma omp parallel for schedule(static) num_threads(2)
    for (int i = 0; i < 64; i++) a[i] += by;
}
static void loops()
{
    #pragma omp parallel num_threads(2)
    { _Pragma("omp for schedule(dynamic, 16)") for (int i = 0; i < 64; i++) a[i] += i; _Pragma("omp for schedule(dynamic, 16)") for (int i = 0; i < 64; i++) a[i] *= 2; }
}
int main()
{
    twice(1);
    twice(2.5);
    loops();
    #pragma omp parallel num_threads(2)
    {
        #pragma omp single
        for (int i = 0; i < 5; i++) {
            #pragma omp task firstprivate(i)
            a[i] += 3;
        }
    }
    printf("%g\n", a[3]);
    return 0;
}
C
mkdir moved
{ printf '// a comment\n\n'; sed 's/^static void loops/\/\/ and more\n\n&/' work.cpp; } >moved/work.cpp
# build NAME FOLDER FLAG...: compiled in the folder, so that the unit has one name, and profiled
build() {
    local name=$1 folder=$2
    shift 2
    (cd "$folder" && PCERE_COUNT=ir "${CLANG/clang/clang++}" -fopenmp -fpass-plugin="$(plugin)" "$@" work.cpp -o "$OLDPWD/$name") || { echo "NOT OK: $name does not compile"; exit 1; }
    "$PCERE" profile -q --events ir-loads -o "$name.pcx" --json "./$name" >"$name.json" 2>/dev/null
}
export OMP_NUM_THREADS=2
build before . -O1 -g
build after moved -O1 -g
build plain . -O1
build slow moved -O0
build other . -O0 -g
ids() { jq -c '[.constructs[].id] | sort' "$1.json"; }
for name in after plain slow other; do
    is "$name: its constructs have the same ids" "$(ids "$name")" "$(ids before)"
done
is "every name in labels is in the table" "$(jq -c '[.xus[].label | scan("@[a-z]+[.a-z]*:[0-9a-f]+")[1:]] | unique' before.json)" "$(jq -c '[.names[].name] | unique' before.json)"

# pairs A B: XUs without a partner on either side, and how they were matched
pairs() { "$PCERE" compare --json "$1.pcx" "$2.pcx" | jq -c '[.only_a, .only_b, .matched_by]'; }
is "all XUs have a partner where lines moved" "$(pairs before after)" '[0,0,"ids"]'
is "and in a build without -g" "$(pairs before plain)" '[0,0,"ids"]'
is "from which it can be done, too" "$(pairs slow before)" '[0,0,"ids"]'
is "other optimisation needs no ids" "$(pairs before other)" '[0,0,"names"]'
is "and with equal optimisation nothing changed, construct by construct" "$("$PCERE" compare --json before.pcx plain.pcx | jq '.events[] | select(.event == "ir-loads") | .changed')" 0
run "$PCERE" compare before.pcx after.pcx
says "it is said why, and names are the first side's" 0 out '^[0-9]+ constructs have another name in B .*: XUs are matched by the constructs. ids, names are A.s$' out '^main@work.cpp:22 +5 +5 '
run "$PCERE" compare --csv before.pcx after.pcx
says "CSV is CSV" 0 out '^event,label,type,construct,a,b,confidence$'
run "$PCERE" combine --json before.pcx plain.pcx
says "builds are compared, not combined" 4 err 'other build ids'

# the paper's labels (alone, since they name what single makes after the thread that came to it), and those of iterations
for name in before after; do
    OMP_THREAD_LIMIT=1 "$PCERE" profile -q --force --labels paper -o "$name.pcx" "./$name" >/dev/null 2>&1
done
is "labels of the paper match" "$(pairs before after)" '[0,0,"ids"]'
for name in before after; do
    (cd "$([ $name = before ] && echo . || echo moved)" && PCERE_COUNT=iterations "${CLANG/clang/clang++}" -O1 -g -fopenmp -fpass-plugin="$(plugin)" work.cpp -o "$OLDPWD/$name")
    "$PCERE" profile -q --force --iterations -o "$name.pcx" "./$name" >/dev/null 2>&1
done
is "and those of iterations" "$(pairs before after)" '[0,0,"ids"]'

# a file of before, without the table
jq 'del(.names)' slow.json >old.json
run "$PCERE" compare before.json old.json
says "without ids there is nothing to match by" 4 err 'no XU has a partner' err '^hint: .*ids'
jq '.names[0].id = "12"' plain.json >damaged.json
run "$PCERE" compare before.json damaged.json
says "a table that is damaged is refused" 4 err 'damaged.json.*id'
finish
