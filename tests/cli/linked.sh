# Programs that are linked statically: the object in them, what tells when it is missing, codelets that have shared libraries instead, and profiles.
# No system ships a static OpenMP runtime: one of a single thread, made here, has the functions that these programs call, and tells a tool of regions.
source "$(dirname "$0")/common.sh"
[ -e "$("$CLANG" -print-file-name=libc.a)" ] || { echo "SKIPPED: no libc.a: a package like libc6-dev brings it"; exit 77; }
run "$PCERE" version --static; says "what ends the command that links" 0 out '/pcere-static.o -Wl,@/.*/pcere-static.wrap$'
words=$(cat .out)
run "$PCERE" version --static --json; is "the same as a document" "$(json '"\(.object) -Wl,@\(.wraps)"')" "$words"
mkdir empty
PCERE_LIBDIR=$work/empty run "$PCERE" version --static; says "an installation without it" 3 err "pcere-static.o"

cat >runtime.c <<'C'
typedef unsigned long word;
struct tool { int (*initialize)(void *(*lookup)(const char *), int, word *); void (*finalize)(word *); word data; };
__attribute__((weak)) struct tool *ompt_start_tool(unsigned version, const char *runtime) { (void)version, (void)runtime; return 0; }
enum { THREAD_BEGIN = 1, PARALLEL_BEGIN = 3, PARALLEL_END = 4, IMPLICIT_TASK = 7, BEGIN = 1, END = 2, INITIAL = 1, IMPLICIT = 2 };
static void (*told[64])();
static int listen(int event, void (*function)()) { told[event] = function; return 5; }
static void *lookup(const char *name) { return __builtin_strcmp(name, "ompt_set_callback") ? 0 : (void *)listen; }
#define TELL(event, ...) (told[event] ? told[event](__VA_ARGS__) : (void)0)
static word thread_data, none, initial_task, task, team;
static void start(void)
{
    static int started;
    struct tool *tool = started++ ? 0 : ompt_start_tool(201611, "a runtime of one thread");
    if (!tool || !tool->initialize(lookup, 0, &tool->data))
        return;
    TELL(THREAD_BEGIN, 1, &thread_data);
    TELL(IMPLICIT_TASK, BEGIN, &none, &initial_task, 1, 1, INITIAL);
}
void __kmpc_fork_call(void *place, int count, void (*region)(int *, int *, word, word, word, word, word, word), ...)
{
    int number = 0;
    word words[6] = {0};
    __builtin_va_list arguments;
    __builtin_va_start(arguments, region);
    for (int i = 0; i < count && i < 6; i++)
        words[i] = __builtin_va_arg(arguments, word);
    __builtin_va_end(arguments);
    (void)place;
    start();
    TELL(PARALLEL_BEGIN, &initial_task, (void *)0, &team, 1, 0x80000002, __builtin_return_address(0));
    TELL(IMPLICIT_TASK, BEGIN, &team, &task, 1, 0, IMPLICIT);
    region(&number, &number, words[0], words[1], words[2], words[3], words[4], words[5]);
    TELL(IMPLICIT_TASK, END, (void *)0, &task, 1, 0, IMPLICIT);
    TELL(PARALLEL_END, &team, &initial_task, 0x80000002, __builtin_return_address(0));
}
void __kmpc_for_static_init_4(void) {}
void __kmpc_for_static_fini(void) {}
int __kmpc_reduce_nowait(void) { return 1; }
void __kmpc_end_reduce_nowait(void) {}
int omp_get_max_threads(void) { return 1; }
int omp_get_num_teams(void) { return 1; }
int omp_get_team_size(int level) { return level ? -1 : 1; }
C
# All others that the object asks for answer 0.
sed -n -E 's/^PCERE_(WRAPPED|WRAPPED_TWICE|PROFILED|ASKED)\(([a-z_0-9]*(kmp|omp_)[a-z_0-9]*)[,)].*/\2/p' "$SOURCE/capture-rt/target/wrapped.inc" | grep -v -x -E "$(sed -n -E 's/^[a-z]+ ([a-z_0-9]+)\(.*/\1/p' runtime.c | paste -sd'|')" |
    while read -r name; do printf '.globl %s\n.type %s, @function\n%s: xorl %%eax, %%eax\nret\n.size %s, . - %s\n' "$name" "$name" "$name" "$name" "$name"; done >others.s
echo '.section .note.GNU-stack,"",@progbits' >>others.s
cat >main.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct item { char *text; long drawn; void (*release)(void *); };
extern long plain_work(struct item *item, int i);
static struct item items[64];
static _Thread_local long mine = 5;
static FILE *out;
int main(void)
{
    long sum = 0;
    out = stdout;
    srandom(7);
    for (int i = 0; i < 64; i++)
        items[i] = (struct item){strdup("before"), 0, free};
    fprintf(out, "begun ");
    for (int step = 0; step < 2; step++) {
#pragma omp parallel for reduction(+ : sum)
        for (int i = 0; i < 64; i++) {
            sum += plain_work(&items[i], i) + mine++;
            if (i % 3 == 0) {
                items[i].release(items[i].text);
                items[i].text = malloc(40);
                snprintf(items[i].text, 40, "%d of %d", i, step);
            }
            items[i].drawn = random();
            if (i % 32 == 0)
                fprintf(out, "%d ", i);
        }
    }
    printf("%ld %ld\n", sum, mine);
    if (getenv("PCERE_PROFILE") || getenv("LD_PRELOAD"))
        return 2;
    return sum != 17682 || mine != 133;
}
C
cat >plain.c <<'C'
#include <stdlib.h>
#include <string.h>
struct item { char *text; long drawn; void (*release)(void *); };
static int calls;
long plain_work(struct item *item, int i)
{
    char *copy = strdup(item->text);
    copy = realloc(copy, 100 + (size_t)i);
    long length = (long)strlen(copy);
    free(item->text);
    item->text = copy;
    return length + calls++;
}
C
built() { "$CLANG" "$@" 2>.cc || { cat .cc; false; }; }
holds "the parts compile" built -O2 -c runtime.c others.s plain.c
holds "and the program" built -O2 -g -fopenmp "-fpass-plugin=$(plugin)" -c main.c
"$CLANG" -static main.o plain.o runtime.o others.o -o bare
run "$PCERE" capture -o bare.pcere ./bare
says "a program without the object: why, and what to do" 3 err 'is statically linked.*does not have one in itself' err 'hint: end the command that links it with \$\(pcere version --static\)'
for linker in "" -fuse-ld=lld; do
    # shellcheck disable=SC2086
    holds "it links $linker" built -static $linker main.o plain.o $words runtime.o others.o -o program
    run ./program; says "it runs by itself $linker" 0 out '^begun 0 32 0 32 17682 133$'
    rm -rf program.pcere
    run "$PCERE" capture --json --all-classes ./program
    is "captured $linker" "$(jq -r '[.regions[] | select(.status == "captured") | .function] | join(" ")' .out)" main
    run "$PCERE" verify program.pcere; says "memory after its regions is the program's $linker" 0 out 'identical'
    run "$PCERE" replay --warmup none --repeat 2 --threads 1,2 program.pcere; says "and they are replayed, with more threads, too $linker" 0 out "$(samples 2)"
done
cat >own_tool.c <<'C'
void *ompt_start_tool(unsigned version, const char *runtime) { (void)version, (void)runtime; return 0; }
C
for linker in "" -fuse-ld=lld; do
    # shellcheck disable=SC2086
    holds "it links again $linker" built -static $linker main.o plain.o $words runtime.o others.o -o program
    run "$PCERE" profile --force --json --events page-faults -o faults.pcx ./program
    is "profiled: an XU for the loop in each run of the region, by the plugin's ids, with what it counted $linker" \
       "$(json '[(.xus | length), .xus[0].type, (.constructs | map(.construct) | join(" ")), .runs[0].level, (.xus[0].counts["page-faults"] > 0), (.runs[0].blind | length)] | join(", ")')" \
       "2, static range, main@main.c:18, 1, true, 0"
    run "$PCERE" profile --force --json --events context-switches -o switches.pcx ./program
    run "$PCERE" combine --force --json faults.pcx switches.pcx; is "two profiles make one $linker" "$(json '[.xus[] | .counts | keys | join("+")] | join(" ")')" "context-switches+page-faults context-switches+page-faults"
    run "$PCERE" trace --force -o program.pct ./program; says "and traced $linker" 0
    run "$PCERE" metrics omp --json program.pct; says "with metrics $linker" 0
    run "$PCERE" timeline --force -o program.timeline program.pct; says "a timeline $linker" 0
    run "$PCERE" graph --force -o program.dot program.pct; says "and a graph $linker" 0
done
run "$PCERE" profile ./bare; says "without the object: why, and what to do" 3 err 'is statically linked.*does not have it in itself' err 'hint: end the command that links it with \$\(pcere version --static\)'
holds "a program with a tool of its own links" built -static main.o plain.o own_tool.c $words runtime.o others.o -o own_tool
run "$PCERE" profile ./own_tool; says "and keeps that" 1 err 'started no OpenMP runtime'
cp program stripped && strip stripped
run "$PCERE" capture -o stripped.pcere ./stripped; says "stripped, its parts cannot be told" 3 err 'hint: .*do not strip it'
finish
