# Regions that hold for the captured thread count only are flagged, and not replayed with more threads; others are.
source "$(dirname "$0")/common.sh"
for flags in -O0 -O3; do
    program sized thread_sized.c
    captured sized --force --threads 2
    run "$PCERE" regions --json sized.pcere
    holds "$flags: memory and divisions made for the threads before the region are flagged, and nothing else" \
        test "$(json '[.regions[] | select(.thread_sized != null) | .function] | sort | join(" ")')" = "divided_before part_by_pointer part_of_array_on_the_stack part_of_grown_array"
    holds "$flags: the reason names the place" \
        jq -e 'any(.regions[]; .function == "part_by_pointer" and (.thread_sized | test("allocated at thread_sized.c:[0-9]+, sized by omp_get_max_threads at thread_sized.c:[0-9]+")))' .out
    run "$PCERE" regions sized.pcere
    says "$flags: the table says so too" 0 out 'at most 2 threads: memory with one part per thread'
    run "$PCERE" replay sized.pcere --threads 1,2
    says "$flags: as many threads as captured, and fewer, are replayed" 0
    run "$PCERE" replay sized.pcere '*part_by*' --threads 4
    says "$flags: more are refused" 1 err 'holds for at most 2 threads.*allocated at'
    says "$flags: with a hint" 1 err 'pcere capture --threads'
    run "$PCERE" replay sized.pcere '*divided_inside*' '*fixed_parts*' '*no_parts*' --threads 4
    says "$flags: the others run with more" 0
    run "$PCERE" predict sized.pcere --threads 4
    says "$flags: a prediction says what is missing, and why" 0 out '^MISSING with 4 threads' out 'cannot run with 4 threads, since it uses .*pcere capture --threads 4'
done
finish
