# One process measures a codelet with all numbers of threads of the list, as long as they grow: a smaller team would have the threads of the larger one beside it.
# Each time from memory as it was: the region ends its process where it is not. Asked is which process began anew, since only such a one maps memory.
source "$(dirname "$0")/common.sh"
flags=-O2
program turns turns.c
captured turns
anew='def anew(threads): .replays | map(select(.threads == threads) | .cost_parts_ns.map > 0);'

for warmup in plain none; do
    run "$PCERE" replay turns.pcere --threads 1,2,3 --repeat 1 --warmup "$warmup" --json
    says "three numbers of threads, warm-up $warmup" 0
    holds "all have times" jq -e '.replays | length > 0 and length % 3 == 0 and all(.median_ns > 0 and .processes == 1 and .reason == null)' .out
    holds "with teams of their own" jq -e '.replays | all(.team == .threads)' .out
    holds "the first began a process" jq -e "$anew"'anew(1) | all' .out
    holds "the others went on in it" jq -e "$anew"'anew(2) + anew(3) | any | not' .out
done
run "$PCERE" replay turns.pcere --threads 3,2 --repeat 1 --warmup plain --json
says "fewer threads behind more" 0
holds "have processes of their own" jq -e "$anew"'anew(3) + anew(2) | all' .out
run "$PCERE" replay turns.pcere --threads 1,2 --sample off --json
says "as many repetitions as they need" 0
holds "have times with both" jq -e '.replays | all(.median_ns > 0 and .reason == null)' .out
run "$PCERE" verify turns.pcere --threads 1,2
says "verifying begins each anew" 0
finish
