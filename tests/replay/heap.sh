# A replay finds the heap as the program does: blocks that the region frees are there for it again, and those that it leaves behind do not make each run take memory that is new.
source "$(dirname "$0")/common.sh"
flags=-O2
program heap heap.c

# Without that the first one takes seven times as long as the program; the machine may make anything slow, for a while. What the second one takes depends on whether the C library gives memory
# back to the system in between.
near='[.replays[] | select((.region | test("^replace@")) and .threads == 1 and .representative > 1 and .in_vivo_ns and .median_ns)] | length > 0 and all(.median_ns < 2.5 * .in_vivo_ns)'
for _ in $(seq 12); do
    captured heap --force
    run "$PCERE" replay --json --threads 1,2 heap.pcere
    [ "$status" -eq 0 ] && jq -e "$near" .out >/dev/null && break
done
says "both regions are replayed" 0
holds "the first in about the time that it took in the program" jq -e "$near" .out
run "$PCERE" verify --threads 1,2 heap.pcere
says "and their memory is the program's" 0 out 'identical'
finish
