# Other schedules than the source's: with --all-loops every kind of loop asks the runtime. A chunk beyond all iterations gives them to one thread of two, and what each thread
# notes is then what the captured one had; otherwise it differs.
source "$(dirname "$0")/common.sh"
cat >who.c <<'END'
#include <omp.h>
#include <stdio.h>
enum { N = 1000 };
static int who[9][N], order[N], last, orders;
static void note(int *of, long i) { of[i] = omp_get_thread_num(); }
static void orphaned(int *of)
{
#pragma omp for
    for (int i = 3; i < N - 5; i++) note(of, i);
}
static void plain(void) {
#pragma omp parallel for
    for (int i = 0; i < N; i++) note(who[0], i); }
static void chunked(void) {
#pragma omp parallel for schedule(static, 7) lastprivate(last)
    for (int i = 10; i < N; i += 3) { note(who[1], i); last = i; } }
static void dynamic(void) {
#pragma omp parallel for schedule(dynamic, 5)
    for (long i = N - 1; i >= 0; i -= 2) note(who[2], i); }
static void guided(void) {
#pragma omp parallel for schedule(guided) collapse(2)
    for (unsigned i = 0; i < 20; i++) for (unsigned j = 0; j < 50; j++) note(who[3], i * 50 + j); }
static void wide(void) {
#pragma omp parallel for lastprivate(last)
    for (unsigned long i = 0; i < N; i++) { note(who[4], (long)i); last = (int)i; } }
static void wide_chunked(void) {
#pragma omp parallel for schedule(static, 2)
    for (unsigned long i = 4000000000ul; i < 4000000000ul + N; i++) note(who[5], (long)(i - 4000000000ul)); }
static void elsewhere(void) {
#pragma omp parallel
    { orphaned(who[6]);
#pragma omp for nowait
      for (int i = 0; i < 3; i++) note(who[6], i); } }
static void ordered(void) {
    orders = 0;
#pragma omp parallel for ordered schedule(static, 3)
    for (int i = 0; i < N; i++) {
        note(who[7], i);
#pragma omp ordered
        order[orders++] = i;
    } }
static void none(void) {
#pragma omp parallel for schedule(static, 4)
    for (int i = 5; i < last - 5000; i++) note(who[8], 0); }
int main(void)
{
    plain(), chunked(), dynamic(), guided();
    int bad = last != 997;
    wide(), wide_chunked(), elsewhere(), ordered(), none();
    bad += last != N - 1 || orders != N;
    for (int i = 0; i < N; i++) bad += order[i] != i;
    for (int i = 0; i < 9 * N; i++) bad += who[i / N][i % N] != 0;    /* of one thread; and what is never read is not written, either */
    printf("%s %d\n", bad ? "FAIL" : "PASS", bad);
    return bad;
}
END
# judged NAME: all its regions by two threads, with loops that ask, and those that ask for their schedule themselves (none here)
judged() {
    local all='[.codelets[] | select(.identical) | .region | sub("@.*"; "")] | sort | join(" ")'
    local fixed="${all/select(.identical)/select(.identical and (.region | test(\"^(dynamic|guided)@\") | not))}"     # where one of two threads begins late, the other has all of these
    run "$PCERE" verify --threads 2 --schedule static,100000 --all-loops --json "$1.pcere"
    is "$1: with all loops asking, one thread has all iterations of each" "$(json "$all")" "$2"
    run "$PCERE" verify --threads 2 --schedule static,100000 --json "$1.pcere"
    is "$1: without that, what has a schedule of its own keeps it" "$(json "$fixed")" "$3"
    run "$PCERE" verify --threads 1,2 --schedule dynamic,3 --all-loops --json "$1.pcere"
    is "$1: one thread does the same in any case" "$(json '[.codelets[] | select(.threads == 1) | .identical] | all')" true
    is "$1: nothing ends otherwise than it should" "$(json '[.codelets[] | select(.reason)] | length')" 0
}
regions="chunked dynamic elsewhere guided none ordered plain wide wide_chunked"
compilers=("$CLANG")
for version in 16 22; do
    if command -v clang-$version >/dev/null && "$PCERE" version --llvm $version >/dev/null 2>&1; then compilers+=("clang-$version"); fi
done
for compiler in "${compilers[@]}"; do
    for level in -O0 -O2; do
        name=who-$compiler$level
        "$compiler" $level -g -fopenmp "-fpass-plugin=$(plugin)" -idirafter "$("$CLANG" -print-resource-dir)/include" -L"$(dirname "$(realpath "$("$CLANG" -print-file-name=libomp.so)")")" who.c -o "$name" ||
            { echo "NOT OK: $name does not compile"; exit 1; }
        captured "$name"
        judged "$name" "$regions" none
        [ "$compiler" = "$CLANG" ] || break
    done
done
run "$PCERE" replay --threads 1,2 --schedule dynamic,3 --all-loops --repeat 2 --json "who-$CLANG-O2.pcere"
says "regions are timed so" 0
is "and samples say it" "$(jq -r 'select(.kind == "replay") | .settings' "who-$CLANG-O2.pcere/samples.jsonl" | sort -u)" "schedule=dynamic,3 loops=all"
run "$PCERE" replay --all-loops "who-$CLANG-O2.pcere"
says "which schedule has to be said" 2 err "there is no --schedule" err 'hint: say which'

# Loops that can be cancelled, and those whose iterations wait for each other, stay as they are.
cat >left.c <<'END'
#include <omp.h>
#include <stdio.h>
enum { N = 64 };
static int who[N], sums[N + 1];
static volatile int never;
static void cancelled(void) {
#pragma omp parallel
#pragma omp for
    for (int i = 0; i < N; i++) { who[i] = omp_get_thread_num();
#pragma omp cancel for if (never)
    } }
static void waiting(void) {
#pragma omp parallel for ordered(1)
    for (int i = 1; i <= N; i++) {
#pragma omp ordered depend(sink : i - 1)
        sums[i] = sums[i - 1] + i;
#pragma omp ordered depend(source)
    } }
int main(void)
{
    cancelled(), waiting();
    int bad = sums[N] != N * (N + 1) / 2;
    for (int i = 0; i < N; i++) bad += who[i] != 0;
    puts(bad ? "FAIL" : "PASS");
    return bad;
}
END
"$CLANG" -O2 -g -fopenmp "-fpass-plugin=$(plugin)" left.c -o left || { echo "NOT OK: it does not compile"; exit 1; }
captured left
run "$PCERE" verify --threads 2 --schedule static,100000 --all-loops --json left.pcere
is "a loop that can be cancelled keeps its schedule, and one whose iterations wait is right" "$(json '[.codelets[] | "\(.region | sub("@.*"; "")) \(.identical) \(.reason)"] | sort | join(", ")')" \
    "cancelled false null, waiting true null"

flang=${FLANG:-flang-22}
if command -v "$flang" >/dev/null && "$PCERE" version --llvm 22 >/dev/null 2>&1; then
    cat >loops.f90 <<'END'
program loops
  use omp_lib
  implicit none
  integer, parameter :: n = 500
  integer :: who(n, 3), i, last
  integer(8) :: k
  who = 0
  !$omp parallel do lastprivate(last)
  do i = 1, n
    who(i, 1) = omp_get_thread_num()
    last = i
  end do
  !$omp parallel do schedule(static, 3)
  do i = n, 1, -2
    who(i, 2) = omp_get_thread_num()
  end do
  !$omp parallel do schedule(dynamic)
  do k = 1, n
    who(k, 3) = omp_get_thread_num()
  end do
  if (last /= n .or. any(who /= 0)) stop 1
  print '(a)', 'PASS'
end program
END
    "$flang" -O2 -g -fopenmp "-fpass-plugin=$(plugin)" loops.f90 -L/usr/lib/llvm-19/lib -o loops || { echo "NOT OK: it does not compile"; exit 1; }
    captured loops
    judged loops "main main main" ""
fi
finish
