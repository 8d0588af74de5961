# Traces of ours that are cut, damaged, or were never finished: what is whole is used, with a sentence and exit 4.
source "$(dirname "$0")/common.sh"
cat >many.c <<'END'
#include <stdio.h>
#include <unistd.h>
int main(int count, char **words)
{
    double v[2] = {0};
    #pragma omp parallel num_threads(2)
    {
        for (int i = 0; i < 6000; i++) {
            #pragma omp critical
            v[0] += i;
        }
        #pragma omp single
        for (int i = 0; i < 10; i++) {
            #pragma omp task depend(inout: v[1])
            v[1] += i;
        }
    }
    for (FILE *file; count > 1 && (file = fopen("ready", "w")); usleep(1000)) {
        fclose(file);
        if ((file = fopen(words[1], "r"))) return fclose(file);
    }
    return v[1] != 45;
}
END
"$CLANG" -O1 -g -fopenmp -Wl,--build-id many.c -o many || { echo "skip: this clang makes no OpenMP program"; exit 77; }
cat >damage.py <<'END'
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
what, out = sys.argv[2], sys.argv[3]
blocks = [(offset, *struct.unpack_from("<IHHII", data, offset)) for offset in range(16384, len(data) - 64, 65536)]
blocks = [b for b in blocks if b[1] == 0x4b4c4254]                      # offset, magic, kind, thread, sequence, used
end = blocks[-1][0] + 65536
if what == "index": data = data[:-8]
elif what == "behind": data = data[:end]
elif what == "within": data = data[:blocks[-1][0] + 64 + 16 * blocks[-1][5] // 2]
elif what == "third": data = data[:[b for b in blocks if b[2] == 1 and b[4] == 1][0][0] + 30000]
elif what == "header": data = data[:16384]
elif what == "early": data = data[:9000]
elif what == "bit": data[[b for b in blocks if b[2] == 1 and b[3] == 1 and b[4] == 1][0][0] + 4321] ^= 4
elif what == "table":
    for b in blocks:
        if b[2] == 2: data[b[0] + 100] ^= 1
open(out, "wb").write(data)
END
run "$PCERE" trace -o whole.pct ./many; says "a program is traced" 0 out 'records'
run "$PCERE" trace -o second.pct ./many; says "and again" 0
run "$PCERE" graph whole.pct -o whole.dot; says "its graph" 0
for damage in index behind within third header early bit table; do python3 damage.py whole.pct $damage "$damage.pct" || not_ok "the trace can be damaged: $damage"; done

for damage in index behind; do
    run "$PCERE" metrics task "$damage.pct" --csv; says "cut at its $damage, all records are whole" 4 err "'$damage\.pct' is cut or damaged; [0-9]+ records that are whole were used, to the end; 0 blocks" out ',10,Execute$'
    run "$PCERE" graph "$damage.pct" -o "$damage.dot"; says "the graph is drawn" 4 err 'what is whole'
    holds "and is that of the whole one" cmp whole.dot "$damage.dot"
done
for damage in within third bit; do
    run "$PCERE" timeline "$damage.pct" -o "$damage.json"; says "damaged ($damage), it has a timeline" 4 err "'$damage\.pct' is cut or damaged; [1-9][0-9]* records that are whole were used, up to the first gap; [1-9][0-9]* blocks are missing" err 'the timeline is of what is whole'
    holds "which is whole itself" jq -e '.traceEvents | length > 100' "$damage.json"
    run "$PCERE" metrics omp "$damage.pct" --json; says "and metrics" 4 err 'of what is whole'
    is "whose parts add up to wall time x threads that have records" "$(json '.runs[0].metrics | (([.["Useful [ns]"], .["Region body [ns]"], .["Serial [ns]"], .["Serialisation [ns]"],
        .["Load balance [ns]"], .["Synchronisation [ns]"], .["Scheduling overhead [ns]"], .["Dependence wait [ns]"]] | add) as $sum | .["Total time [ns]"] as $wall | $sum == $wall or $sum == 2 * $wall)')" true
    run "$PCERE" merge "$damage.pct" second.pct -o "merged-$damage.json"; says "and is merged" 4 err 'what is whole was merged'
    holds "into a whole file" jq -e '.traceEvents | length > 100' "merged-$damage.json"
done
run "$PCERE" metrics task table.pct --csv; says "without its tables constructs have no name" 4 err '([1-9][0-9]*) of [0-9]+ constructs no name' out ',10,Execute$'
run "$PCERE" metrics omp header.pct; says "of a header alone nothing is left" 4 err 'header\.pct'
run "$PCERE" timeline early.pct -o early.json; says "of half a header neither" 4 err 'is no trace'
holds "and nothing is written" test ! -e early.json

# Traces that do not belong together, and files that are none, among those of one run.
"$CLANG" -O2 -g -fopenmp -Wl,--build-id many.c -o other || not_ok "the program is built in another way"
run "$PCERE" trace -o other.pct ./other; says "another program is traced" 0
run "$PCERE" metrics omp whole.pct,other.pct; says "two programs as one run: that is said" 0 err "'whole\.pct' and 'other\.pct' are traces of different programs" out 'Total time'
run "$PCERE" merge whole.pct other.pct -o both.json; says "merged, too" 0 err "'whole\.pct' and 'other\.pct' are traces of different programs"
run "$PCERE" merge whole.pct second.pct -o twice.json; says "two of one program are merged" 0
holds "without a remark" test ! -s "$work/.err"
: >empty.pct
echo hello >foreign.pct
run "$PCERE" merge whole.pct empty.pct -o x.json; says "an empty file among traces is named" 4 err "'empty\.pct' is empty"
run "$PCERE" merge whole.pct foreign.pct -o x.json; says "a foreign one, too" 4 err "'foreign\.pct' is no trace"
holds "and nothing is written" test ! -e x.json

# What records is killed; the program lives on.
"$PCERE" trace --threads 2 -o orphan.pct ./many go >/dev/null 2>&1 </dev/null &
recorder=$!
while [ ! -e ready ] && kill -0 "$recorder" 2>/dev/null; do sleep 0.05; done
holds "the program has done its work" test -e ready
kill -KILL "$recorder"
wait "$recorder" 2>/dev/null
run "$PCERE" metrics task orphan.pct --csv; says "a trace whose recorder was killed is read, and the program still writes it" 4 err "'orphan\.pct' was never finished.*; [1-9][0-9]* records that are whole were used, to the end" out ',10,Execute$'
: >go
run "$PCERE" timeline orphan.pct -o orphan.json; says "it has a timeline" 4 err 'never finished'
holds "which is whole" jq -e '.traceEvents | length > 100' orphan.json
head -c 100000 orphan.pct >piece.pct
run "$PCERE" metrics omp piece.pct; says "a piece of it is read or refused" 4 err 'piece\.pct'
finish
