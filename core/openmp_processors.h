/* core/openmp_processors.h - for libraries and codelets in whose process LLVM's OpenMP runtime begins: what another one has bound its thread to by then. */
#ifndef PCERE_CORE_OPENMP_PROCESSORS_H
#define PCERE_CORE_OPENMP_PROCESSORS_H

/* GCC's OpenMP runtime, which some library may have brought, binds the first thread as soon as it is loaded, if the environment speaks of places; LLVM's would find one
 * processor then. Where GCC's is there, give the thread the processors that it had before any constructor ran. Before LLVM's runtime begins; not where the user asked for places:
 * then the program ran so. Does nothing on processors other than x86-64. */
void pcere_openmp_processors_free(void);

#endif
