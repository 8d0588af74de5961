# Only units that codelets reach are rebuilt; what is reached after all runs as the program's own machine code; what a stopped build had finished is kept.
source "$(dirname "$0")/common.sh"
sources() {
    cat >main.c <<'C'
#include <stdio.h>
#include <stdlib.h>
enum { COUNT = 5000 };
typedef long step_fn(long value, long by);
struct tool { const char *name; step_fn *step; };
extern struct tool tools[];
long direct(long value);
long unused(long value);
long report(const char *words, long value);
static long values[COUNT];
static step_fn *chosen;
static void near(void)
{
#pragma omp parallel for
    for (int i = 0; i < COUNT; i++)
        values[i] += direct(i);
}
#ifdef POINTER
static void pointed(void)
{
#pragma omp parallel for
    for (int i = 0; i < COUNT; i++)
        values[i] += chosen(i, 3);
}
#endif
int main(int count, char **words)
{
    chosen = tools[count > 1 ? atoi(words[1]) : 0].step;
    near();
#ifdef POINTER
    pointed();
#endif
    if (count > 5)
        unused(count);
    return report("PASS", values[7]) < 0;
}
C
    echo 'long deeper(long value); long direct(long value) { return deeper(value) + 1; }' >direct.c
    echo 'long deeper(long value) { return value * 2; }' >deeper.c
    echo 'long other(long value); long unused(long value) { return other(value); }' >unused.c
    echo 'long unused(long value); long other(long value) { return value ? unused(value - 1) : 0; }' >other.c
    echo '#include <stdio.h>
long report(const char *words, long value) { return printf("%s %ld\n", words, value); }' >report.c
    echo 'long add(long value, long by); long add(long value, long by) { return value + by; }' >add.c
    echo 'long scale(long value, long by); long scale(long value, long by) { return value * by; }' >scale.c
    echo 'long add(long, long), scale(long, long); struct tool { const char *name; long (*step)(long, long); };
struct tool tools[] = {{"add", add}, {"scale", scale}};' >tools.c
}
mkdir work && cd work && sources
flags="-O2 -g -fopenmp -fpass-plugin=$(plugin)"
# shellcheck disable=SC2086
objects() { for file in *.c; do "$CLANG" $flags "$@" -c "$file" -o "${file%.c}.o" || exit 1; done; }
# units STORE: how many the codelets' program has, and how many were left out
units() { echo "$(find "$1"/build/*/ -regex '.*/\([0-9]+-\)?[0-9a-f]+\(-copy[0-9]+\)?\.o' | wc -l) $(cat "$1"/build/*/unreached 2>/dev/null | wc -l)"; }

objects
"$CLANG" -fopenmp ./*.o -o near
"$CLANG" -fopenmp -fuse-ld=lld -Wl,--gc-sections ./*.o -o sections
run "$PCERE" capture --all-classes ./near
says "a program of nine units is captured" 0 out '^PASS'
run "$PCERE" verify near.pcere
says "its region is as in the program" 0 out 'identical'
is "three of its units are reached, and built" "$(units near.pcere)" "3 6"
run "$PCERE" replay near.pcere --threads 1,2 --repeat 2 --json
says "it is replayed" 0
is "and the document tells of these" "$(json '[.compilers[].units] | add')" 3
run "$PCERE" export near.pcere near -o exported
says "it can be exported" 0
if command -v make >/dev/null; then
    run env -i PATH=/usr/local/bin:/usr/bin:/bin make -s -C exported check
    says "and is the same" 0 out '^check: identical'
fi
run "$PCERE" capture --all-classes ./sections
run "$PCERE" verify sections.pcere --flags -O1
says "with other flags, too" 0 out 'identical'
is "the same are reached" "$(units sections.pcere)" "3 6"

# A pointer may lead to each function of its kind whose address is taken.
objects -DPOINTER
"$CLANG" -fopenmp ./*.o -o pointer
run "$PCERE" capture --all-classes ./pointer 1
says "a program that calls by pointers is captured" 0 out '^PASS'
run "$PCERE" verify pointer.pcere
says "its regions are as in the program" 0 out 'pointed@.*identical'
is "whoever may be called is built" "$(units pointer.pcere)" "5 4"

# What cannot be seen: a name in assembly. It runs at its captured address.
cat >direct.c <<'C'
long direct(long value);
long direct(long value)
{
    long (*hidden)(long) = 0;
    __asm__("leaq hidden_there(%%rip), %0" : "=r"(hidden));
    return hidden(value);
}
C
echo 'extern long hidden_there(long value); __attribute__((visibility("hidden"))) long hidden_there(long value) { return value * 5; }' >deeper.c
objects
"$CLANG" -fopenmp ./*.o -o unseen
run "$PCERE" capture --all-classes ./unseen
says "a program that calls by a name in assembly is captured" 0 out '^PASS'
run "$PCERE" verify unseen.pcere
says "what it reaches runs as the program's machine code" 0 out 'identical'
is "and was not built" "$(units unseen.pcere)" "2 7"
sources

# The same units in a shared library.
objects -fPIC
"$CLANG" -fopenmp -shared direct.o deeper.o unused.o other.o report.o add.o scale.o tools.o -o libtools.so
"$CLANG" -fopenmp main.o -L. -ltools -Wl,-rpath,"$PWD" -o shared
run "$PCERE" capture --all-classes ./shared
says "a program with a library is captured" 0 out '^PASS'
run "$PCERE" verify shared.pcere
says "its region is as in the program" 0 out 'identical'
is "of the library two units are built" "$(units shared.pcere)" "3 6"

# ---- a build that was stopped -----------------------------------------------------------------------------------------------------
built() { echo near.pcere/build/????????????????; }
stopped() {   # as if it had been killed when all but one unit was compiled
    first=$(built)
    left=$first.1.partial
    mv "$first" "$left"
    rm "$left"/codelet "$left"/codelet.xxh
    touch "$left/half-made.o.tmp"
    kept=$(find "$left" -name '????????????????.o' | sort | tail -n 1)
    rm "$(find "$left" -name '????????????????.o' | sort | head -n 1)"
    number=$(stat -c %i "$kept")
}
stopped
run "$PCERE" verify near.pcere
says "what a stopped build had finished is gone on with" 0 out 'identical'
holds "a unit that was finished is not compiled again" test "$(stat -c %i "$(built)/$(basename "$kept")")" = "$number"
holds "one that was not is" test "$(units near.pcere)" = "3 6"
holds "nothing else is left" test ! -e "$left" -a ! -e "$(built)/half-made.o.tmp"
rm -r near.pcere/build
run "$PCERE" verify -v near.pcere
made=$(units near.pcere)
is "which file of the program is compiled is told as it goes" "$(sed -n 's/^pcere verify: building: \([0-9]*\) of \([0-9]*\) files of the program$/\1 \2/p' "$work/.err" | tr '\n' ';')" \
    "$(for ((k = 1; k <= ${made% *}; k++)); do printf '%s;' "$k ${made% *}"; done)"
run "$PCERE" verify -v near.pcere
is "and nothing of it where all is built" "$(grep -c building: "$work/.err")" 0
stopped
head -c 100 "$kept" >cut && cp cut "$kept"
run "$PCERE" verify near.pcere
says "if it is damaged, all is made again" 0 out 'identical'
is "as before" "$(units near.pcere)" "3 6"
holds "and nothing is left" test "$(find near.pcere/build -name '*.partial' -o -name '*.failed' | wc -l)" = 0
finish
