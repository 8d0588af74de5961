/* cli/verb_help.c - pcere help [VERB]; with --man, the page that docs/man holds. */
#include "cli/verbs.h"

#include <string.h>

struct help_options { bool man; };

static enum pcere_status help_run(struct cli *cli, void *raw, struct pcere_error *error)
{
    const struct help_options *options = raw;
    const struct cli_verb *verb = NULL;
    if (cli->operand_count > 1)
        return pcere_fail(error, PCERE_USAGE, 0, NULL, "one verb at a time");
    if (cli->operand_count == 1) {
        verb = cli_verb_find(cli->operands[0]);
        if (!verb)
            return pcere_fail(error, PCERE_USAGE, 0, "'pcere help' lists what there is", "'%.80s' is not a verb of pcere", cli->operands[0]);
    }
    if (cli->json) {
        json_t *list = json_array();
        for (size_t i = 0; cli_verbs[i]; i++)
            if (!verb || verb == cli_verbs[i])
                json_array_append_new(list, json_pack("{ss ss}", "name", cli_verbs[i]->name, "summary", cli_verbs[i]->summary));
        json_object_set_new(cli->document, "verbs", list);
    } else if (options->man) {
        verb ? cli_man_verb(verb, stdout) : cli_man_overview(stdout);
    } else {
        verb ? cli_help_verb(verb, stdout) : cli_help_overview(stdout);
    }
    return PCERE_OK;
}

static const struct cli_option options[] = {
    {"man", 0, CLI_FLAG, offsetof(struct help_options, man), NULL, "Print the manual page in roff.", 0, 0},
};

const struct cli_verb cli_verb_help = {
    .name = "help",
    .summary = "what there is, or how one verb is called",
    .synopsis = "[VERB]",
    .description = "Lists the verbs, or shows the options of one.",
    .options = options, .option_count = sizeof options / sizeof *options, .options_bytes = sizeof(struct help_options),
    .operands = CLI_OPERANDS_ANY,
    .run = help_run,
};
