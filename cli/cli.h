/* cli/cli.h - what a verb of the `pcere` command is, and what the command offers to it.
 *
 * This folder alone prints, reads the environment and ends the process. A verb is an entry of the table in main.c: its words, its
 * options and its preconditions are data, from which the parser, --help and the man pages are made.
 */
#ifndef PCERE_CLI_H
#define PCERE_CLI_H

#include "core/error.h"
#include "core/region_name.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct cli_threads { unsigned *counts; size_t count; };    /* count 0: the option was not given */

enum cli_option_kind {
    CLI_FLAG,        /* bool */
    CLI_TEXT,        /* const char *, borrowed from argv */
    CLI_NUMBER,      /* uint64_t from `least` to `most` */
    CLI_THREADS,     /* struct cli_threads: a list of thread counts, repetitions dropped */
};

struct cli_option {
    const char *name;              /* "threads" for --threads */
    char letter;                   /* 'o' for -o, or 0 */
    enum cli_option_kind kind;
    size_t offset;                 /* of the value in the structure that the parser fills */
    const char *value;             /* "LIST", as help shows it; NULL for a flag */
    const char *help;              /* one or two sentences without a line break */
    uint64_t least, most;          /* of a number */
};

enum cli_operands {
    CLI_OPERANDS_NONE,
    CLI_OPERANDS_STORE,            /* [STORE] */
    CLI_OPERANDS_STORE_REGIONS,    /* [STORE] [REGION...] */
    CLI_OPERANDS_PROGRAM,          /* PROGRAM [ARGUMENT...]: what follows the program is the program's */
    CLI_OPERANDS_ANY,              /* up to the verb */
};

enum {                             /* preconditions, met by main before the verb's function is called */
    CLI_NEEDS_STORE = 1u << 0,     /* cli->store is open, cli->operands holds what follows it */
    CLI_NEEDS_PROGRAM = 1u << 1,   /* cli->program_file is what cli->operands[0] means to a shell */
    CLI_OR_STORE = 1u << 2,        /* where the first operand is a directory, the verb is called as if it were CLI_NEEDS_STORE instead: cli->store is not NULL */
};

struct cli;
typedef enum pcere_status cli_verb_fn(struct cli *cli, void *options, struct pcere_error *error);

struct cli_verb {
    const char *name;
    const char *summary;           /* one line, for the list of verbs */
    const char *synopsis;          /* what follows the name and the options: "PROGRAM [ARGUMENT...]" */
    const char *description;       /* paragraphs separated by an empty line */
    const char *examples;          /* lines: a command, or an explanation that begins with '#' */
    const struct cli_option *options;
    size_t option_count;
    size_t options_bytes;          /* of the verb's options structure; it starts zeroed */
    enum cli_operands operands;
    unsigned needs;
    cli_verb_fn *run;              /* PCERE_NO with an empty message: the answer is no, and has been shown */
};

struct store;
struct elf_file;

struct cli {
    const struct cli_verb *verb;
    bool json, help, quiet, verbose;
    json_t *document;              /* what --json prints; begins with schema, version and host; the verb adds its keys */
    char **operands;               /* NULL-terminated */
    size_t operand_count;
    struct store *store;           /* with CLI_NEEDS_STORE */
    bool store_named;              /* by an operand */
    char *program_file;            /* with CLI_NEEDS_PROGRAM: where the program was found (PATH is searched as a shell does) */
    int signal;                    /* the program was ended by it from the terminal: the exit status is 128 + signal */
    uint64_t started_ns;
    bool progress_shown;
};

extern const struct cli_verb *const cli_verbs[];    /* NULL-terminated, in the order of the work */
const struct cli_verb *cli_verb_find(const char *name);

/* The document that --json prints, begun: for a verb that needs one without --json, too. It is freed with *cli. */
enum pcere_status cli_document_begin(struct cli *cli, struct pcere_error *error);

/* ---- options.c ----------------------------------------------------------------------------------------------------------- */

extern const struct cli_option cli_common_options[];    /* they fill struct cli */
extern const size_t cli_common_option_count;

/* Parse argv[0..count) for the verb: common options go to *cli, the verb's to `options`, the rest to cli->operands.
 * PCERE_USAGE names the option and, for a misspelt one, the nearest. */
bool cli_is_directory(const char *word);
enum pcere_status cli_options_parse(struct cli *cli, void *options, int count, char **arguments, struct pcere_error *error);
void cli_options_done(const struct cli_verb *verb, void *options);

/* The nearest of `count` words to `word` by edit distance, or NULL if none is near. */
const char *cli_nearest(const char *word, const char *const *words, size_t count);

/* ---- help.c -------------------------------------------------------------------------------------------------------------- */

void cli_help_overview(FILE *out);
void cli_help_verb(const struct cli_verb *verb, FILE *out);
void cli_man_overview(FILE *out);
void cli_man_verb(const struct cli_verb *verb, FILE *out);

/* ---- output.c ------------------------------------------------------------------------------------------------------------ */

/* "pcere VERB: message" and "hint: ..." on stderr. */
void cli_error_print(const struct cli *cli, const struct pcere_error *error);
/* A remark on stderr, unless --quiet. */
void cli_note(struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* What is going on, on stderr: one line that is overwritten, on a terminal, once a second has passed; NULL text clears it.
 * With --verbose: a line each, always. Never to be called inside a timed interval. */
void cli_progress(struct cli *cli, const char *text);
/* While a user's program may write: what it prints goes to standard error, and standard output stays for the result. The
 * descriptor that is returned goes to cli_stdout_return, which accepts -1. */
int cli_stdout_divert(void);
void cli_stdout_return(int saved);
bool cli_colour(FILE *out);                /* a terminal, and NO_COLOR is not set */

enum { CLI_TEXT_MOST = 64 };               /* bytes that the following write at most */
/* "18.4 ms [18.2, 18.7]", all three in the unit of the first, and "12.3 %". They return `text`. */
char *cli_interval_text(char text[static CLI_TEXT_MOST], uint64_t time_ns, uint64_t low_ns, uint64_t high_ns);
char *cli_ratio_text(char text[static CLI_TEXT_MOST], double ratio);

/* A table whose columns are as wide as their widest cell; a heading that begins with '>' is aligned to the right, and one that begins with '~' stands above names of
 * regions, which are shortened where they are long and stay apart (core/region_name.h). */
struct cli_table;
struct cli_table *cli_table_new(size_t columns, const char *const *headings);      /* NULL: no memory */
void cli_table_row(struct cli_table *table, const char *const *cells);              /* cells are copied; NULL is empty */
void cli_table_print(struct cli_table *table, FILE *out);                            /* nothing if there are only headings */
void cli_table_free(struct cli_table *table);

struct store_manifest;
/* A region's name for a sentence about a program: short, and no other region's of it, if a short one can be (core/region_name.h). Returns `text`. */
char *cli_region_name(char text[static REGION_NAME_BYTES], const struct store_manifest *manifest, const char *name);

/* ---- measuring.c --------------------------------------------------------------------------------------------------------- */

/* Processors that this process may use. */
unsigned cli_processors(void);
/* "4", or "4 *" if that is more than `processors`; *marked becomes true then. Returns `text`. */
char *cli_thread_count_text(char text[static CLI_TEXT_MOST], unsigned threads, unsigned processors, bool *marked);
/* What the * means, if `marked`. */
void cli_thread_mark_print(bool marked, FILE *out);

struct capture_options;
/* Options for a run of the named program as the verbs need it; `library` is malloc'ed and stays the caller's to free. */
enum pcere_status cli_measure_options(struct cli *cli, struct capture_options *ret_options, char **ret_library,
                                      struct pcere_error *error);
/* PCERE_NO with a sentence if the program did not exit with status 0; ended by SIGINT: cli->signal, too. */
enum pcere_status cli_program_judge(struct cli *cli, int status, struct pcere_error *error);
/* The same for another run of a store's program: as it exited when it was captured, so it may again. */
enum pcere_status cli_program_judge_again(struct cli *cli, int status, struct pcere_error *error);
/* Of a run that *error says is of no use: if the program did not exit with status 0 either, that is added, as far as there is room. */
void cli_program_add(struct cli *cli, int status, struct pcere_error *error);

/* ---- files.c ------------------------------------------------------------------------------------------------------------- */

/* Path of a file that is installed with PCERE ("PCEREPass.so", "libpcere-capture.so"), looked for in PCERE_LIBDIR if that is set,
 * else beside the running executable (../lib/pcere, ../lib, the configured library directory). free() it. PCERE_REFUSED. */
enum pcere_status cli_file_find(const char *name, char **ret_path, struct pcere_error *error);
/* May a result be written there once it is made? PCERE_USAGE: it exists, and not `force`, or it is no regular file. PCERE_SYSTEM: its folder is not there, or may not be written. */
enum pcere_status cli_output_check(const char *path, bool force, struct pcere_error *error);
/* Where a result goes: `output`, or the last part of `program` and `suffix` in the current directory. free() it. Errors: as above. */
enum pcere_status cli_output_choose(const char *output, const char *program, const char *suffix, bool force, char **ret_path, struct pcere_error *error);
/* Find a program as a shell does: a name with a slash as it is, another in PATH. free() it. PCERE_USAGE. */
enum pcere_status cli_program_find(const char *name, char **ret_path, struct pcere_error *error);

/* ---- ranks.c ------------------------------------------------------------------------------------------------------------- */

/* Did mpirun start this process beside others? */
bool cli_has_siblings(void);
/* A result's name: `output` with the rank for its first %r, or the last part of `program`, the rank where mpirun or srun gave one, and `suffix`. free() it. PCERE_USAGE: several
 * processes would have the same. */
enum pcere_status cli_rank_output(const char *output, const char *program, const char *suffix, char **ret_path, struct pcere_error *error);

/* ---- moment.c ------------------------------------------------------------------------------------------------------------ */

/* A new directory under TMPDIR, locked until this process ends; free() it; cli_directory_remove deletes it with all it holds. Those that killed processes of
 * this user left on this machine are removed. PCERE_SYSTEM: none can be made there. */
enum pcere_status cli_directory_new(char **ret_path, struct pcere_error *error);
void cli_directory_remove(const char *path);

/* ---- process.c ----------------------------------------------------------------------------------------------------------- */


struct cli_process {
    char *const *arguments;        /* NULL-terminated; [0] is looked for in PATH */
    char *const *environment;      /* NULL: this process's */
    unsigned timeout_s;
};
/* Run it with its stdout and stderr going to *ret_output (malloc, NUL-terminated, at most 64 KiB kept), and wait. *ret_status is
 * as waitpid gives it. PCERE_REFUSED: it cannot be started, or ran past its time. */
enum pcere_status cli_process_run(const struct cli_process *process, char **ret_output, int *ret_status,
                                  struct pcere_error *error);
/* "exited with status 3", "was killed by signal 11 (Segmentation fault)" */
char *cli_status_text(char text[static CLI_TEXT_MOST], int status);

#endif
