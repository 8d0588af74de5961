/* cli/verb_check.c - pcere check: what this machine permits, and what is missing. */
#include "cli/check.h"
#include "cli/verbs.h"

#include <stdarg.h>
#include <string.h>

void check_good(struct check_result *result, const char *format, ...)
{
    result->ok = true;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(result->found, sizeof result->found, format, arguments);
    va_end(arguments);
}

void check_bad(struct check_result *result, int errnum, const char *hint, const char *format, ...)
{
    result->ok = false;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(result->found, sizeof result->found, format, arguments);
    va_end(arguments);
    if (errnum && length >= 0 && (size_t)length < sizeof result->found)
        snprintf(result->found + length, sizeof result->found - (size_t)length, ": %s", strerror(errnum));
    snprintf(result->hint, sizeof result->hint, "%s", hint ? hint : "");
}

static void result_print(const struct check_probe *probe, const struct check_result *result)
{
    const char *word = result->ok ? "ok" : probe->required ? "MISSING" : "no";
    const char *colour = !cli_colour(stdout) ? "" : result->ok ? "\033[32m" : probe->required ? "\033[31m" : "\033[33m";
    printf("%s%-8s%s%-22s %s\n", colour, word, colour[0] ? "\033[0m" : "", probe->name, result->found);
    if (!result->ok && result->hint[0])
        printf("%-8s%-22s hint: %s\n", "", "", result->hint);
}

/* json_string refuses what is not UTF-8, and a compiler may say anything. */
static json_t *text_value(const char *text)
{
    json_t *value = json_string(text);
    return value ? value : json_string("(not readable as UTF-8)");
}

static unsigned probes_run(struct cli *cli, const struct check_probe *probes, json_t *list)
{
    unsigned missing = 0;
    for (; probes->name; probes++) {
        cli_progress(cli, probes->name);
        struct check_result result = {0};
        probes->probe(&result);
        cli_progress(cli, NULL);
        missing += probes->required && !result.ok;
        if (list)
            json_array_append_new(list, json_pack("{ss sb sb so so}", "name", probes->name, "ok", (int)result.ok, "required",
                                                  (int)probes->required, "found", text_value(result.found), "hint",
                                                  result.hint[0] ? text_value(result.hint) : json_null()));
        else
            result_print(probes, &result);
    }
    return missing;
}

static enum pcere_status check_run(struct cli *cli, void *options, struct pcere_error *error)
{
    (void)options;
    json_t *list = cli->json ? json_array() : NULL;
    unsigned missing = probes_run(cli, check_kernel_probes, list);
    missing += probes_run(cli, check_tool_probes, list);
    missing += probes_run(cli, check_machine_probes, list);
    if (list)
        json_object_set_new(cli->document, "checks", list);
    if (missing)
        return pcere_fail(error, PCERE_REFUSED, 0, "see the hints above; 'scripts/setup' installs what Debian packages can bring",
                          "%u thing%s that PCERE needs %s missing on this machine", missing, missing == 1 ? "" : "s",
                          missing == 1 ? "is" : "are");
    if (!cli->json && !cli->quiet)
        printf("\nThis machine has all that PCERE needs.\n");
    return PCERE_OK;
}

const struct cli_verb cli_verb_check = {
    .name = "check",
    .summary = "what this machine permits, found out by trying, and what is missing",
    .synopsis = "",
    .description = "Tries everything that PCERE relies on: tracing a process and reading its memory, fixing addresses, loading a library into a "
                   "program, compiling a small program with the plugin, linking and running it. A required thing that is missing gives exit "
                   "status 3; what is only useful (performance counters, faster ways to find written pages) does not.",
    .examples = "pcere check\n# which required things are missing\npcere check --json | jq '.checks[] | select(.required and (.ok | not)) | .name'\n",
    .operands = CLI_OPERANDS_NONE,
    .run = check_run,
};
