# pcere report: the page holds all that the store knows and loads nothing, whatever names it holds; tables for other tools; errors.
source "$(dirname "$0")/common.sh"
compile work <"$SOURCE/tests/cli/two_regions.c"
run "$PCERE" capture --all-classes ./work
says "a program is captured" 0
run "$PCERE" report
says "a store without replays has a report" 0 out '^<!DOCTYPE html>' out 'id="data"'
run "$PCERE" report --json
is "it has no prediction" "$(json '[.predictions, .missing] | map(length) | join(" ")')" "0 0"
run "$PCERE" report --format extrap
says "for Extra-P there is nothing yet" 4 err 'no prediction' err 'pcere replay'
run "$PCERE" report --format csv
is "a table has a line for each region all the same" "$(wc -l <.out)" 3

run "$PCERE" replay --threads 1,2
says "it is replayed" 0
run "$PCERE" predict --threads 1,2 --measure --repeat 1
says "and run" 0
run "$PCERE" report -o report.html
says "the report is written" 0 err 'wrote report.html'
"$PCERE" report -q -o /dev/stdout 2>.err | true
status=${PIPESTATUS[0]}
holds "a reader of it that had enough is no error worth a message" test ! -s .err -a \( "$status" -eq 0 -o "$status" -eq 141 \)
for format in html csv json extrap; do
    "$PCERE" report -q --format "$format" 2>.err | true
    status=${PIPESTATUS[0]}
    holds "nor is one of standard output ($format)" test ! -s .err -a \( "$status" -eq 0 -o "$status" -eq 141 \)
    status=0; "$PCERE" report -q --format "$format" >/dev/full 2>.err || status=$?
    : >.out; says "a full disk there is an error ($format)" 5 err 'cannot write .*standard output'
    is "which is told once ($format)" "$(grep -c 'cannot write' .err)" 1
done
is "others may read it, since it holds no memory" "$(stat -c %a report.html)" "$(printf '%o' $((0666 & ~$(umask))))"
# What lies between the page's data element and its end, as a browser would cut it.
document() { awk 'found { if (sub(/<\/script>.*/, "")) { print; exit } print } sub(/.*<script id="data" type="application\/json">/, "") { found = 1; if (sub(/<\/script>.*/, "")) { print; exit } print }' "$1"; }
document report.html >document.json
holds "the document in the page is JSON" jq -e . document.json
is "it is what --json prints" "$(jq -S 'del(.host)' document.json | md5sum)" "$("$PCERE" report --json | jq -S 'del(.host)' | md5sum)"
is "the region's name is there as it is" "$(jq -r '[.regions[].region | select(test("script"))] | length' document.json)" 1
holds "no name is markup" test "$(grep -c '<b>,' report.html)" -eq 0
is "nothing is loaded from anywhere" "$(sed 's/{{//' report.html | grep -oE '(src|href)="?(https?:)?//[^"]*' | wc -l)" 0
is "predictions of both thread counts are in it" "$(jq -r '.predictions[0].predictions | map(.threads) | join(" ")' document.json)" "1 2"
is "real times, too" "$(jq -r '[.predictions[0].predictions[].real_ns != null] | unique | join(" ")' document.json)" true
is "every invocation is listed with its class" "$(jq -r '[.invocations[] | select(.invocations == 12)][0] | [(.number | length), (.representative | map(select(. > 0)) | length)] | join(" ")' document.json)" "12 12"

run "$PCERE" report --format csv -o table.csv
says "a table is written" 0
holds "it is CSV with as many cells on each line" python3 -c '
import csv, sys
rows = list(csv.reader(open("table.csv", newline="")))
assert len(rows) == 1 + 2 * 3 and len({len(row) for row in rows}) == 1, rows
cells = dict(zip(rows[0], rows[1]))
assert int(cells["predicted_ns"]) > 0 and cells["threads"] == "1" and cells["basis"] == "replay"
assert any("<!--<script><b>,\"x.c" in row[0] for row in rows)'
run "$PCERE" report --format extrap
says "lines for Extra-P" 0
holds "each of them has parameters, path, metric and value" jq -se '(length >= 8) and all(.[]; (.params.p | . == 1 or . == 2) and (.value > 0) and (.callpath | startswith("./work")) and (.metric == "time" or .metric == "predicted_time"))' .out
# What Extra-P demands of a file, or else refuses it: one set of parameters, and values of each metric of each call path at all coordinates.
cat >wanted.py <<'PYTHON'
import collections, json, sys
coordinates, names = collections.defaultdict(set), set()
for line in open(sys.argv[1], encoding="ascii"):
    one = json.loads(line)
    names.add(tuple(one["params"]))
    assert isinstance(one["value"], float) and one["value"] >= 0 and one["callpath"].count("->") <= 1
    coordinates[one["callpath"], one["metric"]].add(tuple(one["params"].values()))
assert len(names) == 1 and len(set(map(frozenset, coordinates.values()))) == 1, coordinates
print(" ".join(sorted({metric for _, metric in coordinates})), sorted(set.union(*coordinates.values())))
PYTHON
is "and all of them are at the same thread counts" "$(python3 wanted.py .out)" "predicted_time time [(1,), (2,)]"
# What was replayed first, with other flags, is not what a reader of one prediction wants, and a run with other settings is not the program's as it was captured.
mkdir settings
cp -r work.pcere settings/
cat >others.py <<'PYTHON'
import ctypes, json, sys
xxh64 = ctypes.CDLL("libxxhash.so.0").XXH64
xxh64.restype, xxh64.argtypes = ctypes.c_uint64, [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]
lines = open(sys.argv[1], "rb").read().splitlines(keepends=True)
for one in map(json.loads, lines):
    if one["kind"] == "replay":
        one["flags"] = "-O0"
    if one["kind"] == "run":
        one["settings"] = "bind=close"
    if one["kind"] in ("replay", "run"):
        del one["check"]
        text = json.dumps(one).encode()[:-1] + b',"check": "'
        sys.stdout.buffer.write(text + b'%016x"}\n' % xxh64(text, len(text), 0))
sys.stdout.buffer.write(b"".join(lines))
PYTHON
python3 others.py work.pcere/samples.jsonl >settings/work.pcere/samples.jsonl
run "$PCERE" report --json settings/work.pcere
is "the capture's flags come first, whatever was replayed first" "$(json '[.predictions[].flags] | tojson')" '["","-O0"]'
is "each run says its settings" "$(json '[.runs[].settings] | unique | tojson')" '["","bind=close"]'
"$PCERE" report --format extrap >plain.lines
run "$PCERE" report --format extrap settings/work.pcere
is "lines for Extra-P are those of the program as it was captured" "$(md5sum <.out)" "$(md5sum <plain.lines)"
run "$PCERE" regions --json settings/work.pcere
is "nor are times of regions in such runs those of its own" "$(json '[.spread.regions[]?.times_ns | length] | unique | tojson')" "$("$PCERE" regions --json | jq -r '[.spread.regions[]?.times_ns | length] | unique | tojson')"

run "$PCERE" replay --threads 3
run "$PCERE" report --format extrap
is "real times that are not there at each thread count are left out" "$(python3 wanted.py .out)" "predicted_time [(1,), (2,), (3,)]"
mkdir runs
cp -r work.pcere runs/
grep '"kind":"run"' work.pcere/samples.jsonl >runs/work.pcere/samples.jsonl
run "$PCERE" report --format extrap runs/work.pcere
is "of real runs alone there are their times" "$(python3 wanted.py .out)" "time [(1,), (2,)]"

run "$PCERE" report --format pdf
says "another format is refused with those that there are" 2 err "no format 'pdf'" err 'html, json, csv or extrap'
run "$PCERE" report --json --format csv
says "two formats contradict each other" 2
run "$PCERE" report -o nowhere/report.html
says "a directory that does not exist is an error" 5 err 'nowhere/report.html'
run "$PCERE" report -o /dev/full
says "a full disk is an error" 5
cp report.html before.html
PCERE_FAULTS=report.write:2:ENOSPC run "$PCERE" report -o report.html
holds "a report that cannot be written leaves the old one" cmp report.html before.html
for format in html csv json extrap; do
    "$PCERE" report -q --format $format -o again
    run "$PCERE" report -q --format $format -o again; says "a report ($format) is made anew in its place" 0
    rm again
done
run "$PCERE" report -o report.html --format csv; says "also as another kind" 0
: >empty; run "$PCERE" report -q -o empty; says "and in an empty file" 0
for other in work work.c work.pcere/manifest.json work.pcere/samples.jsonl; do
    cp "$other" kept
    run "$PCERE" report -o "$other"; says "$other is no report" 2 err "'$other' is there, and is no report" err 'hint: --force replaces it'
    holds "and stays as it was" cmp "$other" kept
done
run "$PCERE" report -o work.pcere; says "nor is a directory" 5 err "cannot write 'work.pcere': Is a directory"
run "$PCERE" report --force -o kept; says "what is no report is replaced where that is asked for" 0 err 'wrote kept'
printf 'x' >>work.pcere/invocations.json
run "$PCERE" report
says "a damaged store is refused" 4 err "invocations.json"
finish
