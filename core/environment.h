/* core/environment.h - the environment of a process that is to be started.
 *
 * As with struct text, out of memory is remembered: set as much as you like, then ask `failed` once. Start from a zeroed struct, or from a copy.
 */
#ifndef PCERE_CORE_ENVIRONMENT_H
#define PCERE_CORE_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

struct environment {
    char **list;         /* `count` words NAME=VALUE and a NULL, each of its own; NULL while there is none */
    size_t count, capacity;
    bool failed;         /* memory ran out: something is missing */
};

/* A copy of a NULL-terminated list of words NAME=VALUE; NULL has none. */
struct environment environment_copy(char *const *variables);

/* One more word, NAME=VALUE. environment_set takes what has that name out first, wherever it stands. */
void environment_add(struct environment *environment, const char *variable);
void environment_set(struct environment *environment, const char *format, ...) __attribute__((format(printf, 2, 3)));
void environment_unset(struct environment *environment, const char *name);

/* LD_PRELOAD with this library first. */
void environment_preload(struct environment *environment, const char *library);

/* What the first word of that name says, borrowed; NULL: there is none. */
const char *environment_get(char *const *variables, const char *name);

/* Is it NAME=... with this name? */
bool environment_names(const char *variable, const char *name);

/* Free what it holds, or a list that was taken out of one. Accept NULL. */
void environment_done(struct environment *environment);
void environment_list_free(char **list);

#endif
