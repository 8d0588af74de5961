/* capture-rt/tracer/libraries.h - which shared libraries a process has: the user's, whose code and data are captured like the program's, those
 * that the system brought, and those that every machine has.
 *
 *   the user's      built with the plugin, or not in a folder of the system    captured (STORE_ROLE_LIBRARY), file in the store, an image
 *   needed ones     of the system: FFTW, those that the caller names, and those of which leads.h tells    like the user's
 *   the system's    needed by the program or by one of the user's libraries    file in the store: a replay takes its own machine's if it can
 *   the runtimes'   C, C++, OpenMP, this tool's own                            neither
 *   allocators      whatever defines malloc, without bitcode                   like the system's
 */
#ifndef PCERE_CAPTURE_TRACER_LIBRARIES_H
#define PCERE_CAPTURE_TRACER_LIBRARIES_H

#include "capture-rt/protocol.h"
#include "capture-rt/tracer/leads.h"
#include "capture-rt/tracer/maps.h"
#include "core/elf_file.h"
#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct library_image {               /* one at one address; those that are not the user's have no elf */
    char *path;
    struct elf_file *elf;
    uint64_t low, high, bias;        /* where it lies; load address minus link-time address */
    uint32_t tls_module;             /* the dynamic linker's number, at the last look; 0: it has no TLS */
    uint32_t number;                 /* among the user's, from 1 */
    bool present;                    /* it was there at the last look */
    bool named;                      /* by libraries.names */
    bool watched;                    /* by libraries.leads, until it is captured */
    bool may_thread;                 /* it imports pthread_create, or what std::thread calls */
    bool absent;                     /* of the system, and nothing that a replay has needs it: the program or the C library loaded it */
};

struct libraries {
    char **paths;                    /* that were seen in the process */
    size_t count, capacity;
    struct library_image *images;    /* in the order of loading */
    size_t image_count, image_capacity;
    uint32_t users;                  /* how many of them are the user's */
    const char *names;               /* by commas: what the names of further files to be captured begin with; borrowed; NULL: none */
    const struct elf_file *program;  /* borrowed */
    char **needed;                   /* names of those that it needs, and its libraries in turn: a replay has them */
    size_t needed_count, needed_capacity;
    struct leads leads;              /* of the system's: which of them a capture cannot do without */
    bool failed;                     /* some may be missing */
};

/* Is this shared library's code rebuilt where it is replayed? *ret_reason, if it is not: why, a constant sentence. */
bool library_is_rebuilt(const char *path, const char **ret_reason);

/* Does the program name a library that the user may have brought, with regions in it, or may it load one, as interpreters do? */
bool libraries_may_hold_regions(const struct elf_file *program);

/* The process is stopped, and `maps` is what maps_text tells: find the user's libraries among the shared objects of the stop. PCERE_SYSTEM. */
enum pcere_status libraries_look(struct libraries *libraries, const char *maps, const struct capture_stop *stop, struct pcere_error *error);
/* After that: those that have made threads, by this stop, are watched no longer, since a replay has none of these. */
void libraries_leave_threads(struct libraries *libraries, const struct capture_stop *stop);
/* After that, and after memory was read: what turned out to be needed is the user's from now on, and so is what needs that. Is there something, so that
 * memory is to be looked at once more? */
bool libraries_follow(struct libraries *libraries);
/* PCERE_USAGE: among names by commas is one that no library can have, or that of a runtime, which no replay shares. NULL is good. */
enum pcere_status libraries_names_check(const char *names, struct pcere_error *error);
/* Sentences (malloc): of the first of libraries->names that no library of the process had; of those that turned out to be needed when a codelet
 * was there already, which therefore are not captured, unless it `runs_again`. NULL: there is nothing to tell, or no memory. */
char *libraries_tell_unseen(const struct libraries *libraries);
char *libraries_tell_late(const struct libraries *libraries, bool runs_again);
/* libraries->names (malloc) with these besides. NULL: there are none, or no memory. */
char *libraries_late_names(const struct libraries *libraries);
/* Is one that is absent captured, and was there at the last look? */
bool libraries_loaded_module(const struct libraries *libraries);
/* The user's library that holds an address at the last look, or NULL. */
const struct library_image *libraries_image_at(const struct libraries *libraries, uint64_t address);

/* Remember what the process has mapped: `maps` is what maps_text tells. `facts` tells where the program itself lies. */
void libraries_see(struct libraries *libraries, const char *maps, const struct map_facts *facts);
/* Copy what was seen, and is to be there for a replay, into the store, and list the images in the manifest. False: one could not be copied. */
bool libraries_store(const struct libraries *libraries, const struct elf_file *program, struct store_writer *writer,
                     struct store_manifest *manifest);
void libraries_done(struct libraries *libraries);

#endif
