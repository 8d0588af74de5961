# scripts/evaluate-cells: several captures and moments of a program, taken apart; what is done is not done again. No time is judged.
source "$SOURCE/tests/cli/common.sh" || exit 1
machine_passes
for needed in python3 make jq; do
    command -v $needed >/dev/null || { echo "SKIPPED: no $needed"; exit 77; }
done
export PCERE
cells() { run "$SOURCE/scripts/evaluate-cells" --class S --threads 1,2 --runs 1 -o all "$@"; }
has() { holds "$1" jq -e "$2" all/cells.json; }

cells --captures 2 --moments 1 cg
says "two captures of a program, replayed once" 0 out '^\| cg\.S \| 1 ' out '^\| cg\.S \| 2 '
has "its document names its schema" '.schema == "pcere.cells/1" and .complete and .errors == []'
has "each cell has real runs, predictions of each capture, bias and verdict" \
    '.cells | length == 2 and all((.real_samples_ns | length) == 1 and (.predicted_ns | length) == 2 and .bias_low_ratio <= .bias_ratio and .bias_ratio <= .bias_high_ratio and (.says | length) > 0)'
has "moments that were not made tell nothing" '[.cells[] | .real_moments_ratio == null] | all'
has "parts move the bias by what they differ, and all together by all of it" \
    '[.cells[] | . as $cell | ([.parts[].moves_ratio] | add) as $sum | ([$cell.predicted_ns[][0]] | add / 2) / $cell.real_samples_ns[0][0] - 1 - $sum | fabs < 1e-6] | all'
cells --captures 2 --moments 1 cg
says "the same command again does nothing again but make" 0 err 'cg\.S +replay\.this\.1\.1-2 +kept' err 'cg\.S +run\.1\.2 +kept' err 'cg\.S +capture +kept'
cells --captures 2 --moments 2 --within 0.001 cg
says "and none begins a step when its time is over" 0 err 'the same command goes on where it was'
has "which the document says" '.complete | not'
cells none; says "an unknown program" 2 err "'none' is neither a benchmark"
holds "of a table with known effects the mean, its interval and what varies are found" python3 -B - "$SOURCE" <<'PYTHON'
import math, sys
sys.path.insert(0, sys.argv[1] + "/scripts/evaluation")
import variance
near = lambda a, b: math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-9)
captures = variance.crossed([[1, 1, 1], [3, 3, 3]])
assert near(captures["mean"], 2) and near(captures["captures"], math.sqrt(2)) and captures["moments"] == 0 and near(captures["half"], 12.706)
moments = variance.crossed([[1, 2, 3], [1, 2, 3]])
assert near(moments["moments"], 1) and moments["captures"] == 0 and near(moments["half"], 4.303 / math.sqrt(3), )
replays = variance.crossed([[0, 1], [1, 0]])
assert near(replays["replays"], math.sqrt(1 / 3)) and near(replays["half"], 3.182 * math.sqrt(1 / 12))
assert variance.crossed([[1.0]])["half"] is None
PYTHON
finish
