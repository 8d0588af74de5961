/* replay-rt/launcher/debug_info.h - types and variables of an executable as its debug information (DWARF) tells them.
 *
 * The file is hostile: what is damaged, or longer than any program's, is as if it were not there. A program without debug information has no
 * variables; that is no error. Not thread-safe.
 */
#ifndef PCERE_REPLAY_LAUNCHER_DEBUG_INFO_H
#define PCERE_REPLAY_LAUNCHER_DEBUG_INFO_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum debug_kind {
    DEBUG_UNKNOWN,                    /* no type is known, or one without a size */
    DEBUG_INTEGER,                    /* whole numbers, characters, truth values, enumerations, bit fields */
    DEBUG_FLOAT,                      /* of 4, 8 or 16 bytes (long double: 10 that count) */
    DEBUG_COMPLEX,                    /* two of these */
    DEBUG_QUAD,                       /* of 16 bytes that all count: __float128 */
    DEBUG_POINTER,                    /* and references */
    DEBUG_ARRAY,
    DEBUG_STRUCT,                     /* classes and unions, too */
};

/* An array that a structure ends with, and that may go on behind it. */
enum debug_tail {
    DEBUG_TAIL_NONE,
    DEBUG_TAIL_FLEXIBLE,              /* of no length: `double v[];` */
    DEBUG_TAIL_ONE,                   /* of one element, as before C99, unless it is meant */
};

/* The C library's objects that threads wait on: pthread_cond_t, std::mutex and the like. */
enum debug_waits { DEBUG_WAITS_NONE, DEBUG_WAITS_CONDITION, DEBUG_WAITS_MUTEX, DEBUG_WAITS_READERS };

struct debug_member {
    const char *name;                 /* NULL: a base class, or an unnamed union, whose members count as members of this */
    uint32_t type;                    /* 0: a bit field, */
    uint64_t offset, bytes;
    uint32_t first_bit, bits;         /* of these bytes, which it has */
};

struct debug_bound { bool stored; int64_t number; };      /* what the word so many bytes behind a descriptor's start holds, or a number */

#define DEBUG_DIMENSIONS_MOST 15         /* of an array of Fortran */

struct debug_dimension { struct debug_bound lower, count, stride_bytes; };

struct debug_type {
    enum debug_kind kind;
    bool fortran;                     /* arrays and components are written as Fortran does */
    bool reference;                   /* DEBUG_POINTER: not written as one */
    bool holds_pointers;              /* somewhere in it */
    bool hollow;                      /* DEBUG_STRUCT: without values */
    enum debug_waits waits;           /* DEBUG_STRUCT */
    const char *name;                 /* "cell", or NULL */
    uint64_t bytes;                   /* 0: unknown, as of an array whose length is not in the type */
    uint32_t element;                 /* DEBUG_ARRAY: type of one */
    bool characters;                  /* DEBUG_ARRAY, or DEBUG_POINTER to one: a string of Fortran's, whose parts are written as such */
    uint64_t count;                   /* DEBUG_ARRAY: 0 where unknown */
    int64_t lower;                    /* DEBUG_ARRAY: index of the first */
    struct debug_dimension *dimensions;   /* DEBUG_POINTER, of a descriptor: those of the array that it leads to, whose elements are the target */
    size_t dimension_count;
    struct debug_member *members;     /* DEBUG_STRUCT: as declared */
    size_t member_count;
    enum debug_tail tail;             /* DEBUG_STRUCT */
    void *place;                      /* private */
};

enum debug_where { DEBUG_AT_ADDRESS, DEBUG_IN_THREAD, DEBUG_AS_ARGUMENT, DEBUG_IN_FRAME };

struct debug_variable {
    const char *name;                 /* "phys::steps" */
    const char *function;             /* that it belongs to, or NULL */
    uint32_t type;
    enum debug_where where;
    uint64_t address;                 /* link-time; DEBUG_IN_THREAD: offset in the block; DEBUG_IN_FRAME: of the process */
    bool extent;                      /* DEBUG_AS_ARGUMENT: how long the array is, in one dimension, that follows: one of variable length, whose type is a reference to an element */
};

struct debug_info;

/* PCERE_DATA: it is no file that can be read. PCERE_SYSTEM: no memory. */
enum pcere_status debug_info_open(const char *path, struct debug_info **ret_info, struct pcere_error *error);
void debug_info_close(struct debug_info *info);     /* accepts NULL */

/* Borrowed until the next call of debug_type_target, debug_info_arguments or debug_info_frame: types are read when they are asked for.
 * Never NULL: a number that does not exist is DEBUG_UNKNOWN. */
const struct debug_type *debug_type_get(const struct debug_info *info, uint32_t type);
/* What a pointer points to; 0 (unknown) where it points to anything. */
uint32_t debug_type_target(struct debug_info *info, uint32_t type);

/* An array of arrays, the last dimension innermost, as C has them. 0: no memory, or longer than memory is. */
uint32_t debug_type_array(struct debug_info *info, uint32_t element, const uint64_t *counts, size_t count);

/* Does a class of the program add values to this one? What a pointer to this one leads to may be one of those. */
bool debug_type_is_extended(const struct debug_info *info, uint32_t type);
#define DEBUG_DERIVED_MOST 16
/* Those of such a size that have it as a base class, by their names; how many. */
size_t debug_type_derived(struct debug_info *info, uint32_t type, uint64_t bytes_least, uint64_t bytes_most, uint32_t ret_types[DEBUG_DERIVED_MOST]);

/* Global, static and thread-local variables. Borrowed. */
size_t debug_info_variables(const struct debug_info *info, const struct debug_variable **ret_variables);

/* What a parallel construct takes from around it: the arguments of its fork, in order; all are DEBUG_AS_ARGUMENT. Several constructs of one line
 * (templates) are told apart by who enters the region: at the link-time address `pc`, in the function that symbols call `caller`, or "". *ret_variables is malloc'ed; their number is 0 if nothing is known. */
enum pcere_status debug_info_arguments(struct debug_info *info, const char *file, uint32_t line, const char *caller, uint64_t pc,
                                       struct debug_variable **ret_variables, size_t *ret_count, struct pcere_error *error);

/* A called function's frame, where it has stopped to call another one. */
struct debug_frame {
    uint64_t pc;                      /* link-time; where the call returns to */
    uint64_t stack_pointer;           /* when it has returned; 0: unknown */
    uint64_t canonical_address;       /* stack pointer before the function was called; 0: unknown */
    uint64_t frame_pointer;           /* rbp, if the function has one; 0: unknown */
    bool (*word_read)(void *memory, uint64_t address, uint64_t *ret_word);    /* of the process; false: it is not known */
    void *memory;
};

/* Variables that lie in the frame at that place, those of the innermost inlined function first (a place on the stack may serve several); all are
 * DEBUG_IN_FRAME. Those in registers are left out. *ret_variables is malloc'ed. */
enum pcere_status debug_info_frame(struct debug_info *info, const struct debug_frame *frame, struct debug_variable **ret_variables,
                                   size_t *ret_count, struct pcere_error *error);

/* ---- walking a type ------------------------------------------------------------------------------------------------------------ */

struct debug_leaf {
    enum debug_kind kind;             /* DEBUG_UNKNOWN: padding, or no type is known */
    bool padding;                     /* between members: no value lies there */
    uint32_t type;
    uint64_t offset, bytes;           /* of the value, from where the walk began */
    uint64_t group;                   /* the same for all values that differ in array indices only */
    uint64_t unused;                  /* bits that hold no value: of a bit field's bytes those that no field has; of what threads wait on, what tells who came when */
    bool waits;                       /* it is of something that threads wait on */
    bool holder;                      /* the same: whether it is zero is all that counts, since it says who holds a lock, or how many want it */
};

struct text;

/* The array that the structure ends with, and that may go on behind it; *ret_offset: where it begins, no farther than the structure reaches. 0: there is none. */
uint32_t debug_type_tail(const struct debug_info *info, uint32_t type, uint64_t *ret_offset);

/* The value that holds byte `offset` of something of that type; `open`: the array that it ends with goes on behind it (one of no length does anyway). `exact` and
 * `pattern` (each may be NULL) get what is to be written behind its name: "[3][17].re" and "[][].re"; of Fortran's "(18,4)%re" and "(:,:)%re", "(2)(5:5)" and "(:)(:)". */
void debug_type_walk(const struct debug_info *info, uint32_t type, uint64_t offset, bool open, struct text *exact, struct text *pattern,
                     struct debug_leaf *ret_leaf);

#endif
