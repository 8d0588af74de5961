# What comes before a timed run: each policy by its name, and auto by the rule that it says it follows. Times are noisy here: asked is what was done
# with them.
source "$(dirname "$0")/common.sh"
flags=-O2
program preceded preceded.c
captured preceded
# of a region's classes, the heaviest: others may weigh too little to be compared
main='def main: .replays | (map(.members * (.reference_ns // 0)) | max) as $most | map(select(.members * (.reference_ns // 0) == $most));'

for policy in plain displaced preceded faulting history none; do
    run "$PCERE" replay preceded.pcere add --warmup $policy --threads 1,2 --repeat 3 --json
    says "--warmup $policy runs" 0
    is "--warmup $policy is what was done" "$(json '[.replays[].warmup_policy] | unique | join(" ")')" $policy
    holds "--warmup $policy says how far its time is from that in vivo" jq -e '.replays[0].residual_ratio > -1 and .replays[0].reference_ns > 0' .out
done
run "$PCERE" replay preceded.pcere add --warmup preceded --threads 1,2 --repeat 3 --json
holds "the streaming region is run before it" jq -e '[.replays[].warmup_reason | test("after .*stream@preceded.c")] | all' .out
run "$PCERE" replay preceded.pcere add --warmup plain --sample off --threads 1,2 --repeat 2 --rates --json
holds "--rates tells what of the captured memory was used, what of that is restored, and how fast beside copying" \
    jq -e '[.replays[].rates | .captured_pages >= .touched_pages and .touched_pages * 4096 >= .restored_bytes and .restored_bytes > 1000000 and .restore_ns > 0 and .copied_bytes > 0 and .copy_ns > 0] | length >= 2 and all' .out
run "$PCERE" replay preceded.pcere add --warmup preceded --threads 1,2 --repeat 3 --json
holds "and writes all its pages each time" jq -e '[.replays[].written_pages > 6000] | all' .out
holds "of which nearly none is laid between the two, if it is the invocation that came before" \
    jq -e '[.replays[] | .laid_pages < 100 or (.warmup_reason | test("another invocation"))] | all' .out
run "$PCERE" replay preceded.pcere 'fill@*' --warmup preceded --threads 1 --repeat 2 --json
holds "before the first region nothing ran, and that is said" \
    jq -e '.replays | min_by(.representative) | .warmup_policy == "history" and (.warmup_reason | test("nothing is known"))' .out

# auto: the expected one, unless it is off and another one is nearer by more than noise (calibrate.h)
run "$PCERE" replay preceded.pcere add --threads 1,2 --sample off --json --warmup auto
says "auto runs" 0
holds "auto names policy, reason and residual at each number of threads" \
    jq -e "$main"'[main[] | (.warmup_policy | length > 0) and (.warmup_reason | length > 0) and .residual_ratio > -1] | all' .out
is "one policy for all numbers of threads" "$(json "$main[main[].warmup_policy] | unique | length")" 1
# what is chosen by which times: unit.test_launcher_calibrate; here, that times, choice and reason are of one piece
holds "what is said of the chosen one is its residual" jq -e "$main"'main[0] | .residual_ratio as $r
    | (.warmup_reason | if test("agrees") then null else capture("(this |; )(?<own>[+-][0-9.]+) %").own | tonumber end) as $own | $own == null or ($own - 100 * $r | fabs) < 0.06' .out
holds "one that was taken in place of the expected is nearer, which is said" \
    jq -e "$main"'main[0].warmup_reason | if test("was .* this") then capture("was (?<first>[+-][0-9.]+) %.*this (?<own>[+-][0-9.]+) %") | (.own | tonumber | fabs) <= (.first | tonumber | fabs)
        else test("agrees|clearly nearer|nothing else was tried") end' .out
holds "what was tried is paid for" jq -e '[.replays[] | .cost_ns > ([.trials[].cost_ns] | add // 0)] | all' .out
tried=$(json '[.replays[].trials[]] | length')
is "and kept in the store" "$(grep -c '"kind":"calibration"' preceded.pcere/samples.jsonl)" "$tried"
chosen=$(json "$main main[0].warmup_policy")
run "$PCERE" replay preceded.pcere add --threads 2 --sample off --json --warmup auto
is "a later replay takes what was found" "$(json "$main main[0].warmup_policy")" "$chosen"
holds "without trying again" jq -e "$main"'main[0] | (.trials | length) == 0 and (.warmup_reason | test("as calibrated before"))' .out
run "$PCERE" replay preceded.pcere add --threads 1 --sample off --warmup auto
says "the table shows it" 0 out 'warm-up' out "$chosen [+-]"

rm preceded.pcere/samples.jsonl
run "$PCERE" replay preceded.pcere add --threads 2 --sample off --json --warmup auto
holds "where the capture's threads are not asked for, calibrating is done beside, and paid for" \
    jq -e "$main"'main | length == 1 and .[0].threads == 2 and (.[0].trials | length > 0 and ([.[].threads] | unique) == [1]) and .[0].residual_ratio > -1' .out
run "$PCERE" replay preceded.pcere add --threads 1 --flags=-O1 --json
holds "other flags are not compared with the program's time" jq -e '[.replays[].trials[]] | length == 0' .out

flags="-O2 -DPRINTS"
program prints preceded.c
captured prints
run "$PCERE" replay prints.pcere add --warmup preceded --threads 1 --repeat 2 --json
holds "of a region that writes to a file only the pages are touched, and that is said" \
    jq -e 'any(.replays[]; .warmup_reason | test("stream@preceded.c:[0-9]+ #[0-9]+ \\(only its pages touched\\)"))' .out

flags=-O2
program restored restored.c
captured restored
for policy in plain displaced preceded faulting history none; do
    run "$PCERE" replay restored.pcere --warmup $policy --threads 1,2,4 --repeat 4 --sample off --json
    says "--warmup $policy: each run finds what was written as it was, and pages that were absent absent" 0
    holds "in all repetitions" jq -e '.replays | length >= 3 and all(.samples_ns | length == 4)' .out
    if [ $policy = preceded ]; then
        holds "some of them after another invocation" jq -e '[.replays[].warmup_reason | test("after work@")] | any' .out
    elif [ $policy = none ]; then            # nothing lies between runs, and which pages a run was the first to touch is looked at where that could be in its time
        holds "each in a process of its own" jq -e '.replays | all(.processes == 4)' .out
    else
        holds "and pages that it is the first to touch are taken away between them" jq -e '.replays | all(.dropped_pages >= 64)' .out
    fi
done

# Vectors add up what a core has for itself faster than what all share.
flags="-O3 -march=native -ffast-math"
program layers layers.c
captured layers
slower=false
for again in 1 2 3 4 5; do
    run "$PCERE" replay layers.pcere --warmup plain --repeat 9 --threads 1 --json
    near=$(json '[.replays[].median_ns] | min')
    run "$PCERE" replay layers.pcere --warmup displaced --repeat 9 --threads 1 --json
    far=$(json '[.replays[].median_ns] | min')
    awk "BEGIN { exit !($far > 1.1 * $near) }" && slower=true && break
done
is "data that a core does not have for itself take longer, at best of five" $slower true

rm prints.pcere/invocations.json
run "$PCERE" replay prints.pcere add --warmup preceded --threads 1 --repeat 2 --json
holds "a store that does not know the order of invocations says so" jq -e '.replays[0].warmup_reason | test("nothing is known")' .out
finish
