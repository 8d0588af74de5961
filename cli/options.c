/* cli/options.c - from words on the command line to values in a structure, by a table.
 *
 * It knows the spelling of options: --name VALUE, --name=VALUE, -oVALUE, and where they end. What an option means, its verb knows.
 */
#include "cli/cli.h"
#include "core/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const struct cli_option cli_common_options[] = {
    {"json", 0, CLI_FLAG, offsetof(struct cli, json), NULL, "Print one JSON document instead of text.", 0, 0},
    {"quiet", 'q', CLI_FLAG, offsetof(struct cli, quiet), NULL, "No progress and no remarks.", 0, 0},
    {"verbose", 'v', CLI_FLAG, offsetof(struct cli, verbose), NULL, "Each step on a line of standard error.", 0, 0},
    {"help", 'h', CLI_FLAG, offsetof(struct cli, help), NULL, "This help.", 0, 0},
};
const size_t cli_common_option_count = sizeof cli_common_options / sizeof *cli_common_options;

static size_t edit_distance(const char *a, const char *b)
{
    enum { MOST = 40 };
    size_t a_length = strlen(a), b_length = strlen(b);
    if (a_length >= MOST || b_length >= MOST)
        return MOST;
    size_t rows[3][MOST];
    for (size_t j = 0; j <= b_length; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *above2 = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t best = above[j - 1] + (a[i - 1] != b[j - 1]);
            if (above[j] + 1 < best)
                best = above[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && above2[j - 2] + 1 < best)
                best = above2[j - 2] + 1;
            row[j] = best;
        }
    }
    return rows[a_length % 3][b_length];
}

const char *cli_nearest(const char *word, const char *const *words, size_t count)
{
    const char *nearest = NULL;
    size_t least = strlen(word) / 3 + 2;
    for (size_t i = 0; i < count; i++) {
        size_t distance = edit_distance(word, words[i]);
        if (distance < least) {
            least = distance;
            nearest = words[i];
        }
    }
    return nearest;
}

static enum pcere_status value_store(const struct cli_option *option, const char *spelling, const char *value, char *base,
                                     struct pcere_error *error)
{
    void *slot = base + option->offset;
    switch (option->kind) {
    case CLI_FLAG:
        *(bool *)slot = true;
        return PCERE_OK;
    case CLI_TEXT:
        if (!value[0])
            return pcere_fail(error, PCERE_USAGE, 0, NULL, "%s: the value is empty", spelling);
        *(const char **)slot = value;
        return PCERE_OK;
    case CLI_NUMBER:
        return units_parse_count(spelling, value, option->least, option->most, slot, error);
    case CLI_THREADS: {
        struct cli_threads *threads = slot;
        free(threads->counts);
        *threads = (struct cli_threads){0};
        return units_parse_threads(spelling, value, &threads->counts, &threads->count, error);
    }
    }
    return pcere_fail(error, PCERE_USAGE, 0, NULL, "%s cannot be parsed", spelling);
}

struct parser {
    struct cli *cli;
    void *options;
    int count, at;
    char **arguments;
};

static const struct cli_option *option_find(const struct parser *parser, const char *name, size_t length, char letter, char **ret_base)
{
    const struct cli_verb *verb = parser->cli->verb;
    for (size_t i = 0; i < verb->option_count + cli_common_option_count; i++) {
        bool own = i < verb->option_count;
        const struct cli_option *option = own ? &verb->options[i] : &cli_common_options[i - verb->option_count];
        bool same = letter ? option->letter == letter : strlen(option->name) == length && strncmp(option->name, name, length) == 0;
        if (!same)
            continue;
        *ret_base = own ? parser->options : (char *)parser->cli;
        return option;
    }
    return NULL;
}

static enum pcere_status option_unknown(const struct parser *parser, const char *spelling, struct pcere_error *error)
{
    const struct cli_verb *verb = parser->cli->verb;
    const char *names[64];
    size_t count = 0;
    for (size_t i = 0; i < verb->option_count && count < 60; i++)
        names[count++] = verb->options[i].name;
    for (size_t i = 0; i < cli_common_option_count && count < 64; i++)
        names[count++] = cli_common_options[i].name;
    const char *nearest = spelling[1] == '-' ? cli_nearest(spelling + 2, names, count) : NULL;
    char hint[128];
    if (nearest)
        snprintf(hint, sizeof hint, "did you mean --%s?", nearest);
    else
        snprintf(hint, sizeof hint, "'pcere %s --help' lists the options", verb->name);
    return pcere_fail(error, PCERE_USAGE, 0, hint, "there is no option %.60s", spelling);
}

static enum pcere_status value_missing(const char *spelling, const struct cli_option *option, struct pcere_error *error)
{
    return pcere_fail(error, PCERE_USAGE, 0, NULL, "%s wants a value: %s %s", spelling, spelling, option->value);
}

static enum pcere_status long_option(struct parser *parser, struct pcere_error *error)
{
    const char *word = parser->arguments[parser->at];
    size_t length = strcspn(word + 2, "=");
    char spelling[80];
    snprintf(spelling, sizeof spelling, "--%.*s", (int)(length < 70 ? length : 70), word + 2);
    char *base;
    const struct cli_option *option = option_find(parser, word + 2, length, 0, &base);
    if (!option)
        return option_unknown(parser, spelling, error);
    const char *value = word[2 + length] == '=' ? word + 3 + length : NULL;
    if (option->kind == CLI_FLAG && value)
        return pcere_fail(error, PCERE_USAGE, 0, NULL, "%s takes no value", spelling);
    if (option->kind != CLI_FLAG && !value) {
        if (parser->at + 1 >= parser->count)
            return value_missing(spelling, option, error);
        value = parser->arguments[++parser->at];
    }
    return value_store(option, spelling, value, base, error);
}

static enum pcere_status short_options(struct parser *parser, struct pcere_error *error)
{
    const char *word = parser->arguments[parser->at];
    for (size_t i = 1; word[i]; i++) {
        char spelling[3] = {'-', word[i], 0};
        char *base;
        const struct cli_option *option = option_find(parser, NULL, 0, word[i], &base);
        if (!option)
            return option_unknown(parser, spelling, error);
        if (option->kind == CLI_FLAG) {
            value_store(option, spelling, NULL, base, error);
            continue;
        }
        const char *value = word + i + 1;
        if (!*value) {
            if (parser->at + 1 >= parser->count)
                return value_missing(spelling, option, error);
            value = parser->arguments[++parser->at];
        }
        return value_store(option, spelling, value, base, error);
    }
    return PCERE_OK;
}

bool cli_is_directory(const char *word)
{
    struct stat status;
    return *word && stat(word, &status) == 0 && S_ISDIR(status.st_mode);
}

enum pcere_status cli_options_parse(struct cli *cli, void *options, int count, char **arguments, struct pcere_error *error)
{
    struct parser parser = {.cli = cli, .options = options, .count = count, .arguments = arguments};
    int operands = 0;   /* operands are gathered at the front of `arguments`; what is there has been read */
    bool program = cli->verb->operands == CLI_OPERANDS_PROGRAM;
    /* --json is seen first, so that a usage error is a document, too. */
    for (int i = 0; i < count && strcmp(arguments[i], "--") != 0 && !(program && arguments[i][0] != '-'); i++)
        if (strcmp(arguments[i], "--json") == 0)
            cli->json = true;
    bool open = true;
    for (; parser.at < count; parser.at++) {
        char *word = arguments[parser.at];
        enum pcere_status status = PCERE_OK;
        if (open && strcmp(word, "--") == 0) {
            open = false;
            continue;
        }
        if (open && word[0] == '-' && word[1] == '-') {
            status = long_option(&parser, error);
        } else if (open && word[0] == '-' && word[1]) {
            status = short_options(&parser, error);
        } else {
            program = program && !(cli->verb->needs & CLI_OR_STORE && !operands && cli_is_directory(word));
            open = open && !program;
            arguments[operands++] = word;
        }
        if (status != PCERE_OK)
            return status;
    }
    arguments[operands] = NULL;
    cli->operands = arguments;
    cli->operand_count = (size_t)operands;
    return PCERE_OK;
}

void cli_options_done(const struct cli_verb *verb, void *options)
{
    for (size_t i = 0; i < verb->option_count; i++)
        if (verb->options[i].kind == CLI_THREADS)
            free(((struct cli_threads *)(void *)((char *)options + verb->options[i].offset))->counts);
}
