# An exported region builds with make and clang alone, runs with any number of threads, leaves the program's memory, and has the codelet's code.
source "$(dirname "$0")/common.sh"
command -v make >/dev/null || { echo "skipped: there is no make"; exit 77; }
unit_of() { objcopy -O binary --only-section=.pcere.bc --set-section-flags .pcere.bc=alloc "$1" "$1.bc" && od -An -t x8 -j 16 -N 8 "$1.bc" | tr -d ' '; }
# alone COMMAND...: without anything of PCERE in the environment
alone() { run env -i PATH=/usr/local/bin:/usr/bin:/bin "$@"; }

# exports STORE REGION: export, build, run at 1 and 2 threads, check
exports() {
    local store=$1 region=$2
    rm -rf out
    run "$PCERE" export "$store" "$region" -o out
    says "$region of $store is exported" 0 out '^out: .* of memory' out '^next: make'
    alone make -C out
    says "and builds, without a warning" 0 out 'codelet'
    holds "by a driver that is read at one go" test "$(wc -l <out/driver.c)" -le 100
    holds "as it should" test "$(grep -c warning .err)" = 0
    alone make -s -C out run THREADS=1 REPEAT=3
    says "runs" 0 out "^$region, invocation .* 3 repetitions with OMP_NUM_THREADS=1" out '^minimum [0-9.]+ us, median [0-9.]+ us'
    alone make -s -C out run THREADS=2 REPEAT=3
    says "runs with two threads" 0 out 'OMP_NUM_THREADS=2'
    alone make -s -C out check THREADS=1
    says "and leaves the program's memory" 0 out '^check: identical, [0-9]{4,} bytes'
}
# same_code STORE OBJECT: the exported region's unit, which is in out/, against the codelet's and the program's
same_code() {
    local unit
    unit=$(unit_of "$2")
    run bash "$SOURCE/scripts/compare-code" out/region.o "$1"/build/*/"$unit".o
    says "its code is the codelet's" 0 out '[1-9][0-9]* identical, 0 different'
    run bash "$SOURCE/scripts/compare-code" out/region.o "$2"
    says "and the program's" 0 out '[1-9][0-9]* identical, 0 different'
}

flags=-O3
make -s -C "$SOURCE/cNPB" CLASS=S BINDIR="$work/bin" OBJDIR="$work/obj" CFLAGS="-O3 -g -fdata-sections -fpass-plugin=$(plugin)" >/dev/null || exit 1
while read -r benchmark regions; do
    run "$PCERE" capture --all-classes "bin/$benchmark.S"
    says "$benchmark.S is captured" 0
    for region in $regions; do
        exports "$benchmark.S.pcere" "$region"
    done
    same_code "$benchmark.S.pcere" "$(find "obj/$benchmark.S" -name "$benchmark.o")"
done <<'END'
cg conj_grad@cg.c:69 inverse_iteration@cg.c:119
mg resid@mg.c:105 comm3@mg.c:79
is rank@is.c:86 full_verify@is.c:132
END

# Without PIE code holds offsets in sections: each function has its own, since program and codelet have probes, and exports none.
for flags in "-O2 -fdata-sections" "-O0 -fno-pie -fdata-sections -ffunction-sections"; do
    while read -r name region files; do
        # shellcheck disable=SC2086
        program "$name" $files
        captured "$name" --force
        exports "$name.pcere" "$region"
        case $name in kinds|threads|pointers) same_code "$name.pcere" "$name.$name.o" ;; esac
    done <<'END'
kinds many@kinds.c:24 kinds.c
kinds locked@kinds.c:39 kinds.c
kinds maximum@kinds.c:57 kinds.c
threads work@threads.c:18 threads.c
threads locks@threads.c:43 threads.c
pointers areas@pointers.c:24 pointers.c
pointers library@pointers.c:32 pointers.c
statics weigh@statics_inline.h:8 statics_one.c statics_two.c
pointers blocks@pointers.c:54 pointers.c
objects total<double>@objects.cpp:30 objects.cpp
objects main@objects.cpp:55 objects.cpp
externals use@externals.c:15 externals.c
END
    program blocks blocks.cpp
    captured blocks --force
    for region in $("$PCERE" regions blocks.pcere --json | jq -r '.regions[] | select(.status == "captured") | .region'); do
        exports blocks.pcere "$region"
    done
done

# A lambda in a std::function: the names of its type and tables have a dollar, which assembly puts in quotes.
"${CLANG/clang/clang++}" -O2 -g -fopenmp "-fpass-plugin=$(plugin)" -I"$SOURCE/tests/constructs" "$SOURCE/tests/constructs/cpp_function.cpp" -o function || exit 1
run "$PCERE" capture --force --all-classes ./function
says "a program with lambdas is captured" 0
for region in $("$PCERE" regions function.pcere --json | jq -r '.regions[] | select(.status == "captured") | .region'); do
    exports function.pcere "$region"
done

# Names beyond ASCII: assembly has them in quotes, and one is the beginning of another.
cat >names.c <<'END'
#include <stdio.h>
static double sum[1000];
double gr(double x) { return x + 1; }
double größe(double x) { return x * 0.5; }
double (*volatile weg[2])(double) = {gr, größe};
__attribute__((noinline)) static double (*nächste(int i))(double) { return i % 2 ? größe : gr; }
static void über(void)
{
#pragma omp parallel for
    for (int i = 0; i < 1000; i++) {
        sum[i] = nächste(i)(sum[i]) + weg[i % 2](i) + (weg[i % 2] == nächste(i));
        weg[i % 2] = nächste(i);
    }
}
int main(void)
{
    for (int k = 0; k < 4; k++)
        über();
    return printf("PASS %g\n", sum[7]) < 0;
}
END
"$CLANG" -O2 -g -fopenmp "-fpass-plugin=$(plugin)" names.c -o names || exit 1
captured names
exports names.pcere über@names.c:9
alone env LC_ALL=C make -s -C out clean check
says "in the locale C, too" 0 out '^check: identical'
sed -i 's/",@function/"\t,@function/' out/place.sed
alone make -s -C out clean check
says "a function that is not recognised is an error, and no region that does nothing" 2 err 'place.sed does not know this name of a function'

# What sanitizers leave to be made of the whole program, which an export is not.
cat >tested.cpp <<'END'
#include <cstdio>
struct Base { virtual ~Base() = default; virtual double value(double) const = 0; };
struct Half : Base { double value(double x) const override { return x * 0.5; } };
struct More : Base { double value(double x) const override { return x + 1; } };
static double sum[1000];
static void work(const Base &base)
{
#pragma omp parallel for
    for (int i = 0; i < 1000; i++)
        sum[i] = base.value(sum[i] + i);
}
int main()
{
    Half half;
    More more;
    for (int k = 0; k < 4; k++)
        work(k % 2 ? static_cast<const Base &>(half) : more);
    return std::printf("PASS %g\n", sum[7]) < 0;
}
END
"${CLANG/clang/clang++}" -O2 -g -fopenmp "-fpass-plugin=$(plugin)" -flto -fuse-ld=lld -fvisibility=hidden -fsanitize=cfi tested.cpp -o tested || exit 1
captured tested
exports tested.pcere work@tested.cpp:8

# Captured memory that regions drop, unmap, grow and move: each repetition finds it as it was.
"$CLANG" -O2 -g -fopenmp "-fpass-plugin=$(plugin)" "$SOURCE/tests/constructs/memory_mapped_inside.c" -o mapped || exit 1
run "$PCERE" capture --force --all-classes ./mapped
says "a program that gives memory back inside a region is captured" 0
for region in $("$PCERE" regions mapped.pcere --json | jq -r '.regions[] | select(.status == "captured") | .region'); do
    exports mapped.pcere "$region"
done

# Functions told apart by their addresses, and left behind in memory: those of the program.
constructs="$SOURCE/tests/constructs"
plugged() { "$CLANG" -O2 -g -fopenmp -fdata-sections "-fpass-plugin=$(plugin)" "$@"; }
plugged -fPIC -shared "$constructs/function_addresses_library.c" -o libtold.so && plugged -c "$constructs/function_addresses.c" -o told.told.o &&
    plugged "$constructs/function_addresses_other.c" told.told.o -L. -ltold "-Wl,-rpath,$work" -o told || exit 1
run "$PCERE" capture --force --all-classes ./told
says "a program that tells functions apart by their addresses is captured" 0
region=$("$PCERE" regions told.pcere --json | jq -r '.regions[0].region')
exports told.pcere "$region"
run bash "$SOURCE/scripts/compare-code" out/region.o told.pcere/build/*/"$(unit_of told.told.o)".o
says "its code is the codelet's" 0 out '[1-9][0-9]* identical, 0 different'

# Pointers to string literals, of which the exported unit has its own.
program literals literals.c
captured literals
exports literals.pcere "alike@literals.c:$(sed -n '/alike(int/,/pragma/=' "$programs/literals.c" | tail -1)"
run "$PCERE" export literals.pcere longer@ -o longer
alone make -s -C longer check THREADS=1
says "a pointer to an equal constant is as good" 0 out '^check: identical' out '[0-9]+ pointers to .*equal constants'
alone make -s -C longer check THREADS=2
says "one to a constant that begins alike is not" 2 out '^check: [0-9]+ of .* differ'

# The C++ library and the unwinder inside the program: exceptions cross captured machine code, streams are as they were.
"${CLANG/clang/clang++}" -O2 -g -fopenmp "-fpass-plugin=$(plugin)" -I"$SOURCE/tests/constructs" -static-libstdc++ -static-libgcc \
    "$SOURCE/tests/constructs/cpp_static_runtime.cpp" -o runtime || exit 1
run "$PCERE" capture --force --all-classes ./runtime
says "a program with the C++ library in itself is captured" 0
for region in $("$PCERE" regions runtime.pcere --json | jq -r '.regions[] | select(.status == "captured") | .region'); do
    exports runtime.pcere "$region"
done

# Fortran: its unit is of another LLVM than the driver, which needs the OpenMP runtime's header.
fortran=$(command -v flang-22 || true)
if [ -n "$fortran" ]; then
    "$fortran" -O2 -g -fopenmp "-fpass-plugin=$(plugin)" "-L$("$CLANG" -print-resource-dir)/../.." "$SOURCE/tests/constructs/fortran/derived_types.f90" -o fortran || exit 1
    run "$PCERE" capture --force --all-classes ./fortran
    says "a program in Fortran is captured" 0
    for region in $("$PCERE" regions fortran.pcere --json | jq -r '[.regions[] | select(.status == "captured") | .region][:2][]'); do
        exports fortran.pcere "$region"
    done
fi

flags=-O2
program threads threads.c
captured threads --force --threads 3
run "$PCERE" export threads.pcere work@ -o team
says "a capture of three threads is exported" 0
alone make -s -C team check THREADS=3
says "and thread-local variables of all three are as in the program" 0 out '^check: identical'
sed -i 's/^    X(0, 0, 0x\([0-9a-f]*\), /    X(0, 0, 0x\1 + 4, /' team/region.h
alone make -s -C team check THREADS=3
says "others would be seen" 2 out 'captured at 0x.* the program had' out '^check: [0-9]+ of [0-9]+ bytes differ'

# Regions inside others: each asks for its level, its ancestors' numbers and their teams, and counts wrong answers in memory.
for name in nested_team nested_depth3; do
    "$CLANG" -O2 -g -fopenmp "-fpass-plugin=$(plugin)" "$SOURCE/tests/constructs/$name.c" -o "$name" || exit 1
    run "$PCERE" capture --all-classes "./$name"
    says "$name is captured" 0
done
nested() {   # STORE REGION LEVELS: each of its first three captured invocations; LEVELS is a pattern
    local invocation levels
    for invocation in $("$PCERE" regions "$1.pcere" --json |
                        jq ".regions[] | select(.region | startswith(\"$2\")) | [.classes[] | select(.captured) | .representative][:3][]"); do
        rm -rf inner
        run "$PCERE" export "$1.pcere" "$2" --invocation "$invocation" -o inner
        says "invocation $invocation of $2, which lies in others, is exported" 0
        levels=$(sed -n '/define LEVELS/,/^$/s/^ *\(X([0-9, ]*)\).*/\1/p' inner/region.h | tr -d '\n')
        holds "with the teams around it" grep -qE "^$3\$" <<<"$levels"
        seen+=$levels
        alone make -s -C inner check
        says "and leaves the program's memory, inside the same teams" 0 out '^check: identical, [0-9]{4,} bytes'
        alone make -s -C inner run REPEAT=2
        says "and is timed there" 0 out '^minimum'
    done
}
seen=
nested nested_team main@nested_team.c:19 'X\(3, [0-2]\)'
nested nested_depth3 middle 'X\(2, [01]\)'
nested nested_depth3 innermost 'X\(2, [01]\)X\(1, 0\)'
holds "also where another thread than the first went on inward" grep -qE '[23], [12]\)' <<<"$seen"
holds "the README does not say otherwise" test "$(grep -c 'runs by itself, and omp_get_level' inner/README.md)" = 0

# A region in a league of teams: what it asks has other answers here, which is said, and seen.
"$CLANG" -O2 -g -fopenmp "-fpass-plugin=$(plugin)" "$SOURCE/tests/constructs/teams_asked.c" -o teams_asked || exit 1
run "$PCERE" capture --all-classes ./teams_asked
says "teams_asked is captured" 0
run "$PCERE" export teams_asked.pcere main@ -o league
says "a region in a league is exported, and that there is none is said" 0 err 'lies in team [0-2] of a league of [23], and here there is no league: its questions are answered otherwise'
holds "in the README, too" grep -q 'of a league of [23], and here there is no league' league/README.md
alone make -s -C league check
says "and the check tells" 2 out '^check: [0-9]+ of [0-9]+ bytes differ'

program mixed mixed.c plain.c
captured mixed --force
region=$("$PCERE" regions mixed.pcere --json | jq -r '[.regions[] | select(.function == "main")][0].region')
run "$PCERE" export mixed.pcere "$region" -o mixed-out
says "what has no bitcode is named on standard error" 0 err 'no bitcode of plain_'
holds "and in the README" grep -q 'no bitcode of plain_' mixed-out/README.md
alone make -s -C mixed-out check
says "and runs as the program's own machine code" 0 out '^check: identical'
alone setarch -R make -s -C mixed-out check
says "without address randomisation, too" 0 out '^check: identical'
alone make -s -C mixed-out clean check FLAGS=-O0
says "other flags are taken" 0 out '^check: identical'
holds "from the text" grep -q 'O0' mixed-out/.flags
if ld.bfd --version >/dev/null 2>&1; then
    alone make -s -C mixed-out clean check PLACE="$(sed -n "s/^#   make PLACE='\(.*\)'$/\1/p" mixed-out/Makefile)"
    says "the GNU linker does as well, as the Makefile says" 0 out '^check: identical'
fi

"$CLANG" -O2 -g -fPIC -shared "$programs/plain.c" -lm -o libplain.so
"$CLANG" -O2 -g -fopenmp "-fpass-plugin=$(plugin)" "$programs/mixed.c" -L. -lplain "-Wl,-rpath,$work" -o shared || exit 1
captured shared
run "$PCERE" export shared.pcere "$region" -o shared-out
says "a program with a library of its own is exported" 0 err "libplain.so run as the program.s machine code"
holds "the library is in its memory, and no copy is needed" test ! -e shared-out/libraries
rm libplain.so
alone make -s -C shared-out run THREADS=2
says "which need not be there any more" 0 out 'OMP_NUM_THREADS=2'

cat >one.c <<'END'
#include <stdio.h>
int work(int i);
void unused(void);
static int counter, scale = 3;
int main(void)
{
    int sum = 0;
    for (int step = 0; step < 4; step++) {
#pragma omp parallel for reduction(+ : sum)
        for (int i = 0; i < 1000; i++)
            sum += work(i) * scale;
        scale += counter++;
        unused();
    }
    return printf("PASS %d\n", sum) < 0;
}
END
cat >two.c <<'END'
int deep(int i);
static _Thread_local int counter;
static int scale = 5, calls[1000];
int work(int i) { counter++; calls[i] += counter; return deep(i) + scale; }
END
cat >three.c <<'END'
const int table[4] = {1, 2, 3, 4};
static int counter;
int deep(int i) { return table[i % 4] + counter; }
void unused(void) { counter++; }
END
"$CLANG" -O2 -g -fopenmp "-fpass-plugin=$(plugin)" -c one.c && "$CLANG" -O3 -fno-math-errno "-fpass-plugin=$(plugin)" -c two.c &&
    "$CLANG" -O1 -fopenmp "-fpass-plugin=$(plugin)" -c three.c && "$CLANG" -fopenmp one.o two.o three.o -o units || exit 1
captured units
exports units.pcere main@one.c:9
is "units whose functions the region calls are exported" "$(find out -name '*.ll' | sort | tr '\n' ' ')" "out/region.ll out/unit2.ll out/unit3.ll "
holds "each with its own flags" grep -q '^unit2.s: FLAGS = .*-O3' out/Makefile
alone make -s -C out check FLAGS='-O2 -fno-unroll-loops'
says "unless others are given" 0 out '^check: identical'
alone make -s -C out check FLAGS=-O0
says "a variable that the program, as it was optimised, does not have is named" 2 err 'undefined symbol: scale.u2'
holds "and the README says what that means" grep -q 'undefined symbol' out/README.md

program sized thread_sized.c
captured sized --force
region=$("$PCERE" regions sized.pcere --json | jq -r '[.regions[] | select(.thread_sized)][0].region')
run "$PCERE" export sized.pcere "$region" -o sized-out
says "that a region holds only for the capture's threads is said" 0 err 'at most 1 thread, as in the capture: '
alone make -s -C sized-out run THREADS=2
says "and more are refused" 2 err 'holds for at most 1 thread$'
alone make -s -C sized-out run
says "the capture's are not" 0 out '^minimum'

program kinds kinds.c
captured kinds --force
run "$PCERE" export kinds.pcere by_value -o "a folder's name"
says "what comes next is said as a shell reads it" 0
alone bash -c "$(sed -n 's/^next: //p' .out)"
says "and it runs" 0 out '^check: identical'
run "$PCERE" export kinds.pcere by_value -o by_value --json
says "--json prints a document" 0
holds "with schema, files, flags, sizes and limits" jq -e '.schema == "pcere.export/1" and .region == "by_value@kinds.c:15" and .directory == "by_value" and
    (.units | length) == 1 and .units[0].file == "region.ll" and (.units[0].flags | contains("-O2")) and .memory_bytes > 10000 and .stored_bytes > 10000 and
    (.limits | type) == "array"' .out
is "the directory is its owner's" "$(stat -c %a by_value)" 700
is "and so is all in it" "$(find by_value -type f -perm /077 | wc -l)" 0
captured_ones=$("$PCERE" regions kinds.pcere --json | jq -r '[.regions[] | select(.region | startswith("by_value@")) | .classes[] | select(.captured) | .representative] | map(tostring) | join(", ")')
second=${captured_ones##*, }
run "$PCERE" export kinds.pcere by_value --invocation "$second" -o second --json
is "--invocation chooses the class" "$(json .representative)" "$second"
run "$PCERE" export kinds.pcere by_value --invocation 77 -o third
says "an invocation that is not captured is named, with those that are" 2 err "invocation 77 is not captured" err " $captured_ones"
run "$PCERE" export kinds.pcere by_value -o by_value
says "a directory that is there is not touched" 2 err "'by_value' exists" err 'hint:.*--force'
run "$PCERE" export kinds.pcere many@kinds.c:24 -o by_value --force
says "with --force an earlier export is replaced" 0
holds "by the new one" grep -q 'many@kinds.c:24' by_value/region.h
mkdir mine && touch mine/file
run "$PCERE" export kinds.pcere by_value -o mine --force
says "another directory never is" 2 err "'mine' is no earlier export"
holds "and all in it stays" test -e mine/file
run "$PCERE" export kinds.pcere nowhere -o none
says "a region that does not exist is refused" 2 err "no region 'nowhere'" err 'hint: pcere regions'
run "$PCERE" export kinds.pcere maximum -o none
says "of several the names are listed" 2 err 'maximum@kinds.c:54, maximum@kinds.c:57'
run "$PCERE" export kinds.pcere '*many*' -o none
says "also of those that a pattern names" 2 err 'many@kinds.c:24, many@kinds.c:27'
run "$PCERE" export kinds.pcere -o none
says "a region must be named" 2 err 'no region is named'
run "$PCERE" export kinds.pcere by_value
says "and a directory" 2 err 'no directory is named'
run "$PCERE" export kinds.pcere by_value -o no/such/place
says "which must have a place" 2 err "cannot make a directory 'no/such/place': No such file"
run "$PCERE" export kinds.pcere by_value --compiler clang-none -o none
says "a compiler that is not there is refused" 3 err 'clang-none'
for at in 1 4 9; do
    PCERE_FAULTS=export.write:$at:ENOSPC run "$PCERE" export kinds.pcere by_value -o none
    says "a full disk is a failure of the system ($at)" 5 err 'No space left on device' err 'hint: free space'
done
is "which leaves nothing" "$(find . -maxdepth 1 -name 'none*' | wc -l)" 0
run "$PCERE" capture --force --regions locked ./kinds
run "$PCERE" export kinds.pcere by_value -o none
says "a region that was not captured is refused with its reason" 4 err "'by_value@kinds.c:15' has not been captured: "
# With other threads sums differ in their last digits: the check says that it compares with another number of them.
cat > adds.c <<'C'
#include <stdio.h>
int main(void)
{
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 1; i < 100000; i++)
        sum += 1.0 / i;
    printf("%.17g\n", sum);
    return 0;
}
C
"$CLANG" -O2 -g -fopenmp "-fpass-plugin=$(plugin)" adds.c -o adds || exit 1
run "$PCERE" capture --force --threads 1 ./adds
says "adds is captured" 0
run "$PCERE" export adds.pcere main@ -o adds_exported
says "and exported" 0
alone make -s -C adds_exported check
says "with the capture's threads nothing differs" 0 out '^check: identical'
alone make -s -C adds_exported check THREADS=2
says "with others digits do, and what that means is told" 2 out '^check: [0-9]+ of [0-9]+ bytes differ' out 'with 2 threads; the capture had 1: .*sums of floating-point numbers'
finish
