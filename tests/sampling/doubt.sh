# Samples that do not stand for their region are kept as trials, and it is replayed whole.
source "$(dirname "$0")/common.sh"

# One invocation that the machine holds up would have a class of its own, which weighs too little to be replayed whole.
capture_options="--max-classes 1"
build rare rare
run "$PCERE" replay --threads 1 --json rare.pcere
says "a region is replayed of whose iterations a few take half of its time" 0
# Most shots meet none of these, one that does takes many times as long; where another program's bursts come into it, shots may have a trend first.
whole "whole, since parts of it do not say what it takes" relax 'parts of it|faster than the one before'
cp .out first.json
jq -r '.replays[0].sample_refusal' first.json >why
grep -q "faster than the one before" why ||
    holds "and what the parts took is kept" jq -s -e 'any(.kind == "calibration" and .sampled_ratio > 0)' rare.pcere/samples.jsonl
run "$PCERE" replay --threads 1,2 --json rare.pcere
says "it is replayed again" 0
whole "whole from the start" relax 'earlier replay|faster than the one before|whole with as many threads'
run "$PCERE" replay --sample 0.1 --threads 1 --json rare.pcere
says "a share of the iterations that is asked for is taken" 0
holds "believed or not" jq -e '.replays[] | .basis == "sample" or (.sample_refusal | test("faster than the one before"))' .out
finish
