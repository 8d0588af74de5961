# Sampled replays of programs that users have: near the whole time, or refused with the reason; cheaper; ended where they do not end.
source "$(dirname "$0")/common.sh"

build independent independent
wanted='triangular largest sparse_multiply stencil monte_carlo guided'
run "$PCERE" replay --sample 0.06 --threads 1 --json independent.pcere
says "loops that are independent are replayed" 0
# What else the machine does can make shots look like ever faster ones, or slow down so many that too few are left: then those of that region are taken again.
cp .out sampled.json
for region in $wanted; do
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        jq -e --arg region "$region" '.replays[] | select(.region | startswith($region)) | (.sample_refusal // "" | test("faster than the one before")) or (.slow_dropped > 0 and (.samples_ns | length) < 5)' sampled.json >.faster || break
        "$PCERE" replay --sample 0.06 --threads 1 --json independent.pcere "$region" >again.json 2>.err
        jq --arg region "$region" --slurpfile again again.json '.replays |= map(select(.region | startswith($region) | not)) + $again[0].replays' sampled.json >.joined && mv .joined sampled.json
    done
done
run "$PCERE" predict --json --threads 1 independent.pcere
says "the program is predicted from them" 0
holds "a prediction by samples says so" jq -e '.basis == "sample"' .out
holds "and regions say that they were sampled (but those that a busy machine made three times as long)" jq -e '[.predictions[0].regions[] | select(.region | startswith("two_loops") | not) | .basis == "sample"] | any' .out
run "$PCERE" replay --sample off --repeat 3 --threads 1 --json independent.pcere
says "whole replays of the same regions are made" 0
cp .out whole.json
cp sampled.json .out
# At most sixteen shots, where earlier ones find colder data; one of the stencil, which has few iterations, is a sixtieth of it.
for region in $wanted; do
    holds "$region is sampled" jq -e --arg region "$region" \
        '[.replays[] | select(.region | startswith($region))] | length == 1 and all(.basis == "sample" and .sampled_ratio > 0 and .sampled_ratio < 0.28 and .sample_refusal == null)' .out
    holds "$region has an interval around its time, and several shots" jq -e --arg region "$region" \
        '.replays[] | select(.region | startswith($region)) | .low_ns < .median_ns and .median_ns < .high_ns and (.samples_ns | length) >= 5' .out
    # Wide enough for any machine: a prefix of the triangle would be 16 times too fast, shots that are not scaled 20 times. The shortest were disturbed least.
    holds "$region takes about as long as whole" jq -e --arg region "$region" --slurpfile whole whole.json \
        '[., $whole[0]] | map(.replays[] | select(.region | startswith($region)) | .samples_ns | min) | .[0] / .[1] | . > 0.2 and . < 5' .out
done
run "$PCERE" replay --sample off --threads 1 --json independent.pcere triangular
holds "a whole replay says so" jq -e '.replays[0] | .basis == "replay" and .sampled_ratio == null and .sample_refusal == null' .out

build dependent dependent
run "$PCERE" replay --sample 0.05 --threads 1 --json dependent.pcere
says "loops that are not independent are replayed" 0
whole "prefix sums are replayed whole" prefix_sums 'depends on'
whole "a histogram of what the loop changes is" histogram 'depends on'
whole "counters that are indices and have steps of two lengths are" two_strides 'an index.*depends on|less than 2 ms'
whole "sweeps until convergence are" converge 'depends on'
whole "particles that look for their cell are" particles 'depends on'
whole "threads that wait for flags are" pipeline 'flags|depends on'
whole "work that is divided by hand is" by_hand 'no worksharing loop'
whole "thousands of tiny loops are" tiny_loops 'barriers|too little|under'
build refused refused
run "$PCERE" replay --sample 0.05 --threads 1 --json refused.pcere
says "regions with what a part of them cannot stand are replayed" 0
whole "ordered loops are replayed whole" in_order 'ordered loops'
whole "loops that are cancelled are" until_found 'cancellation|ends when'
whole "regions with regions inside are" regions_inside@refused.c:47 'parallel regions inside'
whole "loops with flushes are" by_flags 'flags between threads'
whole "loops that write to a file are" to_a_file 'fprintf'
whole "jumps out of functions are" with_jumps 'jumps out of functions'
run "$PCERE" replay --sample 0.05 --threads 1 dependent.pcere histogram
says "and the reason is said, with what that costs" 0 out '^histogram@.* runs whole, .* of the .*: .*depends on'
run "$PCERE" replay --sample off --threads 1 dependent.pcere histogram
holds "but not where nobody asked for a part" test "$(grep -c 'runs whole' .out)" -eq 0

"${CLANG/clang/clang++}" -O2 -g -std=c++17 -fopenmp "-fpass-plugin=$(plugin)" "$programs/throwing_tasks.cpp" -o throwing_tasks || { echo "NOT OK: throwing_tasks does not compile"; exit 1; }
run "$PCERE" capture --threads 1 --all-classes ./throwing_tasks
says "tasks that may throw run and are captured" 0 out '^PASS'
run "$PCERE" replay --sample 0.05 --threads 1 --json throwing_tasks.pcere
holds "what stands behind an exception that nobody may catch does not keep them from being sampled" jq -e '.replays | length > 0 and all(.sample_refusal // "" | test("not seen|depends on") | not)' .out

build made_once made_once
run "$PCERE" replay --sample 0.05 --threads 1 --json made_once.pcere
says "loops that touch fresh memory are replayed" 0
whole "where a loop makes pages that another one needs, shots would make them for both" shared 'makes each once, for several of its loops'
holds "a loop that makes its own alone is not refused for that" jq -e \
    '[.replays[] | select(.region | startswith("own"))] | length == 1 and all(.sample_refusal // "" | test("makes each once") | not)' .out

build hidden hidden hidden_part
run "$PCERE" replay --sample 0.05 --threads 1 --json hidden.pcere
says "what hangs or crashes when it is sampled is replayed" 0
holds "whole, since a sampled run made no progress" jq -e '.replays | map(select(.sample_refusal // "" | test("a sampled run failed.*no progress"))) | length == 1 and all(.basis == "replay")' .out
holds "or crashed" jq -e '.replays | map(select(.sample_refusal // "" | test("a sampled run failed.*(crashed|signal)"))) | length == 1 and all(.basis == "replay")' .out
holds "and the time that this took counts" jq -e '[.replays[].cost_ns] | max > 2e9' .out

# Shots leave memory that is no region's: only whole runs are compared with the program's.
run "$PCERE" verify --json independent.pcere triangular stencil
says "regions that were sampled are verified" 0
holds "whole" jq -e '[.codelets[] | .identical and .compared_bytes > 4096] | length >= 2 and all' .out
run "$PCERE" verify --sample 0.1 independent.pcere
says "verify knows no shots" 2 err 'no option --sample'

run "$PCERE" replay --sample 0.05 --threads 64 --json independent.pcere triangular
holds "more threads than processors are not sampled" jq -e '.replays[0].basis == "replay" and (.replays[0].sample_refusal | test("less than 2 ms|processors"))' .out
run "$PCERE" replay --sample auto --repeat 2 --json --threads 1 independent.pcere triangular
holds "repetitions that were asked for are whole" jq -e '.replays[0] | .basis == "replay" and (.samples_ns | length) == 2 and (.sample_refusal | test("asked for"))' .out
for word in 0 1.5 much -0.1 nan; do
    run "$PCERE" replay --sample "$word" independent.pcere
    says "--sample '$word' is no way to sample" 2 err 'no such way to sample' err 'hint: auto, off'
done
finish
