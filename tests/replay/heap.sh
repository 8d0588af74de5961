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

# What is exported does the same: each run would take 1200 new pages otherwise.
run "$PCERE" export heap.pcere replace -o out
says "it is exported" 0
run make -s -C out
says "and builds" 0
cat >faults.py <<'END'
import os, resource, subprocess, sys

def faults(repetitions):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt
    subprocess.run(["./codelet", str(repetitions)], cwd="out", stdout=subprocess.DEVNULL, check=True, env=dict(os.environ, OMP_NUM_THREADS=sys.argv[1]))
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt - before

print((faults(45) - faults(5)) / 40)
END
for threads in 1 2; do
    run python3 faults.py $threads
    says "runs of it are counted" 0
    holds "memory is the last run's again, with $threads" test "$(cut -d. -f1 .out)" -lt 400
done
run make -s -C out check THREADS=1
says "and it leaves the program's memory" 0 out '^check: identical'

# Large blocks that grow have what they held, in each run. Copying them took twenty times as long as moving their pages.
program grows grows.c
captured grows
run "$PCERE" replay --repeat 3 --threads 1,2 grows.pcere
says "blocks that grow, again and again, are what they were" 0 out "grow@grows.c.*$(samples 3)" out "grow_mapping@grows.c.*$(samples 3)" out "shrink@grows.c.*$(samples 3)"
run "$PCERE" verify --threads 1,2 grows.pcere "grow@*" shrink
says "and where their memory is compared" 0 out 'grow@grows.c.*identical' out 'shrink@grows.c.*identical'
finish
