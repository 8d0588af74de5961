# Several versions of LLVM in one program, on a machine that has them or lacks them; a plugin in the wrong compiler.
source "$(dirname "$0")/common.sh"
other=''
for version in 22 16; do
    if command -v clang-$version >/dev/null && "$PCERE" version --llvm $version >/dev/null 2>&1; then other=$version; break; fi
done
[ -n "$other" ] || { echo "SKIPPED: neither clang-22 nor clang-16 is installed, with PCERE's plugin for it"; exit 77; }
default=${CLANG#clang-}
plugin=$("$PCERE" version --plugin)

cat >one.c <<'C'
double total(double *values, int count);
static double values[4000];
int main(void)
{
    #pragma omp parallel for
    for (int i = 0; i < 4000; i++) values[i] = 0.5 * i;
    return total(values, 4000) != 0.5 * 3999 * 2000;
}
C
cat >two.c <<'C'
double total(double *values, int count);
double total(double *values, int count)
{
    double sum = 0;
    #pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < count; i++) sum += values[i];
    return sum;
}
C
"$CLANG" -O2 -g -fopenmp "-fpass-plugin=$plugin" -c one.c && "clang-$other" -O2 -g -fopenmp "-fpass-plugin=$plugin" -c two.c &&
    "$CLANG" -fopenmp one.o two.o -o mixed || { echo "NOT OK: the mixed program does not compile"; exit 1; }
run "$PCERE" capture --all-classes -o mixed.pcere ./mixed; says "objects of LLVM $default and $other in one program are captured" 0
run "$PCERE" verify mixed.pcere; says "and verify" 0 out 'main@one.c' out 'total@two.c'
run "$PCERE" replay --json --repeat 2 --threads 1,2 mixed.pcere
is "each unit is rebuilt by the version that wrote it" \
    "$(json '[.compilers[] | "\(.written_by) by \(.rebuilt_by)"] | sort | join(", ")')" "$(printf '%s\n' "$default by $default" "$other by $other" | sort | paste -sd, | sed 's/,/, /')"

# A machine without the other version: a PATH that holds the default's alone.
mkdir bare
for tool in "$CLANG" "ld.lld-$default"; do ln -s "$(command -v "$tool")" "bare/$tool"; done
if [ "$other" -gt "$default" ]; then
    run env PATH="$work/bare" "$PCERE" replay --json --repeat 2 mixed.pcere
    says "where nothing reads a unit's bitcode, its regions are refused with what to install" 3 err "bitcode of '.*two.c' was written by LLVM $other" err "hint: install clang-$other"
    is "and the other unit's regions run" "$(json '[.replays[] | select(.samples_ns | length == 2) | .region] | join(" ")')" main@one.c:5
    "clang-$other" -O2 -g -fopenmp "-fpass-plugin=$plugin" -c one.c -o one_new.o && "$CLANG" -fopenmp one_new.o two.o -o new
    run "$PCERE" capture --all-classes -o new.pcere ./new
    run env PATH="$work/bare" "$PCERE" verify new.pcere
    says "a program of which nothing can be read is refused as a whole" 3 err "written by LLVM $other, which is newer than clang-$default" err "hint: install clang-$other"
    run "$PCERE" verify --compiler "$CLANG" new.pcere; says "so it is where the older compiler is asked for" 3 err "newer than clang-$default"
    "$CLANG" -O2 -g -fopenmp "-fpass-plugin=$plugin" one.c two.c -o old
    run "$PCERE" capture --all-classes -o old.pcere ./old
    run "$PCERE" verify --compiler "clang-$other" old.pcere; says "a newer compiler rebuilds older bitcode, and that is said" 0 out "of LLVM $default rebuilt by clang $other"
else
    run env PATH="$work/bare" "$PCERE" verify mixed.pcere; says "where a version is missing a newer one rebuilds the unit, and that is said" 0 out "1 unit of LLVM $other rebuilt by clang $default"
fi

# Plugins in other compilers than theirs.
mkdir -p lib/pcere && cp "$plugin" lib/ && cp "$("$PCERE" version --llvm "$default")" lib/pcere/
run "clang-$other" -fopenmp "-fpass-plugin=$work/lib/PCEREPass.so" -c one.c
says "a compiler for which there is no plugin is told which there are" 1 err "this compiler is of LLVM $other, and PCERE's plugin is here for LLVM $default" err "hint: compile with clang-$default"
run "clang-$other" -fopenmp "-fpass-plugin=$work/lib/pcere/PCEREPass-$default.so" -c one.c
says "the plugin of one version refuses to run in another" 1 err "PCERE's plugin for LLVM $default, and this compiler is of LLVM $other" err 'hint: '
run "$PCERE" version --llvm 99; says "a version without a plugin" 3 err 'PCEREPass-99.so' err 'hint: install llvm-99-dev'
run "$PCERE" verify --compiler /bin/true mixed.pcere; says "a compiler that is none" 3 err "'/bin/true' does not tell its version"
# GCC has versions of its own, which may be a number of LLVM's.
printf '#!/bin/sh\ncase $1 in -dumpversion) echo %s;; *) echo "gcc (Debian %s.1.0-1) %s.1.0";; esac\n' "$default" "$default" "$default" >gcc-like
chmod +x gcc-like
run "$PCERE" verify --compiler ./gcc-like mixed.pcere; says "nor is another compiler of the same number" 3 err "gcc-like' does not tell its version as clang does"
finish
