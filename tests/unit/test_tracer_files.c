/* tests/unit/test_tracer_files.c - what is open in a process, and what two looks at it tell. The process is this one. */
#include "capture-rt/tracer/files.h"
#include "tests/unit/unit.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* By name: a reference from here would give an executable of fixed addresses copies of its own. */
static uintptr_t address_of(const char *name)
{
    return (uintptr_t)dlsym(RTLD_DEFAULT, name);
}

static struct capture_log made;

static const struct capture_log *log_make(void)
{
    static const char *const standard[] = {"_IO_2_1_stdin_", "_IO_2_1_stdout_", "_IO_2_1_stderr_"};
    made.stream_list = address_of("_IO_list_all");
    made.stream_tables[0] = address_of("_IO_file_jumps");
    made.stream_tables[1] = address_of("_IO_wfile_jumps");
    for (int i = 0; i < 3; i++)
        made.standard_streams[i] = address_of(standard[i]);
    return &made;
}

static struct files look(int own)
{
    struct files files = {0};
    CU_ASSERT_EQUAL_FATAL(files_read(getpid(), log_make(), own, &files, NULL), PCERE_OK);
    return files;
}

static const struct store_descriptor *find(const struct files *files, int number)
{
    for (size_t i = 0; i < files->count; i++)
        if (files->descriptors[i].number == number)
            return &files->descriptors[i];
    return NULL;
}

static const struct store_stream *find_stream(const struct files *files, const FILE *stream)
{
    for (size_t i = 0; i < files->stream_count; i++)
        if (files->streams[i].address == (uintptr_t)stream)
            return &files->streams[i];
    return NULL;
}

static FILE *file_make(char path[40])
{
    strcpy(path, "/tmp/pcere-files-XXXXXX");
    int number = mkstemp(path);
    FILE *file = fdopen(number, "r+");
    for (int i = 0; i < 3000; i++)
        fprintf(file, "line %d\n", i);
    rewind(file);
    return file;
}

static void test_kinds(void)
{
    char path[40];
    FILE *file = file_make(path);
    int ends[2], sockets[2], events = epoll_create1(0), folder = open("/tmp", O_RDONLY | O_DIRECTORY), null = open("/dev/null", O_RDWR);
    CU_ASSERT_EQUAL_FATAL(pipe(ends) | socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
    CU_ASSERT_EQUAL(lseek(fileno(file), 7, SEEK_SET), 7);
    struct files files = look(null);
    const struct store_descriptor *found = find(&files, fileno(file));
    CU_ASSERT_PTR_NOT_NULL_FATAL(found);
    CU_ASSERT_EQUAL(found->kind, STORE_DESCRIPTOR_FILE);
    CU_ASSERT_EQUAL(found->offset, 7);
    CU_ASSERT_EQUAL(found->flags & O_ACCMODE, O_RDWR);
    CU_ASSERT_STRING_EQUAL(found->path, path);
    CU_ASSERT_EQUAL(found->marks, 0);
    CU_ASSERT_EQUAL(find(&files, ends[0])->kind, STORE_DESCRIPTOR_PIPE);
    CU_ASSERT_EQUAL(find(&files, ends[1])->flags & O_ACCMODE, O_WRONLY);
    CU_ASSERT_EQUAL(find(&files, sockets[1])->kind, STORE_DESCRIPTOR_SOCKET);
    CU_ASSERT_EQUAL(find(&files, events)->kind, STORE_DESCRIPTOR_OTHER);
    CU_ASSERT_EQUAL(find(&files, folder)->kind, STORE_DESCRIPTOR_DIRECTORY);
    CU_ASSERT_PTR_NULL(find(&files, null));
    for (size_t i = 1; i < files.count; i++)
        CU_ASSERT_TRUE(files.descriptors[i].number > files.descriptors[i - 1].number);
    files_done(&files);
    CU_ASSERT_EQUAL(unlink(path), 0);
    files = look(-1);
    found = find(&files, fileno(file));
    CU_ASSERT_EQUAL(found->marks, STORE_DESCRIPTOR_DELETED);
    CU_ASSERT_STRING_EQUAL(found->path, path);
    CU_ASSERT_EQUAL(find(&files, null)->kind, STORE_DESCRIPTOR_DEVICE);
    files_done(&files);
    fclose(file);
    const int all[] = {events, folder, null, ends[0], ends[1], sockets[0], sockets[1]};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        close(all[i]);
}

static void test_streams(void)
{
    char path[40], memory[20];
    FILE *file = file_make(path), *text = fmemopen(memory, sizeof memory, "w");
    struct files files = look(-1);
    const struct store_stream *found = find_stream(&files, file);
    CU_ASSERT_PTR_NOT_NULL_FATAL(found);
    CU_ASSERT_EQUAL(found->kind, STORE_STREAM_FILE);
    CU_ASSERT_EQUAL(found->descriptor, fileno(file));
    CU_ASSERT_EQUAL(memcmp(found->bytes, file, sizeof(FILE)), 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(find_stream(&files, stdout));
    CU_ASSERT_EQUAL(find_stream(&files, stdout)->kind, STORE_STREAM_STDOUT);
    CU_ASSERT_PTR_NULL(find_stream(&files, text));
    CU_ASSERT_EQUAL(files.foreign_count, 1);
    CU_ASSERT_EQUAL(files.foreign[0].address, (uintptr_t)text);
    struct files after = look(-1);
    files_compare(&files, &after);
    CU_ASSERT_EQUAL(files.used.address, 0);
    files_done(&after);
    fputs("used", text);
    after = look(-1);
    files_compare(&files, &after);
    CU_ASSERT_EQUAL(files.used.address, (uintptr_t)text);
    CU_ASSERT_FALSE(files.used.wide);
    files_done(&after);
    files_done(&files);
    fclose(text);
    fclose(file);
    unlink(path);
}

static void test_hostile_lists(void)
{
    FILE loop = *stdin;
    loop._chain = &loop;
    struct { FILE file; uintptr_t table; } fake = {loop, address_of("_IO_file_jumps")};
    fake.file._chain = &fake.file;
    FILE *head = &fake.file;
    struct files files = {0};
    log_make();
    made.stream_list = (uintptr_t)&head;
    CU_ASSERT_EQUAL(files_read(getpid(), &made, -1, &files, NULL), PCERE_OK);
    CU_ASSERT_TRUE(files.stream_count > 0 && files.stream_count <= 4096);
    files_done(&files);
    made.stream_list = 12345;
    CU_ASSERT_EQUAL(files_read(getpid(), &made, -1, &files, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(files.stream_count, 0);
    files_done(&files);
}

/* Words and reason for what `act` does. */
static char *told(void (*act)(void), char **ret_reason)
{
    char *words = NULL;
    struct files before = look(-1);
    files_settle(&before);
    act();
    struct files after = look(-1);
    files_compare(&before, &after);
    CU_ASSERT_EQUAL(files_words(&before, &after, &words, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(files_obstacle(&before, ret_reason, NULL), PCERE_OK);
    files_done(&before);
    files_done(&after);
    return words;
}

static FILE *acted;
static int numbers[2];
static void act_gets(void) { char line[40]; CU_ASSERT_PTR_NOT_NULL(fgets(line, sizeof line, acted)); }
static void act_puts(void) { fputs("x", acted); }
static void act_leap(void) { CU_ASSERT_EQUAL(lseek(fileno(acted), 1 << 30, SEEK_SET), 1 << 30); }
static void act_read(void) { char c; CU_ASSERT_EQUAL(read(numbers[0], &c, 1), 1); }

static void test_what_a_region_did(void)
{
    char path[40], *reason = NULL, *words;
    acted = file_make(path);
    words = told(act_gets, &reason);
    CU_ASSERT_PTR_NOT_NULL_FATAL(words);
    CU_ASSERT_PTR_NOT_NULL(strstr(words, "reads pcere-files-"));
    CU_ASSERT_PTR_NULL(reason);
    free(words);
    fseek(acted, 0, SEEK_END);
    words = told(act_puts, &reason);
    CU_ASSERT_PTR_NOT_NULL_FATAL(words);
    CU_ASSERT_PTR_NOT_NULL(strstr(words, "writes pcere-files-"));
    free(words);
    fclose(acted);
    unlink(path);
}

/* What this process has open is its looker's as well here, as what a program inherits is. */
static void test_what_another_did(void)
{
    char path[40], *reason = NULL, *words;
    acted = file_make(path);
    words = told(act_leap, &reason);
    CU_ASSERT_TRUE(!words || !strstr(words, "pcere-files-"));
    CU_ASSERT_PTR_NULL(reason);
    free(words);
    fclose(acted);
    unlink(path);
}

static void test_obstacles(void)
{
    char *reason = NULL, *words, expected[100];
    CU_ASSERT_EQUAL_FATAL(pipe(numbers), 0);
    CU_ASSERT_EQUAL(write(numbers[1], "abc", 3), 3);
    words = told(act_read, &reason);
    snprintf(expected, sizeof expected, "it reads from a pipe (descriptor %d), and what came from there is not in the capture", numbers[0]);
    CU_ASSERT_PTR_NOT_NULL_FATAL(reason);
    CU_ASSERT_STRING_EQUAL(reason, expected);
    free(words);
    free(reason);
    close(numbers[0]);
    close(numbers[1]);
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM, 0, numbers), 0);
    CU_ASSERT_EQUAL(write(numbers[1], "abc", 3), 3);
    words = told(act_read, &reason);
    CU_ASSERT_PTR_NOT_NULL_FATAL(reason);
    CU_ASSERT_PTR_NOT_NULL(strstr(reason, "a socket"));
    free(words);
    free(reason);
    acted = fdopen(numbers[0], "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(acted);
    CU_ASSERT_EQUAL(write(numbers[1], "line\n", 5), 5);
    words = told(act_gets, &reason);
    CU_ASSERT_PTR_NOT_NULL_FATAL(words);
    CU_ASSERT_PTR_NOT_NULL(strstr(words, "reads a socket"));
    CU_ASSERT_PTR_NULL(strstr(words, "writes a socket"));
    free(words);
    free(reason);
    fclose(acted);
    close(numbers[1]);
}

static char opened[40];
static int kept;
static void act_open(void)
{
    char c;
    int file = open(opened, O_RDONLY);
    CU_ASSERT_EQUAL(read(file, &c, 1), 1);
    close(file);
}

static void test_what_it_opened(void)
{
    char path[40];
    FILE *file = file_make(path);
    fclose(file);
    memcpy(opened, path, sizeof opened);
    struct files before = look(-1);
    for (size_t i = 0; i < before.count; i++)             /* whatever this test inherits is none that could be read */
        before.descriptors[i].flags = O_WRONLY;
    act_open();
    struct files after = look(-1);
    files_compare(&before, &after);
    CU_ASSERT_TRUE(before.read_elsewhere);
    CU_ASSERT_TRUE(before.read_opened);
    files_done(&before);
    files_done(&after);
    kept = open(path, O_RDONLY);
    before = look(-1);
    act_open();
    after = look(-1);
    files_compare(&before, &after);
    CU_ASSERT_TRUE(before.read_elsewhere);
    CU_ASSERT_FALSE(before.read_opened);                  /* it may come from there, as by pread */
    files_done(&before);
    files_done(&after);
    close(kept);
    unlink(path);
}

static void test_tracking(void)
{
    int tracking = (int)syscall(SYS_userfaultfd, O_CLOEXEC | 1 /* of user mode only */), null = open("/dev/null", O_RDONLY);
    if (tracking < 0) {
        puts("SKIPPED: userfaultfd is not permitted here");
        close(null);
        return;
    }
    struct files files = look(-1);
    CU_ASSERT_PTR_NOT_NULL(find(&files, tracking));     /* one of the program's */
    files_done(&files);
    made.stop.tracking_sent = (uint32_t)tracking + 1;
    files = look(-1);
    CU_ASSERT_PTR_NULL(find(&files, tracking));
    files_done(&files);
    made.stop.tracking_sent = (uint32_t)null + 1;       /* closed since, and the number used again */
    files = look(-1);
    CU_ASSERT_PTR_NOT_NULL(find(&files, null));
    files_done(&files);
    made.stop.tracking_sent = 0;
    close(tracking);
    close(null);
}

static const struct unit_test tests[] = {
    {"each kind of descriptor is told, with its path, position and flags", test_kinds},
    {"the descriptor that the capture itself made is left out, another of its number is not", test_tracking},
    {"streams of files are found, those into memory are not", test_streams},
    {"a list of streams without end, or nowhere, does no harm", test_hostile_lists},
    {"reading and writing through streams is seen, with the file's name", test_what_a_region_did},
    {"a position of a file that others have, too, and that moved farther than was read, is theirs", test_what_another_did},
    {"reading from pipes and sockets is an obstacle, in words", test_obstacles},
    {"what a region opened itself is told from what was open before", test_what_it_opened},
};

UNIT_MAIN("tracer: files", tests)
