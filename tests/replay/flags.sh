# Captured at one level, replayed at another: the code changes, the results do not.
source "$(dirname "$0")/common.sh"
flags=-O0
program kinds kinds.c
captured kinds
run "$PCERE" verify --flags "-O3" --json kinds.pcere '*'
holds "-O3 codelets of an -O0 program leave the same memory outside the stack" \
    jq -e '(.codelets | length) > 10 and ([.codelets[] | .identical or ([.causes[].memory == "stack"] | all)] | all)' .out
run "$PCERE" replay kinds.pcere '*by_value*' --repeat 5 --threads 1 --json
slow=$(json '[.replays[].median_ns] | add')
run "$PCERE" replay kinds.pcere '*by_value*' --repeat 5 --threads 1 --flags "-O3 -march=native" --json
fast=$(json '[.replays[].median_ns] | add')
says "machine flags are taken" 0
holds "and an -O0 capture becomes faster by them ($slow ns to $fast ns)" test "$fast" -lt "$slow"
program statics statics_one.c statics_two.c
flags=-O2
program statics statics_one.c statics_two.c
captured statics
run "$PCERE" verify --flags "-O1 -fno-vectorize" --json statics.pcere
says "another level of an optimised program leaves the same memory" 0
finish
