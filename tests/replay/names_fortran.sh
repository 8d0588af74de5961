# Variables of a Fortran program as verify names them: indices in Fortran's order and bounds, components, what descriptors lead to.
source "$(dirname "$0")/common.sh"
flang=${FLANG:-flang-22}
command -v "$flang" >/dev/null && "$PCERE" version --llvm 22 >/dev/null 2>&1 || { echo "no flang 22, or no plugin for it"; exit 77; }

# first NAME PLACE [WAS IS]: what differs under that name begins there, and threads' numbers differ
first() {
    holds "$1 is named, the first of it as $2" jq -e --arg name "$1" --arg first "$2" --arg was "${3:-0}" --arg is "${4:-1}" '[.codelets[0].causes[] | select(.name == $name)]
        | length == 1 and .[0].first == $first and .[0].kind == "integer" and .[0].expected == $was and .[0].found == $is' .out
}

for level in -O0 -O2; do
    "$flang" $level -g -fopenmp "-fpass-plugin=$(plugin)" "$programs/names.f90" -L/usr/lib/llvm-19/lib -o "names$level" || { echo "NOT OK: it does not compile"; exit 1; }
    captured "names$level"
    run "$PCERE" verify --threads 1 "names$level.pcere"
    says "$level: as it was with one thread" 0 out 'identical'
    run "$PCERE" verify --threads 2 --json "names$level.pcere"
    first "grid::owners(:,:)" "grid::owners(5,7)"
    first "grid::fixed(:,:)" "grid::fixed(3,4)"
    first "grid::patches(:)%flags(:,:)" "grid::patches(2)%flags(5,0)"
    first "grid::patches(:)%cells(:)%owner" "grid::patches(1)%cells(2)%owner"
    first "grid::window(:,:)" "grid::window(5,2)"
    first "/shared/common_b(:)" "/shared/common_b(5)"
    holds "a caller's variable is named by its function" jq -e '[.codelets[0].causes[].first] | any(. == "mark: locals(9)")
        and any(IN("NAMES: passed(5,2)", "NAMES: passed(+12)", "mark: dummy(5,4)"))' .out
    holds "nothing is without a name" jq -e '[.codelets[0].causes[] | .name | test("^(grid::|/shared/|mark: |NAMES: )")] | all' .out
    "$flang" $level -g -fopenmp "-fpass-plugin=$(plugin)" "$programs/components.f90" -L/usr/lib/llvm-19/lib -o "components$level" || { echo "NOT OK: it does not compile"; exit 1; }
    captured "components$level"
    run "$PCERE" verify --threads 2 --json "components$level.pcere"
    first "store::fixed(:)%owner" "store::fixed(5)%owner"
    first "store::some(:)%owner" "store::some(5)%owner"
    first "store::wholes(:)%parts(:)%owner" "store::wholes(5)%parts(2)%owner"
    first "store::wholes(:)%flag" "store::wholes(5)%flag"
    first "store::letters(:)(:)" "store::letters(5)(2:2)" 48 49
    first "store::text(:)" "store::text(5:5)" 48 49
    is "and nothing else differs" "$(json '.codelets[0].causes | length')" 6
done
finish
