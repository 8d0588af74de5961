/* capture-rt/tracer/maps.h - /proc/PID/maps by role: what belongs to the program, what to the kernel, libraries and ourselves.
 *
 *   role       decided by                                                     pages
 *   image      lies in the executable's span                                  all (content, faulted in or not); bss: present ones
 *   heap       touches [start_brk, brk)                                       present ones
 *   stack      holds the initial thread's start_stack                         present ones
 *   anonymous  private, no file, in no other object's span                    present ones
 *   anonymous  a file mapped by the program itself, shared or private         all; shared: but what the file does not have (holes.h)
 *   library    lies in the span of one of the user's shared libraries         those that are no longer the file's; bss: present ones
 *   -          [vdso] and its like, spans of other libraries, our own ranges  none: not listed at all
 */
#ifndef PCERE_CAPTURE_TRACER_MAPS_H
#define PCERE_CAPTURE_TRACER_MAPS_H

#include "core/error.h"
#include "store/store.h"

#include <stdbool.h>
#include <sys/types.h>

struct map_facts {               /* what decides about roles */
    uint64_t image_low, image_high;
    struct store_range runtimes;            /* code of a statically linked program that is its runtimes'; 0 bytes: none */
    uint64_t heap_low, heap_high;
    uint64_t stack_start;
    const struct store_range *libraries;    /* spans of the user's shared libraries, any order, not overlapping */
    size_t library_count;
    const struct store_range *excluded;     /* any order; rounded outwards to pages */
    size_t excluded_count;
    uint64_t page_bytes;
};

struct map_entry {
    struct store_mapping mapping;
    bool shared;                 /* MAP_SHARED: others may write to it */
    bool file;                   /* absent pages have content all the same */
    uint64_t device, inode, offset;     /* what is mapped, and from where on; inode 0: anonymous memory */
};

struct map_list { struct map_entry *entries; size_t count, capacity; bool shared_writable; };

/* Read start_brk and start_stack from /proc/PID/stat. PCERE_SYSTEM. */
enum pcere_status maps_process_facts(pid_t pid, struct map_facts *facts, struct pcere_error *error);
/* /proc/PID/maps (malloc). PCERE_SYSTEM: unreadable. */
enum pcere_status maps_text(pid_t pid, char **ret_text, struct pcere_error *error);
/* The mappings that are the program's, of that text. The list is reused. PCERE_SYSTEM: no memory. */
enum pcere_status maps_read(const char *text, const struct map_facts *facts, struct map_list *list, struct pcere_error *error);
/* One line of /proc/PID/maps (hostile): false if it is none, or its mapping is not the program's. */
bool maps_parse(const char *line, const struct map_facts *facts, struct map_entry *ret_entry);
/* Cut what lies in excluded ranges out of an entry and add the remaining pieces. PCERE_SYSTEM: no memory. */
enum pcere_status maps_add(struct map_list *list, struct map_entry entry, const struct map_facts *facts, struct pcere_error *error);
/* Memory that can be seen in several mappings and be written in one of them at least: all but one of its places, that one a place where it can be written if
 * there is such a one. Malloc'ed. PCERE_SYSTEM: no memory. */
enum pcere_status maps_aliases(const struct map_list *list, struct store_alias **ret_aliases, size_t *ret_count, struct pcere_error *error);
void maps_done(struct map_list *list);

#endif
