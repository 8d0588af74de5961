/* capture-rt/tracer/leads.h - which libraries of the system a capture cannot do without: captured memory leads into them where no function or class
 * of theirs that has a name lies, or they keep something of their own between calls. A fresh library in a replay has neither.
 *
 *   heap:  { state, &table }  ──▶  libgsl.so.27:  table (static)      no symbol says where it lies in a replay's libgsl
 *                                                 handler = quiet     a replay's libgsl has the handler that it begins with
 */
#ifndef PCERE_CAPTURE_TRACER_LEADS_H
#define PCERE_CAPTURE_TRACER_LEADS_H

#include "capture-rt/tracer/maps.h"
#include "core/elf_file.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct lead {                        /* a library that is watched */
    uint64_t low, high;              /* where it lies */
    uint64_t data_end;               /* of what comes from its file; zeros lie behind it, unless it keeps something there */
    struct lead_name *names;         /* that have an address of their own; ascending by address */
    struct store_range *ranges;      /* of which every part is found by name, or of use to linkers only; ascending by address */
    size_t name_count, range_count;
    struct elf_pointer *pointers;    /* that the dynamic linker fills, as they are in the process; NULL: not known */
    size_t pointer_count;
    uint64_t code_low, code_high;
    _Atomic(bool) found;
};

struct leads {
    struct lead **items;
    size_t count, capacity;
    uint64_t low, high;              /* of all of them */
    struct store_range objects[64];  /* the program and captured libraries: their tables hold addresses of variables elsewhere, which are bound anew */
    size_t object_count;
    uint64_t stack_low, stack_high;  /* of the initial thread */
    uint64_t stack_pointer;          /* its own; below it what calls left behind leads anywhere, above it into code, where calls return to */
};

/* May a library have threads that nobody saw it make? A replay has none of them. Those of pthread_create and std::thread are seen (capture-rt/target/threads.c), and
 * those of another OpenMP runtime are its own. */
bool leads_has_threads(const struct elf_file *elf);

/* Watch a library that lies at [low, high), `bias` above its link-time addresses. `absent`: a replay does not have it, so that no name of it helps. PCERE_SYSTEM: no
 * memory. */
enum pcere_status leads_watch(struct leads *leads, const struct elf_file *elf, uint64_t low, uint64_t high, uint64_t bias, bool absent, struct pcere_error *error);
/* Before memory is read: where what lies. */
void leads_place(struct leads *leads, const struct map_facts *facts, const struct map_list *maps);
/* Memory of the program that lies at `address`, a multiple of 8, was read. Several threads may tell. */
void leads_scan(struct leads *leads, const void *memory, uint64_t address, size_t bytes);
/* The process is stopped, and `maps` is what maps_text tells: which watched libraries hold something that is neither of their file nor an address? */
void leads_look(struct leads *leads, pid_t pid, const char *maps);
/* Is something of a library that lies at `low` needed? */
bool leads_found(const struct leads *leads, uint64_t low);
/* It is no longer watched. */
void leads_drop(struct leads *leads, uint64_t low);
void leads_done(struct leads *leads);

#endif
