#!/usr/bin/env bash
# What the probes report, at every optimisation level, position-independent or not; and that a program alone runs as if it had none.
#
#   probes.sh SOURCE_DIRECTORY PLUGIN
set -euo pipefail
source=$1 plugin=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$source/tests/code"
clang-19 -shared -fPIC -O1 -I"$source" -D_GNU_SOURCE listen.c -o "$work/listen.so"
failed=0

expect() { # WHAT PROGRAM: the report on standard input
    cat >"$work/expected"
    "$work/$2" >/dev/null || { echo "$1: fails alone"; failed=1; }
    LD_PRELOAD="$work/listen.so" OMP_NUM_THREADS=1 "$work/$2" 2>"$work/report" >/dev/null || { echo "$1: fails under probes"; failed=1; }
    diff "$work/expected" "$work/report" || { echo "$1: the report differs"; failed=1; }
}

for flags in "-O0" "-O1" "-O2" "-O3" "-Os" "-O2 -fno-pie -no-pie" "-O3 -fuse-ld=lld" "-O2 -fno-pie -no-pie -fuse-ld=lld"; do
    clang-19 $flags -g -fopenmp -fpass-plugin="$plugin" probed.c -o "$work/probed"
    expect "probed.c $flags -g" probed <<'REPORT'
begin twice@probed.c:8 function=twice line=8 path=0 num_threads=2 proc_bind=3 words=1 *
end twice@probed.c:8
begin twice@probed.c:13 function=twice line=13 path=0 num_threads=0 proc_bind=-1 words=0
end twice@probed.c:13
begin twice@probed.c:13#2 function=twice line=13 path=0 num_threads=0 proc_bind=-1 words=0
end twice@probed.c:13#2
begin choose@probed.c:19 function=choose line=19 path=2 num_threads=0 proc_bind=-1 words=3 * * 7
end choose@probed.c:19
begin choose@probed.c:19 function=choose line=19 path=0 num_threads=0 proc_bind=-1 words=3 * * 9
end choose@probed.c:19
REPORT
    clang-19 $flags -fopenmp -fpass-plugin="$plugin" probed.c -o "$work/bare"
    LD_PRELOAD="$work/listen.so" OMP_NUM_THREADS=1 "$work/bare" 2>&1 >/dev/null | grep -o 'begin [^ ]*' >"$work/names"
    diff - "$work/names" <<'NAMES' || { echo "probed.c $flags without -g: other names"; failed=1; }
begin twice@probed.c
begin twice@probed.c#2
begin twice@probed.c#3
begin choose@probed.c
begin choose@probed.c
NAMES
done

clang-19 -O2 -fopenmp -fpass-plugin="$plugin" fork_if.ll -o "$work/fork_if"
expect "fork_if.ll" fork_if <<'REPORT'
begin main@fork_if.f90 function=main line=0 path=1 num_threads=0 proc_bind=-1 words=2 0 *
end main@fork_if.f90
REPORT
exit "$failed"
