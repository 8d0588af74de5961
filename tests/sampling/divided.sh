# Sampled replays of what threads divide beforehand or while they work, and of tasks: near the whole time, or refused with the reason.
source "$(dirname "$0")/common.sh"

# Each thread has chunks of its own, so two threads tell more than one. Where others use the machine, shots may have a trend by chance.
build chunks chunks
run "$PCERE" replay --sample 0.06 --threads 1 --json chunks.pcere
says "loops whose chunks are fixed, and sections, are replayed" 0
for region in growing uneven data_dependent large_chunks downwards by_runtime step_by_step; do
    sampled "is sampled, or was disturbed" "$region" '.basis == "sample" and .sampled_ratio < 0.28 or (.sample_refusal // "" | test("faster than the one before"))'
done
whole "sections that are met once are replayed whole" apart 'no loop'
if [ "$(nproc)" -gt 1 ]; then
    run "$PCERE" replay --sample 0.06 --threads 2 --json chunks.pcere
    says "with two threads, too" 0
    whole "chunks that are shorter than the way from one to the next are replayed whole" slivers 'shorter than the way|faster than the one before'
fi

# Shots are near the whole time: threads of which one has all that is dear, too. Where others use the machine, both once more.
near='uneven by_runtime growing@'
for threads in $(seq $(($(nproc) > 1 ? 2 : 1))); do
    run "$PCERE" replay --sample off --repeat 3 --threads "$threads" --json chunks.pcere
    says "the same loops are replayed whole with $threads threads" 0
    cp .out all.json
    for region in $near; do
        cp all.json whole.json
        for _ in 1 2 3 4 5 6; do
            run "$PCERE" replay --sample 0.1 --threads "$threads" --json chunks.pcere "$region"
            ratio=$(jq -n --arg region "$region" --slurpfile shots .out --slurpfile whole whole.json '[$shots[0], $whole[0]] | map(.replays[] | select(.region | startswith($region)) | .median_ns) | .[0] / .[1]')
            jq -e -n --argjson ratio "$ratio" '$ratio > 0.65 and $ratio < 1.6' >.near && break
            run "$PCERE" replay --sample off --repeat 3 --threads "$threads" --json chunks.pcere "$region"
            cp .out whole.json
        done
        is "$region with $threads threads: shots are near the whole time ($ratio)" "$(cat .near)" true
    done
done

# Chunks that go to whoever asks are sampled in blocks.
build dynamic dynamic
for threads in $(seq $(($(nproc) > 1 ? 2 : 1))); do
    run "$PCERE" replay --sample 0.06 --threads "$threads" --json dynamic.pcere
    says "loops with a dynamic schedule are replayed with $threads threads" 0
    for region in slivers pieces growing@ growing_guided rows@ rows_in_turn rows_guided lookups spread; do
        sampled "is sampled, or was disturbed" "$region" '.basis == "sample" and .sampled_ratio > 0.01 and .sampled_ratio < 0.28 or (.sample_refusal // "" | test("faster than the one before"))'
    done
done

# Which subtrees a shot meets is the same each time, how long they take is not.
build tasks tasks
run "$PCERE" replay --sample 0.06 --threads 1 --json tasks.pcere
says "tasks are replayed" 0
for region in flat loop downwards fib_region; do
    sampled "is sampled, or refused for what was measured" "$region" '.basis == "sample" and .sampled_ratio > 0.005 and .sampled_ratio < 0.5
        or (.sample_refusal // "" | test("differ too much|faster than the one before|too short|a sampled run failed: .* no progress"))'
done
whole "a sort whose tasks decide what the next do is replayed whole" sort_region 'depends on'
whole "a search that ends when something is found is" search 'depends on'
whole "tasks that depend on each other are" chain 'depend on each other'
whole "untied tasks are" untied 'untied|depends on'
finish
