/* replay-rt/launcher/build.h - the executable that holds all regions of a stored program, compiled from its bitcode, and cached.
 *
 *   STORE/build/KEY/    codelet     the executable
 *                       image-K.so  what is rebuilt of shared library K
 *                       codelet.xxh its hash: what was finished
 *                       missing     variables that the original does not have, a line each: address, name
 *                       unreached   units that are not in it, since no codelet reaches their code, a line each: the name of UNIT's files
 *                       libraries/  links to those of the store's libraries that it uses
 *                       UNIT.s      the executable's units as assembly, where the code counts what it does
 *                       log         what compiler and linker said
 *
 * KEY is a hash over everything that shapes it. The folder is made under another name and renamed at the end. What a stopped command left of it serves the next one: a unit
 * that was finished is not compiled again.
 */
#ifndef PCERE_REPLAY_LAUNCHER_BUILD_H
#define PCERE_REPLAY_LAUNCHER_BUILD_H

#include "core/error.h"
#include "replay-rt/launcher/command.h"
#include "replay-rt/launcher/images.h"
#include "replay-rt/launcher/processor.h"
#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct build_root { uint64_t unit_id; char *region; };      /* where a codelet's code begins */

struct build_options {
    const char *flags;                /* instead of the original's optimisation; NULL or "" for the original's */
    bool character;                   /* the code counts what it does (include/pcere/character_abi.h); UNIT.s beside it is what it would be without */
    bool all_loops;                   /* all loops ask the OpenMP runtime for their schedule */
    bool unit_objects;                /* as in struct replay_options */
    const char *passes, *pass_plugin, *count, *compiler, *search_path, *library_directory;  /* as in struct replay_options */
    const struct processor *processor;  /* for which; never NULL */
    const struct build_root *roots;   /* units that their code cannot reach are left out; ascending, each once */
    size_t root_count;                /* 0: none is left out */
    void (*progress)(void *context, size_t done, size_t total);  /* units compiled, of those that are made; from several threads, but never two at once. May be NULL */
    void *progress_context;
};

struct build_origin {                 /* of one unit */
    uint64_t unit_id;
    uint32_t written_by, rebuilt_by;  /* versions of LLVM; rebuilt_by 0: left out, since no compiler here reads it, it is damaged or does not compile, or nothing reaches it */
    bool unreached;
    struct pcere_error refusal;       /* why it was left out */
};

struct build_missing { uint64_t address; char *name; };

struct build {
    char *executable;                 /* path */
    char *libraries;                  /* path of the folder with the store's libraries that it uses; NULL: it uses none */
    bool cached;                      /* it was there */
    bool apart;                       /* the linker optimised the program (-flto), and each of its files is compiled by itself here: functions of other files are called, not inlined */
    uint64_t link_ns;                 /* what linking took; 0: it was there */
    struct build_origin *origins;
    size_t origin_count;
    struct build_missing *missing;    /* touching one of LAYOUT_MISSING_SLOT bytes from `address` is a fault that names it */
    size_t missing_count;
};

/* The images' `base` says where what is rebuilt of each is linked. A unit whose bitcode no compiler here reads, or which no codelet reaches, is left out: its functions run at
 * their captured addresses, its regions cannot be run (build_unit_check). PCERE_REFUSED: compiler, linker or plugin is missing, or no unit can be read.
 * PCERE_NO: no unit compiles, or one does not with other flags or passes than its own, or linking fails; the message holds the first error, the log in build/ all. PCERE_USAGE: passes that
 * the compiler does not know. PCERE_DATA: the stored program is damaged, or has no bitcode. */
enum pcere_status build_codelets(const struct store *store, const struct images *images, const struct build_options *options,
                                 struct build *ret_build, struct pcere_error *error);
void build_done(struct build *build);

/* Name of the missing variable that lies at an address, or NULL. Borrowed. */
const char *build_missing_at(const struct build *build, uint64_t address);

/* PCERE_REFUSED: the unit was left out; the reason. Unit 0 is any. */
enum pcere_status build_unit_check(const struct build *build, uint64_t unit_id, struct pcere_error *error);

/* Compiler flags with which a unit was built, without the optimisation level if `retarget`; last the one that says how position-
 * independent it is. */
void build_unit_flags(const struct elf_unit *unit, bool retarget, struct arguments *arguments);

#endif
