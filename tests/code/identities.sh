#!/usr/bin/env bash
# Constructs have ids, the table names them, and both are the same however a program is built.
#
#   identities.sh SOURCE_DIRECTORY PLUGIN LIST_CONSTRUCTS
set -euo pipefail
source=$1 plugin=$2 list=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
wrong() { echo "$*"; failed=1; }

mkdir -p "$work/src/code" "$work/elsewhere/deep/other"
cp "$source/tests/code/identified.c" "$work/src/code"
cp "$source/tests/code/identified.c" "$work/elsewhere/deep/other"
cd "$work/src"

build() { clang-19 "$@" -fopenmp -fpass-plugin="$plugin" -o "$work/program"; }
strings_ids() { grep -ao ';;pcere:[0-9a-f]\{16\};' "$1" | grep -o '[0-9a-f]\{16\}' | sort -u; }

build -O2 -g code/identified.c
"$list" "$work/program" >"$work/table"
cut -d' ' -f2- "$work/table" >"$work/found"
diff - "$work/found" <<'TABLE' || wrong "the table is another one"
parallel, line 62, 0 of main, in 'main@identified.c:62'
parallel, line 66, 1 of main, in 'main@identified.c:66'
for, line 68, 2 of main, in 'main@identified.c:66', under parallel in line 66
implicit barrier, line 68, 3 of main, in 'main@identified.c:66', under parallel in line 66
for, line 10, 0 of orphaned, in ''
implicit barrier, line 10, 1 of orphaned, in ''
parallel, line 18, 0 of every, in 'every@identified.c:18'
for, line 20, 1 of every, in 'every@identified.c:18', under parallel in line 18
single, line 23, 2 of every, in 'every@identified.c:18', under parallel in line 18
task, line 25, 3 of every, in 'every@identified.c:18', under parallel in line 18
critical, line 27, 4 of every, in 'every@identified.c:18', under task in line 25
critical, line 29, 5 of every, in 'every@identified.c:18', under task in line 25
taskloop, line 33, 6 of every, in 'every@identified.c:18', under parallel in line 18
taskgroup, line 36, 7 of every, in 'every@identified.c:18', under parallel in line 18
task, line 38, 8 of every, in 'every@identified.c:18', under parallel in line 18
implicit barrier, line 23, 9 of every, in 'every@identified.c:18', under parallel in line 18
sections, line 42, 10 of every, in 'every@identified.c:18', under parallel in line 18
implicit barrier, line 42, 11 of every, in 'every@identified.c:18', under parallel in line 18
masked, line 48, 12 of every, in 'every@identified.c:18', under parallel in line 18
barrier, line 50, 13 of every, in 'every@identified.c:18', under parallel in line 18
barrier, line 50, 14 of every, in 'every@identified.c:18', under parallel in line 18
taskwait, line 51, 15 of every, in 'every@identified.c:18', under parallel in line 18
reduction, line 18, 16 of every, in 'every@identified.c:18', under parallel in line 18
TABLE
cut -d' ' -f1 "$work/table" | sort >"$work/ids"
[ "$(sort -u "$work/ids" | wc -l)" = "$(wc -l <"$work/table")" ] || wrong "two constructs have one id"
diff "$work/ids" <(strings_ids "$work/program") || wrong "calls carry other ids than the table has"

same() { # WHAT: as the first build
    diff <(cut -d' ' -f1 "$work/table") <("$list" "$work/program" | cut -d' ' -f1) || wrong "$1: other ids"
    diff "$work/ids" <(strings_ids "$work/program") || wrong "$1: calls carry other ids"
    "$work/program" 8 >/dev/null || wrong "$1: another result"
}
for flags in "-O0 -g" "-O0" "-O1" "-O2" "-O3 -g -march=native" "-Os" "-O2 -fno-pie -no-pie" "-O2 -g -flto -fuse-ld=lld"; do
    build $flags code/identified.c
    same "$flags"
    strip -s "$work/program"
    same "$flags, stripped"
done
build -O2 ./code/identified.c
same "another spelling of the file's name"
(cd "$work/elsewhere" && build -O2 -g "$work/elsewhere/deep/other/identified.c")
same "an absolute name in another folder"
(cd "$work/elsewhere" && build -O2 -g deep/other/identified.c)
same "a relative one from the folder above"
(cd "$work/elsewhere/deep/other" && build -O2 -g identified.c)
same "one without a folder"
(cd "$work/src/code" && build -O2 -g ../../elsewhere/deep/other/identified.c)
same "one by way of the folder above"

# Static functions of one name in files of one name, in two folders.
for folder in one two; do
    mkdir -p "$folder"
    printf 'static void work(int *s) {\n#pragma omp parallel for\nfor (int i = 0; i < 9; i++) s[i]++;\n}\nvoid %s(int *s);\nvoid %s(int *s) { work(s); }\n' "$folder" "$folder" >"$folder/part.c"
    (cd "$folder" && clang-19 -O2 -fopenmp -fpass-plugin="$plugin" -c part.c -o ../"$folder.o")
done
printf 'void one(int *); void two(int *);\nint main(void) { int s[9] = {0}; one(s); two(s); return 0; }\n' >parts.c
build -O2 parts.c one.o two.o
"$list" "$work/program" | cut -d' ' -f1 >"$work/parts"
[ -s "$work/parts" ] && [ "$(sort -u "$work/parts" | wc -l)" = "$(wc -l <"$work/parts")" ] || wrong "constructs of two files of one name have one id"
build -O2 -g code/identified.c
for version in 16 22; do
    if command -v "clang-$version" >/dev/null && [ -e "$(dirname "$plugin")/pcere/PCEREPass-$version.so" ]; then
        "clang-$version" -O2 -g -fopenmp -idirafter /usr/lib/llvm-19/lib/clang/19/include -fpass-plugin="$plugin" -L/usr/lib/llvm-19/lib \
            code/identified.c -o "$work/program"
        same "clang $version"
    fi
done

if command -v flang-22 >/dev/null && [ -e "$(dirname "$plugin")/pcere/PCEREPass-22.so" ]; then
    cp "$source/tests/constructs/fortran/sections.f90" .
    fortran() { flang-22 "$@" -fopenmp -fpass-plugin="$plugin" -L/usr/lib/llvm-19/lib sections.f90 -o "$work/program"; "$list" "$work/program" >"$work/table"; }
    fortran -O0
    cut -d' ' -f1 "$work/table" >"$work/first"
    fortran -O3 -g
    diff "$work/first" <(cut -d' ' -f1 "$work/table") || wrong "flang: other ids with -O3 -g"
    for kind in parallel sections single critical ordered; do
        grep -qE "^[0-9a-f]{16} $kind, line [1-9][0-9]*, .* of main, in 'main@sections.f90:" "$work/table" || wrong "flang: no $kind in the table"
    done
fi

# The OpenMP runtime takes apart the same strings.
for flags in "-O2 -g" "-O2"; do
    build $flags code/identified.c
    line=$([[ $flags == *-g* ]] && echo 68 || echo 0)
    KMP_CONSISTENCY_CHECK=all timeout 60 "$work/program" 8 wrong >"$work/said" 2>&1 || true
    grep "identified.c:main():$line)" "$work/said" >/dev/null || wrong "the runtime understands '$(cat "$work/said")' of $flags"
done
exit "$failed"
