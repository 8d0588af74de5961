/* tests/unit/test_launcher_command.c - programs that are run: what crashes has a second chance, what fails has none. */
#include "replay-rt/launcher/command.h"
#include "tests/unit/unit.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs `script` of the shell, which adds a line to a file each time; returns how often it ran. */
static size_t runs_of(const char *script, int *ret_status)
{
    char folder[] = "/tmp/pcere-command.XXXXXX", log[64], text[256] = "";
    struct arguments arguments = {0};
    struct pcere_error error = {0};
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    snprintf(log, sizeof log, "%s/log", folder);
    arguments_add(&arguments, "/bin/sh");
    arguments_add(&arguments, "-c");
    arguments_addf(&arguments, "echo again; runs=$(wc -l <%s); %s", log, script);
    CU_ASSERT_EQUAL(command_run(&arguments, log, ret_status, &error), PCERE_OK);
    FILE *file = fopen(log, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    size_t count = 0;
    while (fgets(text, sizeof text, file))
        count += !strcmp(text, "again\n");
    fclose(file);
    arguments_done(&arguments);
    unlink(log);
    rmdir(folder);
    return count;
}

static void what_crashes_is_run_again(void)
{
    int status = 0;
    CU_ASSERT_EQUAL(runs_of("[ $runs -gt 1 ] || kill -SEGV $$", &status), 2);
    CU_ASSERT_TRUE(WIFEXITED(status) && !WEXITSTATUS(status));
    CU_ASSERT_EQUAL(runs_of("[ $runs -gt 1 ] || exit 254", &status), 2);
    CU_ASSERT_TRUE(WIFEXITED(status) && !WEXITSTATUS(status));
    CU_ASSERT_EQUAL(runs_of("kill -BUS $$", &status), 2);
    CU_ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
}

static void what_fails_or_is_stopped_is_not(void)
{
    int status = 0;
    CU_ASSERT_EQUAL(runs_of("exit 1", &status), 1);
    CU_ASSERT_EQUAL(WEXITSTATUS(status), 1);
    CU_ASSERT_EQUAL(runs_of("kill -TERM $$", &status), 1);
    CU_ASSERT_EQUAL(runs_of("true", &status), 1);
    CU_ASSERT_EQUAL(status, 0);
}

static const struct unit_test tests[] = {
    {"what crashes is run once more", what_crashes_is_run_again},
    {"what fails, is stopped or works is not", what_fails_or_is_stopped_is_not},
};

UNIT_MAIN("launcher: command", tests)
