# Programs that close what they did not open, or leave the work to processes that they fork off or start; and what starts others, named in place of the program.
source "$SOURCE/tests/cli/common.sh" || exit 1
machine_passes

# ---- all descriptors closed ------------------------------------------------------------------------------------------------------
compile closes <<'C'
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static double a[20000];
static int most(void) { long most = sysconf(_SC_OPEN_MAX); return most > 0 && most < 4096 ? (int)most : 4096; }
int main(int count, char **words) {
    int failed = 0, way = count > 1 ? atoi(words[1]) : 0;
    int mine = open("/dev/null", O_RDONLY);
    if (way == 0) for (int i = 3; i < most(); i++) failed += close(i) == 0;
    if (way == 1) closefrom(3);
    if (way == 2) failed = close_range(3, ~0u, 0);
    if (way == 3) failed = close_range(3, (unsigned)mine, 0) + close_range((unsigned)mine + 1, ~0u, CLOSE_RANGE_UNSHARE);
    for (int step = 0; step < 12; step++) {
        #pragma omp parallel for
        for (int i = 0; i < 20000; i++) a[i] = a[i] * 0.5 + i;
    }
    printf("%d %d %d\n", failed, fcntl(mine, F_GETFD), open("/dev/null", O_RDONLY) == mine);
    return 0;
}
C
for way in 0 1 2 3; do
    ./closes "$way" >plain.out
    run "$PCERE" capture -q --all-classes --force ./closes "$way"; says "a program that closes all descriptors, way $way" 0
    holds "it finds closed what it finds closed by itself" cmp plain.out .out
    run "$PCERE" verify closes.pcere; says "and what was captured after that can be verified" 0 out 'main@closes.c.*identical'
done

# ---- functions named as the C library's --------------------------------------------------------------------------------------------
# The C library and the OpenMP runtime do not use these names inside, so that such a program runs well alone.
compile named <<'C'
#include <stdio.h>
void read(const char *name, double *to, int rows) { printf("read %s\n", name); for (int i = 0; i < rows; i++) to[i] = i; }
int recv(double x) { return puts("recv") + (x > 0); }
int stat(double x) { return puts("stat") + (x > 0); }
int fstat(double x) { return puts("fstat") + (x > 0); }
int lseek(double x) { return puts("lseek") + (x > 0); }
int pread(double x) { return puts("pread") + (x > 0); }
int pwrite(double x) { return puts("pwrite") + (x > 0); }
int sendmsg(double x) { return puts("sendmsg") + (x > 0); }
int write(double x) { return puts("write") + (x > 0); }
int prctl(double x) { return puts("prctl") + (x > 0); }
static double a[20000], in[100];
int main(void) {
    read("values", in, 100);
    for (int step = 0; step < 12; step++) {
        #pragma omp parallel for
        for (int i = 0; i < 20000; i++) a[i] = a[i] * 0.5 + in[i % 100];
    }
    printf("%g\n", a[77]);
    return 0;
}
C
./named >plain.out
run "$PCERE" capture -q --all-classes --force ./named; says "a program with functions named as the C library's is captured" 0
holds "and nobody calls these but the program" cmp plain.out .out
run "$PCERE" verify named.pcere; says "so that memory is as it was" 0 out 'main@named.c.*identical'
run "$PCERE" profile -q -o named.pcx ./named; says "it is profiled" 0
holds "and nobody calls them there" cmp plain.out .err
run "$PCERE" trace -q -o named.pct ./named; says "it is traced" 0
holds "and nobody calls them there either" cmp plain.out .err

# ---- limits of its own -----------------------------------------------------------------------------------------------------------
compile limited <<'C'
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
int main(int count, char **words) {
    int resource = count > 1 && words[1][0] == 'd' ? RLIMIT_DATA : RLIMIT_AS, failed = 0;
    struct rlimit before, limit, now, other;
    getrlimit(resource, &before);
    limit = (struct rlimit){.rlim_cur = (rlim_t)1 << 30, .rlim_max = before.rlim_max};
    failed += setrlimit(resource, &limit) + getrlimit(resource, &now) + prlimit(0, resource, NULL, &other);
    printf("%d %d %d\n", failed, now.rlim_cur == limit.rlim_cur && now.rlim_max == limit.rlim_max, other.rlim_cur == now.rlim_cur);
    limit.rlim_cur = (rlim_t)2 << 30;
    failed = prlimit(0, resource, &limit, &other) + getrlimit(resource, &now);
    printf("%d %d %d\n", failed, other.rlim_cur == (rlim_t)1 << 30, now.rlim_cur == limit.rlim_cur);
    char *much = malloc((size_t)3 << 30), *some = malloc((size_t)1 << 29);
    memset(some, 1, 1 << 16);
    double *a = calloc(20000, sizeof *a);
    for (int step = 0; step < 12; step++) {
        #pragma omp parallel for
        for (int i = 0; i < 20000; i++) a[i] = a[i] * 0.5 + i;
    }
    printf("%d %g\n", much != NULL, a[100]);
    return 0;
}
C
for resource in address data; do
    ./limited "$resource" >plain.out
    run "$PCERE" capture -q --all-classes --force ./limited "$resource"; says "a program that limits its own memory, $resource" 0
    holds "it reads what it set" cmp plain.out .out
    run "$PCERE" verify limited.pcere; says "and what was captured can be verified" 0 out 'main@limited.c.*identical'
done

# ---- work in other processes -----------------------------------------------------------------------------------------------------
region='static double a[20000];
static void work(void) {
    #pragma omp parallel for
    for (int i = 0; i < 20000; i++) a[i] = a[i] * 0.5 + i;
}'
compile parent < <(printf '#include <sys/wait.h>\n#include <unistd.h>\n%s\nint main(void) { if (fork() == 0) { work(); _exit(0); } wait(0); }\n' "$region")
run "$PCERE" capture ./parent; says "regions of a process that was forked off are told of" 0 err 'regions that processes entered which the program forked off are not captured' err 'entered no parallel region'
compile both < <(printf '#include <sys/wait.h>\n#include <unistd.h>\n%s\nint main(void) { work(); if (fork() == 0) _exit(0); wait(0); }\n' "$region")
run "$PCERE" capture ./both; says "one that forks, and works itself, is captured" 0 err 'codelet'
is "without a word about processes" "$(grep -c forked .err)" 0
compile leaves < <(printf '#include <unistd.h>\n%s\nint main(void) { if (fork() == 0) { sleep(1); work(); } }\n' "$region")
run "$PCERE" capture ./leaves; says "a daemon, whose work comes when the program has ended, is told to stay in the foreground" 0 err 'entered no parallel region.*forked off.*foreground'

# ---- what starts the program -----------------------------------------------------------------------------------------------------
compile started < <(printf '%s\nint main(void) { work(); }\n' "$region")
run "$PCERE" capture "$(command -v env)" A=1 ./started; says "a program that starts others is not captured, and what to capture is named" 4 err "'.*env' has no .pcere.bc section" err 'hint: .*env .*pcere capture ./started'
run env A=1 "$PCERE" capture ./started; says "which works" 0
run "$PCERE" capture "$(command -v env)" A=1 /bin/true; says "words that are no such programs are not named" 4 err 'hint: compile it with'
finish
