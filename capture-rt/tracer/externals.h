/* capture-rt/tracer/externals.h - where the functions of the process's shared libraries lay, by name: captured pointers lead to them.
 *
 *   double (*f)(double) = sin;   captured: 0x7ffff7e2f9d0  ──table──▶  "sin"  ──replay──▶  where sin is there
 *
 * The table holds what the libraries export: functions, and the constant objects of C++ (virtual tables, type information) that objects in
 * captured memory point to; and the C library's constants of libc_constants.inc. It is made once for each set of libraries, while the program runs on, and shared by all codelets.
 */
#ifndef PCERE_CAPTURE_TRACER_EXTERNALS_H
#define PCERE_CAPTURE_TRACER_EXTERNALS_H

#include "capture-rt/protocol.h"
#include "capture-rt/tracer/maps.h"
#include "store/store.h"

#include <sys/types.h>

struct externals {
    struct capture_indirect *indirect;  /* ascending by resolver */
    size_t indirect_count;
    struct capture_constant constants[CAPTURE_CONSTANTS];
    uint64_t seen;               /* hash of the set of libraries that the table is of; 0: there is none yet */
    struct store_run *runs;      /* pages of the table */
    size_t run_count, run_capacity;
};

/* While the program stands still: keep what it tells of functions that have several forms, and of the C library's constants. */
void externals_note(struct externals *externals, const struct capture_stop *stop);

/* Give the codelet the table of the libraries in `maps`, which is what maps_text tells; NULL: the same as the last time. The process need not be stopped. The
 * libraries' files are hostile: what cannot be read is left out. PCERE_SYSTEM, or what the store says. */
enum pcere_status externals_see(struct externals *externals, const char *maps, const struct map_facts *facts, struct store_writer *writer,
                                struct store_codelet *codelet, struct pcere_error *error);
void externals_done(struct externals *externals);

#endif
