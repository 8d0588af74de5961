/* replay-rt/launcher/command.h - run a compiler or linker without a shell, its output in a file. */
#ifndef PCERE_REPLAY_LAUNCHER_COMMAND_H
#define PCERE_REPLAY_LAUNCHER_COMMAND_H

#include "core/error.h"

#include <stddef.h>

struct arguments {                    /* a growing argv; every string is owned */
    char **items;                     /* NULL-terminated once anything was added */
    size_t count, capacity;
    int failed;                       /* memory ran out: what was added later is missing */
};

void arguments_add(struct arguments *arguments, const char *argument);
void arguments_addf(struct arguments *arguments, const char *format, ...) __attribute__((format(printf, 2, 3)));
void arguments_done(struct arguments *arguments);

/* Absolute path of `name` in the folders of `search_path` ("a:b"; NULL: the usual ones); a name with a slash is taken as it is.
 * *ret_path is malloc'ed. PCERE_REFUSED with `hint`: not found. */
enum pcere_status command_find(const char *name, const char *search_path, const char *hint, char **ret_path,
                               struct pcere_error *error);

/* Run arguments[0] (a path) to its end; stdout and stderr are appended to the file `log`. *ret_status as waitpid gives it.
 * What crashes is run once more. Thread-safe. */
enum pcere_status command_run(const struct arguments *arguments, const char *log, int *ret_status, struct pcere_error *error);

/* First line of the log that names an error, else its first line, without its end; malloc'ed, "" for an empty log, NULL without
 * memory. */
char *command_first_error(const char *log);

#endif
