/* tests/unit/test_launcher_standby.c - processes that begin before it is known what for. This program is such a process itself, where it is called as one. */
#include "replay-rt/launcher/standby.h"

#include "replay-rt/target/standby.c"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <sys/wait.h>

/* What else the process would do before it waits. */
static char done[8];

int omp_get_max_threads(void)
{
    strcat(done, "r");
    return 1;
}

void pcere_openmp_processors_free(void) { strcat(done, "p"); }
void pcere_processors_find(void) { strcat(done, "f"); }

__attribute__((constructor)) static void stand_by(int argc, char **argv)
{
    char text[64];
    if (argc != 4 || strcmp(argv[1], "-") != 0)
        return;
    pcere_standby_wait(argv);
    int length = snprintf(text, sizeof text, "%s %s %d", done, getenv("WHO"), pcere_standby_was());
    bool whole = write(PLAN_DESCRIPTOR, text, (size_t)length) == length && write(DONE_DESCRIPTOR, "!", 1) == 1 && fcntl(FILLER_DESCRIPTOR, F_GETFD) < 0;
    _exit(whole ? 7 : 8);
}

static char own[4096];
static char *one[] = {(char *)"WHO=one", NULL}, *other[] = {(char *)"WHO=other", NULL}, *more[] = {(char *)"WHO=one", (char *)"AND=more", NULL};
static const struct standby_kind self = {.executable = own, .diagnostics_fd = -1, .runtime = true, .places_ours = true};

static void own_find(void)
{
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    CU_ASSERT_FATAL(length > 0);
}

static void files_arrive(void)
{
    struct standby standby = {0};
    int plan[2], ended[2], status = 0;
    char text[64] = "", mark = 0;
    own_find();
    CU_ASSERT_FATAL(pipe2(plan, O_CLOEXEC) == 0 && pipe2(ended, O_CLOEXEC) == 0);
    standby_start(&standby, &self, one);
    CU_ASSERT_FATAL(standby.child > 0);
    pid_t first = standby.child;
    standby_start(&standby, &self, one);            /* there is one */
    CU_ASSERT_EQUAL(standby.child, first);
    standby_settle(&standby);
    const struct spawn_descriptor descriptors[SPAWN_DESCRIPTORS] = {{ended[1], DONE_DESCRIPTOR}, {-1, FILLER_DESCRIPTOR}, {plan[1], PLAN_DESCRIPTOR}};
    CU_ASSERT_EQUAL(standby_take(&standby, other, descriptors), 0);
    CU_ASSERT_EQUAL(standby_take(&standby, more, descriptors), 0);
    CU_ASSERT_EQUAL(standby.child, first);
    CU_ASSERT_EQUAL(standby_take(&standby, one, descriptors), first);
    CU_ASSERT_EQUAL(standby.child, 0);
    close(plan[1]);
    close(ended[1]);
    CU_ASSERT(read(plan[0], text, sizeof text - 1) > 0 && read(ended[0], &mark, 1) == 1);
    CU_ASSERT_STRING_EQUAL(text, "pfr one 1");
    CU_ASSERT_EQUAL(waitpid(first, &status, 0), first);
    CU_ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    close(plan[0]);
    close(ended[0]);
}

static void nobody_needs_it(void)
{
    struct standby standby = {0};
    own_find();
    standby_start(&standby, &self, one);
    CU_ASSERT_FATAL(standby.child > 0);
    pid_t child = standby.child;
    standby_end(&standby);
    CU_ASSERT_EQUAL(standby.child, 0);
    CU_ASSERT(waitpid(child, NULL, WNOHANG) < 0);   /* it was waited for */
    standby_end(&standby);
}

/* Its libraries are missing, or it was killed. */
static void it_is_gone(void)
{
    const struct standby_kind gone = {.executable = "/bin/true", .diagnostics_fd = -1}, missing = {.executable = "/nonexistent", .diagnostics_fd = -1};
    const struct spawn_descriptor descriptors[SPAWN_DESCRIPTORS] = {{STDERR_FILENO, PLAN_DESCRIPTOR}};
    struct standby standby = {0};
    standby_start(&standby, &gone, one);
    CU_ASSERT_FATAL(standby.child > 0);
    siginfo_t ended;
    waitid(P_PID, (id_t)standby.child, &ended, WEXITED | WNOWAIT);
    standby_settle(&standby);
    CU_ASSERT_EQUAL(standby_take(&standby, one, descriptors), 0);
    CU_ASSERT_EQUAL(standby.child, 0);
    standby_start(&standby, &missing, one);
    CU_ASSERT_EQUAL(standby.child, 0);
    standby.off = true;
    standby_start(&standby, &gone, one);
    CU_ASSERT_EQUAL(standby.child, 0);
}

/* It looks at nothing that it is sent. */
static void it_hangs(void)
{
    const struct standby_kind endless = {.executable = "/usr/bin/yes", .diagnostics_fd = -1};
    struct standby standby = {0};
    standby_start(&standby, &endless, one);
    CU_ASSERT_FATAL(standby.child > 0);
    standby_settle(&standby);
    standby_end(&standby);
    CU_ASSERT_EQUAL(standby.child, 0);
}

static const struct unit_test tests[] = {
    {"a process that stands by gets its files, under their numbers", files_arrive},
    {"one that nobody needs is ended", nobody_needs_it},
    {"one that is gone is none", it_is_gone},
    {"one that hangs is ended", it_hangs},
};

UNIT_MAIN("launcher: standby", tests)
