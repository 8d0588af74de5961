/* cli/verb_platform.c - pcere platform: finding out what a machine is, showing it, listing those that are known. */
#include "cli/architectures.h"
#include "cli/platform_text.h"
#include "cli/verbs.h"
#include "core/environment.h"
#include "core/files.h"
#include "core/host.h"
#include "core/json.h"
#include "core/units.h"
#include "platform/discover.h"
#include "platform/frequency.h"
#include "platform/topology.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PROBE_TIMEOUT_S = 60, PAIRS_EACH = 4, WORDS_MOST = 16, LOAD_MS = 2000, LOAD_QUICK_MS = 200, LOAD_MOST_MS = 50000 };
#define BUDGET_NS 110000000000u      /* a discovery is done within two minutes */

extern char **environ;

struct platform_words { const char *output, *name, *load; bool quick, force; };

/* ---- discover ------------------------------------------------------------------------------------------------------------ */

struct probing { struct cli *cli; char *probe; };

static enum pcere_status probe_run(void *context, const char *const *words, const char *const *environment, char **ret_output, int *ret_exit,
                                   struct pcere_error *error)
{
    struct probing *probing = context;
    char *arguments[WORDS_MOST] = {probing->probe};
    for (size_t i = 0; words[i] && i + 2 < WORDS_MOST; i++)
        arguments[i + 1] = (char *)(uintptr_t)words[i];
    struct environment all = environment_copy(environ);
    for (size_t i = 0; environment[i]; i++)
        environment_set(&all, "%s", environment[i]);
    if (all.failed) {
        environment_done(&all);
        return pcere_fail_memory(error, "an environment");
    }
    const struct cli_process process = {.arguments = arguments, .environment = all.list, .timeout_s = PROBE_TIMEOUT_S};
    int status;
    struct pcere_error late;
    enum pcere_status ran = cli_process_run(&process, ret_output, &status, &late);
    environment_done(&all);
    if (ran) {          /* one that takes too long gives no number, and the others go on */
        cli_note(probing->cli, "%s", late.message);
        *ret_output = NULL;
        *ret_exit = -1;
        return access(probing->probe, X_OK) == 0 ? PCERE_OK : pcere_fail(error, ran, late.errnum, late.hint, "%s", late.message);
    }
    *ret_exit = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (*ret_exit && probing->cli->verbose)
        cli_note(probing->cli, "%s", *ret_output);
    return PCERE_OK;
}

static void progress_show(void *context, const char *text) { cli_progress(((struct probing *)context)->cli, text); }

struct found { struct platform_signature signature; struct discover_summary summary; };

static enum pcere_status machine_discover(struct cli *cli, const struct platform_words *words, const char *name, const char *title, struct found *found,
                                          struct pcere_error *error)
{
    struct topology topology;
    struct probing probing = {.cli = cli};
    uint64_t load_ns = (uint64_t)(words->quick ? LOAD_QUICK_MS : LOAD_MS) * 1000000;
    enum pcere_status status = words->load ? units_parse_time("--load", words->load, &load_ns, error) : PCERE_OK;
    if (status == PCERE_OK && load_ns > LOAD_MOST_MS * 1000000ull)
        status = pcere_fail(error, PCERE_USAGE, 0, "give at most 50s", "--load is too long: %s", words->load);
    if (status == PCERE_OK)
        status = cli_file_find("pcere-probe", &probing.probe, error);
    if (status)
        return status;
    status = topology_read(NULL, words->quick ? 1 : PAIRS_EACH, &topology, error);
    if (status == PCERE_OK) {
        struct utsname system = {0};
        uname(&system);
        struct frequency frequency;
        char source[160], day[32] = "", clock[FREQUENCY_TEXT_BYTES], clock_source[FREQUENCY_TEXT_BYTES + 16];
        frequency_read("", &frequency);
        snprintf(clock_source, sizeof clock_source, "clock: %s", frequency_text(&frequency, clock));
        time_t now = time(NULL);
        struct tm date;
        if (gmtime_r(&now, &date))
            strftime(day, sizeof day, "%Y-%m-%d", &date);
        snprintf(source, sizeof source, "measured on %s by pcere %s, Linux %s%s", day, PCERE_VERSION, system.release, words->quick ? ", one quick round" : "");
        const struct discover_options options = {
            .topology = &topology, .name = name, .title = title, .isa = strcmp(system.machine, "x86_64") == 0 ? "x86-64" : system.machine, .source = source,
            .page_bytes = (uint64_t)sysconf(_SC_PAGESIZE), .quick = words->quick, .budget_ns = BUDGET_NS,
            .clock_source = clock_source, .load_ms = (unsigned)(load_ns / 1000000),
            .run = probe_run, .progress = progress_show, .context = &probing,
        };
        status = platform_discover(&options, &found->signature, &found->summary, error);
        cli_progress(cli, NULL);
        topology_done(&topology);
    }
    free(probing.probe);
    return status;
}

static enum pcere_status signature_save(const struct platform_signature *signature, const char *path, struct pcere_error *error)
{
    json_t *object;
    enum pcere_status status = signature_write(signature, &object, error);
    if (status)
        return status;
    char *text = json_dumps(object, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
    status = text ? file_replace(AT_FDCWD, path, text, strlen(text), false, NULL, error) : pcere_fail_memory(error, "a signature");
    free(text);
    json_decref(object);
    return status;
}

static enum pcere_status document_add(struct cli *cli, const struct platform_signature *signature, const char *path, struct pcere_error *error)
{
    json_t *object;
    bool failed = false;
    enum pcere_status status = signature_write(signature, &object, error);
    if (status)
        return status;
    json_put(cli->document, "file", json_from_string(path), &failed);
    json_put(cli->document, "platform", object, &failed);
    return failed ? pcere_fail_memory(error, "the result") : PCERE_OK;
}

static enum pcere_status discover_run(struct cli *cli, const struct platform_words *words, struct pcere_error *error)
{
    char *name = NULL, *path = NULL;
    json_t *host = NULL;
    struct found found = {0};
    enum pcere_status status = PCERE_OK;
    if (words->name && !host_name_valid(words->name))
        return pcere_fail(error, PCERE_USAGE, 0, "use one word of at most 63 letters, digits, '.', '_' and '-'", "'%.80s' is no name for a machine", words->name);
    if (words->name && !(name = strdup(words->name)))
        return pcere_fail_memory(error, "a name");
    if (!name)
        status = host_name(&name, error);
    if (status == PCERE_OK && words->output && !(path = strdup(words->output)))
        status = pcere_fail_memory(error, "a path");
    if (status == PCERE_OK && !path)
        status = architecture_place(name, &path, error);
    if (status == PCERE_OK)
        status = cli_output_check(path, words->force, error);        /* not two minutes later */
    if (status == PCERE_OK)
        status = host_describe(&host, error);
    if (status == PCERE_OK) {
        const char *model = json_string_value(json_object_get(host, "cpu"));
        status = machine_discover(cli, words, name, model ? model : name, &found, error);
    }
    struct pcere_error absurd;
    if (status == PCERE_OK && signature_check(&found.signature, "what was measured", &absurd) != PCERE_OK)
        status = pcere_fail(error, PCERE_REFUSED, 0, "the machine is too busy to be measured: try again when it is quiet", "%s", absurd.message);
    if (status == PCERE_OK)
        status = signature_save(&found.signature, path, error);
    if (status == PCERE_OK && cli->json)
        status = document_add(cli, &found.signature, path, error);
    else if (status == PCERE_OK) {
        platform_text_print(&found.signature, stdout);
        printf("\n%zu experiments in %zu round%s, %zu that this machine cannot do; written to %s\n", found.summary.experiments, found.summary.rounds,
               found.summary.rounds == 1 ? "" : "s", found.summary.refused, path);
    }
    signature_done(&found.signature);
    json_decref(host);
    free(name);
    free(path);
    return status;
}

/* ---- show and list ------------------------------------------------------------------------------------------------------- */

static enum pcere_status show_run(struct cli *cli, const char *word, struct pcere_error *error)
{
    struct platform_signature signature;
    char *path, *own = NULL;
    enum pcere_status status = PCERE_OK;
    if (!word || strcmp(word, "host") == 0)
        status = host_name(&own, error);
    if (status == PCERE_OK)
        status = architecture_read(own ? own : word, &signature, &path, error);
    if (status == PCERE_USAGE && own)
        status = pcere_fail(error, PCERE_DATA, 0, "'pcere platform discover' measures it", "this machine, '%s', has not been measured", own);
    free(own);
    if (status)
        return status;
    if (cli->json)
        status = document_add(cli, &signature, path, error);
    else
        platform_text_print(&signature, stdout);
    signature_done(&signature);
    free(path);
    return status;
}

static enum pcere_status list_run(struct cli *cli, struct pcere_error *error)
{
    static const char *const headings[] = {"name", "basis", ">cores", ">threads", "machine"};
    struct architectures found;
    enum pcere_status status = architectures_find(&found, error);
    if (status)
        return status;
    bool failed = false;
    json_t *list = json_array();
    struct cli_table *table = cli_table_new(5, headings);
    for (size_t i = 0; table && i < found.count; i++) {
        struct platform_signature signature = {0};
        struct pcere_error problem;
        char *path = NULL, cores[CLI_TEXT_MOST] = "", threads[CLI_TEXT_MOST] = "";
        bool read = architecture_read(found.list[i].path, &signature, &path, &problem) == PCERE_OK;
        const char *basis = !read ? "damaged" : signature.basis == PLATFORM_PUBLISHED ? "published" : "measured";
        if (read) {
            snprintf(cores, sizeof cores, "%u", signature_cores(&signature));
            snprintf(threads, sizeof threads, "%u", signature_threads(&signature));
        }
        json_t *entry = json_object();
        json_put(entry, "name", json_from_string(found.list[i].name), &failed);
        json_put(entry, "basis", json_from_string(basis), &failed);
        json_put(entry, "title", json_from_string(read ? signature.title : NULL), &failed);
        json_put(entry, "file", json_from_string(found.list[i].path), &failed);
        json_put(entry, "reason", json_from_string(read ? NULL : problem.message), &failed);
        failed |= json_array_append_new(list, entry) != 0;
        cli_table_row(table, (const char *const[]){found.list[i].name, basis, cores, threads, read ? signature.title : problem.message});
        signature_done(&signature);
        free(path);
    }
    failed |= !table;
    if (cli->json)
        json_put(cli->document, "platforms", json_incref(list), &failed);
    else if (table)
        cli_table_print(table, stdout);
    json_decref(list);
    cli_table_free(table);
    architectures_done(&found);
    return failed ? pcere_fail_memory(error, "the result") : PCERE_OK;
}

static enum pcere_status platform_run(struct cli *cli, void *raw, struct pcere_error *error)
{
    static const char *const actions[] = {"discover", "show", "list"};
    const struct platform_words *words = raw;
    const char *action = cli->operand_count ? cli->operands[0] : "";
    size_t most = strcmp(action, "show") == 0 ? 2 : 1;
    if (cli->operand_count > most)
        return pcere_fail(error, PCERE_USAGE, 0, "'pcere platform --help' shows how it is called", "unexpected word '%.100s'", cli->operands[most]);
    if (strcmp(action, "discover") == 0)
        return discover_run(cli, words, error);
    if (words->output || words->name || words->load || words->quick || words->force)
        return pcere_fail(error, PCERE_USAGE, 0, "'pcere platform discover' takes them", "-o, --name, --load, --quick and --force do not go with '%.40s'", action);
    if (strcmp(action, "show") == 0)
        return show_run(cli, cli->operand_count > 1 ? cli->operands[1] : NULL, error);
    if (strcmp(action, "list") == 0)
        return list_run(cli, error);
    const char *nearest = cli_nearest(action, actions, sizeof actions / sizeof *actions);
    char hint[128];
    snprintf(hint, sizeof hint, nearest ? "did you mean 'pcere platform %s'?" : "it is discover, show or list", nearest);
    return *action ? pcere_fail(error, PCERE_USAGE, 0, hint, "'%.60s' is not something that pcere platform does", action)
                   : pcere_fail(error, PCERE_USAGE, 0, hint, "what to do with platforms is not said");
}

static const struct cli_option options[] = {
    {"output", 'o', CLI_TEXT, offsetof(struct platform_words, output), "FILE",
     "discover: the file to write, instead of NAME.json among your own architectures.", 0, 0},
    {"name", 0, CLI_TEXT, offsetof(struct platform_words, name), "NAME", "discover: what --arch shall call this machine.", 0, 0},
    {"load", 0, CLI_TEXT, offsetof(struct platform_words, load), "TIME",
     "discover: how long processors work without a break before their clock counts as that under lasting load (2s; with --quick 200ms; at most 50s). Many processors keep a higher one for half a minute.", 0, 0},
    {"quick", 0, CLI_FLAG, offsetof(struct platform_words, quick), NULL, "discover: one round with fewer sizes, in some ten seconds.", 0, 0},
    {"force", 0, CLI_FLAG, offsetof(struct platform_words, force), NULL, "discover: replace an earlier file.", 0, 0},
};

const struct cli_verb cli_verb_platform = {
    .name = "platform",
    .summary = "measure this machine, and show the machines that are known",
    .synopsis = "discover | show [NAME|FILE] | list",
    .description =
        "'discover' finds out what this machine is: what its processors share, how long memory and each cache take and how much they pass at each number of threads, "
        "what one processor pays for data that another has just written (per kind of pair, with a line after Hockney and one for each level), "
        "arithmetic, and what OpenMP's constructs cost. All of it within two minutes; best on a quiet machine. The result is written as "
        "NAME.json to $XDG_DATA_HOME/pcere/archs, ~/.local/share/pcere/archs otherwise.\n\n"
        "'show' draws a machine as text: this one, or the one named. 'list' tells which there are: PCERE's own, from published figures, and yours. A file of "
        "the same form in that directory adds a machine.\n\n"
        "Times are medians with their 95 % interval. What a machine cannot do (wider vectors) is left out.",
    .examples = "pcere platform discover\npcere platform discover --quick -o here.json\npcere platform show sandybridge\npcere platform list --json\n",
    .options = options, .option_count = sizeof options / sizeof *options, .options_bytes = sizeof(struct platform_words),
    .operands = CLI_OPERANDS_ANY,
    .run = platform_run,
};
