/* cli/measuring.c - what the verbs that run the user's program have in common.
 *
 * It knows how the command line's words become options of the tracer, and what a program's end means for the exit status.
 */
#include "capture-rt/tracer/capture.h"
#include "cli/cli.h"
#include "core/units.h"
#include "store/store.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

unsigned cli_processors(void)
{
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
    return count > 0 ? (unsigned)count : 1;
}

char *cli_thread_count_text(char text[static CLI_TEXT_MOST], unsigned threads, unsigned processors, bool *marked)
{
    bool many = threads > processors;
    *marked = *marked || many;
    snprintf(text, CLI_TEXT_MOST, "%u%s", threads, many ? " *" : "");
    return text;
}

void cli_thread_mark_print(bool marked, FILE *out)
{
    if (marked)
        fprintf(out, "* more threads than the %u processors of this machine\n", cli_processors());
}

static void run_progress(void *context, enum capture_phase phase, uint64_t elapsed_ns, size_t stops, size_t planned)
{
    static const char *const phases[] = {
        [CAPTURE_PHASE_TIMING] = "timing run", [CAPTURE_PHASE_CHOOSING] = "choosing invocations",
        [CAPTURE_PHASE_CAPTURING] = "capturing run", [CAPTURE_PHASE_WRITING] = "writing",
    };
    char text[120], time[UNITS_TEXT_BYTES];
    int length = snprintf(text, sizeof text, "%s, %s", phases[phase], units_format_ns(elapsed_ns, time));
    if (planned && length > 0)
        snprintf(text + length, sizeof text - (size_t)length, ", stop %zu of %zu", stops, planned);
    cli_progress(context, text);
}

enum pcere_status cli_measure_options(struct cli *cli, struct capture_options *ret_options, char **ret_library,
                                      struct pcere_error *error)
{
    char *library;
    enum pcere_status status = cli_file_find("libpcere-capture.so", &library, error);
    if (status != PCERE_OK)
        return status;
    *ret_options = (struct capture_options){
        .program = cli->program_file,
        .arguments = cli->operand_count ? cli->operands + 1 : NULL,
        .environment = environ,
        .library = library,
        .stdout_descriptor = -1,
        .stderr_descriptor = STDERR_FILENO,
    };
    /* On a terminal a line that is overwritten; with --verbose a few lines a second would be too many. */
    if (!cli->quiet && !cli->verbose && isatty(STDERR_FILENO)) {
        ret_options->progress = run_progress;
        ret_options->progress_context = cli;
    }
    *ret_library = library;
    return PCERE_OK;
}

enum pcere_status cli_program_judge(struct cli *cli, int status, struct pcere_error *error)
{
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return PCERE_OK;
    char text[CLI_TEXT_MOST];
    if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGQUIT || WTERMSIG(status) == SIGTERM || WTERMSIG(status) == SIGHUP))
        cli->signal = WTERMSIG(status);
    return pcere_fail(error, PCERE_NO, 0, NULL, "the program %s", cli_status_text(text, status));
}

enum pcere_status cli_program_judge_again(struct cli *cli, int status, struct pcere_error *error)
{
    if (WIFEXITED(status) && status == store_manifest(cli->store)->program_status)
        return PCERE_OK;
    enum pcere_status judged = cli_program_judge(cli, status, error);
    if (judged && error && !error->hint[0] && WIFEXITED(status))
        snprintf(error->hint, sizeof error->hint, "it got the capture's arguments, directory and settings of OpenMP; other environment variables and standard input are this shell's, and "
                                                  "have to be as they were then");
    return judged;
}

void cli_program_add(struct cli *cli, int status, struct pcere_error *error)
{
    if (cli_program_judge(cli, status, NULL) == PCERE_OK)
        return;
    char text[CLI_TEXT_MOST];
    size_t length = strlen(error->message);
    snprintf(error->message + length, sizeof error->message - length, "; it %s", cli_status_text(text, status));
    snprintf(error->hint, sizeof error->hint, "the program's own messages may say why");
}
