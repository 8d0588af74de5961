/* cli/architectures.h - the machines that --arch can name: PCERE's own, and the user's, found and read.
 *
 * A machine is a file NAME.json (docs/format/platform.md). The user's lie in $XDG_DATA_HOME/pcere/archs, or ~/.local/share/pcere/archs, and come before
 * PCERE's own, which lie beside its libraries.
 */
#ifndef PCERE_CLI_ARCHITECTURES_H
#define PCERE_CLI_ARCHITECTURES_H

#include "core/error.h"
#include "platform/signature.h"

#include <stddef.h>

struct architecture { char *name, *path; };
struct architectures { struct architecture *list; size_t count; };

/* All that there are, by name; of two with one name the user's. */
enum pcere_status architectures_find(struct architectures *ret_found, struct pcere_error *error);
void architectures_done(struct architectures *architectures);

/* Read the one that `word` names: a name, or the path of a file (with a slash, or ending in .json). *ret_path is malloc'ed.
 * PCERE_USAGE: there is none of this name; the message lists those that there are. PCERE_DATA: it is damaged. */
enum pcere_status architecture_read(const char *word, struct platform_signature *ret_signature, char **ret_path, struct pcere_error *error);

/* Where the user's one of this name belongs; its directory is made. free() it. PCERE_REFUSED: there is no home directory. */
enum pcere_status architecture_place(const char *name, char **ret_path, struct pcere_error *error);

#endif
