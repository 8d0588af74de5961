# Programs that are linked statically: the capture object in them, what tells when it is missing, and codelets that have shared libraries instead.
# No system ships a static OpenMP runtime: one of a single thread, made here, has the functions that these programs call.
source "$(dirname "$0")/common.sh"
[ -e "$("$CLANG" -print-file-name=libc.a)" ] || { echo "SKIPPED: no libc.a: a package like libc6-dev brings it"; exit 77; }
run "$PCERE" version --static; says "what ends the command that links" 0 out '/pcere-capture.o -Wl,@/.*/pcere-capture.wrap$'
words=$(cat .out)
run "$PCERE" version --static --json; is "the same as a document" "$(json '"\(.object) -Wl,@\(.wraps)"')" "$words"
mkdir empty
PCERE_LIBDIR=$work/empty run "$PCERE" version --static; says "an installation without it" 3 err "pcere-capture.o"

cat >runtime.c <<'C'
typedef unsigned long word;
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
    region(&number, &number, words[0], words[1], words[2], words[3], words[4], words[5]);
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
sed -n -E 's/^PCERE_(WRAPPED|ASKED)\((.*(kmp|omp_).*)\)$/\2/p' "$SOURCE/capture-rt/target/wrapped.inc" | grep -v -x -E "$(sed -n -E 's/^[a-z]+ ([a-z_0-9]+)\(.*/\1/p' runtime.c | paste -sd'|')" |
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
cp program stripped && strip stripped
run "$PCERE" capture -o stripped.pcere ./stripped; says "stripped, its parts cannot be told" 3 err 'hint: .*do not strip it'
finish
