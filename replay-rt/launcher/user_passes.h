/* replay-rt/launcher/user_passes.h - passes of the user's own in the rebuilding of codelets: struct build_options `passes`, `pass_plugin`. */
#ifndef PCERE_REPLAY_LAUNCHER_USER_PASSES_H
#define PCERE_REPLAY_LAUNCHER_USER_PASSES_H

#include "core/error.h"
#include "core/text.h"
#include "replay-rt/launcher/build.h"
#include "replay-rt/launcher/command.h"

#include <stdbool.h>
#include <stdint.h>

/* PCERE_USAGE: the plugin cannot be read. */
enum pcere_status user_passes_check(const struct build_options *options, struct pcere_error *error);
/* What makes one build differ from another: pipeline, plugin, content of the plugin. */
enum pcere_status user_passes_describe(const struct build_options *options, struct text *text, struct pcere_error *error);
/* The compiler's arguments for them. */
void user_passes_add(const struct build_options *options, struct arguments *arguments);
/* Is it the passes that the compiler of LLVM `major` complains of in `log`? Then *error says so. */
bool user_passes_fail(const struct build_options *options, uint32_t major, const char *log, struct pcere_error *error);

#endif
