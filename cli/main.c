/* cli/main.c - the table of verbs, and the one place where the process ends.
 *
 * It knows the order of things: options, preconditions, the verb, its document, and that a result that could not be written is an
 * error whatever the verb said.
 */
#include "cli/cli.h"
#include "cli/verbs.h"
#include "core/faults.h"
#include "core/host.h"
#include "core/json.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define THREAD_STACK_BYTES ((size_t)1 << 20)

const struct cli_verb *const cli_verbs[] = {
    &cli_verb_check,  &cli_verb_capture, &cli_verb_regions, &cli_verb_run,  &cli_verb_replay,
    &cli_verb_verify, &cli_verb_predict, &cli_verb_tune, &cli_verb_profile, &cli_verb_combine, &cli_verb_compare, &cli_verb_trace, &cli_verb_merge, &cli_verb_timeline, &cli_verb_metrics, &cli_verb_graph, &cli_verb_platform, &cli_verb_choose, &cli_verb_report,
    &cli_verb_export, &cli_verb_pack, &cli_verb_unpack,
    &cli_verb_rm,     &cli_verb_help,    &cli_verb_version, NULL,
};

const struct cli_verb *cli_verb_find(const char *name)
{
    for (size_t i = 0; cli_verbs[i]; i++)
        if (strcmp(cli_verbs[i]->name, name) == 0)
            return cli_verbs[i];
    return NULL;
}

static enum pcere_status verb_unknown(const char *name, struct pcere_error *error)
{
    const char *names[64];
    size_t count = 0;
    for (; cli_verbs[count] && count < 64; count++)
        names[count] = cli_verbs[count]->name;
    const char *nearest = cli_nearest(name, names, count);
    char hint[128];
    if (nearest)
        snprintf(hint, sizeof hint, "did you mean 'pcere %s'?", nearest);
    else
        snprintf(hint, sizeof hint, "'pcere help' lists what there is");
    return pcere_fail(error, PCERE_USAGE, 0, hint, "'%.80s' is not a verb of pcere", name);
}

/* The store is named by the first operand where that can only be a store; else it is the only one here. */
static enum pcere_status store_require(struct cli *cli, struct pcere_error *error)
{
    const char *path = NULL;
    if (cli->operand_count) {
        const char *word = cli->operands[0];
        size_t length = strlen(word);
        while (length > 1 && word[length - 1] == '/')
            length--;
        bool spelt = length > 6 && strncmp(word + length - 6, ".pcere", 6) == 0;
        if (spelt || cli_is_directory(word) || cli->verb->operands == CLI_OPERANDS_STORE) {
            path = word;
            cli->store_named = true;
            cli->operands++;
            cli->operand_count--;
        }
    }
    return store_open(path, &cli->store, error);
}

static enum pcere_status operands_check(const struct cli *cli, struct pcere_error *error)
{
    size_t most = SIZE_MAX;
    if (cli->verb->operands == CLI_OPERANDS_NONE)
        most = 0;
    else if (cli->verb->operands == CLI_OPERANDS_STORE)
        most = 1;
    char hint[128];
    snprintf(hint, sizeof hint, "'pcere %s --help' shows how it is called", cli->verb->name);
    if (cli->operand_count > most)
        return pcere_fail(error, PCERE_USAGE, 0, hint, "unexpected word '%.100s'", cli->operands[most]);
    if (cli->verb->operands == CLI_OPERANDS_PROGRAM && !cli->operand_count)
        return pcere_fail(error, PCERE_USAGE, 0, hint, "no program is named");
    return PCERE_OK;
}

static enum pcere_status preconditions_meet(struct cli *cli, struct pcere_error *error)
{
    enum pcere_status status = operands_check(cli, error);
    if (status != PCERE_OK)
        return status;
    bool instead = cli->verb->needs & CLI_OR_STORE && cli_is_directory(cli->operands[0]);
    if (instead || cli->verb->needs & CLI_NEEDS_STORE)
        status = store_require(cli, error);
    else if (cli->verb->needs & CLI_NEEDS_PROGRAM)
        status = cli_program_find(cli->operands[0], &cli->program_file, error);
    return status;
}

enum pcere_status cli_document_begin(struct cli *cli, struct pcere_error *error)
{
    if (cli->document)
        return PCERE_OK;
    char schema[64];
    snprintf(schema, sizeof schema, "pcere.%s/1", cli->verb->name);
    json_t *host;
    enum pcere_status status = host_describe(&host, error);
    if (status != PCERE_OK)
        return status;
    cli->document = json_pack("{ss ss so}", "schema", schema, "version", PCERE_VERSION, "host", host);
    return cli->document ? PCERE_OK : pcere_fail_memory(error, "the result");
}

/* With --json a failure is a document, too, so that its reader never meets an empty input. */
static void document_add_error(json_t *document, const struct pcere_error *error)
{
    json_object_set_new(document, "error", json_pack("{si ss% ss%}", "status", (int)error->status, "message", error->message,
                                                     strlen(error->message), "hint", error->hint, strlen(error->hint)));
}

static enum pcere_status output_finish(struct cli *cli, struct pcere_error *error)
{
    if (cli->json && cli->document)
        return json_write(cli->document, stdout, "standard output", error);
    errno = 0;
    if (fflush(stdout) != 0 || ferror(stdout) || (fclose(stdout) != 0 && errno != EBADF))
        return pcere_fail(error, PCERE_SYSTEM, errno ? errno : EIO, "free some space, or send the output elsewhere",
                          "cannot write the result to standard output");
    return PCERE_OK;
}

static enum pcere_status verb_run(struct cli *cli, int count, char **arguments, struct pcere_error *error)
{
    void *options = calloc(1, cli->verb->options_bytes + 1);
    if (!options)
        return pcere_fail_memory(error, "the options");
    enum pcere_status status = cli_options_parse(cli, options, count, arguments, error);
    if (status == PCERE_OK && cli->help) {
        cli->json = false;
        cli_help_verb(cli->verb, stdout);
    } else {
        struct pcere_error host_error;
        if (cli->json && cli_document_begin(cli, &host_error) != PCERE_OK && status == PCERE_OK) {
            *error = host_error;
            status = host_error.status;
        }
        if (status == PCERE_OK)
            status = preconditions_meet(cli, error);
        if (status == PCERE_OK)
            status = cli->verb->run(cli, options, error);
    }
    cli_progress(cli, NULL);
    cli_options_done(cli->verb, options);
    free(options);
    return status;
}

/* What the environment may say to the libraries, which do not read it: this machine's name, and faults for tests. */
static enum pcere_status environment_hand_over(struct pcere_error *error)
{
    const char *faults = getenv("PCERE_FAULTS");
    enum pcere_status status = host_set_name(getenv("PCERE_HOST"), error);
    if (status == PCERE_OK && faults && faults[0])
        status = fault_arm(faults, error);
    return status;
}

/* Damaged lines of samples are passed by; that is told once, after all that the others are good for. It is the failure unless there is another one. */
static enum pcere_status samples_look(const struct cli *cli, enum pcere_status status, struct pcere_error *error)
{
    struct pcere_error damage;
    if (!cli->store || store_samples_whole(cli->store, &damage) == PCERE_OK || strcmp(damage.message, error->message) == 0)
        return status;
    if (status == PCERE_OK) {
        *error = damage;
        return PCERE_DATA;
    }
    fflush(stdout);
    cli_error_print(cli, &damage);
    return status;
}

static int verb_main(struct cli *cli, int count, char **arguments)
{
    struct pcere_error error = {0};
    enum pcere_status status = environment_hand_over(&error);
    if (status == PCERE_OK)
        status = samples_look(cli, verb_run(cli, count, arguments, &error), &error);
    if (status == PCERE_SYSTEM && error.errnum == EPIPE) {
        status = PCERE_NO;                  /* the reader had enough, as with `pcere regions | head` */
        cli->signal = SIGPIPE;
    } else if (status != PCERE_OK && error.message[0]) {
        fflush(stdout);               /* both may go to one file; what fails is told below */
        cli_error_print(cli, &error);
        if (cli->document)
            document_add_error(cli->document, &error);
    }
    struct pcere_error output_error = {0};
    /* What the verb has told of its output is not told again: the stream keeps its failure, not the reason. */
    if (output_finish(cli, &output_error) != PCERE_OK && cli->signal != SIGPIPE && status != PCERE_SYSTEM) {
        status = output_error.status;
        if (output_error.errnum == EPIPE) {
            status = PCERE_NO;
            cli->signal = SIGPIPE;
        } else {
            cli_error_print(cli, &output_error);
        }
    }
    json_decref(cli->document);
    store_close(cli->store);
    free(cli->program_file);
    return cli->signal && status == PCERE_NO ? 128 + cli->signal : (int)status;
}

static int overview_main(FILE *out, int status)
{
    cli_help_overview(out);
    struct cli cli = {0};
    struct pcere_error error = {0};
    if (output_finish(&cli, &error) != PCERE_OK) {
        if (error.errnum == EPIPE)
            return 128 + SIGPIPE;
        cli_error_print(&cli, &error);
        return (int)error.status;
    }
    return status;
}

/* A reader that went away, and a file that may not grow, are found out by the write that fails. Handlers, since an ignored signal would stay
 * ignored in the user's program. */
static void write_refused(int signal_number)
{
    (void)signal_number;
}

/* A store's file must not get the number of a standard stream that is closed: messages would go into it. Writing to what stands there
 * instead fails as before, and the user's program finds the stream closed. */
static void streams_reserve(void)
{
    for (int descriptor; (descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;)
        if (descriptor > STDERR_FILENO) {
            close(descriptor);
            break;
        }
}

/* Where whoever started the command ignores its children's ends, the command would not learn of theirs: an ignored signal stays ignored. */
static void children_expect(void)
{
    struct sigaction before;
    if (sigaction(SIGCHLD, NULL, &before) == 0 && before.sa_handler == SIG_IGN)
        signal(SIGCHLD, SIG_DFL);
}

/* Threads have as much stack as `ulimit -s` says, which may be too little for what they keep for themselves. */
static void stacks_reserve(void)
{
    pthread_attr_t attributes;
    size_t bytes = 0;
    if (pthread_getattr_default_np(&attributes) != 0)
        return;
    if (pthread_attr_getstacksize(&attributes, &bytes) == 0 && bytes < THREAD_STACK_BYTES && pthread_attr_setstacksize(&attributes, THREAD_STACK_BYTES) == 0)
        pthread_setattr_default_np(&attributes);
    pthread_attr_destroy(&attributes);
}

int main(int count, char **arguments)
{
    streams_reserve();
    stacks_reserve();
    signal(SIGPIPE, write_refused);
    signal(SIGXFSZ, write_refused);
    children_expect();
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    struct cli cli = {.started_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec};
    if (count < 2)
        return overview_main(stderr, PCERE_USAGE);
    const char *word = arguments[1];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        return overview_main(stdout, PCERE_OK);
    if (strcmp(word, "--version") == 0)
        word = "version";
    cli.verb = cli_verb_find(word);
    if (!cli.verb) {
        struct pcere_error error = {0};
        verb_unknown(word, &error);
        cli_error_print(&cli, &error);
        return PCERE_USAGE;
    }
    return verb_main(&cli, count - 2, arguments + 2);
}
