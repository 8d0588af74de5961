# What would miss a thread's caches goes to the XU that did it: exactly, and nothing of it is lost or there twice.
source "$SOURCE/tests/cli/common.sh"
plugin=$("$PCERE" version --plugin)

cat >cached.c <<'C'
#include <stdio.h>
#include <string.h>
static _Alignas(4096) double a[4096], b[4096];
int main(void) {
    #pragma omp parallel num_threads(2)
    {
        #pragma omp for schedule(static)
        #pragma clang loop vectorize(disable) unroll(disable)
        for (int i = 0; i < 4096; i++) a[i] = i;
        #pragma omp for schedule(static)
        #pragma clang loop vectorize(disable) unroll(disable)
        for (int i = 0; i < 4096; i++) b[i] = a[i];
        #pragma omp single
        #pragma omp task
        memset(a, 0, sizeof a);
    }
    printf("%g\n", b[7] + a[9]);
    return 0;
}
C
PCERE_COUNT=cache "$CLANG" -O2 -g -fopenmp -fpass-plugin="$plugin" cached.c -o cached
# of the construct in line $1: all XUs' counts of event $2
of() { json "[.xus[] | select(.construct | endswith(\":$1\")) | .counts[\"$2\"]] | join(\",\")"; }
run ./cached; says "a program that tells its accesses runs alone" 0 out '^7$'
run "$PCERE" profile --force --json --events cache --caches 64KiB/8,1MiB/16 --trace cached.trace ./cached; says "and is profiled" 0
is "its events say of which caches" "$(json '[.events[].backend] | unique | join("|")')" "cache 65536/8/64 1048576/16/64"
is "and are not the same in each run" "$(json '[.events[].exact] | any')" false
is "the profile is of level 3" "$(json '.runs[0].level')" 3
# 2048 doubles of each thread are 256 lines; what else there is on its stack was met before
is "each thread's half of a vector comes in line by line" "$(of 7 cache-l1-store-misses)" 256,256
is "from memory" "$(of 7 cache-l2-store-misses)" 256,256
is "and is there when it is read" "$(of 10 cache-l1-load-misses)" 0,0
is "while the other is new" "$(of 10 cache-l2-store-misses)" 256,256
is "a block that is filled is one store" "$(of 14 cache-stores)" 1
is "of all the lines that its thread has not yet" "$(of 14 cache-l2-store-misses)" 256
run "$PCERE" profile --force --json --events cache,ir-loads,ir-stores --caches 4KiB/4/32,8KiB/8/32 ./cached; says "with smaller caches" 0
is "a vector that was written is gone when it is read: 16384 bytes are 512 lines" "$(of 10 cache-l2-load-misses)" 512,512
is "loads and stores are those that are counted without caches" "$(json '[.xus[].counts | ."cache-loads" == ."ir-loads" and ."cache-stores" == ."ir-stores"] | all')" true
run "$CONSERVATION" cached.trace cache-loads cache-l1-store-misses cache-l2-store-misses; says "XUs and what is outside of them make up the whole" 0
cp cached.pcx small.pcx

run "$PCERE" profile -q --force -o other.pcx --events cache --caches 64KiB/8,1MiB/16 ./cached
run "$PCERE" combine --json small.pcx other.pcx; says "profiles of other caches do not combine" 4 err 'in other ways' err 'hint: .*--caches'
run "$PCERE" profile -q --force -o second.pcx --events page-faults ./cached
run "$PCERE" combine --json small.pcx second.pcx; says "profiles of other events do" 0
is "into one with both" "$(json '.events | length')" 9
# A virtual PMU of three counters, with pairs that it cannot count together: planned, run, and put together for real
export OMP_NUM_THREADS=2
conflicts=cache-l1-load-misses+cache-l2-load-misses,cache-loads+ir-loads,page-faults+cache-stores
run "$PCERE" profile --json -o planned.pcx --events cache,ir-loads,page-faults --caches 4KiB/4/32,8KiB/8/32 --combine lgl --counters 3 --conflicts "$conflicts" ./cached
says "events of the model, of the program and of the kernel are counted in several runs" 0
is "as few as can be, of three events" "$(jq -c '[.plan.runs, .plan.bound, .plan.events_per_run]' .out)" '[3,3,3]'
is "no pair that conflicts is in one run" "$(json '[.events[] | {(.event): .run}] | add | [."cache-l1-load-misses" != ."cache-l2-load-misses", ."cache-loads" != ."ir-loads", ."page-faults" != ."cache-stores"] | all')" true
is "with the counts of one run of all" "$(of 10 cache-l2-load-misses) $(of 10 cache-l1-store-misses)" "512,512 512,512"
is "loads and stores are those of other runs" "$(json '[.xus[].counts | ."cache-loads" == ."ir-loads"] | all')" true
run "$PCERE" profile --force -o planned.pcx --events cache --caches 4KiB/4/32,8KiB/8/32 --combine bc --counters 3 --conflicts cache-loads+cache-stores ./cached
says "behaviour clustering takes them, too" 0 out '^6 events in [34] runs of at most 3 events'
run "$PCERE" profile --force --events cache --conflicts cache-loads+cache-stores ./cached; says "what conflicts cannot be in one run" 3 err 'cache-loads and cache-stores cannot be counted together' err 'hint: --combine'
run "$PCERE" profile --force --events cache --conflicts cache-loads ./cached; says "a conflict is between two" 2 err 'is no pair of events'
run "$PCERE" profile --force --events cache --conflicts cache-loads+ir-loads ./cached; says "that are to be counted" 2 err 'are not two of the events'

run "$PCERE" combine --json --counters 3 --strategy bc small.pcx; says "a virtual PMU shows three of them a run" 0
is "and all come together" "$(json '[.events[].event] | sort | join(" ")')" "cache-l1-load-misses cache-l1-store-misses cache-l2-load-misses cache-l2-store-misses cache-loads cache-stores ir-loads ir-stores"

for codes in mg; do
    PCERE_COUNT=cache "$CLANG" -std=gnu17 -O3 -march=x86-64-v3 -g -fopenmp -DNPB_CLASS="'S'" -fpass-plugin="$plugin" -I"$SOURCE/cNPB/common" -I"$SOURCE/cNPB/$codes" \
        "$SOURCE/cNPB/$codes/$codes.c" "$SOURCE/cNPB/common/npb.c" -o "$codes" -lm
    run "$PCERE" profile --force --json --threads 2 --events cache,ir-loads,ir-stores --caches 32KiB/8,1MiB/16 --trace "$codes.trace" "./$codes"; says "$codes that tells its accesses verifies itself" 0
    is "$codes: each XU has the loads and stores that are counted" "$(json '[.xus[].counts | ."cache-loads" == ."ir-loads" and ."cache-stores" == ."ir-stores"] | all')" true
    is "$codes: what misses the second level missed the first" "$(json '[.xus[].counts | ."cache-l2-load-misses" <= ."cache-l1-load-misses" and ."cache-l2-store-misses" <= ."cache-l1-store-misses"] | all')" true
    run "$CONSERVATION" "$codes.trace" cache-loads cache-stores cache-l1-load-misses cache-l1-store-misses cache-l2-load-misses cache-l2-store-misses; says "$codes: nothing is lost" 0
done

# Codelets are built to tell it: the captured program need not have been. Their caches are as the untimed runs left them.
"$CLANG" -O2 -g -fopenmp -fpass-plugin="$plugin" cached.c -o captured
run "$PCERE" capture -q --all-classes -o captured.pcere ./captured; says "a program that tells nothing is captured" 0
run "$PCERE" profile --force --json --threads 2 --events cache --caches 4KiB/4,16KiB/8 captured.pcere; says "its codelet tells" 0
is "the same stores as in the program" "$(of 7 cache-stores)" "$(jq -r '[.xus[] | select(.construct | endswith(":7")) | .counts["cache-stores"]] | join(",")' <("$PCERE" profile --force --json --events cache --caches 4KiB/4,16KiB/8 ./cached 2>/dev/null))"
is "and misses" "$(of 10 cache-l1-store-misses)" 256,256

run "$PCERE" profile --force --events cache --caches 4KiB/4,16KiB/8 ./captured; says "a program that tells nothing is refused" 4 err 'was not compiled to count cache-' err 'hint: .*PCERE_COUNT=cache'
run "$PCERE" profile --force --events cache-l1-misses ./cached; says "a wrong name gets the nearest" 2 err "no event 'cache-l1-misses'" err 'did you mean cache-l1-'
for wrong in 32KiB/8 32KiB/8, 32KiB,1MiB /8,/8 32KiB/8,1MiB/16,8MiB/16 32KiB/8x,1MiB/16 99999999999999999999/8,1MiB/16; do
    run "$PCERE" profile --force --events cache --caches "$wrong" ./cached; says "caches '$wrong' are none" 2 err "are not two caches" err 'hint: '
done
for wrong in 32KiB/7,1MiB/16 32KiB/8/48,1MiB/16/48 32KiB/8/32,1MiB/16/64 64/8,1MiB/16 48KiB/8,1MiB/16; do
    run "$PCERE" profile --force --events cache --caches "$wrong" ./cached; says "caches $wrong cannot be modelled" 2 err "cannot be modelled" err 'hint: .*powers of two'
done
finish
