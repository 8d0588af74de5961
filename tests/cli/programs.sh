# Programs that behave badly get their own status, a sentence, and a store that stays valid.
source "$SOURCE/tests/cli/common.sh" || exit 1
machine_passes

# ---- not built with the plugin ----------------------------------------------------------------------------------------------
run "$PCERE" capture /bin/true
holds "a program without PCERE's sections gets status 3 or 4" test "$status" -eq 3 -o "$status" -eq 4
says "and the line that compiles it right" "$status" err '/bin/true' err 'hint:.*-fpass-plugin'
run "$PCERE" run /bin/true; says "run says the same" "$status" err 'hint:.*-fpass-plugin'
holds "with status 3 or 4" test "$status" -eq 3 -o "$status" -eq 4
printf '#!/bin/sh\nexit 0\n' >script; chmod +x script
run "$PCERE" capture ./script; says "a script is no program" "$status" err './script'
holds "with status 3 or 4" test "$status" -eq 3 -o "$status" -eq 4
holds "and none of them left a store" test -z "$(ls -d ./*.pcere 2>/dev/null)"

# ---- a well-behaved one, whose words and output are its own --------------------------------------------------------------------
compile good <<'C'
#include <stdio.h>
#include <stdlib.h>
static double a[100000];
int main(int count, char **words) {
    for (int i = 1; i < count; i++) printf("word %d: %s\n", i, words[i]);
    fprintf(stderr, "to standard error\n");
    for (int step = 0; step < 20; step++) {
        #pragma omp parallel for
        for (int i = 0; i < 100000; i++) a[i] = a[i] * 0.5 + i + step;
    }
    printf("%.1f\n", a[99999]);
    return 0;
}
C
./good -- --json -o x '' 'two words' >plain.out 2>plain.err
run "$PCERE" capture -q --all-classes ./good -- --json -o x '' 'two words'
says "a good program is captured" 0
holds "its words and its output are untouched" cmp plain.out .out
is "its messages appear" "$(grep -c 'to standard error' .err)" 1
holds "the store has mode 0700" test "$(stat -c %a good.pcere)" = 700
run "$PCERE" regions; says "regions shows its region" 0 out 'main@good.c:[0-9]+' out '^whole run'
run "$PCERE" regions --json
is "the region ran 20 times" "$(json '.regions[0].invocations')" 20
is "it was captured" "$(json '.regions[0].status')" captured
is "its classes stand for all invocations" "$(json '[.regions[0].classes[].members] | add')" 20
holds "shares are ratios" jq -e '.regions[0].share_ratio > 0 and .regions[0].share_ratio <= 1' .out
holds "the run is longer than its regions" jq -e '.wall_ns >= .serial_ns and .wall_ns >= .regions[0].time_ns' .out
cp -a good.pcere kept
run "$PCERE" capture ./good; says "an existing store is refused" 2 err 'good.pcere' err '--force'
holds "and left as it was" diff -r good.pcere kept
run "$PCERE" capture --force ./good; says "--force replaces it; the table is on standard error" 0 err 'main@good.c:[0-9]+' err 'codelets'
run "$PCERE" capture --force --json ./good one; says "with --json the program's output goes to standard error" 0 err '^word 1: one'
is "and standard output is the document" "$(json .schema)" pcere.capture/1
run "$PCERE" capture -o elsewhere.pcere --regions 'no-such-region' ./good
says "regions that were not asked for are listed, not captured" 0 err 'main@good.c'
rm -rf elsewhere.pcere
run "$PCERE" capture -o "$work/no/such/dir/x.pcere" ./good; says "a place that cannot be written is named" "$status" err 'no/such/dir'
holds "and is a failure" test "$status" -ne 0

# ---- programs that end otherwise ------------------------------------------------------------------------------------------------
regions='static double a[20000];
static void work(void) {
    for (int step = 0; step < 12; step++) {
        #pragma omp parallel for
        for (int i = 0; i < 20000; i++) a[i] = a[i] * 0.5 + i;
    }
}'
ends() {    # NAME STATEMENT INCLUDES WANTED-WORDS
    compile "$1" < <(printf '%s\n%s\nint main(void) { work(); %s }\n' "$3" "$regions" "$2")
    run "$PCERE" capture --all-classes "./$1"
    says "a program that $5" "$6" err "the program $4"
    run "$PCERE" regions "$1.pcere" --json
    says "and the store of it opens" 0
    is "with the region in it" "$(json '.regions | length')" 1
    run "$PCERE" verify "$1.pcere"; says "and what was captured can be verified" 0 out identical
}
ends fails 'return 3;' '' 'exited with status 3' 'returns 3' 1
ends quits '_exit(7);' '#include <unistd.h>' 'exited with status 7' 'calls _exit' 1
ends crashes '*(volatile int *)8 = 1;' '' 'was killed by signal 11' 'crashes' 1
ends aborts 'abort();' '#include <stdlib.h>' 'was killed by signal 6' 'aborts' 1

compile none <<'C'
#include <stdio.h>
int main(void) { puts("no region here"); return 0; }
C
run "$PCERE" capture ./none; says "a program without a parallel region runs to its end, and is told so" 0 out 'no region here' err 'entered no parallel region'
holds "and that it has any is not said" test "$(grep -c 'it has some' .err)" = 0

# With one thread some programs, and the C++ library's parallel mode, do without their regions.
compile branches <<'C'
#include <omp.h>
#include <stdio.h>
static double several(int n) {
    double sum = 0;
    #pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < n; i++) sum += 1 / (i + 1.5);
    return sum;
}
static double one(int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += 1 / (i + 1.5);
    return sum;
}
int main(void) {
    double sum = 0;
    for (int step = 0; step < 10; step++) sum += omp_get_max_threads() > 1 ? several(200000) : one(200000);
    return sum > 1e9;
}
C
run "$PCERE" capture ./branches; says "one that leaves its regions out where it has one thread is told how to capture them" 0 err 'entered no parallel region.*it has some.*--threads 2'
run "$PCERE" predict branches.pcere --threads 1,2 --measure --repeat 1
says "and what real runs with more spend in them is told" 0 out '^real runs with 2 threads spent .* in a region that the capture did not enter \(several@branches.c:[0-9]+\).*pcere capture --threads 2'
holds "but not of those with the capture's" test "$(grep -c 'the capture did not enter' .out)" = 1
run "$PCERE" predict branches.pcere --threads 1,2 --measured-serial --json
is "where they count, it is in the prediction" "$(json '.predictions[1] | .serial_ns == .real_serial_ns + .strange_ns and .strange_region != null')" true

compile forks <<'C'
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static double a[20000];
int main(void) {
    for (int step = 0; step < 12; step++) {
        if (step == 4) { pid_t child = fork(); if (child == 0) _exit(5); int status; waitpid(child, &status, 0); printf("child %d\n", WEXITSTATUS(status)); fflush(stdout); }
        #pragma omp parallel for
        for (int i = 0; i < 20000; i++) a[i] = a[i] * 0.5 + i;
    }
    return 0;
}
C
run "$PCERE" capture ./forks; says "a program that forks is captured" 0 out '^child 5'

compile signals <<'C'
#include <signal.h>
#include <stdio.h>
static double a[200000];
int main(void) {
    struct sigaction action;
    for (int i = 0; i < 200000; i++) a[i] = i;
    #pragma omp parallel for
    for (int i = 0; i < 200000; i++) a[i] = a[i] * 0.5 + i;
    for (int number = 1; number < 32; number++)
        if (sigaction(number, NULL, &action) == 0 && action.sa_handler != SIG_DFL) printf("signal %d is not as usual\n", number);
    sigset_t blocked;
    sigprocmask(SIG_SETMASK, NULL, &blocked);
    for (int number = 1; number < 32; number++)
        if (sigismember(&blocked, number)) printf("signal %d is blocked\n", number);
    return 0;
}
C
./signals >plain.out
run "$PCERE" capture -q ./signals; says "the program's signals are as usual" 0
holds "in every respect" cmp plain.out .out

# ---- no permission --------------------------------------------------------------------------------------------------------------
PCERE_REFUSE=ptrace run "$PCERE" capture -o refused.pcere ./good; says "where tracing is forbidden it says what to do, and the program runs to its end" 3 err 'hint:' out '^200033'
PCERE_FAULTS=pages.write:1+:ENOSPC run "$PCERE" capture -o full.pcere ./good
says "on a full disk the program runs to its end, and the status says what happened" 5 out '^200033' err 'No space left'
holds "and nothing is left that could be replayed by mistake" test ! -e full.pcere
PCERE_REFUSE=nonsense run "$PCERE" capture -o refused2.pcere ./good; says "an unknown refusal is refused" 2 err 'PCERE_REFUSE'
for refusal in tracking pagemap-scan personality; do
    PCERE_REFUSE=$refusal run "$PCERE" capture -q --all-classes -o "$refusal.pcere" ./good; says "without $refusal capture works all the same" 0
    run "$PCERE" verify "$refusal.pcere"; says "and its codelets verify" 0 out identical
done

# ---- Ctrl-C -----------------------------------------------------------------------------------------------------------------------
# Says that it runs and how far it is, and does not end before it may, but in a run that only measures where nobody wants to stop that.
compile slow <<'C'
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
static double a[200000];
int main(void) {
    struct stat output;
    int measured = (fstat(1, &output) != 0 || !S_ISREG(output.st_mode)) && access("slow.stays", F_OK) != 0;
    FILE *begun = fopen("slow.begun", "w");
    fclose(begun);
    for (int step = 0; step < 60; step++) {
        #pragma omp parallel for
        for (int i = 0; i < 200000; i++) a[i] = a[i] * 0.5 + i;
        usleep(50000);
        FILE *steps = measured ? NULL : fopen("slow.steps", "a");
        if (steps) {
            fputc('.', steps);
            fclose(steps);
        }
    }
    for (int waited = 0; !measured && waited < 12000 && access("slow.may_end", F_OK) != 0; waited++) usleep(10000);
    puts("end");
    return 0;
}
C
awaited() { for _ in $(seq 1200); do if "$@" >/dev/null 2>&1; then return 0; fi; sleep 0.1; done; return 1; }
run_awaited() { awaited test -e slow.begun; }
steps() { stat -c %s slow.steps 2>/dev/null || echo 0; }
steps_there() { [ "$(steps)" -ge "$1" ]; }
# a codelet is on disk, and the manifest tells of it
codelet_awaited() { awaited jq -e '[.regions[].classes[]?.codelet] | any' slow.pcere/manifest.json; }
# a region was captured in the only run: its memory is on the way to disk
pages_there() { [ "$(stat -c %s slow.pcere/pages 2>/dev/null || echo 0)" -gt 100000 ]; }
# and ten steps later that region has ended
pages_awaited() { awaited pages_there && awaited steps_there $(($(steps) + 10 < 60 ? $(steps) + 10 : 60)); }
# interrupt OPTIONS COMMAND...: starts a capture, waits for the command, and sends SIGINT to the whole group as a terminal does
interrupt() {
    rm -f slow.begun slow.may_end slow.steps
    env --default-signal=INT setsid "$PCERE" capture $1 ./slow >.out 2>.err </dev/null &
    local leader=$!
    shift
    "$@"
    kill -INT -- "-$leader"
    status=0
    wait $leader || status=$?
}
whole_codelets() {
    # The signal may come while a captured region runs: that one has no memory to be compared with.
    run "$PCERE" verify --json slow.pcere
    holds "and what was captured until then is whole" jq -e 'any(.codelets[]; .identical) and
        ([.codelets[] | .identical or ((.reason // "") | test("its end was not seen"))] | all)' .out
    rm -rf slow.pcere
}
touch slow.stays
interrupt "--two-runs --all-classes" run_awaited
rm slow.stays
says "Ctrl-C in the timing run ends all of it" 130 err 'interrupted in the timing run'
holds "and leaves no store" test ! -e slow.pcere
interrupt "--two-runs --all-classes" codelet_awaited
says "Ctrl-C in the capturing run ends with status 130" 130 err 'killed by signal 2' err 'slow.pcere'
whole_codelets
interrupt --one-run pages_awaited
says "Ctrl-C in the only run ends with status 130" 130 err 'killed by signal 2' err 'slow.pcere'
whole_codelets
# killed COMMAND OPTION...: starts a capture with the options, waits for the command, and kills the capture
killed() {
    local awaited=$1
    shift
    rm -f slow.begun slow.may_end slow.steps
    "$PCERE" capture "$@" ./slow >.slow 2>&1 </dev/null &
    local leader=$!
    "$awaited"; kill -KILL $leader; wait $leader 2>/dev/null
    touch slow.may_end
    awaited grep -q '^end' .slow
    holds "a capture that is killed leaves the program running to its end ($*)" grep -q '^end' .slow
    run "$PCERE" regions --json slow.pcere; says "and a store that opens" 0
}
killed codelet_awaited --two-runs --all-classes
run "$PCERE" verify slow.pcere; says "in which every codelet is whole" 0 out identical
rm -rf slow.pcere
killed pages_awaited --one-run --all-classes
holds "in which no codelet is half there" jq -e '[.regions[] | select(.status == "captured")] == []' .out

# ---- in vivo ----------------------------------------------------------------------------------------------------------------------
run "$PCERE" run --threads 1,2 ./good word; says "run times a program at each thread count" 0 out '^threads 1' out '^threads 2' out 'main@good.c' err '^word 1: word'
run "$PCERE" run --threads 1,2 --repeat 2 --json ./good
is "each run is in the document" "$(json '[.runs[].threads] | map(tostring) | join(",")')" 1,1,2,2
is "with its region's invocations" "$(json '[.runs[].regions[0].invocations] | unique | map(tostring) | join(",")')" 20
many=$(( $(nproc) + 1 ))
run "$PCERE" run --threads $many ./good; says "more threads than processors are allowed and marked" 0 out "^threads $many \*" out "more threads than the"
run "$PCERE" run ./fails; says "run reports a program that fails" 1 err 'exited with status 3'
# ---- functions with names of thousands of letters, as templates of templates have, alike but for their ends --------------------
long=$(printf 'x%.0s' $(seq 1500))
compile named <<C
#include <stdio.h>
static double a[1000];
#define WORK(name) __attribute__((noinline)) static void name(void) { \\
    _Pragma("omp parallel for") for (int i = 0; i < 1000; i++) a[i] = a[i] * 0.5 + i; }
WORK(${long}_one) WORK(${long}_two)
int main(void) { ${long}_one(); ${long}_two(); printf("%.1f\n", a[999]); return 0; }
C
run "$PCERE" capture --all-classes ./named; says "they are captured" 0
run "$PCERE" regions --json named.pcere
is "under names of their own, in which a hash stands for the middle" "$(json '[.regions[] | .region | select(length < 600 and test("^x+~[0-9a-f]+~x+_(one|two)@named.c:[0-9]+$"))] | unique | length')" 2
run "$PCERE" replay --repeat 1 --json named.pcere; says "by which they are found in the rebuilt unit" 0
holds "all of them" jq -e '[.replays[].median_ns > 0] | length >= 2 and all' .out

# ---- what is left to be made of the whole program, or is packed -----------------------------------------------------------------
while read -r flags; do
    # shellcheck disable=SC2086
    compile flagged $flags <<'C'
static double twice(double x) { return 2 * x; }
static double half(double x) { return x / 2; }
double (*both[2])(double) = {twice, half};
double a[1000];
int main(int count, char **words) {
    (void)words;
    int entered = 0;
    #pragma omp critical
    entered++;                            /* the lock is made before any region */
    for (int step = 0; step < 5; step++) {
        #pragma omp parallel for
        for (int i = 0; i < 1000; i++) a[i] = both[(i + count) & 1](i + step);
        #pragma omp parallel
        #pragma omp critical
        entered++;
    }
    return a[1] != 10 || entered < 6;
}
C
    rm -rf flagged.pcere
    run "$PCERE" capture --all-classes ./flagged; says "compiled with $flags it is captured" 0
    counts=0; case $flags in --coverage* | -fprofile*) counts=1 ;; esac
    is "and it is said once whether the compiler counts in it" "$(grep -c 'compiler counts executions' .err)" "$counts"
    run "$PCERE" verify --json flagged.pcere
    holds "each codelet runs, and memory behind it is the same, but for the second stack" jq -e --arg flags "$flags" \
        '[.codelets[] | .reason == null and (.identical or (($flags | test("safe-stack")) and ([.causes[].memory] | unique == ["anonymous memory"])))] | length >= 1 and all' .out
done <<'END'
-fsanitize=cfi -flto -fvisibility=hidden -fuse-ld=lld
-flto=thin -ffat-lto-objects -fuse-ld=lld
-fprofile-instr-generate -fprofile-update=atomic
-fprofile-generate
--coverage
--coverage -s
-pg
-s
-fsanitize=safe-stack
-gz=zstd
END

# ---- what two units call the same, and what ThinLTO shares between them; critical constructs of stripped programs ------
cat >alike_other.c <<'C'
static _Thread_local long calls, last[3] = {7, 8, 9};
static long total[2];
static long twist(long x) { return x ^ 5; }
long (*other_twist)(long) = twist;
long other(int i) { calls += 2 * i; last[i % 3] += calls & 3; total[i & 1]++; return calls + last[1] + total[0]; }
C
while read -r flags; do
    # shellcheck disable=SC2086
    compile alike alike_other.c $flags <<'C'
static _Thread_local long last[5] = {1, 2, 3, 4, 5}, calls;
static long total;
static long twist(long x) { return x * 3; }
long other(int);
extern long (*other_twist)(long);
long (*own_twist)(long) = twist;
int main(void) {
    long sum = 0;
    for (int step = 0; step < 6; step++) {
        #pragma omp parallel for
        for (int i = 0; i < 2000; i++) {
            #pragma omp critical(sum)
            { calls += i; last[i % 5]++; total += i; sum += calls + other(i) % 5 + own_twist(i) + other_twist(i); }
        }
    }
    return sum == 1;
}
C
    rm -rf alike.pcere
    run "$PCERE" capture --all-classes ./alike; says "statics of one name, compiled with $flags: captured" 0
    run "$PCERE" verify alike.pcere; says "and memory behind the region is the program's" 0 out identical
done <<'END'
-flto -fuse-ld=lld
-flto=thin -fuse-ld=lld
-flto -fuse-ld=lld -s
-s
END

# ---- a library's static, which one of its files takes from another: the table's name for it is nobody's, and no user of the library is asked for it ----
cat >drawn.c <<'END'
double scaled(double x);
double drawn[2000];
void draw(void)
{
#pragma omp parallel for
    for (int i = 0; i < 2000; i++)
        drawn[i] += scaled(i);
}
END
cat >drawn_scale.c <<'END'
static int scalings;
static __thread int own;
double scaled(double x) { own++; scalings += x > 1e9; return x * 0.5; }
int count(void) { return scalings + own; }
END
cat >draws.c <<'END'
#include <stdio.h>
void draw(void);
int count(void);
extern double drawn[];
int main(void)
{
    for (int i = 0; i < 5; i++)
        draw();
    printf("PASS %g %d\n", drawn[9], count());
    return 0;
}
END
for flags in -flto -flto=thin; do
    "$CLANG" -O2 -g -fopenmp "-fpass-plugin=$(plugin)" $flags -fuse-ld=lld -fPIC -shared drawn.c drawn_scale.c -o libdrawn.so || exit 1
    run "$CLANG" -O2 -g -fopenmp "-fpass-plugin=$(plugin)" $flags -fuse-ld=lld draws.c -o draws -L. -ldrawn "-Wl,-rpath,$PWD"; says "a program links with a library made with $flags" 0
    run "$PCERE" capture --force --all-classes ./draws; says "and is captured" 0 out '^PASS'
    run "$PCERE" verify draws.pcere; says "and memory behind its region is the program's, the library's statics included" 0 out identical
done

# What the environment asks for is no option, and whoever set it is told.
printf 'int a[100];\nint main(void) {\n#pragma omp parallel for\nfor (int i = 0; i < 100; i++) a[i] = i;\nreturn 0; }\n' | compile asked
OMP_NUM_THREADS=2,1 run "$PCERE" capture --all-classes ./asked; says "a capture of one thread says so where OMP_NUM_THREADS asks for two" 0 err 'captured with 1 thread, though OMP_NUM_THREADS asks for 2: .*--threads 2'
for words in "1 --force" "2 --force --threads 2" "2 --force --threads 1" "2 --force -q" "two --force"; do
    # shellcheck disable=SC2086
    OMP_NUM_THREADS=${words%% *} run "$PCERE" capture --all-classes ${words#* } ./asked; says "and runs with $words" 0
    holds "without that" test "$(grep -c 'though OMP_NUM_THREADS' .err)" = 0
done

# ---- names that assembly has in quotes, which link-time optimisation forgets -----------------------------------------------
cat >odd.cpp <<'END'
#include <cstdio>
double größe[1000];
static double länge[1000];
static thread_local int über = 1;
inline int añejo = 3;
volatile int odd __asm__("odd name") = 3;
inline double nähe(double x) { return x + añejo; }
double (*volatile zeiger)(double) = nähe;
int main()
{
    for (int r = 0; r < 4; r++, über++) {
#pragma omp parallel for
        for (int i = 0; i < 1000; i++) {
            größe[i] += r + odd;
            länge[i] += zeiger(i) + über;
            añejo += i == 7;
        }
    }
    return std::printf("PASS %g %g\n", größe[9], länge[9]) < 0;
}
END
for flags in -flto -flto=thin; do
    run "${CLANG/clang/clang++}" -O2 -g -fopenmp "-fpass-plugin=$(plugin)" $flags -fuse-ld=lld odd.cpp -o odd; says "names beyond ASCII: compiled with $flags" 0 err 'stripped, replays do not find these variables.*: añejo$'
    run "$PCERE" capture --force --all-classes ./odd; says "captured" 0 out '^PASS'
    run "$PCERE" verify odd.pcere; says "and memory behind the region is the program's" 0 out identical
    # shellcheck disable=SC2086
    sed -i '/inline int/s/inline/static/' odd.cpp && "${CLANG/clang/clang++}" -O2 -fopenmp "-fpass-plugin=$(plugin)" $flags -fuse-ld=lld -s odd.cpp -o odd
    run "$PCERE" capture --force --all-classes ./odd; says "the same without an inline variable, stripped" 0 out '^PASS'
    run "$PCERE" verify odd.pcere; says "and memory is the program's" 0 out identical
    sed -i '/static int/s/static/inline/' odd.cpp
done

# What assemblers take in no name, be it in quotes.
cat >quoted.c <<'END'
#include <stdio.h>
volatile int quoted __asm__("quo\"ted") = 3;
static volatile int turned __asm__("tur\\ned") = 4;
int broken __asm__("bro\nken") = 5;
double raise(double) __asm__("rai\"se");
double raise(double x) { return x + quoted; }
double (*volatile pointer)(double) = raise;
static double values[1000];
int main(void)
{
    for (int r = 0; r < 4; r++) {
#pragma omp parallel for
        for (int i = 0; i < 1000; i++) {
            values[i] += pointer(i) + turned + broken;
            broken += i == 7;
        }
    }
    return printf("PASS %g %d\n", values[9], broken) < 0;
}
END
for flags in -O2 "-O2 -flto"; do
    # shellcheck disable=SC2086
    run "$CLANG" $flags -g -fopenmp "-fpass-plugin=$(plugin)" -fuse-ld=lld quoted.c -o quoted; says "names with quotes, backslashes and ends of lines: compiled with $flags" 0
    run "$PCERE" capture --force --all-classes ./quoted; says "captured" 0 out '^PASS'
    run "$PCERE" verify quoted.pcere; says "and memory behind the region is the program's" 0 out identical
done

# Without symbols, and without the table of addresses, which the GNU linker drops: the locks are told as they are met.
compile locks -fuse-ld=bfd -ffunction-sections -fdata-sections -Wl,--gc-sections -s <<'C'
int main(void) {
    long sum = 0, most = 0;
    #pragma omp parallel for
    for (int i = 0; i < 2000; i++) {
        #pragma omp critical
        sum += i;
    }
    #pragma omp parallel for
    for (int i = 0; i < 1000; i++) {
        #pragma omp critical
        most = i > most ? i : most;
    }
    return sum + most == 1;
}
C
run "$PCERE" capture --all-classes ./locks; says "a program without symbols and without a table of addresses is captured" 0 err "nothing tells where the program's own variables lie"
run "$PCERE" verify --json --threads 1,2 locks.pcere
is "the lock of an unnamed critical construct is cleared before a replay, and not compared: where it was zero, and where it was not" \
    "$(json '[.codelets[] | "\(.region[13:]) \(.threads) \(.identical)"] | sort | join(", ")')" "3 1 true, 3 2 true, 8 1 true, 8 2 true"

# ---- what the calling function stores between a region's begin probe and its fork, as compilers do under register pressure: here by hand --------------
cat >spill.c <<'C'
int main(void) {
    long words[8] = {0}, sum = 0;
    __asm__ volatile("# word %1" : : "r"(words), "m"(words[3]) : "memory");
    #pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 3000; i++)
        sum += i;
    __asm__ volatile("" : : "r"(words) : "memory");
    return sum != 4498500;
}
C
"$CLANG" -O2 -g -fopenmp "-fpass-plugin=$(plugin)" -S spill.c -o spill.s
word=$(sed -n 's/.*# word //p' spill.s | head -n 1)
sed -i "s/^[[:space:]]*callq*[[:space:]].*__kmpc_fork_call/\tmovq %rsp, $word\n&/" spill.s
is "a store stands before the fork" "$(grep -c "^.movq %rsp, $word" spill.s)" 1
"$CLANG" -fopenmp spill.s -o spill
run "$PCERE" capture --all-classes ./spill; says "it is captured" 0
run "$PCERE" verify --json --threads 1,2 spill.pcere; is "that word is not the region's" "$(json '[.codelets[].identical] | join(" ")')" "true true"

# ---- two regions whose short names would be one: each keeps a word of its template arguments, and means itself alone ----------------------------------
compile qubits -x c++ <<'C'
namespace registers_of_many_qubits {
struct rotated_by_an_angle { enum { value = 1 }; };
struct controlled_by_another { enum { value = 2 }; };
template <class Left, class Right> struct both { enum { value = Left::value * Right::value }; };
template <class Gate> void apply(double *a) {
    #pragma omp parallel for
    for (int i = 0; i < 30000; i++) a[i] = a[i] * 0.5 + Gate::value;
}
}
using namespace registers_of_many_qubits;
static double a[30000];
int main() {
    for (int step = 0; step < 20; step++) {
        apply<both<rotated_by_an_angle, rotated_by_an_angle>>(a);
        apply<both<controlled_by_another, controlled_by_another>>(a);
    }
    return a[7] < 1;
}
C
one='registers_of_many_qubits::apply<*rotated_by_an_angle*>@qubits.c:6' other='registers_of_many_qubits::apply<*controlled_by_another*>@qubits.c:6'
run "$PCERE" capture -q --all-classes ./qubits; says "regions of one template are captured" 0
run "$PCERE" regions qubits.pcere
is "and stand apart in a table" "$(grep -oE 'registers[^ ]*' .out | sort | paste -sd ' ')" "$other $one"
run "$PCERE" verify --json --threads 1 qubits.pcere "$other"
is "each by a name that means no other" "$(json '[.codelets[].region | test("<registers_of_many_qubits::controlled")] | unique | join(" ")')" true

# A program that goes while it runs: make clean, a job's folder.
compile vanishes <<'C'
#include <stdio.h>
#include <unistd.h>
static long a[1000];
int main(int count, char **words)
{
    if (count > 1) unlink(words[0]);
    for (int k = 0; k < 4; k++)
        #pragma omp parallel for
        for (int i = 0; i < 1000; i++) a[i] += i * k;
    return puts(a[7] == 42 ? "PASS" : "FAIL") < 0;
}
C
run "$PCERE" capture --all-classes ./vanishes now; says "a program that removes its own file is captured" 0 out PASS
run "$PCERE" verify vanishes.pcere; says "and replayed" 0 out 'main@vanishes.c.*identical'
finish
