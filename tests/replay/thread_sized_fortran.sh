# Fortran: thread counts are followed through procedures that are bound to types, through pointers to procedures, and through arrays that the runtime allocates, assigns and moves.
source "$(dirname "$0")/common.sh"
flang=${FLANG:-flang-22}
command -v "$flang" >/dev/null && "$PCERE" version --llvm 22 >/dev/null 2>&1 || { echo "no flang 22, or no plugin for it"; exit 77; }

for level in -O0 -O2 -O3; do
    "$flang" $level -g -fopenmp "-fpass-plugin=$(plugin)" "$programs/bound_procedures.f90" -L/usr/lib/llvm-19/lib -o bound || { echo "NOT OK: it does not compile"; exit 1; }
    captured bound --force --threads 2
    run "$PCERE" regions --json bound.pcere
    is "$level: work that a procedure of one type of several, and one through a pointer, divide is flagged, and nothing else" \
        "$(json '[.regions[] | select(.thread_sized) | [.function, (.thread_sized | test("^a division of the work"))] | join("=")] | sort | join(" ")')" "solvers::by_pointer=true solvers::divided_step=true"
    run "$PCERE" verify --threads 1,4 bound.pcere '*plain_step*'
    says "$level: the other type's runs with any number" 0
done

for level in -O0 -O2; do
    "$flang" $level -g -fopenmp "-fpass-plugin=$(plugin)" "$programs/described_arrays.f90" -L/usr/lib/llvm-19/lib -o described || { echo "NOT OK: it does not compile"; exit 1; }
    captured described --force --threads 2
    run "$PCERE" regions --json described.pcere
    sized="assigned from_environment local_pointer module_pointer moved_there of_components of_pointers pointer_component"
    is "$level: pointers, components, what is assigned or moved, and what the environment says have a part for each thread, and nothing else has" \
        "$(json '[.regions[] | select(.thread_sized | . and test("^memory with one part per thread")) | .function | sub(".*::"; "")] | sort | join(" ")')" "$sized"
    is "$level: none of it is a division of the work" "$(json '[.regions[] | select(.thread_sized | . and (test("^memory with one part per thread") | not))] | length')" 0
    run "$PCERE" replay --repeat 1 --threads 4 described.pcere '*local_pointer*' '*moved_there*'
    says "$level: more threads are refused there" 1 err 'holds for at most 2 threads'
    run "$PCERE" replay --repeat 1 --threads 1 described.pcere '*of_components*'
    says "$level: fewer have enough" 0
    run "$PCERE" replay --repeat 1 --threads 1,4 described.pcere '*fixed_section*' '*column*' '*fixed_pointer*' '*another_number*'
    says "$level: arrays of fixed size run with any number" 0
done
