/* store/staging.h - how the directory of a store comes into being, and how an old store is replaced without a moment at which neither
 * exists. Private to store/.
 *
 *   NAME.pcere.new   everything is made here first; then renamed to NAME.pcere, or exchanged with an old one
 */
#ifndef PCERE_STORE_STAGING_H
#define PCERE_STORE_STAGING_H

#include "core/error.h"

#include <stdbool.h>

struct staging {
    int parent, directory;           /* descriptors; the directory's is locked while we write */
    char *name, *staging_name;       /* in the parent */
    bool owned;                      /* we made the directory and hold its lock */
    bool published;                  /* the directory has its name */
    bool replaces;                   /* an old store has that name until then */
};

/* Make an empty, locked directory that will be called `path`. PCERE_USAGE: a store of that name exists (unless `force`), what is
 * there is no store, or another process writes it. staging_done it in any case. */
enum pcere_status staging_open(const char *path, bool force, struct staging *ret_staging, struct pcere_error *error);
/* Give the directory its name; once it has it, nothing is done. An old store is exchanged with it in one step, then removed; where
 * the file system cannot, it is NAME.old for a moment. */
enum pcere_status staging_publish(struct staging *staging, struct pcere_error *error);
/* Remove what was made, under whichever name. An old store stays. */
void staging_abandon(struct staging *staging);
void staging_done(struct staging *staging);

/* Is another process writing the directory open at `descriptor`? If not, it is locked until the descriptor is closed. */
bool directory_in_use(int descriptor);

#endif
