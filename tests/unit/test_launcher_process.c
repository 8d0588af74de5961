/* tests/unit/test_launcher_process.c - compilers and codelets as child processes: found, run, watched, and what their ends mean. */
#include "replay-rt/launcher/command.h"
#include "replay-rt/launcher/patience.h"
#include "replay-rt/launcher/place_list.h"
#include "replay-rt/launcher/process.h"
#include "replay-rt/launcher/replay_session.h"

#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void commands_are_found(void)
{
    char *path = NULL;
    struct pcere_error error = {0};
    CU_ASSERT_EQUAL(command_find("sh", "/nonexistent:/bin", "install it", &path, NULL), PCERE_OK);
    CU_ASSERT_STRING_EQUAL(path, "/bin/sh");
    free(path);
    path = NULL;
    CU_ASSERT_EQUAL(command_find("/bin/sh", "/nonexistent", "install it", &path, NULL), PCERE_OK);
    free(path);
    path = NULL;
    CU_ASSERT_EQUAL(command_find("no-such-compiler", "/bin::/usr/bin", "install it", &path, &error), PCERE_REFUSED);
    CU_ASSERT_PTR_NULL(path);
    CU_ASSERT_STRING_EQUAL(error.hint, "install it");
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "no-such-compiler"));
}

static void logs_are_kept(void)
{
    char log[] = "/tmp/pcere-unit-XXXXXX";
    close(mkstemp(log));
    struct arguments arguments = {0};
    arguments_add(&arguments, "/bin/sh");
    arguments_add(&arguments, "-c");
    arguments_add(&arguments, "echo first; echo 'x.c:1: error: second' >&2; echo third; exit 3");
    int status = 0;
    CU_ASSERT_EQUAL(command_run(&arguments, log, &status, NULL), PCERE_OK);
    CU_ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    char *line = command_first_error(log);
    CU_ASSERT_STRING_EQUAL(line, "x.c:1: error: second");
    free(line);
    arguments_done(&arguments);
    unlink(log);
    line = command_first_error(log);
    CU_ASSERT_STRING_EQUAL(line, "");
    free(line);
}

/* Run any executable as if it were a codelet. */
static enum pcere_status run_as_codelet(const char *executable, uint64_t patience_ns, enum plan_state state, struct pcere_error *error)
{
    struct build build = {.executable = (char *)(uintptr_t)executable};
    struct plan_file plan = {.bytes = sizeof(struct replay_plan)};
    plan.fd = memfd_create("plan", MFD_CLOEXEC);
    CU_ASSERT_EQUAL_FATAL(ftruncate(plan.fd, (off_t)plan.bytes), 0);
    plan.plan = mmap(NULL, plan.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, plan.fd, 0);
    char *environment[] = {NULL};
    const struct process process = {.build = &build, .pages_fd = plan.fd, .plan = &plan, .environment = environment, .region = "r@x.c:1",
                                    .diagnostics_fd = -1, .patience_ns = patience_ns};
    uint64_t wall_ns = 0;
    enum pcere_status status = process_run(&process, &wall_ns, error);
    atomic_store(&plan.plan->result.state, state);
    plan_file_done(&plan);
    return status;
}

static void a_hang_is_ended(void)
{
    struct pcere_error error = {0};
    uint64_t start_ns = replay_session_clock_ns();
    CU_ASSERT_EQUAL(run_as_codelet("/usr/bin/yes", 300000000u, PLAN_PREPARED, &error), PCERE_NO);
    CU_ASSERT(replay_session_clock_ns() - start_ns >= 300000000u);         /* and at all: this one never ends by itself */
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "made no progress"));
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "r@x.c:1"));
}

static void what_nobody_saw_pass_is_no_hang(void)
{
    const uint64_t s = 1000000000u;
    struct patience patience = {.looked_ns = 7 * s};
    CU_ASSERT_FALSE(patience_ended(&patience, 0, 8 * s, 0, true, 3 * s));
    CU_ASSERT_FALSE(patience_ended(&patience, 0, 98 * s, 0, true, 3 * s));          /* the machine stood still for a minute and a half */
    CU_ASSERT_FALSE(patience_ended(&patience, 0, 99 * s, 0, true, 3 * s));
    CU_ASSERT_FALSE(patience_ended(&patience, 0, 100 * s, 0, false, 3 * s));        /* it would run, but others have the processors */
    CU_ASSERT_TRUE(patience_ended(&patience, 0, 101 * s, 2 * s, false, 3 * s));     /* two threads ran; a second passed */
    CU_ASSERT_FALSE(patience_ended(&patience, 1, 102 * s, 3 * s, false, 3 * s));    /* it moves: all begins anew */
    CU_ASSERT_FALSE(patience_ended(&patience, 1, 103 * s, 4 * s, false, 3 * s));
    CU_ASSERT_FALSE(patience_ended(&patience, 2, 104 * s, 4 * s, true, 0));
    CU_ASSERT_TRUE(patience_ended(&patience, 2, 104 * s + 1, 4 * s, true, 0));
}

static void patience_goes_by_the_region(void)
{
    const uint64_t s = 1000000000u;
    CU_ASSERT_EQUAL(patience_choose(1000, 1, 20, 0, 10 * s), 10 * s);
    CU_ASSERT_EQUAL(patience_choose(2 * s, 1, 20, 0, 10 * s), 40 * s);
    CU_ASSERT_EQUAL(patience_choose(2 * s, 4, 20, 0, 10 * s), 160 * s);
    CU_ASSERT_EQUAL(patience_choose(UINT64_MAX, 1, 20, 0, 10 * s), 10 * s);
    CU_ASSERT_EQUAL(patience_choose(1000, 1, 20, 2 * s, 10 * s), 20 * s);           /* two gigabytes to be read */
    CU_ASSERT(patience_choose(UINT64_MAX, UINT64_MAX, 2000, UINT64_MAX, 10 * s) >= 10 * s);
}

static void an_early_end_is_no_success(void)
{
    struct pcere_error error = {0};
    CU_ASSERT_EQUAL(run_as_codelet("/bin/true", 10000000000u, PLAN_PREPARED, &error), PCERE_NO);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "did not start"));
    CU_ASSERT_EQUAL(run_as_codelet("/nonexistent", 10000000000u, PLAN_PREPARED, &error), PCERE_SYSTEM);
}

static int has(char *const *environment, const char *variable)
{
    for (; *environment; environment++)
        if (!strcmp(*environment, variable))
            return 1;
    return 0;
}

static void settings_of_the_capture_are_kept(void)
{
    char *captured[] = {(char *)"OMP_NUM_THREADS=1", (char *)"KMP_BLOCKTIME=0", (char *)"OMP_SCHEDULE=guided", (char *)"LD_PRELOAD=x.so", NULL};
    const struct store_manifest manifest = {.environment = captured};
    struct replay_options options = {0};
    char **environment = NULL;
    CU_ASSERT_EQUAL_FATAL(environment_make(&manifest, &options, NULL, 4, &environment, NULL), PCERE_OK);
    CU_ASSERT(has(environment, "OMP_NUM_THREADS=4") && !has(environment, "OMP_NUM_THREADS=1"));
    CU_ASSERT(has(environment, "KMP_BLOCKTIME=0") && has(environment, "OMP_SCHEDULE=guided") && !has(environment, "LD_PRELOAD=x.so"));
    CU_ASSERT(has(environment, "OMP_PROC_BIND=true") && has(environment, "OMP_PLACES=cores"));
    environment_free(environment);
    options.schedule = "dynamic,4";
    options.bind = "false";
    CU_ASSERT_EQUAL_FATAL(environment_make(&manifest, &options, NULL, 1, &environment, NULL), PCERE_OK);
    CU_ASSERT(has(environment, "OMP_SCHEDULE=dynamic,4") && !has(environment, "OMP_SCHEDULE=guided"));
    CU_ASSERT(has(environment, "OMP_PROC_BIND=false") && !has(environment, "OMP_PROC_BIND=true") && !has(environment, "OMP_PLACES=cores"));
    environment_free(environment);
}

static void an_affinity_of_the_capture_is_kept(void)
{
    char *captured[] = {(char *)"KMP_AFFINITY=compact", NULL};
    const struct store_manifest manifest = {.environment = captured};
    const struct replay_options options = {0};
    char **environment = NULL;
    CU_ASSERT_EQUAL_FATAL(environment_make(&manifest, &options, NULL, 2, &environment, NULL), PCERE_OK);
    CU_ASSERT(has(environment, "KMP_AFFINITY=compact") && !has(environment, "OMP_PROC_BIND=true") && !has(environment, "OMP_PLACES=cores"));
    environment_free(environment);
}

static void libraries_of_the_store_come_first(void)
{
    char *captured[] = {(char *)"LD_LIBRARY_PATH=/opt/lib", NULL}, *none[] = {NULL};
    struct store_manifest manifest = {.environment = captured};
    const struct replay_options options = {0};
    char **environment = NULL;
    CU_ASSERT_EQUAL_FATAL(environment_make(&manifest, &options, "/store/libraries", 1, &environment, NULL), PCERE_OK);
    CU_ASSERT(has(environment, "LD_LIBRARY_PATH=/store/libraries:/opt/lib") && !has(environment, "LD_LIBRARY_PATH=/opt/lib"));
    environment_free(environment);
    CU_ASSERT_EQUAL_FATAL(environment_make(&manifest, &options, NULL, 1, &environment, NULL), PCERE_OK);
    CU_ASSERT(has(environment, "LD_LIBRARY_PATH=/opt/lib"));
    environment_free(environment);
    manifest.environment = none;
    CU_ASSERT_EQUAL_FATAL(environment_make(&manifest, &options, "/store/libraries", 1, &environment, NULL), PCERE_OK);
    CU_ASSERT(has(environment, "LD_LIBRARY_PATH=/store/libraries"));
    environment_free(environment);
}

static void settings_are_checked(void)
{
    static const char *const bad[] = {"", "sideways", "static,", "static,0", "static,x", "dynamic,4,4", "static,-1"};
    struct pcere_error error = {0};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CU_ASSERT_EQUAL(environment_check(&(struct replay_options){.schedule = bad[i]}, &error), PCERE_USAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "--schedule"));
    CU_ASSERT_EQUAL(environment_check(&(struct replay_options){.schedule = "static"}, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(environment_check(&(struct replay_options){.schedule = "guided,16"}, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(environment_check(&(struct replay_options){.bind = "close,spread"}, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(environment_check(&(struct replay_options){.bind = "everywhere"}, NULL), PCERE_USAGE);
    CU_ASSERT_EQUAL(environment_check(&(struct replay_options){.places = "co\nres"}, NULL), PCERE_USAGE);
    CU_ASSERT_EQUAL(environment_check(&(struct replay_options){.places = "{0,1},{2:1024}"}, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(environment_check(&(struct replay_options){.places = "{0,1"}, NULL), PCERE_USAGE);
    CU_ASSERT_EQUAL(environment_check(&(struct replay_options){.places = "{60000:1000:2}"}, &error), PCERE_REFUSED);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "--places"));
}

static void lists_of_places_are_read(void)
{
    static const char *const good[] = {"cores", "Threads", "sockets(2)", "ll_caches ( 1 )", "{0:1024}", "0:1024", "{0},{1:1024}", "{1023:1024:-1}", "{ 0 : 2 }:512:2", "{0:1024,!2}", "!{60000},{0:1024}",
                                       "{60000:2},{0:1024}", "{1023:512:-1}:513:-1"};
    static const char *const wrong[] = {"", "core s", "cores(", "cores()", "cores(0)", "cores(2)x", "{", "{}", "{0", "0}", "{0}}", "{0,}", "{0},", ",{0}", "{0}{1}", "{0:}", "{0:0}", "{0-3}", "{-1}",
                                        "{0:1:}", "{0}:2:x", "{a}", "!", "{99999999999999999999}", "nowhere"};
    static const char *const elsewhere[] = {"{60000}", "60000", "{60000:500:7}:20", "!{0}", "{!0}"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        CU_ASSERT_EQUAL(place_list_read(good[i]), PLACE_LIST_GOOD);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CU_ASSERT_EQUAL(place_list_read(wrong[i]), PLACE_LIST_WRONG);
    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
        CU_ASSERT_EQUAL(place_list_read(elsewhere[i]), PLACE_LIST_ELSEWHERE);
}

static const struct unit_test tests[] = {
    {"compilers are found in a search path, and missing ones named with what to install", commands_are_found},
    {"what a compiler says is kept, and its first error found", logs_are_kept},
    {"a codelet that makes no progress is stopped and reported", a_hang_is_ended},
    {"while a machine stands still a codelet cannot hang", what_nobody_saw_pass_is_no_hang},
        {"a region may take a multiple of its time, and what reading its memory takes", patience_goes_by_the_region},
    {"a codelet that ends before its work is a failure, whatever its status", an_early_end_is_no_success},
    {"OpenMP settings of the capture are kept, options come first, LD_PRELOAD is dropped", settings_of_the_capture_are_kept},
    {"an affinity that the capture had is not overruled", an_affinity_of_the_capture_is_kept},
    {"libraries of the store are found before those of the capture's LD_LIBRARY_PATH", libraries_of_the_store_come_first},
    {"schedules, bindings and places that OpenMP does not know are refused", settings_are_checked},
    {"lists of places are read as OpenMP has them, and must name a processor that is here", lists_of_places_are_read},
};

UNIT_MAIN("launcher: processes", tests)
