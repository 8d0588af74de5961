# What goes wrong in one region is said, and the others are replayed all the same.
source "$(dirname "$0")/common.sh"
flags=-O2
program fails fails.c
captured fails
run "$PCERE" replay fails.pcere works --threads 1,2 --repeat 2
says "a region that works is replayed" 0 out 'works@fails.c'
run "$PCERE" replay fails.pcere crashes works --threads 2 --repeat 2
says "a crash gives status 1, its signal and a backtrace, and the other region its samples" 1 out "works@fails.c.*$(samples 2)" \
    err 'Segmentation fault at address 0x8' err 'crashes.omp_outlined' err '__kmpc_fork_call|__kmp_invoke_microtask'
run "$PCERE" replay fails.pcere aborts --threads 1 --repeat 1
says "an abort as well" 1 err 'Aborted'
run "$PCERE" replay fails.pcere ends --threads 1 --repeat 1
says "a region that ends its process is named with the status" 1 err "ended its process with status 17"
run "$PCERE" replay fails.pcere vanished --threads 1 --repeat 2
says "a variable that optimisation removed is no matter with the original's flags" 0
run "$PCERE" replay fails.pcere vanished works --flags -O0 --threads 1 --repeat 2
says "with others the region is refused by the variable's name, and the other one runs" 1 err "uses 'folded" out "works@fails.c.*$(samples 2)"
run "$PCERE" verify fails.pcere tells
says "a region that writes something else than in the original is found, and the variable named" 1 out 'tells@fails.c.*NOT DETERMINISTIC' out 'seen\[\] .*integer.*seen\[3\] was [0-9]+, is [0-9]+'
run "$PCERE" replay fails.pcere works --flags --no-such-flag --threads 1
says "flags that the compiler does not know are its error" 1 err 'no-such-flag'
run "$PCERE" replay fails.pcere works --compiler clang-without-number --threads 1
says "a compiler that is not there is refused with the package" 3 err 'clang-without-number' err 'hint:.*clang-19'
run "$PCERE" replay fails.pcere works --schedule sideways
says "a schedule that does not exist is refused" 2 err 'sideways'
executable=$(echo fails.pcere/build/*/codelet | cut -d' ' -f1)
damage "$executable" 5000
run "$PCERE" replay fails.pcere works --threads 1 --repeat 1
says "a damaged build is made again" 0 out 'works@fails.c'
rm -rf fails.pcere/build
run "$PCERE" replay fails.pcere works --threads 1 --repeat 1
says "so is one that was deleted" 0 out 'works@fails.c'
# The codelet of a region that may be needed to replay others behind it.
compile turns <<'C'
static double a[30000], b[30000];
static void first(void)
{
    #pragma omp parallel for
    for (int i = 0; i < 30000; i++) a[i] = b[i] * 0.5 + i;
}
static void second(void)
{
    #pragma omp parallel for
    for (int i = 0; i < 30000; i++) b[i] += a[29999 - i];
}
int main(void)
{
    for (int k = 0; k < 6; k++) { first(); second(); }
    return a[7] < 1;
}
C
run "$PCERE" capture --all-classes ./turns
says "regions in turn are captured" 0
for one in turns.pcere/codelets/first*.codelet; do damage "$one" 300; done
run "$PCERE" replay turns.pcere --threads 1 --repeat 1
says "a damaged codelet is named, and others are replayed without it" 4 out "second@turns.c.*$(samples 1)" out 'first@turns.c.* is damaged: '
run "$PCERE" replay turns.pcere second --threads 1 --repeat 1
says "alone, too" 0 out "second@turns.c.*$(samples 1)"
run "$PCERE" verify turns.pcere
says "and compared" 4 out 'second@turns.c.*identical' err 'first@turns.c.* is damaged: |is damaged: '

rm -rf fails.pcere/build/????????????????
left=fails.pcere/build/0123456789abcdef.1.partial used=fails.pcere/build/0123456789abcdef.2.partial
mkdir -p $used
exec 9<$used
flock 9
for made in "beside one that another process makes" "nor is one made where there is one already"; do
    mkdir -p $left/folder && touch $left/folder/unit.o && touch -d '2 days ago' $left
    run "$PCERE" replay fails.pcere works --threads 1 --repeat 1
    says "$made" 0 out 'works@fails.c'
    holds "what a killed process left of a build two days ago is removed" test ! -e $left
    holds "but not what is being made" test -d $used
done
exec 9<&-

# ---- the OpenMP runtime's own abort ----------------------------------------------------------------------------------------------
# LLVM's does by chance. Here a library in its place lets it end as many codelets as the file `ends` says.
compile looping <<'C'
static int v[1000];
int main(void)
{
    #pragma omp parallel for
    for (int i = 0; i < 1000; i++) v[i]++;
    return v[7] != 1;
}
C
mkdir place
run env LD_LIBRARY_PATH="$PWD/place" "$PCERE" capture --all-classes -o looping.pcere ./looping
says "a program is captured" 0
cat >ends.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
void __kmpc_error(void *, int, const char *);
static int ends;
__attribute__((constructor)) static void count(void)
{
    char text[16] = "";
    FILE *file = strcmp(program_invocation_short_name, "codelet") ? NULL : fopen("ends", "r+");
    if (file && fgets(text, sizeof text, file) && *text > '0') { ends = 1; rewind(file); fputc(*text - 1, file); }
    if (file) fclose(file);
}
void __kmpc_for_static_init_4(void *where, int thread, int kind, int *last, int *low, int *high, int *stride, int step, int chunk)
{
    void (*next)(void *, int, int, int *, int *, int *, int *, int, int) = dlsym(RTLD_NEXT, "__kmpc_for_static_init_4");
    if (ends) __kmpc_error(0, 2, "in a state that it holds for impossible");
    next(where, thread, kind, last, low, high, stride, step, chunk);
}
C
# linked against a library without a name, so that the runtime is found by its path
"$CLANG" -shared -x c /dev/null -o place/real.so && "$CLANG" -shared -fPIC -O1 ends.c "$PWD/place/real.so" -Wl,--no-as-needed,-soname,libomp.so.5 -o place/libomp.so.5 &&
    cp "$("$CLANG" -print-file-name=libomp.so)" place/real.so || exit 1
echo 2 >ends
run "$PCERE" verify looping.pcere --threads 2
says "a codelet that the OpenMP runtime ends is tried again, twice" 0 out 'main@looping.c:.*identical' err 'Aborted by the OpenMP runtime'
holds "and twice it was" grep -q '^0' ends
echo 2 >ends
run "$PCERE" replay looping.pcere --threads 1,2 --repeat 2
says "likewise where it is timed" 0 out "main@looping.c.*$(samples 2)"
echo 9 >ends
run "$PCERE" verify looping.pcere --threads 2
says "where that does not help, it is said who ended it" 1 out "the OpenMP runtime ended the codelet of 'main@looping.c:4'"
holds "after three attempts" grep -q '^6' ends
rm ends

# ---- a launcher that is killed ---------------------------------------------------------------------------------------------------
compile endless <<'C'
#include <unistd.h>
static pid_t own;
static int v[1000];
static void work(void)
{
    #pragma omp parallel for
    for (int i = 0; i < 1000; i++) {
        while (getpid() != own) usleep(1000);
        v[i]++;
    }
}
int main(void) { own = getpid(); work(); return v[7] != 1; }
C
run "$PCERE" capture --all-classes -o endless.pcere ./endless
says "a region that ends in no process but its own is captured" 0
run "$PCERE" verify endless.pcere --patience 2s
says "a region that comes to no end is stopped, and where its thread was is said" 1 out "'work@endless.c:[0-9]+' made no progress for 2 s and was stopped: thread 0 in [a-z_]+, called by work.omp_outlined" err 'hint:'
run "$PCERE" replay endless.pcere --threads 2 --repeat 1 --patience 2s
says "likewise where it is timed, all its threads" 1 err 'thread 0 in [a-z_]+, called by work.omp_outlined; thread 1 in'
run "$PCERE" verify endless.pcere --patience soon
says "patience is a time" 2 err "'soon'"
"$PCERE" replay endless.pcere --threads 1 >/dev/null 2>&1 &
launcher=$!
codelet_of() { for child in $(cat /proc/"$1"/task/*/children 2>/dev/null); do grep -qx codelet /proc/"$child"/comm 2>/dev/null && echo "$child"; done; }
gone() { ! grep -q '^State:[[:space:]]*[^ZX]' /proc/"$1"/status 2>/dev/null; }
child=
while [ -z "$child" ] && kill -0 $launcher 2>/dev/null; do child=$(codelet_of $launcher); sleep 0.05; done
kill -9 $launcher
wait $launcher 2>/dev/null
for _ in $(seq 3000); do { [ -z "$child" ] || gone "$child"; } && break; sleep 0.1; done
holds "who kills the launcher ends its codelet" gone "${child:-self}"
finish
