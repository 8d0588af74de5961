/* cli/replay_options.h - what `replay` and `verify` share: codelets by name, the launcher's options, progress.
 */
#ifndef PCERE_CLI_REPLAY_OPTIONS_H
#define PCERE_CLI_REPLAY_OPTIONS_H

#include "cli/cli.h"
#include "replay-rt/launcher/replay.h"

struct replay_setup {
    struct replay_target *targets;
    size_t target_count;
    uint32_t *threads;
    char *library_directory;
    struct replay_options options;      /* points into this structure */
};

/* Codelets that cli->operands name, thread counts (none: the capture's own), the library's directory, progress. replay_setup_done it in any case. */
enum pcere_status replay_setup_init(struct cli *cli, const struct cli_threads *threads, struct replay_setup *setup, struct pcere_error *error);
void replay_setup_done(struct replay_setup *setup);

/* Where PCERE's own libraries are; free() it. */
enum pcere_status replay_library_directory(char **ret_path, struct pcere_error *error);

/* How codelets are rebuilt: both verbs have it as `build` in their words, filled by the same options. */
struct replay_build_words { const char *flags, *schedule, *passes, *pass_plugin, *compiler, *target, *sysroot; bool all_loops; };

#define REPLAY_BUILD_OPTIONS(words)                                                                                                                \
    {"flags", 0, CLI_TEXT, offsetof(words, build.flags), "FLAGS",                                                                                  \
     "Compiler flags such as \"-O2 -march=native\" in place of the original's optimisation: without a level (-O2), nothing is optimised.", 0, 0},                                              \
    {"schedule", 0, CLI_TEXT, offsetof(words, build.schedule), "KIND[,CHUNK]",                                                                     \
     "Schedule of loops that say schedule(runtime); with --all-loops, of the others as well.", 0, 0},                                              \
    {"all-loops", 0, CLI_FLAG, offsetof(words, build.all_loops), NULL,                                                                             \
     "With --schedule: build the code so that each loop asks for its schedule, whatever its source says; but for loops that can be cancelled, and " \
     "those with iterations that wait for others.", 0, 0},                                                                                         \
    {"passes", 0, CLI_TEXT, offsetof(words, build.passes), "PIPELINE",                                                                             \
     "Run these passes of LLVM, in the syntax of opt -passes=PIPELINE, after the compiler's own; with --flags -O0 they are the only ones.", 0, 0}, \
    {"load-pass-plugin", 0, CLI_TEXT, offsetof(words, build.pass_plugin), "FILE",                                                                  \
     "Load a pass plugin of your own: its passes can be named in --passes, and what it hooks into the pipeline runs there.", 0, 0},                \
    {"compiler", 0, CLI_TEXT, offsetof(words, build.compiler), "CLANG", REPLAY_COMPILER_HELP, 0, 0},                                               \
    {"target", 0, CLI_TEXT, offsetof(words, build.target), "PROCESSOR",                                                                            \
     "Rebuild the codelets for another processor, and run them in its emulator (qemu): aarch64. What only the program's processor has, such as "   \
     "inline assembly, is refused where a region uses it. Times are the emulator's.", 0, 0},                                                       \
    {"sysroot", 0, CLI_TEXT, offsetof(words, build.sysroot), "DIR",                                                                                \
     "With --target: the folder that holds that processor's C library and OpenMP runtime (scripts/sysroot-aarch64 makes one).", 0, 0}
#define REPLAY_COMPILER_HELP "The clang that rebuilds the codelets; if not given, the version that compiled the program, or the next newer one."

#define REPLAY_PATIENCE_OPTION(words)                                                                                                              \
    {"patience", 0, CLI_TEXT, offsetof(words, patience), "TIME",                                                                                   \
     "Stop a codelet whose region has not ended after so much time, such as 30s; if not given, twenty times what it took in the program, and at "   \
     "least ten seconds. What counts is time in which it runs, or all its threads sleep.", 0, 0}

/* To the launcher (PCERE_USAGE: words that do not go together), and to the document: "passes" and "pass_plugin". */
enum pcere_status replay_build_set(const struct replay_build_words *words, struct replay_options *options, struct pcere_error *error);
void replay_build_put(json_t *document, const struct replay_build_words *words, bool *failed);

/* Says that flags without a level of optimisation, which stand in place of the original's, have the code compiled without. NULL or "": the original's. */
void replay_flags_note(struct cli *cli, const char *flags);

/* Says that what depends on the program's locale may look different here. */
void replay_locale_note(struct cli *cli);
/* Regions that asked for so many threads by a variable, and were replayed with others all the same. Start from zeros; results come region by region, `threads` is 0 where none
 * was asked for. Said is the first one's number, and how many more regions there are; nothing, if there is none. */
struct replay_asked_threads {
    const char *region;               /* the first one; borrowed */
    const struct store_region *last;
    uint32_t threads;
    size_t regions;
};
void replay_asked_threads_see(struct replay_asked_threads *asked, const struct replay_target *target, uint32_t threads);
void replay_asked_threads_tell(struct cli *cli, const struct replay_asked_threads *asked);
/* Which versions of LLVM the program's units were written and rebuilt by: as "compilers" in the document, or as a line where they differ. */
enum pcere_status replay_compilers_show(struct cli *cli, const struct replay_compiler *compilers, size_t count, struct pcere_error *error);

/* "conj_grad@cg.c:405 #12": a region and the invocation that was captured. free() it; NULL: no memory. */
char *replay_target_name(const struct replay_target *target);

#endif
