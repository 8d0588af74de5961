# Codelets find their place where the kernel does not randomise addresses, and whatever number of threads the capture had.
source "$(dirname "$0")/common.sh"
for flags in "-O2" "-O2 -fno-pie"; do
    while read -r name files; do
        # shellcheck disable=SC2086
        program "$name" $files
        captured "$name" --force
        run "$DRIVER" "$name.pcere" "$LIBRARIES"
        says "without randomisation memory of $name ($flags) is identical" 0 out 'identical'
    done <<'END'
statics statics_one.c statics_two.c
kinds kinds.c
threads threads.c
mixed mixed.c plain.c
END
done
flags=-O2
for name in kinds threads; do
    program "$name" "$name.c"
    captured "$name" --force --threads 3
    run "$PCERE" replay --threads 1,2,4 --repeat 2 --json "$name.pcere"
    says "a capture of $name with 3 threads replays with 1, 2 and 4" 0
done
run "$PCERE" verify --threads 3 --json threads.pcere
holds "thread-local variables of all three threads are compared" jq -e '[.codelets[] | .causes[].memory != "thread-local"] | all' .out
finish
