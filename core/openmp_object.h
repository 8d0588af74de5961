/* core/openmp_object.h - for libraries and codelets in whose process an OpenMP runtime is about to begin: what an earlier process left in its way. */
#ifndef PCERE_CORE_OPENMP_OBJECT_H
#define PCERE_CORE_OPENMP_OBJECT_H

/* LLVM's OpenMP runtime names a shared memory object by its process's number, and ends the program where one is there that nothing was written into: where a process
 * that had the number before was killed just then. Remove such an object, before this process's runtime begins. One with a word in it, this process's own among them, stays,
 * as does any where there are other threads, of which one could be making it. For constructors, and before a codelet first calls the runtime. */
void pcere_openmp_object_forget(void);

#endif
