#!/bin/sh
# Builds all benchmarks of a class, runs them at each number of threads, and says how many verified.
#
#   cNPB/verify.sh [CLASS [THREADS [make-variable=value ...]]]      verify.sh S "1 2 4" CC=gcc OBJDIR=obj.gcc
#
# Status 0: all passed; 1: some did not; 2: they could not be built.

here=$(cd "$(dirname "$0")" && pwd) || exit 2
class=${1:-S}
threads=${2:-1 2 4}
[ $# -gt 2 ] && shift 2 || shift $#

bin=$here/bin
for variable; do
    case $variable in
    BINDIR=/*) bin=${variable#BINDIR=} ;;
    BINDIR=*) bin=$here/${variable#BINDIR=} ;;
    esac
done

make -s -C "$here" CLASS="$class" "$@" || exit 2

passed=0
failed=0
log=$(mktemp) || exit 2
trap 'rm -f "$log"' EXIT
for name in $(make -s -C "$here" CLASS="$class" names); do
    for n in $threads; do
        OMP_NUM_THREADS=$n "$bin/$name.$class" >"$log" 2>&1
        status=$?
        if [ $status -eq 0 ]; then
            passed=$((passed + 1))
            word=verified
        else
            failed=$((failed + 1))
            word="FAILED with status $status"
        fi
        seconds=$(sed -n 's/^ Time in seconds = *//p' "$log")
        printf '%-6s %3d threads  %9s s  %s\n' "$name.$class" "$n" "${seconds:--}" "$word"
        [ $status -eq 0 ] || sed 's/^/    /' "$log"
    done
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
