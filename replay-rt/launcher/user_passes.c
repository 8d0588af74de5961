/* replay-rt/launcher/user_passes.c - what the user's passes mean for the compiler, and what it says of them. */
#include "replay-rt/launcher/user_passes.h"

#include "core/files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char not_understood[] = "the passes are not understood: ";     /* passes/Plugin.cpp */

enum pcere_status user_passes_check(const struct build_options *options, struct pcere_error *error)
{
    if (!options->pass_plugin || !access(options->pass_plugin, R_OK))
        return PCERE_OK;
    return pcere_fail(error, PCERE_USAGE, errno, "name the shared object of your passes, built for the LLVM that rebuilds the codelets",
                      "cannot read the plugin '%.300s'", options->pass_plugin);
}

enum pcere_status user_passes_describe(const struct build_options *options, struct text *text, struct pcere_error *error)
{
    uint64_t hash = 0, bytes = 0;
    enum pcere_status status = options->pass_plugin ? file_hash(AT_FDCWD, options->pass_plugin, &hash, &bytes, error) : PCERE_OK;
    text_addf(text, "|%s|%s|%" PRIx64, options->passes ? options->passes : "", options->pass_plugin ? options->pass_plugin : "", hash);
    return status;
}

void user_passes_add(const struct build_options *options, struct arguments *arguments)
{
    if (options->pass_plugin)
        arguments_addf(arguments, "-fpass-plugin=%s", options->pass_plugin);
    if (!options->passes)
        return;
    arguments_add(arguments, "-mllvm");
    arguments_addf(arguments, "-pcere-codelet-passes=%s", options->passes);
}

bool user_passes_fail(const struct build_options *options, uint32_t major, const char *log, struct pcere_error *error)
{
    char hint[200], *line = command_first_error(log);
    const char *wrong = line && options->passes ? strstr(line, not_understood) : NULL;
    bool unloadable = line && options->pass_plugin && strstr(line, "unable to load plugin");
    snprintf(hint, sizeof hint, "their syntax is that of opt-%u -passes=..., and opt-%u -print-passes lists them", major, major);
    if (wrong)
        pcere_fail(error, PCERE_USAGE, 0, hint, "the passes '%.120s' are not understood: %.200s", options->passes, wrong + sizeof not_understood - 1);
    else if (unloadable)
        pcere_fail(error, PCERE_USAGE, 0, "build it against that version of LLVM", "clang-%u cannot load the plugin '%.200s': %.200s", major,
                   options->pass_plugin, line);
    free(line);
    return wrong || unloadable;
}
