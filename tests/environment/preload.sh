# The program's own LD_PRELOAD, allocators above all: the program keeps them while it is captured, and codelets understand their blocks.
source "$(dirname "$0")/common.sh"
build solver; build blocks
"${CLANG/clang/clang++}" -O2 -g -fopenmp "-fpass-plugin=$(plugin)" "$folder/programs/rows.cpp" -o rows || { echo "NOT OK: rows.cpp does not compile"; exit 1; }
./rows >.rows || { echo "NOT OK: rows is wrong by itself: $(cat .rows)"; exit 1; }

allocators=("$TOOLS/allocator.so")
for name in libjemalloc.so.2 libtcmalloc_minimal.so.4 libmimalloc.so.2; do
    path=$(ldconfig -p 2>/dev/null | awk -v name="$name" '$1 ~ "^" name { print $NF; exit }')
    if [ -n "$path" ]; then allocators+=("$path"); else left_out "$name is not installed"; fi
done
for library in "${allocators[@]}"; do
    name=$(basename "$library")
    for program in blocks rows; do
        run env LD_PRELOAD="$library" "$PCERE" capture -q --all-classes --force "./$program"
        says "$program with $name is captured" 0 out '^PASS'
        is "and it is known that its sizes stand elsewhere" "$(jq -r .foreign_allocator "$program.pcere/manifest.json")" true
        run "$PCERE" verify --json "$program.pcere"
        says "memory of $program with $name is identical, also where the library is not preloaded" 0
        holds "in every codelet" jq -e '(.codelets | length) > 0 and ([.codelets[].identical] | all)' .out
    done
done
run "$PCERE" capture -q --all-classes --force ./blocks; says "with the C library's allocator, too" 0 out '^PASS'
is "of which nothing is noted" "$(jq -r .foreign_allocator blocks.pcere/manifest.json)" null
run "$PCERE" verify blocks.pcere; says "its memory is identical" 0 out identical

# Is the library there in the program that is captured, and is its variable the program's?
"$CLANG" -O2 -g -fopenmp "-fpass-plugin=$(plugin)" -x c - -o sees <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void) {
    int there = 0, left = 0;
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps)) there |= strstr(line, "allocator.so") != NULL;
    fclose(maps);
    #pragma omp parallel
    left = 1;
    printf("%d %d %s\n", there, left, getenv("LD_PRELOAD"));
    return 0;
}
C
run env LD_PRELOAD="$TOOLS/allocator.so" "$PCERE" capture -q ./sees; says "the program sees its own LD_PRELOAD, and what it names" 0 out "^1 1 $TOOLS/allocator.so$"

whole "everything with a preloaded allocator" ./solver '^residual' env LD_PRELOAD="$TOOLS/allocator.so"
whole "with LD_BIND_NOW and malloc's variables" ./solver '^residual' env LD_BIND_NOW=1 MALLOC_ARENA_MAX=1 MALLOC_PERTURB_=165 GLIBC_TUNABLES=glibc.malloc.check=3:glibc.malloc.tcache_count=0
whole "with a library path that leads nowhere first" ./solver '^residual' env LD_LIBRARY_PATH=/nowhere:.

# The runtime ends a program where a process of the same number was killed before it had written into its object: the library makes such a one.
for bytes in 0 1024; do
    left=(env "LD_PRELOAD=$TOOLS/leftover.so" "LEFTOVER_BYTES=$bytes" LEFTOVER_IN=rows)
    for verb in "capture -o left.pcere" "profile -o left.pcx" "trace -o left.pct"; do
        run "${left[@]}" "$PCERE" ${verb%% *} -q --force ${verb#* } ./rows; says "$verb among what a killed process left ($bytes bytes)" 0
    done
    run "${left[@]}" "$PCERE" run --threads 2 ./rows; says "and run" 0
done

# An allocator inside the executable
"$CLANG" -O2 -c -fno-builtin "$folder/allocator.c" -o allocator.o && "$CLANG" -O2 -g -fopenmp "-fpass-plugin=$(plugin)" "$folder/programs/solver.c" allocator.o -o inside
run "$PCERE" capture -q --all-classes ./inside; says "a program with an allocator in its executable is captured" 0 out '^residual'
run "$PCERE" verify inside.pcere; says "and its memory is identical: codelets go on with that allocator" 0 out identical
"$CLANG" -O2 -g -fopenmp "-fpass-plugin=$(plugin)" "$folder/programs/blocks.c" allocator.o -o blocks_inside
run "$PCERE" capture -q --all-classes ./blocks_inside; says "so is one whose regions allocate" 0 out '^PASS'
run "$PCERE" verify blocks_inside.pcere; says "whose memory is identical, too" 0 out identical
run "$PCERE" replay -q --threads 2,4 --repeat 2 --json blocks_inside.pcere; says "and which more threads replay" 0
done_or_skipped
