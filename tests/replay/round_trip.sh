# Memory after each replayed region is what the original had, bit for bit; any number of threads replays. Arguments: compiler flags.
source "$(dirname "$0")/common.sh"
flags=$*

while read -r name files; do
    # shellcheck disable=SC2086
    program "$name" $files
    captured "$name"
    run "$PCERE" verify --json "$name.pcere"
    says "memory of $name is identical" 0
    holds "and each codelet was compared" jq -e '(.codelets | length) > 3 and ([.codelets[] | .identical and .compared_bytes > 10000] | all)' .out
    [ "$name" != blocks ] || holds "pointers to what a region allocates are told apart" jq -e '[.codelets[].renamed_pointers] | add > 0' .out
    run "$PCERE" replay --threads 1,2,3 --repeat 2 --json "$name.pcere"
    says "$name replays with 1, 2 and 3 threads" 0
    holds "each time twice" jq -e '[.replays[] | (.samples_ns | length) == 2] | all' .out
    run "$PCERE" replay --threads 2 --repeat 2 --warmup none --json "$name.pcere"
    says "$name replays without warm-up" 0
done <<'END'
statics statics_one.c statics_two.c
kinds kinds.c
threads threads.c
pointers pointers.c
mixed mixed.c plain.c
objects objects.cpp
blocks blocks.cpp
END
finish
