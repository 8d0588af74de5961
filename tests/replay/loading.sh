# What a replay loads: memory is as it was also where a rehearsal came before the timed run; decompressed pages stay for the next replay, and what
# does not hold any more is not believed.
source "$(dirname "$0")/common.sh"
field() { jq -r ".replays[] | select(.region | startswith(\"$1\")) | .$2" .out; }
# Each timed run found memory as it was: the regions crash where it is not.
works() { jq -e "[.replays[] | select(.region | startswith(\"$1\")) | .reason == null and (.samples_ns | length > 0)] | length > 0 and all" .out; }

flags=-O2
program loading loading.c
# What is rehearsed goes by what a region took in the program (0.1 ms where nothing holds it up) beside the pages that it needs (1 ms): a capture that the machine held up there is made
# again.
for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do
    run "$PCERE" capture --all-classes --force --json ./loading
    jq -e '.regions[] | select(.function == "only_once") | .time_ns < 700000' .out >/dev/null && break
done
says "loading runs and is captured" 0 err '^PASS'
index=loading.pcere/build/memory/index pages=loading.pcere/build/memory/pages
for warmup in auto none; do
    run "$PCERE" replay --json --sample off --warmup $warmup loading.pcere
    says "--warmup $warmup: all regions are replayed" 0
    for region in only_once many_times streamed; do
        holds "--warmup $warmup: $region finds its memory as it was, in every timed run" works $region
    done
done
# Not what auto finds nearest to the time in the program, which is a matter of times: what the region's history asks for.
run "$PCERE" replay --json --sample off --warmup history loading.pcere '*only_once*'
holds "a cold run that needs little of much memory is rehearsed" test "$(field only_once warmups)" = 1
holds "its repetitions share a process" test "$(field only_once processes)" = 1
# What else the machine does can make shots look like ever faster ones: then they are taken again.
for _ in 1 2 3 4 5 6 7 8; do
    run "$PCERE" replay --json --sample 0.05 loading.pcere '*streamed*'
    jq -e '.replays[0].sample_refusal // "" | test("faster than the one before")' .out >/dev/null || break
done
says "shots are rehearsed" 0
holds "and sampled" test "$(field streamed basis)" = sample
shot_ns=$(json '.replays[0].samples_ns | min')
# The shortest of several runs, since other work only lengthens them; unscaled shots would be a twentieth of it at most.
for _ in 1 2 3 4 5 6 7 8; do
    run "$PCERE" replay --json --sample off --repeat 3 loading.pcere '*streamed*'
    [ "$(json ".replays[0].samples_ns | min | . < 6 * $shot_ns and $shot_ns < 6 * .")" != true ] || break
done
holds "and scaled to the region" test "$(json ".replays[0].samples_ns | min | . < 6 * $shot_ns and $shot_ns < 6 * .")" = true

holds "decompressed pages stay in the store" test -s $index -a -s $pages
inode=$(stat -c %i $pages)
run "$PCERE" verify loading.pcere
says "they are what verifying uses" 0 out 'identical'
holds "in the same file" test "$(stat -c %i $pages)" = "$inode"
truncate -s 0 $pages
run "$PCERE" verify loading.pcere
says "pages that were cut are read from the store again" 0 out 'identical'
cp $pages pages.copy && rm $pages && cp pages.copy $pages && dd if=/dev/zero of=$pages bs=4096 count=4000 conv=notrunc status=none
run "$PCERE" verify loading.pcere
says "another file in their place is not believed" 0 out 'identical'
printf x >>$index
run "$PCERE" verify loading.pcere
says "nor is a damaged index" 0 out 'identical'
exec 9<$pages
flock 9
run "$PCERE" verify loading.pcere
says "where another replay has the file, one in memory does" 0 out 'identical'
exec 9<&-
rm $pages
PCERE_FAULTS=pages.room run "$PCERE" replay --repeat 1 loading.pcere '*only_once*'
says "a disk without room for its pages is told" 0 err 'would take more than half of what the store.s disk, or this machine.s memory, has left: they were not kept'
run "$PCERE" replay --repeat 1 loading.pcere '*only_once*'
holds "with room nothing is said" test -z "$(grep "were not kept" .err)"
chmod 0 loading.pcere/build/memory
run "$PCERE" verify loading.pcere
says "where it cannot be opened, too" 0 out 'identical'
chmod 700 loading.pcere/build/memory
run "$PCERE" rm --cache loading.pcere
says "it goes with the cache" 0
holds "and is gone" test ! -e loading.pcere/build
finish
