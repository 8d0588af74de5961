/* codelet.h - what the C files share. Numbers and names of this one region are in region.h. */
#ifndef CODELET_H
#define CODELET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---- start.c: the process -------------------------------------------------------------------------------------------------------- */

void process_start(char **arguments, void (*go_on)(void));      /* map captured memory, enter the regions around, call it; never returns */
void process_again(const char *reason);             /* ends this process; another one tries. The reason: if none may any more */
void process_end(int status);
void call_on_stack(void (*function)(void), uint64_t stack);

/* ---- program.c: what stands between driver.c and the region ---------------------------------------------------------------------- */

typedef void microtask(int32_t *thread, int32_t *bound, ...);
microtask *region_code(void);                       /* never NULL */
void program_start(void);                           /* once: everything as the program had it */
void program_restore(void);                         /* before each run, after memory */
void call_as_program(void (*function)(void));       /* on its stack, with its rounding */

/* ---- memory.c: captured memory at its old addresses ------------------------------------------------------------------------- */

struct range { char *start, *end; };
struct page {                                       /* contents at the region's start (NULL: absent) and behind its end: */
    char *address, *before, *after;
    bool dropped;                                   /* by the region */
};

extern struct page pages[];                         /* ascending */
extern size_t page_count;
extern struct range gaps[], skips[];                /* absent at the region's start; not compared */
extern size_t gap_count, skip_count;
struct content { uint64_t offset, pages; char *bytes; };
extern struct content contents[];                  /* of files that were open */
extern char zero_page[];

bool memory_map(void);                              /* false: an address is taken */
void memory_protect(void);
void memory_restore(void);                          /* what may be written: everything at first */
void written_find(void);                            /* after a run: from now on only what it wrote is restored */
void memory_patch(uint64_t address, const void *bytes, const void *mask, size_t count);  /* for good, behind the region as well; NULL: all bits */
struct page *page_of(const void *address);          /* NULL: no such page */
bool is_captured(const void *address);
bool is_read_only(const char *start, size_t bytes);             /* to the program, all of it, in one mapping */
bool captured_between(const char *start, const char *end);      /* any of it */
void memory_drop(char *start, char *end, bool unmapped);        /* reads as zeros until it is restored; not unmapped: where the program would have read them */
void memory_changes_rights(void);                   /* the region does, and begins with the program's each time */
void memory_open(void);                             /* after a run: what it protected can be read and written */
bool range_holds(const struct range *ranges, size_t count, const char *address);

/* ---- team.c: what the OpenMP runtime knew --------------------------------------------------------------------------------------- */

void team_wake(void);                               /* an empty parallel region */
void team_enter(void (*go_on)(void));               /* call it, on the thread that stands for the captured one; it never returns */

/* ---- support.c: what belongs to threads, to the OpenMP runtime and to libraries -------------------------------------------------- */

void support_start(void);                           /* once, before the first run */
void support_restore(void);                         /* before each run */
void thread_locals_point(void);                     /* once, before memory is restored */
size_t thread_locals_check(void);                   /* bytes that differ */

/* ---- heap.c: captured blocks of the heap ------------------------------------------------------------------------------------------ */

void heap_start(void);                              /* once, where runs are only timed: blocks are used again as in the program, though not the same ones */
void heap_inside(bool runs);                        /* around each run */
void heap_restore(void);                            /* before each run */

/* ---- libraries.c: their data that has no name --------------------------------------------------------------------------------------- */

void libraries_start(void);                         /* once: whoever looks there finds it from now on */
const void *library_page(uint64_t address);         /* our page for one of the capture's; NULL: none that may be copied */

/* ---- state.c, files.c: what belongs to the C library and the kernel --------------------------------------------------------------- */

void state_start(void);                             /* once */
void state_restore(void);                           /* before each run */
void state_settle(void);                            /* after a run: what is still on its way to memory */
extern FILE *out, *messages;                        /* ours: standard output and standard error are the region's */
void out_open(void);
void files_start(void);
void files_restore(void);

/* ---- check.c ---------------------------------------------------------------------------------------------------------------- */

int memory_check(void);                             /* exit status: 0 identical, 1 different */
size_t words_check(const char *what, const char *address, const char *expected, const char *found, size_t count);   /* what: NULL for memory */

#endif
