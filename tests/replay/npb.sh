# Every captured region of the eight benchmarks leaves the memory that the program had, bit for bit. Argument: the class.
source "$(dirname "$0")/common.sh"
class=$1
names=$(make -s -C "$SOURCE/cNPB" names)
# shellcheck disable=SC2086
make -s -C "$SOURCE/cNPB" $names CLASS="$class" CC="$CLANG" CFLAGS="-O3 -g -fpass-plugin=$(plugin)" BINDIR="$PWD/bin" OBJDIR="$PWD/obj" ||
    { echo "NOT OK: the benchmarks cannot be built"; exit 1; }
for name in $names; do
    run "$PCERE" capture --force "bin/$name.$class"
    says "$name.$class is captured" 0 out 'Verification += +SUCCESSFUL'
    run "$PCERE" regions --json "$name.$class.pcere"
    holds "no region of $name.$class is invalid" jq -e '[.regions[].status] | index("invalid") == null' .out
    run "$PCERE" verify --json "$name.$class.pcere"
    says "memory of $name.$class is identical" 0
    holds "and something was compared" jq -e '(.codelets | length) > 0 and ([.codelets[] | .identical and .compared_bytes > 10000] | all)' .out
    [ "$class" = S ] || continue
    run "$PCERE" verify --threads 2 --json "$name.$class.pcere"
    holds "with two threads $name.$class differs by rounding only, but for what it keeps by thread" jq -e '[.codelets[].causes[] | select(.verdict != "rounding")
        | .name | test("^(x\\[\\] of thread 0|bucket_size\\[\\]\\[\\]|(lower|upper)_progress\\[\\][.]steps)$")] | all' .out
done
holds "all eight benchmarks are there" test "$(wc -w <<<"$names")" = 8
finish
