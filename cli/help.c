/* cli/help.c - --help and the man pages, both from the table of verbs and their options.
 *
 * It knows how help looks; what it says stands in the verbs' tables.
 */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

enum { WIDTH = 80 };

static const char *const exit_statuses[][2] = {
    {"0", "done"},
    {"1", "done, and the answer is no: memory differs, the program failed, a limit is exceeded"},
    {"2", "the command line is wrong"},
    {"3", "this machine refuses: tracing is forbidden, a compiler is missing, the program was not built with the plugin"},
    {"4", "stored data is missing, damaged or of another version"},
    {"5", "the system failed: disk full, out of memory"},
    {"128+N", "ended by signal N"},
};
enum { EXIT_STATUSES = sizeof exit_statuses / sizeof *exit_statuses };

static const char files_text[] =
    "PROGRAM.pcere/ is a store: a directory with the captured memory, the program and every sample. Without STORE, a verb takes the "
    "only *.pcere in the current directory.";

/* Words of `text` from column `at` on, wrapped; following lines begin at `indent`. */
static void print_wrapped(FILE *out, const char *text, size_t at, size_t indent)
{
    size_t column = at;
    while (*text) {
        size_t length = strcspn(text, " \n");
        if (column > indent && column + 1 + length > WIDTH) {
            fprintf(out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (column > indent) {
            fputc(' ', out);
            column++;
        }
        fprintf(out, "%.*s", (int)length, text);
        column += length;
        text += length;
        if (text[0] == '\n' && text[1] == '\n') {
            fprintf(out, "\n\n%*s", (int)indent, "");
            column = indent;
        }
        text += strspn(text, " \n");
    }
    fputc('\n', out);
}

static void print_option(FILE *out, const struct cli_option *option)
{
    enum { COLUMN = 24 };
    char words[80];
    char letter[8] = "    ";
    if (option->letter)
        snprintf(letter, sizeof letter, "-%c, ", option->letter);
    snprintf(words, sizeof words, "  %s--%s%s%s", letter, option->name, option->value ? " " : "", option->value ? option->value : "");
    size_t length = strlen(words);
    fputs(words, out);
    if (length + 1 >= COLUMN) {
        fputc('\n', out);
        length = 0;
    }
    fprintf(out, "%*s", (int)(COLUMN - length), "");
    print_wrapped(out, option->help, COLUMN, COLUMN);
}

static void print_synopsis(const struct cli_verb *verb, FILE *out)
{
    fprintf(out, "pcere %s", verb->name);
    if (verb->option_count)
        fputs(" [OPTION...]", out);
    if (verb->synopsis[0])
        fprintf(out, " %s", verb->synopsis);
    fputc('\n', out);
}

void cli_help_overview(FILE *out)
{
    fputs("usage: pcere VERB [OPTION...] [WORD...]\n\n", out);
    print_wrapped(out, "Cuts an OpenMP program into its parallel regions, replays each one alone with other thread counts, flags or "
                       "machines, and predicts the whole program's time.", 0, 0);
    fputs("\nverbs\n", out);
    for (size_t i = 0; cli_verbs[i]; i++) {
        fprintf(out, "  %-10s ", cli_verbs[i]->name);
        print_wrapped(out, cli_verbs[i]->summary, 13, 13);
    }
    fputs("\nin this order\n"
          "  clang-19 -O3 -g -fopenmp -fpass-plugin=PCEREPass.so x.c -o x\n"
          "                                  a program that carries its own bitcode\n"
          "  pcere capture ./x               x.pcere: its codelets\n"
          "  pcere replay --threads 1,2,4,8  samples\n"
          "  pcere predict                   time at each thread count\n\n"
          "'pcere VERB --help' tells more. Every verb takes --json.\n", out);
}

void cli_help_verb(const struct cli_verb *verb, FILE *out)
{
    fputs("usage: ", out);
    print_synopsis(verb, out);
    fputc('\n', out);
    print_wrapped(out, verb->description, 0, 0);
    fputs("\noptions\n", out);
    for (size_t i = 0; i < verb->option_count; i++)
        print_option(out, &verb->options[i]);
    for (size_t i = 0; i < cli_common_option_count; i++)
        print_option(out, &cli_common_options[i]);
    if (verb->examples) {
        fputs("\nexamples\n", out);
        for (const char *line = verb->examples; *line; line += strcspn(line, "\n"), line += *line == '\n')
            fprintf(out, "  %.*s\n", (int)strcspn(line, "\n"), line);
    }
}

/* Roff: backslashes and leading dots and quotes are escaped, hyphens stay hyphens. */
static void man_text(FILE *out, const char *text, size_t length)
{
    bool line_start = true;
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        if (line_start && (c == '.' || c == '\''))
            fputs("\\&", out);
        if (c == '\\')
            fputs("\\e", out);
        else if (c == '-')
            fputs("\\-", out);
        else
            fputc(c, out);
        line_start = c == '\n';
    }
}

static void man_paragraphs(FILE *out, const char *text)
{
    while (*text) {
        const char *end = strstr(text, "\n\n");
        size_t length = end ? (size_t)(end - text) : strlen(text);
        fputs(".PP\n", out);
        man_text(out, text, length);
        fputc('\n', out);
        text += length;
        text += strspn(text, "\n");
    }
}

static void man_option(FILE *out, const struct cli_option *option)
{
    fputs(".TP\n", out);
    if (option->letter)
        fprintf(out, "\\fB\\-%c\\fR, ", option->letter);
    fputs("\\fB\\-\\-", out);
    man_text(out, option->name, strlen(option->name));
    fputs("\\fR", out);
    if (option->value)
        fprintf(out, " \\fI%s\\fR", option->value);
    fputc('\n', out);
    man_text(out, option->help, strlen(option->help));
    fputc('\n', out);
}

static void man_head(FILE *out, const char *page, const char *summary)
{
    char title[64];
    snprintf(title, sizeof title, "%s", page);
    for (char *c = title; *c; c++)
        if (*c >= 'a' && *c <= 'z')
            *c = (char)(*c - 'a' + 'A');
    fprintf(out, ".TH %s 1 \"\" \"PCERE %s\" \"PCERE\"\n.SH NAME\n", title, PCERE_VERSION);
    man_text(out, page, strlen(page));
    fputs(" \\- ", out);
    man_text(out, summary, strlen(summary));
    fputc('\n', out);
}

static void man_foot(FILE *out, const struct cli_verb *self)
{
    fputs(".SH EXIT STATUS\n", out);
    for (size_t i = 0; i < EXIT_STATUSES; i++)
        fprintf(out, ".TP\n.B %s\n%s.\n", exit_statuses[i][0], exit_statuses[i][1]);
    fputs(".SH FILES\n", out);
    man_text(out, files_text, strlen(files_text));
    fputs("\n.SH ENVIRONMENT\n.TP\n.B PCERE_LIBDIR\nWhere the plugin and the runtimes lie, if not beside the command.\n"
          ".TP\n.B PCERE_HOST\nThe name of this machine in stores (the default is made from its processor).\n"
          ".TP\n.B NO_COLOR\nIf set, nothing is coloured.\n.SH SEE ALSO\n", out);
    if (self)
        fputs(".BR pcere (1)", out);
    for (size_t i = 0; cli_verbs[i]; i++)
        if (cli_verbs[i] != self)
            fprintf(out, "%s.BR pcere\\-%s (1)", i || self ? ",\n" : "", cli_verbs[i]->name);
    fputc('\n', out);
}

void cli_man_verb(const struct cli_verb *verb, FILE *out)
{
    char page[64];
    snprintf(page, sizeof page, "pcere-%s", verb->name);
    man_head(out, page, verb->summary);
    fprintf(out, ".SH SYNOPSIS\n\\fBpcere %s\\fR", verb->name);
    fputs(" [\\fIOPTION\\fR...]", out);
    if (verb->synopsis[0])
        fprintf(out, " %s", verb->synopsis);
    fputs("\n.SH DESCRIPTION\n", out);
    man_paragraphs(out, verb->description);
    fputs(".SH OPTIONS\n", out);
    for (size_t i = 0; i < verb->option_count; i++)
        man_option(out, &verb->options[i]);
    for (size_t i = 0; i < cli_common_option_count; i++)
        man_option(out, &cli_common_options[i]);
    if (verb->examples) {
        fputs(".SH EXAMPLES\n.nf\n", out);
        man_text(out, verb->examples, strlen(verb->examples));
        fputs(".fi\n", out);
    }
    man_foot(out, verb);
}

void cli_man_overview(FILE *out)
{
    man_head(out, "pcere", "cut OpenMP programs into codelets, replay them, predict scalability");
    fputs(".SH SYNOPSIS\n\\fBpcere\\fR \\fIVERB\\fR [\\fIOPTION\\fR...] [\\fIWORD\\fR...]\n.SH DESCRIPTION\n", out);
    man_paragraphs(out,
        "A program that was compiled with the plugin carries its own bitcode. pcere captures the memory of its parallel regions while it "
        "runs, rebuilds each region as a program of its own (a codelet), times it with any number of threads, and sums up what the "
        "whole program would take.\n\nResults go to standard output, everything else to standard error. Every verb takes --json, and then "
        "prints exactly one document that begins with \"schema\": \"pcere.VERB/1\".");
    fputs(".SH VERBS\n", out);
    for (size_t i = 0; cli_verbs[i]; i++)
        fprintf(out, ".TP\n\\fBpcere %s\\fR\n%s.\n", cli_verbs[i]->name, cli_verbs[i]->summary);
    man_foot(out, NULL);
}
