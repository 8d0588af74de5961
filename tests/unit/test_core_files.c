/* tests/unit/test_core_files.c - files whole or not at all, trees removed without following links, named faults. */
#include "core/faults.h"
#include "core/files.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>

static char folder[] = "/tmp/pcere-files-XXXXXX";
static int directory = -1;

static void open_folder(void)
{
    if (directory >= 0)
        return;
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CU_ASSERT_TRUE_FATAL(directory >= 0);
}

static void assert_content(const char *name, const char *expected)
{
    void *data;
    size_t bytes;
    CU_ASSERT_EQUAL_FATAL(file_read(directory, name, 1000000, &data, &bytes, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(bytes, strlen(expected));
    CU_ASSERT_STRING_EQUAL((char *)data, expected);
    free(data);
}

static void test_replace(void)
{
    struct stat about;
    open_folder();
    CU_ASSERT_EQUAL(file_replace(directory, "a", "one", 3, false, NULL, NULL), PCERE_OK);
    assert_content("a", "one");
    CU_ASSERT_EQUAL(file_replace(directory, "a", "", 0, true, NULL, NULL), PCERE_OK);
    assert_content("a", "");
    CU_ASSERT_EQUAL(fstatat(directory, "a", &about, 0), 0);
    CU_ASSERT_EQUAL(about.st_mode & 0777, 0600);
}

static void test_replace_fails_at_every_step(void)
{
    open_folder();
    CU_ASSERT_EQUAL(file_replace(directory, "b", "old", 3, true, "test.step", NULL), PCERE_OK);
    unsigned failures = 0;
    for (unsigned step = 1;; step++) {
        char words[40];
        struct pcere_error error = {0};
        snprintf(words, sizeof words, "test.step:%u:ENOSPC", step);
        CU_ASSERT_EQUAL_FATAL(fault_arm(words, NULL), PCERE_OK);
        enum pcere_status status = file_replace(directory, "b", "new", 3, true, "test.step", &error);
        fault_disarm();
        if (!status)
            break;
        failures++;
        CU_ASSERT_EQUAL(status, PCERE_SYSTEM);
        CU_ASSERT_EQUAL(error.errnum, ENOSPC);
        assert_content("b", "old");
        CU_ASSERT_NOT_EQUAL(faccessat(directory, "b.tmp", F_OK, 0), 0);
    }
    CU_ASSERT_EQUAL(failures, 4);      /* create, write, sync, rename */
    assert_content("b", "new");
}

static void test_interrupted_write_goes_on(void)
{
    open_folder();
    CU_ASSERT_EQUAL_FATAL(fault_arm("test.step:2:EINTR", NULL), PCERE_OK);
    CU_ASSERT_EQUAL(file_replace(directory, "c", "whole", 5, false, "test.step", NULL), PCERE_OK);
    fault_disarm();
    assert_content("c", "whole");
}

static void test_read_limits(void)
{
    void *data;
    size_t bytes;
    struct pcere_error error = {0};
    open_folder();
    CU_ASSERT_EQUAL(file_replace(directory, "d", "12345", 5, false, NULL, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(file_read(directory, "d", 4, &data, &bytes, &error), PCERE_DATA);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "more than 4 bytes"));
    CU_ASSERT_EQUAL(file_read(directory, "d", 5, &data, &bytes, NULL), PCERE_OK);
    free(data);
    CU_ASSERT_EQUAL(file_read(directory, "missing", 5, &data, &bytes, &error), PCERE_DATA);
    CU_ASSERT_EQUAL(error.errnum, ENOENT);
    CU_ASSERT_EQUAL(file_read(directory, ".", 5, &data, &bytes, &error), PCERE_DATA);
    CU_ASSERT_EQUAL(mkfifoat(directory, "pipe", 0600), 0);
    CU_ASSERT_EQUAL(file_read(directory, "pipe", 5, &data, &bytes, &error), PCERE_DATA);
    CU_ASSERT_EQUAL(file_read(AT_FDCWD, "/proc/self/status", 100000, &data, &bytes, NULL), PCERE_OK);
    CU_ASSERT_TRUE(bytes > 100);
    free(data);
}

static void test_copy_and_hash(void)
{
    void *data, *copy;
    size_t bytes, copied;
    uint64_t hash, length;
    open_folder();
    CU_ASSERT_EQUAL(file_copy("/proc/self/exe", directory, "copy", NULL, NULL), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(file_read(AT_FDCWD, "/proc/self/exe", 100000000, &data, &bytes, NULL), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(file_read(directory, "copy", 100000000, &copy, &copied, NULL), PCERE_OK);
    CU_ASSERT_TRUE(bytes == copied && memcmp(data, copy, bytes) == 0);
    CU_ASSERT_EQUAL(file_hash(directory, "copy", &hash, &length, NULL), PCERE_OK);
    CU_ASSERT_TRUE(length == bytes && hash == XXH64(data, bytes, 0));
    CU_ASSERT_EQUAL(file_copy("/nonexistent", directory, "copy", NULL, NULL), PCERE_USAGE);
    CU_ASSERT_EQUAL(file_copy("/tmp", directory, "copy", NULL, NULL), PCERE_USAGE);
    CU_ASSERT_EQUAL(file_hash(directory, "copy", &hash, &length, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(length, bytes);
    free(data);
    free(copy);
}

static void test_copy_between_file_systems(void)
{
    open_folder();
    CU_ASSERT_EQUAL(file_replace(directory, "e", "here", 4, false, NULL, NULL), PCERE_OK);
    char from[300];
    snprintf(from, sizeof from, "%s/e", folder);
    int memory = open("/dev/shm", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (memory < 0 || file_copy(from, memory, "pcere-test-copy", NULL, NULL) != PCERE_OK) {
        puts("(skipped: no /dev/shm to write to)");
        return;
    }
    void *data;
    size_t bytes;
    CU_ASSERT_EQUAL_FATAL(file_read(memory, "pcere-test-copy", 100, &data, &bytes, NULL), PCERE_OK);
    CU_ASSERT_STRING_EQUAL((char *)data, "here");
    free(data);
    CU_ASSERT_EQUAL(tree_remove(memory, "pcere-test-copy", NULL), PCERE_OK);
    close(memory);
}

static void test_trees(void)
{
    open_folder();
    CU_ASSERT_EQUAL(directory_make(directory, "tree", NULL), PCERE_OK);
    CU_ASSERT_EQUAL(directory_make(directory, "tree", NULL), PCERE_OK);
    CU_ASSERT_EQUAL(directory_make(directory, "tree/deep", NULL), PCERE_OK);
    CU_ASSERT_EQUAL(file_replace(directory, "tree/deep/leaf", "x", 1, false, NULL, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(directory_make(directory, "tree/deep/leaf", NULL), PCERE_SYSTEM);
    CU_ASSERT_EQUAL(file_replace(directory, "outside", "stays", 5, false, NULL, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(directory_make(directory, "kept", NULL), PCERE_OK);
    CU_ASSERT_EQUAL(file_replace(directory, "kept/file", "stays", 5, false, NULL, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(symlinkat("../../kept", directory, "tree/deep/link"), 0);
    CU_ASSERT_EQUAL(symlinkat("../outside", directory, "tree/link"), 0);
    CU_ASSERT_EQUAL(tree_remove(directory, "tree", NULL), PCERE_OK);
    CU_ASSERT_NOT_EQUAL(faccessat(directory, "tree", F_OK, 0), 0);
    assert_content("outside", "stays");
    assert_content("kept/file", "stays");
    CU_ASSERT_EQUAL(tree_remove(directory, "tree", NULL), PCERE_OK);
}

static void test_faults(void)
{
    CU_ASSERT_EQUAL(fault_point("x"), 0);
    CU_ASSERT_EQUAL(fault_arm("x:2:ENOSPC,y,z:2+", NULL), PCERE_OK);
    CU_ASSERT_EQUAL(fault_point("x"), 0);
    CU_ASSERT_EQUAL(fault_point("x"), ENOSPC);
    CU_ASSERT_EQUAL(fault_point("x"), 0);
    CU_ASSERT_EQUAL(fault_point("y"), EIO);
    CU_ASSERT_EQUAL(fault_point("y"), 0);
    CU_ASSERT_EQUAL(fault_point("z"), 0);
    CU_ASSERT_EQUAL(fault_point("z"), EIO);
    CU_ASSERT_EQUAL(fault_point("z"), EIO);
    CU_ASSERT_EQUAL(fault_point("w"), 0);
    fault_disarm();
    CU_ASSERT_EQUAL(fault_point("z"), 0);
}

static void test_bad_faults(void)
{
    static const char *const bad[] = {"", ":1", "x:0", "x:1:NOTHING", "x:1-", "x:1:EIO:", ",", "a,,b", "x:99999999999999999999999",
                                      "a,b,c,d,e,f,g,h,i"};
    CU_ASSERT_EQUAL(fault_arm("kept:1+:EIO", NULL), PCERE_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct pcere_error error = {0};
        CU_ASSERT_EQUAL(fault_arm(bad[i], &error), PCERE_USAGE);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "does not name faults"));
    }
    CU_ASSERT_EQUAL(fault_point("kept"), EIO);
    fault_disarm();
}

static void test_killing_fault(void)
{
    pid_t child = fork();
    if (!child) {
        fault_arm("here:2:KILL", NULL);
        fault_point("here");
        fault_point("here");
        _exit(0);
    }
    int status;
    CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
    CU_ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void test_everything_is_removed(void)
{
    open_folder();
    close(directory);
    CU_ASSERT_EQUAL(tree_remove(AT_FDCWD, folder, NULL), PCERE_OK);
    CU_ASSERT_NOT_EQUAL(access(folder, F_OK), 0);
}

static const struct unit_test tests[] = {
    {"a file is replaced whole", test_replace},
    {"a replacement that fails at any step leaves the old file and nothing else", test_replace_fails_at_every_step},
    {"an interrupted write goes on", test_interrupted_write_goes_on},
    {"reading has a limit and takes regular files only", test_read_limits},
    {"a copy has the same bytes and hash", test_copy_and_hash},
    {"a file is copied to another file system", test_copy_between_file_systems},
    {"a tree is removed, and what its links name is not", test_trees},
    {"a named fault fails the n-th time", test_faults},
    {"a bad list of faults is refused and changes nothing", test_bad_faults},
    {"a fault can kill the process", test_killing_fault},
    {"a tree is removed by its absolute path", test_everything_is_removed},
};

UNIT_MAIN("core: files and faults", tests)
