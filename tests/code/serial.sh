#!/usr/bin/env bash
# serial.sh CLANG PLUGIN: a loop around a region stays one loop, whether a program will be captured or not.
set -euo pipefail
clang=$1 plugin=$2 work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/serial.c" <<'C'
void work(double *x);
double between(double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        #pragma omp parallel
        work(x);
        for (int j = 0; j < n; j++)
            sum += (double)(j ^ i) * 0.25;
    }
    return sum;
}
C
additions() { "$clang" -O3 -g -fopenmp "$@" -S -emit-llvm -o - "$work/serial.c" | grep -cE '= fadd|fmuladd'; }
plain=$(additions) probed=$(additions "-fpass-plugin=$plugin")
[ "$plain" -gt 0 ] && [ "$plain" = "$probed" ] ||
    { echo "the serial code has $probed additions with probes, $plain without: the loop around the region was made two of"; exit 1; }
