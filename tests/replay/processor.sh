# A program that was captured on x86-64 is rebuilt for AArch64, run there by an emulator, and leaves the memory that the program had. SYSROOT is that
# processor's system, for which the codelets' runtime was built; without it only refusals are tested.
source "$(dirname "$0")/common.sh"
flags=-O2
program processor processor.c
captured processor
run "$PCERE" verify processor.pcere
says "all of them run on the program's own processor, also one that is always entered without the runtime" 0 out 'enclosing@processor.c:[0-9]+ #1 .*identical'
run "$PCERE" verify processor.pcere --target vax --sysroot .
says "a processor that PCERE does not know is refused" 2 err "--target 'vax'" err 'hint: aarch64'
run "$PCERE" verify processor.pcere --target aarch64
says "its system must be named" 2 err 'needs the libraries' err 'hint: scripts/sysroot-aarch64'
run "$PCERE" replay processor.pcere --sysroot .
says "and the processor with it" 2 err '--sysroot belongs to another processor'
run "$PCERE" verify processor.pcere --target aarch64 --sysroot nowhere
says "the folder must be there" 3 err "cannot use 'nowhere'"
mkdir empty
run "$PCERE" verify processor.pcere --target aarch64 --sysroot empty
says "and hold its libraries" 3 err 'does not hold the C library' err 'hint: scripts/sysroot-aarch64'
if [ -z "${SYSROOT:-}" ]; then
    echo "the rest is skipped: PCERE was built without PCERE_AARCH64_SYSROOT"
    finish
fi
command -v qemu-aarch64 qemu-aarch64-static >/dev/null || { echo "the rest is skipped: no qemu-user-static"; finish; }
mkdir tools
for tool in clang-19 ld.lld-19; do ln -s "$(command -v "$tool")" "tools/$tool"; done
PATH=$work/tools run "$PCERE" verify processor.pcere --target aarch64 --sysroot "$SYSROOT"
says "an emulator is needed" 3 err "no 'qemu-aarch64'" err 'hint: install the package qemu-user-static'
there=(--target aarch64 --sysroot "$SYSROOT")

run "$PCERE" verify processor.pcere "${there[@]}" --json
says "codelets are rebuilt for AArch64" 3
holds "as its executables are" grep -q 'aarch64' <(file processor.pcere/build/*/codelet)
is "memory behind regions in plain C is the same bit for bit" "$(json '[.codelets[] | select(.identical) | .region | sub("@.*"; "")] | join(" ")')" "moved called enclosing enclosing main"
is "others are refused" "$(json '[.codelets[] | select(.reason) | .region | sub("@.*"; "")] | join(" ")')" "assembled packed widened"
reason() { json ".codelets[] | select(.region | startswith(\"$1@\")) | .reason"; }
holds "for their inline assembly" grep -q 'uses inline assembly (bswapq' <<<"$(reason assembled)"
holds "for instructions by name" grep -q 'uses the instruction llvm.x86.sse2' <<<"$(reason packed)"
holds "for numbers of 80 bits" grep -q 'long double' <<<"$(reason widened)"
run "$PCERE" verify processor.pcere moved main "${there[@]}" --threads 2 --json
says "with two threads" 0
is "they are equal but for rounding" "$(json '[.codelets[] | .equal] | all')" true
run "$PCERE" verify processor.pcere moved "${there[@]}" --flags "-O3 -ffp-contract=fast" --json
says "where products are not rounded before they are added, as that processor can" 0
is "it shows" "$(json '.codelets[0] | .identical, (.causes[0].kind == "floating point")' | tr '\n' ' ')" "false true "
run "$PCERE" replay processor.pcere moved "${there[@]}" --threads 1,2 --repeat 2 --json
says "they are timed" 0
is "by the emulator's name" "$(tail -n 1 processor.pcere/samples.jsonl | jq -r '.host_name // .host.name' | sed 's/.*\././')" .aarch64
run "$PCERE" replay processor.pcere moved "${there[@]}" --sample auto --json
says "sampling is refused with the reason" 0
run "$PCERE" verify processor.pcere
says "and on the program's own processor all is as before" 0 out 'assembled.*identical'

flags=-O3
for name in kinds threads; do
    program "$name" "$name.c"
    captured "$name"
    run "$PCERE" verify "$name.pcere" "${there[@]}"
    says "$name.c is as in the program: locks, critical sections, thread-local variables" 0
done
program objects objects.cpp
captured objects
cp -as "$(realpath "$SYSROOT")" bare && rm -f bare/usr/lib/aarch64-linux-gnu/libstdc++.so.6*
run "$PCERE" verify objects.pcere --target aarch64 --sysroot bare
says "a library that its system lacks is named, and where it belongs" 3 err "'libstdc\+\+\.so\.6', with which the program is linked, is missing in '.*bare'" err 'hint: .*--sysroot'
if [ -e "$SYSROOT/usr/lib/aarch64-linux-gnu/libstdc++.so.6" ]; then
    run "$PCERE" verify objects.pcere "${there[@]}"
    says "with it C++ is rebuilt" 0
fi
program mixed mixed.c plain.c
captured mixed
run "$PCERE" verify mixed.pcere "${there[@]}" --json
says "what has no bitcode is machine code of the program's processor" 1
holds "and named where a region calls it" grep -qE "uses 'plain_[a-z]*', of which the program has no bitcode" .out
"$CLANG" -O2 -g -fPIC -shared -fopenmp "-fpass-plugin=$(plugin)" "$programs/plain.c" -lm -o libplain.so
"$CLANG" -O2 -g -fopenmp "-fpass-plugin=$(plugin)" "$programs/mixed.c" -L. -lplain "-Wl,-rpath,$work" -o shared || exit 1
captured shared
run "$PCERE" verify shared.pcere "${there[@]}"
says "programs with libraries of their own are refused" 3 err "shared libraries of their own \('libplain.so'\)"
finish
