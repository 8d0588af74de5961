/* capture-rt/tracer/manifest.h - what a capture says about its program, its regions and their classes. */
#ifndef PCERE_CAPTURE_TRACER_MANIFEST_H
#define PCERE_CAPTURE_TRACER_MANIFEST_H

#include "capture-rt/tracer/capture.h"
#include "core/elf_file.h"

/* Program, host and times of the timing run, regions without classes. *ret_manifest is store_manifest_done's. */
enum pcere_status manifest_begin(const struct capture_options *options, const struct capture_places *places, const struct capture_run *run, const struct elf_file *elf,
                                 struct store_manifest *ret_manifest, struct pcere_error *error);

/* Classes of all regions, by options->choose. Afterwards `captured` of a class means: wanted. Classes that are not wanted have a reason. */
enum pcere_status manifest_choose(const struct capture_options *options, const struct capture_run *run,
                                  struct store_manifest *manifest, struct pcere_error *error);

/* Status and reason of each region, and reasons of wanted classes without a codelet: `missing` says why. `captured` means now: is there. */
enum pcere_status manifest_settle(const struct capture_options *options, const struct capture_run *run, const char *missing,
                                  struct store_manifest *manifest, struct pcere_error *error);

/* Does the name contain `pattern`, or match it by fnmatch(3)? NULL: yes. */
bool region_matches(const char *name, const char *pattern);

#endif
