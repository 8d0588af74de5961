# Pages with the same content: the store has them once, a codelet as often as the program had, since each takes room in caches. Restoring and what runs
# before a region go by content all the same.
source "$(dirname "$0")/common.sh"
flags=-O2
program alike alike.c
captured alike
holds "the store has them once" test "$(cat alike.pcere/pages* alike.pcere/*/pages* 2>/dev/null | wc -c)" -lt 4000000

run "$PCERE" replay alike.pcere --sample off --warmup plain --threads 1,2 --repeat 3 --json
says "all regions are replayed" 0
holds "and find memory as it was, each time" jq -e '[.replays[] | .reason == null and (.samples_ns | length) == 3] | length > 0 and all' .out
alike=$(LC_ALL=C tr -dc '\331' <alike.pcere/build/memory/pages | wc -c)
holds "a codelet has as many pages as the program had" test "$alike" -ge $((2030 * 512))
holds "and not once more for each codelet" test "$alike" -lt $((2 * 2048 * 512))
holds "a page that is written is restored, not those like it" \
    jq -e '[.replays[] | select(.region | startswith("changes")) | .written_pages < 32] | length > 0 and all' .out

run "$PCERE" replay alike.pcere 'uses@*' --sample off --warmup preceded --threads 1 --repeat 3 --json
says "another region runs before it" 0
holds "from its own memory" jq -e '[.replays[] | .reason == null and (.samples_ns | length) == 3] | length > 0 and all' .out
holds "which really ran" jq -e '[.replays[].warmup_reason | test("after .*changes@alike.c")] | any' .out
holds "pages that are like each other are not laid between the two" jq -e '[.replays[].laid_pages < 32] | all' .out
run "$PCERE" verify alike.pcere
says "memory after each region is that of the program" 0 out 'identical'
finish
