/* tests/unit/test_store_failures.c - killed writers, full disks, old stores that are replaced: what was whole stays whole. */
#include "core/faults.h"
#include "tests/unit/store_sample.h"
#include "tests/unit/unit.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#define STEPS_MOST 200

static void silence_codelet_name(struct sample_store *made)
{
    free(made->codelet_name);
    made->codelet_name = NULL;
}

/* A capture: pages, three codelets, samples of everything else. Ends with the first failure. */
static enum pcere_status write_store(struct sample_store *made, bool force, struct pcere_error *error)
{
    enum pcere_status status = store_writer_open(made->path, force, SAMPLE_PAGE, 2, &made->writer, error);
    if (status)
        return status;
    status = store_writer_program(made->writer, "/bin/true", error);
    for (unsigned i = 0; i < 3 && !status; i++) {
        free(made->data);
        made->data = sample_pages(made->page_count, i + 20);
        status = store_writer_pages(made->writer, made->data, made->page_count, made->pages, error);
        silence_codelet_name(made);
        if (!status)
            status = sample_add_codelet(made, error);
        if (!status)
            status = sample_add_manifest(made, false, error);
    }
    if (!status)
        status = sample_add_manifest(made, true, error);
    store_writer_close(made->writer);
    made->writer = NULL;
    return status;
}

static void prepare(struct sample_store *made, size_t pages)
{
    *made = (struct sample_store){.page_count = pages};
    snprintf(made->folder, sizeof made->folder, "/tmp/pcere-test-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(made->folder));
    snprintf(made->path, sizeof made->path, "%s/sample.pcere", made->folder);
    made->pages = calloc(pages + 1, sizeof *made->pages);
}

/* How many codelets the store has, if it is there: it must open, and all of it must be whole. -1: it is not there. */
static int count_codelets(const struct sample_store *made)
{
    struct store *store;
    struct pcere_error error = {0};
    char path[300];
    if (access(made->path, F_OK) != 0)
        return -1;
    enum pcere_status status = store_open(made->path, &store, &error);
    if (!status) {
        status = store_check(store, &error);
        store_close(store);
    }
    if (status) {
        fprintf(stderr, "%s\n", error.message);
        CU_FAIL("a store that was cut off is not whole");
        return -2;
    }
    snprintf(path, sizeof path, "%s/codelets", made->path);
    DIR *listing = opendir(path);
    int count = 0;
    CU_ASSERT_PTR_NOT_NULL_FATAL(listing);
    for (struct dirent *entry; (entry = readdir(listing));)
        count += strstr(entry->d_name, ".codelet") && !strstr(entry->d_name, ".tmp");
    closedir(listing);
    return count;
}

static void write_in_child_and_kill(struct sample_store *made, bool force, long wait_ns)
{
    pid_t child = fork();
    CU_ASSERT_NOT_EQUAL_FATAL(child, -1);
    if (!child)
        _exit((int)write_store(made, force, NULL));
    nanosleep(&(struct timespec){.tv_sec = wait_ns / 1000000000, .tv_nsec = wait_ns % 1000000000}, NULL);
    kill(child, SIGKILL);
    int status;
    CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
}

/* How long one takes that nobody kills: less than a second, at least as far as kills are concerned. */
static long write_ns(struct sample_store *made)
{
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    CU_ASSERT_EQUAL_FATAL(write_store(made, false, NULL), PCERE_OK);
    clock_gettime(CLOCK_MONOTONIC, &end);
    char command[300];
    snprintf(command, sizeof command, "rm -rf '%s'", made->path);
    CU_ASSERT_EQUAL_FATAL(system(command), 0);
    long took_ns = (end.tv_sec - begin.tv_sec) * 1000000000L + end.tv_nsec - begin.tv_nsec;
    return took_ns < 400000000 ? took_ns : 400000000;
}

static void test_killed_at_random(void)
{
    struct sample_store made;
    int seen[4] = {0};
    prepare(&made, 2000);
    srand(7);
    long most_ns = write_ns(&made);
    for (int i = 0; i < 100 || seen[0] == i; i++) {
        char command[300];
        if (i >= 100)
            most_ns *= 2;                /* the machine was faster before: all kills came too early to find a codelet */
        write_in_child_and_kill(&made, false, (long)((double)rand() / RAND_MAX * (double)most_ns));
        int codelets = count_codelets(&made);
        CU_ASSERT_TRUE(codelets <= 3);
        seen[codelets > 0 ? codelets : 0]++;
        snprintf(command, sizeof command, "rm -rf '%s'", made.path);
        CU_ASSERT_EQUAL_FATAL(system(command), 0);
    }
    CU_ASSERT_TRUE(seen[1] + seen[2] + seen[3] > 0);
    CU_ASSERT_EQUAL(write_store(&made, false, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(count_codelets(&made), 3);
    sample_store_done(&made);
}

static const char *const fault_names[] = {
    "store.mkdir", "store.rename", "store.sync", "pages.create", "pages.write", "samples.create", "manifest.write", "codelet.write",
    "program.write", "ring.map", "table.map",
};
#define FAULT_COUNT (sizeof fault_names / sizeof *fault_names)

/* Like a kill at random, but at every single step. */
static void test_killed_at_every_step(void)
{
    struct sample_store made;
    unsigned killed = 0;
    prepare(&made, 300);
    for (size_t i = 0; i < FAULT_COUNT; i++)
        for (unsigned step = 1, more = 1; more; step++) {
            char words[80], command[300];
            snprintf(words, sizeof words, "%s:%u:KILL", fault_names[i], step);
            pid_t child = fork();
            if (!child) {
                fault_arm(words, NULL);
                _exit((int)write_store(&made, false, NULL));
            }
            int status;
            CU_ASSERT_EQUAL_FATAL(waitpid(child, &status, 0), child);
            more = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
            killed += more;
            CU_ASSERT_TRUE_FATAL(more || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
            int codelets = count_codelets(&made);
            CU_ASSERT_TRUE(codelets <= 3 && (more || codelets == 3));
            snprintf(command, sizeof command, "rm -rf '%s'", made.path);
            CU_ASSERT_EQUAL_FATAL(system(command), 0);
            CU_ASSERT_TRUE_FATAL(step < STEPS_MOST);
        }
    CU_ASSERT_TRUE(killed > 40);
    sample_store_done(&made);
}

static void test_disk_full_at_every_step(void)
{
    struct sample_store made;
    unsigned failures = 0;
    prepare(&made, 300);
    for (size_t i = 0; i < FAULT_COUNT; i++)
        for (unsigned step = 1, more = 1; more; step++) {
            char words[80], command[500];
            struct pcere_error error = {0};
            snprintf(words, sizeof words, "%s:%u+:ENOSPC", fault_names[i], step);
            CU_ASSERT_EQUAL_FATAL(fault_arm(words, NULL), PCERE_OK);
            enum pcere_status status = write_store(&made, false, &error);
            fault_disarm();
            more = status != PCERE_OK;
            failures += more;
            if (more) {
                CU_ASSERT_EQUAL(status, PCERE_SYSTEM);
                CU_ASSERT_TRUE(*error.message);
                if (error.errnum == ENOSPC)
                    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "No space left"));
            }
            int codelets = count_codelets(&made);
            CU_ASSERT_TRUE(codelets <= 3 && (more || codelets == 3));
            snprintf(command, sizeof command, "rm -rf '%s' '%s.new'", made.path, made.path);
            CU_ASSERT_EQUAL_FATAL(system(command), 0);
            CU_ASSERT_TRUE_FATAL(step < STEPS_MOST);
        }
    CU_ASSERT_TRUE(failures > 40);
    sample_store_done(&made);
}

struct heard { enum pcere_status status; bool called; };

static void hear(void *context, const char *name, uint64_t stored_bytes, const struct pcere_error *error)
{
    (void)name;
    (void)stored_bytes;
    *(struct heard *)context = (struct heard){error ? error->status : PCERE_OK, true};
}

static void test_full_disk_is_heard_of_later(void)
{
    struct sample_store made;
    struct heard heard = {0};
    struct store_codelet codelet = {.region = strdup("r"), .invocation = 2};
    struct pcere_error error = {0};
    sample_store_make(&made, 100, false);
    CU_ASSERT_EQUAL(sample_add_codelet(&made, NULL), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(fault_arm("pages.write:1+:ENOSPC", NULL), PCERE_OK);
    unsigned char *data = sample_pages(6000, 77);
    uint64_t *pages = calloc(6000, sizeof *pages);
    enum pcere_status status = PCERE_OK;
    for (int i = 0; i < 10000 && status == PCERE_OK; i++) {      /* the writing thread meets it when it comes to it */
        status = store_writer_pages(made.writer, data, 6000, pages, &error);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    CU_ASSERT_EQUAL(status, PCERE_SYSTEM);
    CU_ASSERT_EQUAL(error.errnum, ENOSPC);
    CU_ASSERT_EQUAL(store_writer_codelet_async(made.writer, &codelet, hear, &heard, NULL), PCERE_OK);
    struct store_manifest manifest = {.complete = true};
    CU_ASSERT_EQUAL(store_writer_manifest(made.writer, &manifest, &error), PCERE_OK);
    fault_disarm();
    CU_ASSERT_TRUE(heard.called);
    CU_ASSERT_EQUAL(heard.status, PCERE_SYSTEM);
    store_writer_close(made.writer);
    made.writer = NULL;
    CU_ASSERT_EQUAL(count_codelets(&made), 1);
    free(data);
    free(pages);
    sample_store_done(&made);
}

static void test_failure_that_nobody_heard_of_is_told_by_the_manifest(void)
{
    struct sample_store made;
    struct store_codelet codelet = {.region = strdup("r"), .invocation = 2};
    struct pcere_error error = {0};
    sample_store_make(&made, 100, false);
    CU_ASSERT_EQUAL_FATAL(fault_arm("pages.write:1+:ENOSPC", NULL), PCERE_OK);
    CU_ASSERT_EQUAL(store_writer_codelet_async(made.writer, &codelet, NULL, NULL, NULL), PCERE_OK);
    struct store_manifest manifest = {.complete = true};
    CU_ASSERT_EQUAL(store_writer_manifest(made.writer, &manifest, &error), PCERE_SYSTEM);
    CU_ASSERT_EQUAL(error.errnum, ENOSPC);
    fault_disarm();
    store_writer_close(made.writer);
    made.writer = NULL;
    struct store *store = sample_store_open(&made);
    CU_ASSERT_FALSE(store_manifest(store)->complete);
    CU_ASSERT_EQUAL(store_check(store, NULL), PCERE_OK);
    store_close(store);
    sample_store_done(&made);
}

/* ---- replacing ----------------------------------------------------------------------------------------------------------- */

static void test_existing_store_is_refused_without_force(void)
{
    struct sample_store made;
    struct store_writer *writer;
    struct pcere_error error = {0};
    sample_store_make_of(&made, 10, true, "/bin/true");
    CU_ASSERT_EQUAL(store_writer_open(made.path, false, SAMPLE_PAGE, 1, &writer, &error), PCERE_USAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.hint, "--force"));
    CU_ASSERT_EQUAL(count_codelets(&made), 1);
    sample_store_done(&made);
}

static void test_what_is_no_store_is_never_replaced(void)
{
    struct sample_store made;
    struct store_writer *writer;
    char path[300], inside[320];
    sample_store_make_of(&made, 10, true, "/bin/true");
    snprintf(path, sizeof path, "%s/home", made.folder);
    snprintf(inside, sizeof inside, "%s/letter", path);
    CU_ASSERT_EQUAL(mkdir(path, 0700), 0);
    CU_ASSERT_EQUAL(store_writer_open(path, true, SAMPLE_PAGE, 1, &writer, NULL), PCERE_USAGE);
    sample_write(inside, "dear", 4);
    CU_ASSERT_EQUAL(store_writer_open(path, true, SAMPLE_PAGE, 1, &writer, NULL), PCERE_USAGE);
    CU_ASSERT_EQUAL(store_writer_open(inside, true, SAMPLE_PAGE, 1, &writer, NULL), PCERE_USAGE);
    CU_ASSERT_EQUAL(access(inside, F_OK), 0);
    char staging[300];
    snprintf(staging, sizeof staging, "%s/fresh.pcere.new", made.folder);
    CU_ASSERT_EQUAL(rename(path, staging), 0);
    snprintf(path, sizeof path, "%s/fresh.pcere", made.folder);
    CU_ASSERT_EQUAL(store_writer_open(path, true, SAMPLE_PAGE, 1, &writer, NULL), PCERE_USAGE);
    snprintf(inside, sizeof inside, "%s/letter", staging);
    CU_ASSERT_EQUAL(access(inside, F_OK), 0);
    sample_store_done(&made);
}

static void test_store_in_use_is_refused(void)
{
    struct sample_store made;
    struct store_writer *writer;
    struct pcere_error error = {0};
    sample_store_make(&made, 10, false);
    CU_ASSERT_EQUAL(store_writer_open(made.path, true, SAMPLE_PAGE, 1, &writer, &error), PCERE_USAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "being written"));
    sample_store_done(&made);
}

static void test_replacing_keeps_one_of_both_at_every_step(void)
{
    struct sample_store made;
    unsigned old = 0, fresh = 0;
    sample_store_make_of(&made, 50, true, "/bin/true");
    for (size_t i = 0; i < FAULT_COUNT; i++)
        for (unsigned step = 1, more = 1; more; step++) {
            char words[80];
            snprintf(words, sizeof words, "%s:%u:KILL", fault_names[i], step);
            pid_t child = fork();
            if (!child) {
                fault_arm(words, NULL);
                _exit((int)write_store(&made, true, NULL));
            }
            int status;
            CU_ASSERT_EQUAL_FATAL(waitpid(child, &status, 0), child);
            more = WIFSIGNALED(status);
            int codelets = count_codelets(&made);
            CU_ASSERT_TRUE(codelets == 1 || codelets == 3);
            old += codelets == 1;
            fresh += codelets == 3;
            CU_ASSERT_TRUE(more || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
            CU_ASSERT_TRUE_FATAL(step < STEPS_MOST);
        }
    CU_ASSERT_TRUE(old > 0 && fresh > 0);
    sample_store_done(&made);
}

static void test_replacing_keeps_one_of_both_when_killed_at_random(void)
{
    struct sample_store made;
    prepare(&made, 500);
    CU_ASSERT_EQUAL_FATAL(write_store(&made, false, NULL), PCERE_OK);
    srand(11);
    for (int i = 0; i < 60; i++) {
        write_in_child_and_kill(&made, true, rand() % 20000000);
        CU_ASSERT_EQUAL(count_codelets(&made), 3);
    }
    CU_ASSERT_EQUAL(write_store(&made, true, NULL), PCERE_OK);
    char staging[300];
    snprintf(staging, sizeof staging, "%s.new", made.path);
    CU_ASSERT_NOT_EQUAL(access(staging, F_OK), 0);
    sample_store_done(&made);
}

static void test_forced_capture_that_wrote_nothing_keeps_the_old_store(void)
{
    struct sample_store made;
    struct store_writer *writer;
    sample_store_make_of(&made, 50, true, "/bin/true");
    CU_ASSERT_EQUAL_FATAL(store_writer_open(made.path, true, SAMPLE_PAGE, 1, &writer, NULL), PCERE_OK);
    store_writer_close(writer);
    CU_ASSERT_EQUAL(count_codelets(&made), 1);
    sample_store_done(&made);
}

static void test_capture_that_wrote_nothing_leaves_nothing(void)
{
    struct sample_store made;
    struct store_writer *writer;
    prepare(&made, 1);
    CU_ASSERT_EQUAL_FATAL(store_writer_open(made.path, false, SAMPLE_PAGE, 1, &writer, NULL), PCERE_OK);
    store_writer_close(writer);
    CU_ASSERT_EQUAL(count_codelets(&made), -1);
    sample_store_done(&made);
}

/* ---- samples ------------------------------------------------------------------------------------------------------------- */

static void test_samples_of_many_processes_are_whole(void)
{
    enum { WRITERS = 6, LINES = 40 };
    struct sample_store made;
    sample_store_make_of(&made, 3, true, "/bin/true");
    for (int i = 0; i < WRITERS; i++)
        if (fork() == 0) {
            struct store *store;
            if (store_open(made.path, &store, NULL))
                _exit(1);
            for (int line = 0; line < LINES / 2; line++)
                sample_add_samples(store);
            _exit(0);
        }
    for (int i = 0, status; i < WRITERS; i++) {
        CU_ASSERT_TRUE(wait(&status) > 0);
        CU_ASSERT_EQUAL(status, 0);
    }
    struct store *store = sample_store_open(&made);
    struct store_sample *samples;
    size_t count = 0;
    CU_ASSERT_EQUAL_FATAL(store_samples_load(store, &samples, &count, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(count, 2 + WRITERS * LINES);
    store_samples_free(samples, count);
    store_close(store);
    sample_store_done(&made);
}

static void test_torn_sample_is_dropped_by_the_next_one(void)
{
    struct sample_store made;
    struct store_sample *samples, sample = {.kind = (char[]){"run"}};
    char path[300];
    size_t count = 0;
    sample_store_make_of(&made, 3, true, "/bin/true");
    snprintf(path, sizeof path, "%s/samples.jsonl", made.path);
    int descriptor = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    CU_ASSERT_EQUAL(write(descriptor, "{\"kind\":\"ru", 11), 11);
    close(descriptor);
    struct store *store = sample_store_open(&made);
    CU_ASSERT_EQUAL_FATAL(store_samples_load(store, &samples, &count, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(count, 2);
    store_samples_free(samples, count);
    CU_ASSERT_EQUAL_FATAL(store_sample_append(store, &sample, NULL), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(store_samples_load(store, &samples, &count, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(count, 3);
    store_samples_free(samples, count);

    struct pcere_error error = {0};
    fault_arm("samples.write:1:ENOSPC", NULL);
    CU_ASSERT_EQUAL(store_sample_append(store, &sample, &error), PCERE_SYSTEM);
    fault_disarm();
    CU_ASSERT_EQUAL(error.errnum, ENOSPC);
    CU_ASSERT_EQUAL_FATAL(store_samples_load(store, &samples, &count, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(count, 3);
    store_samples_free(samples, count);
    store_close(store);
    sample_store_done(&made);
}

static const struct unit_test tests[] = {
    {"a writer killed at random leaves a whole store", test_killed_at_random},
    {"a writer killed at any step leaves a whole store", test_killed_at_every_step},
    {"a full disk at any step is an error and leaves a whole store", test_disk_full_at_every_step},
    {"a full disk met in the background is heard of by the next calls", test_full_disk_is_heard_of_later},
    {"a failure that nobody heard of is told by the manifest", test_failure_that_nobody_heard_of_is_told_by_the_manifest},
    {"an existing store is refused without force", test_existing_store_is_refused_without_force},
    {"what is no store is never replaced", test_what_is_no_store_is_never_replaced},
    {"a store that is being written is refused", test_store_in_use_is_refused},
    {"replacing a store keeps one of both at every step", test_replacing_keeps_one_of_both_at_every_step},
    {"replacing a store keeps one of both when killed at random", test_replacing_keeps_one_of_both_when_killed_at_random},
    {"a forced capture that wrote nothing keeps the old store", test_forced_capture_that_wrote_nothing_keeps_the_old_store},
    {"a capture that wrote nothing leaves nothing", test_capture_that_wrote_nothing_leaves_nothing},
    {"samples appended by many processes are all whole", test_samples_of_many_processes_are_whole},
    {"a torn sample is dropped by the next one", test_torn_sample_is_dropped_by_the_next_one},
};

UNIT_MAIN("store: failures", tests)
