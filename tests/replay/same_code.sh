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
rm -rf ./*.pcere
make -s -C "$SOURCE/cNPB" CLASS=S BINDIR="$work/bin" OBJDIR="$work/obj" CFLAGS="-O3 -g -fdata-sections -fpass-plugin=$(plugin)" >/dev/null || exit 1
for benchmark in cg mg ep is; do
    run "$PCERE" capture --all-classes "bin/$benchmark.S"
    says "$benchmark.S is captured" 0
    mapfile -t objects < <(find "obj/$benchmark.S" -name '*.o')
    same "$benchmark.S" "${objects[@]}"
done
finish
