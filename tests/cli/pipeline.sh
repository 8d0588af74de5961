# Capture, verify, replay, predict: what one verb leaves, the next one takes.
source "$SOURCE/tests/cli/common.sh" || exit 1
machine_passes

compile solver <<'C'
#include <stdio.h>
#define N 400000
static double x[N], y[N];
static void sweep(int step) {
    #pragma omp parallel for
    for (int i = 0; i < N; i++) y[i] = x[i] * 0.5 + step;
}
static double norm(void) {
    double sum = 0;
    #pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < N; i++) sum += y[i] * y[i];
    return sum;
}
int main(void) {
    double total = 0;
    for (int i = 0; i < N; i++) x[i] = i % 17;
    for (int step = 0; step < 30; step++) { sweep(step); total += norm(); }
    printf("%.6e\n", total);
    return 0;
}
C
run "$PCERE" capture --all-classes ./solver; says "capture" 0 out '^[0-9]' err 'sweep@solver.c' err 'norm@solver.c'
run "$PCERE" predict; says "a prediction without samples says how to get them" "$status" err 'hint:.*pcere replay'
holds "and fails" test "$status" -ne 0
run "$PCERE" verify; says "verify" 0 out 'sweep@solver.c:[0-9]+ #[0-9]+ .*identical' out 'norm@solver.c'
run "$PCERE" verify --json
is "each captured codelet is identical" "$(json '[.codelets[].identical] | all')" true
is "no byte differs" "$(json '[.codelets[].different_bytes] | add')" 0
holds "and memory was compared" jq -e '[.codelets[].compared_bytes] | min > 1000000' .out
run "$PCERE" replay --threads 1,2 --json
says "replay" 0
holds "each codelet was replayed with each thread count" jq -e '[.replays[] | .region + " " + (.threads | tostring)] | unique | length == 4' .out
holds "with samples, their median and interval" jq -e '[.replays[] | (.samples_ns | length) > 0 and .low_ns <= .median_ns and .median_ns <= .high_ns] | all' .out
holds "and what it cost" jq -e '.cost_ns > 0 and has("build_ns")' .out
holds "and how the classes of a region scale that has several" jq -e '.class_checks | type == "array" and
    all(.threads == 2 and .classes_compared >= 2 and .scaling_low_ratio > 0 and .scaling_low_ratio <= .scaling_high_ratio and (.classes | all(.members_ratio > 0)))' .out
lines=$(wc -l <solver.pcere/samples.jsonl)
holds "samples are in the store" test "$lines" -ge 4
run "$PCERE" replay sweep --threads 2 --repeat 5; says "a part of a name selects a region" 0 out 'sweep@solver.c' out "$(samples 5)"
holds "and only that" test "$(grep -c 'norm@' .out)" -eq 0
run "$PCERE" replay '*@solver.c*' --repeat 3 --threads 1; says "so does a pattern" 0 out 'sweep@' out 'norm@'
run "$PCERE" replay solver.c; says "a part of several names is ambiguous, and they are listed" 2 err 'sweep@solver.c' err 'norm@solver.c'
run "$PCERE" replay nothing; says "an unknown region is named, with those that are there" 2 err 'nothing'
run "$PCERE" replay --warmup sideways; says "an unknown warm-up is refused" 2 err 'sideways'
run "$PCERE" replay sweep --threads $(( $(nproc) + 2 )) --repeat 2; says "more threads than processors are allowed and marked" 0 out ' \* ' out 'more threads than the'

run "$PCERE" predict; says "predict shows time and interval for each thread count with samples" 0 out '\[[0-9.]+, [0-9.]+\]'
run "$PCERE" predict --json --threads 1,2
says "predict --threads" 0
is "predicts these" "$(json '[.predictions[].threads] | map(tostring) | join(",")')" 1,2
holds "never without an interval" jq -e '[.predictions[] | .low_ns <= .time_ns and .time_ns <= .high_ns] | all' .out
holds "with the speed-up that follows" jq -e '.predictions[0].time_ns as $one | [.predictions[] | .speedup * .time_ns / $one - 1 | fabs < 1e-9] | all' .out
holds "and the serial part that Amdahl's law makes of it" jq -e '.predictions as $p | .amdahl | .threads == [1, 2] and (($p[1].time_ns / $p[0].time_ns * 2 - 1) - .serial_ratio | fabs < 1e-9) and
    (.serial_ratio <= 0 and .speedup_limit == null or (.serial_ratio * .speedup_limit - 1 | fabs < 1e-9))' .out
is "real times are unknown without --measure" "$(json '[.predictions[].real_ns] | unique | map(tostring) | join(",")')" null
mkdir -p data/pcere/archs
"$PCERE" platform show sandybridge --json | jq --arg name "$(json .arch)" \
    '.platform | .name = $name | .clocks = [{threads: 1, hz: {value: 1e9, low: null, high: null}, sustained_hz: {value: 8e8, low: null, high: null}, load_s: 2}]' >"data/pcere/archs/$(json .arch).json"
run "$PCERE" predict --json --threads 1,2
holds "where the machine's signature says that its clock falls under lasting load, long programs take longer" jq -e \
    '.predictions | all(.clock_falls == (if .time_ns - (.parts_ns.clock // 0) >= 200e6 then 1.25 else null end) and (.clock_falls == null) == (.parts_ns.clock == null))' .out
rm -r data/pcere
run "$PCERE" predict --measure --json --threads 1,2
says "predict --measure" 0
holds "puts real time, error and acceleration beside it" jq -e '[.predictions[] | .real_ns > 0 and .error_ratio >= 0 and .acceleration > 0] | all' .out
holds "and how far runs are from the one that was captured" jq -e '.drift_ratio > -1' .out
is "the part outside regions stays the capture's" "$(json '[.predictions[].serial_basis] | unique | join(",")')" in_vivo
holds "one thread has no others that begin late" jq -e '.predictions[0].team_start_ns == null' .out
holds "real runs judge classes only at other thread counts than the capture's" sh -c \
    'jq -s "[.[] | select(.kind == \"members\") | .threads] | all(. == 2)" -e solver.pcere/samples.jsonl'
run "$PCERE" predict --measured-serial --json --threads 1,2
says "predict --measured-serial" 0
is "takes the part outside regions from real runs" "$(json '[.predictions[].serial_basis] | unique | join(",")')" run
run "$PCERE" predict --measured-serial --threads 1,2; says "and says so" 0 out 'outside regions .*1 thread \(real runs\)'
run "$PCERE" predict --threads 3; says "a thread count without samples is refused, with the way to get them" "$status" err '3' err 'hint:.*replay'
holds "as a failure" test "$status" -ne 0

run "$PCERE" predict --arch nowhere; says "a machine that nobody knows is refused, with those that are there" 2 err 'nowhere' err 'sandybridge'
run "$PCERE" predict --arch sandybridge --threads 1,2 --json; says "a machine without samples is modelled" 0
is "and the document says that" "$(json .basis)" model
PCERE_HOST=sandybridge run "$PCERE" replay --threads 1,2; says "samples from a machine of that name" 0
run "$PCERE" predict --arch sandybridge; says "make it predictable" 0 out 'sandybridge'
run "$PCERE" predict --arch sandybridge --json; is "and the document says so" "$(json .arch)" sandybridge

cp -a solver.pcere damaged.pcere
codelet=$(ls damaged.pcere/codelets/*.codelet | head -n 1)
damage "$codelet" 40
run "$PCERE" replay damaged.pcere; says "a flipped byte is damage" 4 err 'damaged.pcere|codelet'
rm "$codelet"; run "$PCERE" verify damaged.pcere; says "so is a file that is gone" 4
finish
