# What verify says of results that depend on the number of threads, and of the variables that differ.
source "$(dirname "$0")/common.sh"

# verdict STORE REGION THREADS WANTED...: the region's verdict is one of these, at those threads
verdict() {
    local store=$1 region=$2 threads=$3 words=$4
    run "$PCERE" verify --json --threads "$threads" "$store" "$region"
    holds "$store: $region with $threads threads is $words" \
        jq -e --arg words "$words" '.codelets | length == 1 and (.[0].verdict | IN($words | splits(", "))) and .[0].reason == null' .out
}
named() { holds "$1" jq -e --arg name "$2" --arg memory "$3" "[.codelets[].causes[] | select(.name == \$name and .memory == \$memory)] | length >= 1" .out; }

for flags in "-O0" "-O3"; do
    program "verifies$flags" verifies.c
    captured "verifies$flags"
    store=verifies$flags.pcere
    verdict "$store" whole@ 1 identical
    verdict "$store" whole@ 4 identical
    holds "it ran twice" jq -e '.codelets[0] | .runs == 2 and .equal and .identical' .out
    verdict "$store" sums@ 1 identical
    verdict "$store" sums@ 4 "rounding, identical"
    holds "only floating-point values differ, by less than the bound, and that is equal" jq -e '.codelets[0] | .equal and .bound_ratio > 0
        and .bound_ratio < 1e-9 and ([.causes[] | .kind == "floating point" and .values_beyond_bound == 0 and .largest_relative_ratio < 1e-4] | all)' .out
    run "$PCERE" verify --threads 4 --tolerance 0 --json "$store" sums@
    holds "without tolerance they are different, or happen to be the same" jq -e '.codelets[0] | .identical or (.verdict | IN("different", "nondeterministic"))' .out
    verdict "$store" races@ 2 nondeterministic
    named "the variable that is raced for is named" clashes "program data"
    run "$PCERE" verify --threads 2 "$store" races@
    says "and people read it, with the hint" 1 out 'races@verifies.c:.* 2 +NOT DETERMINISTIC' out 'clashes .*nondeterministic' err 'hint: .*race'
    verdict "$store" numbers@ 1 identical
    verdict "$store" numbers@ 2 different
    named "an array's elements are one line" "who[][]" "program data"
    named "a block is named by the shortest way to it" "main: coarse.cells[].owner" heap
    named "an array in it as well" "main: fine.cells[].flow[]" heap
    named "what is reached again and again is one line" "list->next->...->owner" heap
    named "bit fields that share a byte are named together" "bits.low/owner" "program data"
    holds "the first that differs has its indices, and is whole numbers" jq -e '.codelets[0].causes[] | select(.name == "who[][]")
        | .first == "who[0][1]" and .expected == "0" and .found == "1" and .kind == "integer" and .values == 16 and .verdict == "different"' .out
    holds "all that differs is named" jq -e '[.codelets[0].causes[].name | test("^(who|main: |list|bits)")] | all' .out
    verdict "$store" each@ 1 nondeterministic
    named "a thread-local variable is named with its thread" "private_to_each of thread 0" "thread-local"

    run "$PCERE" capture --all-classes --threads 2 -o two.pcere --force "./verifies$flags"
    says "the same with two threads in vivo" 0
    verdict two.pcere whole@ 2 identical
    verdict two.pcere numbers@ 2 identical
    verdict two.pcere sums@ 2 "rounding, identical"
    verdict two.pcere races@ 2 nondeterministic
    verdict two.pcere each@ 2 nondeterministic
    named "of each thread" "private_to_each of thread 1" "thread-local"
done

# ---- what threads wait on -----------------------------------------------------------------------------------------------------------------
compile waits -pthread <<'C'
#include <pthread.h>
#include <stdio.h>
static struct queue { pthread_mutex_t lock; pthread_cond_t more; pthread_rwlock_t table; int items[100], first, last; } queue = {
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_RWLOCK_INITIALIZER, {0}, 0, 0};
static pthread_mutex_t kept = PTHREAD_MUTEX_INITIALIZER;
static long got;
static void passes(int count)
{
    #pragma omp parallel sections num_threads(2)
    {
        #pragma omp section
        for (int i = 0; i < count; i++) {
            pthread_mutex_lock(&queue.lock);
            queue.items[queue.last++] = i;
            pthread_mutex_unlock(&queue.lock);
            pthread_cond_signal(&queue.more);
            pthread_rwlock_wrlock(&queue.table);
            pthread_rwlock_unlock(&queue.table);
        }
        #pragma omp section
        for (int i = 0; i < count; i++) {
            pthread_mutex_lock(&queue.lock);
            while (queue.first == queue.last) pthread_cond_wait(&queue.more, &queue.lock);
            got += queue.items[queue.first++];
            pthread_mutex_unlock(&queue.lock);
            pthread_rwlock_rdlock(&queue.table);
            pthread_rwlock_unlock(&queue.table);
        }
    }
}
static void keeps(void)
{
    #pragma omp parallel num_threads(2)
    if (pthread_mutex_trylock(&kept) == 0) got++;
}
int main(void)
{
    passes(100);
    keeps();
    printf(got == 4951 ? "PASS\n" : "FAIL\n");
    return 0;
}
C
run "$PCERE" capture --all-classes --threads 2 ./waits; says "threads wait on conditions and locks of the C library" 0 out PASS
run "$PCERE" verify --json waits.pcere
is "which thread came when is no difference" "$(json '[.codelets[] | .equal] | join(" ")')" "true true"
holds "nor who holds a lock" jq -e '[.codelets[].causes[] | .kind] | all(. == "what threads wait on" or . == "padding")' .out
"$CLANG" -O2 -g -fopenmp "-fpass-plugin=$(plugin)" -x c++ -std=c++17 - -o queue -lstdc++ -pthread <<'C' || { echo "NOT OK: the queue does not compile"; exit 1; }
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <queue>
int main()
{
    std::queue<int> items; std::mutex lock; std::condition_variable more; bool done = false; long got = 0;
    #pragma omp parallel sections num_threads(2)
    {
        #pragma omp section
        {
            for (int i = 0; i < 100; i++) { { std::lock_guard hold(lock); items.push(i); } more.notify_one(); }
            { std::lock_guard hold(lock); done = true; }
            more.notify_all();
        }
        #pragma omp section
        for (;;) {
            std::unique_lock hold(lock);
            more.wait(hold, [&] { return done || !items.empty(); });
            if (items.empty()) break;
            got += items.front(); items.pop();
        }
    }
    std::puts(got == 4950 ? "PASS" : "FAIL");
}
C
run "$PCERE" capture --all-classes --threads 2 ./queue; says "so they do on C++'s" 0 out PASS
run "$PCERE" verify --json queue.pcere
holds "these are known as well" jq -e '[.codelets[].causes[] | select(.verdict != "padding") | .name | test("lock|more")] | any | not' .out

# ---- buffers of C++'s streams ---------------------------------------------------------------------------------------------------------------
"$CLANG" -O2 -g -fopenmp "-fpass-plugin=$(plugin)" -x c++ - -o streams -lstdc++ <<'C' || { echo "NOT OK: the streams do not compile"; exit 1; }
#include <iostream>
int main()
{
    std::ios::sync_with_stdio(false);
    std::cout << "begin\n";
    #pragma omp parallel for ordered
    for (int i = 0; i < 4; i++) {
        #pragma omp ordered
        std::cout << "row " << i << '\n';
    }
    std::cout << "PASS\n";
}
C
run "$PCERE" capture --all-classes ./streams; says "a region fills a stream's buffer" 0 out PASS
run "$PCERE" verify streams.pcere
says "which a replay has elsewhere, as is said" 1 out "DIFFERENT .*text in buffers of C\+\+'s streams" err "hint: what C\+\+'s streams have in buffers of their own"
is "in the document, too" "$("$PCERE" verify --json streams.pcere 2>/dev/null | jq '.codelets[0].stream_buffers')" true

# ---- sixteen bytes that all count, and are no long double ---------------------------------------------------------------------------------
compile quad -O2 <<'C'
#include <omp.h>
#include <stdio.h>
static __float128 sum, number;
static void sums(void)
{
    sum = 0;
#pragma omp parallel
    {
        __float128 own = 0;
#pragma omp for
        for (int i = 1; i < 5000; i++)
            own += (__float128)1 / i;
#pragma omp critical
        sum += own;
    }
}
static void numbers(void)
{
#pragma omp parallel
#pragma omp single
    number = (__float128)omp_get_num_threads() / 3;
}
int main(void)
{
    sums();
    numbers();
    puts(sum > 9 && number > 0 ? "PASS" : "FAIL");
    return 0;
}
C
captured quad
verdict quad.pcere sums@ 1 identical
verdict quad.pcere sums@ 2 "rounding, identical"
verdict quad.pcere numbers@ 1 identical
verdict quad.pcere numbers@ 2 different
holds "values are what they are" jq -e '.codelets[0].causes[] | select(.name == "number") | .kind == "floating point" and (.expected | startswith("0.33333333")) and (.found | startswith("0.66666666"))' .out

# ---- who held a lock last ------------------------------------------------------------------------------------------------------------------
compile holder -O2 <<'C'
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
static pthread_t holder;
static long *number;
static void last(void)
{
    #pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 1) { holder = (pthread_t)__builtin_thread_pointer(); number = (long *)&holder + 1; }
}
static void wrong(void)
{
    #pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 1) number = (long *)__builtin_thread_pointer() + 1;
}
int main(void) { last(); wrong(); puts(holder && number ? "PASS" : "FAIL"); return 0; }
C
run "$PCERE" capture --all-classes --threads 2 ./holder
says "a program that keeps which thread came last is captured" 0 out '^PASS'
run "$PCERE" verify --threads 2 holder.pcere last@
says "the other process's thread is as good" 0 out 'last@.* 2 +identical .* 1 pointer'
run "$PCERE" verify --threads 2 holder.pcere wrong@
says "another pointer into what a thread has is not" 1 out 'wrong@.* 2 +(DIFFERENT|NOT DETERMINISTIC)'

# ---- floats, which have a bound of their own ----------------------------------------------------------------------------------------------
compile floats <<'C'
#include <stdio.h>
static float values[20000];
int main(void)
{
    float sum = 0;
    for (int i = 0; i < 20000; i++)
        values[i] = i ? 1 : 1e9f;
    #pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 20000; i++)
        sum += values[i];
    return printf("PASS %g\n", sum) < 0;
}
C
run "$PCERE" capture --all-classes ./floats
says "a program that adds floats is captured" 0 out '^PASS'
run "$PCERE" verify --threads 2 floats.pcere
says "what is added in another order differs by rounding, and the heading names the bound that this is held against" 0 \
    out 'main@floats.c:[0-9]+ #1, 2 threads, doubles within [0-9.e-]+, floats within [0-9.e-]+:$' out '^main: sum .*floating point +rounding +1 .*e-05'
run "$PCERE" verify --threads 2 --json floats.pcere
holds "as the document does" jq -e '.codelets[0] | .single_bound_ratio > 1e6 * .bound_ratio and .single_bound_ratio >= .causes[0].largest_relative_ratio' .out

# ---- sums that cancel -------------------------------------------------------------------------------------------------------------------
program cancels cancels.c
captured cancels
run "$PCERE" verify --threads 1,2 cancels.pcere right@
says "a sum that cancels differs by no more than rounding moves it" 0 out 'right@.* 1 +identical' out 'right@.* 2 +equal but for rounding' out 'doubles within .*rounding down and up' \
    out '^right: left .*floating point +rounding +1 .*e-0[4-6]'
run "$PCERE" verify --threads 2 cancels.pcere left_over@
says "one that is wrong by as much as is left of it is told" 1 out 'left_over@.* DIFFERENT' out '^left_over: left .*different' err 'hint: only floating-point values differ .*more than rounding every result down and up'
run "$PCERE" verify --threads 2 --json cancels.pcere
holds "programs read what was tried" jq -e '[.codelets[].directed_rounding] == [true, true]' .out
run "$PCERE" verify --threads 2 --tolerance 1e-12 cancels.pcere right@
says "under a tolerance of the user's nothing else counts, and it is called so, with what its terms would have to be" 1 out 'different' \
    err 'hint: only floating-point values differ: rounding of a sum that cancels .relative .*absolute .*--tolerance'
run "$PCERE" verify --threads 2 --tolerance "$(sed -n 's/.*--tolerance \([^ ]*\) takes.*/\1/p' .err)" cancels.pcere right@
says "with the tolerance that is named it is rounding" 0 out 'equal but for rounding'

# ---- objects of derived classes -----------------------------------------------------------------------------------------------------------
program derived derived.cpp
captured derived
verdict derived.pcere sums@ 2 rounding
holds "what a derived class has behind its base class is no pointer" jq -e '[.codelets[0].causes[] | select(.memory == "heap") | .verdict == "rounding"]
    | length == 4 and all' .out
named "the only derived class of that size is what it is" "shape->moments[]" heap
verdict derived.pcere owners@ 2 different
holds "what it has in the padding of its base class is no padding, by a pointer and in a variable" jq -e '.codelets[0].causes | map(select(.verdict == "different") | .name)
    | index("shape->owner") != null and index("square.owner") != null' .out

# ---- blocks longer than their pointer's type -----------------------------------------------------------------------------------------------
flags=-O2
program tails tails.c
captured tails
verdict tails.pcere sums@ 1 identical
verdict tails.pcere sums@ 2 rounding
named "what a flexible array member has are its elements" "rows[]->v[]" heap
named "so is what an array of one element has behind it" "old->v[]" heap
named "pointers there lead on" "columns->v[][]" heap
holds "doubles are doubles, and behind a link that begins an object none is a pointer" jq -e '.codelets[0].causes | length >= 4 and all(.verdict == "rounding" and .kind != "pointer" and .kind != "padding")
    and any(.first == "rows[3]->v[50]" and .kind == "floating point")' .out
verdict tails.pcere flexible@ 2 different
named "a wrong double there is no padding" "rows[]->v[]" heap
verdict tails.pcere old_style@ 2 different
holds "nor behind one element, in the structure and beyond" jq -e '.codelets[0].causes | map(.first) | index("old->v[7]") != null and index("word->letters[3]") != null' .out
verdict tails.pcere payload@ 2 different
named "a header's payload has no type where its block holds no array of headers" block heap
verdict tails.pcere inherited@ 2 different
named "nor has what lies behind a pointer that can be none" kind heap
verdict tails.pcere ended@ 2 different
named "nor has the end of a block where no element fits" pairs heap
verdict tails.pcere copied@ 2 padding
holds "padding of an array's elements is padding" jq -e '.codelets[0].causes | length == 1 and (.[0] | .kind == "padding" and .name == "pairs[] (padding)")' .out

# ---- arrays of variable length ---------------------------------------------------------------------------------------------------------------
cat >lengths.c <<'END'
#include <omp.h>
#include <stdio.h>
#include <string.h>
struct part { double weight; int owner; };
static void own(int n, int m)
{
    double rows[n][m], line[n], fixed[n][4], *pointers[n];
    struct part parts[n];
    int cube[m][3][n], last = 0;
    memset(rows, 0, sizeof rows), memset(line, 0, sizeof line), memset(fixed, 0, sizeof fixed), memset(parts, 0, sizeof parts), memset(cube, 0, sizeof cube);
    pointers[2] = line;
#pragma omp parallel
#pragma omp single
    {
        int now = omp_get_num_threads();
        rows[3][2] = rows[0][1] = line[4] = fixed[5][3] = now;
        parts[2].owner = cube[1][2][5] = last = now;
        pointers[2][6] = now;
    }
    printf("%g %g %g %d %d %d\n", rows[3][2], line[6], fixed[5][3], parts[2].owner, cube[1][2][5], last);
}
static void callers(double *values)
{
#pragma omp parallel
#pragma omp single
    values[9] = omp_get_num_threads();
}
int main(int count, char **arguments)
{
    int n = count + 7;
    double outer[n][3];
    memset(outer, 0, sizeof outer);
    own(n, count + 3);
    callers(outer[0]);
    return arguments && printf("PASS %g\n", outer[3][0]) < 0;
}
END
for level in -O0 -O2; do
    "$CLANG" $level -g -fopenmp "-fpass-plugin=$(plugin)" lengths.c -o "lengths$level" || exit 1
    captured "lengths$level"
    verdict "lengths$level.pcere" own@ 2 different
    holds "elements of arrays of variable length are named" jq -e '[.codelets[0].causes[] | [.name, .first]] | sort == [["own: cube[][][]", "own: cube[1][2][5]"],
        ["own: fixed[][]", "own: fixed[5][3]"], ["own: last", "own: last"], ["own: line[]", "own: line[4]"], ["own: parts[].owner", "own: parts[2].owner"], ["own: rows[][]", "own: rows[0][1]"]]' .out
done
verdict lengths-O0.pcere callers@ 2 different
named "so are a caller's, where debug information has their sizes in memory" "main: outer[][]" stack
holds "with its indices" jq -e '.codelets[0].causes[0].first == "main: outer[3][0]"' .out

# ---- what a region in a target construct takes ----------------------------------------------------------------------------------------------
compile target <<'C'
#include <omp.h>
#include <stdio.h>
static double z[50];
int main(void)
{
#pragma omp target map(tofrom : z)
    {
        int last = 0;
        double sum = 0;
#pragma omp parallel for reduction(+ : sum)
        for (int i = 0; i < 50; i++) {
            sum += i;
            if (i == 49)
                last = omp_get_num_threads();
        }
        z[0] = last + sum;
    }
    return printf("PASS %g\n", z[0]) < 0;
}
C
captured target
verdict target.pcere '*' 2 different
is "it is named by the function that the source has" "$(json '[.codelets[0].causes[].first] | join(" ")')" "main: last"

# ---- functions whose names no demangler knows -------------------------------------------------------------------------------------------------
cat >concepts.cpp <<'END'
#include <concepts>
#include <cstdio>
namespace mesh {
template <class T> struct Solver {
    T values[1000];
    template <std::invocable<T> F> void init(F function)
    {
#pragma omp parallel for
        for (int i = 0; i < 1000; i++)
            values[i] = function(T(i));
    }
};
}
template <class T> static void work(mesh::Solver<T> &solver) { solver.init([](T x) { return x / 2; }); }
static mesh::Solver<double> wide;
static mesh::Solver<float> narrow;
int main()
{
    work(wide), work(narrow);
    return std::printf("PASS %g %g\n", wide.values[9], narrow.values[9]) < 0;
}
END
"${CLANG/clang/clang++}" -std=c++20 -O2 -g -fopenmp "-fpass-plugin=$(plugin)" concepts.cpp -o concepts || exit 1
captured concepts
run "$PCERE" verify --json concepts.pcere
is "templates that concepts constrain have the names of their classes" "$(json '[.codelets[] | select(.identical) | .region] | sort | join(" ")')" \
    "mesh::Solver<double>::init@concepts.cpp:8 mesh::Solver<float>::init@concepts.cpp:8"

# ---- the first page of .bss is the file's ---------------------------------------------------------------------------------------------------
compile bss <<'C'
#include <omp.h>
#include <stdio.h>
double doubles[3000];
float floats[3000];
int integers[3000];
static void beyond(int at)
{
#pragma omp parallel
#pragma omp single
    doubles[at] = floats[at] = (float)(integers[at] = omp_get_num_threads());
}
int main(void)
{
    beyond(2990);
    puts(doubles[2990] > 0 ? "PASS" : "FAIL");
    return 0;
}
C
captured bss
verdict bss.pcere beyond@ 2 different
is "a variable that goes on behind it has its elements there" "$(jq -r '[.codelets[0].causes[].first] | sort | .[]' .out)" $'doubles[2990]\nfloats[2990]\nintegers[2990]'

# ---- classes that the region's file only declares -------------------------------------------------------------------------------------------
program declared declared.cpp declared_made.cpp declared_too.cpp
captured declared
verdict declared.pcere owners@ 2 different
named "members of a class are named where another file defines it, not by its namesake in another namespace" "grid->cells[].owner" heap
holds "one that two files define differently is of no known type" jq -e '[.codelets[0].causes[] | select(.name | test("other"))] | length >= 1 and all(.kind == "unknown type" and (.name | test("numbers|values") | not))' .out
flags="-O2 -fdebug-types-section"
program declared declared.cpp declared_made.cpp declared_too.cpp
captured declared --force
verdict declared.pcere owners@ 2 different
named "so they are where types have units of their own" "grid->cells[].owner" heap

# ---- constants without a name ------------------------------------------------------------------------------------------------------------
# The codelet has its own of each string literal. The second time all of it is a shared library.
flags=-O2
program literals literals.c
captured literals
literals_told() {
    run "$PCERE" verify --threads 1,2 --json literals.pcere
    holds "$1: pointers to equal constants are equal" jq -e '[.codelets[] | select(.threads == 1 or (.region | test("^(alike|length)@"))) | .verdict == "identical"] | length >= 7 and all' .out
    holds "$1: and as many as the region stores are counted" jq -e '[.codelets[] | select(.region | test("^alike@")) | .renamed_pointers >= 320] | length >= 2 and all' .out
    holds "$1: pointers to other constants are different, also where these begin alike" jq -e '[.codelets[] | select(.threads == 2 and (.region | test("^(other_kind|longer|other_wide)@")))
        | .verdict == "different" and .different_bytes > 0 and (.causes | map(.name) | . == ["kinds[]"] or . == ["wide[]"])] | length == 3 and all' .out
}
literals_told "a program"
run "$PCERE" replay --threads 1,2 --warmup preceded --repeat 2 --json literals.pcere length@
holds "who reads through them after who stored them finds the strings" jq -e '.replays | length >= 2 and ([.[] | .reason == null and (.samples_ns | length) >= 2] | all)' .out
"$CLANG" -O2 -g -fopenmp "-fpass-plugin=$(plugin)" -fPIC -shared -Dmain=work "$programs/literals.c" -o libliterals.so &&
    "$CLANG" -x c - -L. -lliterals -fopenmp "-Wl,-rpath,$PWD" -o literals <<<'int work(void); int main(void) { return work(); }' || exit 1
captured literals --force
literals_told "a library"

# ---- the program itself as the truth --------------------------------------------------------------------------------------------------
mkdir moment
in_vivo() { run env TMPDIR="$PWD/moment" "$PCERE" verify --in-vivo "$@"; }
in_vivo --threads 2,3 --json verifies-O3.pcere numbers@ whole sums
says "what depends on the number of threads is the program's own there, as two and as three" 0
holds "bit for bit, but for sums" jq -e '.truth == "in vivo" and (.codelets | length == 6) and ([.codelets[] | .threads] == [2, 2, 2, 3, 3, 3])
    and ([.codelets[] | .verdict == "identical" or (.verdict == "rounding" and (.region | test("sums")))] | all)' .out
is "nothing stays behind" "$(ls -A moment)" ""
in_vivo --threads 2 verifies-O3.pcere races numbers@
says "a race is one there, too" 1 out 'races@.*NOT DETERMINISTIC' out 'numbers@.*identical'
mv verifies-O3 gone
in_vivo --threads 2 verifies-O3.pcere numbers@
says "where the program is gone its copy in the store runs" 0 out 'numbers@.*identical' err "is gone or has changed"
compile turns <<'END'
#include <omp.h>
#include <stdio.h>
static int number;
static void once(int threads) {
    #pragma omp parallel for
    for (int j = 0; j < 100; j++)
        if (j == threads) number = j;
}
static void less_often(void) {
    #pragma omp parallel for
    for (int j = 0; j < 100; j++)
        if (j == 7) number = j;
}
int main(void) {
    once(omp_get_max_threads());
    for (int i = 1; i < 2 / omp_get_max_threads(); i++) less_often();
    puts("PASS");
    return omp_get_max_threads() == 3;
}
END
captured turns
in_vivo --threads 2 turns.pcere
says "an invocation that the program has not with so many threads is not compared" 1 out 'less_often@turns.c:.* not compared.*with 2 threads the program has no invocation 1 of' \
    out '(^| )once@turns.c:.* identical'
holds "where nothing tells why, nothing is said" test "$(grep -c 'can be captured:' .out)" = 0
compile once_only <<'END'
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
static int numbers[100];
int main(void) {
    if (omp_get_max_threads() == 1 || !fopen("was_there", "r")) {
        #pragma omp parallel for
        for (int j = 0; j < 100; j++)
            numbers[j] = j;
    }
    if (omp_get_max_threads() > 1)
        fclose(fopen("was_there", "w"));
    puts("PASS");
    return 0;
}
END
captured once_only
in_vivo --threads 2 once_only.pcere
says "why the program's own could not be captured is said" 1 out 'has no invocation 1 of .* that can be captured: the program did not enter it in the run that was to capture it'
in_vivo --threads 3 turns.pcere
says "a program that fails there is no truth" 1 err 'the program ended with status 1|exit'
is "nothing stays behind" "$(ls -A moment)" ""

flags=-O2
program vectors vectors.cpp
captured vectors
run "$PCERE" verify --json --threads 2 vectors.pcere
in=$(jq -r '[.codelets[].causes[].name] | sort | .[]' .out)
for name in 'flow::steps' 'flow::field<double>::advance: this->values[]' 'flow::field<double>::advance: this->cells[].moments[]' \
    'flow::field<double>::advance: this->cells[].owner[]' 'flow::field<double>::advance: this->cells[].level' 'flow::field<double>::advance: this->scratch[]' \
    'flow::field<float>::advance: this->values[]'; do
    # At the caller's: main may hold the object itself.
    holds "members of containers are named: $name" grep -qFx -e "$name" -e "main: field${name#*this->}" -e "main: field.${name#*this->}" \
        -e "main: heap->${name#*this->}" <<<"$in"
done

holds "templates of one line are told apart" jq -e '[.codelets[] | select(.region | test("float")) | .causes[] | select(.name | test("values"))
    | .found == "1" and .first != "" and .kind == "floating point"] | length == 1 and all' .out

program split_heap split_heap.cpp
captured split_heap
run "$PCERE" verify --json --threads 2 split_heap.pcere
is "a container ends where its block does, which reaches over the border of a mapping" "$(jq -r '[.codelets[].causes[].name] | sort | .[]' .out)" "add_up: all.sums"

flags="-O2 -gsplit-dwarf"
program apart verifies.c
captured apart
verdict apart.pcere numbers@ 2 different
named "debug information in a file of its own is found where it was written" "who[][]" "program data"
rm -f ./*.dwo
verdict apart.pcere numbers@ 2 different
named "where it is not there any more, there are the symbols" who "program data"

flags=-O2
program plainly verifies.c
objcopy --strip-debug plainly && run "$PCERE" capture --all-classes "./plainly"
says "without debug information" 0
verdict plainly.pcere numbers@ 2 different
named "there are the symbols" who "program data"
named "and the kind of memory" heap heap
verdict plainly.pcere sums@ 4 "rounding, identical"
strip -s plainly && run "$PCERE" capture --all-classes --force "./plainly"
verdict plainly.pcere whole@ 2 identical
verdict plainly.pcere numbers@ 2 different
# Pointers to functions of libraries lie elsewhere in a replay, but two of them are not the same. What /proc says of the process's name differs there.
cat >chosen.c <<'END'
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static double (*functions[8])(double);
static int is_other(void)
{
    char name[32] = "";
    int file = open("/proc/self/comm", O_RDONLY);
    if (read(file, name, sizeof name - 1) < 0)
        return -1;
    close(file);
    return strncmp(name, "chosen", 6) != 0;
}
static void same(void)
{
#pragma omp parallel for
    for (int i = 0; i < 8; i++)
        functions[i] = is_other() < 0 ? sin : cos;
}
static void choose(void)
{
#pragma omp parallel for
    for (int i = 0; i < 8; i++)
        functions[i] = is_other() ? sin : cos;
}
int main(void)
{
    same();
    choose();
    puts(functions[3](0) > 0.5 ? "PASS" : "FAIL");
    return 0;
}
END
for pie in "" "-fno-pie -no-pie"; do
    # shellcheck disable=SC2086
    "$CLANG" -O2 -g -fopenmp $pie "-fpass-plugin=$(plugin)" chosen.c -o chosen -lm || exit 1
    captured chosen --force
    verdict chosen.pcere same@ 1 identical
    verdict chosen.pcere choose@ 1 different
done

# Variables of functions whose names have hundreds of letters.
cat >longest.cpp <<'END'
#include <array>
#include <cstdio>
#include <omp.h>
#include <vector>
namespace portability { namespace policies { struct parallel_with_static_chunks {}; }
template <class Policy, class Function> void for_each_index(int end, Function function)
{
    int last_thread = 0;
#pragma omp parallel for schedule(static)
    for (int i = 0; i < end; i++) {
        function(i);
        if (i == end - 1) last_thread = omp_get_num_threads();
    }
    if (last_thread < 0) function(last_thread);
} }
int main(void)
{
    std::vector<std::array<double, 4>> a(20000);
    portability::for_each_index<portability::policies::parallel_with_static_chunks>(20000, [&](int i) { a[i][1] += i; });
    puts(a[7][1] > 6 ? "PASS" : "FAIL");
    return 0;
}
END
"${CLANG/clang/clang++}" -std=c++20 -O1 -g -fopenmp "-fpass-plugin=$(plugin)" longest.cpp -o longest || exit 1
captured longest
run "$PCERE" verify longest.pcere --threads 2
says "the name of a function stands in the table of variables as that of a region does" 1 out '^portability::for_each_index<\*>: last_thread +stack .* portability::for_each_index<\*>: last_thread was 1, is 2'
run "$PCERE" verify longest.pcere --threads 2 --json
holds "and as it is in the document" test "$(json '.codelets[0].causes[0].name | test("parallel_with_static_chunks.*: last_thread")')" = true

run "$PCERE" verify --tolerance much plainly.pcere
says "a tolerance that is none is refused" 2 err "'much' is no ratio" err 'hint:'
run "$PCERE" verify --tolerance -1 plainly.pcere
says "so is one below zero" 2
finish
