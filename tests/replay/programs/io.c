/* io.c - regions that read and write: streams and descriptors opened before, pipes, sockets, and files opened inside.
 *
 * It reads words.txt (lines "word N", N from 0) and writes log.txt, both in the current directory, and reads one line from standard input.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CHECK(x) ((x) ? (void)0 : (fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x), abort()))

static FILE *log_file, *words, *scratch, *out, *pipe_stream;
static int words_fd, log_fd, pipe_ends[2], sockets[2], input_pipe[2];
static long sum, bytes;
static char line[200], lines[20][40];

static void prints(void)
{
#pragma omp parallel for
    for (int i = 0; i < 20; i++) {
        printf("inside %d\n", i);
        fprintf(out, "through a pointer %d\n", i);
        fprintf(stderr, i == 7 ? "a message\n" : "");
    }
}

static void logs(void)
{
#pragma omp parallel for
    for (int i = 0; i < 2000; i++) {
        fprintf(log_file, "step %d of the loop\n", i);
        putc('.', log_file);
    }
}

static void logs_raw(void)
{
#pragma omp parallel for reduction(+ : bytes)
    for (int i = 0; i < 100; i++)
        bytes += write(log_fd, "raw\n", 4);
}

static void scans(void)
{
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 900; i++) {
        int number = -1;
        CHECK(fscanf(words, " word %d", &number) == 1);
        sum += number;
    }
}

static void gets(void)
{
#pragma omp parallel
#pragma omp single
    while (fgets(line, sizeof line, words))
        sum += (long)strlen(line);
}

static void reads(void)
{
#pragma omp parallel
#pragma omp single
    {
        char block[1000];
        ssize_t got;
        CHECK(lseek(words_fd, 0, SEEK_CUR) == 70);
        while ((got = read(words_fd, block, sizeof block)) > 0)
            for (ssize_t i = 0; i < got; i++)
                sum += block[i];
        CHECK(pread(words_fd, block, 6, 0) == 6 && !memcmp(block, "word 0", 6));
    }
}

static void reads_and_writes(void)
{
#pragma omp parallel
#pragma omp single
    {
        int value = 0;
        rewind(scratch);
        CHECK(fscanf(scratch, "%d", &value) == 1);
        sum += value;
        rewind(scratch);
        fprintf(scratch, "%d", value + 1);
        fflush(scratch);
    }
}

static void opens(void)
{
#pragma omp parallel for
    for (int i = 0; i < 20; i++) {
        char name[40];
        snprintf(name, sizeof name, "made-%d.txt", i);
        FILE *file = fopen(name, "w");
        CHECK(file && fprintf(file, "%d", i * i) > 0 && fclose(file) == 0);
        file = fopen(name, "r+");
        CHECK(file && fgets(lines[i], sizeof lines[i], file) && atoi(lines[i]) == i * i);
        CHECK(fclose(file) == 0 && (i % 2 || unlink(name) == 0));
    }
    for (int i = 1; i < 20; i += 2)
        CHECK(access((snprintf(line, sizeof line, "made-%d.txt", i), line), R_OK) == 0);
}

static void opens_old(void)
{
#pragma omp parallel
#pragma omp single
    {
        FILE *file = fopen("words.txt", "r");
        CHECK(file && fgets(line, sizeof line, file) && !strcmp(line, "word 0\n"));
        fclose(file);
        int descriptor = open("old.txt", O_RDWR);
        char number[4];
        CHECK(descriptor >= 0 && pread(descriptor, number, 4, 0) == 4);
        number[0]++;
        CHECK(pwrite(descriptor, number, 4, 0) == 4 && close(descriptor) == 0);
    }
}

static void renames(void)
{
#pragma omp parallel
#pragma omp single
    CHECK(rename("old.txt", "older.txt") == 0 && rename("older.txt", "old.txt") == 0);
}

static void closes(void)
{
#pragma omp parallel
#pragma omp single
    {
        fclose(words);
        words = fopen("words.txt", "r");
        CHECK(words && fgets(line, sizeof line, words));
    }
}

static void writes_pipe(void)
{
#pragma omp parallel for reduction(+ : bytes)
    for (int i = 0; i < 100; i++)
        bytes += write(pipe_ends[1], "to a pipe\n", 10);
}

static void reads_pipe(void)
{
#pragma omp parallel
#pragma omp single
    {
        char block[100];
        CHECK(read(input_pipe[0], block, 5) == 5);
        sum += block[0];
    }
}

static void reads_pipe_stream(void)
{
#pragma omp parallel
#pragma omp single
    {
        CHECK(fgets(line, sizeof line, pipe_stream));
        sum += line[0];
    }
}

static void reads_socket(void)
{
#pragma omp parallel
#pragma omp single
    {
        char block[100];
        CHECK(recv(sockets[0], block, 5, 0) == 5);
        sum += block[0];
    }
}

static void sends(void)
{
#pragma omp parallel
#pragma omp single
    CHECK(send(sockets[1], "hello", 5, 0) == 5);
}

static void reads_input(void)
{
#pragma omp parallel
#pragma omp single
    CHECK(fgets(line, sizeof line, stdin));
}

static void computes(void)
{
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 1000; i++)
        sum += i % 7;
}

int main(void)
{
    char block[70];
    CHECK((log_file = fopen("log.txt", "w")) && fprintf(log_file, "before\n") > 0);
    CHECK((words = fopen("words.txt", "r")) && fgets(line, sizeof line, words));
    CHECK((words_fd = open("words.txt", O_RDONLY)) >= 0 && read(words_fd, block, sizeof block) == sizeof block);
    CHECK((log_fd = open("log.txt", O_WRONLY | O_APPEND)) >= 0);
    CHECK((scratch = tmpfile()) && fprintf(scratch, "41") > 0 && fflush(scratch) == 0);
    CHECK(pipe(pipe_ends) == 0 && pipe(input_pipe) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
    out = stdout;
    printf("before\n");
    prints();
    logs();
    logs_raw();
    scans();
    gets();
    reads();
    reads_and_writes();
    opens();
    opens_old();
    renames();
    closes();
    writes_pipe();
    CHECK(bytes == 400 + 1000);
    CHECK(write(input_pipe[1], "12345\nabc\ndef\n", 14) == 14);
    reads_pipe();
    CHECK((pipe_stream = fdopen(input_pipe[0], "r")) && fgets(line, sizeof line, pipe_stream) && fgets(line, sizeof line, pipe_stream));
    reads_pipe_stream();
    CHECK(send(sockets[1], "first", 5, 0) == 5);
    reads_socket();
    sends();
    reads_input();
    computes();
    CHECK(sum > 0);
    puts("PASS");
    return 0;
}
