# Regions that read and write are replayed where that can be; the files of the user stay as they are; for the others the reason is said.
source "$(dirname "$0")/common.sh"
flags=-O2

files_make() {
    for i in $(seq 0 1999); do echo "word $i"; done >words.txt
    echo 5678 >old.txt
}
sums() { md5sum -- *.txt; }
numbers() { sed -E 's/descriptor [0-9]+/descriptor N/'; }        # which they are depends on what the test inherits
region() { jq -r --arg name "$1@" --arg key "$2" '.regions[] | select(.region | startswith($name)) | .[$key]' "$work/.out"; }

for flags in "-O2" "-O0 -fno-pie"; do
    program io io.c
    files_make
    run bash -c 'echo "a line of input" | "$0" capture --two-runs --all-classes --force ./io' "$PCERE"
    says "a program that reads and writes runs and is captured ($flags)" 0 out '^PASS'

    run "$PCERE" regions --json io.pcere
    says "its regions are listed" 0
    is "a file that is read is named" "$(region scans io)" "reads words.txt"
    is "so is one that is read without a stream" "$(region reads io)" "reads words.txt"
    is "and a log that is written" "$(region logs io)" "writes log.txt"
    is "printing is seen" "$(region prints io)" "writes standard output, standard error"
    is "standard input is named" "$(region reads_input io)" "reads standard input"
    is "what opens its files itself is told by its bytes" "$(region opens io)" "reads 46 bytes; writes 46 bytes"
    is "a region that does not read or write has no such note" "$(region computes io)" "null"
    is "reading from a pipe makes a region invalid" "$(region reads_pipe status)" "invalid"
    is "with the reason" "$(region reads_pipe reason | numbers)" "it reads from a pipe (descriptor N), and what came from there is not in the capture"
    is "so does reading from a socket" "$(region reads_socket status)" "invalid"
    run "$PCERE" regions io.pcere
    says "the table has the notes and the reasons" 0 out 'scans@io.c.*reads words.txt' out 'reads_socket@io.c.*it reads from a socket'

    before=$(sums) names=$(ls -A)
    run "$PCERE" verify --json io.pcere
    says "of what was captured two regions cannot be replayed" 1 err 'of 16 comparisons 0 differ and 2 could not be made'
    is "all others leave the memory that the program had" \
        "$(json '[.codelets[] | select(.identical) | .region | split("@")[0]] | sort | join(" ")')" \
        "closes computes gets logs logs_raw opens opens_old prints reads reads_and_writes reads_input reads_pipe_stream scans writes_pipe"
    is "renaming files is refused by that reason" "$(json '.codelets[] | select(.region | startswith("renames@")) | .reason | split(": ")[1]')" "it renames a file"
    is "and so is the use of a socket" "$(json '.codelets[] | select(.region | startswith("sends@")) | .reason | split(": ")[1]' | numbers)" "it uses a socket (descriptor N)"
    run "$PCERE" verify io.pcere sends
    says "alone, too, with a hint" 1 out 'not compared.*it uses a socket' 
    run "$PCERE" verify io.pcere reads_pipe@
    says "what was not kept is refused by its reason" 4 err "it reads from a pipe \(descriptor [0-9]+\)"
    run "$PCERE" replay --threads 1,2 --repeat 3 io.pcere prints logs@ logs_raw scans gets reads@ reads_and_writes opens@ opens_old closes writes_pipe reads_input computes
    says "they replay with 1 and 2 threads, again and again" 0 out "opens@io.c.* 2 .*$(samples 3)"
    run "$PCERE" replay --threads 1 --repeat 2 io.pcere sends computes
    says "a region that is refused does not stop the others" 1 err "cannot be replayed: it uses a socket" out "computes@io.c.*$(samples 2)"
    is "no file of the user was changed" "$(sums)" "$before"
    is "none came, none went" "$(ls -A)" "$names"
done

# ---- streams that no replay can have ------------------------------------------------------------------------------------------------
compile streams <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
static void wide(FILE *stream) {
    #pragma omp parallel
    #pragma omp single
    fwprintf(stream, L"%d\n", 7);
}
static void becomes(FILE *stream) {
    #pragma omp parallel
    #pragma omp single
    fwprintf(stream, L"%d\n", 7);
}
static void room(FILE *stream) {
    #pragma omp parallel
    #pragma omp single
    fprintf(stream, "%d\n", 7);
}
static void growing(FILE *stream) {
    #pragma omp parallel
    #pragma omp single
    for (int i = 0; i < 1000; i++) fprintf(stream, "%d\n", i);
}
static int bystander;
static void beside(void) {
    #pragma omp parallel
    #pragma omp atomic
    bystander++;
}
int main(void) {
    static char memory[4000];
    char *grown;
    size_t bytes;
    FILE *was = fopen("/dev/null", "w"), *is = fopen("/dev/null", "w"), *fixed = fmemopen(memory, sizeof memory, "w"), *more = open_memstream(&grown, &bytes);
    fwprintf(was, L"first");
    wide(was), becomes(is), room(fixed), growing(more), beside();
    fclose(fixed), fclose(more);
    puts(bystander > 0 && !strcmp(memory, "7\n") && bytes > 3000 ? "PASS" : "FAIL");
}
END
run "$PCERE" capture --all-classes ./streams
says "a program with streams of all kinds runs and is captured" 0 out '^PASS'
run "$PCERE" regions --json streams.pcere
for name in wide becomes; do
    is "a stream of wide characters is named as the reason: $name" "$(region $name reason | numbers)" \
        "it uses a stream of wide characters (descriptor N), which no replay can have"
done
for name in room growing; do
    is "so is one in memory: $name" "$(region $name reason)" \
        "it uses a stream in memory, or one of the program's own making (fmemopen, open_memstream, fopencookie), which no replay can have"
done
is "a region beside them is captured" "$(region beside status)" captured
run "$PCERE" verify streams.pcere
says "and verified" 0 out 'beside@.*identical'

# ---- where nothing can be guarded -------------------------------------------------------------------------------------------------
cat >unguarded.c <<'END'
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv) {
    struct sock_filter words[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_seccomp, 0, 1),
                                  BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {4, words};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
    execv(argv[1], argv + 1);
    return 99;
}
END
"$CLANG" unguarded.c -o unguarded || { echo "NOT OK: unguarded.c does not compile"; exit 1; }
run ./unguarded "$PCERE" replay io.pcere --threads 1 --repeat 2 scans computes
says "a kernel that guards nothing replays only what does not read or write, and says so" 1 out "computes@io.c.*$(samples 2)" \
    err "cannot be replayed: it reads or writes files, and this kernel does not let them be guarded"

# ---- files that changed, or went --------------------------------------------------------------------------------------------------
seq 1 4000000 >large.txt
compile large <<'END'
#include <stdio.h>
#include <stdlib.h>
static char line[100];
int main(void) {
    FILE *file = fopen("large.txt", "r");
    if (!file || !fgets(line, sizeof line, file)) return 1;
    #pragma omp parallel
    #pragma omp single
    for (int i = 0; i < 5000; i++)
        if (!fgets(line, sizeof line, file)) abort();
    puts("PASS");
    return 0;
}
END
run "$PCERE" capture --all-classes ./large; says "a region reads from a file of 30 MB" 0 out PASS
holds "of which the store has no copy" test "$(du -sm large.pcere | cut -f1)" -lt 5
run "$PCERE" verify large.pcere; says "it is read where it is" 0 out identical
mkdir elsewhere
(cd elsewhere && "$PCERE" verify ../large.pcere >/dev/null 2>&1)
is "also from another folder" $? 0
cp -p large.txt kept.txt
echo more >>large.txt
run "$PCERE" verify large.pcere
says "once it has changed, the region is refused by that reason" 1 out "reads from '.*/large.txt', which has changed since the capture"
rm large.txt
run "$PCERE" verify large.pcere; says "or that it is gone" 1 out "reads from '.*/large.txt', which cannot be opened \(No such file"
cp -p kept.txt large.txt
run "$PCERE" verify large.pcere; says "and replayed where it is back" 0 out identical

# Files that the region opens itself, written before each of its invocations: at the end there is the last one's.
compile opened <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static long sum;
static void write_number(long number) {
    FILE *file = fopen("opened.txt", "w");
    if (!file || fprintf(file, "%ld\n", number) < 0 || fclose(file)) abort();
}
int main(void) {
    for (long step = 1; step <= 2; step++) {
        write_number(step * 10);
        usleep(20000);
        #pragma omp parallel
        #pragma omp single
        for (long i = 0; i < (step == 1 ? 1 : 2000); i++) {
            long number = 0;
            FILE *file = fopen("opened.txt", "r");
            if (fscanf(file, "%ld", &number) != 1) abort();
            fclose(file);
            sum += number;
        }
        usleep(20000);
    }
    puts(sum == 40010 ? "PASS" : "FAIL");
    return 0;
}
END
run "$PCERE" capture --all-classes ./opened; says "a region opens a file that is written anew for each invocation" 0 out PASS
run "$PCERE" verify opened.pcere
says "the last one finds what it read, others are refused by that reason" 1 out '#2 .*identical' out "#1 .*it reads from '/.*/opened.txt', which has changed since the capture"
rm opened.txt
run "$PCERE" verify opened.pcere
says "and all once it is gone" 1 out "#1 .*it opens '/.*/opened.txt', which is not there" out "#2 .*it opens '/.*/opened.txt', which is not there"

# Files that the program makes for itself, and removes: a replay does less than the region did. Not every file that is not there is one of these.
compile gone <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
static char line[4][64], known[64];
static int lines;
static void reads(int n) {
    #pragma omp parallel for
    for (int i = 0; i < 4; i++) {
        char name[64];
        snprintf(name, sizeof name, "temporary/%d.txt", i);
        FILE *file = fopen(name, "r");
        if (file && fgets(line[i], n, file)) line[i][0]++;
        if (file) fclose(file);
    }
}
static void reads_both(int n) {
    #pragma omp parallel
    #pragma omp single
    {
        FILE *file = fopen("temporary/0.txt", "r"), *kept = fopen("kept/one.txt", "r");
        if (file && fgets(line[0], n, file)) lines++;
        if (kept && fgets(known, n, kept)) lines++;
        if (file) fclose(file);
        if (kept) fclose(kept);
    }
}
static void asks(void) {
    #pragma omp parallel
    #pragma omp single
    {
        FILE *file = fopen("kept/settings.txt", "r");
        if (!file) file = fopen("kept/one.txt", "r");
        if (file && fgets(known, sizeof known, file)) lines++;
        if (file) fclose(file);
    }
}
int main(void) {
    close(STDIN_FILENO);
    mkdir("temporary", 0700);
    for (int i = 0; i < 4; i++) {
        char name[64];
        snprintf(name, sizeof name, "temporary/%d.txt", i);
        FILE *file = fopen(name, "w");
        if (!file || fprintf(file, "line %d\n", i) < 0 || fclose(file)) abort();
    }
    reads(60); reads_both(60); asks();
    for (int i = 0; i < 4; i++) {
        char name[64];
        snprintf(name, sizeof name, "temporary/%d.txt", i);
        unlink(name);
    }
    rmdir("temporary");
    puts(lines == 3 ? "PASS" : "FAIL");
    return 0;
}
END
mkdir kept && echo known >kept/one.txt
run "$PCERE" capture --one-run --all-classes ./gone; says "a program removes files that its regions opened" 0 out PASS
run "$PCERE" verify gone.pcere
says "a region that found nothing of what it read is refused" 1 out "reads@.*it opens '/.*/temporary/0.txt', which is not there any more" \
    out "reads_both@.*DIFFERENT.*it opens '/.*/temporary/0.txt', which is not there" out 'asks@.* identical'
run "$PCERE" verify gone.pcere reads_both; says "and how to have it compared is said" 1 err 'hint: .*have the program keep what it removes'
run "$PCERE" replay --repeat 2 gone.pcere reads; says "nor is it timed" 1 err "it opens '/.*/temporary/0.txt', which is not there any more" err 'hint: .*keep those that it removes'
run "$PCERE" replay --repeat 2 gone.pcere reads_both asks
says "what found some of it is timed, with a word" 0 err "reads_both@.* opens '/.*/temporary/0.txt', which is not there: if the program had it, its replays do less"
holds "but not where the program did not have it, either" test "$(grep -c 'asks@.* opens' .err)" = 0
run "$PCERE" export gone.pcere reads -o gone.export; says "an export says that it needs such files" 0
holds "among its limits" grep -q 'reads files that it opens itself' gone.export/README.md

compile small <<'END'
#include <stdio.h>
#include <stdlib.h>
static char line[100];
int main(void) {
    FILE *file = fopen("small.txt", "r");
    if (!file) return 1;
    #pragma omp parallel
    #pragma omp single
    while (fgets(line, sizeof line, file))
        ;
    puts("PASS");
    return 0;
}
END
seq 1 20000 >small.txt
run "$PCERE" capture --all-classes ./small; says "a region reads from a small file" 0 out PASS
rm small.txt
run "$PCERE" verify small.pcere; says "which is in the store, and need not be there" 0 out identical

# ---- what a region must not do --------------------------------------------------------------------------------------------------
compile reach <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/stat.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <signal.h>
#include <unistd.h>
static int sum;
static void starts(void) {
    #pragma omp parallel
    #pragma omp single
    sum += system("echo started >>started.txt");
}
static void folder(void) {
    #pragma omp parallel
    #pragma omp single
    { sum += mkdir("folder", 0700); sum += rmdir("folder"); }
}
static void connects(void) {
    struct sockaddr_un name = {AF_UNIX, "nobody"};
    #pragma omp parallel
    #pragma omp single
    { int s = socket(AF_UNIX, SOCK_STREAM, 0); sum += connect(s, (void *)&name, sizeof name); close(s); }
}
static void removes(void) {
    #pragma omp parallel
    #pragma omp single
    { FILE *file = fopen("removed.txt", "a"); if (!file) abort(); fputs("x", file); fclose(file); sum += remove("removed.txt"); }
}
static void signals(void) {
    #pragma omp parallel
    #pragma omp single
    sum += kill(getppid(), 0);
}
static void queues(void) {
    #pragma omp parallel
    #pragma omp single
    { union sigval value = {.sival_int = 1}; sum += sigqueue(getppid(), 0, value); }
}
static void messages(void) {
    struct { long kind; char text[8]; } message = {1, "hello"};
    int queue = msgget(IPC_PRIVATE, 0600);
    #pragma omp parallel
    #pragma omp single
    sum += msgsnd(queue, &message, sizeof message.text, IPC_NOWAIT);
    msgctl(queue, IPC_RMID, NULL);
}
static void semaphores(void) {
    int set = semget(IPC_PRIVATE, 1, 0600);
    #pragma omp parallel
    #pragma omp single
    { struct sembuf up = {0, 1, IPC_NOWAIT}; sum += semop(set, &up, 1); }
    semctl(set, 0, IPC_RMID);
}
static void caught(int number) { sum += number == SIGUSR1; }
static void raises(void) {
    signal(SIGUSR1, caught);
    #pragma omp parallel
    #pragma omp single
    { sum += raise(SIGUSR1); sum += pthread_kill(pthread_self(), SIGUSR1); sum += kill(getpid(), SIGUSR1); }
}
static void works(void) {
    #pragma omp parallel for
    for (int i = 0; i < 1000; i++) if (i == 7) sum += i;
}
int main(void) {
    starts(); folder(); connects(); removes(); signals(); queues(); messages(); semaphores(); raises(); works();
    puts("PASS");
    return 0;
}
END
run "$PCERE" capture --all-classes ./reach; says "a program reaches out of itself" 0 out PASS
echo kept >removed.txt
rm -f started.txt
run "$PCERE" verify --json reach.pcere
for pair in "starts:it starts another process" "folder:it changes folders" "connects:it opens a connection" "signals:it sends a signal" "queues:it sends a signal" "messages:it uses a message queue" \
    "semaphores:it uses semaphores"; do
    is "${pair%%:*} is stopped: ${pair#*:}" "$(json '.codelets[] | select(.region | startswith("'"${pair%%:*}"'@")) | .reason' | grep -o "${pair#*:}")" "${pair#*:}"
done
is "the others are replayed" "$(json '[.codelets[] | select(.identical) | .region | split("@")[0]] | sort | join(" ")')" "raises removes works"
is "what the region removes stays" "$(cat removed.txt)" kept
holds "nothing was started" test ! -e started.txt

# Read at places of its own: no position of the file moves.
compile places <<'END'
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
static int values[1000];
int main(void)
{
    long sum = 0;
    int file = open("table.bin", O_RDONLY);
    if (file < 0) return 1;
    #pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 1000; i++) {
        if (pread(file, &values[i], sizeof values[i], 4 * (999 - i)) != sizeof values[i]) sum -= 1000000;
        sum += values[i];
    }
    return puts(sum == 499500 ? "PASS" : "FAIL") < 0;
}
END
python3 -c 'import struct, sys; sys.stdout.buffer.write(struct.pack("<1000i", *range(1000)))' >table.bin
run "$PCERE" capture --all-classes ./places
says "a region reads at places of its own" 0 out PASS
rm table.bin
run "$PCERE" verify --threads 1,2 places.pcere
says "a small file that it read so is in the store" 0 out 'identical'

# The program goes elsewhere before its regions open files by relative names.
compile away <<'END'
#include <stdio.h>
#include <unistd.h>
static long sum;
int main(void)
{
    if (chdir("case")) return 1;
    #pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 8; i++) {
        FILE *file = fopen("part", "r");
        int value = -1000;
        if (file && fscanf(file, "%d", &value) == 1) sum += value;
        if (file) fclose(file); else sum -= 1000;
    }
    return puts(sum == 56 ? "PASS" : "FAIL") < 0;
}
END
mkdir -p case && echo 7 >case/part
run "$PCERE" capture --all-classes ./away
says "a region opens files where the program went" 0 out PASS
run "$PCERE" verify --threads 1,2 away.pcere
says "its replays find them there" 0 out 'identical'

# What getopt() left: a variable of the C library's, which an executable of fixed addresses has a copy of.
for pie in -pie -no-pie; do
    compile counted $pie <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static long sizes[64];
int main(int count, char **words)
{
    int option, times = 1;
    while ((option = getopt(count, words, "t:")) != -1) times = atoi(optarg);
    for (int k = 0; k < times; k++)
        #pragma omp parallel for
        for (int i = optind; i < count; i++)
            sizes[i] += words[i][0] + optind;
    return puts(sizes[3] == 3 * ('a' + 3) && !sizes[2] ? "PASS" : "FAIL") < 0;
}
END
    run "$PCERE" capture --force --all-classes -o counted.pcere ./counted -t 3 a b c d
    says "$pie: a region begins where options end" 0 out PASS
    run "$PCERE" verify --threads 1,2 counted.pcere
    says "$pie: and so do its replays" 0 out 'identical'
done

# What descriptors are ready, and what waits in them, is the program's; that verification finds another answer has this reason.
compile ready <<'END'
#include <poll.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>
static int ready = -1, waiting, values[1000];
int main(void)
{
    int empty[2], full[2];
    if (pipe(empty) || pipe(full) || write(full[1], "hello", 5) != 5) return 2;
    #pragma omp parallel for
    for (int i = 0; i < 1000; i++)
        if ((values[i] += i) == 7) { struct pollfd of = {empty[0], POLLIN, 0}; ready = poll(&of, 1, 0); }
    #pragma omp parallel for
    for (int i = 0; i < 1000; i++)
        if ((values[i] += i) == 14) ioctl(full[0], FIONREAD, &waiting);
    return puts(ready == 0 && waiting == 5 ? "PASS" : "FAIL") < 0;
}
END
run "$PCERE" capture --force --all-classes -o ready.pcere ./ready
says "regions that ask for descriptors are captured" 0 out PASS
run "$PCERE" verify ready.pcere
says "what they learn differs, with a reason" 1 out 'the region calls poll: what that tells of descriptors' out 'ready was 0, is 1'
run "$PCERE" verify ready.pcere --json
holds "named in the document" jq -e 'any(.codelets[]; .asks == ["poll"]) and any(.codelets[]; .asks == ["ioctl"])' .out
finish
