/* cli/verb_version.c - which PCERE this is, and where its plugin lies. */
#include "cli/verbs.h"

#include <stdlib.h>

struct version_options { bool plugin; };

static enum pcere_status version_run(struct cli *cli, void *raw, struct pcere_error *error)
{
    const struct version_options *options = raw;
    char *plugin = NULL;
    struct pcere_error missing = {0};
    enum pcere_status status = cli_file_find("PCEREPass.so", &plugin, &missing);
    if (status != PCERE_OK && options->plugin) {
        *error = missing;
        return status;
    }
    if (cli->json)
        json_object_update_new(cli->document, json_pack("{si ss*}", "llvm", PCERE_LLVM_MAJOR, "plugin", plugin));
    else if (options->plugin)
        puts(plugin);
    else
        printf("pcere %s (LLVM %d)\n", PCERE_VERSION, PCERE_LLVM_MAJOR);
    free(plugin);
    return PCERE_OK;
}

static const struct cli_option options[] = {
    {"plugin", 0, CLI_FLAG, offsetof(struct version_options, plugin), NULL,
     "Print the path of the compiler plugin alone, for -fpass-plugin=$(pcere version --plugin).", 0, 0},
};

const struct cli_verb cli_verb_version = {
    .name = "version",
    .summary = "the version of PCERE, and where its compiler plugin lies",
    .synopsis = "",
    .description = "Prints the version of PCERE and the major version of LLVM that it works with.",
    .examples = "clang-19 -O3 -g -fopenmp -fpass-plugin=$(pcere version --plugin) x.c -o x\n",
    .options = options, .option_count = sizeof options / sizeof *options, .options_bytes = sizeof(struct version_options),
    .operands = CLI_OPERANDS_NONE,
    .run = version_run,
};
