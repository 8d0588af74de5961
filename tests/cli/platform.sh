# pcere platform: machines are listed, shown and measured, and what is none is refused.
source "$SOURCE/tests/cli/common.sh" || exit 1

run "$PCERE" platform list; says "PCERE's own architectures are listed" 0 out '^core2 ' out '^nehalem ' out '^sandybridge ' out '^sapphirerapids ' out '^zen4 ' out '^neoversev2 '
for name in core2 nehalem sandybridge sapphirerapids zen4 neoversev2; do
    run "$PCERE" platform show $name --json; says "$name is shown" 0
    is "$name has published figures with sources" "$(json '.schema + " " + .platform.name + " " + .platform.basis + " " + (.platform.sources | length >= 3 | tostring)')" \
        "pcere.platform/1 $name published true"
done
run "$PCERE" platform show sandybridge --json
is "sandybridge is that of the paper's Table I" \
    "$(json '.platform | [.sockets, .cores_per_socket, .threads_per_core, .frequency_hz / 1e9, (.levels[] | .bytes / 1024)] | map(tostring) | join(" ")')" "2 8 2 2.7 32 256 20480 67108864"
run "$PCERE" platform show core2; says "core2's shared cache is drawn" 0 out '^\[ *L2 3.00 MiB *\]$' out '^source: .*Table I'

run "$PCERE" platform show sandybrige; says "a misspelt name brings the nearest, and all there are" 2 err "did you mean 'sandybridge'" err 'zen4'
run "$PCERE" platform show; says "a machine that was not measured says how" 4 err 'platform discover'
run "$PCERE" platform; says "what to do must be said" 2 err '^hint: .*discover'
run "$PCERE" platform discovr; says "a misspelt action brings the nearest" 2 err "did you mean 'pcere platform discover'"
run "$PCERE" platform list --quick; says "options of discover go with it only" 2
run "$PCERE" platform list sandybridge; says "list takes no name" 2
run "$PCERE" platform discover --quick --name 'a b' -o x.json; says "a name with a blank is refused" 2 err "'a b'"
holds "and nothing is written" test ! -e x.json

# Where the result cannot be written it is not measured either.
run timeout 20 "$PCERE" platform discover -o nowhere/x.json; says "a folder that is not there is told before anything is measured" 5 err "cannot write 'nowhere/x.json'" err '^hint: '
mkdir folder
run timeout 20 "$PCERE" platform discover --force -o folder; says "and so is a folder in place of a file" 2 err "'folder' is no regular file"

# Probes whose answers are known; of the second folder those that must be pinned are refused.
probes_write known 0
probes_write loose 1

# Where too much else runs, numbers cross: that is said, and known answers go on.
run "$PCERE" platform discover --quick --name box --load 100ms --json
if [ "$status" -eq 3 ]; then
    says "a machine that is too busy to be measured says so, and which number tells" 3 err 'what was measured: ' err 'too busy'
    run env PCERE_LIBDIR="$work/known" "$PCERE" platform discover --quick --name box --load 100ms --json
fi
says "this machine is measured" 0
is "what was measured is a signature, in the user's own place" "$(json '.file | endswith("/data/pcere/archs/box.json")')" true
is "its nearest cache is faster than memory" "$(json '.platform.levels | 0 < .[0].latency_ns.value and .[0].latency_ns.value <= .[-1].latency_ns.value')" true
is "intervals hold their values" "$(json '[.platform.levels[].latency_ns | .low <= .value and .value <= .high] | all')" true
is "bandwidths, arithmetic and overheads are there" \
    "$(json '.platform | (.levels[-1].bandwidths[0].read_bytes_per_s.value > 1e8) and any(.arithmetic[]; .kind == "add" and .bits == 64 and .flops_per_s.value > 1e8)
             and ([.overheads[].construct] | contains(["parallel", "for", "barrier", "single", "critical", "lock", "reduction", "task", "dynamic-chunk"]))')" true
holds "and what the clock falls to under lasting load, with what the kernel says of it" \
    jq -e '.platform | (.clocks | all(.sustained_hz.value > 1e8 and .load_s == 0.1)) and any(.sources[]; startswith("clock: "))' .out
run "$PCERE" platform discover --quick --name none --load 5min; says "a load of minutes is refused" 2 err '5min'
run "$PCERE" platform discover --quick --name none --load 60s; says "and one that a probe may not take" 2 err 'at most 50s'
run "$PCERE" platform discover --quick --name box; says "an earlier file is not replaced unasked" 2 err '--force'
run "$PCERE" platform show box; says "it has a name from now on" 0 out '^box: .*\(measured\)' out 'GHz at 1 thread \(.* after 0\.1 s\)'
PCERE_HOST=box run "$PCERE" platform show host; says "and is this machine's, if that is its name" 0 out '^box: '

mine=$XDG_DATA_HOME/pcere/archs
sed 's/"name": *"box"/"name": "zen4"/' "$mine/box.json" >"$mine/zen4.json"
run "$PCERE" platform show zen4; says "the user's own come before PCERE's" 0 out '\(measured\)'
head -c 700 "$mine/box.json" >"$mine/cut.json"
run "$PCERE" platform show cut; says "a file that is cut off is damage" 4 err 'cut.json is not valid JSON'
sed 's|pcere.platform/1|pcere.platform/2|' "$mine/box.json" >"$mine/newer.json"
run "$PCERE" platform show newer; says "so is one of another schema, which is named" 4 err 'pcere.platform/2'
jq '.levels[0].latency_ns = {value: -1, low: null, high: null}' "$mine/box.json" >"$mine/absurd.json"
run "$PCERE" platform show absurd; says "a machine that cannot be is refused, naming the field" 4 err 'levels\[0\].latency_ns'
jq '.levels[-1].overlap_read_ratio = {value: 7, low: null, high: null}' "$mine/box.json" >"$mine/overlap.json"
run "$PCERE" platform show overlap; says "whichever field it is" 4 err 'levels\[[0-9]\]\.overlap_read_ratio is no share'
run "$PCERE" platform list; says "damaged ones are listed as such, beside the others" 0 out '^cut +damaged' out '^sandybridge +published'
run "$PCERE" platform show "$work/none.json"; says "a file that is not there is said to be missing" 4 err 'none.json'

# A machine where threads cannot be pinned.
run env PCERE_LIBDIR="$work/loose" "$PCERE" platform discover --quick --name loose; says "where threads cannot be pinned that is said" 0 out 'threads could not be pinned: intervals are wide'
run "$PCERE" platform show loose --json
is "and intervals widen: the whole range, and a quarter more on either side" "$(json '.platform | (.pinned | tostring) + " " + (.levels[0].latency_ns | "\(.value) \(.low) \(.high)")')" "false 5 4 7.5"

run env -u XDG_DATA_HOME -u HOME "$PCERE" platform discover --quick; says "without a home a file must be named" 3 err '^hint: .*-o'
run env PCERE_LIBDIR="$work" "$PCERE" platform discover --quick -o y.json; says "an installation without the probes says so" 3 err 'pcere-probe'
finish
