/* replay-rt/launcher/export.h - a codelet as a directory that builds with make and clang alone: what `pcere export` does.
 *
 *   README.md  Makefile                      what it is; make, make run, make check
 *   driver.c program.c start.c memory.c mappings.c support.c team.c state.c files.c check.c codelet.h place.sed
 *                                            the same in every export: replay-rt/export/
 *   region.h  addresses.s  state.h           numbers, names and addresses of this region; what the C library and the kernel kept for it
 *   region.ll  unit2.ll ...                  the units that it needs, before optimisation
 *   image1.s ...                             other images of the program: names that the region uses, thread-local variables
 *   memory.txt  memory.bin                   which page lies where; pages
 *   libraries/                               shared libraries of the store that are not captured memory
 *
 * Files are readable by their owner only: they hold a process's memory.
 */
#ifndef PCERE_REPLAY_LAUNCHER_EXPORT_H
#define PCERE_REPLAY_LAUNCHER_EXPORT_H

#include "replay-rt/launcher/replay.h"

struct export_unit { char *file, *source, *flags; };    /* "region.ll"; the source as the compiler saw it; compiler flags */

struct export_report {
    struct export_unit *units;        /* the region's own first */
    size_t unit_count;
    uint64_t memory_bytes;            /* of all pages that were present at the region's start */
    uint64_t stored_bytes;            /* of memory.bin */
    uint64_t base;                    /* address at which it is linked */
    char **limits;                    /* sentences: what this export cannot do as the program did */
    size_t limit_count;
};

/* Write `directory`. It appears whole or not at all. One that is there: PCERE_USAGE, unless `force` and it is an earlier export, which
 * is replaced. PCERE_NO: the region cannot be exported; the message says why. Otherwise fails as replay_run does. Of the options
 * only compiler, search_path and library_directory count. */
enum pcere_status export_run(struct store *store, const struct replay_target *target, const struct replay_options *options,
                             const char *directory, bool force, struct export_report *ret_report, struct pcere_error *error);
void export_report_done(struct export_report *report);

#endif
