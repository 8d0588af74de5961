/* include/pcere/codelet_abi.h - what a rebuilt unit offers to replay-rt/target: the contract between the pass in codelet mode
 * (`clang -x ir UNIT.bc FLAGS -fplugin=PCEREPass.so -fpass-plugin=PCEREPass.so -mllvm -pcere-codelet -c`) and the replay runtime.
 *
 * In codelet mode the unit goes through the whole pipeline as the original did; at its end
 *   - `main` is called __pcere_main.UNIT, constructors are dropped, no probes are there;
 *   - each mutable variable that is not thread-local is an undefined symbol: a global one keeps its name, an internal one is NAME.pcere.UNIT.
 *     The launcher defines these as absolute symbols: the captured addresses, from .pcere.sym;
 *   - locks of critical constructs (.gomp_critical_user_*) and threadprivate caches stay definitions: they belong to the new process;
 *   - malloc and the like, where the program's executable defines them, are called pcere_program_malloc, ...;
 *   - five tables lie in sections whose start and end the linker provides (__start_NAME, __stop_NAME).
 * The units of a shared library (-mllvm -pcere-codelet-library) become a shared object of their own, linked where the captured library is near. In
 * them thread-local variables, too, are undefined symbols of these names: the launcher gives the object a TLS block like the original's.
 * The object offers its tables in a struct codelet_image called __pcere_image_NUMBER.
 *
 * UNIT is the unit's id as 16 hex digits. Symbols that the launcher may leave undefined are weak.
 */
#ifndef PCERE_CODELET_ABI_H
#define PCERE_CODELET_ABI_H

#include <stdint.h>

struct codelet_region {          /* section pcere_regions: one for each region of the unit */
    const char *name;            /* as in struct pcere_site */
    void (*fork)(const uint64_t *words);    /* calls __kmpc_fork_call with the region's function and `words`; NULL if only serial */
    void (*serial)(const uint64_t *words);  /* calls the region's function as a serialised region */
    uint64_t word_count;
    uint64_t unit_id;            /* regions of several units may have one name */
    const char *missing;         /* "avx512f avx512vl": what its code may use and the processor that it was rebuilt on lacks; "" is fine */
    const char *whole;           /* why a part of its iterations says nothing about the others, so that it must be replayed whole; "": nothing known */
    uint64_t sampling;           /* CODELET_SAMPLE_ bits: how its loops may be sampled; CODELET_REGION_EMPTY */
};
#define CODELET_SAMPLE_ONE_BLOCK 1u     /* its loops may allocate: a frame that goes back in time would forget a block, or free one twice */
#define CODELET_SAMPLE_TASKS 4u         /* it has tasks: subtrees of these are sampled, and no loop */
#define CODELET_SAMPLE_ONCE 8u          /* its iterations step counters that are indices: none may run twice without memory being put back */
#define CODELET_SAMPLE_RESTORED 16u     /* what decides where it goes is written by it, too, outside of loops: memory is put back behind each shot */
#define CODELET_REGION_SHARES 32u       /* what a thread is kept from doing others do: loops without a static schedule, tasks */
#define CODELET_REGION_EMPTY 2u         /* the optimiser dropped the region, which does nothing, as it did in the program: `fork` and `serial` return */

struct codelet_function {        /* section pcere_functions: each function of the unit whose address may lie in captured data */
    void *captured;              /* weak absolute symbol __pcere_old.UNIT.NAME: its captured address, or NULL */
    void *rebuilt;
};

struct codelet_runtime {         /* section pcere_runtimes: each function of the runtimes in a statically linked program, whose code may call it without bitcode */
    void *captured;              /* its captured address */
    void *jump;                  /* code near the program's that jumps to it */
    void *here;                  /* NULL: no library of this process has it */
};

struct codelet_tls {             /* section pcere_tls: each thread-local variable that the unit defines */
    void *captured;              /* weak absolute symbol __pcere_tls.UNIT.NAME: 1 + its offset in the image's TLS block, or NULL */
    void *(*address)(void);      /* of the calling thread's instance */
    uint64_t bytes;
};

struct codelet_constant {        /* section pcere_constants: each string and array of numbers that no name tells where the program has it */
    const void *here;
    uint64_t bytes;
};

struct codelet_image {
    const struct codelet_region *regions, *regions_end;
    const struct codelet_function *functions, *functions_end;
    const struct codelet_tls *tls, *tls_end;
    const struct codelet_cache *caches, *caches_end;
    const struct codelet_constant *constants, *constants_end;
};

/* Called in place of a function that only the program's processor can run, where the codelet is built for another one (-mllvm -pcere-codelet-processor). */
__attribute__((noreturn)) void pcere_region_refuse(const char *why);

struct codelet_cache {           /* section pcere_caches: each threadprivate variable of the unit that is no thread-local one (-fnoopenmp-use-tls, flang) */
    void ***cache;               /* a list by the OpenMP runtime's thread number: __kmpc_threadprivate_cached takes what stands there */
    void *original;              /* captured address of the variable, which is the initial thread's copy */
    const void *initial;         /* what it was initialised with; NULL: another unit defines it */
    uint64_t bytes;
    void *(*construct)(void *copy);     /* makes a thread's object; NULL: what it was initialised with is all */
};

#endif
