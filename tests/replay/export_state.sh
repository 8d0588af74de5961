# Exported regions that need what the C library, the kernel and the OpenMP runtime kept for the program, its language too.
source "$(dirname "$0")/common.sh"
command -v make >/dev/null || { echo "skipped: there is no make"; exit 77; }
alone() { run env -i PATH=/usr/local/bin:/usr/bin:/bin "$@"; }
# same PROGRAM DIR: its one region, exported; as in the program
same() {
    run "$PCERE" export "$1.pcere" main -o "$2"
    says "$1's region is exported" 0
    alone make -s -C "$2" check
    says "and leaves the program's memory" 0 out '^check: identical'
    alone make -s -C "$2" run REPEAT=2
    says "and is timed" 0 out '^minimum'
}

seq 1.5 40000.5 >numbers
flags="-O2 -fnoopenmp-use-tls"
program keeps keeps.c
export KEEPS_GIVEN=hello
captured keeps --threads 2
unset KEEPS_GIVEN
same keeps out
is "what it prints is dropped" "$(grep -c '^row\|^message' .out .err | tr '\n' ' ')" ".out:0 .err:0 "
rm numbers
alone make -s -C out check
says "a file that was kept need not be there" 0 out '^check: identical'
sed -i 's|X(\([0-9]*\), 1, \(0x[0-9a-f]*, "[^"]*numbers"\)|X(\1, 0, \2|' out/state.h
alone make -s -C out check
says "one that was not and is gone is named" 2 err "numbers', which the program had open: No such file" out '^check: [0-9]+ of'
alone make -s -C out run THREADS=1 REPEAT=2
says "and runs on" 0 out '^minimum'

if command -v localedef >/dev/null && localedef -i de_DE -f UTF-8 "$work/xx_PCERE.UTF-8" 2>/dev/null; then
    cat >speaks.cpp <<'C'
#include <clocale>
#include <cstdio>
#include <string>
static char texts[100][32];
static double numbers[100];
int main()
{
    if (!std::setlocale(LC_ALL, "xx_PCERE.UTF-8")) return 1;
    for (int round = 0; round < 2; round++) {
        #pragma omp parallel for
        for (int i = 0; i < 100; i++) {
            std::snprintf(texts[i], sizeof texts[i], "%'.2f", 12345 + i / 4.0);
            numbers[i] = std::stod("2,5");
        }
    }
    std::printf("PASS %s\n", texts[1]);
}
C
    "${CLANG/clang/clang++}" -O2 -g -fopenmp "-fpass-plugin=$(plugin)" speaks.cpp -o speaks || exit 1
    export LOCPATH=$work
    captured speaks
    unset LOCPATH
    same speaks spoken
    rm -rf "$work/xx_PCERE.UTF-8"
    alone make -s -C spoken check
    says "where its language is not installed it says so" 2 err 'locale .*xx_PCERE.UTF-8.* is not installed here'
fi

"$CLANG" -O2 -g -fopenmp "-fpass-plugin=$(plugin)" "-I$SOURCE/tests/constructs" "$SOURCE"/tests/constructs/own_malloc{,_allocator}.c -o own_malloc || exit 1
run "$PCERE" capture ./own_malloc
run "$PCERE" export own_malloc.pcere main -o own
says "an allocator of the program's own is named, which is also the runtime's here" 0 err 'allocator of its own.*OpenMP runtime as well'
alone make -s -C own run REPEAT=2
says "and the region runs with it" 0 out '^minimum'

# A limited pool's count goes on in an exported region, and memory at two addresses is one memory there.
for entry in openmp_pool:kept_grow memory_twice:main; do
    name=${entry%:*}
    "$CLANG" -O2 -g -fopenmp "-fpass-plugin=$(plugin)" "$SOURCE/tests/constructs/$name.c" -o "$name" || exit 1
    run "$PCERE" capture --all-classes --max-classes 1 "./$name"
    run "$PCERE" export "$name.pcere" "${entry#*:}" -o "$name-out"
    says "a region of $name is exported" 0
    for threads in 1 2; do
        alone make -s -C "$name-out" check THREADS=$threads
        says "and leaves the program's memory with $threads threads" 0 out '^check: identical, [0-9]{5,} bytes'
    done
    alone make -s -C "$name-out" run REPEAT=2
    says "and is timed" 0 out '^minimum'
done

# Streams of C++ that were there before the region: data of the C++ library that has no name.
"${CLANG/clang/clang++}" -O2 -g -fopenmp "-fpass-plugin=$(plugin)" "-I$SOURCE/tests/constructs" "$SOURCE/tests/constructs/cpp_stream_objects.cpp" -o streams || exit 1
run "$PCERE" capture --all-classes ./streams; says "a program with streams in objects is captured" 0
regions=($(jq -r '.regions[].region' streams.pcere/manifest.json))
is "with both regions" "${#regions[@]}" 2
for region in "${regions[@]}"; do
    run "$PCERE" export streams.pcere "$region" -o "streams.${region##*:}"; says "$region is exported" 0
    run env OMP_NUM_THREADS=1 make -s -C "streams.${region##*:}" check; says "and does what the program did" 0 out '^check: identical'
done
"$CLANG" -O2 -g -fopenmp "-fpass-plugin=$(plugin)" "-I$SOURCE/tests/constructs" "$SOURCE/tests/constructs/region_empty.c" -o empty || exit 1
run "$PCERE" capture --all-classes ./empty
run "$PCERE" export empty.pcere regions_run@region_empty.c:11 -o nothing
alone make -s -C nothing check
says "a region of which the optimiser leaves nothing is run as that" 0 out '^check: identical'

# Globals that are called as the driver's own functions and variables are.
compile names <<'END'
#include <stdio.h>
double out[400], pages[10], contents[3], functions[4], externals[5], memory_map[2], gaps, library_words;
int main(void)
{
    double s = 0;
    #pragma omp parallel for reduction(+ : s)
    for (int i = 0; i < 400; i++) {
        out[i] = i;
        s += out[i] + pages[i % 10] + contents[i % 3] + functions[i % 4] + externals[i % 5] + memory_map[i % 2] + gaps + library_words;
    }
    printf("%g\n", s);
    return s != 400 * 399 / 2;
}
END
run "$PCERE" capture --all-classes ./names
says "a program whose globals have common names is captured" 0
same names names.exported
# Those of the words in its assembly, functions and thread-local variables, too.
compile words <<'END'
#include <stdio.h>
double data, address, thread, values[1000];
_Thread_local double module, thread_block_0, thread_block_1;
#define FUNCTIONS(X) X(copy) X(region) X(driver) X(memory) X(state) X(files) X(heap) X(check) X(page_of) X(library_page) X(module_of) X(block_of) X(entry)
#define DEFINE(name) __attribute__((noinline)) double name(double x) { return x + sizeof #name; }
FUNCTIONS(DEFINE)
#define NAME(name) name,
double (*volatile all[])(double) = {FUNCTIONS(NAME)};
int main(void)
{
    #pragma omp parallel for
    for (int i = 0; i < 1000; i++) {
        module += i, thread_block_0 += 2 * i, thread_block_1 += 1;
        values[i] = copy(i) + region(i) + all[i % (sizeof all / sizeof *all)](i);
        if (i == 7)
            data = module, address += 2, thread += 3, all[7] = copy;
    }
    printf("%g %g\n", values[3] + module, data);
    return values[0] != sizeof "copy" * 2 + sizeof "region";
}
END
run "$PCERE" capture --all-classes ./words
says "a program whose globals are called as words of the export's assembly is captured" 0
same words words.exported

# Threads that had no copies of threadprivate variables when the region began.
flags='-O2 -fnoopenmp-use-tls'
program copies copies.c
run "$PCERE" capture --threads 2 ./copies
says "a program that asks the runtime for threads' copies is captured" 0
run "$PCERE" export copies.pcere find -o copies.exported
says "its region is exported" 0
for threads in 2 4; do
    alone make -s -C copies.exported check THREADS=$threads
    says "new copies hold what the program starts with, with $threads threads" 0 out '^check: identical'
done
finish
