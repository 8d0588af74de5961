#!/usr/bin/env bash
# What programs count: exactly what known.c says, the same whether it is added where it happens or as cheaply as can be, and nothing where nobody asks.
#
#   counts.sh SOURCE_DIRECTORY PLUGIN_FOLDER CLANG_MAJOR
set -euo pipefail
source=$1 plugin=$2/pcere/PCEREPass-$3.so major=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$source/tests/counts"
failed=0
fail() { echo "FAIL $*"; failed=1; }
counting="-fplugin=$plugin -fpass-plugin=$plugin"
in_place="-mllvm -pcere-count=ir -mllvm -pcere-count-in-place"
# Where this version of LLVM has no OpenMP runtime installed, that of another one does.
openmp="-fopenmp"
if ! [ -e "$(clang-$major -print-file-name=libomp.so)" ]; then
    for other in 19 22 16; do
        library=$(clang-$other -print-file-name=libomp.so 2>/dev/null) || continue
        [ -e "$library" ] && openmp="-fopenmp -idirafter $(clang-$other -print-resource-dir)/include -L$(dirname "$(realpath "$library")")" && break
    done
fi
avx512=$(grep -q avx512f /proc/cpuinfo && echo -mavx512f || :)

clang-$major -shared -fPIC -O1 -D_GNU_SOURCE -I"$source" print.c -o "$work/print.so"
for flags in "-O0" "-O0 -fPIC" "-O0 -fno-pie" "-O0 -mllvm -pcere-count-in-place"; do
    link=$([[ $flags = *no-pie* ]] && echo -no-pie || :)
    clang-$major $flags $avx512 $counting -mllvm -pcere-count=ir -c known.ll -o "$work/known.o"
    clang-$major -O1 $flags $link $avx512 $counting -D_GNU_SOURCE -I"$source" known.c "$work/known.o" -o "$work/known" -lpthread -lm 2>"$work/warnings" || cat "$work/warnings"
    "$work/known" || fail "known counts, compiled by $flags"
done

same() { # WHAT COMPILER SOURCES...: both ways of counting give the same, and the output is that of an uncounted program
    local what=$1 compiler=$2
    shift 2
    { "$compiler" "$@" -o "$work/plain" && PCERE_COUNT=ir "$compiler" "$@" $counting -o "$work/cheap" &&
        PCERE_COUNT=blocks "$compiler" "$@" $counting -o "$work/blocks" &&
        PCERE_COUNT=cache,iterations "$compiler" "$@" $counting -o "$work/watched" && "$compiler" "$@" $counting $in_place -o "$work/in_place"; } 2>"$work/error" ||
        { fail "$what: does not compile"; cat "$work/error"; return 0; }
    OMP_NUM_THREADS=1 "$work/plain" >"$work/plain.out" || fail "$what: fails uncounted"
    OMP_NUM_THREADS=1 "$work/cheap" >"$work/cheap.out" || fail "$what: fails alone"
    OMP_NUM_THREADS=1 "$work/watched" >"$work/watched.out" || fail "$what: fails where it tells accesses and iterations"
    cmp <(grep -vi 'time\|mop\|seconds' "$work/plain.out") <(grep -vi 'time\|mop\|seconds' "$work/watched.out") || fail "$what: telling accesses changes what it does"
    for way in cheap blocks in_place; do
        LD_PRELOAD="$work/print.so" OMP_NUM_THREADS=1 "$work/$way" >"$work/$way.out2" 2>"$work/$way.counts" || fail "$what: fails when counts are read"
    done
    cmp <(grep -vi 'time\|mop\|seconds' "$work/plain.out") <(grep -vi 'time\|mop\|seconds' "$work/cheap.out") || fail "$what: counting changes what it does"
    diff "$work/in_place.counts" "$work/cheap.counts" || fail "$what: counts differ from those added in place"
    diff <(grep -v '^by' "$work/cheap.counts") <(grep -v '^by' "$work/blocks.counts") || fail "$what: counting blocks changes other counts"
    [[ $what = *setjmp* ]] || # which comes back into the middle of a block
        awk '/^ir-instructions/ {whole = $2} /^by blocks/ {sum += $3} END {exit !(sum >= whole && sum <= whole * 1.02)}' "$work/blocks.counts" ||
        { fail "$what: blocks do not sum up to the instructions"; cat "$work/blocks.counts"; }
    [ "$(awk '/^ir-instructions/ {print $2}' "$work/cheap.counts")" -gt 1000 ] || fail "$what: hardly anything is counted"
}

for level in -O0 -O3 "-O2 -fPIC"; do
    same "exceptions and setjmp $level" clang++-$major $level leaving.cpp
done
for program in collapse setjmp_inside tasks ordered simd; do
    same "$program.c" clang-$major -O2 $openmp -I"$source/tests/constructs" "$source/tests/constructs/$program.c"
done
same "cpp_exception.cpp" clang++-$major -O2 $openmp -I"$source/tests/constructs" "$source/tests/constructs/cpp_exception.cpp"
npb="-std=gnu17 -O3 -march=x86-64-v3 $openmp -DNPB_CLASS='S' -I$source/cNPB/common"
same "CG" clang-$major $npb -I"$source/cNPB/cg" "$source/cNPB/cg/"*.c "$source/cNPB/common/npb.c" -lm
[ "$major" != 19 ] || same "LU" clang-$major $npb -I"$source/cNPB/lu" "$source/cNPB/lu/lu.c" "$source/cNPB/common/npb.c" -lm
[ "$major" != 19 ] || same "FT" clang-$major $npb -I"$source/cNPB/ft" "$source/cNPB/ft/ft.c" "$source/cNPB/common/npb.c" -lm

# A shared library has counts of its own, and says when it goes.
cat >"$work/library.c" <<'C'
double sum(const double *a, int n) { double s = 0; for (int i = 0; i < n; i++) s += a[i]; return s; }
C
cat >"$work/loader.c" <<'C'
#include <dlfcn.h>
#include <stdio.h>
int main(void) {
    double a[100] = {1};
    void *library = dlopen("./library.so", RTLD_NOW);
    if (!library) return 1;
    double (*sum)(const double *, int) = (double (*)(const double *, int))dlsym(library, "sum");
    printf("%g\n", sum(a, 100));
    return dlclose(library);
}
C
PCERE_COUNT=ir clang-$major -O1 -shared -fPIC $counting "$work/library.c" -o "$work/library.so"
PCERE_COUNT=ir clang-$major -O1 $counting "$work/loader.c" -o "$work/loader"
(cd "$work" && LD_PRELOAD=./print.so ./loader 2>loaded.counts >/dev/null) || fail "a library that is loaded"
grep -q '^images 1, gone 1$' "$work/loaded.counts" || { fail "a library registers itself, and goes"; cat "$work/loaded.counts"; }

# What is embedded is the uncounted unit, and it is not counted where nobody asks.
clang-$major -O1 -fpass-plugin="$plugin" -c known.ll -o "$work/plain.o" && PCERE_COUNT=ir clang-$major -O1 -fpass-plugin="$plugin" -c known.ll -o "$work/counted.o"
for object in plain counted; do objcopy -O binary --only-section=.pcere.bc --set-section-flags .pcere.bc=alloc "$work/$object.o" "$work/$object.bc"; done
[ -s "$work/plain.bc" ] && cmp "$work/plain.bc" "$work/counted.bc" || fail "counting changes what is embedded"
grep -q pcere_counts <(nm "$work/plain.o") && fail "a program is counted that nobody asked for"
PCERE_COUNT=ir clang-$major -O1 $counting -mllvm -pcere-codelet -c known.ll -o "$work/codelet.o" 2>/dev/null && ! grep -q pcere_counts <(nm "$work/codelet.o") || fail "a codelet is counted by the environment"
if PCERE_COUNT=all clang-$major -O1 -fpass-plugin="$plugin" -c known.ll -o "$work/none.o" 2>"$work/error"; then fail "PCERE_COUNT=all is taken"; fi
grep -q 'PCERE_COUNT=all: what can be counted is ir, blocks, cache and iterations' "$work/error" || { fail "a wrong word is not explained"; head -5 "$work/error"; }
grep -q 'Stack dump' "$work/error" && fail "a wrong word crashes the compiler"
exit "$failed"
