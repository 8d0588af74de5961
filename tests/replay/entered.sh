# Regions that a program enters only with several threads are told of where the capture had fewer: at its end, in predictions and in reports.
source "$(dirname "$0")/common.sh"
for flags in -O0 -O2; do
    program entries thread_entries.c
    captured entries --force
    says "$flags: a capture with one thread tells what it did not enter" 0 err \
        '^not entered here: called_behind_a_comparison@thread_entries.c:[0-9]+, entered only from 2 threads on \(omp_get_max_threads at thread_entries.c:[0-9]+, compared at thread_entries.c:[0-9]+\)' \
        err '^not entered here: with_four@.* entered only from 4 threads on'
    run "$PCERE" regions --json entries.pcere
    is "$flags: all of these, and nothing else" "$(json '[.not_entered[] | "\(.region | sub("@.*"; "")) \(.from_threads)"] | sort | join(", ")')" \
        "called_behind_a_comparison 2, called_by_a_caller 2, returns_early 2, with_four 4"
    run "$PCERE" replay --repeat 1 --threads 1,2 entries.pcere
    says "$flags: what was captured is replayed with any number" 0
    run "$PCERE" predict entries.pcere --threads 1
    holds "$flags: a prediction for as many as captured has nothing to say" test "$(grep -c 'NOT IN HERE' .out)" = 0
    run "$PCERE" predict entries.pcere --threads 1,2
    says "$flags: one for more tells that something is not in it" 0 out '^NOT IN HERE: called_behind_a_comparison@thread_entries.c:[0-9]+ is entered only from 2 threads on .*, and 2 more regions\..* pcere capture --threads 2'
    run "$PCERE" predict entries.pcere --threads 1,2 --json
    is "$flags: so does its document" "$(json '.not_entered | length')" 4
done
run "$PCERE" report entries.pcere -o entries.html
says "a report is written" 0
holds "that has them, too" grep -q 'entered only from 2 threads on' entries.html
captured entries --force --threads 2
run "$PCERE" regions --json entries.pcere
is "captured with two threads only four are missing" "$(json '[.not_entered[].region | sub("@.*"; "")] | join(" ")')" "with_four"
run "$PCERE" pack entries.pcere -o entries.tar.zst && rm -rf entries.pcere
run "$PCERE" unpack entries.tar.zst -o entries.pcere
says "it travels with the store" 0
run "$PCERE" regions entries.pcere
says "and is told there" 0 out '^not entered here: with_four@'
finish
