# What is special about libraries: a program without bitcode of its own, flags, packing, libraries that are gone, exporting, one object twice.
source "$SOURCE/tests/cli/common.sh" || exit 1
pass="-fpass-plugin=$(plugin)"
mkdir -p lib
cat >part.c <<'END'
static double table[64] = {1, 2, 3};
static long calls;
double part_sum(int n) {
    double sum = 0;
    calls++;
    #pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < n; i++) { table[i % 64] += i; sum += table[i % 3] + calls; }
    return sum;
}
END
cat >uses.c <<'END'
#include <stdio.h>
double part_sum(int);
int main(void) { double sum = 0; for (int i = 0; i < 4; i++) sum += part_sum(64); printf("%g\n", sum); return 0; }
END
cat >twice.c <<'END'
static double table[100];
__attribute__((constructor)) static void work(void) {
    #pragma omp parallel for
    for (int i = 0; i < 100; i++) table[i] += i + 1;
}
END
echo 'int main(void) { return 0; }' >empty.c
{
    "$CLANG" -O2 -g -fopenmp "$pass" -shared -fPIC part.c -o lib/libpart.so &&
    "$CLANG" -O2 uses.c -o uses -Llib -lpart '-Wl,-rpath,$ORIGIN/lib' &&
    "$CLANG" -O2 -g -fopenmp "$pass" -c twice.c && cp twice.o again.o && "$CLANG" -fopenmp empty.c twice.o again.o -o twice
} || { echo "NOT OK: the programs do not build"; exit 1; }

run env OPENBLAS_CORETYPE=Haswell GLIBC_TUNABLES=glibc.malloc.check=0 ANYTHING=else "$PCERE" capture --all-classes ./uses; says "a program whose library alone has regions is captured" 0
is "what libraries of mathematics choose their routines by is kept, the rest of the environment not" \
    "$(jq -r '[.environment[] | select(test("^(OPENBLAS_CORETYPE|GLIBC_TUNABLES|ANYTHING)="))] | sort | join(" ")' uses.pcere/manifest.json)" \
    "GLIBC_TUNABLES=glibc.malloc.check=0 OPENBLAS_CORETYPE=Haswell"

# A program that loads a library, which alone brings the OpenMP runtime, with a unit that was compiled without the plugin.
cat >alone.c <<'END'
#include <omp.h>
double alone_plain(void);
double alone(void) {
    double sum = 0;
    omp_lock_t lock;
    omp_init_lock(&lock);
    #pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 1000; i++) { omp_set_lock(&lock); sum += i; omp_unset_lock(&lock); }
    omp_destroy_lock(&lock);
    return sum + alone_plain();
}
END
cat >alone_plain.c <<'END'
double alone_plain(void) {
    double sum = 0;
    #pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 1000; i++) sum += i;
    return sum;
}
END
cat >loads.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
int main(void) {
    double sum = 0, (*work)(void);
    void *library = dlopen("lib/libalone.so", RTLD_NOW | RTLD_LOCAL);
    if (!library || !(*(void **)&work = dlsym(library, "alone"))) { puts(dlerror()); return 1; }
    for (int i = 0; i < 4; i++) sum += work();
    printf("%.0f\n", sum);
    return 0;
}
END
runtime=$(dirname "$("$CLANG" -print-file-name=libomp.so)")
"$CLANG" -O2 -fPIC -fopenmp -c alone_plain.c && "$CLANG" -O2 -g -fPIC -shared -fopenmp "$pass" alone.c alone_plain.o "-Wl,-rpath,$runtime" -o lib/libalone.so &&
    "$CLANG" -O2 -g "$pass" loads.c -o loads || { echo "NOT OK: the programs do not build"; exit 1; }
run "$PCERE" capture --all-classes --threads 2 ./loads; says "an OpenMP runtime that comes with a loaded library is found" 0 out '^3996000$'
is "its region is captured, and the one without the plugin listed" "$(jq -r '[.regions[] | .region + " " + .status] | sort | join(", ")' loads.pcere/manifest.json)" \
    "alone@alone.c:7 captured, alone_plain@alone_plain.c skipped"
run "$PCERE" verify loads.pcere; says "and memory after it is identical" 0 out 'alone@alone.c.*identical'

# The runtime begins with whatever is called first, before any region: where its blocks lie then is none of the program's memory.
for first in 'num_threads(threads)' 'proc_bind(close)' 'if(threads > 0)' ''; do
    cat >begins.c <<END
#include <omp.h>
double begins(double *values, int threads);
double begins(double *values, int threads) {
    double sum = ${first:+0 *} $([ -n "$first" ] && echo threads || echo 'omp_get_max_threads() / 64');
    #pragma omp parallel for $first
    for (int i = 0; i < 100000; i++) values[i] += i % 7;
    return sum + values[6];
}
END
    cat >loads_begins.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    double sum = 0, (*work)(double *, int), *values = calloc(100000, sizeof *values);
    void *library = dlopen("lib/libbegins.so", RTLD_NOW | RTLD_LOCAL);
    if (!library || !(*(void **)&work = dlsym(library, "begins"))) { puts(dlerror()); return 1; }
    for (int i = 0; i < 4; i++) sum += work(values, 2);
    printf("%.0f\n", sum);
    return 0;
}
END
    "$CLANG" -O2 -g -fPIC -shared -fopenmp "$pass" begins.c "-Wl,-rpath,$runtime" -o lib/libbegins.so && "$CLANG" -O2 -g loads_begins.c -o loads_begins || { echo "NOT OK: the programs do not build"; exit 1; }
    run "$PCERE" capture --force --all-classes --threads 2 ./loads_begins; says "a runtime begins with ${first:-a question}" 0 out '^60$'
    run "$PCERE" verify loads_begins.pcere; says "${first:-a question}: memory after the region is identical" 0 out 'begins@begins.c.*identical'
done

is "the library is an image of the store" "$(jq -r '.images[] | "\(.library) \(.global)"' uses.pcere/manifest.json)" "libpart.so true"
run "$PCERE" verify uses.pcere; says "memory after the library's region is identical" 0 out 'part_sum@part.c.*identical'
run "$PCERE" replay uses.pcere --threads 1,2 --repeat 2 --flags "-O1"; says "other flags rebuild the library's units" 0 out 'part_sum@part.c'
run "$PCERE" export uses.pcere part_sum -o exported; says "it is exported" 0
run "$PCERE" pack uses.pcere -o packed; says "it is packed" 0
rm -rf lib uses uses.pcere
run make -s -C exported check; says "and the exported directory does as the library did, where that is gone" 0 out '^check: identical'
run "$PCERE" unpack packed -o there.pcere; says "and unpacked where program and library are gone" 0
run "$PCERE" verify there.pcere; says "where it is as good" 0 out 'part_sum@part.c.*identical'

# Where FFTW is installed: plans are memory of the program's, with pointers to code in a library of the system that no symbol names.
cat >plans.c <<'END'
#include <fftw3.h>
#include <stdio.h>
enum { N = 64 };
int main(void) {
    static fftw_complex a[N][N];
    fftw_plan plan = fftw_plan_dft_1d(N, a[0], a[0], FFTW_FORWARD, FFTW_ESTIMATE);
    for (int i = 0; i < N * N; i++) a[i / N][i % N][0] = i % 17;
    #pragma omp parallel for
    for (int i = 0; i < N; i++) fftw_execute_dft(plan, a[i], a[i]);
    fftw_destroy_plan(plan);
    printf("%g\n", a[3][0][0]);
    return 0;
}
END
if "$CLANG" -O2 -g -fopenmp "$pass" plans.c -o plans -lfftw3 2>/dev/null; then
    run "$PCERE" capture --all-classes ./plans; says "a region that executes FFTW's plans is captured" 0
    run "$PCERE" verify plans.pcere --threads 1,2; says "and memory after it is identical" 0 out 'main@plans.c.* 1  identical'
    run "$PCERE" export plans.pcere main -o plans.exported; says "it is exported" 0
    run make -s -C plans.exported check; says "and does there what the program did" 0 out '^check: identical'
fi

# Libraries of the system that a capture cannot do without: memory leads to what has no name in them, or they keep something between calls.
cat >handles.c <<'END'
#include <jansson.h>
#include <stdio.h>
enum { N = 64 };
int main(void) {
    json_t *flags = json_array(), *sizes = json_object();
    char key[16];
    long sum = 0;
    for (int i = 0; i < N; i++) {
        snprintf(key, sizeof key, "size %d", i);
        json_array_append_new(flags, i % 3 ? json_true() : json_null());
        json_object_set_new(sizes, key, json_integer(i));
    }
    #pragma omp parallel for reduction(+ : sum) private(key)
    for (int i = 0; i < N; i++) {
        snprintf(key, sizeof key, "size %d", i);
        if (json_is_true(json_array_get(flags, (size_t)i))) sum += json_integer_value(json_object_get(sizes, key));
    }
    printf("%ld\n", sum);
    return sum != 1323;
}
END
cat >packs.c <<'END'
#include <lz4.h>
#include <stdio.h>
enum { N = 8, BYTES = 4096 };
static char from[N][BYTES], to[N][2 * BYTES];
int main(void) {
    int sum = 0;
    for (int i = 0; i < N * BYTES; i++) from[i / BYTES][i % BYTES] = (char)(i % 13);
    #pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < N; i++) sum += LZ4_compress_default(from[i], to[i], BYTES, 2 * BYTES);
    return sum == 0;
}
END
"$CLANG" -O2 -g -fopenmp "$pass" handles.c -o handles -ljansson && "$CLANG" -O2 -g -fopenmp "$pass" packs.c -o packs -llz4 ||
    { echo "NOT OK: the programs do not build"; exit 1; }
libraries() { jq -r '[.images[].library | sub("[.]so.*"; "")] | join(" ")' "$1/manifest.json"; }
run "$PCERE" capture --all-classes ./handles; says "a region that uses handles of a library of the system is captured" 0 out '^1323$'
is "with the library" "$(libraries handles.pcere)" "libjansson"
run "$PCERE" verify handles.pcere --threads 1,2; says "what it keeps, and what handles lead to, is there in replays" 0 out 'main@handles.c.* 1  identical' out 'main@handles.c.* 2  identical'
run "$PCERE" export handles.pcere main -o handles.exported; says "it is exported" 0
run make -s -C handles.exported check; says "and does there what the program did" 0 out '^check: identical'
cat >local.c <<'END'
#include <jansson.h>
#include <stdio.h>
int main(void) {
    json_t *flags[2] = {json_true(), json_null()};
    long sum = 0;
    #pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 64; i++) sum += json_is_true(flags[i % 2]);
    printf("%ld\n", sum);
    return sum != 32;
}
END
"$CLANG" -O2 -g -fopenmp "$pass" local.c -o local -ljansson || { echo "NOT OK: the program does not build"; exit 1; }
run "$PCERE" capture --all-classes ./local; says "a region whose handles stand on the stack alone is captured" 0 out '^32$'
run "$PCERE" verify local.pcere --threads 1,2; says "and what they lead to is there in replays" 0 out 'main@local.c.* 1  identical' out 'main@local.c.* 2  identical'
# A library that can make threads, and made none (SQLite): what it keeps is there. Python brings it; its header not always.
cat >queries.c <<'END'
#include <stdio.h>
#include <stdlib.h>
typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;
int sqlite3_open(const char *, sqlite3 **), sqlite3_exec(sqlite3 *, const char *, void *, void *, char **), sqlite3_step(sqlite3_stmt *);
int sqlite3_prepare_v2(sqlite3 *, const char *, int, sqlite3_stmt **, const char **), sqlite3_column_int(sqlite3_stmt *, int), sqlite3_finalize(sqlite3_stmt *);
int main(void) {
    sqlite3 *table;
    char text[100];
    long sum = 0;
    if (sqlite3_open(":memory:", &table) || sqlite3_exec(table, "create table t(a integer, b integer)", 0, 0, 0)) return 1;
    for (int i = 0; i < 300; i++) {
        snprintf(text, sizeof text, "insert into t values(%d,%d)", i, i % 16);
        if (sqlite3_exec(table, text, 0, 0, 0)) return 1;
    }
    #pragma omp parallel for reduction(+ : sum) private(text)
    for (int i = 0; i < 16; i++) {
        sqlite3_stmt *query;
        snprintf(text, sizeof text, "select sum(a) from t where b=%d", i);
        if (sqlite3_prepare_v2(table, text, -1, &query, 0) || sqlite3_step(query) != 100) abort();
        sum += sqlite3_column_int(query, 0);
        sqlite3_finalize(query);
    }
    printf("%ld\n", sum);
    return sum != 44850;
}
END
if "$CLANG" -O2 -g -fopenmp "$pass" queries.c -o queries -l:libsqlite3.so.0; then
    run "$PCERE" capture --all-classes ./queries; says "a region that asks a data base of a library which may have threads is captured" 0 out '^44850$'
    is "with the library" "$(libraries queries.pcere)" "libsqlite3"
    run "$PCERE" verify queries.pcere --threads 1; says "and what it keeps is there in replays" 0 out 'main@queries.c.* 1  identical'
fi

# GCC's OpenMP runtime, which a library may bring, binds the first thread where the environment speaks of places; LLVM's has all processors all the same.
cat >runtimes.c <<'END'
#include <omp.h>
#include <stdio.h>
int main(void) {
    int processors = 0;
    #pragma omp parallel reduction(max : processors)
    processors = omp_get_num_procs();
    printf("%d processors\n", processors);
    return 0;
}
END
"$CLANG" -O2 -g -fopenmp "$pass" runtimes.c -o runtimes -lomp -Wl,--no-as-needed -l:libgomp.so.1 || { echo "NOT OK: the program does not build"; exit 1; }
plainly=$(./runtimes)
run "$PCERE" capture --all-classes ./runtimes; says "a program with two OpenMP runtimes is captured, and has its processors" 0 out "^$plainly$"
run "$PCERE" verify runtimes.pcere --threads 1,2; says "and so do replays" 0 out 'main@runtimes.c.* 1  identical' out 'main@runtimes.c.* 2  identical'
if [ "$plainly" != "1 processors" ]; then
    run env OMP_PROC_BIND=true OMP_PLACES=threads "$PCERE" capture --force ./runtimes; says "where its user asks for places, they stay as they would be" 0 out '^1 processors$'
fi

# A library with thread-local variables, some of which begin with addresses, that is captured since it needs one that keeps something, which was loaded behind it: MPFR and GMP.
cat >digits.c <<'END'
#include <mpfr.h>
#include <stdio.h>
#include <stdlib.h>
static long given;
static void *give(size_t bytes) {
    #pragma omp atomic
    given++;
    return malloc(bytes);
}
static void *more(void *block, size_t was, size_t bytes) { (void)was; return realloc(block, bytes); }
static void take(void *block, size_t bytes) { (void)bytes; free(block); }
static double digits[64];
int main(void) {
    mp_set_memory_functions(give, more, take);
    mpfr_t pi;
    mpfr_init2(pi, 300);
    mpfr_const_pi(pi, MPFR_RNDN);
    #pragma omp parallel
    {
        mpfr_t own;
        mpfr_init2(own, 200);
        #pragma omp for
        for (int i = 0; i < 64; i++) {
            mpfr_const_pi(own, MPFR_RNDN);
            mpfr_mul_ui(own, own, (unsigned)i, MPFR_RNDN);
            mpfr_add(own, own, pi, MPFR_RNDN);
            digits[i] = mpfr_get_d(own, MPFR_RNDN);
        }
        mpfr_clear(own);
    }
    printf("%.10g\n", digits[63]);
    return given == 0;
}
END
if "$CLANG" -O2 -g -fopenmp "$pass" digits.c -o digits -lmpfr -lgmp 2>/dev/null; then
    run "$PCERE" capture --all-classes ./digits; says "a region that computes with MPFR, by the program's allocator, is captured" 0 out '^201'
    is "with both libraries" "$(libraries digits.pcere)" "libmpfr libgmp"
    run "$PCERE" verify digits.pcere --threads 1; says "each thread's variables are its library's" 0 out 'main@digits.c.* 1  identical'
    run "$PCERE" replay digits.pcere --threads 2 --repeat 3; says "a thread that the program did not have begins with what the dynamic linker fills in" 0
fi
cat >later.c <<'END'
#include <jansson.h>
int main(void) {
    long sum = 0;
    for (int step = 0; step < 3; step++) {
        #pragma omp parallel for reduction(+ : sum)
        for (int i = 0; i < 64; i++) sum += json_is_true(json_true());
        json_object_seed(17);
    }
    return sum != 192;
}
END
"$CLANG" -O2 -g -fopenmp "$pass" later.c -o later -ljansson || { echo "NOT OK: the programs do not build"; exit 1; }
run "$PCERE" capture --all-classes ./later; says "a region that comes before a library keeps anything is captured" 0
run "$PCERE" verify later.pcere; says "and replays, whatever the library keeps later" 0 out 'main@later.c.*identical'
cat >late.c <<'END'
#include <jansson.h>
#include <stdio.h>
static double values[64];
int main(void) {
    long sum = 0;
    #pragma omp parallel for
    for (int i = 0; i < 64; i++) values[i] = i;
    json_t *list = json_array();
    for (int i = 0; i < 64; i++) json_array_append_new(list, values[i] > 10 ? json_true() : json_null());
    #pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 64; i++) sum += json_is_true(json_array_get(list, (size_t)i));
    json_decref(list);
    printf("%ld\n", sum);
    return 0;
}
END
"$CLANG" -O2 -g -fopenmp "$pass" late.c -o late -ljansson || { echo "NOT OK: the program does not build"; exit 1; }
run "$PCERE" capture --all-classes --one-run ./late; says "a library that only a later codelet needs is told of, and what to do" 0 out '^53$' \
    err 'libjansson is needed for codelets after the first one only.*--capture-library libjansson'
is "it is not captured" "$(libraries late.pcere)" ""
run "$PCERE" capture --json --all-classes --force ./late; says "otherwise the program runs again with it, quietly" 0
is "which is told" "$(jq -r '"\(.runs) \(.captured) \(.second_run_reason)"' .out | grep -c '^2 2 libjansson is needed for codelets after the first one only.* it runs again, with it captured')" 1
is "its output is that of one run" "$(grep -c '^53$' .err)" 1
is "the library is captured" "$(libraries late.pcere)" "libjansson"
run "$PCERE" verify late.pcere --threads 1,2; says "and both regions replay" 0 out 'main@late.c:6 .* 2  identical' out 'main@late.c:10 .* 2  identical'
# A run with the library that ends differently leaves what the first one captured.
cat >once.c <<'END'
#include <jansson.h>
#include <stdio.h>
#include <unistd.h>
static double values[64];
int main(void) {
    long sum = 0;
    #pragma omp parallel for
    for (int i = 0; i < 64; i++) values[i] = i;
    if (access("was-here", F_OK) == 0) return 7;
    fclose(fopen("was-here", "w"));
    json_t *list = json_array();
    for (int i = 0; i < 64; i++) json_array_append_new(list, values[i] > 10 ? json_true() : json_null());
    #pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 64; i++) sum += json_is_true(json_array_get(list, (size_t)i));
    printf("%ld\n", sum);
    return 0;
}
END
"$CLANG" -O2 -g -fopenmp "$pass" once.c -o once -ljansson || { echo "NOT OK: the program does not build"; exit 1; }
run "$PCERE" capture --all-classes ./once; says "a program that goes otherwise when it runs again is captured as it was at first" 0 out '^53$' \
    err 'it runs again, with it captured' err 'libjansson is needed for codelets after the first one only, and not captured'
is "without the library" "$(libraries once.pcere)" ""
run "$PCERE" verify once.pcere main@once.c:7; says "what the first run captured replays" 0 out 'main@once.c:7 .*identical'
run "$PCERE" capture --all-classes ./packs; says "a region that calls a library which keeps nothing is captured" 0
is "without the library" "$(libraries packs.pcere)" ""
run "$PCERE" capture --all-classes --force --capture-library liblz4,libnothing ./packs; says "libraries to be captured are named, and missed where they are not there" 0 \
    err "no library of the program has a name that begins with 'libnothing'"
is "and captured" "$(libraries packs.pcere)" "liblz4"
run "$PCERE" verify packs.pcere --threads 1,2; says "memory after the region is identical" 0 out 'main@packs.c.* 2  identical'
run "$PCERE" capture --force --capture-library libc.so ./packs; says "runtimes are not captured" 2 err "'libc.so' is a runtime" err 'hint: leave it out'
run "$PCERE" capture --force --capture-library ./liblz4.so ./packs; says "names are no paths" 2 err "'./liblz4.so' is no name" err 'hint: give what the names'

# Programs in which no region can be seen, each with its own reason; one without the plugin that loads what has regions, as interpreters do, is captured.
cat >host.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
int main(void) {
    void *part = dlopen("lib/libpart.so", RTLD_NOW);
    double (*sum)(int) = part ? (double (*)(int))dlsym(part, "part_sum") : NULL;
    printf("%g\n", sum ? sum(64) + sum(64) : 0);
    return 0;
}
END
# It goes on when its tracer has looked what became of it, and closed its socket: of a process that ended nobody can tell.
cat >again_itself.c <<'END'
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static long values[64];
static int parent_has_socket(void) {
    char path[300], target[64];
    int found = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)getppid());
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        snprintf(path, sizeof path, "/proc/%d/fd/%s", (int)getppid(), entry->d_name);
        ssize_t length = readlink(path, target, sizeof target);
        found |= length > 7 && !memcmp(target, "socket:", 7);
    }
    if (folder) closedir(folder);
    return found;
}
int main(int count, char **words) {
    if (count && !getenv("IS_READY")) {
        setenv("IS_READY", "now", 1);
        execv("/proc/self/exe", words);
        return 1;
    }
    for (int i = 0; i < 10000 && !strcmp(getenv("IS_READY"), "now") && parent_has_socket(); i++) usleep(1000);
    #pragma omp parallel for
    for (int i = 0; i < 64; i++) values[i] += i;
    printf("%ld\n", values[63]);
    return 0;
}
END
mkdir -p lib
"$CLANG" -O2 -g -fopenmp "$pass" -shared -fPIC part.c -o lib/libpart.so && "$CLANG" -O2 host.c -o host && "$CLANG" -O2 -g -fopenmp "$pass" again_itself.c -o again_itself &&
    "$CLANG" -O2 empty.c -o empty || { echo "NOT OK: the programs without regions do not build"; exit 1; }
run "$PCERE" capture --all-classes ./host; says "a program without the plugin that loads a library with regions is captured" 0 err 'part_sum@part.c'
run "$PCERE" verify host.pcere; says "and its library's region replayed" 0 out 'part_sum@part.c.*identical'
run "$PCERE" capture ./empty; says "where nothing carries regions, that is said" 4 err 'not built with the plugin'
echo 'void *dlopen(const char *, int); int main(void) { return !dlopen("libm.so.6", 1); }' >modules.c && "$CLANG" -O2 modules.c -o modules
run "$PCERE" capture ./modules; says "where modules might have had some, too" 0 err 'neither it nor a library that it loaded showed one; compile'
run "$PCERE" capture ./again_itself </dev/null; says "a program that executes itself is told of" 0 out '^63$' err 'executed another one, or itself.*capture what it executes'
run env IS_READY=1 "$PCERE" capture --force --all-classes ./again_itself; says "and captured as it executes itself" 0 err 'main@again_itself.c'

# A plugin brings a library that is not captured (it allocates), which brings the machine's own copy of one that is: the copy's constructor, a name that it
# offers, must not be the captured one, which is not there yet. The same of a library that offers _init, as some do whose linker had a script of their own.
mkdir -p brought
cat >start.c <<'END'
long started = 0;
void start_up(int, char **, char **);
__attribute__((used, section(".init_array"))) static void (*const begin)(int, char **, char **) = start_up;
void start_up(int count, char **words, char **environment) { (void)count, (void)words, (void)environment; started = 41; }
long start_count(void) { return started; }
void _init(void) { started++; }
void _fini(void) { }
END
cat >pool.c <<'END'
long start_count(void);
static char pool[1024];
void *malloc(unsigned long bytes) { return bytes < sizeof pool ? pool : 0; }
long pool_count(void) { return start_count(); }
END
cat >stage.c <<'END'
long pool_count(void), start_count(void);
static long turns;
long stage(long x) { return x + ++turns + pool_count() + start_count(); }
END
cat >brings.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
static long values[64];
int main(void) {
    void *plugin = dlopen("brought/libstage.so", RTLD_NOW | RTLD_LOCAL);
    long (*stage)(long) = plugin ? (long (*)(long))dlsym(plugin, "stage") : NULL;
    if (!stage) { puts(dlerror()); return 1; }
    for (int turn = 0; turn < 3; turn++) {
        #pragma omp parallel for
        for (int i = 0; i < 64; i++) values[i] += stage(0) > 80 ? i : 0;
    }
    printf("%ld\n", values[63]);
    return 0;
}
END
"$CLANG" -O2 -shared -fPIC -nostartfiles start.c -o brought/libstart.so && "$CLANG" -O2 -shared -fPIC pool.c -o brought/libpool.so -Lbrought -lstart '-Wl,-rpath,$ORIGIN' &&
    "$CLANG" -O2 -shared -fPIC stage.c -o brought/libstage.so -Lbrought -lpool -lstart '-Wl,-rpath,$ORIGIN' &&
    "$CLANG" -O2 -g -fopenmp "$pass" brings.c -o brings || { echo "NOT OK: the program with a plugin does not build"; exit 1; }
run "$PCERE" capture --all-classes ./brings; says "a plugin with libraries of its own is captured" 0 out '^189$'
run "$PCERE" verify brings.pcere; says "and replayed beside the machine's own copies of them" 0 out 'main@brings.c.*identical'

# The same of a library that the program is linked with: its names would serve all, but the program's own code has none of them.
cat >held.c <<'END'
#include <stddef.h>
void *__libc_malloc(size_t);
void __libc_free(void *);
long start_count(void);
void *malloc(size_t bytes) { return __libc_malloc(bytes); }
void free(void *block) { __libc_free(block); }
long held_count(void) { return start_count(); }
END
cat >holds.c <<'END'
#include <stdio.h>
long held_count(void);
static long values[64];
int main(void) {
    for (int turn = 0; turn < 3; turn++) {
        #pragma omp parallel for
        for (int i = 0; i < 64; i++) values[i] += held_count() > 40 ? i : 0;
    }
    printf("%ld\n", values[63]);
    return 0;
}
END
"$CLANG" -O2 -shared -fPIC held.c -o brought/libheld.so -Lbrought -lstart '-Wl,-rpath,$ORIGIN' &&
    "$CLANG" -O2 -g -fopenmp "$pass" holds.c -o holds -Lbrought -lheld '-Wl,-rpath,$ORIGIN/brought' || { echo "NOT OK: the program with a library that needs a captured one does not build"; exit 1; }
run "$PCERE" capture --all-classes ./holds; says "a library that the program needs for one that is not captured is captured" 0 out '^189$'
is "and that one not" "$(jq -r '[.images[].library] | join(" ")' holds.pcere/manifest.json)" libstart.so
run "$PCERE" verify holds.pcere; says "and beside it the machine's own copy works" 0 out 'main@holds.c.*identical'

# The program's own code uses the captured library as well: it has that, and the one which is not captured has the machine's own, whose constructor must not find captured names.
cat >both.c <<'END'
#include <stdio.h>
long held_count(void), start_count(void);
extern long started;
static long (*volatile again)(void) = start_count;
static long values[64];
int main(void) {
    started = 1000;
    for (int turn = 0; turn < 3; turn++) {
        #pragma omp parallel for
        for (int i = 0; i < 64; i++) values[i] += held_count() > 40 && start_count() == 1000 && again() == 1000 && started == 1000 ? i : 0;
    }
    printf("%ld\n", values[63]);
    return 0;
}
END
for kind in "-fPIE -pie" "-fno-pie -no-pie"; do
    # shellcheck disable=SC2086
    "$CLANG" -O2 -g $kind -fopenmp "$pass" both.c -o both -Lbrought -lheld -lstart '-Wl,-rpath,$ORIGIN/brought' || { echo "NOT OK: the program that uses a captured library itself does not build"; exit 1; }
    run "$PCERE" capture --force --all-classes ./both; says "$kind: a program that uses what a library that is not captured needs is captured" 0 out '^189$'
    is "$kind: without that one" "$(jq -r '[.images[].library] | join(" ")' both.pcere/manifest.json)" libstart.so
    run "$PCERE" verify both.pcere; says "$kind: its own code has the captured library, the other one the machine's own" 0 out 'main@both.c.*identical'
done

# A library of the system that needs a captured one: had anew, it would bring the machine's own copy of that, whose constructors may call by names that lead
# to captured code before this is there (libX11 does). So it is captured as well.
"$CLANG" -O2 -g -fopenmp "$pass" packs.c -o reads -llz4 -Wl,--no-as-needed -lhwloc || { echo "NOT OK: the program with a library that needs others does not build"; exit 1; }
run "$PCERE" capture --all-classes --capture-library libudev ./reads; says "a library that one of the system needs is captured" 0
is "with that one" "$(libraries reads.pcere)" "libhwloc libudev"
run "$PCERE" verify reads.pcere; says "and memory after the region is identical" 0 out 'main@packs.c.*identical'

# A library that offers two versions of a function, by assembly that only its own link understands.
cat >versions.c <<'END'
double first(const double *a, int n) { double s = 0;
    #pragma omp parallel for reduction(+ : s)
    for (int i = 0; i < n; i++) s += a[i];
    return s; }
double second(const double *a, int n) { double s = 0;
    #pragma omp parallel for reduction(+ : s)
    for (int i = 0; i < n; i++) s += 2 * a[i];
    return s; }
__asm__(".symver first,sum@V1\n\t.symver second,sum@@V2");
END
printf 'V1 { global: sum; local: *; };\nV2 { global: sum; } V1;\n' >versions.map
printf '#include <stdio.h>\ndouble sum(const double *, int);\nint main(void) { static double a[1000]; double s = 0;\nfor (int k = 0; k < 3; k++) {\n#pragma omp parallel for\nfor (int i = 0; i < 1000; i++) a[i] += i;\ns += sum(a, 1000); }\nprintf("%%.0f\\n", s); return 0; }\n' >versioned.c
"$CLANG" -O2 -g -fopenmp "$pass" -fPIC -shared versions.c -o libversions.so -Wl,--version-script=versions.map && "$CLANG" -O2 -g -fopenmp "$pass" versioned.c -L. -lversions -Wl,-rpath,"$PWD" -o versioned || exit 1
run "$PCERE" capture --all-classes ./versioned; says "a library with versions of its functions is captured" 0 out '^5994000$'
run "$PCERE" verify versioned.pcere --threads 1,2; says "and its regions and the program's are replayed" 0 out 'second@versions.c.* 2  (identical|equal)' out 'main@versioned.c.* 2  identical'

# An allocator with a cache for each thread: such a library is not captured, and makes its key anew in a replay; the program has one as well.
cat >keeps.c <<'END'
#include <pthread.h>
#include <stddef.h>
void *__libc_malloc(size_t);
void __libc_free(void *);
static pthread_key_t cache;
static long kept = 3;
__attribute__((constructor)) static void make(void) { pthread_key_create(&cache, __libc_free); pthread_setspecific(cache, __libc_malloc(8)); }
void *malloc(size_t bytes) { return __libc_malloc(bytes); }
void free(void *block) { __libc_free(block); }
long cache_is_there(void) { return pthread_getspecific(cache) ? kept : 0; }
END
cat >keyed.c <<'END'
#include <pthread.h>
#include <stdio.h>
long cache_is_there(void);
static pthread_key_t own;
static double a[1000];
int main(void)
{
    static double value = 2;
    double sum = 0;
    pthread_key_create(&own, NULL);
    pthread_setspecific(own, &value);
    for (int step = 0; step < 4; step++) {
        #pragma omp parallel for num_threads(1) reduction(+ : sum)
        for (int i = 0; i < 1000; i++) { a[i] += i * *(double *)pthread_getspecific(own) + cache_is_there(); sum += a[i]; }
    }
    printf("%g\n", sum);
    return 0;
}
END
"$CLANG" -O2 -shared -fPIC keeps.c -o libkeeps.so && "$CLANG" -O2 -g -fopenmp "$pass" keyed.c -o keyed -L. -lkeeps '-Wl,-rpath,$ORIGIN' ||
    { echo "NOT OK: the program with keys does not build"; exit 1; }
run "$PCERE" capture --all-classes ./keyed; says "a program with keys of pthread_setspecific beside those of a library that is not captured" 0
run "$PCERE" verify keyed.pcere; says "has its own in replays, and the library its" 0 out 'main@keyed.c.*identical'

# A library of the user's whose name begins as one of the C library's does (libutil).
"$CLANG" -O2 -g -fopenmp "$pass" -shared -fPIC part.c -o lib/libutils.so && "$CLANG" -O2 uses.c -o utils -Llib -lutils '-Wl,-rpath,$ORIGIN/lib' ||
    { echo "NOT OK: the program with libutils does not build"; exit 1; }
run "$PCERE" capture --all-classes ./utils; says "a library called libutils is no runtime" 0
run "$PCERE" verify utils.pcere; says "and its region is replayed" 0 out 'part_sum@part.c.*identical'

run "$PCERE" capture --all-classes ./twice; says "a program with the same object twice is captured" 0
run "$PCERE" verify twice.pcere; says "that nobody knows which copy ran is said" 1 out 'linked twice'
run "$PCERE" replay twice.pcere --repeat 2; says "in replays, too" 1 err 'linked twice' err 'hint: link that object once'
finish
