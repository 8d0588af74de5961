/* core/preloaded.h - for libraries that PCERE brings into the user's process with LD_PRELOAD: the environment that brought them there. */
#ifndef PCERE_CORE_PRELOADED_H
#define PCERE_CORE_PRELOADED_H

/* Where "NAME=..." of that name stands in environ, or NULL. Not getenv: the place is wanted, and programs that run with the rights of another user never get here. */
char **preloaded_slot(const char *name);

/* Take `variable` out of environ, and `library` off the beginning of LD_PRELOAD, so that the program and its children see their own. Does not allocate. */
void preloaded_leave(const char *variable, const char *library);

/* LLVM's OpenMP runtime names a shared memory object by its process's number, and ends the program where one is there that nothing was written into: where a process
 * that had the number before was killed just then. Remove such an object, before this process's runtime begins. One with a word in it, this process's own among them, stays,
 * as does any where there are other threads, of which one could be making it. For constructors. */
void preloaded_runtime_forget(void);

#endif
