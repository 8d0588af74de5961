/* replay-rt/launcher/export_guide.c - Makefile and README.md of an export: how to use it, where it comes from, what it cannot do. */
#include "replay-rt/launcher/export_work.h"

#include "core/json.h"
#include "core/units.h"
#include "replay-rt/launcher/link_libraries.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define STRING_OF(macro) STRING_OF_(macro)
#define STRING_OF_(text) #text
#define LLVM_MAJOR STRING_OF(PCERE_LLVM_MAJOR)
#define LONG_REGION_NS 1000000000u        /* repeated three times instead of ten */

/* ---- Makefile ---------------------------------------------------------------------------------------------------------------------------- */

/* One word of a shell command in a Makefile. False: it cannot be written. */
static bool word_add(struct text *out, const char *word)
{
    bool plain = *word && strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-+=.,_:/@%^") == strlen(word);
    if (plain) {
        text_addf(out, " %s", word);
        return true;
    }
    text_add(out, " '");
    for (; *word; word++) {
        if (*word == '\'' || *word == '#' || *word == '\\' || (unsigned char)*word < ' ')
            return false;
        text_add(out, *word == '$' ? "$$" : (const char[]){*word, '\0'});
    }
    text_add(out, "'");
    return true;
}

static bool has_libraries(const struct export_work *work)
{
    for (size_t i = 0; i < store_library_count(work->session.store); i++)
        if (!export_library_is_memory(work, store_library(work->session.store, i)->name))
            return true;
    return false;
}

/* By their names only: the store's copies lie beside the Makefile, the system has its own. */
static enum pcere_status libraries_add(struct export_work *work, struct text *out, struct pcere_error *error)
{
    static const char option[] = "-l:";
    const struct images *images = &work->session.images;
    struct arguments arguments = {0};
    for (size_t k = 0; k < images->count; k++)
        if (export_image_is_there(work, k))
            link_libraries_add(&arguments, work->session.store, images, k, false, "");
    for (size_t k = 0; k < images->count; k++)
        if (export_image_is_there(work, k) && images->items[k].file.unwinder_address)
            arguments_add(&arguments, "-l:libgcc_s.so.1");       /* its unwinder serves for that of the image (plan_file.c) */
    enum pcere_status status = arguments.failed ? pcere_fail_memory(error, "the list of libraries") : PCERE_OK;
    if (has_libraries(work))
        text_add(out, " -Llibraries -Wl,--disable-new-dtags '-Wl,-rpath,$$ORIGIN/libraries'");
    for (size_t i = 0; !status && i < arguments.count; i++) {
        bool known = strncmp(arguments.items[i], option, sizeof option - 1) != 0;
        for (size_t j = 0; j < i && !known; j++)
            known = !strcmp(arguments.items[i], arguments.items[j]);
        if (!known && !word_add(out, arguments.items[i]))
            status = pcere_fail(error, PCERE_NO, 0, NULL, "a library's name cannot be written into a Makefile: %.120s", arguments.items[i]);
    }
    arguments_done(&arguments);
    return status;
}

/* OpenMP's settings, as in the capture. */
static enum pcere_status settings_add(const struct export_work *work, struct text *out, struct pcere_error *error)
{
    char **environment = NULL;
    enum pcere_status status = environment_make(store_manifest(work->session.store), work->options, NULL, 1, &environment, error);
    for (char **variable = environment; !status && *variable; variable++)
        if (strncmp(*variable, "OMP_NUM_THREADS=", 16) != 0 && strncmp(*variable, "LD_LIBRARY_PATH=", 16) != 0 && !word_add(out, *variable))
            status = pcere_fail(error, PCERE_NO, 0, NULL, "a setting cannot be written into a Makefile: %.120s", *variable);
    environment_free(environment);
    return status;
}

/* "-O3 -ffast-math -fPIE" without its last word, which is fixed. */
static int flags_length(const char *flags)
{
    const char *last = strrchr(flags, ' ');
    return last ? (int)(last - flags) : 0;
}

static enum pcere_status makefile_write(struct export_work *work, struct pcere_error *error)
{
    const struct export_report *report = &work->report;
    const char *flags = report->units[0].flags;
    int length = flags_length(flags);
    char compiler[32], linker[32];
    struct text out = {0};
    snprintf(compiler, sizeof compiler, "clang-%u", work->compiler_major);
    snprintf(linker, sizeof linker, work->compiler_major == PCERE_LLVM_MAJOR ? "$(CC)" : "clang-" LLVM_MAJOR);
    text_addf(&out,
              "# Builds and runs one OpenMP region; README.md says what it is.\n\n"
              "CC = %s\n"
              "# A clang that finds the OpenMP runtime, and its header.\n"
              "LINK = %s\n"
              "FLAGS = %.*s\n"
              "THREADS = %u\n"
              "REPEAT = %d\n"
              "# The code lies near the program's data, at an address that is free. With the GNU linker:\n"
              "#   make PLACE='-fuse-ld=bfd -Wl,--no-relax,-Ttext-segment=0x%" PRIx64 "'\n"
              "PLACE = -fuse-ld=lld -Wl,--image-base=0x%" PRIx64 "\n\n",
              work->options->compiler ? work->options->compiler : compiler, linker, length, flags,
              replay_team(&work->codelet, store_manifest(work->session.store), store_manifest(work->session.store)->threads), work->codelet.in_vivo_ns > LONG_REGION_NS ? 3 : 10, report->base, report->base);
    if (images_stacks_execute(&work->session.images))
        text_add(&out, "# Nested functions: code on the threads' stacks.\nSTACKS = -Wl,-z,execstack\n\n");
    if (export_reclaims(work))
        text_add(&out, "# What its code allocates goes through heap.c.\nHEAP = -Wl,--wrap=malloc,--wrap=calloc,--wrap=_Znwm,--wrap=_Znam\n\n");
    text_add(&out, "UNITS =");
    for (size_t i = 0; i < report->unit_count; i++)
        text_addf(&out, " %.*s", (int)(strrchr(report->units[i].file, '.') - report->units[i].file), report->units[i].file);
    text_addf(&out, "\nMODE = %s -fdata-sections\nIMAGES =", flags + length + (length != 0));
    for (size_t k = 0; k < work->session.images.count; k++)
        if (export_image_is_linked(work, k))
            text_addf(&out, " image%zu.so", k);
    text_add(&out, "\nLIBRARIES =");
    enum pcere_status status = libraries_add(work, &out, error);
    text_add(&out, "\nSETTINGS =");
    if (!status)
        status = settings_add(work, &out, error);
    text_add(&out, "\n\n"
                   "# Other flags than the program's: what they cannot change otherwise is taken out of the text.\n"
                   "ifneq ($(origin FLAGS),file)\n"
                   "RETARGET = -e '/^attributes /s/\"(target-cpu|target-features|tune-cpu|min-legal-vector-width|prefer-vector-width)\"=\"[^\"]*\"//g' \\\n"
                   "           -e '/^attributes /s/ (optnone|noinline|minsize|optsize)( |$$)/ /g'\n"
                   "endif\n");
    for (size_t i = 1; i < report->unit_count; i++)
        if (strcmp(report->units[i].flags, flags) != 0) {
            const char *own = report->units[i].flags;
            int own_length = flags_length(own);
            text_addf(&out, "%.*ss: FLAGS = %.*s\n%.*ss: MODE = %s -fdata-sections\n", (int)strlen(report->units[i].file) - 2, report->units[i].file,
                      own_length, own, (int)strlen(report->units[i].file) - 2, report->units[i].file, own + own_length + (own_length != 0));
        }
    text_add(&out, "\nCFLAGS = -O2 -std=gnu17 -fPIE -fopenmp -Wall\n"
                   "# One compiler reads them all, since to start one takes longer than to compile any of them.\n"
                   "DRIVER = start.c program.c memory.c mappings.c libraries.c support.c reclaim.c heap.c team.c state.c files.c check.c driver.c\n"
                   "OBJECTS = $(UNITS:=.o) addresses.o driver.o\n"
                   "# Names of the driver's that the region's code may have as well.\n"
                   "OWN = call_as_program call_on_stack captured_between contents externals externals_end files_restore files_start functions functions_end gap_count gaps heap_inside heap_restore heap_start \\\n"
                   "      is_captured is_read_only libraries_start library_page library_words library_words_end memory_changes_rights memory_check memory_drop memory_map \\\n"
                   "      memory_open memory_patch memory_protect memory_restore messages out out_open page_count page_of pages process_again process_end process_start \\\n"
                   "      program_restore program_start range_holds region_code skip_count skips state_restore state_settle state_start support_restore support_start \\\n"
                   "      team_enter team_wake thread_locals_check thread_locals_point words_check written_find zero_page\n\n"
                   "codelet: $(OBJECTS) $(IMAGES)\n"
                   "\t$(LINK) -no-pie -nostartfiles -fopenmp $(PLACE) $(STACKS) $(HEAP) -Wl,--no-as-needed '-Wl,-rpath,$$ORIGIN' -o $@ -l:Scrt1.o -l:crti.o $(OBJECTS) $(IMAGES) "
                   "$(LIBRARIES) -l:crtn.o\n\n"
                   "$(IMAGES): %.so: %.s\n"
                   "\t$(LINK) $(filter -fuse-ld=%,$(PLACE)) -shared -nostdlib -Wl,-init,none,-fini,none -Wl,-soname,$@ -o $@ $<\n\n"
                   "run: codelet\n"
                   "\tenv $(SETTINGS) OMP_NUM_THREADS=$(THREADS) ./codelet $(REPEAT)\n\n"
                   "check: codelet\n"
                   "\tenv $(SETTINGS) OMP_NUM_THREADS=$(THREADS) ./codelet --check\n\n"
                   "$(UNITS:=.s): %.s: %.ll .flags\n"
                   "\tLC_ALL=C sed -E $(RETARGET) -e '' $< > $*.read\n"
                   "\t$(CC) $(FLAGS) $(MODE) -Wno-unused-command-line-argument -S -x ir $*.read -o $@\n\n"
                   "$(UNITS:=.o): %.o: %.s functions.sed place.sed\n"
                   "\tLC_ALL=C sed -E -f functions.sed $< > $*.functions.s\n"
                   "\tLC_ALL=C sed -E -f place.sed $*.functions.s > $*.placed.s\n"
                   "\t$(CC) -Wa,--no-warn -c $*.placed.s -o $@\n\n"
                   "addresses.o: addresses.s\n"
                   "\t$(CC) -c $< -o $@\n\n"
                   "driver.o: $(DRIVER) codelet.h reclaim.h region.h state.h\n"
                   "\tfor file in $(DRIVER); do echo \"#include \\\"$$file\\\"\"; done | $(LINK) $(CFLAGS) $(foreach name,$(OWN),-D$(name)=pcere_$(name)) -I. -x c -c - -o $@\n\n"
                   ".flags: always\n"
                   "\t@echo '$(CC) $(FLAGS)' | cmp -s - $@ || echo '$(CC) $(FLAGS)' > $@\n\n"
                   "clean:\n"
                   "\trm -f codelet $(OBJECTS) $(IMAGES) $(UNITS:=.s) $(UNITS:=.read) $(UNITS:=.functions.s) $(UNITS:=.placed.s) .flags\n\n"
                   ".PHONY: run check clean always\n.DELETE_ON_ERROR:\n");
    return status ? (text_done(&out), status) : export_text(work, "Makefile", &out, error);
}

/* ---- README.md --------------------------------------------------------------------------------------------------------------------------- */

/* Words of the program's user, on one line. */
static void plain_add(struct text *out, const char *word)
{
    for (; *word; word++)
        text_addf(out, "%c", (unsigned char)*word < ' ' || *word == '`' ? '?' : *word);
}

static void origin_add(const struct export_work *work, struct text *out)
{
    const struct store_manifest *manifest = store_manifest(work->session.store);
    char time[UNITS_TEXT_BYTES];
    text_add(out, "## Where it comes from\n\n* Program: `");
    plain_add(out, manifest->program);
    for (char **argument = manifest->arguments; argument && *argument; argument++) {
        text_add(out, " ");
        plain_add(out, *argument);
    }
    text_add(out, "`, ");
    if (manifest->compiler && *manifest->compiler) /* one that was not compiled with the plugin does not tell */
        text_addf(out, "built by %s, ", manifest->compiler);
    text_addf(out, "captured with OMP_NUM_THREADS=%u.\n", manifest->threads);
    for (size_t i = 0; i < work->report.unit_count; i++) {
        text_addf(out, "* `%s` is `", work->report.units[i].file);
        plain_add(out, work->report.units[i].source);
        text_addf(out, "`, compiled with `%s`.\n", work->report.units[i].flags);
    }
    text_addf(out, "* Invocation %" PRIu64 " of %" PRIu64 " of this region; it stands for %" PRIu64 " that perform alike, and took %s in the program.\n",
              work->codelet.invocation, work->target->region->invocations, work->target->class->members,
              units_format_ns(work->codelet.in_vivo_ns, time));
    json_t *host = NULL;
    const char *cpu = NULL, *kernel = NULL;
    if (!json_parse(manifest->host, strlen(manifest->host), "host", &host, NULL)) {
        cpu = json_string_value(json_object_get(host, "cpu"));
        kernel = json_string_value(json_object_get(host, "kernel"));
    }
    text_add(out, "* Machine of the capture: ");
    plain_add(out, cpu ? cpu : "unknown");
    text_addf(out, ", %lld processors, Linux ", (long long)json_integer_value(json_object_get(host, "threads")));
    plain_add(out, kernel ? kernel : "unknown");
    text_add(out, ".\n\n");
    json_decref(host);
}

static void use_add(const struct export_work *work, struct text *out)
{
    text_addf(out,
              "## Build and run\n\n"
              "Linux on x86-64, make, GNU sed, clang %u, lld or the GNU linker, and libomp are needed; nothing else. Other versions of clang "
              "usually read the text of `region.ll`, too, but LLVM does not promise it.\n\n"
              "```\n"
              "make                                   # builds ./codelet\n"
              "make run THREADS=2 REPEAT=30           # times: minimum and median\n"
              "make check                             # compares memory behind the region with what the program had, byte for byte\n"
              "make run FLAGS='-O3 -march=native'     # other flags; `make CC=... run` another clang\n"
              "make region.s                          # the compiler's assembly, as it stands\n"
              "```\n\n"
              "With the program's flags (`%.*s`) the machine code of the region is that of the program, and `make check` with the capture's number of "
              "threads says *identical*. With other flags or threads floating-point results may differ in their last digits. With less optimisation "
              "than the program had, linking may end with *undefined symbol*: such a variable did not survive in the program, and has no address.\n\n"
              "To look at the compiler alone: the region is the function `%s` in `region.ll`, which is the compiler's input before any optimisation "
              "(`clang %.*s -S region.ll`, `opt`, `llvm-extract` and the like work on it).\n\n",
              work->compiler_major, flags_length(work->report.units[0].flags), work->report.units[0].flags, work->microtask, flags_length(work->report.units[0].flags),
              work->report.units[0].flags);
}

static void files_add(const struct export_work *work, struct text *out)
{
    char present[UNITS_TEXT_BYTES], stored[UNITS_TEXT_BYTES];
    bool has_images = false;
    for (size_t k = 0; k < work->session.images.count; k++)
        has_images |= export_image_is_linked(work, k);
    text_add(out, "## What is in here\n\n| file | |\n|---|---|\n"
                  "| `driver.c` | start here: enters the region and times it |\n"
                  "| `program.c` | what stands between it and the region: the order of restoring, the program's stack and rounding |\n"
                  "| `start.c` | a process that leaves captured addresses free |\n"
                  "| `memory.c` | maps the captured memory at its addresses, restores what a run wrote; describes `memory.txt` |\n"
                  "| `mappings.c` | captured memory that the region drops, unmaps or moves |\n"
                  "| `libraries.c` | data of libraries that has no name, such as locales of C++ streams |\n"
                  "| `support.c` | thread-local variables, locks, addresses of functions and libraries |\n"
                  "| `heap.c`, `reclaim.c`, `reclaim.h` | captured heap blocks that it frees or grows, and blocks that it leaves behind |\n"
                  "| `team.c` | settings of the OpenMP runtime, and the parallel regions around this one |\n"
                  "| `state.c`, `files.c`, `state.h` | environment, locale, random numbers, signal handlers; what the program had open |\n"
                  "| `check.c` | compares |\n"
                  "| `region.ll`");
    for (size_t i = 1; i < work->report.unit_count; i++)
        text_addf(out, ", `%s`", work->report.units[i].file);
    text_addf(out, " | the translation unit of the region%s%s%s |\n"
                   "| `functions.sed` | addresses of functions that the code takes are the program's |\n"
                   "| `place.sed` | takes the definitions of variables out of the assembly, since they lie in captured memory |\n"
                   "| `addresses.s`, `region.h` | addresses and numbers of this region |\n"
                   "%s| `memory.txt`, `memory.bin` | %s of memory; %s stored, since zero pages are not |\n%s\n",
              work->report.unit_count > 1 ? " and those that it calls" : "", work->image ? ", from " : "", work->image ? work->home->file_name : "",
              has_images ? "| `imageN.s` | what it uses of the program's other images, whose machine code lies in captured memory |\n" : "",
              units_format_bytes(work->report.memory_bytes, present),
              units_format_bytes(work->report.stored_bytes, stored),
              has_libraries(work) ? "| `libraries/` | libraries that the program used |\n" : "");
}

static void limits_add(const struct export_work *work, struct text *out)
{
    text_add(out, "## What to know\n\n"
                  "* `memory.bin` is a copy of the program's memory, with whatever the program held in it. Look before you send it.\n"
                  "* Times are those of repeated runs: caches are warm, and pages that the program had not touched are absent each time. "
                  "A region that found its data cold in the program is faster here.\n"
                  "* Not compared: the OpenMP runtime's own memory and locks, the stack below the region's caller, and words of the caller that "
                  "only hold the region's arguments.\n"
                  "* Constructors are not run. What the region prints is dropped; files that the program had open for writing are copies in memory.\n"
                  "* Blocks that the region allocates lie in this process's heap: `make check` counts pointers to them. Those that it leaves behind are given back before the next run; "
                  "captured ones that it frees stay, and where runs are timed serve its next blocks of their size.\n"
                  "* Captured addresses may be taken: then the process starts itself again, up to 20 times.\n");
    for (size_t i = 0; i < work->report.limit_count; i++) {
        text_add(out, "* Here: ");
        plain_add(out, work->report.limits[i]);
        text_add(out, ".\n");
    }
}

static enum pcere_status readme_write(const struct export_work *work, struct pcere_error *error)
{
    struct text out = {0};
    text_add(&out, "# ");
    plain_add(&out, work->codelet.region);
    text_add(&out, "\n\nOne OpenMP parallel region, cut out of its program by PCERE " PCERE_VERSION
                   ": its code, and the memory that it had when it was entered. "
                   "It builds and runs by itself, with any number of threads.\n\n");
    use_add(work, &out);
    files_add(work, &out);
    origin_add(work, &out);
    limits_add(work, &out);
    return export_text(work, "README.md", &out, error);
}

enum pcere_status export_guide_write(struct export_work *work, struct pcere_error *error)
{
    enum pcere_status status = makefile_write(work, error);
    return status ? status : readme_write(work, error);
}
