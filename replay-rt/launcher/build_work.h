/* replay-rt/launcher/build_work.h - what the parts of a build hand to each other: its units, its tools, its folder. */
#ifndef PCERE_REPLAY_LAUNCHER_BUILD_WORK_H
#define PCERE_REPLAY_LAUNCHER_BUILD_WORK_H

#include "core/text.h"
#include "replay-rt/launcher/build.h"
#include "replay-rt/launcher/compilers.h"

#include <pthread.h>
#include <stdatomic.h>

#define BUILD_TEXT_BYTES_MOST (256u << 20)

struct build_unit {
    const struct elf_unit *unit;
    const struct compiler *compiler;      /* NULL: left out, since none reads it */
    size_t image;
    bool unreached;                       /* left out, since no codelet reaches it */
    bool broken;                          /* left out, since its bitcode is damaged, or its compiler fails */
    struct pcere_error error;             /* ... with these words, in one line */
    char name[48];                        /* of its files, without suffix */
};

struct builder;
typedef enum pcere_status build_step(struct builder *builder, const struct build_unit *unit, struct pcere_error *error);

struct builder {
    const struct store *store;
    const struct images *images;
    const struct build_options *options;
    struct compilers compilers;
    char *runtime;                        /* path */
    struct build_unit *units;
    size_t unit_count;
    char *folder;                         /* where this build is made */
    bool goes_on;                         /* with what a stopped command left there */
    bool parted;                          /* the linker does not optimise the units, since that failed */
    build_step *step;                     /* what is being done with each unit */
    _Atomic size_t next_unit;
    pthread_mutex_t lock;
    size_t compiled, made;                /* units that were compiled, under lock, of those that are to be */
    enum pcere_status status;             /* first failure of a unit, under lock */
    struct pcere_error error;
};

static inline bool build_unit_is_made(const struct build_unit *unit)
{
    return unit->compiler && !unit->unreached && !unit->broken;
}

/* build_folder.c: where the build of the path `final` is made, `builder->folder`: what a stopped command left of the same build, or an empty one. It is this process's as long as
 * *ret_lock, a descriptor, is open. */
enum pcere_status build_folder_take(struct builder *builder, const char *final, int *ret_lock, struct pcere_error *error);
/* Removes what nobody goes on with: what stopped commands left of builds that are there by now, or left a day ago. */
void build_folders_tidy(const char *builds);
/* build_units.c: write the bitcode of every unit that has a compiler; compile those that are made to objects; several at a time. What is there already stays. One that cannot be,
 * although it is to be built as it was, is `broken`; an error only where no other is left. */
enum pcere_status build_units_write(struct builder *builder, struct pcere_error *error);
enum pcere_status build_units_compile(struct builder *builder, struct pcere_error *error);
/* How the linker is to optimise the unit, as it did in the program: "-flto=full", "-flto=thin", borrowed. NULL: not at all, or the code would not be what it is to be then: what counts in it,
 * the user's passes, which come last, objects for an export, and what this linker does not read. Other flags than the original's reach the linker as far as build_link knows them. */
const char *build_unit_lto(const struct builder *builder, const struct build_unit *unit);
bool build_is_apart(const struct builder *builder);      /* it optimised units of the program that are compiled by themselves now */
/* build_places.c: where functions of the program's images begin, for code that is compiled as it was: in the build's key by the files that tell it, which are only read for symbols where
 * something is built; in files of its folder. build_places_path adds the file of an image; false: it has none. */
enum pcere_status build_places_describe(const struct builder *builder, struct text *text, struct pcere_error *error);
enum pcere_status build_places_write(const struct builder *builder, struct pcere_error *error);
bool build_places_path(const struct builder *builder, size_t image, struct text *path);
/* build_reach.c: mark the units that no codelet reaches, behind build_units_write. Where that cannot be told, none is marked. PCERE_SYSTEM: the disk, or no memory. */
enum pcere_status build_reach(struct builder *builder, struct pcere_error *error);
/* build_link.c: make the executable and what is rebuilt of each library. `missing`: variables that the original does not have, as in the file of that name. */
enum pcere_status build_link(const struct builder *builder, struct text *missing, struct pcere_error *error);
/* A tool of the compiler failed: its first error, from a file. PCERE_NO; PCERE_SYSTEM: the disk is full. Never PCERE_OK. */
enum pcere_status build_fail_log(const char *what, const char *subject, const char *log, struct pcere_error *error);

#endif
