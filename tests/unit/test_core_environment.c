/* tests/unit/test_core_environment.c - environments of processes to be started, and what a preloaded library takes out of its own. */
#include "core/environment.h"
#include "core/openmp_object.h"
#include "core/preloaded.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char *const variables[] = {"HOME=/home", "OMP_NUM_THREADS=4,2", "EMPTY=", "OMP_NUM=1", "HOME=/again", NULL};

static void test_a_copy_has_all_words(void)
{
    struct environment copy = environment_copy(variables), nothing = environment_copy(NULL);
    CU_ASSERT_EQUAL_FATAL(copy.count, 5);
    for (size_t i = 0; i < copy.count; i++)
        CU_ASSERT_STRING_EQUAL(copy.list[i], variables[i]);
    CU_ASSERT_PTR_NULL(copy.list[5]);
    CU_ASSERT_EQUAL(nothing.count, 0);
    CU_ASSERT_FALSE(nothing.failed);
    environment_done(&copy);
    environment_done(&nothing);
    environment_done(NULL);
}

static void test_names_are_whole_names(void)
{
    CU_ASSERT_STRING_EQUAL(environment_get(variables, "HOME"), "/home");
    CU_ASSERT_STRING_EQUAL(environment_get(variables, "OMP_NUM"), "1");
    CU_ASSERT_STRING_EQUAL(environment_get(variables, "EMPTY"), "");
    CU_ASSERT_PTR_NULL(environment_get(variables, "OMP"));
    CU_ASSERT_PTR_NULL(environment_get(NULL, "HOME"));
}

static void test_setting_replaces_wherever_it_stood(void)
{
    struct environment copy = environment_copy(variables);
    environment_set(&copy, "HOME=%s/%d", environment_get(copy.list, "HOME"), 7);
    environment_unset(&copy, "OMP_NUM_THREADS");
    environment_unset(&copy, "NOT_THERE");
    CU_ASSERT_EQUAL_FATAL(copy.count, 3);
    CU_ASSERT_STRING_EQUAL(copy.list[0], "EMPTY=");
    CU_ASSERT_STRING_EQUAL(copy.list[1], "OMP_NUM=1");
    CU_ASSERT_STRING_EQUAL(copy.list[2], "HOME=/home/7");
    CU_ASSERT_PTR_NULL(copy.list[3]);
    environment_done(&copy);
}

static void test_a_library_is_preloaded_before_others(void)
{
    struct environment environment = {0};
    environment_preload(&environment, "/ours.so");
    CU_ASSERT_STRING_EQUAL(environment_get(environment.list, "LD_PRELOAD"), "/ours.so");
    environment_set(&environment, "LD_PRELOAD=");
    environment_preload(&environment, "/ours.so");
    CU_ASSERT_STRING_EQUAL(environment_get(environment.list, "LD_PRELOAD"), "/ours.so");
    environment_set(&environment, "LD_PRELOAD=a.so b.so");
    environment_preload(&environment, "/ours.so");
    CU_ASSERT_STRING_EQUAL(environment_get(environment.list, "LD_PRELOAD"), "/ours.so:a.so b.so");
    environment_done(&environment);
}

static void leaves(const char *before, const char *library, const char *after)
{
    char word[64] = "";
    CU_ASSERT_FATAL(setenv("PCERE_BROUGHT", "1", 1) == 0);
    strcat(strcpy(word, "LD_PRELOAD="), before);
    CU_ASSERT_FATAL(putenv(word) == 0);
    preloaded_leave("PCERE_BROUGHT", library);
    const char *left = getenv("LD_PRELOAD");
    CU_ASSERT_PTR_NULL(getenv("PCERE_BROUGHT"));
    CU_ASSERT_PTR_NULL(preloaded_slot("PCERE_BROUGHT"));
    CU_ASSERT_TRUE(after ? left && strcmp(left, after) == 0 : !left);
    unsetenv("LD_PRELOAD");
}

static void test_a_preloaded_library_leaves_only_its_own(void)
{
    leaves("/ours.so", "/ours.so", NULL);
    leaves("/ours.so:/theirs.so", "/ours.so", "/theirs.so");
    leaves("/ours.so.1", "/ours.so", "/ours.so.1");
    leaves("/theirs.so:/ours.so", "/ours.so", "/theirs.so:/ours.so");
    leaves("/theirs.so", "", "/theirs.so");
}

static char object[64];

/* Is the runtime's object of this process still there after one of `bytes` that begins with `text` was looked at? */
static bool stays(off_t bytes, const char *text)
{
    int file = shm_open(object, O_CREAT | O_RDWR | O_TRUNC, 0600);
    CU_ASSERT_FATAL(file >= 0 && ftruncate(file, bytes) == 0 && pwrite(file, text, strlen(text), 0) == (ssize_t)strlen(text));
    close(file);
    pcere_openmp_object_forget();
    return shm_unlink(object) == 0;
}

static void *other_thread(void *end)
{
    char byte;
    return read(*(int *)end, &byte, 1) < 0 ? end : NULL;
}

static void test_what_a_killed_runtime_left_is_removed(void)
{
    snprintf(object, sizeof object, "/__KMP_REGISTERED_LIB_%d_%u", (int)getpid(), (unsigned)getuid());
    shm_unlink(object);
    pcere_openmp_object_forget();
    CU_ASSERT_FALSE(stays(0, ""));
    CU_ASSERT_FALSE(stays(1024, ""));
    CU_ASSERT_TRUE(stays(1024, "0x7f0000000000-cafe5000-libomp.so.5"));
    int ends[2];
    pthread_t thread = 0;
    CU_ASSERT_FATAL(pipe(ends) == 0 && pthread_create(&thread, NULL, other_thread, &ends[0]) == 0);
    CU_ASSERT_TRUE(stays(1024, ""));
    close(ends[1]);
    pthread_join(thread, NULL);
    close(ends[0]);
}

static const struct unit_test tests[] = {
    {"a copy has all words", test_a_copy_has_all_words},
    {"names are whole names", test_names_are_whole_names},
    {"setting a variable replaces it wherever it stood", test_setting_replaces_wherever_it_stood},
    {"a library is preloaded before the user's own", test_a_library_is_preloaded_before_others},
    {"an object of the runtime that nothing was written into is removed", test_what_a_killed_runtime_left_is_removed},
    {"a preloaded library leaves the environment as the user made it", test_a_preloaded_library_leaves_only_its_own},
};

UNIT_MAIN("core: environments", tests)
