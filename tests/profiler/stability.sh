# The set of labels is the same in each run, whatever the schedule, the wait policy and the number of processors.
source "$SOURCE/tests/cli/common.sh"
programs=$SOURCE/tests/profiler/programs

PCERE=$PCERE NPB=$NPB run bash "$SOURCE/scripts/label-stability" 5 listing fibonacci queens sort tree sparse_lu knapsack {bt,cg,ep,ft,is,lu,mg,sp}.S {is,mg}.S.dynamic
says "all programs give the same labels in five runs" 0
cat "$work/.out"
is "of each program" "$(grep -c 'runs, [1-9][0-9]* XUs, 0 with other labels, 0 labels twice' "$work/.out")" 17

"$CLANG" -O2 -g -fopenmp "$programs/in_single.c" -o in_single
labels() { "$PCERE" profile -q --force --json "$@" 2>/dev/null | jq -r '[.xus[].label] | sort | join(" ")'; }
same=$(labels ./in_single)
is "tasks made in single have labels that do not tell who made them" "$(labels ./in_single other)" "$same"
is "which is not so by the rules of the paper: the first thread makes them" "$(labels --labels paper ./in_single other | sed 's/@[a-z_]*\.c:/@/g')" "0.1@10.0.0@17 0.1@10.0.2@19"
is "or the second" "$(labels --labels paper ./in_single | sed 's/@[a-z_]*\.c:/@/g')" "0.1@10.0.1@17 0.1@10.0.3@19"
finish
