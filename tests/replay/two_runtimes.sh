# GCC's OpenMP runtime may stand before LLVM's in a process (build systems that add -lgomp): a caller's locks are made by the one that it sets them with, which the version
# of the name says.
source "$(dirname "$0")/common.sh"
gcc_runtime=$(/sbin/ldconfig -p | grep -o '/.*/libgomp\.so\.1$' | head -1)
[ -n "$gcc_runtime" ] || { echo "SKIPPED: there is no libgomp.so.1"; exit 77; }
runtime=$(dirname "$("$CLANG" -print-file-name=libomp.so)")
"$CLANG" -O2 -g -fopenmp "-fpass-plugin=$(plugin)" -shared -fPIC -Dmain=work "$programs/two_runtimes.c" -o libwork.so
echo 'int work(void); int main(void) { return work(); }' >main.c
"$CLANG" main.c -Wl,--no-as-needed,-rpath,"$PWD" ./libwork.so "$gcc_runtime" -L"$runtime" -lomp -o first
"$CLANG" -O2 -g -fopenmp "-fpass-plugin=$(plugin)" "$programs/two_runtimes.c" -Wl,--no-as-needed "$gcc_runtime" -o bound
holds "a library's names are LLVM's, in a process whose first runtime is GCC's" bash -c 'nm -D libwork.so | grep -q "omp_init_lock@VERSION" && ldd first | grep omp | head -1 | grep -q gomp'
holds "another program's names are GCC's" bash -c 'nm -D bound | grep -q "omp_init_lock@OMP_"'
for name in first bound; do
    OMP_NUM_THREADS=2 run "./$name"; says "$name runs by itself" 0 out '^PASS'
    run "$PCERE" run --threads 2 "./$name"; says "$name is timed" 0 err '^PASS'
    run "$PCERE" capture --threads 2 "./$name"; says "$name is captured" 0 out '^PASS' err '([0-9]) of \1 codelets'
    run "$PCERE" verify --threads 1,2 "$name.pcere"; says "and its memory is the program's after replays, whose locks are made anew" 0 out 'identical'
done
finish
