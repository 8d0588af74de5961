# Fortran: thread counts are followed through procedures that are bound to types, and through pointers to procedures.
source "$(dirname "$0")/common.sh"
flang=${FLANG:-flang-22}
command -v "$flang" >/dev/null && "$PCERE" version --llvm 22 >/dev/null 2>&1 || { echo "no flang 22, or no plugin for it"; exit 77; }

for level in -O2 -O3; do                # without optimisation descriptors are copied whole, through which no count is followed
    "$flang" $level -g -fopenmp "-fpass-plugin=$(plugin)" "$programs/bound_procedures.f90" -L/usr/lib/llvm-19/lib -o bound || { echo "NOT OK: it does not compile"; exit 1; }
    captured bound --force --threads 2
    run "$PCERE" regions --json bound.pcere
    is "$level: work that a procedure of one type of several, and one through a pointer, divide is flagged, and nothing else" \
        "$(json '[.regions[] | select(.thread_sized) | [.function, (.thread_sized | test("^a division of the work"))] | join("=")] | sort | join(" ")')" "solvers::by_pointer=true solvers::divided_step=true"
    run "$PCERE" verify --threads 1,4 bound.pcere '*plain_step*'
    says "$level: the other type's runs with any number" 0
done
