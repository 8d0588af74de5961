/* replay-rt/launcher/processor.c - AArch64, run by qemu. */
#include "replay-rt/launcher/processor.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STRING_OF(macro) STRING_OF_(macro)
#define STRING_OF_(text) #text
#define OPENMP_FOLDER "/usr/lib/llvm-" STRING_OF(PCERE_LLVM_MAJOR) "/lib"

static const char hint_sysroot[] = "scripts/sysroot-aarch64 DIR makes one, and --sysroot DIR names it";

static bool has_file(const char *folder, const char *name)
{
    char *path = NULL;
    bool found = asprintf(&path, "%s%s", folder, name) >= 0 && !access(path, R_OK);
    free(path);
    return found;
}

static enum pcere_status emulator_find(const char *search_path, char **ret_emulator, struct pcere_error *error)
{
    if (!command_find("qemu-aarch64-static", search_path, NULL, ret_emulator, NULL))
        return PCERE_OK;
    return command_find("qemu-aarch64", search_path, "install the package qemu-user-static", ret_emulator, error);
}

enum pcere_status processor_find(const char *target, const char *sysroot, const char *search_path, struct processor *ret_processor,
                                 struct pcere_error *error)
{
    struct processor processor = {0};
    if (!target && sysroot)
        return pcere_fail(error, PCERE_USAGE, 0, "--target aarch64 names it", "--sysroot belongs to another processor, and none is named");
    if (!target) {
        *ret_processor = processor;
        return PCERE_OK;
    }
    if (strcmp(target, "aarch64") != 0)
        return pcere_fail(error, PCERE_USAGE, 0, "aarch64 is the only one; without --target it is this machine's", "--target '%.100s': there is no such processor", target);
    if (!sysroot)
        return pcere_fail(error, PCERE_USAGE, 0, hint_sysroot, "--target needs the libraries of that processor's system");
    if (!(processor.sysroot = realpath(sysroot, NULL)))
        return pcere_fail(error, PCERE_REFUSED, errno, hint_sysroot, "cannot use '%.200s'", sysroot);
    enum pcere_status status = PCERE_OK;
    if (!has_file(processor.sysroot, "/usr/lib/aarch64-linux-gnu/Scrt1.o") || !has_file(processor.sysroot, OPENMP_FOLDER "/libomp.so"))
        status = pcere_fail(error, PCERE_REFUSED, 0, hint_sysroot, "'%.200s' does not hold the C library and the OpenMP runtime of AArch64", sysroot);
    processor.triple = "aarch64-linux-gnu";
    processor.runtime = "libpcere-replay-aarch64.a";
    if (!status)
        status = emulator_find(search_path, &processor.emulator, error);
    if (status)
        processor_done(&processor);
    else
        *ret_processor = processor;
    return status;
}

void processor_done(struct processor *processor)
{
    free(processor->sysroot);
    free(processor->emulator);
    *processor = (struct processor){0};
}

void processor_add(const struct processor *processor, struct arguments *arguments)
{
    if (!processor->triple)
        return;
    arguments_addf(arguments, "--target=%s", processor->triple);
    arguments_addf(arguments, "--sysroot=%s", processor->sysroot);
}

void processor_add_libraries(const struct processor *processor, struct arguments *arguments)
{
    if (!processor->triple)
        return;
    arguments_addf(arguments, "-L%s%s", processor->sysroot, OPENMP_FOLDER);
    arguments_add(arguments, "-Wl,-rpath," OPENMP_FOLDER);
}

bool processor_drops_flag(const struct processor *processor, const char *flag)
{
    return processor->triple && !strncmp(flag, "-m", 2) && strcmp(flag, "-mllvm") != 0;
}
