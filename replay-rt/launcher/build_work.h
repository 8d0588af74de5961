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
    const struct compiler *compiler;      /* NULL: left out */
    size_t image;
    char name[48];                        /* of its files, without suffix */
};

struct builder {
    const struct store *store;
    const struct images *images;
    const struct build_options *options;
    struct compilers compilers;
    char *runtime;                        /* path */
    struct build_unit *units;
    size_t unit_count;
    char *folder;                         /* where this build is made */
    _Atomic size_t next_unit;
    pthread_mutex_t lock;
    enum pcere_status status;             /* first failure of a unit, under lock */
    struct pcere_error error;
};

/* build_units.c: compile every unit that has a compiler to an object, several at a time. */
enum pcere_status build_units_compile(struct builder *builder, struct pcere_error *error);
/* build_link.c: make the executable and what is rebuilt of each library. `missing`: variables that the original does not have, as in the file of that name. */
enum pcere_status build_link(const struct builder *builder, struct text *missing, struct pcere_error *error);
/* A tool of the compiler failed: its first error, from a file. PCERE_NO; PCERE_SYSTEM: the disk is full. Never PCERE_OK. */
enum pcere_status build_fail_log(const char *what, const char *subject, const char *log, struct pcere_error *error);

#endif
