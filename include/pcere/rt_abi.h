/* include/pcere/rt_abi.h - the contract between the pass and what runs beside an instrumented program.
 *
 * The pass emits one struct pcere_site per source region and translation unit; field order here is what it emits. The embedded
 * bitcode and the tables lie in sections that are not loaded (docs/format/sections.md):
 *
 *   .pcere.bc    a sequence of units:    struct pcere_unit_header | flags | source | bitcode          | padding to 16 bytes
 *   .pcere.sym   a sequence of tables:   struct pcere_symbol_header | entries (pcere_symbol_entry | name, NUL) | padding to 16 bytes
 *   .pcere.con   a sequence of tables:   struct pcere_construct_header | entries (pcere_construct_entry | three strings) | padding to 16 bytes
 *
 * Each call of a program to the OpenMP runtime that belongs to a construct carries the construct's id: the source string of its ident_t is
 * ";file;function;line;column;" followed by PCERE_IDENT_MARK, 16 hexadecimal digits and ";".
 */
#ifndef PCERE_RT_ABI_H
#define PCERE_RT_ABI_H

#include <stdint.h>

#define PCERE_ABI_VERSION 2u

enum pcere_path {
    PCERE_PATH_FORK = 0,        /* __kmpc_fork_call */
    PCERE_PATH_FORK_IF = 1,     /* __kmpc_fork_call_if */
    PCERE_PATH_SERIALIZED = 2,  /* the serial path of an if clause: __kmpc_serialized_parallel and a direct call */
};

struct pcere_site {
    uint16_t abi_version;       /* PCERE_ABI_VERSION */
    uint16_t flags;             /* PCERE_SITE_ bits */
    uint32_t line;              /* source line of the construct, 0 if unknown */
    const char *region;         /* "conj_grad@cg.c:405", a second construct on one line "...:405#2", without -g "conj_grad@cg.c" */
    const char *function;       /* enclosing source function */
    const char *file;           /* source file as the compiler saw it */
    void *cookie;               /* NULL at start; belongs to the runtime that is loaded */
    uint64_t unit_id;           /* of the translation unit: two units may hold regions of one name (an inline function's) */
    const char *thread_sized;   /* what holds only for the thread count that the program started with, or NULL */
};

#define PCERE_SITE_SHARES 1u    /* what a thread is kept from doing others do: loops without a static schedule, tasks, as far as its unit tells */

/* thread_sized begins so where fewer threads will not do, either: they would wait for ever, leave some of the work, or all of it. */
#define PCERE_THREADS_EXACT "a barrier for "
#define PCERE_THREADS_DIVISION "a division of the work by "
#define PCERE_THREADS_TEAM "a comparison of its team with "

/* So where as many as the machine has processors will do; a store has a number behind it, of those that the capture had. */
#define PCERE_THREADS_ROOM "memory with one part per processor"
#define PCERE_THREADS_ROOM_FOR "memory with one part for each of "

/* So, with a number behind it, where it shares out as many pieces of work for each thread that there was before it: numbers of threads that share them evenly will do. */
#define PCERE_THREADS_PIECES "work in pieces, "

/* And so, with a number behind it, where it goes one way with fewer threads than that, and another one with as many and more. */
#define PCERE_THREADS_WAY "another way from "

/* What a program's units together tell of a region, and a site never does: with fewer threads than the number behind it the program does not enter it. */
#define PCERE_THREADS_ENTERED "entered only from "

#define PCERE_UNIT_MAGIC "PCEREBC1"
#define PCERE_SYMBOLS_MAGIC "PCERESY1"

enum pcere_unit_coding { PCERE_UNIT_RAW = 0, PCERE_UNIT_ZSTD = 1 };

struct pcere_unit_header {      /* little-endian; 80 bytes */
    char magic[8];              /* PCERE_UNIT_MAGIC */
    uint32_t abi_version;
    uint32_t llvm_major;        /* of the compiler that wrote the bitcode */
    uint64_t unit_id;           /* hash of the bitcode before coding: ties .pcere.bc to .pcere.sym */
    uint32_t coding;            /* enum pcere_unit_coding */
    uint32_t optimisation;      /* 0..3 from -O; PCERE_OPT_SIZE added for -Os, twice for -Oz */
    uint32_t pic_level;         /* 0 static code, 1 -fpic, 2 -fPIC */
    uint32_t pie_level;
    uint64_t flags_bytes;       /* compiler arguments that shape code, each NUL-terminated */
    uint64_t source_bytes;      /* source file name, NUL-terminated */
    uint64_t raw_bytes;         /* bitcode before coding */
    uint64_t stored_bytes;      /* bitcode as it follows */
    uint64_t reserved;
};
#define PCERE_OPT_SIZE 16u

struct pcere_symbol_header {    /* 32 bytes */
    char magic[8];              /* PCERE_SYMBOLS_MAGIC */
    uint32_t abi_version;
    uint32_t entries;
    uint64_t unit_id;
    uint64_t bytes;             /* of the whole table, this header and the final padding included */
};

enum pcere_symbol_kind {
    PCERE_SYMBOL_VARIABLE = 1,  /* address: link-time virtual address (add the load bias) */
    PCERE_SYMBOL_TLS = 2,       /* address: offset in the module's TLS block */
    PCERE_SYMBOL_FUNCTION = 3,  /* address: as a variable's */
};

struct pcere_symbol_entry {     /* 24 bytes, then the name as it stood in the IR, NUL-terminated, padded to 8 bytes */
    uint64_t address;
    uint64_t size;              /* bytes of a variable, 0 for functions */
    uint16_t kind;              /* enum pcere_symbol_kind */
    uint16_t local;             /* 1 if the symbol has internal linkage */
    uint32_t name_bytes;        /* with NUL and padding */
};

#define PCERE_IDENT_MARK ";pcere:"
#define PCERE_CONSTRUCTS_MAGIC "PCERECO1"

enum pcere_construct_kind {
#define PCERE_CONSTRUCT(number, name, words) PCERE_CONSTRUCT_##name = number,
#include "include/pcere/constructs.inc"
#undef PCERE_CONSTRUCT
};

struct pcere_construct_header { /* 32 bytes; as struct pcere_symbol_header */
    char magic[8];              /* PCERE_CONSTRUCTS_MAGIC */
    uint32_t abi_version;
    uint32_t entries;
    uint64_t unit_id;
    uint64_t bytes;
};

struct pcere_construct_entry {  /* 40 bytes; then function, file, region, each NUL-terminated, zeros to a multiple of 8 */
    uint64_t id;                /* not 0 */
    uint64_t parent;            /* id of the construct whose body was made a function that this one lies in, or 0 */
    uint32_t kind;              /* enum pcere_construct_kind */
    uint32_t line;              /* 0 without -g */
    uint32_t column;
    uint32_t ordinal;           /* among the constructs of its function, from 0 */
    uint64_t text_bytes;        /* of the three strings and the zeros: a multiple of 8 */
};

#endif
