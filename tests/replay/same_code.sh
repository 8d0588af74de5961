# The machine code of each region in the codelet is that of the original, instruction for instruction, and begins where it did in a line of the instruction cache.
source "$(dirname "$0")/common.sh"
unit_of() { objcopy -O binary --only-section=.pcere.bc --set-section-flags .pcere.bc=alloc "$1" "$1.bc" && od -An -t x8 -j 16 -N 8 "$1.bc" | tr -d ' '; }

# same NAME OBJECT...: objects of a captured program against those of its codelets
same() {
    local name=$1 object
    shift
    run "$PCERE" replay "$name.pcere" --threads 1 --repeat 1
    for object; do
        grep -q omp_outlined <(nm "$object") || continue
        run bash "$SOURCE/scripts/compare-code" "$object" "$name.pcere"/build/*/"$(unit_of "$object").o"
        says "regions of $object have the original's code" 0 out '[1-9][0-9]* identical, 0 different'
    done
}

# functions FILE: "NAME PLACE-IN-A-LINE", of names that it has once
functions() { nm "$1" | awk '$2 ~ /^[tTwW]$/ && $3 !~ /^(_init|_fini|_start|main)$/ { count[$3]++; place[$3] = $1 } END { for (name in count) if (count[name] == 1) print name, "0x" substr(place[name], 15) }' | sort; }
# placed NAME: functions of the program against those of its codelets
placed() {
    local name here there same=0 other=()
    while read -r name here there; do
        if [ $((here % 64)) -eq $((there % 64)) ]; then same=$((same + 1)); else other+=("$name"); fi
    done < <(join <(functions "$1") <(functions "$1".pcere/build/*/codelet))
    holds "functions of $1 begin in a line where they did: $same, not ${other[*]}" [ "$same" -gt 0 -a ${#other[@]} -eq 0 ]
}

for level in -O0 -O2 -O3; do
    flags="$level -fdata-sections"
    while read -r name files; do
        # shellcheck disable=SC2086
        program "$name" $files
        run "$PCERE" capture --force --all-classes "./$name"
        same "$name" "$name".*.o
        placed "$name"
    done <<'END'
statics statics_one.c statics_two.c
blocks blocks.cpp
kinds kinds.c
threads threads.c
pointers pointers.c
END
done

# Where the linker optimised the program, it does so with codelets: the region calls nothing of the other file, and has the program's code.
cat >crossing.c <<'END'
#include <stdio.h>
#include <stdlib.h>
double damped(double x, double by);
static double *a;
int main(void)
{
    int n = 100000;
    a = malloc(n * sizeof *a);
    for (int i = 0; i < n; i++)
        a[i] = i;
    for (int round = 0; round < 20; round++) {
#pragma omp parallel for
        for (int i = 0; i < n; i++) {
            double sum = 0;
            for (int k = 0; k < 8; k++)
                sum += damped(a[i], k);
            a[i] = sum / 7.5;
        }
    }
    puts(a[77] > 0 ? "PASS" : "FAIL");
    return 0;
}
END
echo 'static int calls; double damped(double x, double by) { return x * 0.5 + by + (calls > 3); } void count(void) { calls++; }' >crossing_other.c
for flags in "-O2 -flto" "-O2 -flto=thin" "-O3 -ffast-math -march=native -flto=thin" "-O2 -flto -fPIC"; do
    # shellcheck disable=SC2086
    "$CLANG" $flags -g -fopenmp -fuse-ld=lld "-fpass-plugin=$(plugin)" -Wno-invalid-feature-combination crossing.c crossing_other.c -o crossing || exit 1
    run "$PCERE" capture --force ./crossing; says "crossing, $flags, is captured" 0 out '^PASS'
    run "$PCERE" verify crossing.pcere; says "and memory behind it is the program's" 0 out identical
    for file in crossing crossing.pcere/build/*/codelet; do
        objdump -d --no-show-raw-insn --no-addresses "$file" | sed -n '/^<main\.omp_outlined\|^<__pcere_main.*omp_outlined/,/^$/p' | sed -E -e '1d' -e 's/[-]?(0x)?[0-9a-f]+(\(%rip\)|[[:space:]]+<)/\2/' -e 's/[#<].*//' -e '/nop|data16|int3/d' -e 's/[[:space:]]+$//' >"code.${file##*/}"
    done
    holds "the region has the program's code, with nothing called of the other file" cmp code.crossing code.codelet
    holds "which there is" test "$(wc -l <code.codelet)" -gt 30
done
run "$PCERE" replay --threads 1 --passes no-op-module crossing.pcere; says "with passes of the user's own files are compiled by themselves, and that is said" 0 err 'optimised by the linker.*not inlined.*no-op-module'
run "$PCERE" replay --threads 1 crossing.pcere; says "they are replayed without" 0 out 'main'
is "which is not said then" "$(grep -c 'optimised by the linker' "$work/.err")" 0
run "$PCERE" export crossing.pcere main -o crossing.export; says "an export is compiled so, too, and says so" 0 err 'optimised by the linker'
rm -rf crossing.pcere/build
PCERE_FAULTS=codelets.link:1+ run "$PCERE" verify crossing.pcere; says "where the linker cannot, files are compiled by themselves" 0 out identical
holds "so that the region calls the other file's function" sh -c 'objdump -d --no-show-raw-insn crossing.pcere/build/*/codelet | sed -n "/<main\.omp_outlined.*>:/,/^$/p" | grep -q "call.*damped"'
rm -rf crossing.pcere/build
run "$PCERE" replay crossing.pcere --threads 1 --repeat 1 --flags "-O3 -march=native"; says "other flags reach the linker" 0
run "$PCERE" export crossing.pcere main -o crossing_exported; says "an export has units of its own" 0
run make -s -C crossing_exported run check; says "which do the same" 0 out 'check: identical'

rm -rf ./*.pcere
make -s -C "$SOURCE/cNPB" CLASS=S BINDIR="$work/bin" OBJDIR="$work/obj" CFLAGS="-O3 -g -fdata-sections -fpass-plugin=$(plugin)" >/dev/null || exit 1
for benchmark in cg mg ep is; do
    run "$PCERE" capture --all-classes "bin/$benchmark.S"
    says "$benchmark.S is captured" 0
    mapfile -t objects < <(find "obj/$benchmark.S" -name '*.o')
    same "$benchmark.S" "${objects[@]}"
done
finish
