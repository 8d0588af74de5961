# Exported regions in libraries, and that use libraries: code, data, thread-local variables, calls and exceptions in both directions.
source "$(dirname "$0")/common.sh"
command -v make >/dev/null || { echo "skipped: there is no make"; exit 77; }
alone() { run env -i PATH=/usr/local/bin:/usr/bin:/bin "$@"; }
pass="-fpass-plugin=$(plugin)" compiler=${CLANG/clang/clang++}

# crossing FLAG...: for the second library; then each of the two regions where nothing but the exported directory is
crossing() {
    local common=(-O2 -g -fopenmp "-I$programs") region
    mkdir -p lib
    "$compiler" "${common[@]}" "$pass" -fPIC -shared "$programs/crossing_first.cpp" -o lib/libfirst.so &&
        "$compiler" "${common[@]}" "$@" -fPIC -shared "$programs/crossing_second.cpp" -o lib/libsecond.so &&
        "$compiler" "${common[@]}" "$pass" "$programs/crossing.cpp" -o crossing -Llib "${linked[@]}" "-Wl,-rpath,$PWD/lib" ||
        { echo "NOT OK: the programs do not build"; exit 1; }
    captured crossing --force --threads 2
    run "$PCERE" verify --threads 2 --json crossing.pcere
    holds "memory behind regions that throw through libraries is the program's" jq -e '(.codelets | length > 1) and ([.codelets[].identical] | all)' .out
    for region in firstSum main@; do
        rm -rf "out-$region"
        run "$PCERE" export crossing.pcere "$region" -o "out-$region"
        says "$region is exported" 0 err 'run as the program.s machine code.*secondTwice'
    done
    rm -rf lib crossing crossing.pcere
    for region in firstSum main@; do
        alone make -C "out-$region"
        says "$region builds where program and libraries are gone" 0 out codelet
        holds "without a warning" test "$(grep -c warning .err)" = 0
        alone make -s -C "out-$region" check
        says "and leaves the program's memory" 0 out '^check: identical'
        alone make -s -C "out-$region" run THREADS=1 REPEAT=2
        says "and is timed" 0 out '^minimum'
    done
}
linked=(-lfirst -lsecond)
crossing "$pass"
holds "thread-local variables of the program and of its libraries are given to threads" test "$(grep -c '^    X([012], [01], 0x' out-main@/region.h)" -ge 4
holds "no library's copy is needed" test ! -e out-main@/libraries
linked=(lib/libfirst.so lib/libsecond.so)           # without sonames: the program needs them by their paths
crossing                                            # the second library is machine code only, and throws
# A function that no region reaches, of a unit of its own, is called by other code of an exported unit: hidden in a library, and in a program.
cat >region.c <<'END'
double step(double), make(int);
__attribute__((visibility("default"))) void process(double *a, int n)
{
#pragma omp parallel for
    for (int i = 0; i < n; i++)
        a[i] = step(a[i]);
}
__attribute__((visibility("default"))) double create(void) { return make(9); }
END
cat >filter.c <<'END'
double bessel(double);
__attribute__((noinline)) double step(double x) { return x * 0.5 + 1; }
__attribute__((noinline)) double make(int n) { return n ? bessel(n) + make(n - 1) : 0; }
END
echo 'double bessel(double x) { return x * x / (1 + x); }' >bessel.c
cat >calls.c <<'END'
#include <stdio.h>
void process(double *, int);
double create(void);
static double a[1000];
int main(void)
{
    double sum = create();
    for (int k = 0; k < 4; k++)
        process(a, 1000);
    return printf("PASS %g %g\n", sum, a[5]) < 0;
}
END
units=(region.c filter.c bessel.c)
calling() {
    captured calls --force
    rm -rf out
    run "$PCERE" export calls.pcere process@ -o out
    says "a region in $1 is exported" 0
    holds "with nothing that the program does not have" test "$(grep -c 'using it is a crash' .err)" = 0
    alone make -s -C out check
    says "where a unit needs what no region reaches" 0 out '^check: identical'
}
"$CLANG" -O2 -g -fopenmp "$pass" -fPIC -fvisibility=hidden -shared "${units[@]}" -o libcalled.so &&
    "$CLANG" -O2 -g -fopenmp "$pass" calls.c -L. -lcalled "-Wl,-rpath,$work" -o calls || exit 1
calling "a library"
"$CLANG" -O2 -g -fopenmp "$pass" calls.c "${units[@]}" -o calls || exit 1
calling "a program"
finish
