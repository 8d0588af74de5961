/* replay-rt/launcher/link_libraries.h - which shared libraries a codelet is linked with and finds when it runs: this machine's, or the
 * store's copies of what the program had.
 *
 *   BUILD/libraries/NAME      links to the store's copies that are to be used here; no such folder: none
 */
#ifndef PCERE_REPLAY_LAUNCHER_LINK_LIBRARIES_H
#define PCERE_REPLAY_LAUNCHER_LINK_LIBRARIES_H

#include "core/elf_file.h"
#include "replay-rt/launcher/command.h"
#include "replay-rt/launcher/images.h"
#include "store/store.h"

#define LINK_LIBRARIES_FOLDER "libraries"

/* Fill `folder`, made on demand, with links to the store's copies that are to be used on this machine: all but those that were the
 * system's where the program was captured and that this machine's system has, too. Each is checked: PCERE_DATA. `prefix` is the way from
 * the links to the store's libraries: "/path/to/store/libraries", or relative to the folder. */
enum pcere_status link_libraries_choose(const struct store *store, const char *folder, const char *prefix, struct pcere_error *error);

/* Arguments for the linker: folders, then the libraries that the image names. Without `captured`, those that are captured like the program are left
 * out. `build`: the build's folder; NULL: for another processor, which has use for none of the capture's folders. */
void link_libraries_add(struct arguments *arguments, const struct store *store, const struct images *images, size_t index, bool captured,
                        const char *build);

#endif
