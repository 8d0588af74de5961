# The set of labels is the same in each run, whatever the schedule, the wait policy and the number of processors.
source "$SOURCE/tests/cli/common.sh"
programs=$SOURCE/tests/profiler/programs

PCERE=$PCERE NPB=$NPB run bash "$SOURCE/scripts/label-stability" 5 listing fibonacci queens sort tree sparse_lu knapsack {bt,cg,ep,ft,is,lu,mg,sp}.S {is,mg}.S.dynamic
says "all programs give the same labels in five runs" 0
cat "$work/.out"
is "of each program" "$(grep -c 'runs, [1-9][0-9]* XUs, 0 with other labels, 0 labels twice' "$work/.out")" 17

# What becomes of runs that end otherwise: a command that fails at some calls stands in.
mkdir bin
cat >bin/pcere <<'END'
#!/bin/sh
calls=$(($(cat "$CALLS") + 1))
echo $calls >"$CALLS"
case " $ASSERTED " in *" $calls "*) echo "OMP: Error #13: Assertion failure at kmp_dispatch.cpp(1618): x" >&2; exit 1 ;; esac
case " $DIED " in *" $calls "*) echo killed >&2; exit 1 ;; esac
echo '{"xus": [{"type": "task", "label": "1"}, {"type": "task", "label": "2"}]}'
END
chmod +x bin/pcere
ended() { # ASSERTED DIED
    echo 0 >calls
    run env CALLS="$work/calls" ASSERTED="$1" DIED="$2" PCERE="$work/bin/pcere" NPB="$NPB" bash "$SOURCE/scripts/label-stability" 4 ep.S
}
ended "1 3 5" ""; says "runs that the runtime's assertion ended are told of, and made again" 0 out '^ep.S: run 1 failed: .*Assertion' out 'S: 4 runs, 2 XUs, 0 with other labels.*, 3 more that an assertion'
is "each once" "$(cat calls)" 7
ended "1 2 3 4" ""; says "not for ever" 1 out '1 with other labels'
ended "" 2; says "a run that ends otherwise is one without these labels" 1 out '^ep.S: run 2 failed: killed' out '4 runs, 2 XUs, 1 with other labels'

"$CLANG" -O2 -g -fopenmp "$programs/in_single.c" -o in_single
labels() { "$PCERE" profile -q --force --json "$@" 2>/dev/null | jq -r '[.xus[].label] | sort | join(" ")'; }
same=$(labels ./in_single)
is "tasks made in single have labels that do not tell who made them" "$(labels ./in_single other)" "$same"
is "which is not so by the rules of the paper: the first thread makes them" "$(labels --labels paper ./in_single other | sed 's/@[a-z_]*\.c:/@/g')" "0.1@10.0.0@17 0.1@10.0.2@19"
is "or the second" "$(labels --labels paper ./in_single | sed 's/@[a-z_]*\.c:/@/g')" "0.1@10.0.1@17 0.1@10.0.3@19"
finish
