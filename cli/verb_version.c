/* cli/verb_version.c - which PCERE this is, and where its plugin lies. */
#include "cli/verbs.h"

#include <stdio.h>
#include <stdlib.h>

struct version_options { bool plugin, linked; uint64_t llvm; };

/* "pcere/PCEREPass-22.so", or the one that finds it for any compiler. */
static enum pcere_status plugin_find(uint64_t llvm, char **ret_path, struct pcere_error *error)
{
    char name[48] = "PCEREPass.so";
    if (llvm)
        snprintf(name, sizeof name, "pcere/PCEREPass-%llu.so", (unsigned long long)llvm);
    enum pcere_status status = cli_file_find(name, ret_path, error);
    if (status != PCERE_OK && llvm && error)
        snprintf(error->hint, sizeof error->hint, "install llvm-%llu-dev, then build and install PCERE again", (unsigned long long)llvm);
    return status;
}

/* The words that end the command by which a static program is linked. */
static enum pcere_status linked_print(struct cli *cli, struct pcere_error *error)
{
    char *object = NULL, *wraps = NULL;
    enum pcere_status status = cli_file_find("pcere-static.o", &object, error);
    if (status == PCERE_OK)
        status = cli_file_find("pcere-static.wrap", &wraps, error);
    if (status == PCERE_OK && cli->json)
        json_object_update_new(cli->document, json_pack("{ss ss}", "object", object, "wraps", wraps));
    else if (status == PCERE_OK)
        printf("%s -Wl,@%s\n", object, wraps);
    free(object);
    free(wraps);
    return status;
}

static enum pcere_status version_run(struct cli *cli, void *raw, struct pcere_error *error)
{
    const struct version_options *options = raw;
    if (options->linked)
        return linked_print(cli, error);
    char *plugin = NULL;
    struct pcere_error missing = {0};
    enum pcere_status status = plugin_find(options->llvm, &plugin, &missing);
    if (status != PCERE_OK && (options->plugin || options->llvm)) {
        *error = missing;
        return status;
    }
    if (cli->json)
        json_object_update_new(cli->document, json_pack("{si ss*}", "llvm", PCERE_LLVM_MAJOR, "plugin", plugin));
    else if (options->plugin || options->llvm)
        puts(plugin);
    else
        printf("pcere %s (LLVM %d)\n", PCERE_VERSION, PCERE_LLVM_MAJOR);
    free(plugin);
    return PCERE_OK;
}

static const struct cli_option options[] = {
    {"plugin", 0, CLI_FLAG, offsetof(struct version_options, plugin), NULL,
     "Print the path of the compiler plugin alone, for -fpass-plugin=$(pcere version --plugin).", 0, 0},
    {"static", 0, CLI_FLAG, offsetof(struct version_options, linked), NULL,
     "Print what a program that is linked statically needs to be captured and profiled: words that end the command that links it.", 0, 0},
    {"llvm", 0, CLI_NUMBER, offsetof(struct version_options, llvm), "MAJOR",
     "Print the path of the plugin for this version of LLVM alone; the other one finds it by itself.", 1, 999},
};

const struct cli_verb cli_verb_version = {
    .name = "version",
    .summary = "the version of PCERE, and where its compiler plugin lies",
    .synopsis = "",
    .description = "Prints the version of PCERE and the major version of LLVM that it works with by default. The plugin works with each version that PCERE was "
                   "built for: it hands over to the right one.",
    .examples = "clang-19 -O3 -g -fopenmp -fpass-plugin=$(pcere version --plugin) x.c -o x\n"
                "clang-19 -O3 -g -fopenmp -fpass-plugin=$(pcere version --plugin) -static x.c -o x -lm $(pcere version --static)\n"
                "flang-22 -O3 -g -fopenmp -fpass-plugin=$(pcere version --plugin) x.f90 -o x -L/usr/lib/llvm-19/lib\n",
    .options = options, .option_count = sizeof options / sizeof *options, .options_bytes = sizeof(struct version_options),
    .operands = CLI_OPERANDS_NONE,
    .run = version_run,
};
