/* core/preloaded.h - for libraries that PCERE brings into the user's process with LD_PRELOAD: the environment that brought them there. */
#ifndef PCERE_CORE_PRELOADED_H
#define PCERE_CORE_PRELOADED_H

/* Where "NAME=..." of that name stands in environ, or NULL. Not getenv: the place is wanted, and programs that run with the rights of another user never get here. */
char **preloaded_slot(const char *name);

/* Take `variable` out of environ, and `library` off the beginning of LD_PRELOAD, so that the program and its children see their own. Does not allocate. */
void preloaded_leave(const char *variable, const char *library);

#endif
