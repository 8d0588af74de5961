/* core/environment.c - the environment of a process that is to be started. */
#include "core/environment.h"

#include "core/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool environment_names(const char *variable, const char *name)
{
    size_t length = strlen(name);
    return strncmp(variable, name, length) == 0 && variable[length] == '=';
}

const char *environment_get(char *const *variables, const char *name)
{
    for (size_t i = 0; variables && variables[i]; i++)
        if (environment_names(variables[i], name))
            return variables[i] + strlen(name) + 1;
    return NULL;
}

/* Takes over `variable`; NULL: memory ran out. */
static void append(struct environment *environment, char *variable)
{
    if (!variable || !array_reserve(&environment->list, &environment->capacity, environment->count + 2, sizeof(char *))) {
        free(variable);
        environment->failed = true;
        return;
    }
    environment->list[environment->count++] = variable;
    environment->list[environment->count] = NULL;
}

void environment_add(struct environment *environment, const char *variable)
{
    append(environment, strdup(variable));
}

struct environment environment_copy(char *const *variables)
{
    struct environment result = {0};
    for (size_t i = 0; variables && variables[i]; i++)
        environment_add(&result, variables[i]);
    return result;
}

static void take_out(struct environment *environment, const char *name, size_t length)
{
    size_t kept = 0;
    for (size_t i = 0; i < environment->count; i++)
        if (strncmp(environment->list[i], name, length) == 0 && environment->list[i][length] == '=')
            free(environment->list[i]);
        else
            environment->list[kept++] = environment->list[i];
    environment->count = kept;
    if (environment->list)
        environment->list[kept] = NULL;
}

void environment_unset(struct environment *environment, const char *name)
{
    take_out(environment, name, strlen(name));
}

/* The new word is made before the old one goes: its value may come from there. */
void environment_set(struct environment *environment, const char *format, ...)
{
    char *variable;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&variable, format, arguments);
    va_end(arguments);
    if (length < 0) {
        environment->failed = true;
        return;
    }
    take_out(environment, variable, strcspn(variable, "="));
    append(environment, variable);
}

void environment_preload(struct environment *environment, const char *library)
{
    const char *others = environment_get(environment->list, "LD_PRELOAD");
    environment_set(environment, "LD_PRELOAD=%s%s%s", library, others && *others ? ":" : "", others ? others : "");
}

void environment_list_free(char **list)
{
    for (size_t i = 0; list && list[i]; i++)
        free(list[i]);
    free(list);
}

void environment_done(struct environment *environment)
{
    if (!environment)
        return;
    environment_list_free(environment->list);
    *environment = (struct environment){0};
}
