# A packed store is all that another machine needs: the program, its sources, its libraries and the original store are gone, the processor, the
# layout of addresses and the name of the machine differ.
source "$SOURCE/tests/cli/common.sh" || exit 1
mkdir -p build/lib there machine
pass="-fpass-plugin=$(plugin)"
cd build || exit 1

# ---- a program with libraries of its own, one of which needs another ------------------------------------------------------------
cat >inner.c <<'END'
double inner(double x) { return 3 * x; }
END
cat >outer.c <<'END'
double inner(double);
double outer(double x) { return inner(x) + 1; }
END
cat >uses.c <<'END'
#include <math.h>
#include <stdio.h>
double outer(double);
static double a[50000];
int main(void) {
    double sum = 0;
    for (int k = 0; k < 8; k++) {
        #pragma omp parallel for
        for (int i = 0; i < 50000; i++) a[i] = outer(a[i] * 0.1) + sin(i);
        #pragma omp parallel for reduction(+ : sum)
        for (int i = 0; i < 50000; i++) sum += a[i];
    }
    printf("%.6g\n", sum);
    return 0;
}
END
{
    "$CLANG" -O2 -shared -fPIC inner.c -o lib/libinner.so.2 -Wl,-soname,libinner.so.2 &&
    "$CLANG" -O2 -shared -fPIC outer.c lib/libinner.so.2 -o lib/libouter.so "-Wl,-rpath,$PWD/lib" &&
    "$CLANG" -O2 -g -fopenmp "$pass" uses.c -o uses -Llib -louter -lm '-Wl,-rpath,$ORIGIN/lib'
} || { echo "NOT OK: uses.c does not build"; exit 1; }
PCERE_HOST=here run "$PCERE" capture --all-classes ./uses; says "a program with libraries of its own is captured" 0
is "its libraries are in the store, and no others" "$(jq -r '[.files.libraries[].name] | sort | join(" ")' uses.pcere/manifest.json)" "libinner.so.2 libouter.so"
run "$PCERE" pack -o ../there/uses.tar.zst; says "and packed with it" 0

# ---- regions that this processor, or this process, cannot have ------------------------------------------------------------------
cat >wide.c <<'END'
extern double a[1000];
void wide(void) {
    #pragma omp parallel for
    for (int i = 0; i < 1000; i++) a[i] = a[i] * 0.5 + i;
}
END
# of the machine, by its name: the replay loads what the machine has
cat >taken.c <<'END'
#include <stdlib.h>
#include <sys/mman.h>
__attribute__((constructor)) static void take(void) {
    if (!getenv("LEAVE_IT"))
        mmap((void *)0x300000000000, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}
END
cat >odd.c <<'END'
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
double a[1000];
void wide(void);
static void strange(void) {
    #pragma omp parallel
    { if (access("leave-it", F_OK)) __asm__ volatile(".byte 0x06"); }
}
static void traps(void) {
    #pragma omp parallel
    { if (access("leave-it", F_OK)) __builtin_trap(); }
}
static void mapped(void) {
    double *b = mmap((void *)0x300000000000, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    #pragma omp parallel for
    for (int i = 0; i < 1000; i++) b[i] = i;
    munmap(b, 1 << 20);
}
static void large(void) {
    double *b = mmap((void *)0x310000000000, 1ul << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    #pragma omp parallel for
    for (int i = 0; i < 1000; i++) b[i] = i;
    munmap(b, 1ul << 30);
}
static void works(void) {
    #pragma omp parallel for
    for (int i = 0; i < 1000; i++) a[i] = a[i] * 0.5 + i;
}
int main(void) {
    for (int k = 0; k < 2; k++) { wide(); strange(); traps(); mapped(); large(); works(); }
    printf("%g\n", a[7]);
    return 0;
}
END
# LWP: instructions that no compiler emits by itself, and that no processor has had for years.
{
    "$CLANG" -O2 -shared -fPIC taken.c -o ../machine/libnss_taken.so &&
    "$CLANG" -O2 -g -fopenmp "$pass" -mlwp -c wide.c && "$CLANG" -O2 -g -fopenmp "$pass" odd.c wide.o -o odd -L../machine -Wl,--no-as-needed -lnss_taken
} || { echo "NOT OK: odd.c does not build"; exit 1; }
touch leave-it
LEAVE_IT=1 LD_LIBRARY_PATH=$work/machine run "$PCERE" capture --all-classes ./odd; says "a program with odd regions is captured" 0
run "$PCERE" pack odd.pcere -o ../there/odd.tar.zst; says "and packed" 0

# ---- there ----------------------------------------------------------------------------------------------------------------------
cd ../there && rm -rf ../build
export PCERE_HOST=there
run "$PCERE" unpack uses.tar.zst; says "the packed store is unpacked where nothing else is" 0
run "$PCERE" verify uses.pcere; says "memory after each region is identical" 0 out 'identical'
run setarch -R "$PCERE" verify uses.pcere; says "also where addresses are not random" 0
run "$PCERE" replay uses.pcere --threads 1,2; says "it is replayed, and told that it was captured elsewhere" 0 out 'main@uses\.c' out 'captured on another machine'
run "$PCERE" replay uses.pcere --threads 1 --repeat 2 --json
holds "in the document, too" jq -e '.captured_elsewhere and .host.name == "there"' "$work/.out"
run "$PCERE" predict uses.pcere; says "predictions say so, and whose the serial part is" 0 out 'on there' out 'another machine \(here\): the part outside regions'
run "$PCERE" predict uses.pcere --measure --repeat 1; says "the stored program runs with the stored libraries" 0 out 'another machine \(here\): what was not replayed'
run "$PCERE" predict uses.pcere --arch here; says "of the machine that captured nothing is known" 4 err "not replayed"
mv uses.pcere moved.pcere
run "$PCERE" verify moved.pcere; says "a store that is moved keeps its built codelets" 0
damage moved.pcere/libraries/libouter.so 100
"$PCERE" rm --cache moved.pcere >/dev/null
run "$PCERE" verify moved.pcere; says "a damaged library is named" 4 err 'libouter.so'

run "$PCERE" unpack odd.tar.zst; says "the other is unpacked" 0
run "$PCERE" replay odd.pcere wide --threads 1
says "a region for another processor is refused by what this one lacks" 3 err 'compiled for a processor with lwp' err 'hint: .*--flags'
run "$PCERE" replay odd.pcere wide --threads 1 --flags -O2; says "and replayed with other flags" 0
run "$PCERE" replay odd.pcere strange --threads 1; says "an instruction that it does not know is said" 3 err 'an instruction that this processor does not have'
run "$PCERE" replay odd.pcere traps --threads 1; says "a trap of the program's own is a crash" 1 err 'Illegal instruction'
run "$PCERE" replay odd.pcere mapped --threads 1; says "addresses that cannot be had are said" 3 err "region|codelet of 'mapped" err 'hint: '
run bash -c 'ulimit -v 900000; exec "$0" replay odd.pcere large works --threads 1 --repeat 2' "$PCERE"
says "so is memory that a limit forbids, and the other region runs" 3 err "'large.*cannot have its captured memory" err 'hint: .*ulimit' out 'works.*samples'
run "$PCERE" replay odd.pcere --threads 1 --repeat 2 --json
is "the other regions are replayed all the same" "$(json '[.replays[] | select(.reason == null) | .region | split("@")[0]] | unique | join(" ")')" "large works"
run "$PCERE" replay odd.pcere works --threads 1 --repeat 2; says "with samples" 0 out "$(samples 2)"
finish
