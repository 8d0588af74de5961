# Each shot finds memory as the first one did, where the region itself leaves there what decides.
source "$(dirname "$0")/common.sh"

build flags flags
run "$PCERE" replay --sample off --threads 1 --json flags.pcere
says "regions that leave flags and counts behind are replayed whole" 0
cp .out whole.json
run "$PCERE" replay --sample 0.1 --threads 1,2 --json flags.pcere
says "and by shots" 0
# Every shot of the first one but the first would find its table made, and take a seventh; the others would sweep once, not five times, or half as often each time: a fifth at the most. What else
# the machine does makes shots longer, never shorter; where it made them look like ever faster ones, the region was replayed whole.
for region in made_once until_done used_up; do
    for threads in 1 2; do
        holds "$region: with $threads threads no shot takes less than the whole region" jq -e --arg region "$region" --argjson threads "$threads" --slurpfile whole whole.json \
            'def taken($from; $of): [$from.replays[] | select(.region | startswith($region)) | select(.threads == $of)] | sort_by(.representative);
             [taken(.; $threads), taken($whole[0]; 1)] | transpose
             | length > 0 and all((.[0].sample_refusal // "" | test("^$|faster than the one before")) and (.[0].samples_ns | min) > 0.35 * .[1].median_ns / $threads)' .out
    done
done
holds "and shots they are" jq -e '[.replays[] | select(.basis == "sample")] | length >= 3' .out
finish
