# scripts/evaluate: a small evaluation leaves its document, tables and figures, goes on where it was, and survives what fails. No time is judged.
source "$SOURCE/tests/cli/common.sh" || exit 1
machine_passes
for needed in python3 make jq; do
    command -v $needed >/dev/null || { echo "SKIPPED: no $needed"; exit 77; }
done
export PCERE
evaluate() { run "$SOURCE/scripts/evaluate" "$@"; }
document() { jq -r "$1" all/evaluation.json; }
has() { holds "$1" jq -e "$2" all/evaluation.json; }

# ---- a whole one ---------------------------------------------------------------------------------------------------------
evaluate --quick -o all
says "a quick evaluation of two programs works" 0 out 'Table II: ' out 'Table III: ' out 'Table IV: ' out 'cg\.S +conj grad iteration loop' out 'mg\.S +resid'
is "its document names its schema" "$(document .schema)" pcere.evaluation/1
is "class, threads and rounds" "$(document '[.class, .threads, .rounds] | tojson')" '["S",[1,2],1]'
is "and the programs" "$(document '[.programs[].program] | join(" ")')" 'cg.S mg.S'
has "it says what made it and where" '.version and .host.name and .pcere.plugin and .processors > 0 and (.environment | type == "object") and .wall_ns > 0'
has "nothing failed" '.errors == [] and [.programs[].errors[]] == []'
has "each program has its sizes" '[.programs[].sizes | .program_bytes > 0 and .memory_bytes > 0 and .store_bytes > 0 and .regions > 0 and .codelets > 0] | all'
has "what its capture cost" '[.programs[].capture | .capture_wall_ns > 0 and .capture_ratio > 0 and .command_ns > 0] | all'
has "a verdict for each codelet" '[.programs[] | (.verify.codelets | length) == .sizes.codelets] | all'
has "identical memory at one thread" '[.programs[].verify.codelets[].identical] | all'
has "each region has share, in vivo, in vitro and error at each thread count" \
    '[.programs[].regions[] | .points | length == 2 and all(.share_ratio >= 0 and .in_vivo_ns > 0 and .in_vitro_ns > 0 and .error_ratio >= 0)] | all'
has "each program and thread count has prediction, interval, real runs, error, acceleration and whether it was covered" \
    '[.programs[].points[] | .low_ns <= .predicted_ns and .predicted_ns <= .high_ns and (.real_samples_ns | length) >= 1 and .error_ratio >= 0 and
      .acceleration > 0 and (.covered | type == "boolean") and (.rounds | length) == 1] | all'
has "error is |predicted - real| / real" '[.programs[].points[] | ((.predicted_ns - .real_ns) / .real_ns | fabs) - .error_ratio | fabs < 1e-9] | all'
has "acceleration is real over cost" '[.programs[].points[] | .real_ns / .cost_ns / .acceleration - 1 | fabs < 1e-9] | all'
has "the mean error is that of the cells" '([.programs[].points[].error_ratio] | add / length) - .summary.all.error_ratio_mean | fabs < 1e-9'
has "the geometric mean of the acceleration, too" \
    '([.programs[].points[].acceleration | log] | add / length | exp) / .summary.all.acceleration_geometric_mean - 1 | fabs < 1e-9'
has "the summary counts covered intervals and the least acceleration" '.summary.all | .covered_of == 4 and .acceleration_min > 0 and .error_ratio_max >= .error_ratio_median'
has "every step says how long it took" '[.programs[].steps[] | .wall_ns > 0 and .status == 0] | all'
is "the paper's regions find ours" "$(document '[.programs[].table_regions[] | select(.paper_region == "conj grad residual norm" or .paper_region == "resid") | .regions[]] | map(sub(":.*"; "")) | join(" ")')" 'conj_grad@cg.c resid@mg.c'
has "every region of the paper's table II for these programs is there" \
    '[.programs[].table_regions[] | select(.paper_region) | (.regions | length == 1)] | length == 8 and all'
is "with the paper's values" "$(document '[.programs[].table_regions[] | select(.paper_region == "resid") | .points[].paper_error_ratio] | map(. * 10000 | round) | tojson')" '[68,3]'
is "and those of table III" "$(document '.programs[0].points[0].paper.nehalem | [.error_ratio * 10000, .acceleration * 100 | round] | tojson')" '[1064,4041]'
has "averages of the paper are computed from it" '.paper.summary.all | .cells == 96 and (.acceleration_mean * 10 | round) == 252'
run cat all/tables.md
says "the markdown has the same tables" 0 out '^## Table II: ' out '^\| program \| threads? ' out '^\| cg\.S \| 2 '
holds "every row of a markdown table has as many cells as its headings" awk -F ' [|] ' '/^[|]/ { if (!n) n = NF; if (!/^[|]-/ && NF != n) exit 1; next } { n = 0 }' all/tables.md
if python3 -c 'import matplotlib' 2>/dev/null || /usr/bin/python3 -c 'import matplotlib' 2>/dev/null; then
    is "both figures are drawn" "$(document '[.figures[].file] | join(" ")')" 'figure3.svg figure4.svg'
    holds "as SVG" python3 -c 'import sys, xml.dom.minidom as dom; [dom.parse("all/" + name) for name in ("figure3.svg", "figure4.svg")]'
    holds "figure 3 shows resid" grep -q 'resid@mg.c' all/figure3.svg
else
    holds "without matplotlib the document says why there are no figures" test -n "$(document '.figures_reason // empty')"
fi

# ---- going on ------------------------------------------------------------------------------------------------------------
document '.programs[].points' >before
evaluate --quick -o all --no-figures
says "the same command again works" 0
is "and does nothing again but make" "$(grep -v 'kept$' .err | awk '{ print $2 }' | sort -u | tr '\n' ' ')" 'build '
document '.programs[].points' >after
holds "with the same figures" cmp before after
evaluate --quick -o all --no-figures --rounds 2
says "another round is added to the one that is there" 0 err 'cg\.S +replay\.1 +kept' err 'cg\.S +replay\.2 +[0-9.]+ s' err 'mg\.S +run\.2\.2 +[0-9.]+ s'
has "real time is the median of all runs" '[.programs[].points[] | (.real_samples_ns | length == 2) and .real_ns == (.real_samples_ns | add / 2)] | all'
has "two runs in a row tell what the machine does to them" '[.programs[].points[] | .real_samples_ns as [$a, $b] | 2 * ($a - $b | fabs) / ($a + $b) - .real_pair_ratio | fabs < 1e-9] | all'
has "a note says which errors are below that" '([.notes[] | select(test("^two real runs of a program in a row differ by"))] | length == 1) and (.summary.all | .cells_within_pairs >= 0 and .cells_within_pairs <= 4)'
has "each round predicts from its own replay alone" '[.programs[].points[].rounds | length == 2 and .[0].cost_ns != .[1].cost_ns] | all'
has "error is the mean over the rounds" '[.programs[].points[] | ([.rounds[].error_ratio] | add / 2) - .error_ratio | fabs < 1e-9] | all'
has "shown is the lower prediction of two" '[.programs[].points[] | .predicted_ns == ([.rounds[].predicted_ns] | min)] | all'
is "the second round begins with the replay" "$(document '[.programs[0].steps[].step | select(test("^(run|replay)"))] | join(" ")')" 'run.1.1 run.1.2 replay.1 replay.2 run.2.1 run.2.2'
rm -r all/mg.S.pcere
evaluate --quick -o all --no-figures
says "a store that is gone is captured again" 0 err 'mg\.S +capture +[0-9.]+ s' err 'mg\.S +replay\.1 +[0-9.]+ s' err 'mg\.S +run\.1\.1 +kept' err 'cg\.S +capture +kept'
evaluate --quick -o all --no-figures --programs cg --cflags '-O2 -g'
says "another executable begins anew" 0 err 'cg\.S +capture +[0-9.]+ s' err 'cg\.S +run\.1\.2 +[0-9.]+ s'
evaluate --quick -o all --no-figures --programs cg --cflags '-O2 -g' --restart
says "and so does --restart" 0 err 'cg\.S +verify +[0-9.]+ s'
evaluate --quick -o elsewhere --no-figures --programs cg --captures all
says "another evaluation's stores can be used" 0 out 'Table V: '

# ---- what fails ----------------------------------------------------------------------------------------------------------
real=$PCERE
cat >unlucky <<SCRIPT
#!/bin/bash
case "\$*" in
    capture*mg.S*) echo 'pcere capture: no luck today' >&2; exit 5 ;;
    replay*1,2*) kill -SEGV \$\$ ;;
esac
exec "$real" "\$@"
SCRIPT
chmod +x unlucky
PCERE=$PWD/unlucky evaluate --quick -o all --no-figures --restart
says "failures give status 1 and a table" 1 out 'What failed' out 'mg\.S +capture +.*no luck today' out 'cg\.S +replay\.1 +ended by signal 11'
is "they are in the document" "$(document '[.errors[] | .program + " " + .step] | join(", ")')" 'cg.S replay.1, mg.S capture'
has "the other program went on, one thread count at a time" '[.programs[0].points[] | .predicted_ns > 0 and .real_ns > 0] | all'
has "real runs need no capture" '[.programs[1].points[] | .predicted_ns == null and .error_ratio == null and .real_ns > 0] | all'
has "what is unknown is counted" '.summary.all | .cells == 4 and .cells_known == 2'
PCERE=$PWD/unlucky evaluate --quick -o all --no-figures
says "a failure is kept, and still a failure" 1 err 'mg\.S +capture +kept  FAILED: .*no luck today'
evaluate --quick -o all --no-figures
says "with another build it is tried again" 0 err 'mg\.S +capture +[0-9.]+ s' err 'cg\.S +verify +kept' out 'another build of PCERE'

printf '#!/bin/bash\n[ "$1" = verify ] && { touch "%s/waiting"; sleep 1000 & wait; }\nexec "%s" "$@"\n' "$PWD" "$real" >slow
chmod +x slow
PCERE=$PWD/slow "$SOURCE/scripts/evaluate" --quick -o stopped --no-figures --programs cg >.out 2>.err </dev/null &
pid=$!
for ((i = 0; i < 3000; i++)); do if [ -e waiting ]; then break; fi; sleep 0.1; done
holds "a long step is under way" test -e waiting
holds "a second evaluation in the same directory is refused" test "$(PCERE=$real "$SOURCE/scripts/evaluate" --quick -o stopped --no-figures >/dev/null 2>&1; echo $?)" = 5
kill -TERM $pid
status=0; wait $pid || status=$?
says "an ended evaluation says how to go on" 143 err 'same command goes on'
evaluate --quick -o stopped --no-figures --programs cg
says "and goes on" 0 err 'cg\.S +capture +kept' err 'cg\.S +verify +[0-9.]+ s'

rm waiting
PCERE=$PWD/slow setsid "$SOURCE/scripts/evaluate" --quick -o killed --no-figures --programs cg >.out 2>.err </dev/null &
pid=$!
for ((i = 0; i < 3000; i++)); do if [ -e waiting ]; then break; fi; sleep 0.1; done
kill -9 $pid
wait $pid 2>/dev/null
left() { for ((i = 0; i < 3000; i++)); do pgrep -f "$PWD/slow verify" >/dev/null || break; sleep 0.1; done; pgrep -fc "$PWD/slow verify"; }
is "what an evaluation runs ends with it when it is killed" "$(left)" 0
evaluate --quick -o killed --no-figures --programs cg
says "and the same command goes on" 0 err 'cg\.S +capture +kept' err 'cg\.S +verify +[0-9.]+ s'

# ---- words ---------------------------------------------------------------------------------------------------------------
evaluate --help; says "help lists the options" 0 out '--threads' out '--rounds' out '--restart'
evaluate --quick --programs 'cg xx' -o none; says "an unknown program is named with those that are there" 2 err "no benchmark 'xx'.*cg"
evaluate --class Q -o none; says "an unknown class too" 2 err 'Q'
evaluate --threads 1,zero -o none; says "a bad list of threads too" 2 err '1,zero'
evaluate --quick --captures "$PWD/none" -o new; says "captures that are no evaluation too" 2 err 'none'
holds "and none of them left anything" test ! -e none -a ! -e new
finish
