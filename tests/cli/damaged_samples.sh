# Lines of samples.jsonl that are damaged: what the others hold is used, and that is told once, with exit 4.
source "$(dirname "$0")/common.sh"
machine_passes
compile work <"$SOURCE/tests/cli/two_regions.c"
"$PCERE" capture -q --all-classes ./work >/dev/null && "$PCERE" replay -q --threads 1,2 --repeat 3 >/dev/null || { echo "NOT OK: there is no store"; exit 1; }
"$PCERE" regions --json >regions.json && "$PCERE" predict --threads 1,2 --json >predict.json || { echo "NOT OK: it cannot be read"; exit 1; }
cp work.pcere/samples.jsonl whole
lines=$(wc -l <whole)
first=$(grep -n '"kind":"replay"' whole | head -n 1 | cut -d : -f 1)
at=$(head -n "$first" whole | wc -c)
told() { grep -c 'is damaged' "$work/.err"; }

damage work.pcere/samples.jsonl $((at - 100))
run "$PCERE" regions --json; says "the regions are listed" 4 err "^pcere regions: line $first of 'samples.jsonl' is damaged" err '^hint: the other lines hold'
is "all of them, as before" "$(json '.regions | tojson')" "$(jq '.regions | tojson' -r regions.json)"
is "the document says it, too" "$(json '"\(.error.status) \(.error.message | test("samples.jsonl"))"')" "4 true"
run "$PCERE" predict --threads 1,2; says "predictions are made of what there is" 4 out '^ +2 ' err "line $first of"
is "and it is told once" "$(told)" 1
run "$PCERE" report -o report.html; says "so is the report" 4 err "line $first of"
holds "which is written" test -s report.html
is "and tells it once" "$(told)" 1
run "$PCERE" replay --threads 1,2 --repeat 3 --json; says "what it held is measured again" 4 out '"replays"' err "line $first of"
run "$PCERE" predict --threads 1,2 --json; says "and predicted" 4
is "for as many regions as before" "$(json '[.predictions[].regions | length] | tojson')" "$(jq -r '[.predictions[].regions | length] | tojson' predict.json)"
holds "the damaged line and the others stay" test "$(wc -l <work.pcere/samples.jsonl)" -gt "$lines"
run "$PCERE" pack -o p.tar.zst; says "what is sent away is whole, or it is not sent" 4 err "line $first of" err '^hint: .*delete this one'
sed -i "${first}d" work.pcere/samples.jsonl
run "$PCERE" regions; says "as the hint says, it is deleted" 0
run "$PCERE" pack -o p.tar.zst; says "and the store can be packed" 0

head -n 1 whole >work.pcere/samples.jsonl && printf '\n{}\nnonsense\n' >>work.pcere/samples.jsonl && tail -n +2 whole >>work.pcere/samples.jsonl
run "$PCERE" predict --threads 1,2 --json; says "several such lines" 4 err "line 2 of 'samples.jsonl' is damaged.*, and 2 more lines are"
is "cost nothing of the others" "$(json '[.predictions[].regions[].basis] | tojson')" "$(jq -r '[.predictions[].regions[].basis] | tojson' predict.json)"
echo nonsense >work.pcere/samples.jsonl
run "$PCERE" report --format extrap; says "where another failure follows from it, both are told" 4 err 'is damaged' err 'no prediction'
head -c $((at - 1)) whole >work.pcere/samples.jsonl
run "$PCERE" regions; says "a line without an end is what a killed writer leaves" 0
holds "of which nobody needs to hear" test ! -s "$work/.err"
finish
